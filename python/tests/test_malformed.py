# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""Malformed arrays: an exception or a right result, never a crash and never a wrong one."""
import subprocess
import sys
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tulle

OFFSETS = [np.int32, np.int64, np.uint32, np.uint64, ">i4", ">i8", np.int8]
INDICES = [np.int32, np.int64, np.uint8, np.uint64, ">i4"]
VALUES = [np.float64, np.float32, ">f8", np.float16, np.int64, np.complex128]
STRANGE = st.sampled_from([-1, -(2**31), 2**31 - 1, 2**31, 2**32, 2**32 + 1, 2**63 - 1, -(2**63), 3, 5, 1000])


def as_array(draw, values, dtype):
    """The values in a type, where they fit, in some layout."""
    t = np.dtype(dtype)
    if t.kind in "iu":
        low, high = np.iinfo(t).min, np.iinfo(t).max
        values = [min(max(int(v), low), high) for v in values]
    a = np.array(values, dtype=t)
    how = draw(st.sampled_from(["plain", "strided", "reversed", "read-only", "unaligned"]))
    if how == "strided":
        a = np.repeat(a, 2)[::2]
    elif how == "reversed":
        a = a[::-1].copy()[::-1]
    elif how == "read-only":
        a.flags.writeable = False
    elif how == "unaligned":
        room = np.zeros(a.nbytes + 1, np.uint8)
        room[1:].view(a.dtype)[:] = a
        a = room[1:].view(a.dtype)
    return a


@st.composite
def matrices(draw):
    """Mostly nearly right: a sound matrix with a few things changed."""
    rows, cols = draw(st.integers(0, 6)), draw(st.integers(0, 6))
    lengths = draw(st.lists(st.integers(0, 4), min_size=rows, max_size=rows)) if cols else [0] * rows
    indptr = [0, *np.cumsum(lengths).tolist()] if rows else [0]
    nonzeros = indptr[-1]
    indices = draw(st.lists(st.integers(0, max(0, cols - 1)), min_size=nonzeros, max_size=nonzeros))
    data = draw(st.lists(st.integers(-4, 4), min_size=nonzeros, max_size=nonzeros))
    for _ in range(draw(st.integers(0, 2))):
        victim = draw(st.sampled_from([indptr, indices, data]))
        change = draw(st.sampled_from(["set", "cut", "grow"]))
        if change == "set" and victim and victim is not data:
            victim[draw(st.integers(0, len(victim) - 1))] = draw(STRANGE)
        elif change == "cut" and victim:
            victim.pop()
        elif change == "grow":
            victim.append(draw(STRANGE) if victim is not data else 1)
    arrays = (as_array(draw, indptr, draw(st.sampled_from(OFFSETS))), as_array(draw, indices, draw(st.sampled_from(INDICES))), as_array(draw, data, draw(st.sampled_from(VALUES))))
    shape = draw(st.sampled_from([(rows, cols)] * 8 + [(rows + 1, cols), (rows, 0), (-1, cols), (2**31, cols), (rows, 2**40)]))
    return arrays, shape


def dense_of(arrays, shape):
    """What the arrays mean, by plain loops, or None if they mean nothing."""
    indptr, indices, data = (a.tolist() for a in arrays)
    rows, cols = shape
    if rows < 0 or cols < 0 or max(rows, cols) > 1000 or len(indptr) != rows + 1 or indptr[0] != 0 or any(b < a for a, b in zip(indptr, indptr[1:])):
        return None
    if indptr[-1] > min(len(indices), len(data)):
        return None
    used = indices[: indptr[-1]]
    if any(not 0 <= c < cols for c in used):
        return None
    dense = np.zeros(shape, dtype=np.result_type(arrays[2].dtype.newbyteorder("="), np.float32))
    for i in range(rows):
        for k in range(indptr[i], indptr[i + 1]):
            dense[i, indices[k]] += data[k]
    return dense


