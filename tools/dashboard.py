#!/usr/bin/env python3
# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""Makes one HTML file, which needs no network, of the measurements in bench/results: speedups by matrix and baseline, rooflines, history by commit.

    tools/dashboard.py -o index.html
    tools/dashboard.py --results FOLDER --no-history -o index.html

Ratios and means are those of tools/bench_table.py, which writes the tables of README.md and docs/benchmarks.md. The history is read from git: every
version of every file of results, as far as the clone has them.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import bench_table
from bench_table import ROOT, geometric_mean, grouped, read_lines, time_of

WAYS = ("warm", "graph", "cold")
PAGE = ROOT / "apps/cli/report"
RUN = ("operation", "type", "device", "file", "memory_gbps", "commit", "date")      # what the entries of one run share


def rounded(x):
    return float(f"{x:.4g}")


def times_of(line):
    return {way: rounded(time_of(line, way)) for way in WAYS if time_of(line, way)}


def flops_of(line):
    """Of operations whose count follows from the nonzeros; None for SpGEMM and solvers."""
    name, _, columns = line["operation"].partition(" ")
    if name in ("spmv", "sptrsv"):
        return 2 * line["nonzeros"]
    return 2 * line["nonzeros"] * int(columns) if name in ("spmm", "sptrsm", "sddmm") and columns.isdigit() else None


def comparable(lines):
    """Lines of contenders; other programs (partition, learning data) write lines of their own."""
    return [line for line in lines if {"role", "contender", "type", "backend", "status"} <= line.keys()]


def entries_of(path):
    """One entry for each problem that tulle solved in a file of results."""
    entries = []
    for (operation, value_type, _, device), matrices in grouped(comparable(read_lines([path]))).items():
        for matrix, lines in matrices.items():
            ours = next((line for line in lines if line["contender"] == "tulle" and times_of(line)), None)
            if ours is None:
                continue
            missing = [field for field in ("rows", "nonzeros", "policy", "bytes", "commit", "date") if field not in ours]
            if missing:
                sys.exit(f"{path}: the line of tulle's {operation} on {matrix} has no field {', '.join(missing)}")
            baselines = {line["contender"]: times_of(line) for line in lines if line["role"] == "baseline" and times_of(line)}
            entries.append({"operation": operation, "type": value_type, "device": device, "matrix": matrix.removeprefix("twin:"), "file": path.name, "rows": ours["rows"],
                            "nonzeros": ours["nonzeros"], "policy": ours["policy"], "us": times_of(ours), "baselines": baselines, "bytes": ours["bytes"], "flops": flops_of(ours),
                            "memory_gbps": rounded(ours.get("memory_gbps") or 0), "commit": ours["commit"], "date": ours["date"][:10]})
    return entries


def in_runs(entries):
    """The runs, and the entries as rows of a table, with the number of the run in place of what the entries of a run share: half of the size."""
    numbers = {}
    fields = [field for field in entries[0] if field not in RUN] if entries else []
    rows = [[numbers.setdefault(tuple(entry[field] for field in RUN), len(numbers)), *(entry[field] for field in fields)] for entry in entries]
    return [dict(zip(RUN, run)) for run in numbers], {"fields": ["run", *fields], "rows": rows}


def git(*words):
    done = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else ""


def points_of(path, name, commit, date):
    """What a version of a file says: the mean speedup of each operation, against the best baseline."""
    for (operation, value_type, _, device), matrices in grouped(comparable(read_lines([path]))).items():
        for way in WAYS:
            ratios = bench_table.best_ratios(matrices, way)
            if ratios:
                yield {"file": name, "operation": operation, "type": value_type, "device": device, "way": way, "commit": commit, "date": date, "matrices": len(ratios),
                       "mean": rounded(geometric_mean(ratios.values()))}


def history_of(results):
    """Points of all versions that git has of the files of results, oldest first."""
    points = []
    with tempfile.TemporaryDirectory() as folder:
        for path in results:
            if not path.is_relative_to(ROOT):
                continue
            for line in git("log", "--reverse", "--format=%h %cI", "--", path.relative_to(ROOT).as_posix()).splitlines():
                commit, date = line.split()
                old = pathlib.Path(folder) / path.name
                old.write_text(git("show", f"{commit}:{path.relative_to(ROOT).as_posix()}"), encoding="utf-8")
                try:
                    points += points_of(old, path.name, commit, date)
                except (KeyError, SystemExit):                   # an older form of the lines
                    continue
    return points


def headlines():
    rows = json.loads((ROOT / "bench/headline.json").read_text(encoding="utf-8"))
    described = []
    for row in rows:
        ratios = bench_table.headline_ratios(row)
        described.append({**{key: row[key] for key in ("what", "where", "against", "command")}, "matrices": len(ratios), "mean": geometric_mean(ratios),
                          "worst": min(ratios), "best": max(ratios)})
    return described


def page_with(data):
    """The page of tulle report with another script. No name in the data can end the script: "<" is written as \\u003c."""
    text = (PAGE / "page.html").read_text(encoding="utf-8")
    parts = {"{base.css}": (PAGE / "base.css").read_text(encoding="utf-8"), "{base.js}": (PAGE / "base.js").read_text(encoding="utf-8"),
             "{page.js}": pathlib.Path(__file__).with_name("dashboard.js").read_text(encoding="utf-8"), "{/* data */}": json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")}
    return re.sub("|".join(map(re.escape, parts)), lambda place: parts[place[0]], text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=pathlib.Path, default=pathlib.Path("dashboard.html"))
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "bench/results")
    parser.add_argument("--no-history", action="store_true", help="do not ask git for older versions")
    arguments = parser.parse_args()
    results = sorted(arguments.results.resolve().glob("*.jsonl")) + sorted(arguments.results.resolve().glob("*.jsonl.gz"))
    if not results:
        sys.exit(f"{arguments.results}: no file *.jsonl")
    entries = [entry for path in results for entry in entries_of(path)]
    plain = [path for path in results if path.suffix == ".jsonl"]
    runs, table = in_runs(entries)
    page = page_with({"runs": runs, "entries": table, "history": [] if arguments.no_history else history_of(plain), "headlines": headlines(), "commit": git("rev-parse", "--short", "HEAD").strip()})
    arguments.output.write_text(page, encoding="utf-8")
    print(f"{arguments.output}: {len(entries)} measurements, {len(page) / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
