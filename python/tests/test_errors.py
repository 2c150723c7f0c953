# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""Errors have two bases, keep their hints and numbers, and leave everything usable."""
import errno
import os
import pickle
import re

import numpy as np
import pytest
from conftest import ROOT, random_matrix, whole_numbers

import tulle
from tulle._errors import HINTS, python_hint


@pytest.mark.parametrize("error, base", [
    (tulle.ShapeError, ValueError), (tulle.InvalidValue, ValueError), (tulle.UnsupportedType, TypeError), (tulle.FileError, OSError), (tulle.FormatError, OSError),
    (tulle.FormatError, ValueError), (tulle.MissingFile, FileNotFoundError), (tulle.MissingFile, tulle.FileError), (tulle.OutOfMemory, MemoryError), (tulle.NotBuilt, NotImplementedError), (tulle.DeviceError, RuntimeError), (tulle.PlanMismatch, ValueError),
])
def test_two_bases(error, base):
    assert issubclass(error, tulle.Error) and issubclass(error, base)
    e = error("what", "do this")
    assert (e.message, e.hint) == ("what", "do this") and "hint: do this" in str(e)
    again = pickle.loads(pickle.dumps(e))
    assert type(again) is error and again.hint == "do this"


def test_shapes():
    A = random_matrix(5, 7)
    for call in (lambda: tulle.spmv(A, np.ones(5)), lambda: tulle.plan_spmv(A)(np.ones(5)), lambda: tulle.spmm(A, np.ones((5, 2))), lambda: tulle.spgemm(A, A),
                 lambda: tulle.solve_triangular(A, np.ones(5)), lambda: tulle.spmv(A, np.ones(7), out=np.ones(6)), lambda: tulle.wrap(A) @ np.ones(5)):
        with pytest.raises(ValueError):
            call()
    with pytest.raises(tulle.ShapeError, match="columns"):
        tulle.plan_spmv(A)(np.ones(5))


def test_files_have_numbers_and_names(tmp_path):
    A, missing, folder = random_matrix(3, 3), tmp_path / "nope.mtx", tmp_path / "folder.mtx"
    folder.mkdir()
    for call, name, number in ((lambda: tulle.read(missing), missing, errno.ENOENT), (lambda: tulle.write(tmp_path / "no/a.mtx", A), tmp_path / "no/a.mtx", errno.ENOENT),
                               (lambda: tulle.read(folder), folder, errno.EISDIR), (lambda: tulle.write(folder, A), folder, errno.EISDIR)):
        with pytest.raises(tulle.FileError) as caught:
            call()
        e = caught.value
        assert (e.errno, e.strerror, e.filename) == (number, os.strerror(number), os.fspath(name)) and e.message.startswith(os.fspath(name))
        assert isinstance(e, FileNotFoundError) == (number == errno.ENOENT)
        again = pickle.loads(pickle.dumps(e))
        assert type(again) is type(e) and (again.errno, again.filename, str(again)) == (e.errno, e.filename, str(e))
    (tmp_path / "empty.mtx").touch()
    with pytest.raises(tulle.FileError) as caught:
        tulle.read(tmp_path / "empty.mtx")
    assert caught.value.errno is None and caught.value.filename == os.fspath(tmp_path / "empty.mtx")


CPP = re.compile(r"[A-Za-z]::[A-Za-z]|(^|[^.\w])\w+\(\)|[A-Z]\w+<\w+>|\bset [a-z]+_[a-z]")


def texts_of_the_library():
    """Strings in its sources; not what compilers and the simulator say, nor what only MPI does."""
    for folder in "src", "include":
        for file in sorted((ROOT / folder).rglob("*.[ch]*")):
            if file.suffix in (".cpp", ".hpp", ".cu") and not {"simt", "mpi"} & set(file.parts):
                for line in file.read_text().splitlines():
                    if "static_assert" not in line:
                        yield from (text for text in re.findall(r'"((?:[^"\\]|\\.)*)"', line.partition("//")[0]) if not text.startswith("tulle: "))


def test_no_hint_speaks_of_cpp():
    spoken = [text for text in texts_of_the_library() if CPP.search(text)]
    assert len(spoken) > 15, "the sources are not where they should be"
    for text in spoken:
        assert any(part in text for part, _ in HINTS), text
    for text in spoken + ["use no preconditioner or blocks with these rows (BlockJacobi), or reorder the matrix"]:
        assert not re.search(r"::|BlockJacobi|Options|missing_diagonal", python_hint(text)), text


def test_hints_name_what_python_has():
    T = random_matrix(4, 4, 0.9)
    with pytest.raises(tulle.InvalidValue) as caught:
        tulle.solve_triangular(T, np.ones(4))
    assert "other_side='ignore'" in caught.value.hint


def test_memory():
    A = tulle.generate("stencil7:30")
    with pytest.raises(MemoryError) as caught:
        tulle.spgemm(A, A, budget="1MiB")
    assert caught.value.needed > caught.value.available >= 0 and caught.value.available <= 2**20 and isinstance(caught.value, tulle.OutOfMemory)
    with pytest.raises(tulle.OutOfMemory):
        tulle.generate("stencil7:1000", context=tulle.Context(budget=1000))
    assert tulle.spgemm(A, A, budget="2GiB").nnz > 0
    with pytest.raises(tulle.InvalidValue):
        tulle.Context(budget="lots")
    with pytest.raises(tulle.InvalidValue):
        tulle.Context(budget=-1)


def test_singular_triangles():
    L = random_matrix(10, 10, 0.0)
    with pytest.raises(tulle.InvalidValue, match="diagonal"):
        tulle.solve_triangular(L, np.ones(10))


def test_devices_and_threads():
    for name in ("gpu", "cuda:x", "cpu:1", ""):
        with pytest.raises(tulle.InvalidValue, match="device is"):
            tulle.Context(device=name)
    with pytest.raises(tulle.DeviceError, match="on the host"):
        tulle.spmv(random_matrix(5, 7), whole_numbers(7), context=tulle.Context("cuda"))
    with pytest.raises(tulle.InvalidValue):
        tulle.Context(threads=-1)
    assert tulle.Context(threads=2).name == "cpu:2"


def test_plans_stay_usable():
    A, x = random_matrix(5, 7), whole_numbers(7)
    plan = tulle.plan_spmv(A)
    with pytest.raises(ValueError):
        plan(np.ones(3))
    with pytest.raises(TypeError):
        plan(x.astype(np.complex128))
    np.testing.assert_array_equal(plan(x), A @ x)


def test_a_plan_does_not_lose_digits_silently():
    A = random_matrix(5, 7, dtype=np.float32)
    with pytest.raises(tulle.UnsupportedType, match="float32 is computed"):
        tulle.plan_spmv(A)(np.ones(7))


def test_out():
    A, x = random_matrix(5, 7), whole_numbers(7)
    frozen = np.zeros(5)
    frozen.flags.writeable = False
    for out, error in [(frozen, tulle.InvalidValue), (np.zeros(5, np.float32), tulle.UnsupportedType), (np.zeros((5, 1)), tulle.ShapeError), ([0.0] * 5, tulle.UnsupportedType)]:
        for call in (lambda o: tulle.spmv(A, x, out=o), lambda o: tulle.plan_spmv(A)(x, out=o)):
            with pytest.raises(error):
                call(out)
