#!/usr/bin/env python3
# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""Line coverage of an instrumented build after its tests have run, from gcov; all instances of a template count as one.

    tools/check_coverage.py BUILD --only '/cuda/' --least 98       exit 1 below 98 % of the lines of files whose path matches
    tools/check_coverage.py BUILD --only '^src/' --lines         also lists the lines never reached
    tools/check_coverage.py BUILD --loops FOLDER --once FILE       also lists loops of .cu and .cuh files that were reached and whose body never began a second
                                                                   time; exit 1 for one that FILE does not name with a reason

Loops that repeat are in FOLDER, which the tests had as TULLE_SIM_LOOPS (src/simt/rounds.hpp). A line of FILE: path | the loop's head | why it has one round.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def lines_of_gcov(data):
    """[(file, line, times)] of one object file. g++'s gcov does not read what clang counts, and clang's tells it as text only."""
    by_clang = data.read_bytes()[4:8] == b"*804"
    return lines_of_clang(data) if by_clang else [(pathlib.Path(report["current_working_directory"], entry["file"]), line["line_number"], line["count"])
                                                  for report in gcov(data) for entry in report["files"] for line in entry["lines"]]


def lines_of_clang(data):
    done = subprocess.run(["llvm-cov", "gcov", "-t", data.name], cwd=data.parent, capture_output=True, text=True, errors="replace")
    found, file = [], None
    for line in done.stdout.splitlines():
        count, number, text = (line.split(":", 2) + ["", ""])[:3]
        if number.strip() == "0":
            file = pathlib.Path(text.removeprefix("Source:")) if text.startswith("Source:") else file
        elif number.strip().isdigit() and count.strip() != "-":
            found.append((file, int(number), int(re.sub(r"\D", "", count) or 0)))
    return found


def gcov(data):
    done = subprocess.run(["gcov", "--json-format", "--stdout", data.name], cwd=data.parent, capture_output=True, text=True)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def collect(build, only):
    """{file: {line: times}} over all object files; a header's lines are added up."""
    times = collections.defaultdict(lambda: collections.defaultdict(int))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for lines in pool.map(lines_of_gcov, sorted(build.rglob("*.gcda"))):
            for file, line, count in lines:
                path = pathlib.Path(os.path.normpath(file))
                if path.is_relative_to(ROOT) and re.search(only, str(path.relative_to(ROOT))):
                    times[path.relative_to(ROOT)][line] += count
    return times


# Comments, strings and characters, which hold no loops; then a loop's first word.
NO_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', re.S)
LOOP = re.compile(r"\b(?:for|while)\s*\(")


def end_of_head(text, begin):
    """Where the parenthesis stands that ends for (…) or while (…)."""
    depth = 0
    for at in range(text.index("(", begin), len(text)):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if depth == 0:
            return at
    return len(text) - 1


def loops_of(text):
    """{(line, column): head}; the place is where the head ends, which is what clang says of a macro."""
    code = NO_CODE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    ends = {m.start(): end_of_head(code, m.start()) for m in LOOP.finditer(code)}
    return {(code.count("\n", 0, end) + 1, end - code.rfind("\n", 0, end)): " ".join(code[begin:end + 1].split()) for begin, end in ends.items()}


def repeated_loops(folder, build):
    """{(path, line, column)} of all programs."""
    found = set()
    for line in {line for file in folder.iterdir() for line in file.read_text().splitlines()}:
        file, number, column = line.rsplit(":", 2)
        path = pathlib.Path(os.path.normpath(build.resolve() / file))
        if path.is_relative_to(ROOT):
            found.add((path.relative_to(ROOT), int(number), int(column)))
    return found


def read_once(file):
    """{(path, head): reason}"""
    rows = [line.split(" | ") for line in file.read_text().splitlines() if line.strip() and not line.startswith("#")]
    return {(pathlib.Path(path), head): reason for path, head, reason in rows}


def check_loops(times, repeated, once):
    """Tells what is wrong, in lines; empty when nothing is."""
    loops = {(path, *place): head for path in times if path.suffix in (".cu", ".cuh") for place, head in loops_of((ROOT / path).read_text()).items()}
    reached = {place for place in loops if times[place[0]].get(place[1])}
    never = {place for place in reached if place not in repeated}
    wrong = [f"  {path}:{line}: never a second round: {loops[path, line, column]}" for path, line, column in sorted(never) if (path, loops[path, line, column]) not in once]
    named = {(place[0], loops[place]) for place in never}
    wrong += [f"  {path}: named as a loop of one round, but there is none that never repeats: {head}" for path, head in sorted(once) if path in times and (path, head) not in named]
    print(f"loops: {len(reached - never)} of {len(reached)} repeat in {len({place[0] for place in reached})} files; {len(once)} named as loops of one round, {len(wrong)} complaints")
    return wrong


def self_test():
    code = 'a; // for (x)\nfor (int i = 0; i < f(n); ++i) s = "while (";\n  do {} while (b);\n'
    assert loops_of(code) == {(2, 30): "for (int i = 0; i < f(n); ++i)", (3, 17): "while (b)"}, loops_of(code)
    file = pathlib.Path("src/prim/cuda/histogram.cu")
    loops = loops_of((ROOT / file).read_text())
    assert len(loops) == 3
    times, places = {file: {line: 1 for line, _ in loops}}, {(file, *place) for place in loops}
    one = min(places)
    head = loops[one[1:]]
    assert check_loops(times, places, {}) == []
    assert len(check_loops(times, places - {one}, {})) == 1 and "never a second round" in check_loops(times, places - {one}, {})[0]
    assert check_loops({file: {}}, set(), {}) == [], "loops nobody reaches are for the lines"
    assert check_loops(times, places - {one}, {(file, head): "why"}) == [] or sum(h == head for h in loops.values()) > 1
    assert len(check_loops(times, places, {(file, "for (;;)"): "why"})) == 1
    print("check_coverage: self-test passed")
    return 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--only", default="^src/")
    parser.add_argument("--least", type=float, default=0)
    parser.add_argument("--lines", action="store_true")
    parser.add_argument("--loops", type=pathlib.Path)
    parser.add_argument("--once", type=pathlib.Path)
    args = parser.parse_args()
    everything = collect(args.build, f"{args.only}|^src/(?!simt).*\\.cuh?$" if args.loops else args.only)
    times = {path: of for path, of in everything.items() if re.search(args.only, str(path))}
    lines = sum(len(of) for of in times.values())
    reached = sum(1 for of in times.values() for count in of.values() if count)
    if not lines:
        print(f"coverage: no lines match {args.only}: was {args.build} built with TULLE_COVERAGE and run?")
        return 1
    for path, of in sorted(times.items()):
        never = sorted(line for line, count in of.items() if not count)
        if never:
            print(f"  {path}: {len(of) - len(never)} of {len(of)}" + (": never " + " ".join(map(str, never)) if args.lines else ""))
    percent = 100 * reached / lines
    print(f"coverage: {reached} of {lines} lines of {len(times)} files matching {args.only}: {percent:.1f} %, at least {args.least:g} % wanted")
    wrong = check_loops(everything, repeated_loops(args.loops, args.build), read_once(args.once)) if args.loops else []
    print("\n".join(wrong), end="\n" if wrong else "")
    return int(percent < args.least or bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
