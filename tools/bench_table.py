#!/usr/bin/env python3
# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""Prints the markdown tables of docs/benchmarks.md from the JSON lines of tulle-bench, so that text and data never differ.

    tulle-bench spmv --suite paper --json out.jsonl
    tools/bench_table.py out.jsonl                 # one table per backend, type and device
    tools/bench_table.py out.jsonl --way cold      # warm (default), graph or cold
    tools/bench_table.py out.jsonl --policies      # every policy of ours beside the chosen one
    tools/bench_table.py out.jsonl --statistic min # the fastest sample instead of the median: for machines that others use as well
    tools/bench_table.py out.jsonl --refills       # SpGEMM: whole calls, refills of all kinds and what each keeps, beside cuSPARSE's reuse
    tools/bench_table.py out.jsonl --preparations  # what analysis and new values take, beside a baseline's analysis
    tools/bench_table.py out.jsonl --summary       # a line per device, contender of ours and baseline: geometric mean, worst, best, and what was chosen how often
    tools/bench_table.py out.jsonl --solvers       # setup and solve of every method and preconditioner that converged
    tools/bench_table.py --headline F.json         # the rows that F.json describes, one line each: README's table of speed
    tools/bench_table.py out.jsonl --peers F.csv   # beside the best of other implementations, measured apart: lines "matrix,ms,name"

A document names its tables itself: what stands between the lines

    <!-- table: bench/results/spmv-cpu.jsonl --way warm -->
    <!-- end of table -->

