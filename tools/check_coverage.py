#!/usr/bin/env python3
# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""Line coverage of an instrumented build after its tests have run, from gcov; all instances of a template count as one.

    tools/check_coverage.py BUILD --only '/cuda/' --least 98       exit 1 below 98 % of the lines of files whose path matches
    tools/check_coverage.py BUILD --only '^tulle/' --lines         also lists the lines never reached
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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--only", default="^tulle/")
    parser.add_argument("--least", type=float, default=0)
    parser.add_argument("--lines", action="store_true")
    args = parser.parse_args()
    times = collect(args.build, args.only)
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
    return int(percent < args.least)


if __name__ == "__main__":
    sys.exit(main())
