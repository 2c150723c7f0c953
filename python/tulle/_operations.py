# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""The operations, done once, and the functions that make plans."""
from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from . import _core
from ._arguments import flag, look, number
from ._arrays import common_dtype, dense, dtype_of, fall_back, needs_order, real_array, sparse, with_order
from ._context import Context, context_of
from ._errors import Error, InvalidValue, ShapeError, UnsupportedType
from ._fallback import once_dtype, scipy_product, scipy_solve, scipy_spgemm, times
from ._frameworks import BF16, F16, F32, F64, I32, NAMES, Foreign, ResultAt, adopt, operand_at, require_out
from ._patterns import bind, bound_to, forget, keep_plan, recall, remember
from ._plans import Recycled, Result, SddmmPlan, SolveReport, SolverPlan, SpgemmPlan, SpmmPlan, SpmvPlan, TriangularPlan, contiguous, op_shape, operand, stored_dtype, with_lines

__all__ = ["spmv", "spmm", "spgemm", "solve_triangular", "sddmm", "attention", "plan_spmv", "plan_spmm", "plan_sddmm", "plan_spgemm", "plan_solve_triangular", "rigid_body_modes"]

_ndarray = np.ndarray


# By the types of A and x; y has that of x.
_BY_ROWS = {(F64, F64): _core.spmv_f64_rows, (F32, F32): _core.spmv_f32_rows, (F32, F64): _core.spmv_f64_f32_rows}


def multiply_rows(A: Any, x: np.ndarray, alpha: float, context: Context | None) -> Any:
    """y = alpha A x of a matrix of SciPy's in CSR whose arrays the library reads as they are, looked through while they are multiplied; None where something else
    is given, or must be converted or refused first."""
    if getattr(A, "format", None) != "csr" or type(A.data) is not _ndarray:
        return None
    multiply, shape = _BY_ROWS.get((A.data.dtype, x.dtype)), A.shape
    if multiply is None or len(shape) != 2:
        return None
    y = np.empty(shape[0], x.dtype)
    try:
        multiply(context_of(context)._place(-1, 0), *shape, A.indptr, A.indices, A.data, x, y, alpha)
    except (TypeError, Error):
        return None
    return y


def spmv(A: Any, x: Any, out: Any = None, *, shape: Any = None, transpose: bool = False, alpha: float = 1.0, beta: float = 0.0, dtype: Any = None, check: bool = True,
         strict: bool = False, context: Context | None = None) -> Any:
    """y = alpha op(A) x + beta y, once.

    Parameters
    ----------
    A : sparse matrix
        SciPy's arrays and matrices, sparse tensors of torch on the CPU, or ``(indptr, indices, data)`` with `shape`.
    x : array_like
        As many numbers as op(A) has columns.
    out : array, optional
        Where the result goes; needed for `beta`.
    shape : (int, int), optional
        Of A, where A is ``(indptr, indices, data)``.
    transpose : bool
        Multiply with the transposed matrix.
    alpha, beta : float
        Factors.
    dtype : optional
        What to compute in; by default what NumPy makes of A's and x's types.
    check : bool or "always"
        Look through offsets and indices first. Without it a malformed matrix may crash the process, as it does in SciPy; a matrix by rows on the CPU is looked
        through in any case, while it is multiplied, unless `out` is given. Index arrays of torch and CuPy on a
        GPU are looked through once, as long as they live and torch counts no writes to them; "always" looks every time, for index arrays that are written to in ways torch does not count, and those of CuPy.
    strict : bool
        Raise `UnsupportedType` instead of letting SciPy do what tulle has no numbers for.
    context : Context, optional
        Where and how.

    Returns
    -------
    array of x's kind, or out

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp, tulle
    >>> A = sp.csr_array([[4.0, -1.0, 0.0], [-1.0, 4.0, -1.0], [0.0, -1.0, 4.0]])
    >>> tulle.spmv(A, np.array([1.0, 2.0, 3.0]))
    array([ 2.,  4., 10.])
    """
    if check is not True:
        check = look(check, "check")
    if type(x) is _ndarray and out is None and not transpose and beta == 0.0 and dtype is None:
        y = multiply_rows(A, x, alpha, context)
        if y is not None:
            return y
    bound = bound_to(id(A))
    if bound is not None and check != "always" and not transpose and dtype is None and context is None:
        y = bound.multiply(A, x, out, alpha, beta)
        if y is not None:
            return y
    transpose = flag(transpose, "transpose")
    a = sparse(A, shape)
    if a.framework is not None:
        if check == "always":
            forget(a)
        return spmv_at(A, a, x, out, transpose, alpha, beta, dtype, check, strict, context)
    x_array, as_torch = dense(x, "x")
    if x_array.ndim != 1:
        raise ShapeError(f"x has {x_array.ndim} dimensions, not 1", "spmm multiplies with dense matrices")
    t = once_dtype(dtype, a.dtype, x_array.dtype)
    if t == F16:
        y = Result(out, (op_shape(a.shape, transpose)[0],), t, beta, (x_array,), as_torch)
        spmm(A, x_array[:, None], y.array[:, None], shape=shape, transpose=transpose, alpha=alpha, beta=beta, dtype=dtype, check=check, strict=strict, context=context)
        return y.give()
    if t not in (F32, F64):
        fall_back("SpMV", t, strict)
        a.place(context_of(context))             # refuses a context of a GPU
        return scipy_product(a, transpose, x_array, out, alpha, beta, t, as_torch)
    alpha, beta = number(alpha, "alpha"), number(beta, "beta")
    mixed = t == F64 and a.dtype == F32
    a.in_library_form(F32 if mixed else t)
    place = a.place(context_of(context))
    from_x, _ = operand(x_array, t, (1,), "x")
    result = Result(out, (op_shape(a.shape, transpose)[0],), t, beta, (from_x,), as_torch)
    name = f"spmv_{NAMES[t]}{'_f32' if mixed else ''}"
    if result.target is None and not a.by_column and not transpose:
        try:
            getattr(_core, f"{name}_rows")(place, *a.shape, a.indptr, a.indices, a.data, contiguous(from_x), result.array, alpha)
        except InvalidValue:
            a.compressed(place)                  # says what is wrong with the matrix
            raise
    else:
        getattr(_core, name)(place, a.compressed(place, check), transpose, contiguous(from_x), result.array, alpha, beta)
    return result.give()


