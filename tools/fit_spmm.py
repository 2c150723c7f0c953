#!/usr/bin/env python3
"""How far SpMM's choice of a row kernel on a GPU is from the best one, and the constants that bring it closest.

    tools/fit_spmm.py           time of the chosen row kernel over the best measured one, by the constants of the sources
    tools/fit_spmm.py --fit     costs of src/spmm/row_costs.hpp fitted to all data, and choices by costs that were fitted
                                without the family of the matrix
    tools/fit_spmm.py --grid    the best of a grid of the thresholds of src/spmm/policy.cpp, costs as they are
    tools/fit_spmm.py --vendor  predicted times beside the best of cuSPARSE and cuBLAS
    tools/fit_spmm.py --dense [--fit]    the same of the dense kernel's policies: predicted times beside measured ones, the
                                chosen policy beside the best, and the costs of src/spmm/policy.cpp fitted again

Data, graph times of an H200 in microseconds of many policies on real matrices (the first that has a time counts). Lanes
beyond the columns share a row in the first file alone, and no file has rows of many pieces as they are joined now: other
times of these are left out.
  bench/results/spmm-h200-real-full.jsonl.gz, the chosen policy beside vendors
    tulle-bench spmm --suite real-all --backend cuda --against cusparse,cublas --seconds 0.004 --type f32 --n 8 32 128
    tulle-bench spmm --suite real-all --backend cuda --against cusparse,cublas --seconds 0.004 --type f64 --n 32
  bench/results/spmm-h200-choices.jsonl.gz
    tulle-bench spmm --suite real-all --backend cuda --policy rows --type f32 --n 128 32 --repeat 5
    tulle-bench spmm --suite real-all --backend cuda --policy rows dense "natural order" --type f16 --n 128 --repeat 5
  bench/results/spmm-h200-full-precision.jsonl.gz, with the best time of a vendor
    tulle-bench spmm --suite real-all --backend cuda --against cusparse,cublas --seconds 0.004 --type f32 --n 128 32 8
    tulle-bench spmm --suite real-all --backend cuda --against cusparse,cublas --seconds 0.004 --type f64 --n 128 32
    tulle-bench spmm --suite real-all --backend cuda --policy rows dense --type f32 --n 128 32 8     the first 19 matrices
    tulle-bench spmm --suite real-all --backend cuda --policy rows dense --type f64 --n 128 32       the first 19 matrices
  bench/results/spmm-h200-dense.jsonl.gz, for --dense: of nine shapes of pruned weights all policies of the dense kernel, of
  15 real matrices those that the time allowed, of all others the chosen ones
    tulle-bench spmm WEIGHTS --backend cuda --policy dense --n 128 --repeat 5 --type f64       also tf32 and f32
    tulle-bench spmm MATRICES --backend cuda --policy rows dense "natural order" --n 128 256 --repeat 5 --type f64
    tulle-bench spmm *.smtx --backend cuda --against cusparse,cublas --n 128 --seconds 0.003 --type f64       also tf32, f32, f16
  bench/results/spmm-h200-weights-f16.jsonl.gz, for --dense: f16 with two blocks of a multiprocessor where they were chosen
    tulle-bench spmm *.smtx --backend cuda --against cusparse,cublas --n 128 --seconds 0.002 --type f16
  bench/results/spmm-h200-weights-policies.jsonl.gz, for --dense: all policies on eleven pruned weights, f16, f32 and f64
    tulle-bench spmm *.smtx --backend cuda --policy rows dense --against cusparse,cublas --n 128 --repeat 5 --type f16
"""
import argparse
import gzip
import itertools
import json
import math
import pathlib
import random
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = ["spmm-h200-real-full.jsonl.gz", "spmm-h200-full-precision.jsonl.gz", "spmm-h200-choices.jsonl.gz"]
OLDER = 0.94     # times of the last file before kernels were launched early, so many times as long now (the median)
THRESHOLDS = ["not_long", "times_the_share", "few_nonzeros", "few_rows", "few_lines", "worth_changing", "few_blocks", "nonzeros_of_slice", "worth_in_doubles", "widest_timed"]
FITTED = ["whole_rows", "shared_rows", "row_lines"]
MULTIPROCESSORS = 132
RESIDENT_WARPS = {2: 32, 4: 28, 8: 24}
LANES, PIECES = [2, 8, 32, 128], [0, 32, 48, 64]
FEW = 2          # fewer times do not tell which kernel is the best


