# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""Results beside SciPy's: every format, type, kind of class and transposition."""
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import random_matrix, triangle, whole_numbers
from scipy.sparse.linalg import spsolve_triangular

import tulle

FORMATS = ["csr", "csc", "coo", "bsr", "lil", "dia"]
DTYPES = [np.float64, np.float32]
SHAPES = [(1, 1), (7, 13), (60, 40), (40, 60), (0, 5), (5, 0), (0, 0), (300, 300)]


def op(A, transpose):
    return A.T if transpose else A


@pytest.mark.parametrize("array", [True, False])
@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("format", FORMATS)
def test_spmv_and_spmm(format, dtype, transpose, array):
    for rows, cols in SHAPES:
        if 0 in (rows, cols) and format in ("dia", "bsr"):
            continue
        A = random_matrix(rows, cols, dtype=dtype, format=format, array=array)
        x = whole_numbers(op(A, transpose).shape[1], dtype)
        X = whole_numbers((x.size, 5), dtype)
        for got, want in [(tulle.spmv(A, x, transpose=transpose), op(A, transpose) @ x), (tulle.plan_spmv(A, transpose=transpose)(x), op(A, transpose) @ x),
                          (tulle.spmm(A, X, transpose=transpose), op(A, transpose) @ X), (tulle.plan_spmm(A, 5, transpose=transpose)(X), op(A, transpose) @ X)]:
            assert got.dtype == want.dtype == dtype
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("a_format", ["csr", "csc", "coo"])
@pytest.mark.parametrize("b_format", ["csr", "csc", "bsr"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("transpose", [(False, False), (True, False), (False, True), (True, True)])
def test_spgemm(a_format, b_format, dtype, transpose):
    for m, k, n in [(1, 1, 1), (30, 20, 40), (0, 4, 3), (4, 0, 3), (120, 120, 120)]:
        A = random_matrix(*((k, m) if transpose[0] else (m, k)), dtype=dtype, format=a_format)
        B = random_matrix(*((n, k) if transpose[1] else (k, n)), dtype=dtype, format="csr", seed=5)
        B = B if b_format == "bsr" and 0 in B.shape else B.asformat(b_format)
        want = (op(A, transpose[0]) @ op(B, transpose[1])).toarray()
        plan = tulle.plan_spgemm(A, B, transpose_a=transpose[0], transpose_b=transpose[1])
        for C in (tulle.spgemm(A, B, transpose_a=transpose[0], transpose_b=transpose[1]), plan()):
            assert C.dtype == dtype and C.format == ("csc" if a_format == "csc" else "csr") and isinstance(C, sp.sparray)
            assert C.shape == (m, n) and C.indices.dtype == np.int32 and C.nnz == plan.nnz
            C.check_format(full_check=True)
            np.testing.assert_array_equal(C.toarray(), want)


def test_spgemm_sorts_unless_told_otherwise():
    A = tulle.generate("uniform:300,300,10")
    want = (A @ A).toarray()
    for make in (lambda M, **k: tulle.spgemm(M, M, **k), lambda M, **k: tulle.plan_spgemm(M, M, **k)(), lambda M, **k: tulle.plan_spgemm(M, M, keep_columns=True, **k)()):
        for M in (A, A.tocsc()):
            C, D = make(M), make(M, sorted=False)
            assert C.has_canonical_format and C.has_sorted_indices and sp.csr_array((C.data, C.indices, C.indptr)).has_sorted_indices
            assert not D.has_canonical_format and not D.has_sorted_indices and D.nnz == C.nnz
            assert not sp.csr_array((D.data, D.indices, D.indptr)).has_sorted_indices      # the flags tell the truth, and the option does something
            np.testing.assert_allclose(D.toarray(), want, rtol=1e-12, atol=1e-12)
            D.sort_indices()
            assert D.has_sorted_indices and D.indices.tobytes() == C.indices.tobytes() and D.data.tobytes() == C.data.tobytes()


@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("unit_diagonal", [False, True])
def test_solve_triangular(format, dtype, lower, transpose, unit_diagonal):
    for n in (1, 9, 200):
        T = triangle(n, dtype, lower=lower, format=format)
        for b in (whole_numbers(n, dtype), whole_numbers((n, 3), dtype), np.asfortranarray(whole_numbers((n, 3), dtype))):
            want = spsolve_triangular(op(T.tocsr(), transpose).tocsr(), b, lower=lower != transpose, unit_diagonal=unit_diagonal)
            got = tulle.solve_triangular(T, b, lower=lower, transpose=transpose, unit_diagonal=unit_diagonal)
            assert got.dtype == dtype and got.shape == b.shape
            np.testing.assert_allclose(got, want, rtol=1e-5 if dtype == np.float32 else 1e-12, atol=1e-6 if dtype == np.float32 else 1e-13)


def test_accuracy_of_triangular_solves():
    """A matter of GPUs: on a CPU all are substitution, with the same bits."""
    T, b = triangle(60, np.float64), whole_numbers(60)
    results = [solve(T, b, accuracy=a) for a in ("tested", "substitution", "fast") for solve in (tulle.solve_triangular, lambda T, b, accuracy: tulle.plan_solve_triangular(T, accuracy=accuracy)(b))]
    assert all((x == results[0]).all() for x in results)
    for solve in tulle.solve_triangular, lambda T, b, accuracy: tulle.plan_solve_triangular(T, accuracy=accuracy):
        with pytest.raises(tulle.InvalidValue, match="accuracy is 'fast', 'tested' or 'substitution', not 'best'"):
            solve(T, b, accuracy="best")


def test_a_square_is_looked_through_once(monkeypatch):
    from tulle._arrays import Sparse

    looks, original = [], Sparse.compressed
    monkeypatch.setattr(Sparse, "compressed", lambda self, *more: looks.append(self) or original(self, *more))
    A = random_matrix(40, 40)
    for transpose in (False, True):
        C = tulle.spgemm(A, A, transpose_b=transpose)
        np.testing.assert_array_equal(C.toarray(), (A @ op(A, transpose)).toarray())
    assert len(looks) == 2
    tulle.spgemm(A, A.copy())
    assert len(looks) == 4
    arrays = (A.indptr, A.indices, A.data)
    with pytest.raises(tulle.ShapeError):
        tulle.spgemm(arrays, arrays, shape_a=A.shape)


def test_one_triangle_of_a_general_matrix():
    A = (random_matrix(50, 50) / 8 + 2 * sp.eye_array(50)).tocsr()
    b = whole_numbers(50)
    with pytest.raises(tulle.InvalidValue):
        tulle.solve_triangular(A, b)
    np.testing.assert_allclose(sp.tril(A) @ tulle.solve_triangular(A, b, other_side="ignore"), b, atol=1e-12)


@pytest.mark.parametrize("dtype", DTYPES + [np.float16])
def test_arrays_as_a_matrix(dtype):
    A = random_matrix(20, 30, dtype=np.float32)
    given = (A.indptr, A.indices, A.data.astype(dtype))
    x, X = whole_numbers(30, dtype), whole_numbers((30, 4), dtype)
    want = A.astype(np.float64) @ X.astype(np.float64)
    got = tulle.spmm(given, X, shape=A.shape)
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(tulle.spmv(given, x, shape=A.shape), A.astype(np.float64) @ x.astype(np.float64))
    if dtype != np.float16:
        indptr, indices, data = tulle.spgemm(given, given, shape_a=A.shape, shape_b=A.shape, transpose_b=True)
        np.testing.assert_array_equal(sp.csr_array((data, indices, indptr), shape=(20, 20)).toarray(), (A @ A.T).toarray())


@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("format", ["csr", "csc"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_are_scaled_to_float16(dtype, format, transpose):
    """Values that float16 has not, in some rows of op(A): C has what alpha brings back into its range."""
    factor = np.array([1.0, 2.0**20, 2.0**-30, 2.0**100])[np.arange(24) % 4]
    A = random_matrix(24, 24, 0.5, dtype=dtype)
    A = (A @ sp.diags_array(factor) if transpose else sp.diags_array(factor) @ A).astype(dtype).asformat(format)
    X = whole_numbers((24, 5), np.float16)
    want = op(A, transpose).astype(np.float64) @ X.astype(np.float64)
    plan = tulle.plan_spmm(A, 5, transpose=transpose, dtype=np.float16)
    assert "scale:  18 of 24 rows of C by powers of two" in plan.describe()
    for alpha, rows in ((1.0, 0), (2.0**-20, 1), (2.0**30, 2), (2.0**-100, 3)):
        np.testing.assert_array_equal(plan(X, alpha=alpha)[rows::4], (alpha * want)[rows::4])
        np.testing.assert_array_equal(tulle.spmm(A, X, transpose=transpose, alpha=alpha, dtype=np.float16)[rows::4], (alpha * want)[rows::4])
    plan.update_values(A.data * 2)                                         # other factors
    np.testing.assert_array_equal(plan(X, alpha=2.0**-20)[1::4], (2.0**-19 * want)[1::4])
    plan.update_values(np.ones_like(A.data))                               # none are needed any more
    assert "scale:" not in plan.describe()
    pattern = A.copy()
    pattern.data[:] = 1
    np.testing.assert_array_equal(plan(X), op(pattern, transpose).astype(np.float64) @ X.astype(np.float64))
    with np.errstate(over="ignore"):
        off = tulle.plan_spmm(A, 5, transpose=transpose, dtype=np.float16, scale="off")
    assert "scale:" not in off.describe()
    assert "scale:  24 of 24" in tulle.plan_spmm(A, 5, transpose=transpose, dtype=np.float16, scale="rows").describe()
    with pytest.raises(tulle.InvalidValue):
        tulle.plan_spmm(A, 5, dtype=np.float16, scale="columns")


@pytest.mark.parametrize("index", [np.int32, np.int64, np.uint32, np.int16, ">i4"])
@pytest.mark.parametrize("offset", [np.int32, np.int64, np.uint64, ">i8"])
def test_index_types(index, offset):
    A = random_matrix(20, 30)
    given = (A.indptr.astype(offset), A.indices.astype(index), A.data)
    x = whole_numbers(30)
    plan = tulle.plan_spmv(given, shape=A.shape)
    np.testing.assert_array_equal(plan(x), A @ x)
    copied = "copied as int32" in plan.describe()
    assert copied == (np.dtype(index) != np.int32)


def test_types_that_meet():
    A = random_matrix(20, 30, dtype=np.float32)
    x = whole_numbers(30)
    assert tulle.spmv(A, x).dtype == np.float64                            # floats of the matrix are read as they are
    np.testing.assert_array_equal(tulle.spmv(A, x), A @ x)
    assert tulle.spmv(A, x.astype(np.int64)).dtype == np.float64
    assert tulle.spmv(A.astype(np.int32), x).dtype == np.float64
    plan = tulle.plan_spmv(A, dtype="f64")
    assert plan.dtype == np.float64 and "copied" not in plan.describe()
    np.testing.assert_array_equal(plan(x), A @ x)
    plan.update_values(2 * A.data)
    np.testing.assert_array_equal(plan(x), 2 * (A @ x))


@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.complex128, np.complex64, np.longdouble, bool])
def test_numbers_tulle_does_not_have_go_to_scipy(dtype):
    from tulle import _arrays

    _arrays._warned.clear()
    A = random_matrix(12, 12, dtype=dtype)
    x, X = whole_numbers(12).astype(dtype), whole_numbers((12, 2)).astype(dtype)
    for call, want in [(lambda **k: tulle.spmv(A, x, **k), A @ x), (lambda **k: tulle.spmm(A, X, **k), A @ X), (lambda **k: tulle.spgemm(A, A, **k), A @ A)]:
        with pytest.warns(tulle.FallbackWarning):
            got = call()
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got.toarray() if sp.issparse(got) else got, want.toarray() if sp.issparse(want) else want)
        with pytest.raises(tulle.UnsupportedType):
            call(strict=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tulle.spmv(A, x)                                                    # said once


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_the_other_side_of_a_triangle(dtype):
    A, b = sp.csr_array(np.array([[2, 5], [1, 4]], dtype)), np.ones(2)
    for lower, side, want in (True, "above the diagonal of a lower", [0.5, 0.125]), (False, "below the diagonal of an upper", [-0.125, 0.25]):
        with pytest.raises(tulle.InvalidValue, match=side):
            tulle.solve_triangular(A, b, lower=lower)
        np.testing.assert_allclose(tulle.solve_triangular(A, b, lower=lower, other_side="ignore"), want)
    with pytest.raises(tulle.InvalidValue, match="other_side is"):
        tulle.solve_triangular(A, b, other_side="junk")
    with pytest.raises(tulle.InvalidValue):
        tulle.solve_triangular(sp.csr_array((2, 2), dtype=dtype), b)        # singular
    for wrong in (np.ones(3), np.ones((3, 2)), np.ones((2, 1, 1))):
        with pytest.raises(tulle.ShapeError):
            tulle.solve_triangular(A, wrong, other_side="ignore")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
@pytest.mark.parametrize("format", ["bsr", "dia"])
def test_blocks_of_triangles_are_filled_with_zeros(dtype, format):
    A, b = np.array([[3, 0, 0, 0], [1, 3, 0, 0], [0, 0, 2, 0], [0, 1, 1, 2]], dtype), np.array([3.0, 4, 2, 4], dtype)
    T = sp.bsr_array(A, blocksize=(2, 2)) if format == "bsr" else sp.dia_array(A)
    kept = T.data.copy()
    np.testing.assert_allclose(tulle.solve_triangular(T, b), [1, 1, 1, 1])
    np.testing.assert_allclose(tulle.solve_triangular(T.T, b, lower=False, transpose=True), [1, 1, 1, 1])
    if dtype != np.complex128:
        np.testing.assert_allclose(tulle.plan_solve_triangular(T)(b), [1, 1, 1, 1])
    np.testing.assert_array_equal(T.data, kept)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_arguments_are_kept_whoever_computes(dtype):
    """Numbers that SciPy computes with are refused where others are, and nothing is lost on the way."""
    A, x, X = sp.csr_array(np.array([[1, 2], [3, 4]], dtype)), np.array([1, 2], dtype), np.array([[1, 0], [2, 1]], dtype)
    for call, v in (tulle.spmv, x), (tulle.spmm, X):
        with pytest.raises(tulle.InvalidValue, match="beta"):
            call(A, v, beta=2)
        for wrong in (np.zeros((3, 2, 2), dtype), np.zeros(3, dtype)):
            with pytest.raises(tulle.ShapeError, match="out has the shape"):
                call(A, v, out=wrong)
        with pytest.raises(tulle.UnsupportedType, match="cannot be written"):
            call(A, v, out=v.tolist())
        with pytest.raises(tulle.UnsupportedType):
            call(A, v * 1j, out=np.zeros(v.shape))
        with pytest.raises(tulle.ShapeError):
            call(A, v[:1])
        with pytest.raises(tulle.DeviceError):
            call(A, v, context=tulle.Context("cuda"))
        read_only = np.zeros(v.shape, dtype)
        read_only.flags.writeable = False
        with pytest.raises(tulle.InvalidValue, match="read-only"):
            call(A, v, out=read_only)
        out = np.ones(v.shape, dtype)
        assert call(A, v, out=out, alpha=2, beta=3) is out
        np.testing.assert_array_equal(out, 2 * (A @ v) + 3)
        out = v.copy()
        np.testing.assert_array_equal(call(A, out, out=out), A @ v)         # it may be the operand
        assert call(A, v, dtype=complex).dtype == np.complex128
    with pytest.raises(tulle.OutOfMemory):
        tulle.spgemm(sp.csr_array(np.ones((300, 300), dtype)), sp.csr_array(np.ones((300, 300), dtype)), budget=10)
    with pytest.raises(tulle.ShapeError):
        tulle.spgemm(A, sp.csr_array((3, 2), dtype=dtype))
    assert tulle.spgemm(A, A, dtype=complex).dtype == np.complex128 and tulle.solve_triangular(A, x, other_side="ignore", dtype=complex).dtype == np.complex128


@pytest.mark.filterwarnings("ignore")
def test_nothing_is_rounded_unasked():
    Ai, xi, A, x = sp.csr_array(np.array([[1, 2], [3, 4]])), np.array([1, 2]), sp.csr_array(np.array([[1.5, 0], [0, 1]])), np.ones(2)
    for call in (lambda: tulle.spmv(Ai, xi, out=np.zeros(2, int), alpha=0.5), lambda: tulle.spmv(A, x, dtype=int), lambda: tulle.spgemm(A, A, dtype=int),
                 lambda: tulle.spmv(A * 1j, x, dtype="f64"), lambda: tulle.spgemm(A * 1j, A, dtype="f64"), lambda: tulle.solve_triangular(A * 1j, x, dtype="f64")):
        with pytest.raises(tulle.UnsupportedType):
            call()
    np.testing.assert_array_equal(tulle.spmv(Ai, xi, alpha=0.5), [2.5, 5.5])
    with pytest.raises(tulle.ShapeError):
        tulle.solve_triangular(A * 1j, x, out=np.zeros((2, 2), complex))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", [np.float64, np.int64, np.complex128])
@pytest.mark.parametrize("format", ["csr", "csc"])
def test_products_that_cancel_stay(dtype, format):
    A, B = (sp.csr_array(np.array(m, dtype)).asformat(format) for m in ([[1, 1, 0], [2, 0, 1]], [[1, 0], [-1, 2], [0, 3]]))
    C = tulle.spgemm(A, B)
    assert C.nnz == 4 and C.dtype == dtype and C.format == format and C.has_canonical_format
    np.testing.assert_array_equal(C.toarray(), (A @ B).toarray())
    np.testing.assert_array_equal(tulle.spgemm(A, A, transpose_a=True).toarray(), (A.T @ A).toarray())
    assert tulle.spgemm(A, B, transpose_a=True, transpose_b=True).shape == (3, 3)


def test_half_precision_goes_into_out():
    A, x = random_matrix(20, 30, dtype=np.float32), whole_numbers(30, np.float16)
    out = np.ones(20, np.float16)
    assert tulle.spmv(A, x, out, dtype="f16", beta=2) is out
    np.testing.assert_array_equal(out, A @ x + 2)
    apart = np.zeros(40, np.float16)[::2]
    assert tulle.spmv(A, x, apart, dtype="f16") is apart
    np.testing.assert_array_equal(apart, A @ x)
    assert tulle.spmv(A, x, dtype="f16").shape == (20,)
    for wrong in (np.zeros(19, np.float16), np.zeros((20, 1), np.float16)):
        with pytest.raises(tulle.ShapeError):
            tulle.spmv(A, x, wrong, dtype="f16")


def test_warnings_point_at_the_caller():
    from tulle import _arrays

    A = random_matrix(5, 5, dtype=np.int64)
    M, x = tulle.wrap(random_matrix(5, 5)), np.ones(5, np.int64)
    for call in (lambda: tulle.spmv(A, x), lambda: tulle.spmm(A, x[:, None]), lambda: tulle.spgemm(A, A), lambda: tulle.solve_triangular(sp.eye_array(5) * 1j, x),
                 lambda: M @ x.astype(np.longdouble)):
        _arrays._warned.clear()
        with pytest.warns(tulle.FallbackWarning) as caught:
            call()
        assert [w.filename for w in caught] == [__file__]


def test_alpha_beta_and_out():
    A = random_matrix(20, 30)
    x, y = whole_numbers(30), whole_numbers(20, seed=7)
    for call in (lambda *a, **k: tulle.spmv(A, *a, **k), tulle.plan_spmv(A)):
        out = y.copy()
        assert call(x, out, alpha=2, beta=3) is out
        np.testing.assert_array_equal(out, 2 * (A @ x) + 3 * y)
        out = np.full(20, np.nan)
        call(x, out=out)
        np.testing.assert_array_equal(out, A @ x)
        every_second = np.zeros(40)[::2]
        call(x, out=every_second)
        np.testing.assert_array_equal(every_second, A @ x)
        with pytest.raises(tulle.InvalidValue):
            call(x, beta=1.0)
    X, C = whole_numbers((30, 3)), whole_numbers((20, 3), seed=8)
    for call in (lambda *a, **k: tulle.spmm(A, *a, **k), tulle.plan_spmm(A, 3)):
        for out in (C.copy(), np.asfortranarray(C), np.pad(C, 2)[2:-2, 2:-2]):
            assert call(X, out, alpha=2, beta=3) is out
            np.testing.assert_array_equal(out, 2 * (A @ X) + 3 * C)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
def test_alpha_of_zero_reads_nothing(dtype):
    """As in the BLAS: beta y whatever A and x hold, also where SciPy computes."""
    A = random_matrix(20, 20).astype(dtype)
    A.data[::2] = np.nan
    x, X, y = (np.full(shape, np.nan, dtype) for shape in (20, (20, 3), 20))
    out, block = np.arange(20).astype(dtype), np.ones((20, 3), dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")                                     # SciPy is said to compute
        np.testing.assert_array_equal(tulle.spmv(A, x, alpha=0), np.zeros(20))
        np.testing.assert_array_equal(tulle.spmv(A, x, out, alpha=0, beta=2), 2 * np.arange(20))
        np.testing.assert_array_equal(tulle.spmv(A, x, y, alpha=0), np.zeros(20))
        np.testing.assert_array_equal(tulle.spmm(A, X, alpha=0), np.zeros((20, 3)))
        np.testing.assert_array_equal(tulle.spmm(A, X, block, alpha=0, beta=-1), np.full((20, 3), -1))
        T = (sp.tril(random_matrix(20, 20), -1) + sp.eye_array(20)).tocsr().astype(dtype)
        np.testing.assert_array_equal(tulle.solve_triangular(T, x, alpha=0), np.zeros(20))
        np.testing.assert_array_equal(tulle.solve_triangular(T, X, alpha=0), np.zeros((20, 3)))


def test_out_may_overlap():
    A = random_matrix(30, 30)
    x = whole_numbers(30)
    want = A @ x
    tulle.spmv(A, x, out=x)
    np.testing.assert_array_equal(x, want)
    buffer = whole_numbers((30, 8))
    want = A @ buffer[:, :4]
    tulle.spmm(A, buffer[:, :4], out=buffer[:, 2:6])
    np.testing.assert_array_equal(buffer[:, 2:6], want)
    x, X, L, b = whole_numbers(31), whole_numbers((30, 8)), triangle(30), whole_numbers(31)
    want = A @ x[:30], A @ X[:, :4], tulle.solve_triangular(L, b[:30])
    tulle.plan_spmv(A)(x[:30], x[1:])
    tulle.plan_spmm(A, 4)(X[:, :4], X[:, 2:6])
    tulle.plan_solve_triangular(L)(b[:30], b[1:])
    for got, right in zip((x[1:], X[:, 2:6], b[1:]), want):
        np.testing.assert_array_equal(got, right)
    b = whole_numbers((30, 2))
    want = tulle.solve_triangular(L, b)
    assert tulle.plan_solve_triangular(L)(b, b) is b                        # x may be b
    np.testing.assert_array_equal(b, want)


@pytest.mark.parametrize("layout", ["C", "F", "sliced", "reversed", "transposed", "one column", "broadcast", "big-endian", "read-only"])
def test_layouts_of_dense_matrices(layout):
    A = random_matrix(20, 30)
    X = whole_numbers((30, 6))
    given = {"C": X, "F": np.asfortranarray(X), "sliced": np.pad(X, 1)[1:-1, 1:-1], "reversed": X[::-1, ::-1], "transposed": np.ascontiguousarray(X.T).T, "one column": X[:, 2:3],
             "broadcast": np.broadcast_to(X[:, :1], (30, 6)), "big-endian": X.astype(">f8"), "read-only": X}[layout]
    given.flags.writeable = layout not in ("read-only", "broadcast")
    want = A @ np.ascontiguousarray(given).astype(np.float64)
    np.testing.assert_array_equal(tulle.spmm(A, given), want)
    np.testing.assert_array_equal(tulle.plan_spmm(A, 6)(given), want)
    np.testing.assert_array_equal(tulle.spmv(A, given[:, 0]), want[:, 0])


def test_unaligned_arrays():
    A = random_matrix(20, 30)

    def unaligned(a):
        room = np.zeros(a.nbytes + 1, np.uint8)
        b = room[1:].view(a.dtype)
        b[:] = a
        assert not b.flags.aligned
        return b

    x = whole_numbers(30)
    np.testing.assert_array_equal(tulle.plan_spmv(A)(unaligned(x)), A @ x)
    given = (unaligned(A.indptr), unaligned(A.indices), unaligned(A.data))
    plan = tulle.plan_spmv(given, shape=A.shape)
    np.testing.assert_array_equal(plan(unaligned(x)), A @ x)
    assert "not aligned" in plan.describe()


def test_unsorted_rows_and_repeats():
    indptr, indices, data = np.array([0, 4, 4, 6]), np.array([2, 0, 2, 1, 1, 0], np.int32), np.arange(1.0, 7)
    A = sp.csr_array((data, indices, indptr), shape=(3, 3))
    kept = (A.indptr.copy(), A.indices.copy(), A.data.copy())
    want = A.toarray()
    x = whole_numbers(3)
    np.testing.assert_array_equal(tulle.spmv(A, x), want @ x)
    np.testing.assert_array_equal(tulle.spmv(A, x, transpose=True), want.T @ x)
    np.testing.assert_array_equal(tulle.spmm(A, np.eye(3)), want)
    np.testing.assert_array_equal(tulle.spgemm(A, A).toarray(), want @ want)
    L = sp.csr_array((np.array([1.0, 1.0, 3.0, 1.0, 2.0]), np.array([0, 0, 1, 0, 0]), np.array([0, 2, 5])), shape=(2, 2))      # repeats add up
    np.testing.assert_allclose(L.toarray() @ tulle.solve_triangular(L, np.array([2.0, 9.0])), [2.0, 9.0])
    for before, after in zip(kept, (A.indptr, A.indices, A.data)):
        np.testing.assert_array_equal(before, after)                        # nothing of the caller's is sorted in place


@pytest.mark.parametrize("indices, claims", [([0, 2, 0, 1], (True, True)), ([2, 0, 0, 1], (False, False)), ([1, 1, 0, 1], (True, False)), ([0, 1, 1, 0], (False, False))])
@pytest.mark.parametrize("offset", [np.int32, np.int64])
def test_order_is_looked_at(indices, claims, offset):
    context = tulle.Context()
    view = tulle._core.Compressed(context._core, False, 2, 3, np.array([0, 2, 4], offset), np.array(indices, np.int32), np.ones(4), True)
    assert (view.sorted, view.unique) == claims


def test_claims_of_scipy_are_not_trusted():
    A = sp.csr_array((np.array([1.0, 2.0, 3.0]), np.array([2, 0, 0]), np.array([0, 2, 3])), shape=(2, 3))
    A.has_sorted_indices = True
    A.has_canonical_format = True
    np.testing.assert_array_equal(tulle.spmv(A, np.array([1.0, 10.0, 100.0])), [102.0, 3.0])
    np.testing.assert_array_equal(tulle.spgemm(A, A, transpose_b=True).toarray(), [[5.0, 6.0], [6.0, 9.0]])


def test_arrays_longer_than_the_matrix():
    A = sp.csr_array((np.arange(5.0), np.array([0, 1, 2, 9, 9], np.int32), np.array([0, 2, 3], np.int32)), shape=(2, 3))
    np.testing.assert_array_equal(tulle.spmv(A, np.ones(3)), [1.0, 2.0])
    for rows in (0, 2):                                                      # no entries, but room for some
        empty = (np.zeros(rows + 1, np.int32), np.arange(3, dtype=np.int32), np.ones(3))
        np.testing.assert_array_equal(tulle.spmv(empty, np.ones(3), shape=(rows, 3)), np.zeros(rows))


def test_dlpack():
    class Foreign:
        def __init__(self, a):
            self.a = a

        def __dlpack__(self, **options):
            return self.a.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.a.__dlpack_device__()

    A, x = random_matrix(20, 30), whole_numbers(30)
    np.testing.assert_array_equal(tulle.spmv(A, Foreign(x)), A @ x)
    np.testing.assert_array_equal(tulle.plan_spmv(A)(Foreign(x)), A @ x)
    np.testing.assert_array_equal(tulle.spmv(A, list(x)), A @ x)


def test_torch():
    torch = pytest.importorskip("torch")
    A = random_matrix(20, 30)
    x, X = whole_numbers(30), whole_numbers((30, 4))
    csr = torch.sparse_csr_tensor(torch.from_numpy(A.indptr.astype(np.int64)), torch.from_numpy(A.indices.astype(np.int64)), torch.from_numpy(A.data), size=A.shape)
    for T in (csr, csr.to_sparse_csc(), csr.to_sparse_coo()):
        y = tulle.spmv(T, torch.from_numpy(x))
        assert isinstance(y, torch.Tensor)
        np.testing.assert_array_equal(y.numpy(), A @ x)
        np.testing.assert_array_equal(tulle.spmm(T, torch.from_numpy(X)).numpy(), A @ X)
    plan = tulle.plan_spmm(csr, 4)
    assert "int64: copied as int32" in plan.describe()
    out = torch.zeros(20, 4, dtype=torch.float64)
    assert plan(torch.from_numpy(X), out) is out
    np.testing.assert_array_equal(out.numpy(), A @ X)
    C = tulle.spgemm(csr, csr, transpose_b=True)
    assert C.layout == torch.sparse_csr
    np.testing.assert_array_equal(C.to_dense().numpy(), (A @ A.T).toarray())