def dtype_at(wanted: Any, a: Foreign, *operands: Any) -> np.dtype:
    """What to compute in, from a matrix and arrays that go by address."""
    if wanted is not None:
        return dtype_of(wanted)
    found = [adopt(x) for x in operands]
    return common_dtype(a.dtype, *(f.dtype(x) for f, x in (pair for pair in found if pair is not None)))


def framework_product(a: Foreign, transpose: bool, x: Any, out: Any, alpha: float, beta: float) -> Any:
    """What tulle has no numbers for, by the framework of the matrix."""
    require_out(out, beta)
    if a.tuple:
        raise UnsupportedType("tulle has no such numbers, and (indptr, indices, data) belong to no framework that could multiply", "give a sparse matrix, or other numbers")
    y = times(alpha, (a.source.T if transpose else a.source) @ x)
    if out is None:
        return y
    out[...] = y + beta * out if beta != 0 else y
    return out


def spmv_at(A: Any, a: Foreign, x: Any, out: Any, transpose: bool, alpha: float, beta: float, dtype: Any, check: bool, strict: bool, context: Context | None) -> Any:
    t = dtype_at(dtype, a, x)
    if t in (F16, BF16):
        y = spmm(a.source, x[:, None], None if out is None else out[:, None], shape=a.shape, transpose=transpose, alpha=alpha, beta=beta, dtype=t, check=check, strict=strict, context=context)
        return y[:, 0] if out is None else out
    if t not in (F32, F64):
        fall_back("SpMV", t, strict, a.framework.name)
        return framework_product(a, transpose, x, out, alpha, beta)
    mixed = t == F64 and a.dtype == F32
    known = recall(a) if check != "always" else None
    data = a.data
    a.in_library_form(F32 if mixed else t)
    place = a.place(context_of(context, device=a.device))
    f, x = operand_at(x, t, (1,), a.device, "x")
    rows, cols = op_shape(a.shape, transpose)
    y = ResultAt(f, out, (rows,), t, beta, a.device)
    name = f"spmv_{NAMES[t]}{'_f32' if mixed else ''}"
    if a.device < 0 or a.by_column != transpose:
        getattr(_core, f"{name}_at")(place, a.compressed(place, check), transpose, f.address(x), f.shape(x)[0], y.address, rows, alpha, beta)
        return y.give()
    pattern = (rows, cols, a.framework.shape(a.indices)[0], a.framework.address(a.indptr), a.framework.dtype(a.indptr) == I32, a.framework.address(a.indices))
    lanes = known.lanes if known is not None else None
    if lanes is None:
        lanes = _core.direct_lanes(place, *pattern)
        remember(a, lanes)
    run = getattr(_core, f"SpmvDirect_{name[5:]}")(*pattern, a.framework.address(a.data), lanes).run
    run(place, f.address(x), f.shape(x)[0], y.address, alpha, beta)
    bound = bind(A, a, context_of(None, device=a.device)) if check != "always" and not transpose and context is None and a.data is data else None
    if bound is not None:
        bound.products[a.framework.native(t)] = run
    return y.give()


