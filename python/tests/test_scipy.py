# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""The drop-in parts: operators and SciPy's own products on tulle."""
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from conftest import random_matrix, triangle, whole_numbers

import tulle


@pytest.fixture
def A():
    return random_matrix(30, 40)


def test_operator(A):
    M = tulle.wrap(A)
    x, y, X = whole_numbers(40), whole_numbers(30), whole_numbers((40, 3))
    assert isinstance(M, spla.LinearOperator) and M.shape == (30, 40) and M.dtype == np.float64
    for got, want in [(M @ x, A @ x), (M.matvec(x), A @ x), (M.rmatvec(y), A.T @ y), (M.T @ y, A.T @ y), (M.H @ y, A.T @ y), (M.T.T @ x, A @ x), (M @ X, A @ X),
                      (M.matmat(X), A @ X), (M.T @ whole_numbers((30, 2)), A.T @ whole_numbers((30, 2))), (y @ M, y @ A), (M @ x[:, None], A @ x[:, None]), (M * x, A @ x),
                      (M.dot(x), A @ x), ((2 * M) @ x, 2 * (A @ x)), (M @ (x + 1j), A @ (x + 1j)), (M @ x.astype(np.int64), A @ x)]:
        np.testing.assert_array_equal(got, want)
    assert "SpMV" in M.describe() or "rows" in M.describe()
    assert "<table>" in M._repr_html_() and "data:image/png;base64," in M._repr_html_()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(M)) @ x, A @ x)
    M.update_values(3 * A.data)
    np.testing.assert_array_equal(M @ x, 3 * (A @ x))
    np.testing.assert_array_equal(M.T @ y, 3 * (A.T @ y))
    with pytest.raises(ValueError):
        M @ np.ones(3)


def test_operators_meet_sparse_matrices():
    S = random_matrix(20, 20)
    M, x = tulle.wrap(S), whole_numbers(20)
    both = M @ spla.aslinearoperator(S)
    np.testing.assert_array_equal(both @ x, S @ (S @ x))
    np.testing.assert_array_equal(tulle.spmv(M, x), S @ x)                  # tulle's own functions take the matrix inside


@pytest.mark.parametrize("solver", ["cg", "gmres", "bicgstab", "minres"])
def test_solvers_take_operators(solver):
    A = tulle.generate("stencil5:20")
    b = np.random.default_rng(1).standard_normal(A.shape[0])
    x, failed = getattr(spla, solver)(tulle.wrap(A), b, rtol=1e-10, maxiter=2000)
    assert not failed
    np.testing.assert_allclose(A @ x, b, atol=1e-7)


def test_eigenvalues():
    A = tulle.generate("stencil5:20")
    np.testing.assert_allclose(spla.eigsh(tulle.wrap(A), 3, which="LA", return_eigenvectors=False), spla.eigsh(A, 3, which="LA", return_eigenvectors=False))


@pytest.mark.parametrize("array", [True, False])
@pytest.mark.parametrize("format", ["csr", "csc"])
def test_products_of_scipy(format, array):
    A = random_matrix(30, 30, format=format, array=array)
    x, X = whole_numbers(30), whole_numbers((30, 3))
    want = [A @ x, A @ X, (A @ A).toarray(), x @ A, (A.T @ A).toarray(), A @ np.asmatrix(X), (A.power(2) @ x)]
    before = tulle.scipy_backend.calls
    with tulle.scipy_backend():
        got = [A @ x, A @ X, (A @ A).toarray(), x @ A, (A.T @ A).toarray(), A @ np.asmatrix(X), (A.power(2) @ x)]
        C = A @ A
    assert tulle.scipy_backend.calls - before == 8
    assert C.nnz == (A @ A).nnz and type(C) is type(A @ A) and C.dtype == (A @ A).dtype and C.indices.dtype == (A @ A).indices.dtype
    for g, w in zip(got, want):
        assert type(g) is type(w) and g.dtype == w.dtype
        np.testing.assert_array_equal(g, w)


def test_triangular_solves_of_scipy():
    L, b = triangle(40), whole_numbers(40)
    want, columns = spla.spsolve_triangular(L, b), spla.spsolve_triangular(L, np.stack([b, 2 * b], axis=1))
    before = tulle.scipy_backend.calls
    with tulle.scipy_backend():
        np.testing.assert_allclose(spla.spsolve_triangular(L, b), want)
        many = spla.spsolve_triangular(L, np.stack([b, 2 * b], axis=1))
        np.testing.assert_allclose(many, columns)
        assert many.flags.f_contiguous == columns.flags.f_contiguous and many.flags.c_contiguous == columns.flags.c_contiguous
        np.testing.assert_allclose(spla.spsolve_triangular(L.T.tocsr(), b, lower=False), spla.spsolve_triangular(L.T.tocsc(), b, lower=False))
        assert tulle.scipy_backend.calls == before + 4
        with pytest.raises(np.linalg.LinAlgError):
            spla.spsolve_triangular(random_matrix(4, 4, 0.0), np.ones(4))


def test_what_is_not_tulles_goes_on_as_before():
    A = random_matrix(10, 10, dtype=np.int64)
    before = tulle.scipy_backend.calls, tulle.scipy_backend.passed_on
    with tulle.scipy_backend():
        assert (A @ np.ones(10, np.int64)).dtype == np.int64
        assert (A.astype(complex) @ np.ones(10)).dtype == np.complex128
        assert (A @ A).dtype == np.int64
    assert (tulle.scipy_backend.calls, tulle.scipy_backend.passed_on) == (before[0], before[1] + 3)


def test_everything_is_put_back():
    from scipy.sparse import _compressed

    names = ["_matmul_vector", "_matmul_multivector", "_matmul_sparse"]
    before = [getattr(_compressed._cs_matrix, n) for n in names] + [spla.spsolve_triangular]
    with pytest.raises(KeyError):
        with tulle.scipy_backend(), tulle.scipy_backend(check=False):
            assert getattr(_compressed._cs_matrix, names[0]) is not before[0]
            raise KeyError
    assert [getattr(_compressed._cs_matrix, n) for n in names] + [spla.spsolve_triangular] == before


def test_as_a_decorator(A):
    @tulle.scipy_backend()
    def product():
        return A @ np.ones(40)

    before = tulle.scipy_backend.calls
    np.testing.assert_array_equal(product(), A @ np.ones(40))
    assert tulle.scipy_backend.calls == before + 1
