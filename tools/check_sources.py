#!/usr/bin/env python3
# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""Looks at sources one by one, as a build without precompiled headers and without files put together would: each includes what it uses.

    tools/check_sources.py build/sources [-j N]           those of tests and programs that compile_commands.json there names; the library's are stage clang's
    tools/check_sources.py build/sources --draw 4         those that the last commit changed, and about one in four of the others, another share for another commit
    tools/check_sources.py build/sim --simulator          those of the simulated GPU and its kernels instead: CI makes them with clang, users may with g++
    tools/check_sources.py build/sources --tidy --draw 12 clang-tidy, as .clang-tidy says, on the library and the programs instead (4 s a file)
    tools/check_sources.py --self-test                    shows that it can fail
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def git(*words):
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True).stdout.strip()


def drawn(entries, one_in):
    commit, changed = git("rev-parse", "HEAD"), set(git("diff", "--name-only", "HEAD~1").split("\n"))
    names = [str(pathlib.Path(e["file"]).relative_to(ROOT)) for e in entries]
    return [e for e, name in zip(entries, names) if name in changed or int(hashlib.sha256((commit + name).encode()).hexdigest(), 16) % one_in == 0]


def drawn_by_seed(entries, one_in):
    """A share that changes with the number in .ci/seed."""
    seed = (ROOT / ".ci/seed").read_text()
    return [e for e in entries if int(hashlib.sha256((seed + str(pathlib.Path(e["file"]).relative_to(ROOT))).encode()).hexdigest(), 16) % one_in == 0]


def is_meant(file, simulator, tidy):
    if not file.is_relative_to(ROOT):
        return False
    folders = file.relative_to(ROOT).parts
    if tidy:
        return folders[0] in ("src", "apps", "bench")
    return {"cuda", "sim", "simt"} & set(folders) != set() if simulator else folders[0] != "src"


def look_at(entry):
    """The build's own command, but for what is written and how well it is optimised."""
    words = [w for w in entry["command"].split(" ") if not w.startswith("-O") and not w.endswith("/ccache")]
    at = words.index("-o")
    words[at:at + 2] = ["-fsyntax-only"]
    done = subprocess.run(["sh", "-c", " ".join(words)], cwd=entry["directory"], capture_output=True, text=True)
    return entry["file"], done.returncode, done.stderr


def tidy(entry):
    command = ["clang-tidy", f"--config-file={ROOT}/.clang-tidy", "--quiet", entry["file"], "--", *shlex.split(entry["command"])[1:]]
    done = subprocess.run(command, cwd=entry["directory"], capture_output=True, text=True)
    return entry["file"], done.returncode, done.stdout


def check(entries, jobs, look=look_at, good="compile by themselves"):
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        results = list(pool.map(look, entries))
    for file, status, words in results:
        if status:
            print(f"{file} does not {good}:\n{words}")
    failed = sum(1 for _, status, _ in results if status)
    print(f"sources: {len(results) - failed} of {len(results)} {good}")
    return failed


def self_test(folder):
    texts = {"good.cpp": "#include <vector>\nstd::vector<int> f() { return {}; }\n", "bad.cpp": "std::vector<int> f() { return {}; }\n"}
    failed = []
    for name, text in texts.items():
        (folder / name).write_text(text)
        failed.append(check([{"file": name, "directory": str(folder), "command": f"{os.environ.get('CXX', 'c++')} -O2 -o {name}.o -c {name}"}], 1))
    (folder / "tidy.cpp").write_text("struct A { virtual void f(); };\nstruct B : A { void f(); };\n")
    failed.append(check([{"file": str(folder / "tidy.cpp"), "directory": str(folder), "command": "clang++ -std=c++20"}], 1, tidy, "pass clang-tidy"))
    print("self-test: " + ("passed" if failed == [0, 1, 1] else f"FAILED {failed}"))
    return failed != [0, 1, 1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?")
    parser.add_argument("--draw", type=int, default=1, metavar="K")
    parser.add_argument("--simulator", action="store_true")
    parser.add_argument("--tidy", action="store_true")
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1)
    args = parser.parse_args()
    if args.self_test:
        with tempfile.TemporaryDirectory() as folder:
            sys.exit(self_test(pathlib.Path(folder)))
    entries = json.loads((pathlib.Path(args.build) / "compile_commands.json").read_text())
    ours = [e for e in entries if is_meant(pathlib.Path(e["file"]), args.simulator, args.tidy)]
    if not ours:
        sys.exit(f"sources: {args.build} has none of those")
    print(f"sources: there are {len(ours)}")
    if args.tidy:
        sys.exit(1 if check(drawn_by_seed(ours, args.draw), args.jobs, tidy, "pass clang-tidy") else 0)
    sys.exit(1 if check(drawn(ours, args.draw), args.jobs) else 0)


if __name__ == "__main__":
    main()