class RecentResults:
    """Memory of large results of `spmm` without a plan, used again as that of a plan is: of products with the matrix that was multiplied last, as long as it lives."""

    __slots__ = ("_matrix", "_blocks")
    MOST = 256 << 20

    def __init__(self) -> None:
        self._forget(None)

    def _forget(self, matrix: Any) -> None:
        if matrix is None or matrix is self._matrix:
            self._matrix, self._blocks = None, Recycled(self.MOST)

    def of(self, A: Any) -> Recycled | None:
        """The blocks for products with A; None where nobody could tell that A is gone."""
        if self._matrix is None or self._matrix() is not A:
            self._forget(None)
            try:
                self._matrix = weakref.ref(A, self._forget)
            except TypeError:
                return None
        return self._blocks


_recent_results = RecentResults()


def spmm(A: Any, B: Any, out: Any = None, *, shape: Any = None, transpose: bool = False, alpha: float = 1.0, beta: float = 0.0, dtype: Any = None, check: bool = True,
         strict: bool = False, context: Context | None = None) -> Any:
    """C = alpha op(A) B + beta C with dense B and C, once; also in float16, with sums in float32.

    Wider values are rounded to float16 with a power of two for each row that needs it, as `plan_spmm` does by default.

    Parameters
    ----------
    B : array_like
        As many rows as op(A) has columns; any number of columns.
    out : array, optional
        Where the result goes; needed for `beta`.
    A, shape, transpose, alpha, beta, dtype, check, strict, context
        As for `spmv`.

    Returns
    -------
    array of B's kind, or out

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp, tulle
    >>> A = sp.csr_array([[1.0, 2.0], [0.0, 3.0]])
    >>> tulle.spmm(A, np.array([[1.0, 0.0], [1.0, 1.0]]))
    array([[3., 2.],
           [3., 3.]])
    """
    check = look(check, "check")
    bound = bound_to(id(A))
    if bound is not None and check != "always" and not transpose and dtype is None and context is None:
        C = bound.multiply_dense(A, B, out, alpha, beta)
        if C is not None:
            return C
    transpose = flag(transpose, "transpose")
    a = sparse(A, shape)
    if a.framework is not None:
        if check == "always":
            forget(a)
        t = dtype_at(dtype, a, B)
        if t not in NAMES:
            fall_back("SpMM", t, strict, a.framework.name)
            return framework_product(a, transpose, B, out, alpha, beta)
        if check == "always" or transpose or dtype is not None or context is not None or a.tuple or a.device < 0 or a.dtype != t or not a.framework.counts_writes:
            return SpmmPlan(A, columns_of(B), shape=shape, transpose=transpose, dtype=t, expected_calls=1, context=context)(B, out, alpha=alpha, beta=beta)
        return spmm_kept(A, a, B, out, alpha, beta, t)
    b_array, as_torch = dense(B, "B")
    if b_array.ndim != 2:
        raise ShapeError(f"B has {b_array.ndim} dimensions, not 2", "spmv multiplies with vectors")
    t = once_dtype(dtype, a.dtype, b_array.dtype)
    if t not in (F16, F32, F64):
        fall_back("SpMM", t, strict)
        a.place(context_of(context))
        return scipy_product(a, transpose, b_array, out, alpha, beta, t, as_torch)
    alpha, beta = number(alpha, "alpha"), number(beta, "beta")
    a.in_library_form(stored_dtype(a.dtype, t, "auto"))
    place = a.place(context_of(context))
    from_b, _ = operand(b_array, t, (2,), "B")
    from_b = with_lines(from_b)
    result = Result(out, (op_shape(a.shape, transpose)[0], from_b.shape[1]), t, beta, (from_b,), as_torch, _recent_results.of(A))
    by_column = not from_b.flags.c_contiguous and from_b.flags.f_contiguous
    plan = getattr(_core, f"SpmmPlan_{NAMES[t]}")(place, a.compressed(place, check), transpose, from_b.shape[1], by_column, 1.0, "", "auto")
    plan.run(from_b, result.array, alpha, beta)
    return result.give()


