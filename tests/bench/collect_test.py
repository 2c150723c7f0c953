#!/usr/bin/env python3
# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""From measured runs to a model: what tulle-bench collects is what tools/train learns from; policies of SpGEMM beside each other.

    tests/bench/collect_test.py build/release/bin/tulle-bench
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

TRAIN = pathlib.Path(__file__).resolve().parent.parent.parent / "tools" / "train"
MATRICES = ["stencil5:6", "stencil9:7", "chain:40", "banded:60,3", "uniform:80,80,4", "uniform:50,50,20", "rmat:6,4", "arrow:40", "fem:2,3", "road:100", "levels:100,5,3", "pruned:64,64,0.9"]
SANITIZED = "ASAN_OPTIONS" in os.environ                            # ten times slower: fewer matrices, too few to learn from
if SANITIZED:
    MATRICES = ["stencil5:6", "chain:40", "uniform:80,80,4", "arrow:40"]


def run(*command, code=0):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert done.returncode == code, f"{command}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def lines_of(text):
    return [json.loads(line) for line in text.splitlines()]


def check_collected(runs):
    parts = {}
    for r in runs:
        assert r["operation"] == "spgemm" and r["seconds"] > 0, r
        parts.setdefault((r["matrix"], r["part"]), {})[r["choice"]] = r
    for matrix in MATRICES:
        for part in ("symbolic", "numeric"):
            both = parts[matrix, part]
            assert set(both) == {"plain", "grouped"} and sum(r["predicted"] for r in both.values()) == 1, both
            assert all(list(r["features"]) == ["density", "row_mean", "row_longest"] for r in both.values()), both
        assert "features" not in parts[matrix, "policy"]["deltasparse"]
        bounds, exact = parts[matrix, "symbolic"]["plain"]["features"], parts[matrix, "numeric"]["plain"]["features"]
        assert all(bounds[f] >= exact[f] > 0 for f in bounds), (matrix, bounds, exact)
    assert set(parts["arrow:40", "dense_share"]) == {"200", "500", "760", "1500", "3000"}
    assert set(parts["arrow:40", "count_sorted"]) == {"0", "64", "128", "256", "512", "1024"}
    assert ("chain:40", "count_sorted") not in parts, "the longest row of C has five entries"
    c = parts["chain:40", "numeric"]["plain"]["features"]
    assert abs(c["row_mean"] * 40 - parts["chain:40", "policy"]["deltasparse"]["nonzeros"]) < 1e-9, c


def check_training(runs, out):
    run(TRAIN, "tree", runs, "--name", "deltasparse_grouping", "--out", out)
    text = (out / "deltasparse_grouping.txt").read_text()
    assert "tulle tree 1\nfeatures density row_mean row_longest\nclasses grouped plain\n" in text, text
    assert "the library without it" in (out / "deltasparse_grouping.md").read_text()
    assert "| 760 |" in run(TRAIN, "compare", runs)


def check_left_out(bench):
    """A matrix that cannot be raced with is named, and the others go on; the exit code tells."""
    with tempfile.TemporaryDirectory() as folder:
        suite = pathlib.Path(folder) / "suite.txt"
        suite.write_text("stencil5:6\nuniform:30,40,3\nchain:40\n")
        command = [bench, "spgemm", "--suite", str(suite), "--backend", "cpu", "--threads", "1", "--repeat", "3", "--json", "-", "--quiet"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert "uniform:30,40,3 skipped" in done.stderr and "square" in done.stderr, done.stderr
        assert done.returncode == 2, done.returncode
        assert {line["matrix"] for line in lines_of(done.stdout)} == {"stencil5:6", "chain:40"}, done.stdout


def main():
    bench = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        runs, out = pathlib.Path(folder) / "runs.jsonl", pathlib.Path(folder)
        run(bench, "collect", "spgemm", *MATRICES, "--backend", "cpu", "--threads", 1, "--quiet", "--json", runs)
        check_collected(lines_of(runs.read_text()))
        if not SANITIZED:
            check_training(runs, out)
        for parts in (2, 3):                                          # lines are added, none are lost
            run(bench, "partition", "stencil5:9", "--backend", "cpu", "--threads", 1, "--parts", parts, "--repeat", 1, "--quiet", "--json", out / "parts.jsonl")
        cuts = lines_of((out / "parts.jsonl").read_text())
        assert [c["parts"] for c in cuts] == [2, 3] and all(c["right"] and c["bytes_moved_paper"] > c["bytes_moved"] > 0 and c["slowest_part_paper_seconds"] > 0 for c in cuts), cuts
    run(bench, "collect", "spgemm", "chain:40", "--backend", "cpu", "--quiet", "--json", "-", "--products", 10, code=1)       # nothing is small enough
    solves = lines_of(run(bench, "collect", "sptrsv", "chain:40", "--backend", "cpu", "--threads", 1, "--quiet", "--json", "-"))
    assert {r["part"] for r in solves} == {"lower", "lower transposed"} and all(r["features"] and r["prepare_seconds"] >= 0 for r in solves), solves
    race = lines_of(run(bench, "spgemm", "stencil5:12", "--backend", "cpu", "--type", "f32", "--policy", "deltasparse", "hash", "--against", "eigen", "--threads", 1, "--repeat", 3, "--json", "-"))
    ours = {r["contender"]: r for r in race if r["operation"] == "spgemm" and r["role"] == "ours"}
    assert set(ours) == {"tulle", "tulle hash", "tulle deltasparse"}, set(ours)
    assert all(r["status"] == "ok" and r["kept_bytes"] > 0 for r in ours.values()), ours
    assert "blis" in subprocess.run([bench, "spgemm", "chain:40", "--against", "blis"], capture_output=True, text=True).stderr
    run(bench, "spgemm", "chain:40", "--against", "blis", code=2)
    for operation in ("spmv", "spmm", "sptrsv", "spgemm"):  # beside MKL where it was found, alone elsewhere
        run(bench, operation, "chain:40", "--against", "mkl", "--backend", "cpu", "--repeat", 1, "--quiet")
    check_left_out(bench)


if __name__ == "__main__":
    main()
