# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""`scipy_backend`: while it is entered, SciPy's own products and triangular solves run on tulle.

Replaced are the methods of SciPy's CSR and CSC classes behind `A @ x`, `A @ B` and `A @ A` (also inside PyAMG, scikit-learn, scipy.sparse.linalg), and
`scipy.sparse.linalg.spsolve_triangular`. What tulle does not have (integers, complex numbers, float128, one-dimensional sparse arrays) goes to SciPy's own.
"""
from __future__ import annotations

import contextlib
import threading
from typing import Any

import numpy as np

from . import _core
from ._arrays import F32, F64, NAMES, MAX_INDEX, common_dtype, sparse
from ._context import Context, context_of
from ._errors import Error, InvalidValue
from ._operations import solve_triangular, spmm, spmv

_FLOATS = (F32, F64)


class Backend(contextlib.ContextDecorator):
    """What makes another package's products run on tulle, in the whole process, as long as it is entered."""

    calls: int = 0
    passed_on: int = 0
    _entered: list[Any]
    _originals: dict[tuple[Any, str], Any]
    _lock = threading.RLock()

    def __init_subclass__(cls) -> None:
        cls._entered, cls._originals = [], {}

    def __init__(self, check: bool | str = True, context: Context | None = None) -> None:
        self.check, self.context = check, context

    def __enter__(self) -> Any:
        with self._lock:
            if not self._entered:
                for owner, name, make in self._places():
                    original = getattr(owner, name)
                    self._originals[owner, name] = original
                    setattr(owner, name, make(original))
            self._entered.append(self)
        return self

    def __exit__(self, *_: Any) -> None:
        with self._lock:
            self._entered.remove(self)
            if not self._entered:
                for (owner, name), original in self._originals.items():
                    setattr(owner, name, original)
                self._originals.clear()

    def _places(self) -> list[tuple[Any, str, Any]]:
        """What is replaced: owner, name, and what makes the new function from the original one."""
        raise NotImplementedError

    @classmethod
    def _attempt(cls, original: Any, arguments: tuple, compute: Any) -> Any:
        """tulle's result; the package's own where tulle does not have it. Malformed matrices are told, not handed on."""
        try:
            result = compute(cls._entered[-1] if cls._entered else cls())
        except InvalidValue:
            raise
        except Error:
            return cls._pass_on(original, *arguments)
        cls.calls += 1
        return result

    @classmethod
    def _pass_on(cls, original: Any, *arguments: Any) -> Any:
        cls.passed_on += 1
        return original(*arguments)


class scipy_backend(Backend):
    """Makes SciPy's own products and triangular solves run on tulle, in the whole process, as long as it is entered.

    Parameters
    ----------
    check : bool
        Look through offsets and indices before every product (while it is computed, for CSR with vectors), as tulle always does. SciPy never does: False makes products faster and as
        trusting as SciPy's.
    context : Context, optional
        Where and how.

    Attributes
    ----------
    calls : int
        Of the class: calls that really ran on tulle.
    passed_on : int
        Of the class: calls that went to SciPy's own functions.

    Notes
    -----
    A name imported before, as in ``from scipy.sparse.linalg import spsolve_triangular``, stays SciPy's.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp, tulle
    >>> A = sp.csr_array([[4.0, -1.0], [-1.0, 4.0]])
    >>> before = tulle.scipy_backend.calls
    >>> with tulle.scipy_backend():
    ...     y = A @ np.ones(2)
    >>> y, tulle.scipy_backend.calls - before
    (array([3., 3.]), 1)
    """

    def _places(self) -> list[tuple[Any, str, Any]]:
        import scipy.sparse.linalg._dsolve.linsolve as linsolve
        from scipy.sparse import _compressed, linalg
        from scipy.sparse.linalg import _dsolve

        cls = _compressed._cs_matrix
        places = [(cls, "_matmul_vector", _matmul_vector), (cls, "_matmul_multivector", _matmul_multivector), (cls, "_matmul_sparse", _matmul_sparse)]
        return places + [(module, "spsolve_triangular", _spsolve_triangular) for module in (linalg, _dsolve, linsolve)]


