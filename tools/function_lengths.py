#!/usr/bin/env python3
# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""Lengths of functions: lines of the body, braces not counted, a function on one line as one. The sources are as tools/format leaves them: the brace of a
function stands on a line of its own.

    tools/function_lengths.py [--longest N]    median, ninth decile and longest of library, programs and benchmark
    tools/function_lengths.py --check 16       fails if the ninth decile is longer
    tools/function_lengths.py --self-test      shows that it can fail
"""
import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("include", "src", "apps", "bench")
ENDINGS = (".hpp", ".cpp", ".cu", ".cuh")
HEAD = re.compile(r"(\)|\bconst|\bnoexcept|\boverride|[})])$|^\s*(: |, )?\w+\(.*\)$")
ONE_LINE = re.compile(r"^\s*(?!(if|for|while|switch|return|else|do|struct|class|union|enum|namespace|#|//|\}|\{)\b)[\w:~&*<>\[\], ]+\([^;]*\)[^;=]*\{.*\}$")
NOT_FUNCTION = re.compile(r"^\s*(namespace|struct|class|union|enum)\b")


def functions(text):
    """(line number, lines of the body) of each function."""
    lines, found = text.split("\n"), []
    for number, line in enumerate(lines):
        before = lines[number - 1] if number else ""
        if line.strip() == "{" and HEAD.search(before) and not NOT_FUNCTION.match(before):
            close = re.compile(re.escape(line.replace("{", "}")) + r"[;),]*( +//.*)?$")  # of a lambda: };  });
            end = next((k for k in range(number + 1, len(lines)) if close.match(lines[k])), None)
            if end:
                found.append((number + 1, end - number - 1))
        elif ONE_LINE.match(line):
            found.append((number + 1, 1))
    return found


def self_test():
    text = "int one() { return 1; }\n\nint two(int a)\n{\n    if (a) {\n        a = 2;\n    }\n    return a;\n}\n\nstruct S\n{\n    int x;\n};\n"
    text += "void three()\n{\n    const auto add = [&](int b)\n    {\n        a += b;\n    };\n    add(1);\n}\n"
    good = functions(text) == [(1, 1), (4, 4), (16, 5), (18, 1)] and decile([1] * 9 + [20]) == 1 and decile([1] * 8 + [20] * 2) == 20
    print("self-test: " + ("passed" if good else f"FAILED {functions(text)}"))
    return not good


def decile(lengths):
    return sorted(lengths)[(9 * len(lengths) + 9) // 10 - 1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--longest", type=int, default=3, metavar="N")
    parser.add_argument("--check", type=int, metavar="LINES")
    parser.add_argument("--self-test", action="store_true")
    args = parser.parse_args()
    if args.self_test:
        sys.exit(self_test())
    files = [f for folder in FOLDERS for f in sorted((ROOT / folder).rglob("*")) if f.suffix in ENDINGS]
    found = [(length, f"{f.relative_to(ROOT)}:{line}") for f in files for line, length in functions(f.read_text())]
    lengths = sorted(length for length, _ in found)
    print(f"functions: {len(lengths)} in {len(files)} files, median {lengths[len(lengths) // 2]} lines, ninth decile {decile(lengths)}, longest {lengths[-1]}")
    for length, place in sorted(found, reverse=True)[:args.longest]:
        print(f"  {length} {place}")
    if args.check and decile(lengths) > args.check:
        sys.exit(f"the ninth decile is longer than {args.check} lines")


if __name__ == "__main__":
    main()
