#!/usr/bin/env python3
# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""Fits the constants of cost models to what was measured, and writes them as headers.

    tools/fit_costs.py             writes the headers named in MODELS
    tools/fit_costs.py --check     exit 1 when a header differs from what bench/results gives; CI runs this
    tools/fit_costs.py --show      measured and predicted times, line by line
    tools/fit_costs.py --self-test

A model is seconds = sum of constant * feature of the matrix. Its constants minimise the squares of log(predicted / measured), so that a triangle of 60,000
entries counts as much as one of six million, and are rounded to two digits.
"""
import argparse
import json
import math
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def levels_of(line):
    """From "83 of 690 levels: …": those of the matrix."""
    return int(re.match(r"\d+ of (\d+) levels", line["policy"])[1])


FEATURES = {"one": lambda line: 1, "entries": lambda line: line["nonzeros"], "rows": lambda line: line["rows"], "levels": levels_of}
TIMES = {"prepare": lambda line: line["prepare_us"] * 1e-6, "solve": lambda line: line["warm"]["us_median"] * 1e-6}

MODELS = [
    {"header": "src/sptrsv/fitted_costs.hpp", "namespace": "tulle::inline TULLE_ABI::sptrsv::fitted", "models": [
        {"data": "sptrsv-cpu-1-thread.jsonl", "contender": "tulle", "time": "prepare", "what": "Analysis on the CPU",
         "constants": [("cpu_prepare_entry", "entries", "for each entry"), ("cpu_prepare_row", "rows", "for each row")]},
        {"data": "sptrsv-h200.jsonl", "contender": "tulle", "time": "prepare", "what": "Analysis on a GPU, the matrix being there",
         "constants": [("gpu_prepare", "one", "launches and waits"), ("gpu_prepare_entry", "entries", "for each entry"), ("gpu_prepare_level", "levels", "for each level")]},
    ]},
]


def lines_of(model):
    path = ROOT / "bench/results" / model["data"]
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return [line for line in lines if line["contender"] == model["contender"] and line["status"] == "ok"]


def rounded(value):
    return float(f"{value:.1e}")


def predict(constants, row):
    return sum(c * x for c, x in zip(constants, row))


def error(constants, rows, times):
    return sum(math.log(max(predict(constants, row), 1e-12) / time) ** 2 for row, time in zip(rows, times))


def fit(rows, times):
    """Positive constants by steps of ever smaller factors, one constant after the other; the same result everywhere."""
    constants = [sorted(time / (len(row) * row[k]) for row, time in zip(rows, times))[len(rows) // 2] for k in range(len(rows[0]))]
    step = 2.0
    while step > 1.0005:
        tried = [constants[:k] + [constants[k] * factor] + constants[k + 1:] for k in range(len(constants)) for factor in (step, 1 / step)]
        best = min(tried, key=lambda c: error(c, rows, times))
        if error(best, rows, times) < error(constants, rows, times) - 1e-12:
            constants = best
        else:
            step = math.sqrt(step)
    return [rounded(c) for c in constants]


def fitted(model):
    lines = lines_of(model)
    rows = [[FEATURES[feature](line) for _, feature, _ in model["constants"]] for line in lines]
    times = [TIMES[model["time"]](line) for line in lines]
    constants = fit(rows, times)
    ratios = [predict(constants, row) / time for row, time in zip(rows, times)]
    return constants, list(zip(lines, times, ratios))


def text_of(group):
    text = ["// tulle: sparse linear algebra on CPUs and GPUs", "// SPDX-License-Identifier: BSD-3-Clause",
            "// Seconds, fitted to bench/results by tools/fit_costs.py; change that or the data, not this file.", "#pragma once", "",
            '#include "tulle/api.hpp"', "", f"namespace {group['namespace']} {{", ""]
    for model in group["models"]:
        constants, found = fitted(model)
        ratios = sorted(ratio for _, _, ratio in found)
        text.append(f"// {model['what']}: {len(found)} matrices of {model['data']};")
        text.append(f"// predicted {ratios[0]:.2f} to {ratios[-1]:.2f} times the measured.")
        for (name, _, what), value in zip(model["constants"], constants):
            text.append(f"inline constexpr double {name} = {value:.1e};  // {what}")
        text.append("")
    return "\n".join(text + [f"}}  // namespace {group['namespace']}", ""])


def show():
    for group in MODELS:
        for model in group["models"]:
            constants, found = fitted(model)
            print(f"{model['what']}: " + ", ".join(f"{name} = {value:.1e}" for (name, _, _), value in zip(model["constants"], constants)))
            for line, time, ratio in found:
                print(f"  {line['matrix']:16} {time * 1e3:9.3f} ms measured, predicted {ratio:5.2f} times that")


def self_test():
    rows = [[1, n, l] for n in (1e4, 1e5, 1e6, 1e7) for l in (10, 1000, 100000)]
    wanted = [2e-4, 3e-9, 4e-7]
    found = fit(rows, [predict(wanted, row) for row in rows])
    assert all(abs(f / w - 1) < 0.03 for f, w in zip(found, wanted)), found
    noisy = fit(rows, [predict(wanted, row) * (1.2 if k % 2 else 0.85) for k, row in enumerate(rows)])
    assert all(abs(f / w - 1) < 0.35 for f, w in zip(noisy, wanted)), noisy
    assert levels_of({"policy": "83 of 690 levels: tasks"}) == 690
    print("fit_costs: self-test passed")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--check", "--show", "--self-test"):
        parser.add_argument(name, action="store_true")
    args = parser.parse_args()
    if args.self_test:
        return self_test()
    if args.show:
        return show()
    for group in MODELS:
        path = ROOT / group["header"]
        text = text_of(group)
        if not args.check:
            path.write_text(text)
        elif not path.exists() or path.read_text().split() != text.split():
            sys.exit(f"fit_costs: {group['header']} is not what bench/results gives; run tools/fit_costs.py")
    print("fit_costs: constants and measurements agree" if args.check else "fit_costs: written")


if __name__ == "__main__":
    main()
