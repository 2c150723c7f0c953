#!/usr/bin/env python3
# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""Prints the markdown tables of docs/benchmarks.md from the JSON lines of tulle-bench, so that text and data never differ.

    tulle-bench spmv --suite paper --json out.jsonl
    tools/bench_table.py out.jsonl                 # one table per backend, type and device
    tools/bench_table.py out.jsonl --way cold      # warm (default), graph or cold
    tools/bench_table.py out.jsonl --policies      # every policy of ours beside the chosen one
"""
import argparse
import json
import math
import sys


def read_lines(paths):
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for number, text in enumerate(file, 1):
                if not text.strip():
                    continue
                try:
                    yield json.loads(text)
                except ValueError as fault:
                    sys.exit(f"{path}:{number}: not a JSON line: {fault}")


def grouped(lines):
    """{(operation, type, backend, device): {matrix: [line, …]}}, both in the order met; a later line of the same contender replaces an earlier one."""
    groups = {}
    for line in lines:
        if line["operation"] == "roof":
            continue
        matrices = groups.setdefault((line["operation"], line["type"], line["backend"], line["device"]), {})
        matrices.setdefault(line["matrix"], {})[line["contender"]] = line
    return {key: {name: list(found.values()) for name, found in matrices.items()} for key, matrices in groups.items()}


def time_of(line, way):
    return line[way]["us_median"] if line["status"] == "ok" and way in line else None


def best_yardstick(lines, way):
    timed = [line for line in lines if line["role"] == "yardstick" and time_of(line, way)]
    return min(timed, key=lambda line: time_of(line, way), default=None)


def geometric_mean(ratios):
    return math.exp(sum(math.log(r) for r in ratios) / len(ratios))


def row_of(line, best, way):
    us = time_of(line, way)
    share = line[way]["share_of_reading"]
    cells = [line["matrix"].removeprefix("twin:"), f"{line['rows']:,}", f"{line['nonzeros']:,}", line["policy"], f"{us:.1f}", f"{line[way]['gbps']:.1f}",
             f"{100 * share:.0f} %" if share else "–"]
    if best is None:
        return cells + ["–", "–", "–"], None
    ratio = time_of(best, way) / us
    return cells + [best["contender"], f"{time_of(best, way):.1f}", f"**{ratio:.2f}**" if ratio >= 1 else f"{ratio:.2f}"], ratio


def print_group(key, matrices, way, policies):
    operation, value_type, backend, device = key
    first = next(iter(matrices.values()))[0]
    commits = sorted({line["commit"] for lines in matrices.values() for line in lines})
    memory = first.get("memory_gbps")
    print(f"{operation}, {value_type}, {backend}: {device}; {way}; " + (f"memory read at {memory:.1f} GB/s; " if memory else "") +
          f"commit {', '.join(commits)}, {first['date'][:10]}\n")
    print("| matrix | rows | nonzeros | policy | tulle µs | GB/s | of reading | best yardstick | µs | ratio |")
    print("|---|---:|---:|---|---:|---:|---:|---|---:|---:|")
    ratios, failed = [], []
    for lines in matrices.values():
        best = best_yardstick(lines, way)
        for line in lines:
            if line["role"] != "ours" or (line["contender"] != "tulle" and not policies):
                continue
            if time_of(line, way) is None:
                failed.append(f"{line['matrix']}, {line['contender']}: {line['status']}")
                continue
            cells, ratio = row_of(line, best, way)
            print("| " + " | ".join(cells) + " |")
            if ratio and line["contender"] == "tulle":
                ratios.append(ratio)
    if ratios:
        print(f"\nGeometric mean of the ratio over {len(ratios)} matrices: {geometric_mean(ratios):.2f}; slower than the best yardstick on "
              f"{sum(r < 1 for r in ratios)}.")
    for text in failed:
        print(f"\nNo time: {text}")
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--way", choices=["warm", "graph", "cold"], default="warm")
    parser.add_argument("--policies", action="store_true")
    arguments = parser.parse_args()
    for key, matrices in grouped(read_lines(arguments.files)).items():
        if any(time_of(line, arguments.way) for lines in matrices.values() for line in lines):
            print_group(key, matrices, arguments.way, arguments.policies)


if __name__ == "__main__":
    main()