def spmm_kept(A: Any, a: Foreign, B: Any, out: Any, alpha: float, beta: float, t: np.dtype) -> Any:
    """With a plan that the next call finds again. It holds the arrays of A, not A itself, and goes with A."""
    n = columns_of(B)
    plan = SpmmPlan(a, n, dtype=t, expected_calls=1)
    C = plan(B, out, alpha=alpha, beta=beta)
    bound = bind(A, a, context_of(None, device=a.device))
    if bound is not None and not plan._converted:
        a.source, a.owners = None, ()
        keep_plan(A, bound, (a.framework.native(t), n), plan)
    return C


def spgemm(A: Any, B: Any, *, shape_a: Any = None, shape_b: Any = None, transpose_a: bool = False, transpose_b: bool = False, dtype: Any = None,
           budget: int | str | None = None, sorted: bool = True, check: bool = True, strict: bool = False, context: Context | None = None) -> Any:
    """C = op(A) op(B), all sparse, once.

    C has an entry wherever a product falls, also where the products cancel; its rows are sorted unless `sorted` is off.

    Parameters
    ----------
    A, B : sparse matrix
        As for `spmv`.
    shape_a, shape_b : (int, int), optional
        Of matrices given as ``(indptr, indices, data)``.
    transpose_a, transpose_b : bool
        Multiply with the transposed matrix.
    budget : int or str, optional
        Bytes that may be held at once, C included, such as ``"2GiB"``; `OutOfMemory` says how many are needed.
    sorted : bool
        Columns of C (rows, if it is CSC) ascend. Without it they may come in another order, as they do in SciPy's own product, which is faster where rows of C are
        short; `has_sorted_indices` and `has_canonical_format` of C tell. There are no repeats. Tensors of torch, and what is on a GPU, are sorted in any case.
    dtype, check, strict, context
        As for `spmv`.

    Returns
    -------
    sparse matrix of A's kind: CSC if A is CSC, else CSR

    Examples
    --------
    >>> import scipy.sparse as sp, tulle
    >>> A = sp.csr_array([[1.0, 2.0], [0.0, 3.0]])
    >>> tulle.spgemm(A, A).toarray()
    array([[1., 8.],
           [0., 9.]])
    """
    transpose_a, transpose_b, sorted = flag(transpose_a, "transpose_a"), flag(transpose_b, "transpose_b"), flag(sorted, "sorted")
    check = look(check, "check")
    a = sparse(A, shape_a)
    b = a if B is A and shape_b == shape_a else sparse(B, shape_b)      # a square is looked through once
    if (a.framework is None) != (b.framework is None) or a.device != b.device:
        raise UnsupportedType("A and B are not on the same device")
    t = once_dtype(dtype, a.dtype, b.dtype)
    if a.framework is not None:
        return spgemm_at(a, b, transpose_a, transpose_b, t, budget, check, strict, context)
    if t not in (F32, F64):
        fall_back("SpGEMM", t, strict)
        return scipy_spgemm(a, b, transpose_a, transpose_b, t, a.place(context_of(context, budget)))
    place = a.place(context_of(context, budget))
    first, second = compressed_pair(a, b, t, place, check)
    c_shape = (op_shape(a.shape, transpose_a)[0], op_shape(b.shape, transpose_b)[1])
    *arrays, in_order = getattr(_core, f"spgemm_{NAMES[t]}")(place, first, transpose_a, second, transpose_b, a.by_column, sorted or needs_order(a))
    return with_order(a.back(a.by_column, c_shape, *arrays), in_order, in_order)


def compressed_pair(a: Any, b: Any, t: np.dtype, place: Any, check: bool) -> tuple[Any, Any]:
    """Both factors for the library; the same object where they are one matrix."""
    first = a.in_library_form(t).compressed(place, check)
    return first, first if b is a else b.in_library_form(t).compressed(place, check)


def spgemm_at(a: Foreign, b: Foreign, transpose_a: bool, transpose_b: bool, t: np.dtype, budget: Any, check: bool, strict: bool, context: Context | None) -> Any:
    if t not in (F32, F64):
        fall_back("SpGEMM", t, strict, a.framework.name)
        return framework_product(a, transpose_a, b.source.T if transpose_b else b.source, None, 1, 0)
    place = a.place(context_of(context, budget, a.device))
    first, second = compressed_pair(a, b, t, place, check)
    shape = (op_shape(a.shape, transpose_a)[0], op_shape(b.shape, transpose_b)[1])
    return a.fetch(getattr(_core, f"spgemm_{NAMES[t]}_at")(place, first, transpose_a, second, transpose_b, a.by_column), shape)


