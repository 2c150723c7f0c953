# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""`wrap`: a matrix with its plans, as a LinearOperator of SciPy. Imported when it is first used, as SciPy takes long to import."""
from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from scipy.sparse.linalg import LinearOperator

from ._arrays import F32, F64, Sparse, common_dtype, on_host, sparse
from ._context import Context
from ._errors import ShapeError
from ._operations import spgemm, spmm, spmv
from ._picture import as_html, picture_of
from ._plans import SpmmPlan, SpmvPlan, operand, plan_dtype, require_order


class Operator(LinearOperator):
    """A sparse matrix whose plans are made when they are first needed; made by `wrap`."""

    __array_priority__ = 1000.0          # SciPy's matrices and NumPy's arrays leave products with it to it

    def __init__(self, A: Any, *, shape: Any = None, dtype: Any = None, context: Context | None = None, transposed: bool = False, shared: tuple[dict, list] | None = None) -> None:
        if isinstance(A, Operator):
            A, transposed, shared = A._tulle_matrix, transposed != A._transposed, ({}, list(A._values))
        a = on_host(sparse(A, shape))
        a.cut()
        self._tulle_matrix = A if shape is None else a.scipy()
        self._context, self._transposed, self._asked = context, transposed, dtype
        self._plans, self._values = shared or ({}, [])          # plans, and what update_values() gave; shared with the transposed operator
        self._converted, self._nonzeros = a.converted, a.data.size
        super().__init__(plan_dtype(a.dtype, dtype, (F32, F64), "SpMV"), a.shape[::-1] if transposed else a.shape)
        self._values_dtype = F32 if a.dtype == F32 else self.dtype

    def _tulle_sparse(self) -> Sparse:
        """The matrix as it is now, for all that takes one."""
        a = sparse(self._tulle_matrix)
        if self._values:
            a.data, = self._values
        return a.transposed() if self._transposed else a

    def plan_spmv(self, transpose: bool = False, dtype: np.dtype | None = None) -> SpmvPlan:
        """The plan behind products with vectors."""
        return self._plan("spmv", transpose, dtype, lambda turned, t: SpmvPlan(self._tulle_matrix, transpose=turned, dtype=t, context=self._context))

    def plan_spmm(self, transpose: bool = False, n: int = 32, dtype: np.dtype | None = None) -> SpmmPlan:
        """The plan behind products with dense matrices."""
        return self._plan("spmm", transpose, dtype, lambda turned, t: SpmmPlan(self._tulle_matrix, n, transpose=turned, dtype=t, context=self._context))

    def _plan(self, name: str, transpose: bool, dtype: np.dtype | None, make: Any) -> Any:
        dtype = self.dtype if dtype is None else dtype
        key = name, transpose != self._transposed, dtype != self.dtype
        plan = self._plans.get(key)
        if plan is None:
            plan = make(key[1], dtype)
            if self._values:
                plan.update_values(*self._values)
            self._plans[key] = plan
        return plan

    def update_values(self, data: Any) -> None:
        """New numbers for the same pattern, in all plans there are and those to come."""
        require_order(self._converted)
        data, _ = operand(data, self._values_dtype, (1,), "data")
        if data.size != self._nonzeros:
            raise ShapeError(f"the operator's matrix has {self._nonzeros} values, not {data.size}")
        for plan in self._plans.values():
            plan.update_values(data)
        self._values[:] = [data]

    def _product(self, transpose: bool, x: Any) -> Any:
        if issparse(x):
            return spgemm(self, x, transpose_a=transpose, dtype=self._asked, context=self._context)
        x = np.asarray(x)
        if x.dtype.kind == "c":
            return self._product(transpose, x.real.copy()) + 1j * self._product(transpose, x.imag.copy())
        t = self.dtype if self._asked is not None else common_dtype(self.dtype, x.dtype)
        if t not in (F32, F64):
            return (spmv if x.ndim == 1 else spmm)(self, x, transpose=transpose, context=self._context)
        x = x.astype(t, copy=False)
        return self.plan_spmv(transpose, t)(x) if x.ndim == 1 else self.plan_spmm(transpose, x.shape[1], t)(x)

    def _matvec(self, x: Any) -> np.ndarray:
        return self._product(False, np.ravel(x))

    def _rmatvec(self, x: Any) -> np.ndarray:
        return self._product(True, np.ravel(x))

    def _matmat(self, X: Any) -> np.ndarray:
        return self._product(False, X)

    def _rmatmat(self, X: Any) -> np.ndarray:
        return self._product(True, X)

    def dot(self, x: Any) -> Any:
        return self._product(False, x) if issparse(x) else super().dot(x)

    def _rdot(self, x: Any) -> Any:
        return spgemm(x, self, dtype=self._asked, context=self._context) if issparse(x) else super()._rdot(x)

    def _turned(self) -> "Operator":
        return Operator(self._tulle_matrix, dtype=self._asked, context=self._context, transposed=not self._transposed, shared=(self._plans, self._values))

    _transpose = _adjoint = _turned

    def __matmul__(self, x: Any) -> Any:
        if type(x) is np.ndarray and x.dtype == self.dtype and x.ndim == 1:
            if x.size != self.shape[1]:
                raise ShapeError(f"x has {x.size} entries, but the operator has {self.shape[1]} columns")
            plan = self._plans.get(("spmv", self._transposed, False))
            return (self.plan_spmv() if plan is None else plan)(x)
        return super().__matmul__(x)

    def describe(self) -> str:
        """What the plans made so far have chosen."""
        return "\n\n".join(plan.describe() for plan in self._plans.values()) or "no plan has been made yet"

    def __reduce__(self):
        return _restore, (self._tulle_matrix, self._asked, self._context, self._transposed, self._values)

    def _repr_html_(self) -> str:
        rows = {"shape": f"{self.shape[0]} × {self.shape[1]}", "dtype": self.dtype.name}
        rows |= {f"{name}{' transposed' if turned else ''}{' in float64' if wide else ''}": plan.policy for (name, turned, wide), plan in self._plans.items()}
        return as_html("tulle operator", rows, picture_of(self))


def _restore(A: Any, dtype: Any, context: Any, transposed: bool, values: list) -> Operator:
    return Operator(A, dtype=dtype, context=context, transposed=transposed, shared=({}, values))
