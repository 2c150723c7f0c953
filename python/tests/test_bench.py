# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""python/bench: what needs no GPU runs, finds that the contenders agree, and writes its file."""
import json
import subprocess
import sys

import pytest
from conftest import ROOT

pytest.importorskip("torch", reason="torch is not installed (make python-torch installs it)")

SMALL = ["--device", "cpu", "--attention", "rmat:6,4", "--epoch", "stencil5:8", "--columns", "8", "--sizes", "5,4,3", "--seconds", "0.001"]


def run(*options):
    return subprocess.run([sys.executable, str(ROOT / "python/bench/compare_gnn.py"), *SMALL, *options], capture_output=True, text=True)


def test_gnn_on_the_cpu(tmp_path):
    done = run("--json", str(tmp_path / "times.json"))
    assert done.returncode == 0, done.stdout + done.stderr
    rows = json.loads((tmp_path / "times.json").read_text())["rows"]
    assert [(row["what"], list(row["milliseconds"])) for row in rows] == [
        ("attention, 8", ["fused", "three calls", "torch", "gather"]), ("attention with gradients, 8", ["fused", "three calls", "torch", "gather"]),
        ("epoch", ["tulle", "torch", "gather"])]
    assert all(t > 0 for row in rows for t in row["milliseconds"].values())
    assert done.stdout.count("geometric mean") == 3
