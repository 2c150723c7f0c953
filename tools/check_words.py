#!/usr/bin/env python3
# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""Refuses words that docs/glossary.md retires (the last column of its tables) in code, comments and documents.

    tools/check_words.py              exit 1 with every place
    tools/check_words.py --self-test  shows that it can fail
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SUFFIXES = {".hpp", ".cpp", ".cu", ".cuh", ".py", ".md", ".cmake", ".in", ".txt", ".sh"}
EXEMPT = ("docs/glossary.md", "CHANGELOG.md", "bench/results/", "data/", "gpu/", "tests/io/corpus/", "tests/io/samples/", "tests/fuzz/corpus/", "docs/experiments/")


def retired_words(text):
    """Words between backticks in the last column of every table."""
    rows = [line.rstrip().rstrip("|") for line in text.splitlines() if line.startswith("| ") and not line.startswith("| term")]
    return sorted({word for row in rows for word in re.findall(r"`([^`]+)`", row.split("|")[-1])})


def places(name, text, words):
    pattern = re.compile(r"(?<![\w-])(" + "|".join(map(re.escape, words)) + r")(?![\w-])")
    return [f"{name}:{number}: the glossary retires '{found[1]}'" for number, line in enumerate(text.splitlines(), 1) if (found := pattern.search(line))]


def tracked():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    return [f for f in listed if pathlib.Path(f).suffix in SUFFIXES and not f.startswith(EXEMPT) and (ROOT / f).exists()]


def self_test(words):
    bad = places("a.hpp", f"struct {words[0]};", words)
    good = places("a.hpp", f"struct Not{words[0]};", words)
    print("check_words: self-test " + ("passed" if bad and not good and len(words) > 20 else "FAILED"))
    return not (bad and not good and len(words) > 20)


if __name__ == "__main__":
    words = retired_words((ROOT / "docs/glossary.md").read_text())
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(self_test(words))
    wrong = [place for f in tracked() for place in places(f, (ROOT / f).read_text(errors="replace"), words)]
    print("\n".join(wrong) or f"words: none of the {len(words)} retired words is used")
    sys.exit(bool(wrong))
