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
import tulle.graph


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


@pytest.mark.parametrize("format", ["csr", "csc"])
def test_operators_are_taken_as_they_are_now(format):
    """Transposed ones, and those with other values than at first, in all that takes a matrix."""
    S = random_matrix(20, 20, format=format)
    S.setdiag(9)
    M, x, X = tulle.wrap(S), whole_numbers(20), whole_numbers((20, 3))

    def compare(N, want):
        for again in N, tulle.wrap(N), pickle.loads(pickle.dumps(N)):
            for got, right in [(tulle.wrap(again) @ x, want @ x), (tulle.spmv(again, x), want @ x), (tulle.spmm(again, X), want @ X), (tulle.plan_spmv(again)(x), want @ x),
                               (tulle.plan_spmm(again, 3)(X), want @ X), (tulle.spgemm(again, S).toarray(), (want @ S).toarray()),
                               (tulle.spmv(again, x, transpose=True), want.T @ x), (tulle.graph.bfs(again, 0).level, tulle.graph.bfs(want, 0).level)]:
                np.testing.assert_array_equal(got, right)
            np.testing.assert_allclose(tulle.solve(again, x)[0], tulle.solve(want, x)[0])
        assert tulle.info(N) == tulle.info(want.tocsr())

    compare(M.T, S.T)
    kept = tulle.wrap(M)
    M.update_values(2 * S.data)
    compare(M, 2 * S)
    compare(M.T, 2 * S.T)
    np.testing.assert_array_equal(kept @ x, S @ x)                          # an operator of its own
    rectangle = random_matrix(20, 30, format=format)
    np.testing.assert_array_equal(tulle.wrap(tulle.wrap(rectangle).T) @ x, rectangle.T @ x)


def test_operators_times_sparse_matrices():
    S, T, column, row = random_matrix(30, 20), random_matrix(20, 25, format="csc"), random_matrix(20, 1, 0.5), random_matrix(1, 30, 0.5)
    M = tulle.wrap(S)
    for got, want in [(M @ T, S @ T), (M.dot(T), S @ T), (M.matmat(T), S @ T), (M.T @ S, S.T @ S), (M.rmatmat(S), S.T @ S), (T.T @ M.T, T.T @ S.T), (M @ column, S @ column),
                      (row @ M, row @ S), (M * T, S @ T)]:
        assert sp.issparse(got)
        np.testing.assert_array_equal(got.toarray(), want.toarray())
    with pytest.raises(tulle.ShapeError):
        M @ S


@pytest.mark.filterwarnings("ignore")
def test_wider_vectors_are_not_rounded():
    """Results have the type that SciPy's own operators give."""
    S = random_matrix(20, 20, dtype=np.float32)
    S.data += np.float32(0.1)
    M, like = tulle.wrap(S), spla.aslinearoperator(S)
    for dtype in (np.float32, np.float64, np.longdouble, np.complex64, np.complex128, np.int8, np.int64):
        for x in (np.arange(20).astype(dtype) / dtype(3) if np.dtype(dtype).kind != "i" else np.arange(20, dtype=dtype), np.ones((20, 3), dtype)):
            assert (M @ x).dtype == (M.T @ x).dtype == (like @ x).dtype
            np.testing.assert_allclose(M @ x, like @ x, rtol=1e-5 if (like @ x).dtype in (np.float32, np.complex64) else 1e-13)
    assert (tulle.wrap(S, dtype="f32") @ np.ones(20)).dtype == np.float32    # asked for
    M.update_values(2 * S.data)
    np.testing.assert_allclose(M @ np.full(20, 1 / 3), 2 * S.astype(float) @ np.full(20, 1 / 3), rtol=1e-14)
    A = tulle.generate("stencil5:10", dtype="f32")
    x, report = tulle.solve(A, np.ones(100), rtol=1e-12)
    assert report and x.dtype == np.float64
    assert tulle.solve(A, np.ones(100, np.float32), rtol=1e-4)[0].dtype == np.float32


def test_values_of_operators_are_looked_at_at_once():
    S, x = random_matrix(20, 20), whole_numbers(20)
    M = tulle.wrap(S)
    for wrong, error in (np.ones(3), tulle.ShapeError), (np.ones((S.nnz, 1)), tulle.ShapeError), (S.data * 1j, tulle.UnsupportedType):
        with pytest.raises(error):
            M.update_values(wrong)
        np.testing.assert_array_equal(M @ x, S @ x)
    N = tulle.wrap(S.tocoo())
    with pytest.raises(tulle.PlanMismatch, match="converted from coo"):
        N.update_values(S.data)
    np.testing.assert_array_equal(N @ x, S @ x)


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


def test_the_backend_entered_last_decides():
    A = random_matrix(30, 30)

    def ran_on_tulle():
        before = tulle.scipy_backend.calls
        C = A @ A
        np.testing.assert_allclose(C.toarray(), A.toarray() @ A.toarray())
        return tulle.scipy_backend.calls - before

    with tulle.scipy_backend(context=tulle.Context(budget=16)):        # nothing fits: SciPy computes
        assert ran_on_tulle() == 0
        with tulle.scipy_backend():
            assert ran_on_tulle() == 1
            with tulle.scipy_backend(context=tulle.Context(budget=16)):
                assert ran_on_tulle() == 0
            assert ran_on_tulle() == 1
        assert ran_on_tulle() == 0
    assert ran_on_tulle() == 0


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