def sddmm(A: Any, X: Any, Y: Any, *, scaled: bool = False, alpha: float = 1.0, shape: Any = None, dtype: Any = None, context: Context | None = None) -> Any:
    """C = alpha (X Y') at the positions of A, once: sampled dense-dense matrix product.

    Parameters
    ----------
    A : sparse matrix
        As for `spmv`. Its values are a factor with `scaled`, else they are not read.
    X, Y : array_like
        A row for each row of A, and a row for each column of A; as many columns. float64, float32, float16; bfloat16 of torch.
    scaled : bool
        Multiply the results by the values of A.
    alpha, shape, context
        As for `spmv`.
    dtype : optional
        What to compute in; that of X and Y by default.

    Returns
    -------
    sparse matrix of A's kind, with A's pattern: CSC if A is CSC, else CSR; SciPy's have no float16, and get float32
        Where CSR or CSC store a position several times, each entry gets the product; of COO SciPy adds up the entries first.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp, tulle
    >>> A = sp.csr_array([[1.0, 0.0], [1.0, 1.0]])
    >>> tulle.sddmm(A, np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, 1.0], [0.0, 2.0]])).toarray()
    array([[3., 0.],
           [7., 8.]])
    """
    a = sparse(A, shape)
    t = dtype_of(dtype) if dtype is not None else pair_dtype(a, X, Y)
    plan = SddmmPlan(A, columns_of(X), scaled=scaled, shape=shape, dtype=t, context=context)
    values = plan(X, Y, alpha=alpha)
    if a.framework is not None:
        return with_order(a.back(a.by_column, a.shape, a.framework.astype(a.indptr, np.dtype(np.int64)), a.indices, values), *plan._order)
    values = dense(values, "values")[0]
    if t == F16 and not isinstance(A, (tuple, list)):
        values = values.astype(np.float32)       # SciPy's matrices have no float16
    return with_order(a.back(a.by_column, a.shape, np.array(a.indptr), np.array(a.indices), values), *plan._order)


def attention(A: Any, Q: Any, K: Any, V: Any, out: Any = None, *, alpha: float | None = None, scaled: bool = False, shape: Any = None, dtype: Any = None,
              context: Context | None = None) -> Any:
    """Sparse attention, once: H = S V, where a row of S is the softmax of alpha Q K' over the nonzeros of that row of A.

    Parameters
    ----------
    A : sparse matrix
        By rows; as for `spmv`.
    Q, K, V : array_like
        A row of Q for each row of A, rows of K and V for each column.
    out : array, optional
        Where H goes.
    alpha : float, optional
        Factor of the scores; one over the root of the columns of Q by default.
    scaled : bool
        Scores are multiplied by the values of A before the softmax.
    shape, dtype, context
        As for `sddmm`.

    Returns
    -------
    array of Q's kind, or out
    """
    a = sparse(A, shape)
    t = dtype_of(dtype) if dtype is not None else pair_dtype(a, Q, K, V)
    return SddmmPlan(A, columns_of(Q), attended=columns_of(V), scaled=scaled, shape=shape, dtype=t, context=context).attend(Q, K, V, out, alpha=alpha)


def columns_of(X: Any) -> int:
    found = adopt(X)
    shape = found[0].shape(found[1]) if found is not None else np.shape(X)
    return int(shape[1]) if len(shape) == 2 else 1


def pair_dtype(a: Any, *operands: Any) -> np.dtype:
    """What dense operands are computed in; whole numbers in double."""
    found = [adopt(x) for x in operands]
    t = common_dtype(*(dense(x, "X")[0].dtype if pair is None else pair[0].dtype(pair[1]) for x, pair in zip(operands, found)))
    return F64 if t.kind in "iub" else t