# A longer indices array than values array (or the other way round) is told although the matrix ends before both: it is surely a mistake.
def allowed_to_refuse(arrays):
    return len(arrays[1]) != len(arrays[2])


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(matrices(), st.booleans())
@pytest.mark.filterwarnings("ignore")
def test_malformed_matrices(case, transpose):
    arrays, shape = case
    want = dense_of(arrays, shape)
    columns = max(0, min(shape[0] if transpose else shape[1], 1000))
    x = np.arange(1.0, columns + 1)
    op = (lambda m: m.T) if transpose else (lambda m: m)
    calls = {
        "spmv": (lambda: tulle.spmv(arrays, x, shape=shape, transpose=transpose), lambda: op(want) @ x),
        "plan_spmv": (lambda: tulle.plan_spmv(arrays, shape=shape, transpose=transpose, dtype="f64")(x), lambda: op(want) @ x),
        "spmm": (lambda: tulle.spmm(arrays, np.eye(columns), shape=shape, transpose=transpose), lambda: op(want)),
        "info": (lambda: tulle.info(arrays, shape=shape)["rows"], lambda: shape[0]),
    }
    for name, (call, right) in calls.items():
        try:
            got = call()
        except (ValueError, TypeError, OverflowError) as e:
            assert want is None or allowed_to_refuse(arrays) or isinstance(e, tulle.UnsupportedType), (name, e)
            continue
        assert want is not None, name
        np.testing.assert_allclose(got, right(), rtol=1e-3)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(matrices())
