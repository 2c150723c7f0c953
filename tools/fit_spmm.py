#!/usr/bin/env python3
"""How far SpMM's choice of a row kernel on a GPU is from the best one, and the thresholds that bring it closest.

    tools/fit_spmm.py           time of the chosen row kernel over the best one, by the thresholds of src/spmm/policy.cpp
    tools/fit_spmm.py --fit     the best of a grid of thresholds

Data: bench/results/spmm-h200-choices.jsonl.gz, graph times of an H200 in microseconds of every policy on real matrices:
    tulle-bench spmm --suite real-all --backend cuda --policy rows --type f32 --n 128 32 --repeat 5
    tulle-bench spmm --suite real-all --backend cuda --policy rows dense "natural order" --type f16 --n 128 --repeat 5
"""
import argparse
import gzip
import itertools
import json
import math
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = ROOT / "bench/results/spmm-h200-choices.jsonl.gz"
POLICY = ROOT / "src/spmm/policy.cpp"
NAMES = ["not_long", "times_the_share", "few_nonzeros", "few_rows", "few_lines"]
MULTIPROCESSORS = 132
RESIDENT_WARPS = {"f16": 32, "f32": 28, "f64": 24}
PIECES = [32, 48, 64]
LONGEST_PIECE = {"f16": 48, "f32": 64, "f64": 64}


def thresholds():
    """The constants in the source."""
    text = POLICY.read_text()
    return tuple(float(re.search(rf"\b{name} = ([\d.]+)", text)[1]) for name in NAMES)


def load():
    cases = []
    for line in gzip.open(DATA, "rt"):
        case = json.loads(line)
        case["n"] = int(case["operation"].split()[1])
        case["times"] = {}
        for policy, us in case["us"].items():
            match = re.fullmatch(r"rows, (\d+) lanes?(?:, lines of (\d+))?", policy)
            if match:
                case["times"][int(match[1]), int(match[2] or 0)] = us
        cases.append(case)
    return cases


def choose(case, limits):
    """As policy.cpp: the lanes of a row and the length of a line, 0 for whole rows."""
    not_long, times_the_share, few_nonzeros, few_rows, few_lines = limits
    rows, nonzeros, longest = case["rows"], case["nonzeros"], case["features"]["longest"]
    lanes = 2 if case["n"] <= 8 else 8 if case["n"] <= 32 else 32
    slices = MULTIPROCESSORS * RESIDENT_WARPS[case["type"]] * (32 // lanes)
    share = (nonzeros + rows) * -(-case["n"] // (4 * lanes)) // slices
    piece = PIECES[0]
    for longer in PIECES:
        if piece < share and longer <= LONGEST_PIECE[case["type"]]:
            piece = max(piece, longer)
    even = longest <= max(not_long, times_the_share * share)
    if even and (nonzeros >= few_nonzeros * rows or share < piece or longest <= PIECES[0]):
        piece = 0
    few = rows <= few_rows * MULTIPROCESSORS if piece == 0 else (nonzeros + rows) // piece <= few_lines * MULTIPROCESSORS
    return (32 if lanes == 8 and few else lanes), piece


def losses(cases, limits):
    """(operation and type, time over the best, matrix) of every case that has all kernels."""
    found = []
    for case in cases:
        chosen = choose(case, limits)
        if chosen in case["times"]:
            found.append((f"{case['operation']} {case['type']}", case["times"][chosen] / min(case["times"].values()), case["matrix"]))
    return found


def mean(numbers):
    return math.exp(sum(map(math.log, numbers)) / len(numbers))


def show(cases, limits):
    print(", ".join(f"{name} = {value:g}" for name, value in zip(NAMES, limits)))
    found = losses(cases, limits)
    for group in sorted({group for group, _, _ in found}):
        some = sorted(((loss, matrix) for g, loss, matrix in found if g == group), reverse=True)
        worst = ", ".join(f"{matrix} {loss:.2f}" for loss, matrix in some[:4])
        print(f"  {group}: {len(some)} matrices, {mean([loss for loss, _ in some]):.3f} times the best row kernel; worst {worst}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fit", action="store_true")
    args = parser.parse_args()
    cases = load()
    show(cases, thresholds())
    if args.fit:
        grid = itertools.product((42, 56, 64, 70, 80), (1.33, 1.6, 2, 2.4, 3), (4, 8), (16, 20, 24, 28), (8, 12, 16, 20, 24))
        show(cases, min(grid, key=lambda limits: mean([loss for _, loss, _ in losses(cases, limits)])))


if __name__ == "__main__":
    main()
