#!/usr/bin/env python3
# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""Usual mistakes in the use of the library must give a short, readable compiler error.

    run.py COMPILER [FLAG …]

programs.txt has one program for each case. `--- NAME: SENTENCE` begins a program whose first error must contain the
sentence; without a sentence it must compile. The common lines before the first case are put before every program.
"""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

MOST_ERRORS = 12  # lines with "error:" of a program


def read_cases(text):
    """The common lines, and name, sentence and lines of every case."""
    common, *parts = re.split(r"^--- (.*)\n", text, flags=re.MULTILINE)
    heads = (head.partition(": ") for head in parts[0::2])
    return common, [(name, sentence.strip(), body) for (name, _, sentence), body in zip(heads, parts[1::2])]


def run(command, program=""):
    return subprocess.run(command, input=program, text=True, capture_output=True, env={**os.environ, "LC_ALL": "C"})


def precompile(compiler, folder, common):
    """The common lines as a header, which the compiler reads once for all programs."""
    header = Path(folder) / "common.hpp"
    header.write_text(common)
    done = run([*compiler, "-x", "c++-header", str(header), "-o", f"{header}.gch"])
    if done.returncode:
        sys.exit(done.stderr)
    return [*compiler, "-include", str(header), "-fsyntax-only", "-x", "c++", "-"]


def errors_of(compiler, body):
    """The lines with "error:" when the compiler reads the program."""
    done = run(compiler, f"void program()\n{{\n{body}}}\n")
    errors = [line for line in done.stderr.splitlines() if "error:" in line]
    return errors or (["error: the compiler failed without a message"] if done.returncode else [])


def problem_of(sentence, errors):
    """What is wrong with the errors of a program, or nothing."""
    if not sentence:
        return "must compile, but: " + errors[0] if errors else ""
    if not errors:
        return "compiles, but is wrong"
    if sentence not in errors[0]:
        return f"the first error is not readable: {errors[0]}\n    wanted: {sentence}"
    return f"{len(errors)} errors, at most {MOST_ERRORS} are wanted" if len(errors) > MOST_ERRORS else ""


def main():
    common, cases = read_cases((Path(__file__).parent / "programs.txt").read_text())
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        compiler = precompile([*sys.argv[1:], "-std=c++20"], folder, common)
        for name, sentence, body in cases:
            errors = errors_of(compiler, body)
            problem = problem_of(sentence, errors)
            bad += bool(problem)
            print(f"{'FAILED: ' + problem if problem else 'ok'}: {name}, {len(errors)} error(s)")
    print(f"{len(cases) - bad} of {len(cases)} programs as wanted")
    return bad > 0 or not cases


if __name__ == "__main__":
    sys.exit(main())
