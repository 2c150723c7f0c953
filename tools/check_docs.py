#!/usr/bin/env python3
# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""Keeps the documents true: C++ shown in README.md and docs/ is taken from a compiled example, links lead to files, every folder has its line,
and the files from A.mtx to a result are there, as many as told and at most 14 for an operation; for SpTRSV with all headers of its folder.

    tools/check_docs.py        exit 1 with what is wrong
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def squeezed(text):
    return " ".join(re.findall(r"\w+|[^\w\s]", text))


def strange_snippets():
    examples = [squeezed(f.read_text()) for f in sorted((ROOT / "examples").rglob("*.cpp"))]
    wrong = []
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for block in re.findall(r"```cpp\n(.*?)```", page.read_text(), flags=re.S):
            if not any(squeezed(block) in example for example in examples):
                wrong.append(f"{page.relative_to(ROOT)}: this code is in no example: {squeezed(block)[:60]} …")
    return wrong


def dead_links():
    dead = []
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)|<img[^>]*src=\"([^\"]+)\"", page.read_text()):
            target = target[0] or target[1]
            if "://" not in target and not (page.parent / target).exists():
                dead.append(f"{page.relative_to(ROOT)}: no such file: {target}")
    return dead


def unnamed_folders():
    index = (ROOT / "docs/index.md").read_text()
    folders = [f"src/{f.name}" for f in (ROOT / "src").iterdir() if f.is_dir()]
    folders += [f.name for f in ROOT.iterdir() if f.is_dir() and not f.name.startswith((".", "build", "src")) and f.name != "matrices" and any(f.iterdir())]
    return [f"docs/index.md: no line for `{folder}`" for folder in folders if f"`{folder}`" not in index and f"`{folder}/" not in index]


def with_headers(files, folder):
    """The files, and the headers of `folder` that they include, directly or not."""
    known = set(files)
    for file in files:
        included = ["src/" + name for name in re.findall(r'#include "([^"]+)"', (ROOT / file).read_text())]
        known |= {name for name in included if name.startswith(folder) and (ROOT / name).is_file()}
    return sorted(known) if known == set(files) else with_headers(sorted(known), folder)


def miscounted_ways():
    """Rows of the table "From A.mtx to the result": | way | number | `file`, `file` … |"""
    index = (ROOT / "docs/index.md").read_text()
    ways = re.findall(r"^\| (.*?) \| (\d+) \| (`.*`) \|$", index[index.index("## From A.mtx"):], flags=re.M)
    wrong = [] if len(ways) >= 6 else ["docs/index.md: ways from A.mtx to y, C and x are missing"]
    for way, count, listed in ways:
        files = re.findall(r"`([^`]+)`", listed)
        wrong += [f"docs/index.md: {way}: no such file: {f}" for f in files if not (ROOT / f).is_file()]
        if not wrong and "src/sptrsv/sptrsv.cpp" in files:
            wrong += [f"docs/index.md: {way}: {f} is included and not listed" for f in with_headers(files, "src/sptrsv/") if f not in files]
        if len(set(files)) != int(count) or int(count) > 14:
            wrong.append(f"docs/index.md: {way}: {len(set(files))} files are listed, {count} told, 14 allowed")
    return wrong


if __name__ == "__main__":
    wrong = strange_snippets() + dead_links() + unnamed_folders() + miscounted_ways()
    print("\n".join(wrong) or "docs: snippets, links, folders and counts of files are true")
    sys.exit(bool(wrong))