@pytest.mark.filterwarnings("ignore")
def test_malformed_factors_and_triangles(case):
    arrays, shape = case
    want = dense_of(arrays, shape)
    try:
        indptr, indices, data = tulle.spgemm(arrays, arrays, shape_a=shape, shape_b=shape, transpose_b=True)
    except (ValueError, TypeError, OverflowError) as e:
        assert want is None or allowed_to_refuse(arrays) or isinstance(e, tulle.UnsupportedType), e
    else:
        got = sp.csr_array((data, indices, indptr), shape=(shape[0], shape[0])).toarray()
        np.testing.assert_allclose(got, want @ want.T, rtol=1e-3)
    try:
        x = tulle.solve_triangular(arrays, np.ones(max(0, min(shape[0], 1000))), shape=shape, other_side="ignore")
    except (ValueError, TypeError, OverflowError, np.linalg.LinAlgError):
        return
    np.testing.assert_allclose(np.tril(want) @ x, np.ones(shape[0]), rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("indptr, indices, data, shape", [
    ([0, 1], [5], [1.0], (1, 3)), ([0, 1], [-1], [1.0], (1, 3)), ([0, 2, 1], [0, 0], [1.0, 1.0], (2, 2)), ([1, 1], [0], [1.0], (1, 1)), ([], [], [], (0, 0)),
    ([0, 2**40], [0], [1.0], (1, 1)), ([0, 1], [2**32], [1.0], (1, 3)), ([0, 1, 1], [0], [1.0], (1, 1)), ([0, -5, 1], [0], [1.0], (2, 2)),
    ([0, 3, 1, 4], [0, 1, 2, 0], [1.0, 1.0, 1.0, 1.0], (3, 3)),
])
def test_each_is_refused(indptr, indices, data, shape):
    for types in ((np.int64, np.int64), (np.int64, np.int32), (np.int32, np.int32)):
        try:
            arrays = (np.array(indptr, types[0]), np.array(indices, types[1]), np.array(data))
        except OverflowError:
            continue
        for call in (tulle.spmv, lambda *a, **k: tulle.plan_spmv(a[0], **k)):
            with pytest.raises((tulle.InvalidValue, tulle.ShapeError)):
                call(arrays, np.ones(shape[1]), shape=shape)


def test_scipy_objects_with_changed_arrays():
    A = sp.csr_array(np.eye(4))
    A.indices[2] = 77
    for call in (lambda: tulle.spmv(A, np.ones(4)), lambda: tulle.spgemm(A, A), lambda: tulle.spmm(A, np.ones((4, 2))), lambda: tulle.wrap(A) @ np.ones(4),
                 lambda: tulle.spmv(A.astype(int), np.ones(4, int)), lambda: tulle.write("/dev/null", A, format="mtx")):
        with pytest.raises(ValueError):
            call()
    with tulle.scipy_backend(), pytest.raises(tulle.InvalidValue):
        A @ np.ones(4)


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("dtype, x_dtype", [(np.float64, np.float64), (np.float32, np.float32), (np.float32, np.float64)])
def test_patterns_changed_between_products(index, dtype, x_dtype):
    """Nothing of a matrix is remembered between calls without a plan: what is written to its arrays counts, and what leads outside is refused."""
    n = 300000                                   # two threads, and a part for each
    indptr, indices, data = np.arange(n + 1, dtype=index), np.arange(n, dtype=np.int32), np.ones(n, dtype)
    A, x = sp.csr_array((n, n), dtype=dtype), np.arange(n, dtype=x_dtype)
    A.indptr, A.indices, A.data = indptr, indices, data
    np.testing.assert_array_equal(tulle.spmv(A, x), x)
    for k in (0, 1, n // 2, n - 1):
        indices[k], data[k] = n - 1 - k, 3
        assert tulle.spmv(A, x)[k] == 3 * x[n - 1 - k]
        for wrong in (-1, n, np.iinfo(np.int32).min):
            indices[k] = wrong
            for check in (True, False):
                with pytest.raises(tulle.InvalidValue, match="column"):
                    tulle.spmv(A, x, check=check)
        indices[k], data[k] = k, 1
        if k > 0:
            for wrong in (-1, k - 2, n + 1, np.iinfo(index).min, np.iinfo(index).max):
                indptr[k] = wrong
                with pytest.raises(tulle.InvalidValue):
                    tulle.spmv(A, x)
            indptr[k] = k
    np.testing.assert_array_equal(tulle.spmv(A, x), x)


@pytest.mark.filterwarnings("ignore")
def test_arrays_of_other_lengths_and_forms():
    """What the quick way of products by rows does not take is looked at as ever."""
    A, x = sp.csr_array(np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]])), np.array([1.0, 10.0, 100.0])
    want = [20.0, 301.0]
    long = sp.csr_array((2, 3))
    long.indptr, long.indices, long.data = A.indptr, np.append(A.indices, [9, 9]).astype(np.int32), np.append(A.data, [7.0, 7.0])
    strided = sp.csr_array((2, 3))
    strided.indptr, strided.indices, strided.data = np.repeat(A.indptr, 2)[::2], np.repeat(A.indices, 2)[::2], np.repeat(A.data, 2)[::2]
    wide = sp.csr_array((A.data, A.indices.astype(np.int64), A.indptr.astype(np.int64)), shape=A.shape)
    foreign = A.copy()
    foreign.data = A.data.astype(">f8")
    for B in (A, long, strided, wide, foreign, A.astype(np.int64), sp.csr_matrix(A), A.tocsc(), A.tobsr()):
        for v in (x, x.astype(np.float32), x.astype(">f8"), np.repeat(x, 2)[::2], x.astype(int), list(x)):
            np.testing.assert_array_equal(tulle.spmv(B, v), want)
        np.testing.assert_array_equal(tulle.spmv(B, x, alpha=2), [40.0, 602.0])
    with pytest.raises(tulle.ShapeError):
        tulle.spmv(A, np.ones(4))
    long.data = long.data[:2]
    with pytest.raises(tulle.ShapeError):
        tulle.spmv(long, x)


def test_what_is_no_matrix():
    for thing in (None, 3, "A", np.eye(3), [1, 2], object(), {}):
        with pytest.raises((tulle.UnsupportedType, tulle.ShapeError)):
            tulle.spmv(thing, np.ones(3))
    A = sp.csr_array(np.eye(3))
    for x in (None, "x", object(), np.ones((3, 1, 1)), np.ones(4), np.array(["a", "b", "c"]), np.array(None)):
        with pytest.raises((TypeError, ValueError)):
            tulle.spmv(A, x)
        with pytest.raises((TypeError, ValueError)):
            tulle.plan_spmv(A)(x)