is written by --update FILE.md and compared by --check FILE.md (exit status 1 if it differs).
"""
import argparse
import collections
import contextlib
import gzip
import io
import json
import math
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def read_lines(paths):
    for path in paths:
        with (gzip.open if str(path).endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
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


def time_of(line, way, statistic="median"):
    return line[way]["us_" + statistic] if line["status"] == "ok" and way in line else None


def best(lines, role, way, statistic):
    timed = [line for line in lines if line["role"] == role and time_of(line, way, statistic)]
    return min(timed, key=lambda line: time_of(line, way, statistic), default=None)


def geometric_mean(ratios):
    return math.exp(sum(math.log(r) for r in ratios) / len(ratios))


def row_of(line, lines, way, statistic):
    us = time_of(line, way, statistic)
    reading, baseline = best(lines, "roof", way, statistic), best(lines, "baseline", way, statistic)
    cells = [line["matrix"].removeprefix("twin:"), f"{line['rows']:,}", f"{line['nonzeros']:,}", line["policy"], f"{us:.1f}", f"{line['bytes'] / us / 1000:.1f}",
             f"{100 * time_of(reading, way, statistic) / us:.0f} %" if reading else "–"]
    if baseline is None:
        return cells + ["–", "–", "–"], None
    theirs = time_of(baseline, way, statistic)
    ratio = theirs / us
    return cells + [baseline["contender"], f"{theirs:.1f}", f"**{ratio:.2f}**" if ratio >= 1 else f"{ratio:.2f}"], ratio


def print_heading(key, matrices, way, statistic):
    operation, value_type, backend, device = key
    lines = [line for found in matrices.values() for line in found]
    commits = ", ".join(sorted({line["commit"] for line in lines}))
    memory = lines[0].get("memory_gbps")
    loads = sorted(line["load"] for line in lines if "load" in line) if backend == "cpu" else []
    print(f"{operation}, {value_type}, {backend}: {device}; {way}, {statistic} of the samples; " + (f"memory read at {memory:.1f} GB/s; " if memory else "") +
          (f"load of the machine {loads[0]:.1f} to {loads[-1]:.1f}; " if loads else "") + f"commit {commits}, {lines[0]['date'][:10]}\n")


def print_group(key, matrices, way, statistic, policies):
    print_heading(key, matrices, way, statistic)
    print("| matrix | rows | nonzeros | policy | tulle µs | GB/s | of reading | best baseline | µs | ratio |")
    print("|---|---:|---:|---|---:|---:|---:|---|---:|---:|")
    ratios, failed = [], []
    for lines in matrices.values():
        for line in lines:
            if line["role"] != "ours" or (line["contender"] != "tulle" and not policies):
                continue
            if time_of(line, way) is None:
                failed.append(f"{line['matrix']}, {line['contender']}: {line['status']}")
                continue
            cells, ratio = row_of(line, lines, way, statistic)
            if policies and line["contender"] == "tulle":
                cells[3] += " (chosen)"
            print("| " + " | ".join(cells) + " |")
            if ratio and line["contender"] == "tulle":
                ratios.append(ratio)
    if ratios:
        print(f"\nGeometric mean of the ratio over {len(ratios)} matrices: {geometric_mean(ratios):.2f}; slower than the best baseline on "
              f"{sum(r < 1 for r in ratios)}.")
    for text in failed:
        print(f"\nNo time: {text}")
    print()


# choose_reuse (src/spgemm/policy.cpp): up to so many products an entry of C are listed; a list takes 8 bytes for each, and 8 for every 512 of them.
LISTED_PRODUCTS, LISTED_BYTES = 5, 8 + 8 / 512


def kept(line):
    return line["kept_beside_result_bytes"]


def print_refills(arguments):
    """One table over all files; means over the first of them and over all. Bold: what NumericReuse::fastest takes."""
    print("| matrix | whole call µs | refill | places kept | products kept | cuSPARSE's reuse | fastest beside reuse | refill MB | places MB | products MB | reuse MB |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    shares = []                  # of each matrix: is it of the first file, speed beside reuse and beside a whole call, plain and fastest; bytes beside reuse
    for number, path in enumerate(arguments.files):
        groups = grouped(read_lines([path]))
        whole = {name: lines[0] for key, matrices in groups.items() if key[0] == "spgemm" for name, lines in matrices.items()}
        for name, lines in next(matrices for key, matrices in groups.items() if key[0] == "spgemm refill").items():
            by_name = {line["contender"]: line for line in lines}
            plain, places, products, reuse = (by_name[k] for k in ("tulle", "tulle, places kept", "tulle, products kept", "cusparse reuse"))
            listed = (kept(products) - kept(plain)) / LISTED_BYTES <= LISTED_PRODUCTS * plain["nonzeros"]
            fastest = products if listed else plain
            us = [time_of(line, arguments.way, arguments.statistic) for line in (whole[name], plain, places, products, reuse)]
            cells = [f"**{u:.4g}**" if line is fastest else f"{u:.4g}" for u, line in zip(us, (None, plain, places, products, reuse))]
            quick = us[3] if listed else us[1]
            print(f"| {name.removeprefix('twin:')} | " + " | ".join(cells) + f" | {us[4] / quick:.2f} | " + " | ".join(f"{kept(line) / 1e6:.4g}" for line in (plain, places, products, reuse)) + " |")
            shares.append((number == 0, us[4] / us[1], us[4] / quick, us[0] / us[1], us[0] / quick, kept(plain) / kept(reuse), kept(fastest) / kept(reuse)))
    for what, chosen in (("the first file", [s for s in shares if s[0]]), ("all files", shares)):
        print(f"\nGeometric means over the {len(chosen)} matrices of {what}: beside reuse {geometric_mean([s[1] for s in chosen]):.2f}, the fastest {geometric_mean([s[2] for s in chosen]):.2f} (least {min(s[2] for s in chosen):.2f});"
              f" beside a whole call {geometric_mean([s[3] for s in chosen]):.2f} (least {min(s[3] for s in chosen):.2f}), the fastest {geometric_mean([s[4] for s in chosen]):.2f} (least {min(s[4] for s in chosen):.2f})."
              f" Kept beside what reuse keeps: at most {100 * max(s[5] for s in chosen):.1f} %, the fastest {100 * max(s[6] for s in chosen):.0f} %.")


def print_peers(arguments):
    """Beside the best of others for each matrix; means over the first file and over all."""
    rows = [line.split(",") for line in pathlib.Path(arguments.peers).read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    peers = {matrix: (float(ms) * 1000, name) for matrix, ms, name in rows}
    print("| matrix | tulle µs | best peer | µs | ratio |\n|---|---:|---|---:|---:|")
    ratios = []
    for number, path in enumerate(arguments.files):
        lines = next(matrices for key, matrices in grouped(read_lines([path])).items() if key[0] in ("spgemm", "sptrsv"))
        for name, found in lines.items():
            us, (theirs, peer) = time_of(found[0], arguments.way, arguments.statistic), peers[name.removeprefix("twin:")]
            ratios.append((number == 0, theirs / us))
            print(f"| {name.removeprefix('twin:')} | {us:.1f} | {peer} | {theirs:.0f} | {theirs / us:.2f} |")
    first, all_of_them = [ratio for of_first, ratio in ratios if of_first], [ratio for _, ratio in ratios]
    of_first = f"{geometric_mean(first):.2f} over the {len(first)} matrices of the first file, " if len(first) < len(ratios) else ""
    print(f"\nGeometric mean{'s' if of_first else ''}: {of_first}{geometric_mean(all_of_them):.2f} over all {len(ratios)}; least {min(all_of_them):.2f}.")


def print_preparations(arguments):
    """What is done once for a matrix, and once for new values: in microseconds, and in calls."""
    print("| matrix | analysis µs | in calls | baseline's µs | of it | new values µs | in calls |\n|---|---:|---:|---:|---:|---:|---:|")
    within, below, updates = 0, 0, []
    lines = next(iter(grouped(read_lines(arguments.files)).values()))
    for name, found in lines.items():
        ours, theirs = found[0], next(line for line in found if line["role"] == "baseline")
        call, analysis, their_analysis, update = time_of(ours, arguments.way, arguments.statistic), ours["prepare_us"], theirs["prepare_us"], ours["update_us"]
        within += analysis <= 10 * call
        below += analysis <= their_analysis
        updates.append(update / call)
        print(f"| {name.removeprefix('twin:')} | {analysis:.0f} | {analysis / call:.1f} | {their_analysis:.0f} | {analysis / their_analysis:.2f} | {update:.0f} | {update / call:.2f} |")
    print(f"\nAnalysis takes less than the baseline's on {below} of {len(lines)} and at most ten calls on {within}; new values at most {max(updates):.2f} calls.")


def ratios_against(lines_of, ours, baseline, way, statistic):
    """How fast one contender of ours is beside one baseline, {matrix: ratio}."""
    found = {}
    for name, lines in lines_of.items():
        us, theirs = ([time_of(line, way, statistic) for line in lines if line["contender"] == wanted] for wanted in (ours, baseline))
        if us and theirs and us[0] and theirs[0]:
            found[name] = theirs[0] / us[0]
    return found


def print_summary(arguments):
    print("| operation | device | ours | baseline | matrices | geometric mean | worst | best | below 0.95 |\n|---|---|---|---|---:|---:|---:|---:|---:|")
    chosen = []
    for (operation, value_type, _, device), matrices in grouped(read_lines(arguments.files)).items():
        lines = [line for found in matrices.values() for line in found]
        by_role = {role: list(dict.fromkeys(line["contender"] for line in lines if line["role"] == role)) for role in ("ours", "baseline")}
        for ours in by_role["ours"]:
            for baseline in by_role["baseline"]:
                ratios = ratios_against(matrices, ours, baseline, arguments.way, arguments.statistic)
                if not ratios:
                    continue
                worst = min(ratios, key=ratios.get)
                print(f"| {operation} {value_type} | {device} | {ours} | {baseline} | {len(ratios)} | {geometric_mean(ratios.values()):.2f} | {ratios[worst]:.2f} ({worst.removeprefix('twin:')}) "
                      f"| {max(ratios.values()):.2f} | {sum(r < 0.95 for r in ratios.values())} |")
        policies = collections.Counter(re.sub(r"^\d+ of \d+ levels: ", "", line["policy"]) for line in lines if line["contender"] == "tulle")
        chosen.append(f"{operation} {value_type}, {device}: chosen " + ", ".join(f"{policy} ({count})" for policy, count in policies.most_common()))
    print("\n" + "\n\n".join(chosen))


def best_ratios(lines_of, way, baseline=None, statistic="median"):
    """How fast the default is beside the best baseline of each matrix, or beside the one named: {matrix: ratio}."""
    found = {}
    for name, lines in lines_of.items():
        us = next((time_of(line, way, statistic) for line in lines if line["contender"] == "tulle"), None)
        theirs = best([line for line in lines if baseline in (None, line["contender"])], "baseline", way, statistic)
        if us and theirs:
            found[name] = time_of(theirs, way, statistic) / us
    return found


def headline_ratios(row):
    """Ratios of a row of the headline file: over all of its files, the same matrix in two of them counted twice."""
    found = []
    for path in row["files"]:
        for (operation, value_type, _, _), matrices in grouped(read_lines([ROOT / path])).items():
            if (operation, value_type) == (row["operation"], row["type"]):
                found += best_ratios(matrices, row.get("way", "warm"), row.get("baseline")).values()
    return found


def print_headline(arguments):
    print("| operation | where | baseline | matrices | speedup | worst, best | command |\n|---|---|---|---:|---:|---|---|")
    for row in json.loads(pathlib.Path(arguments.headline).read_text(encoding="utf-8")):
        ratios = headline_ratios(row)
        print(f"| {row['what']} | {row['where']} | {row['against']} | {len(ratios)} | **{geometric_mean(ratios):.2f}** | {min(ratios):.2f}, {max(ratios):.2f} | `{row['command']}` |")


def print_solvers(arguments):
    """One row for each method and preconditioner; what the solver chose by itself is marked and not repeated."""
    print("| matrix | method, preconditioner | setup, ms | solve, ms |\n|---|---|---:|---:|")
    failed = []
    for matrices in grouped(read_lines(arguments.files)).values():
        for name, lines in matrices.items():
            chosen = next((line["policy"] for line in lines if line["contender"] == "tulle"), None)
            for line in lines:
                us = time_of(line, arguments.way, arguments.statistic)
                ours = line["role"] == "ours"
                if us is None:
                    failed.append(f"{name} ({line['policy']}{'' if ours else ', ' + line['contender']})")
                elif line["contender"] == "tulle" or line["policy"] != chosen or not ours:
                    mark = " (chosen)" if line["contender"] == "tulle" else "" if ours else f", {line['contender']}"
                    print(f"| {name} | {line['policy']}{mark} | {line['prepare_us'] / 1000:.3g} | {us / 1000:.3g} |")
    if failed:
        print("\nTolerance not reached: " + "; ".join(failed) + ".")


def print_tables(arguments):
    for wanted, printer in ((arguments.headline, print_headline), (arguments.solvers, print_solvers), (arguments.summary, print_summary), (arguments.refills, print_refills), (arguments.peers, print_peers), (arguments.preparations, print_preparations)):
        if wanted:
            return printer(arguments)
    for key, matrices in grouped(read_lines(arguments.files)).items():
        if any(time_of(line, arguments.way) for lines in matrices.values() for line in lines):
            print_group(key, matrices, arguments.way, arguments.statistic, arguments.policies)


BLOCK = re.compile(r"(<!-- table: (?P<words>.*?) -->\n).*?(<!-- end of table -->)", re.DOTALL)


def with_fresh_tables(text, parser):
    """The document with every table printed anew; files are named relative to the repository."""

    def fresh(block):
        arguments = parser.parse_args(block["words"].split())
        arguments.files = [ROOT / name for name in arguments.files]
        arguments.peers = arguments.peers and ROOT / arguments.peers
        arguments.headline = arguments.headline and ROOT / arguments.headline
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            print_tables(arguments)
        return block[1] + "\n" + printed.getvalue().strip() + "\n\n" + block[3]

    return BLOCK.sub(fresh, text)


def make_parser():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--way", choices=["warm", "graph", "cold"], default="warm")
    parser.add_argument("--statistic", choices=["median", "min"], default="median")
    parser.add_argument("--policies", action="store_true")
    parser.add_argument("--refills", action="store_true")
    parser.add_argument("--peers", metavar="FILE.csv")
    parser.add_argument("--preparations", action="store_true")
    parser.add_argument("--summary", action="store_true")
    parser.add_argument("--solvers", action="store_true")
    parser.add_argument("--headline", metavar="FILE.json")
    parser.add_argument("--update", metavar="FILE.md", type=pathlib.Path)
    parser.add_argument("--check", metavar="FILE.md", type=pathlib.Path)
    return parser


def main():
    parser = make_parser()
    arguments = parser.parse_args()
    document = arguments.update or arguments.check
    if document is None:
        if not arguments.files and not arguments.headline:
            parser.error("name a file of JSON lines")
        print_tables(arguments)
        return
    text = document.read_text(encoding="utf-8")
    fresh = with_fresh_tables(text, parser)
    if arguments.update:
        document.write_text(fresh, encoding="utf-8")
    elif fresh != text:
        sys.exit(f"{document}: a table differs from its data; run tools/bench_table.py --update {document}")


if __name__ == "__main__":
    main()
