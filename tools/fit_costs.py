#!/usr/bin/env python3
# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""Fits the constants of cost models to what was measured, and writes them as headers.

    tools/fit_costs.py             writes the headers
    tools/fit_costs.py --check     exit 1 when a header differs from what bench/results gives; CI runs this
    tools/fit_costs.py --show      measured and predicted times, line by line
    tools/fit_costs.py --collect LINES.jsonl    makes bench/results/spmv-h200-choices.jsonl.gz of the lines of
                                                tulle-bench spmv --backend cuda --policy all --cold --repeat 5 --json LINES.jsonl
    tools/fit_costs.py --self-test

A model is seconds = sum of constant * feature of the matrix. Its constants minimise the squares of log(predicted / measured), so that a triangle of 60,000
entries counts as much as one of six million, and are rounded to two digits.

SpMV on a GPU has such a model for every kernel, of terms that src/spmv/gpu_costs.hpp computes in the same way; constants are not negative and minimise the
squares of predicted / measured - 1, each matrix weighted by how close the kernel comes to the best one there: far from it, an error changes no choice.
--show also tells what the choices cost beside the best kernel, on matrices of families that were left out of the fit.
"""
import argparse
import gzip
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


# ---------------------------------------------------------------------------------------------------------------------- SpMV on a GPU

SPMV = {"data": "spmv-h200-choices.jsonl.gz", "header": "src/spmv/fitted_costs.hpp"}
CACHED = 40e6          # bytes; beyond them a matrix does not stay in the L2
SPMV_TERMS = ["start", "path", "nonzeros", "padding", "threads", "beyond_cache", "groups", "group_columns", "group_path", "columns", "unevenness"]


def spmv_policy(name):
    """"rows, 8 lanes, narrow columns" -> (kernel, lanes, narrow)"""
    lanes = re.search(r"(\d+) lane", name)
    return name.split(",")[0], int(lanes[1]) if lanes else 32, "narrow" in name


def spmv_terms(line, policy):
    """As terms_of() in src/spmv/gpu_costs.hpp; microseconds are fitted to them."""
    kernel, lanes, narrow = policy
    rows, nonzeros, cols, row = line["rows"], line["nonzeros"], line["cols"], line["features"]
    value_bytes = 8 if line["type"] == "f64" else 4
    mean, longest = nonzeros / max(rows, 1), row["longest"]
    apart = max(rows - row["repeats"], 1)
    bytes_read = (value_bytes + (2 if narrow else 4)) * nonzeros + 2 * value_bytes * rows + value_bytes * cols
    divergence = (max(row["padded"], 1) / max(nonzeros, 1)) ** (1 - math.log2(lanes) / 5)
    terms = dict.fromkeys(SPMV_TERMS, 0.0)
    terms.update(start=1.0, path=longest / lanes, nonzeros=nonzeros * (value_bytes + 4) / 12e6, padding=nonzeros * (divergence - 1) / 1e6,
                 threads=rows * lanes / 1e6, beyond_cache=max(0.0, bytes_read - CACHED) / 1e6)
    if kernel == "groups":
        terms.update(groups=apart / 1e6, group_columns=apart * mean / 1e6, group_path=(1 - apart / max(rows, 1)) * longest / lanes)
    if kernel == "sell":
        terms.update(columns=(rows - row["shifts"]) * mean / 1e6)
    if kernel == "stream":
        terms.update(unevenness=math.log2(max(1.0, longest / max(mean, 1e-9))))
    return [terms[name] for name in SPMV_TERMS]


def choices_of(lines):
    """A line a matrix, with the microseconds of every policy in a graph and with a cold cache, from the lines of tulle-bench."""
    matrices = {}
    for line in lines:
        if line["operation"] != "spmv" or line["role"] != "ours" or line["status"] != "ok" or line["contender"] == "tulle" or "graph" not in line or "cold" not in line:
            continue
        matrix = matrices.setdefault(line["matrix"], {**{key: line[key] for key in ("operation", "matrix", "rows", "cols", "nonzeros", "type", "device")},
                                                      "features": {name: int(value) for name, value in line["features"].items()}, "us_graph_cold": {}})
        matrix["us_graph_cold"][line["contender"].removeprefix("tulle ")] = [round(line[way]["us_median"], 3) for way in ("graph", "cold")]
    return matrices.values()


def collect(path):
    lines = choices_of(map(json.loads, pathlib.Path(path).read_text().splitlines()))
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    (ROOT / "bench/results" / SPMV["data"]).write_bytes(gzip.compress(text.encode(), mtime=0))


def spmv_runs():
    """[(line, {policy: microseconds})]: in a graph and with a cold cache, the geometric mean of both."""
    lines = [json.loads(line) for line in gzip.decompress((ROOT / "bench/results" / SPMV["data"]).read_bytes()).decode().splitlines()]
    return [(line, {spmv_policy(name): math.sqrt(graph * cold) for name, (graph, cold) in line["us_graph_cold"].items() if "sorted" not in name}) for line in lines]


def least_squares(rows, wanted):
    """Constants that are not negative, by coordinate descent on columns of length one."""
    n = len(rows[0])
    gram = [[sum(row[i] * row[j] for row in rows) for j in range(n)] for i in range(n)]
    right = [sum(row[i] * w for row, w in zip(rows, wanted)) for i in range(n)]
    size = [math.sqrt(gram[i][i]) for i in range(n)]
    used = [i for i in range(n) if size[i] > 0]
    gram = [[gram[i][j] / (size[i] * size[j]) for j in used] for i in used]
    right = [right[i] / size[i] for i in used]
    x = [0.0] * len(used)
    for _ in range(3000):
        moved = 0.0
        for i, line in enumerate(gram):
            new = max(0.0, x[i] + right[i] - sum(a * b for a, b in zip(line, x)))
            moved, x[i] = max(moved, abs(new - x[i])), new
        if moved < 1e-9:
            break
    found = dict(zip(used, x))
    return [found[i] / size[i] if i in found else 0.0 for i in range(n)]


def fit_spmv(runs):
    policies = sorted({policy for _, times in runs for policy in times}, key=lambda p: (["rows", "groups", "stream", "sell", "split"].index(p[0]), p[2], p[1]))
    model = {}
    for policy in policies:
        rows, wanted = [], []
        for line, times in runs:
            if policy in times:
                weight = (min(times.values()) / times[policy]) ** 2
                rows.append([term / times[policy] * weight for term in spmv_terms(line, policy)])
                wanted.append(weight)
        model[policy] = [rounded(c) for c in least_squares(rows, wanted)]
    return model


def is_possible(line, policy):
    return True


def is_possible_once(line, policy):
    """As in src/spmv/policy.cpp, for products done once."""
    kernel, lanes, _ = policy
    return kernel == "split" or lanes == 32 or line["nonzeros"] <= 8 * lanes * line["rows"]


def spmv_losses(model, runs, possible=is_possible):
    """[(time of the choice beside the best, matrix, choice)]"""
    found = []
    for line, times in runs:
        choice = min((p for p in times if possible(line, p)), key=lambda p: predict(model[p], spmv_terms(line, p)))
        found.append((times[choice] / min(times.values()), line["matrix"], choice))
    return found


def family_of(matrix):
    return matrix.split(":")[0] if ":" in matrix else matrix[:4].lower()


def left_out_losses(runs, possible=is_possible):
    losses = []
    for family in sorted({family_of(line["matrix"]) for line, _ in runs}):
        model = fit_spmv([run for run in runs if family_of(run[0]["matrix"]) != family])
        losses += spmv_losses(model, [run for run in runs if family_of(run[0]["matrix"]) == family], possible)
    return losses


def spmv_text():
    runs = spmv_runs()
    model = fit_spmv(runs)
    losses = [loss for loss, _, _ in spmv_losses(model, runs)]
    text = ["// tulle: sparse linear algebra on CPUs and GPUs", "// SPDX-License-Identifier: BSD-3-Clause",
            "// Microseconds, fitted to bench/results by tools/fit_costs.py; change that or the data, not this file.", "// clang-format off", "#pragma once", "",
            '#include "spmv/gpu_costs.hpp"', "", "namespace tulle::inline TULLE_ABI::spmv::fitted {", "",
            f"// {len(runs)} matrices of {SPMV['data']}; choices by these constants take", f"// {sum(losses) / len(losses):.3f} times as long as the best kernel, at most {max(losses):.2f} times.",
            f"// Terms: {', '.join(SPMV_TERMS[:7])},", f"// {', '.join(SPMV_TERMS[7:])}.", f"inline constexpr std::array<GpuCost, {len(model)}> gpu_costs{{{{"]
    for (kernel, lanes, narrow), constants in model.items():
        text.append(f"    {{Kernel::{kernel}, {lanes}, {str(narrow).lower()}, {{" + ", ".join(f"{c:g}" for c in constants) + "}},")
    return "\n".join(text + ["}};", "", "}  // namespace tulle::inline TULLE_ABI::spmv::fitted", ""])


def show_spmv():
    runs = spmv_runs()
    once = [(line, {p: us for p, us in times.items() if p[0] == "split" or p[0] == "rows" and not p[2]}) for line, times in runs]
    for what, losses in (("fitted to all", spmv_losses(fit_spmv(runs), runs)), ("families left out", left_out_losses(runs)),
                         ("products done once, fitted to all", spmv_losses(fit_spmv(runs), once, is_possible_once)),
                         ("products done once, families left out", left_out_losses(once, is_possible_once))):
        print(f"SpMV on a GPU, {what}: {sum(loss for loss, _, _ in losses) / len(losses):.3f} times the best kernel, {sum(loss > 1.25 for loss, _, _ in losses)} above 1.25")
        for loss, matrix, (kernel, lanes, narrow) in sorted(losses)[-8:]:
            print(f"  {matrix:28} {loss:5.2f}  {kernel}, {lanes} lanes{', narrow' if narrow else ''}")


# ---------------------------------------------------------------------------------------------------------------------- all of them

def show():
    for group in MODELS:
        for model in group["models"]:
            constants, found = fitted(model)
            print(f"{model['what']}: " + ", ".join(f"{name} = {value:.1e}" for (name, _, _), value in zip(model["constants"], constants)))
            for line, time, ratio in found:
                print(f"  {line['matrix']:16} {time * 1e3:9.3f} ms measured, predicted {ratio:5.2f} times that")
    show_spmv()


def self_test():
    rows = [[1, n, l] for n in (1e4, 1e5, 1e6, 1e7) for l in (10, 1000, 100000)]
    wanted = [2e-4, 3e-9, 4e-7]
    found = fit(rows, [predict(wanted, row) for row in rows])
    assert all(abs(f / w - 1) < 0.03 for f, w in zip(found, wanted)), found
    noisy = fit(rows, [predict(wanted, row) * (1.2 if k % 2 else 0.85) for k, row in enumerate(rows)])
    assert all(abs(f / w - 1) < 0.35 for f, w in zip(noisy, wanted)), noisy
    found = least_squares([[row[0], row[1] / 1e6, -row[2] / 1e5] for row in rows], [2 + 3 * row[1] / 1e6 for row in rows])
    assert abs(found[0] - 2) < 1e-4 and abs(found[1] - 3) < 1e-4 and abs(found[2]) < 1e-4, found
    assert spmv_policy("rows, 8 lanes, narrow columns") == ("rows", 8, True) and spmv_policy("stream") == ("stream", 32, False)
    run = {"operation": "spmv", "role": "ours", "status": "ok", "matrix": "m", "rows": 1, "cols": 1, "nonzeros": 1, "type": "f64", "device": "d", "features": {"longest": 1.0},
           "contender": "tulle stream", "graph": {"us_median": 1.5}, "cold": {"us_median": 2.5}}
    assert [line["us_graph_cold"] for line in choices_of([run, {**run, "contender": "tulle"}, {**run, "role": "baseline"}])] == [{"stream": [1.5, 2.5]}]
    assert levels_of({"policy": "83 of 690 levels: tasks"}) == 690
    print("fit_costs: self-test passed")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--check", "--show", "--self-test"):
        parser.add_argument(name, action="store_true")
    parser.add_argument("--collect", metavar="LINES.jsonl")
    args = parser.parse_args()
    if args.self_test:
        return self_test()
    if args.show:
        return show()
    if args.collect:
        return collect(args.collect)
    for header, text in [(group["header"], text_of(group)) for group in MODELS] + [(SPMV["header"], spmv_text())]:
        path = ROOT / header
        if not args.check:
            path.write_text(text)
        elif not path.exists() or path.read_text().split() != text.split():
            sys.exit(f"fit_costs: {header} is not what bench/results gives; run tools/fit_costs.py")
    print("fit_costs: constants and measurements agree" if args.check else "fit_costs: written")


if __name__ == "__main__":
    main()
