# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""What SciPy computes, because tulle has no such numbers: integers, complex and extended ones. Arguments are checked as they are for other numbers."""
from __future__ import annotations

from typing import Any

import numpy as np

from . import _core
from ._arrays import Sparse, common_dtype, dtype_of, errors_of_scipy, give_back, without_padding
from ._errors import InvalidValue, ShapeError, UnsupportedType
from ._frameworks import F32, NAMES, name_of
from ._plans import Result, check_other_side, op_shape, operand


def once_dtype(wanted: Any, *given: np.dtype) -> np.dtype:
    """What is computed in: the type asked for, or what NumPy makes of those given."""
    if wanted is None:
        return common_dtype(*given)
    t = dtype_of(wanted)
    for g in given:
        if not (g in NAMES and t in NAMES or np.can_cast(g, t, "same_kind")):
            raise UnsupportedType(f"{name_of(g)} is given, but {name_of(t)} is to be computed, which has no place for it", "leave dtype= out")
    return t


def with_scipy(a: Sparse, transpose: bool, t: np.dtype) -> Any:
    """A as SciPy's, in the type that is computed in; looked through first."""
    s = a.looked_through().scipy().astype(t, copy=False)
    return s.T if transpose else s


def times(alpha: float, y: Any) -> Any:
    """alpha y; zeros for alpha = 0, whatever y holds, as in the BLAS."""
    y = alpha * y
    if alpha == 0:
        y[...] = 0
    return y


def delivered(y: np.ndarray, out: Any, beta: float, as_torch: bool) -> Any:
    """y + beta out, in out where there is one."""
    if out is None and beta == 0:
        return give_back(y, as_torch)
    result = Result(out, y.shape, y.dtype if beta == 0 else np.result_type(y.dtype, beta), beta, (), as_torch)
    result.array[...] = y if beta == 0 else y + beta * result.array
    return result.give()


def scipy_product(a: Sparse, transpose: bool, x: np.ndarray, out: Any, alpha: float, beta: float, t: np.dtype, as_torch: bool) -> Any:
    name, cols = "x" if x.ndim == 1 else "B", op_shape(a.shape, transpose)[1]
    from_x, _ = operand(x, t, (1, 2), name)
    if x.shape[0] != cols:
        raise ShapeError(f"{name} has {x.shape[0]} {'entries' if x.ndim == 1 else 'rows'}, but the matrix has {cols} columns")
    with errors_of_scipy():
        y = with_scipy(a, transpose, t) @ from_x
    return delivered(y if alpha == 1 else times(alpha, y), out, beta, as_torch)


def ones_at(a: Sparse) -> Sparse:
    """The positions of a matrix for the library, which does not have its numbers."""
    return Sparse(a.by_column, a.shape, a.indptr, a.indices, np.ones(np.size(a.data), F32), a.back, a.source).in_library_form(F32)


def places(c: Any, indptr: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """The positions of C's format in their order, each as one number."""
    width = c.shape[0 if c.format == "csc" else 1]
    return np.repeat(np.arange(indptr.size - 1), np.diff(indptr)) * width + indices


def scipy_spgemm(a: Sparse, b: Sparse, transpose_a: bool, transpose_b: bool, t: np.dtype, place: _core.Context) -> Any:
    """SciPy's product, with an entry wherever a product falls, as in the library's, which finds the positions: SciPy leaves out what cancels."""
    first, second = (ones_at(m).compressed(place) for m in (a, b))
    indptr, indices, _, _ = _core.spgemm_f32(place, first, transpose_a, second, transpose_b, a.by_column, True)
    with errors_of_scipy():
        c = (with_scipy(a, transpose_a, t) @ with_scipy(b, transpose_b, t)).asformat("csc" if a.by_column else "csr")
        c.sum_duplicates()
    values = c.data
    if c.nnz < indices.size:
        values = np.zeros(indices.size, c.dtype)
        values[np.searchsorted(places(c, indptr, indices), places(c, c.indptr, c.indices))] = c.data
    return a.back(a.by_column, c.shape, indptr, indices, values)


def one_triangle(s: Any, lower: bool, other_side: str) -> Any:
    from scipy.sparse import tril, triu

    check_other_side(other_side)
    s = s.tocoo()
    beyond = np.flatnonzero(s.row < s.col if lower else s.row > s.col)
    if beyond.size and other_side == "refuse":
        side = "above the diagonal of a lower" if lower else "below the diagonal of an upper"
        raise InvalidValue(f"row {s.row[beyond[0]]}, column {s.col[beyond[0]]} (counted from 0): an entry {side} triangle", "other_side='ignore' solves with one triangle of a general matrix")
    return (tril(s) if lower else triu(s)).tocsr()


def scipy_solve(a: Sparse, b: np.ndarray, out: Any, lower: bool, unit_diagonal: bool, transpose: bool, other_side: str, alpha: float, t: np.dtype, as_torch: bool) -> Any:
    from scipy.sparse.linalg import spsolve_triangular

    from_b, _ = operand(b, t, (1, 2), "b")
    if a.shape[0] != a.shape[1]:
        raise ShapeError(f"a triangle is square, not {a.shape[0]} x {a.shape[1]}")
    if b.shape[0] != a.shape[0]:
        raise ShapeError(f"b has {b.shape[0]} rows, but the triangle has {a.shape[0]}")
    triangle = one_triangle(with_scipy(without_padding(a), False, t), lower, other_side)      # SuperLU ends the process over entries on the other side
    with errors_of_scipy():
        x = spsolve_triangular((triangle.T if transpose else triangle).tocsr(), from_b, lower=lower != transpose, unit_diagonal=unit_diagonal)
    return delivered(times(alpha, x), out, 0.0, as_torch)
