# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""`cupy_backend`: while it is entered, CuPy's own sparse products and triangular solves run on tulle.

Replaced are the method of CuPy's CSR and CSC classes behind `A @ x`, `A @ B`, `A @ A` and `A.dot` (`_matmul_dispatch`; `__mul__` before CuPy 14), and
`cupyx.scipy.sparse.linalg.spsolve_triangular`. What tulle does not have (integers, complex numbers, scalars, one-dimensional sparse arrays) goes to CuPy's own.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from ._arrays import F32, F64
from ._errors import InvalidValue
from ._operations import solve_triangular, spgemm, spmm, spmv
from ._scipy import Backend

_FLOATS = (F32, F64)


class cupy_backend(Backend):
    """Makes CuPy's own sparse products and triangular solves run on tulle, in the whole process, as long as it is entered.

    Parameters
    ----------
    check : bool or "always"
        As for `spmv`: by default offsets and indices are looked through once, as long as the arrays live.
    context : Context, optional
        How, and with how much memory.

    Attributes
    ----------
    calls : int
        Of the class: calls that really ran on tulle.
    passed_on : int
        Of the class: calls that went to CuPy's own functions.

    Notes
    -----
    Dense results have contiguous rows, where CuPy's have contiguous columns. Products of sparse matrices are sorted CSR, as CuPy's. A matrix keeps repeated entries, which CuPy adds up in place.
    A name imported before, as in ``from cupyx.scipy.sparse.linalg import spsolve_triangular``, stays CuPy's.

    Examples
    --------
    With CuPy: ``with tulle.cupy_backend(): y = A @ x``
    """

    def _places(self) -> list[tuple[Any, str, Any]]:
        from cupyx.scipy import sparse
        from cupyx.scipy.sparse import linalg
        from cupyx.scipy.sparse.linalg import _solve

        name = "_matmul_dispatch" if hasattr(sparse.csr_matrix, "_matmul_dispatch") else "__mul__"
        products = [(next(c for c in cls.__mro__ if name in vars(c)), name, _product) for cls in (sparse.csr_matrix, sparse.csc_matrix)]
        return products + [(module, "spsolve_triangular", _solve_triangular) for module in (linalg, _solve)]


def _product(original: Any) -> Any:
    import cupy
    from cupyx.scipy import sparse

    def multiply(self: Any, other: Any) -> Any:
        dense = isinstance(other, cupy.ndarray) and other.ndim in (1, 2)
        if not dense and not (sparse.issparse(other) and other.ndim == 2) or self.ndim != 2 or self.dtype not in _FLOATS or other.dtype not in _FLOATS:
            return cupy_backend._pass_on(original, self, other)
        return cupy_backend._attempt(original, (self, other), lambda s: _multiply(self, other, dense, s))

    return multiply


def _multiply(A: Any, B: Any, dense: bool, settings: cupy_backend) -> Any:
    if dense:
        return (spmv if B.ndim == 1 else spmm)(A, B, check=settings.check, context=settings.context)
    by_column = A.format == "csc"                # CuPy's products are CSR, so that one stored by columns is multiplied as a transposed one by rows
    C = spgemm(A.T if by_column else A, B, transpose_a=by_column, check=settings.check, context=settings.context)
    if any(getattr(part, "indices", A.indices).dtype == np.int64 for part in (A, B)):      # CuPy's have 64 bits if a factor's have (CuPy 14)
        C.indices, C.indptr = C.indices.astype(np.int64), C.indptr.astype(np.int64)
    return A._as_csr_type(C) if hasattr(A, "_as_csr_type") else C      # a sparse array for sparse arrays


def _solve_triangular(original: Any) -> Any:
    import cupy

    def spsolve_triangular(A: Any, b: Any, lower: bool = True, overwrite_A: bool = False, overwrite_b: bool = False, unit_diagonal: bool = False) -> Any:
        arguments = (A, b, lower, overwrite_A, overwrite_b, unit_diagonal)
        if getattr(A, "format", "") not in ("csr", "csc") or not isinstance(b, cupy.ndarray) or A.dtype not in _FLOATS or b.dtype != A.dtype or b.ndim not in (1, 2):
            return cupy_backend._pass_on(original, *arguments)
        solve = lambda s: solve_triangular(A, b, lower=lower, unit_diagonal=unit_diagonal, other_side="ignore", context=s.context)
        try:
            return cupy_backend._attempt(original, arguments, solve)
        except InvalidValue:                     # a zero on the diagonal: CuPy gives infinities
            return cupy_backend._pass_on(original, *arguments)

    spsolve_triangular.__doc__ = original.__doc__
    return spsolve_triangular