def solve_triangular(A: Any, b: Any, out: Any = None, *, lower: bool = True, unit_diagonal: bool = False, transpose: bool = False, other_side: str = "refuse", alpha: float = 1.0,
                     accuracy: str = "tested", shape: Any = None, dtype: Any = None, strict: bool = False, context: Context | None = None) -> Any:
    """op(T) x = alpha b for a sparse triangle T, once.

    Parameters
    ----------
    A : sparse matrix
        As for `spmv`; square.
    b : array_like
        A vector, or a matrix with a column for each right-hand side.
    out : array, optional
        Where x goes; may be b.
    lower : bool
        T is the lower triangle of A, before it is transposed; else the upper one.
    unit_diagonal : bool
        The diagonal is one, whatever is stored.
    transpose : bool
        Solve with the transposed triangle.
    other_side : {"refuse", "ignore"}
        What to do with entries on the other side of the diagonal: an error, or solve with one triangle of a general matrix.
    accuracy : {"tested", "substitution", "fast"}
        On a GPU, rows that depend on each other may be solved with the inverse of their block. "tested" substitutes in blocks that lose digits in a trial solve,
        "substitution" in all (slower, and as accurate as on a CPU for every b), "fast" makes no trials. CPUs always substitute.
    alpha, shape, dtype, strict, context
        As for `spmv`.

    Returns
    -------
    array of b's kind, or out

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp, tulle
    >>> L = sp.csr_array([[2.0, 0.0], [1.0, 4.0]])
    >>> tulle.solve_triangular(L, np.array([2.0, 9.0]))
    array([1., 2.])
    """
    a = sparse(A, shape)
    if a.framework is not None:
        t = dtype_at(dtype, a, b)
        t = F64 if t.kind in "iub" else F32 if t in (F16, BF16) else t
        return TriangularPlan(A, lower=lower, unit_diagonal=unit_diagonal, transpose=transpose, other_side=other_side, right_hand_sides=max(1, columns_of(b)),
                              accuracy=accuracy, shape=shape, dtype=t, expected_calls=1, context=context)(b, out, alpha=alpha)
    b_array, as_torch = dense(b, "b")
    t = once_dtype(dtype, a.dtype, b_array.dtype)
    t = F64 if t.kind in "iub" else F32 if t == F16 else t
    if t not in (F32, F64):
        fall_back("SpTRSV", t, strict)
        a.place(context_of(context))
        return scipy_solve(a, b_array, out, lower, unit_diagonal, transpose, other_side, alpha, t, as_torch)
    many = b_array.shape[1] if b_array.ndim == 2 else 1
    plan = TriangularPlan(A, lower=lower, unit_diagonal=unit_diagonal, transpose=transpose, other_side=other_side, right_hand_sides=max(1, many), accuracy=accuracy,
                          shape=shape, dtype=t, expected_calls=1, context=context)
    return plan(b, out, alpha=alpha)


def plan_spmv(A: Any, *, shape: Any = None, transpose: bool = False, dtype: Any = None, policy: str = "", context: Context | None = None) -> SpmvPlan:
    """A product with vectors, prepared for one matrix.

    Parameters
    ----------
    A, shape, transpose, context
        As for `spmv`.
    dtype : optional
        Of vectors and sums; that of A by default. A matrix of float32 with float64 is read as it is.
    policy : str, optional
        A kernel to use instead of what is chosen: "rows", "split", or the text that `SpmvPlan.policy` gives.

    Returns
    -------
    SpmvPlan

    Examples
    --------
    >>> import numpy as np, tulle
    >>> p = tulle.plan_spmv(tulle.generate("stencil5:3"))
    >>> p(np.ones(9))
    array([2., 1., 2., 1., 0., 1., 2., 1., 2.])
    """
    return SpmvPlan(A, shape=shape, transpose=transpose, dtype=dtype, policy=policy, context=context)


def plan_spmm(A: Any, n: int = 32, *, order: str = "C", shape: Any = None, transpose: bool = False, dtype: Any = None, policy: str = "", expected_calls: float = 100,
              scale: str = "auto", context: Context | None = None) -> SpmmPlan:
    """A product with dense matrices, prepared for one sparse matrix.

    Parameters
    ----------
    n : int
        Columns of B expected; any number can be multiplied.
    order : {"C", "F"}
        Of B expected: rows contiguous, or columns; the other one is slower.
    expected_calls : float
        Products that will follow: few are not worth much preparation.
    scale : {"auto", "rows", "off"}
        Where values of 32 or 64 bits are rounded to 16 (`dtype`): rows of op(A) are divided by powers of two, and rows of C multiplied by them. "auto": rows with a
        value that would become infinite, subnormal or zero; "rows": all; "off": none.
    A, shape, transpose, dtype, policy, context
        As for `plan_spmv`; also float16.

    Returns
    -------
    SpmmPlan
    """
    return SpmmPlan(A, n, order=order, shape=shape, transpose=transpose, dtype=dtype, policy=policy, expected_calls=expected_calls, scale=scale, context=context)


def plan_sddmm(A: Any, k: int = 32, *, attended: int = 0, scaled: bool = False, shape: Any = None, dtype: Any = None, policy: str = "", context: Context | None = None) -> SddmmPlan:
    """SDDMM and sparse attention, prepared for one sparse matrix.

    Parameters
    ----------
    A, shape, policy, context
        As for `plan_spmv`.
    k : int
        Columns of X and Y expected; any number can be multiplied.
    attended : int
        Columns of V that `attend` will be given, up to 512; 0: it is not expected. On a GPU the plan may keep room for the scores.
    scaled : bool
        Results are multiplied by the values of A.
    dtype : optional
        float64, float32, float16 or bfloat16; that of A by default.

    Returns
    -------
    SddmmPlan
        Called with X and Y it gives an array of values, in the order of A's; `attend` is sparse attention.

    Examples
    --------
    >>> import numpy as np, tulle
    >>> p = tulle.plan_sddmm(tulle.generate("stencil5:3"), 4)
    >>> p(np.ones((9, 4)), np.ones((9, 4)))[:3]
    array([4., 4., 4.])
    """
    return SddmmPlan(A, k, attended=attended, scaled=scaled, shape=shape, dtype=dtype, policy=policy, context=context)


