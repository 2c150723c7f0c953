# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""python/tests/run_suites: what it counts and tells, with a package of SciPy's own classes in the place of CuPy, and how it finds CuPy's tests."""
import importlib.machinery
import importlib.util
import io
import os
import subprocess
import sys
import tarfile

import pytest
from conftest import ROOT

import tulle

pytest.importorskip("scipy")
SCRIPT = ROOT / "python/tests/run_suites"
FOLDER = "cupyx_tests/scipy_tests/sparse_tests"
PACKAGES = {
    "cupy/__init__.py": "from numpy import ndarray\n",
    "cupyx/__init__.py": "",
    "cupyx/scipy/__init__.py": "",
    "cupyx/scipy/sparse/__init__.py": "from scipy.sparse import csr_matrix, csc_matrix\nissparse = lambda A: False\n",
    "cupyx/scipy/sparse/linalg/__init__.py": "from ._solve import spsolve_triangular\n",
    "cupyx/scipy/sparse/linalg/_solve.py": "from scipy.sparse.linalg import spsolve_triangular\n",
}
TESTS = """
import numpy as np, pytest
from cupyx.scipy import sparse

A = sparse.csr_matrix(np.eye(3))

@pytest.mark.parametrize("k", range(4))
def test_product(k):
    assert (A @ np.full(3, float(k)) == k).all()

def test_integers():
    assert (A.astype(int) @ np.ones(3, int) == 1).all()

def test_fails():
    assert False

def test_fails_with_tulle():
    assert "tulle" not in sparse.csr_matrix._matmul_dispatch.__module__

def test_has_no_end():
    while True:
        pass

@pytest.mark.skip(reason="")
def test_skipped():
    pass
"""


@pytest.fixture(scope="module")
def script():
    loader = importlib.machinery.SourceFileLoader("run_suites", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("run_suites", loader))
    loader.exec_module(module)
    return module


def write(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def test_what_it_tells(tmp_path):
    write(tmp_path / "packages", PACKAGES)
    write(tmp_path / "tests", {"conftest.py": "pytest_plugins = ['pytester']\n", f"{FOLDER}/test_csr.py": TESTS})
    paths = os.pathsep.join([str(tmp_path / "packages"), str(ROOT / "python/tests"), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run([sys.executable, str(SCRIPT), "cupy", "--tests", str(tmp_path / "tests"), "--only", "csr", "--cpu-seconds", "0.3"],
                          env=dict(os.environ, PYTHONPATH=paths), capture_output=True, text=True)
    first = done.stdout.splitlines()[0] if done.stdout else done.stderr
    assert "5 passed   2 failed (1 without tulle), 1 given up (1)    1 skipped;      4 calls on tulle,      2 passed on" in first, done.stdout + done.stderr
    assert [line.partition("only with tulle: ")[2].rpartition("::")[2] for line in done.stdout.splitlines() if "only with" in line] == ["test_fails_with_tulle"]
    assert done.returncode == 1 and "4 calls ran on tulle; 1 tests fail" in done.stdout


def test_a_process_that_ends_early(script):
    begun = [{"collected": 3}, {"begins": "a"}, {"test": "a", "outcome": "passed", "calls": 2}, {"begins": "b", "calls": 3}]
    cut, whole = script.Result(begun), script.Result([*begun, {"test": "b", "outcome": "passed"}, {"test": "c", "outcome": "passed"}, {"finished": True}])
    assert not cut.finished and cut.outcomes == {"a": "passed", "b": "given up"} and cut.calls == 3 and whole.finished
    assert script.worse_than(cut, whole) == ["b", "c"] and script.worse_than(whole, cut) == script.worse_than(whole, whole) == []


def test_pieces_name_tests_that_are_there(script):
    tests = script.package_folder("scipy") / "scipy/sparse/tests/test_64bit.py"
    text = tests.read_text()
    for name, functions in script.SIXTY_FOUR.items():
        assert f"class {name}" in text and all(f in text for f in functions)
    classes = [line.partition("class ")[2].partition("(")[0].rstrip(":") for line in text.splitlines() if line.startswith("class Test")]
    assert sorted(classes) == sorted(script.SIXTY_FOUR)


def archive_of(files):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name in files:
            member = tarfile.TarInfo(name)
            member.size = len(name)
            tar.addfile(member, io.BytesIO(name.encode()))
    return packed.getvalue()


def test_tests_in_an_archive(script, tmp_path):
    wanted = ["conftest.py", "cupyx_tests/__init__.py", "cupyx_tests/scipy_tests/__init__.py", f"{FOLDER}/__init__.py", f"{FOLDER}/test_csr.py"]
    others = ["cupy_tests/__init__.py", "cupy_tests/test_a.py", "cupyx_tests/scipy_tests/fft_tests/__init__.py", f"{FOLDER}/../../../x.py", f"{FOLDER}/data.bin"]
    count = script.unpack_tests(archive_of([f"cupy-1.0/tests/{name}" for name in wanted + others] + ["cupy-1.0/setup.py"]), tmp_path)
    assert count == len(wanted) and sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file()) == sorted(wanted)


def test_links_of_an_index(script):
    page = '<a href="../../files/cupy-14.2.0.tar.gz#sha256=ab" data-requires-python="&gt;=3.10">cupy-14.2.0.tar.gz</a><br/>\n<a href="https://b/cupy-13.0.0.tar.gz">cupy-13.0.0.tar.gz</a>'
    assert script.links_of(page, "https://a/simple/cupy/") == {"cupy-14.2.0.tar.gz": "https://a/files/cupy-14.2.0.tar.gz", "cupy-13.0.0.tar.gz": "https://b/cupy-13.0.0.tar.gz"}
