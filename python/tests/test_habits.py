# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""Documentation, stubs, the import."""
import ast
import base64
import doctest
import importlib
import inspect
import os
import pathlib
import re
import struct
import subprocess
import sys
import zlib

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import ROOT

import tulle
import tulle.graph
from tulle import _core

MODULES = ["tulle", "tulle._context", "tulle._operations", "tulle._files", "tulle._scipy", "tulle._plans", "tulle._operator", "tulle.graph"]


@pytest.mark.parametrize("name", MODULES)
def test_doctests(name):
    found = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert found.failed == 0


def test_the_page_for_users():
    """Every Python block of docs/python.md runs, one after the other."""
    page = (ROOT / "docs/python.md").read_text()
    names: dict = {}
    blocks = re.findall(r"```python\n(.*?)```", page, flags=re.S)
    assert len(blocks) >= 3
    for block in blocks:
        exec(compile(block, "docs/python.md", "exec"), names)


def test_everything_public_is_documented():
    for name in tulle.__all__:
        thing = getattr(tulle, name)
        assert inspect.getdoc(thing), name
        if inspect.isfunction(thing):
            assert set(inspect.signature(thing).parameters) <= set(thing.__annotations__), f"{name}: parameters without a type"


def documented(thing):
    """Names before the colons, or on lines of their own, in the section of parameters."""
    section = re.search(r"Parameters\n-+\n(.*?)(?:\n\n\S|\Z)", inspect.getdoc(thing), flags=re.S)
    lines = [line for line in (section[1] if section else "").splitlines() if line and line[0] != " "]
    return {name.strip().lstrip("*") for line in lines for name in line.partition(" : ")[0].split(",")}


def test_every_parameter_is_documented():
    functions = [getattr(module, name) for module in (tulle, tulle.graph) for name in module.__all__ if inspect.isfunction(getattr(module, name))]
    assert len(functions) > 25
    for function in functions:
        assert set(inspect.signature(function).parameters) <= documented(function), function.__name__


def test_methods_that_are_documented_exist():
    A = tulle.generate("stencil5:3")
    for name in re.findall(r'"([\w-]+)"', re.search(r"method : str.*?left out", inspect.getdoc(tulle.plan_solve), flags=re.S)[0]):
        assert tulle.plan_solve(A, method=name).policy.startswith(name), name


def test_the_stub_matches_the_module():
    stub = ast.parse((pathlib.Path(tulle.__file__).parent / "_core.pyi").read_text())
    told = {n.name for n in stub.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))} | {n.target.id for n in stub.body if isinstance(n, ast.AnnAssign)}
    there = {n for n in dir(_core) if not n.startswith("_")}
    assert told == there
    for node in stub.body:
        if isinstance(node, ast.ClassDef):
            members = {n.name for n in node.body if isinstance(n, ast.FunctionDef)} - {"__init__"}
            assert members == {n for n in dir(getattr(_core, node.name)) if not n.startswith("_")}, node.name
    assert (pathlib.Path(tulle.__file__).parent / "py.typed").exists()


def test_import_is_quick_and_silent():
    """What tulle adds to NumPy's own import, in processor time, the best of a few; SciPy is not imported."""
    program = """
import sys, time, numpy
begin = time.process_time()
import tulle
took = time.process_time() - begin
assert "scipy" not in sys.modules and "torch" not in sys.modules
print(took)
"""
    times = []
    for _ in range(5):
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        assert done.stderr == "" and len(done.stdout.splitlines()) == 1
        times.append(float(done.stdout))
    assert min(times) < 0.1, times


@pytest.mark.parametrize("given, least, most", [({}, 1, 100_000), ({"GOMP_SPINCOUNT": "77"}, 77, 77), ({"OMP_WAIT_POLICY": "active"}, 100_000, 1 << 62)])
def test_threads_spin_briefly_on_a_busy_machine_unless_told_otherwise(given, least, most):
    """As the OpenMP runtime tells it when it is loaded; nothing stays in the environment."""
    program = "import os; before = dict(os.environ); import tulle; assert dict(os.environ) == before; tulle.spmv(tulle.generate('stencil5:3'), [1.0] * 9)"
    rest = {name: value for name, value in os.environ.items() if name not in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=rest | {"OMP_DISPLAY_ENV": "VERBOSE"} | given)
    told = re.search(r"GOMP_SPINCOUNT = '(\d+)'", done.stderr)
    if not told:
        pytest.skip("this OpenMP runtime does not tell its spins")
    share = os.getloadavg()[0] / os.cpu_count()
    if given or share > 0.7:
        assert least <= int(told[1]) <= most
    elif share < 0.3:
        assert int(told[1]) > most


def test_threadpoolctl_limits_threads():
    """OpenMP is found by threadpoolctl; calls and plans made inside have as many threads as it allows, also after others were made."""
    threadpoolctl = pytest.importorskip("threadpoolctl")
    from tulle._context import context_of

    A = tulle.generate("stencil5:10")
    tulle.spmv(A, np.ones(100))
    assert "openmp" in {library["user_api"] for library in threadpoolctl.threadpool_info()}
    with threadpoolctl.threadpool_limits(3, user_api="openmp"):
        many = context_of(None).name
        with threadpoolctl.threadpool_limits(1, user_api="openmp"):
            assert context_of(None).name == tulle.Context().name == "cpu:1"
            np.testing.assert_array_equal(tulle.spmv(A, np.ones(100)), A @ np.ones(100))
        assert context_of(None).name == many
    assert tulle.Context(threads=2).name == "cpu:2"


def pixels_of(shown):
    """The PNG inside of what a notebook shows."""
    png = base64.b64decode(re.search(r"base64,([^\"]+)", shown)[1])
    width, height = struct.unpack(">2I", png[16:24])
    size = struct.unpack(">I", png[33:37])[0]
    assert png[37:41] == b"IDAT" and png.endswith(b"IEND" + struct.pack(">I", zlib.crc32(b"IEND")))
    return np.frombuffer(zlib.decompress(png[41:41 + size]), np.uint8).reshape(height, 1 + 3 * width)[:, 1:].reshape(height, width, 3)


@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
def test_notebooks_show_where_the_nonzeros_are(format):
    A = sp.coo_array((np.ones(3), ([0, 0, 199], [0, 399, 0])), shape=(200, 400)).asformat(format)
    for plan in tulle.plan_spmv(A), tulle.plan_spgemm(A, A, transpose_b=True), tulle.wrap(A):
        filled = (pixels_of(plan._repr_html_()) < 255).any(axis=2)
        assert filled.shape == (80, 160) and sorted(zip(*filled.nonzero())) == [(0, 0), (0, 159), (79, 0)]


def test_notebooks_show_odd_matrices():
    assert "<img" not in tulle.plan_spmv(sp.csr_array((0, 5)))._repr_html_()
    assert not (pixels_of(tulle.plan_spmv(sp.csr_array((3, 5)))._repr_html_()) < 255).any()
    assert pixels_of(tulle.plan_spmv(sp.csr_array((1, 10**6)))._repr_html_()).shape == (40, 160, 3)
    arrays = np.array([0, 1]), np.array([0]), np.array([2.0])
    assert "1 × 1" in tulle.plan_spmv(arrays, shape=(1, 1))._repr_html_()