def plan_spgemm(A: Any, B: Any, *, shape_a: Any = None, shape_b: Any = None, transpose_a: bool = False, transpose_b: bool = False, dtype: Any = None, policy: str = "",
                budget: int | str | None = None, sorted: bool = True, keep_columns: bool = False, context: Context | None = None) -> SpgemmPlan:
    """A product of two sparse matrices whose symbolic phase is done: `nnz` and `memory` are known before C is made.

    Parameters
    ----------
    A, B, shape_a, shape_b, transpose_a, transpose_b, dtype, budget, sorted, context
        As for `spgemm`.
    keep_columns : bool
        The plan keeps the columns of the first C, four bytes for each of its nonzeros, and copies them into the next ones: only values are computed then. Arrays
        on a GPU raise `InvalidValue`.
    policy : str, optional
        A method to use instead of what is chosen: "dense", "hash", …

    Returns
    -------
    SpgemmPlan

    Examples
    --------
    >>> import tulle
    >>> A = tulle.generate("stencil5:3")
    >>> p = tulle.plan_spgemm(A, A)
    >>> p.nnz, p().nnz
    (61, 61)
    """
    return SpgemmPlan(A, B, shape_a=shape_a, shape_b=shape_b, transpose_a=transpose_a, transpose_b=transpose_b, dtype=dtype, policy=policy, budget=budget, sorted=sorted,
                      keep_columns=keep_columns, context=context)


def plan_solve_triangular(A: Any, *, lower: bool = True, unit_diagonal: bool = False, transpose: bool = False, other_side: str = "refuse", right_hand_sides: int = 1,
                          accuracy: str = "tested", shape: Any = None, dtype: Any = None, policy: str = "", expected_calls: float = 100, context: Context | None = None) -> TriangularPlan:
    """Triangular solves, prepared for one triangle.

    Parameters
    ----------
    A, lower, unit_diagonal, transpose, other_side, accuracy, shape, context
        As for `solve_triangular`.
    right_hand_sides : int
        That come at once; any number can be solved for.
    dtype, policy, expected_calls
        As for `plan_spmm`.

    Returns
    -------
    TriangularPlan
    """
    return TriangularPlan(A, lower=lower, unit_diagonal=unit_diagonal, transpose=transpose, other_side=other_side, right_hand_sides=right_hand_sides,
                          accuracy=accuracy, shape=shape, dtype=dtype, policy=policy, expected_calls=expected_calls, context=context)


