# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""Errors have two bases, keep their hints and numbers, and leave everything usable."""
import pickle

import numpy as np
import pytest
from conftest import random_matrix, whole_numbers

import tulle


@pytest.mark.parametrize("error, base", [
    (tulle.ShapeError, ValueError), (tulle.InvalidValue, ValueError), (tulle.UnsupportedType, TypeError), (tulle.FileError, OSError), (tulle.FormatError, OSError),
    (tulle.FormatError, ValueError), (tulle.OutOfMemory, MemoryError), (tulle.NotBuilt, NotImplementedError), (tulle.DeviceError, RuntimeError), (tulle.PlanMismatch, ValueError),
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
