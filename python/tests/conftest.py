# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
import os
import pathlib

import numpy as np
import pytest
import scipy.sparse as sp

ROOT = pathlib.Path(__file__).resolve().parents[2]
try:
    from hypothesis.configuration import set_hypothesis_home_dir

    set_hypothesis_home_dir(ROOT / "build/hypothesis")
except ImportError:                              # the tests that need it say so themselves; those for GPUs do not
    pass


@pytest.fixture(scope="session")
def reference():
    """The C++ program that computes the same with the library alone; `make python` names it."""
    program = os.environ.get("TULLE_PYTHON_REFERENCE")
    if not program:
        pytest.skip("TULLE_PYTHON_REFERENCE does not name the reference program (make python does)")
    return program


def random_matrix(rows, cols, density=0.1, dtype=np.float64, seed=1, format="csr", array=True):
    """Whole numbers small enough for sums to be exact in every order and type, so that results can be compared for equality."""
    rng = np.random.default_rng(seed)
    dense = np.where(rng.random((rows, cols)) < density, rng.integers(-4, 5, (rows, cols)), 0)
    A = sp.coo_array(dense.astype(dtype)) if array else sp.coo_matrix(dense.astype(dtype))
    return A.asformat(format)


def whole_numbers(shape, dtype=np.float64, seed=2):
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(dtype)


def triangle(n, dtype=np.float64, seed=3, lower=True, format="csr"):
    A = random_matrix(n, n, 0.1, dtype, seed)
    T = sp.tril(A, -1) if lower else sp.triu(A, 1)
    return (T / 8 + sp.eye_array(n, dtype=dtype) * 2).astype(dtype).asformat(format)