def test_offsets_that_fall_below_zero_do_not_reach_scipy():
    """SciPy's own check passes what says to have no nonzeros."""
    arrays = (np.array([0, 4, -1], np.int32), np.zeros(4, np.int32), np.zeros(4, complex))
    for call in (lambda: tulle.spmv(arrays, np.ones(1), shape=(2, 1)), lambda: tulle.spmm(arrays, np.ones((1, 1)), shape=(2, 1))):
        with pytest.raises(tulle.InvalidValue, match="fall"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call()


CONVERTED = {
    "sp.csc_array(np.eye(4))": (
        ["A.indices[0] = 10**8", "A.indices[0] = -10**8", "A.indptr[1] = 10**7", "A.indptr[1] = -10**7", "A.indptr[:] = [0, 4, 10**7, 9, -1]"],
        ["tulle.solve(A, x)", "tulle.plan_solve(A)", "tulle.info(A)", "tg.bfs(A, 0)", "tg.pagerank(A)", "tg.hits(A)", "tg.triangles(A)", "tg.components(A)", "tg.core_numbers(A)",
         "tg.cluster(A)", "tg.shortest_paths(A, 0)", "tg.multiply(A, A)", "tg.multiply(sp.eye_array(4), sp.eye_array(4), mask=A)"]),
    "sp.coo_array(np.eye(4))": (
        ["A.coords[0][1] = 10**8", "A.coords[0][1] = -10**8", "A.coords[1][1] = 4", "A.data = np.ones(1)"],
        ["tulle.spmv(A, x)", "tulle.plan_spmv(A)", "tulle.spmv(A, 1j * x)", "tulle.solve(A, x)", "tg.bfs(A, 0)"]),
    "sp.bsr_array(np.ones((4, 4)), blocksize=(2, 2))": (
        ["A.indptr[1] = 10**7", "A.indptr[1] = -10**7", "A.indices[0] = 10**8", "A.indices[0] = -1", "A.data = np.ones((1, 2, 2))", "A.data = np.ones((4, 3, 3))", "A.data = np.ones(4)"],
        ["tulle.spmv(A, x)", "tulle.plan_spmv(A)", "tulle.solve_triangular(A, 1j * x)"]),
    "sp.dia_array(np.eye(4))": (["A.offsets = np.zeros(0, int)", "A.offsets = np.arange(10**5)", "A.data = np.ones((10**6, 4))"], ["tulle.spmv(A, x)"]),
    "sp.lil_array(np.eye(4))": (["A.rows[0] = [10**8]", "A.data[0] = [1.0] * 10**6", "A.data[0] = []", "A.rows = A.rows[:1]", "A.data = A.data[:1]"], ["tulle.spmv(A, x)"]),
}


@pytest.mark.parametrize("matrix", CONVERTED)
def test_what_scipy_converts_is_looked_through_first(matrix):
    """In a process of its own: SciPy's conversions read and write outside of malformed arrays."""
    changes, calls = CONVERTED[matrix]
    program = f"""
import warnings
import numpy as np, scipy.sparse as sp, tulle, tulle.graph as tg
warnings.simplefilter("ignore")
x = np.ones(4)
for change in {changes!r}:
    for call in {calls!r}:
        A = {matrix}
        exec(change)
        try:
            eval(call)
        except (tulle.InvalidValue, tulle.ShapeError):
            continue
        raise SystemExit(f"{{change}}: {{call}} is not refused")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_superlu_is_given_triangles_alone():
    """In a process of its own, which SuperLU ends over entries on the other side of the diagonal."""
    program = """
import warnings
import numpy as np, scipy.sparse as sp, tulle
warnings.simplefilter("ignore")
blocks = sp.bsr_array(np.array([[3.0 + 0j, 0], [1, 3]]), blocksize=(2, 2))
print(tulle.solve_triangular(blocks, np.array([3.0, 4.0]), transpose=True, unit_diagonal=True))
zero = sp.csr_array((np.array([1.0 + 0j, 0, 1, 1]), np.array([0, 1, 0, 1]), np.array([0, 2, 4])), shape=(2, 2))
print(tulle.solve_triangular(zero, np.array([3.0, 4.0]), transpose=True, unit_diagonal=True, other_side="ignore"))
try:
    tulle.solve_triangular(zero, np.ones(2), transpose=True, unit_diagonal=True)
except tulle.InvalidValue as e:
    print(e.message)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["[-1.+0.j  4.+0.j]"] * 2 + ["row 0, column 1 (counted from 0): an entry above the diagonal of a lower triangle"]