def thresholds():
    text = (ROOT / "src/spmm/policy.cpp").read_text()
    return {name: float(re.search(rf"\b{name} = ([\d.]+)", text)[1]) for name in THRESHOLDS}


def costs():
    """{kernel: {constant: microseconds}} of the source."""
    text = (ROOT / "src/spmm/row_costs.hpp").read_text()
    found = {}
    for kernel, body in re.findall(r"namespace (\w+) \{\n(inline.*?)\n\}", text, re.S):
        found[kernel] = {name: float(value) for name, value in re.findall(r"(\w+) = ([\d.e-]+)", body)}
        steps = re.search(r"step = \{([^}]*)\}", body)
        if steps:
            found[kernel].update(zip(("step 2", "step 8", "step 32"), map(float, steps[1].split(","))))
    return found


def in_turn(case, count):
    """Sums of so many pieces of a row that are added up one after the other, and whether groups of them are first: as steps.hpp."""
    if count <= (32 if case["bytes"] == 8 else 64):
        return count, False
    together = 8
    while together * together < count:
        together *= 2
    return together + -(-count // together), True


def read_lines(name):
    """The lines of a file, those of a benchmark in the form of the others: {policy: microseconds} of a product, and the best vendor."""
    found = {}
    for line in gzip.open(ROOT / "bench/results" / name, "rt"):
        read = json.loads(line)
        if "us" in read:
            yield read
        elif read.get("graph"):
            key, us = (read["operation"], read["type"], read["matrix"]), read["graph"]["us_median"]
            case = found.setdefault(key, {**{k: read[k] for k in ("operation", "type", "matrix", "rows", "cols", "nonzeros", "features")}, "us": {}})
            if read["role"] == "ours":
                case["us"][read["policy"]] = us
                case["chosen"] = read["policy"]
            elif us < case.get("vendor", {"us": math.inf})["us"]:
                case["vendor"] = {"contender": read["contender"], "us": us}
    yield from (case for case in found.values() if "chosen" in case)


def is_as_now(case, shape, newest):
    """Whether a time is of the kernel as it is now."""
    lanes, piece = shape
    return not in_turn(case, -(-case["longest"] // piece))[1] if piece else newest or not is_shared(case, lanes)


def load():
    cases = {}
    for name in DATA:
        for read in read_lines(name):
            key = read["operation"], read["type"], read["matrix"]
            case = cases.setdefault(key, {**read, "n": int(read["operation"].split()[1]), "longest": int(read["features"]["longest"]), "times": {},
                                          "bytes": {"f16": 2, "f32": 4, "f64": 8}[read["type"]]})
            for policy, us in read["us"].items():
                match = re.fullmatch(r"rows, (\d+) lanes?(?:, lines of (\d+))?", policy)
                shape = match and (int(match[1]), int(match[2] or 0))
                if match and is_as_now(case, shape, name == DATA[0]):
                    case["times"].setdefault(shape, us * (OLDER if name == DATA[-1] else 1))
    return list(cases.values())


def width_of(n):
    return 2 if n <= 8 else 8 if n <= 32 else 32


def tiles_of(n, lanes):
    return -(-n // (4 * lanes))


def is_shared(case, lanes):
    return lanes > width_of(case["n"])


def whole_time(case, lanes, c):
    doubles = c["doubles"] if case["bytes"] == 8 else 1
    return c["start"] + c[f"step {lanes}"] * case["longest"] / 4 * doubles + c["block"] * case["rows"] * lanes / 128 * tiles_of(case["n"], lanes) \
        + c["byte"] * case["nonzeros"] * case["n"] * case["bytes"] * (c["not_a_warp"] if lanes < 32 else 1)


def shared_time(case, lanes, c, whole):
    width, double = width_of(case["n"]), case["bytes"] == 8
    steps = max(1, -(-case["longest"] // (lanes // width * (4 if double else 8)))) * (c["doubles"] if double else 1)
    time = c["start"] + (c["join_in_block"] if lanes > 32 else 0) + c["step"] * steps \
        + c["block"] * case["rows"] * lanes / 128 * tiles_of(case["n"], width) + whole["byte"] * case["nonzeros"] * case["n"] * case["bytes"]
    return time * (c["halves"] if case["bytes"] == 2 else 1)


def lines_time(case, lanes, piece, c, whole):
    doubles = c["doubles"] if case["bytes"] == 8 else 1
    count = max(1, min(4096, -(-case["longest"] // piece)))
    sums, grouped = in_turn(case, count)
    length = min(case["longest"], max(piece, case["longest"] // count))
    return c["start"] + (c["meeting"] if grouped else 0) + (c[f"step {lanes}"] * length / 8 + c["a_piece_f32" if case["bytes"] == 4 else "a_piece"] * sums) * doubles \
        + c["block"] * (case["nonzeros"] + case["rows"]) / piece * lanes / 128 * tiles_of(case["n"], lanes) \
        + c["byte"] * case["nonzeros"] * case["n"] * case["bytes"] * (whole["not_a_warp"] if lanes < 32 else 1)


def predict(case, shape, model):
    lanes, piece = shape
    if piece:
        return lines_time(case, lanes, piece, model["row_lines"], model["whole_rows"])
    return shared_time(case, lanes, model["shared_rows"], model["whole_rows"]) if is_shared(case, lanes) else whole_time(case, lanes, model["whole_rows"])


def by_thresholds(case, limits):
    """As piece_for() and lanes_of_rows() of policy.cpp: the lanes of a row and the length of a line, 0 for whole rows."""
    rows, nonzeros, longest, lanes = case["rows"], case["nonzeros"], case["longest"], width_of(case["n"])
    slices = MULTIPROCESSORS * RESIDENT_WARPS[case["bytes"]] * (32 // lanes)
    share = (nonzeros + rows) * tiles_of(case["n"], lanes) // slices
    piece = 32
    for longer in PIECES:
        if piece < share and longer <= (48 if case["bytes"] == 2 else 64):
            piece = max(piece, longer)
    even = longest <= max(limits["not_long"], limits["times_the_share"] * share)
    if even and (nonzeros >= limits["few_nonzeros"] * rows or share < piece or longest <= 32):
        piece = 0
    few = rows <= limits["few_rows"] * MULTIPROCESSORS if piece == 0 else (nonzeros + rows) // piece <= limits["few_lines"] * MULTIPROCESSORS
    return (32 if lanes == 8 and few else lanes), piece


def is_possible(case, shape, limits):
    """As can_be_shape() of policy.cpp."""
    (lanes, piece), width = shape, width_of(case["n"])
    if lanes < width:
        return False
    if piece:
        return lanes <= 32 and piece < case["longest"] and piece <= (48 if case["bytes"] == 2 else 64)
    return lanes == width or case["rows"] * lanes / 128 * tiles_of(case["n"], width) <= limits["few_blocks"] * MULTIPROCESSORS \
        or case["nonzeros"] >= limits["nonzeros_of_slice"] * (lanes // width) * case["rows"]


def choose(case, limits, model):
    """As shape_of_rows() of policy.cpp."""
    best = by_thresholds(case, limits)
    narrow_doubles = case["bytes"] == 8 and case["n"] <= limits["widest_timed"]
    least = limits["worth_in_doubles" if narrow_doubles else "worth_changing"] * predict(case, best, model)
    for shape in itertools.product(LANES, PIECES):
        if is_possible(case, shape, limits) and predict(case, shape, model) < least:
            best, least = shape, predict(case, shape, model)
    return best


def losses(cases, limits, model):
    """(operation and type, time over the best, matrix) of every case whose chosen kernel was measured beside the others."""
    found = []
    for case in cases:
        chosen = choose(case, limits, model)
        if len(case["times"]) >= FEW and chosen in case["times"]:
            found.append((f"{case['operation']} {case['type']}", case["times"][chosen] / min(case["times"].values()), case["matrix"]))
    return found


def mean(numbers):
    return math.exp(sum(map(math.log, numbers)) / len(numbers))


def show(found):
    for group in sorted({group for group, _, _ in found}):
        some = sorted(((loss, matrix) for g, loss, matrix in found if g == group), reverse=True)
        worst = ", ".join(f"{matrix} {loss:.2f}" for loss, matrix in some[:4])
        print(f"  {group}: {len(some)} matrices, {mean([loss for loss, _ in some]):.3f} times the best row kernel; worst {worst}")


def runs_of(cases, kernel):
    """[(case, shape, microseconds)] that the costs of a kernel are fitted to: lines that cut a row, and no lanes without columns but in shared rows."""
    def is_of(case, lanes, piece):
        if kernel == "shared_rows":
            return piece == 0 and is_shared(case, lanes)
        return not is_shared(case, lanes) and (lanes > 2 or case["n"] < 128) and (kernel == "row_lines") == (piece > 0) and (piece == 0 or case["longest"] > piece)
    return [(case, shape, us) for case in cases if case["bytes"] > 2 for shape, us in case["times"].items() if is_of(case, *shape)]


def fit(cases, model, rounds):
    """The model with better constants: one after the other is changed at random as long as the mean error of the logarithm falls."""
    draw = random.Random(1)
    model = {kernel: dict(constants) for kernel, constants in model.items()}
    for kernel in FITTED:
        runs = runs_of(cases, kernel)
        error = lambda: sum(abs(math.log(predict(case, shape, model) / us)) for case, shape, us in runs) / len(runs)
        least = error()
        for _ in range(rounds):
            name = draw.choice(sorted(model[kernel]))
            before = model[kernel][name]
            model[kernel][name] *= math.exp(draw.gauss(0, 0.15))
            now = error()
            if now < least:
                least = now
            else:
                model[kernel][name] = before
        print(f"  {kernel}: {len(runs)} runs, mean error {least:.3f}: " + ", ".join(f"{name} = {value:.3g}" for name, value in model[kernel].items()))
    return model


def family_of(matrix):
    return matrix[:4].lower()


def left_out(cases, limits, model, parts=5):
    """Losses by costs that were fitted without the family of the matrix; families in so many groups."""
    families = sorted({family_of(case["matrix"]) for case in cases})
    found = []
    for part in range(parts):
        out = set(families[part::parts])
        fitted = fit([case for case in cases if family_of(case["matrix"]) not in out], model, 150)
        found += losses([case for case in cases if family_of(case["matrix"]) in out], limits, fitted)
    return found


def show_vendor(cases, limits, model):
    """A kernel that was not measured counts as predicted; dense ones as measured where they were chosen and are faster."""
    for group in sorted({(case["type"], case["n"]) for case in cases if "vendor" in case}):
        found = []
        for case in cases:
            if "vendor" in case and (case["type"], case["n"]) == group:
                shape = choose(case, limits, model)
                us = case["times"][shape] if shape in case["times"] else predict(case, shape, model)
                before = case["us"][case["chosen"]]
                us = min(us, before) if case["chosen"].startswith("dense") else us
                found.append((case["vendor"]["us"] / us, case["vendor"]["us"] / before, case["matrix"], shape, us))
        below = [f"{matrix} {ratio:.2f} {lanes} lanes{f', {piece}' if piece else ''}" for ratio, _, matrix, (lanes, piece), _ in sorted(found) if ratio < 0.9]
        print(f"  {group[0]}, {group[1]} columns: {mean([f[1] for f in found]):.2f} measured before, {mean([f[0] for f in found]):.2f} predicted, {len(below)} below 0.9: {'; '.join(below)}")


DENSE = re.compile(r"dense, (\d+) columns, (\d+) parts?(?:, (\d+) clusters)?$")
DENSE_DATA = ["spmm-h200-dense.jsonl.gz", "spmm-h200-weights-f16.jsonl.gz", "spmm-h200-weights-policies.jsonl.gz"]
DENSE_COSTS = ["start", "least", "of_32", "of_64", "two_blocks", "crowded_fours", "crowded_eights", "meeting", "a_cluster", "parts_of_32", "parts_of_64"]
CHUNK_BYTES, LEAST_CHUNKS = 32, 16      # as in src/spmm/policy.cpp


def dense_times():
    """{type: {(rows, cols, n): {(columns of a block, parts, clusters): microseconds}}}"""
    found = {}
    for line in itertools.chain(*(gzip.open(ROOT / "bench/results" / name, "rt") for name in DENSE_DATA)):
        line = json.loads(line)
        if not line.get("policy", "").startswith("dense, ") or "graph" not in line:
            continue
        width, parts, clusters = (int(number or 1) for number in DENSE.match(line["policy"]).groups())
        shape = line["rows"], line["cols"], int(line["operation"].split()[1])
        found.setdefault(line["type"], {}).setdefault(shape, {})[width, parts, clusters] = line["graph"]["us_median"]
    return found


def dense_costs():
    text = (ROOT / "src/spmm/policy.cpp").read_text()
    return {name: {**dict.fromkeys(DENSE_COSTS, 0.0), **dict(zip(DENSE_COSTS, map(float, numbers.split(","))))} for name, numbers in re.findall(r"costs_(\w+)\{([^}]*)\}", text)}


def dense_blocks(shape, policy):
    rows, _, n = shape
    width, parts, clusters = policy
    return math.ceil(rows / 64) * math.ceil(n / width) * parts * clusters


def is_timed(kind, shape, policy):
    """Policies that dense_for() of src/spmm/policy.cpp considers."""
    width, parts, clusters = policy
    blocks = dense_blocks(shape, policy)
    if width == 128 or (width == 64 and (kind == "f64" or (kind == "f16" and parts > 2))):
        return False
    if kind == "f16" and shape[1] * 2 < parts * clusters * LEAST_CHUNKS * CHUNK_BYTES:
        return False
    return blocks <= (1.25 if kind == "f16" else 4) * MULTIPROCESSORS if parts < 4 else blocks <= MULTIPROCESSORS and (parts == 4 or width == 32)


def dense_time(shape, policy, cost):
    """time_of_split() of src/spmm/policy.cpp."""
    width, parts, clusters = policy
    blocks = dense_blocks(shape, policy)
    rounds = math.ceil(blocks / MULTIPROCESSORS)
    crowded = 1 if parts < 4 or blocks <= 0.85 * MULTIPROCESSORS else cost["crowded_fours" if parts == 4 else "crowded_eights"]
    columns = cost[f"of_{width}"] * shape[1] / (parts * clusters)
    joining = cost["meeting"] + cost["a_cluster"] * clusters * max(1, 4 / parts) * width / 32 if clusters > 1 else 0
    of_parts = cost[f"parts_of_{width}"] if parts > 1 else 0
    return max(cost["least"], cost["start"] + columns * crowded * (cost["two_blocks"] * (rounds // 2) + rounds % 2)) + of_parts + joining


def dense_error(kind, shapes, cost):
    """Mean relative error of predicted times; policies that take long count little."""
    total = weights = 0
    for shape, times in shapes.items():
        for policy, us in times.items():
            if is_timed(kind, shape, policy):
                weight = math.exp(-3 * (us / min(times.values()) - 1)) if len(times) > 3 else 0.6
                total += weight * min(abs(math.log(dense_time(shape, policy, cost) / us)), 0.6)
                weights += weight
    return total / weights


def fit_dense(kind, shapes, cost):
    random.seed(1)
    best, step = dense_error(kind, shapes, cost), 0.3
    for turn in range(6000):
        tried = {name: value * math.exp(random.gauss(0, step)) if random.random() < 0.4 else value for name, value in cost.items()}
        error = dense_error(kind, shapes, tried)
        if error < best:
            best, cost = error, tried
        step *= 0.8 if turn % 500 == 499 else 1
    return cost


def show_dense(again):
    for kind, shapes in dense_times().items():
        cost = dense_costs()[kind]
        if again:
            cost = fit_dense(kind, shapes, cost)
            print(f"  {kind}: " + ", ".join(f"{name} {value:.4g}" for name, value in cost.items()))
        losses = []
        for shape, times in shapes.items():
            tried = [policy for policy in times if is_timed(kind, shape, policy)]
            if len(times) >= 5 and tried:
                losses.append(times[min(tried, key=lambda policy: dense_time(shape, policy, cost))] / min(times.values()))
        chosen = f"the policy of the least predicted time takes {mean(losses):.3f} times the best one, at most {max(losses):.2f}, on {len(losses)} shapes" if losses else "too few times to choose from"
        print(f"  {kind}: predicted times are off by {dense_error(kind, shapes, cost):.3f}; {chosen}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dense", action="store_true")
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--grid", action="store_true")
    parser.add_argument("--vendor", action="store_true")
    args = parser.parse_args()
    if args.dense:
        show_dense(args.fit)
        return
    cases, limits, model = load(), thresholds(), costs()
    show(losses(cases, limits, model))
    if args.vendor:
        show_vendor(cases, limits, model)
    if args.fit:
        show(losses(cases, limits, fit(cases, model, 400)))
        print("families left out:")
        show(left_out(cases, limits, model))
    if args.grid:
        grid = itertools.product((42, 56, 64, 80), (1.6, 2, 2.4, 3), (4, 8), (16, 24), (12, 20), (0.9, 0.93, 0.95, 0.97))
        best = min(grid, key=lambda some: mean([loss for _, loss, _ in losses(cases, {**limits, **dict(zip(THRESHOLDS, some))}, model)]))
        print(", ".join(f"{name} = {value:g}" for name, value in zip(THRESHOLDS, best)))
        show(losses(cases, {**limits, **dict(zip(THRESHOLDS, best))}, model))


if __name__ == "__main__":
    main()
