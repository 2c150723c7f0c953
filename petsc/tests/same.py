#!/usr/bin/env python3
# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""Are the outputs of two runs the same, but for the last digits of numbers, and did tulle do the work?

    petsc/tests/same.py WITHOUT WITH RANKS "mult solve"
"""
import re
import sys

NUMBER = re.compile(r"[-+]?\d+\.?\d*(?:[eE][-+]?\d+)?")


def near(a, b):
    if "." not in a and "e" not in a.lower():
        return a == b                                  # iterations
    x, y = float(a), float(b)
    return abs(x - y) <= 2e-3 * max(abs(x), abs(y)) + 1e-8


def same(a, b):
    return NUMBER.sub("#", a).split() == NUMBER.sub("#", b).split() and all(near(x, y) for x, y in zip(NUMBER.findall(a), NUMBER.findall(b)))


def main():
    without = [line.strip() for line in open(sys.argv[1]) if line.strip()]
    all_lines = [line.strip() for line in open(sys.argv[2]) if line.strip()]
    counts = [line.split() for line in all_lines if line.startswith("tulle: rank")]
    lines = [line for line in all_lines if not line.startswith("tulle: rank")]
    wrong = [f"{len(without)} lines without, {len(lines)} with the plugin"] if len(lines) != len(without) else []
    wrong += [f"without: {a}\n   with: {b}" for a, b in zip(without, lines) if not same(a, b)]
    if len(counts) != int(sys.argv[3]):
        wrong.append(f"{len(counts)} lines of -tulle_view, not {sys.argv[3]}")
    for line in counts:
        value = dict(zip(line[1::2], line[2::2]))
        wrong += [f"rank {value['rank']}: no {name}" for name in sys.argv[4].split() if int(value[name]) == 0]
    print("\n".join(wrong[:10]), end="\n" if wrong else "")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
