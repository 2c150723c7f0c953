# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""SDDMM and sparse attention on arrays of the CPU."""
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import random_matrix, whole_numbers

import tulle


def want_of(A, X, Y):
    return np.asarray(A.astype(bool).astype(np.float64).todense()) * (X.astype(np.float64) @ Y.astype(np.float64).T)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
@pytest.mark.parametrize("array", [True, False])
def test_result_has_the_kind_and_the_pattern(dtype, format, array):
    A = random_matrix(30, 20, 0.2, dtype=np.float64, format=format, array=array)
    X, Y = whole_numbers((30, 5), dtype), whole_numbers((20, 5), dtype, seed=5)
    C = tulle.sddmm(A, X, Y)
    assert C.format == ("csc" if format == "csc" else "csr") and C.dtype == (np.float32 if dtype == np.float16 else dtype) and isinstance(C, sp.sparray) == array
    np.testing.assert_array_equal(C.toarray(), want_of(A, X, Y))
    if format == "csr":
        assert C.indices is not A.indices and C.nnz == A.nnz


@pytest.mark.parametrize("indices, claims", [([0, 2, 0, 1], (True, True)), ([2, 0, 0, 1], (False, False)), ([1, 1, 0, 1], (True, False)), ([0, 1, 1, 0], (False, False))])
def test_flags_of_results_are_those_of_the_pattern(indices, claims):
    X, Y = np.array([[1.0], [2.0]]), np.array([[1.0], [3.0], [5.0]])
    A = sp.csr_array((np.ones(4), np.array(indices), np.array([0, 2, 4])), shape=(2, 3))
    for M in A, sp.csr_matrix(A), A.T:
        C = tulle.sddmm(M, X, Y) if M.shape == (2, 3) else tulle.sddmm(M, Y, X).T
        assert (C.has_sorted_indices, C.has_canonical_format) == claims
        want = np.zeros((2, 3))
        np.add.at(want, ([0, 0, 1, 1], indices), (X @ Y.T)[[0, 0, 1, 1], indices])
        assert C.toarray().tolist() == want.tolist() and C.power(2).toarray().tolist() == (want**2).tolist() and C.max() == want.max()


def test_scaled_alpha_beta_and_out():
    A = random_matrix(25, 25, 0.2)
    X, Y = whole_numbers((25, 8)), whole_numbers((25, 8), seed=6)
    np.testing.assert_array_equal(tulle.sddmm(A, X, Y, scaled=True, alpha=2.0).toarray(), 2 * A.toarray() * (X @ Y.T))
    plan = tulle.plan_sddmm(A, 8)
    rows = np.repeat(np.arange(25), np.diff(A.indptr))
    want = (X @ Y.T)[rows, A.indices]
    out = np.ones(A.nnz)
    assert plan(X, Y, out, alpha=3.0, beta=5.0) is out
    np.testing.assert_array_equal(out, 3 * want + 5)
    np.testing.assert_array_equal(plan(np.asfortranarray(X), Y[:, ::-1][:, ::-1]), want)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(plan))(X, Y), want)
    assert plan.nnz == A.nnz and plan.policy and "arrays of the caller" in plan.describe()
    scaled = tulle.plan_sddmm(A, 8, scaled=True)
    scaled.update_values(2 * A.data)
    np.testing.assert_array_equal(scaled(X, Y), 2 * A.data * want)


def test_what_does_not_fit_is_told():
    A = random_matrix(10, 12, 0.3)
    plan = tulle.plan_sddmm(A, 4)
    for X, Y in [(np.ones((9, 4)), np.ones((12, 4))), (np.ones((10, 4)), np.ones((10, 4))), (np.ones((10, 4)), np.ones((12, 3))), (np.ones(10), np.ones((12, 4)))]:
        with pytest.raises(tulle.ShapeError):
            plan(X, Y)
    with pytest.raises(tulle.UnsupportedType):
        plan(np.ones((10, 4), complex), np.ones((12, 4)))
    with pytest.raises(tulle.InvalidValue):
        tulle.plan_sddmm(A, policy="no such policy")
    with pytest.raises(tulle.UnsupportedType, match="by rows"):
        tulle.plan_sddmm(A.tocsc()).attend(np.ones((10, 4)), np.ones((12, 4)), np.ones((12, 4)))


@pytest.mark.parametrize("dtype, tolerance", [(np.float64, 1e-12), (np.float32, 1e-5), (np.float16, 4e-3)])
def test_attention(dtype, tolerance):
    A = random_matrix(20, 15, 0.3)
    rng = np.random.default_rng(4)
    Q, K, V = (rng.standard_normal(s).astype(dtype) for s in ((20, 6), (15, 6), (15, 3)))
    scores = np.where(A.toarray() != 0, Q.astype(float) @ K.astype(float).T / np.sqrt(6), -np.inf)
    with np.errstate(invalid="ignore"):
        p = np.exp(scores - scores.max(axis=1, keepdims=True))
        p = np.nan_to_num(p / p.sum(axis=1, keepdims=True))
    H = tulle.attention(A, Q, K, V)
    assert H.dtype == dtype
    np.testing.assert_allclose(H, p @ V.astype(float), atol=tolerance)
    with pytest.raises(tulle.ShapeError):
        tulle.attention(A, Q, K, V[:-1])


def test_as_arrays():
    A = random_matrix(9, 7, 0.4)
    X, Y = whole_numbers((9, 2)), whole_numbers((7, 2), seed=9)
    indptr, indices, data = tulle.sddmm((A.indptr, A.indices, A.data), X, Y, shape=A.shape)
    np.testing.assert_array_equal(sp.csr_array((data, indices, indptr), shape=A.shape).toarray(), want_of(A, X, Y))