def _ours(A: Any, other_dtype: np.dtype) -> bool:
    """Whether tulle has the product of this matrix with such numbers, with a result of the type SciPy would give."""
    if A.format not in ("csr", "csc") or A.ndim != 2 or max(A.shape) > MAX_INDEX:
        return False
    if A.dtype.kind not in "fiub" or other_dtype.kind not in "fiub" or A.dtype.itemsize > 8 or other_dtype.itemsize > 8:
        return False
    return common_dtype(A.dtype, other_dtype) in _FLOATS


def _matmul_vector(original: Any) -> Any:
    def matmul_vector(self: Any, other: Any) -> Any:
        if not _ours(self, other.dtype):
            return scipy_backend._pass_on(original, self, other)
        return scipy_backend._attempt(original, (self, other), lambda s: spmv(self, np.asarray(other), check=s.check, context=s.context))

    return matmul_vector


def _matmul_multivector(original: Any) -> Any:
    def matmul_multivector(self: Any, other: Any) -> Any:
        if not _ours(self, other.dtype):
            return scipy_backend._pass_on(original, self, other)
        return scipy_backend._attempt(original, (self, other), lambda s: spmm(self, np.asarray(other), check=s.check, context=s.context))

    return matmul_multivector


def _matmul_sparse(original: Any) -> Any:
    def matmul_sparse(self: Any, other: Any) -> Any:
        if other.ndim != 2 or not _ours(self, other.dtype) or max(other.shape) > MAX_INDEX:
            return scipy_backend._pass_on(original, self, other)
        return scipy_backend._attempt(original, (self, other), lambda s: _product(self, other, s))

    return matmul_sparse


def _product(A: Any, B: Any, settings: scipy_backend) -> Any:
    """A @ B in A's format and class, with indices of the type SciPy would choose."""
    B = B if B.format in ("csr", "csc") else B.asformat(A.format)
    t = common_dtype(A.dtype, B.dtype)
    ctx = context_of(settings.context)
    a, b = (sparse(M).in_library_form(t).compressed(ctx._place(-1, 0), settings.check) for M in (A, B))
    indptr, indices, data, _ = getattr(_core, f"spgemm_{NAMES[t]}")(ctx._place(-1, 0), a, False, b, False, A.format == "csc", True)
    index = A._get_index_dtype((A.indptr, A.indices, B.indptr, B.indices), maxval=data.size)
    C = A.__class__((data, indices.astype(index, copy=False), indptr.astype(index, copy=False)), shape=(A.shape[0], B.shape[1]))
    if np.count_nonzero(data) < data.size:
        C.eliminate_zeros()                     # sums that cancel: SciPy leaves them out
    return C


def _spsolve_triangular(original: Any) -> Any:
    def spsolve_triangular(A: Any, b: Any, lower: bool = True, overwrite_A: bool = False, overwrite_b: bool = False, unit_diagonal: bool = False) -> Any:
        arguments = (A, b, lower, overwrite_A, overwrite_b, unit_diagonal)
        if getattr(A, "format", "") not in ("csr", "csc") or type(b) is not np.ndarray or not _ours(A, np.promote_types(b.dtype, np.float32)):
            return scipy_backend._pass_on(original, *arguments)
        t = np.promote_types(np.promote_types(A.dtype, np.float32), b.dtype)
        x = np.empty(b.shape, t, order="F")     # as SciPy's
        solve = lambda s: solve_triangular(A, b, x, lower=lower, unit_diagonal=unit_diagonal, dtype=t, context=s.context)
        try:
            return scipy_backend._attempt(original, arguments, solve)
        except InvalidValue:                    # singular, or not a triangle: SciPy has its own errors
            return scipy_backend._pass_on(original, *arguments)

    spsolve_triangular.__doc__ = original.__doc__
    return spsolve_triangular