def plan_solve(A: Any, *, method: str = "", preconditioner: str = "", rtol: float | None = None, atol: float = 0.0, maxiter: int = 10_000, seconds: float = float("inf"), restart: int = 30,
               guess: bool = False, near_null_space: Any = None, unknowns_per_node: int = 1, graphs: bool = True, shape: Any = None, dtype: Any = None,
               context: Context | None = None) -> SolverPlan:
    """A solver of A x = b, prepared for one matrix.

    Parameters
    ----------
    A, shape, context
        As for `spmv`; square.
    method : str, optional
        "cg", "pipelined-cg", "minres", "bicgstab", "gmres", "fgmres", "chebyshev" or "refinement"; chosen from the symmetry and the diagonal of A if left out.
    preconditioner : str, optional
        "none", "jacobi", "block-jacobi:8", "chebyshev:3", "ilu0", "ic0", "iluk:1", "ilut", "fsai", "ssor" (by one thread of a CPU) or "amg"; chosen if left out.
        Behind a factorisation "+relax:PART" (part of the fill-in left out that goes to the diagonal; not ic0), "+match" (rows matched to columns) and an order of the unknowns: "+rcm", "+colour", "+nd" (METIS or SCOTCH) or "+auto" (priced). They nest:
        "amg+smoother[ic0]" smooths the levels of multigrid by IC(0), "solve[cg,amg,0.01,20]" is an inner solver, CG with multigrid to a relative residual of 0.01 in at most
        20 iterations; for "fgmres", which is then chosen.
    rtol, atol : float
        The norm of b - A x that is small enough: the larger of rtol times the norm of b, and atol. rtol is 1e-8 by default, 1e-5 for a matrix of float32.
    maxiter : int
        The most iterations.
    seconds : float
        The most seconds.
    restart : int
        gmres, fgmres: vectors kept before a restart.
    guess : bool
        `out` has a first guess when the plan is called.
    near_null_space : array_like, optional
        Vectors that A maps to almost zero, as columns, on the host; for "amg". Constants by default; for elasticity `rigid_body_modes`.
    unknowns_per_node : int
        Neighbouring rows that belong to one node, such as the displacements at a point; for "amg".
    graphs : bool
        On a GPU, blocks of iterations are replayed as CUDA graphs; the bits are the same.
    dtype : optional
        float64 or float32; that of A by default.

    Returns
    -------
    SolverPlan
        `plan(b)` gives x and a report; `plan.update_values(A.data)` takes new values.

    Examples
    --------
    >>> import numpy as np, tulle
    >>> plan = tulle.plan_solve(tulle.generate("stencil5:30"), preconditioner="amg")
    >>> x, report = plan(np.ones(900))
    >>> report.converged
    True
    """
    return SolverPlan(A, method=method, preconditioner=preconditioner, rtol=rtol, atol=atol, maxiter=maxiter, seconds=seconds, restart=restart, guess=guess,
                      near_null_space=near_null_space, unknowns_per_node=unknowns_per_node, graphs=graphs, shape=shape, dtype=dtype, context=context)


def rigid_body_modes(coordinates: Any) -> np.ndarray:
    """The near null space of elasticity: rigid displacements and rotations of points, for `plan_solve`.

    Parameters
    ----------
    coordinates : array_like
        A row for each point, two or three columns.

    Returns
    -------
    numpy.ndarray
        A row for each unknown, those of a point one after another; three columns in two dimensions, six in three.

    Examples
    --------
    >>> import numpy as np, tulle
    >>> A, points = tulle.generate("elasticity2d:20"), tulle.generate("coordinates:20,20").toarray()
    >>> x, report = tulle.solve(A, np.ones(800), preconditioner="amg", near_null_space=tulle.rigid_body_modes(points), unknowns_per_node=2)
    >>> report.converged
    True
    """
    at = real_array(coordinates, "coordinates")
    if at.ndim != 2 or at.shape[1] not in (2, 3):
        raise ShapeError(f"the coordinates have shape {at.shape}, but must have two or three columns")
    modes = np.empty((at.size, 3 if at.shape[1] == 2 else 6))
    _core.rigid_body_modes(at.reshape(-1), at.shape[1], modes.reshape(-1))
    return modes


def solve(A: Any, b: Any, out: Any = None, *, method: str = "", preconditioner: str = "", rtol: float | None = None, atol: float = 0.0, maxiter: int = 10_000,
          seconds: float = float("inf"), restart: int = 30, guess: bool = False, near_null_space: Any = None, unknowns_per_node: int = 1, graphs: bool = True, shape: Any = None,
          dtype: Any = None, context: Context | None = None) -> tuple[Any, SolveReport]:
    """A x = b, once, by a preconditioned Krylov method.

    Parameters
    ----------
    A, b, out
        As for `plan_solve` and its plan. A first guess, the x0 of SciPy's solvers, is in `out`, with guess=True.
    method, preconditioner, rtol, atol, maxiter, seconds, restart, guess, near_null_space, unknowns_per_node, graphs, shape, dtype, context
        As for `plan_solve`.

    Returns
    -------
    x : array of b's kind, or out
        As good as it got.
    report : SolveReport
        True where x is good enough; says why otherwise.

    Examples
    --------
    >>> import numpy as np, tulle
    >>> A = tulle.generate("stencil5:30")
    >>> x, report = tulle.solve(A, A @ np.ones(900))
    >>> bool(report), bool(np.allclose(x, 1))
    (True, True)
    """
    if dtype is None:
        a = sparse(A, shape)
        t = dtype_at(None, a, b) if a.framework is not None else common_dtype(a.dtype, dense(b, "b")[0].dtype)
        dtype = F64 if (a.dtype, t) == (F32, F64) else None       # wider right-hand sides are not rounded
    return SolverPlan(A, method=method, preconditioner=preconditioner, rtol=rtol, atol=atol, maxiter=maxiter, seconds=seconds, restart=restart, guess=guess,
                      near_null_space=near_null_space, unknowns_per_node=unknowns_per_node, graphs=graphs, shape=shape, dtype=dtype, context=context)(b, out)
