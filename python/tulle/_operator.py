# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""`wrap`: a matrix with its plans, as a LinearOperator of SciPy. Imported when it is first used, as SciPy takes long to import."""
from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

from ._arrays import F32, F64, on_host, sparse
from ._context import Context
from ._errors import ShapeError
from ._picture import as_html, picture_of
from ._plans import SpmmPlan, SpmvPlan, plan_dtype


class Operator(LinearOperator):
    """A sparse matrix whose plans are made when they are first needed; made by `wrap`."""

    __array_priority__ = 1000.0          # SciPy's matrices and NumPy's arrays leave products with it to it

    def __init__(self, A: Any, *, shape: Any = None, dtype: Any = None, context: Context | None = None, transposed: bool = False, shared: tuple[dict, list] | None = None) -> None:
        a = on_host(sparse(A, shape))
        self._tulle_matrix = A if shape is None else a.scipy()
        self._context, self._transposed = context, transposed
        self._plans, self._values = shared or ({}, [])          # plans, and what update_values() gave; shared with the transposed operator
        super().__init__(plan_dtype(a.data.dtype, dtype, (F32, F64), "SpMV"), a.shape[::-1] if transposed else a.shape)

    def plan_spmv(self, transpose: bool = False) -> SpmvPlan:
        """The plan behind products with vectors."""
        return self._plan("spmv", transpose, lambda turned: SpmvPlan(self._tulle_matrix, transpose=turned, dtype=self.dtype, context=self._context))

    def plan_spmm(self, transpose: bool = False, n: int = 32) -> SpmmPlan:
        """The plan behind products with dense matrices."""
        return self._plan("spmm", transpose, lambda turned: SpmmPlan(self._tulle_matrix, n, transpose=turned, dtype=self.dtype, context=self._context))

    def _plan(self, name: str, transpose: bool, make: Any) -> Any:
        key = name, transpose != self._transposed
        plan = self._plans.get(key)
        if plan is None:
            plan = make(key[1])
            if self._values:
                plan.update_values(*self._values)
            self._plans[key] = plan
        return plan

    def update_values(self, data: Any) -> None:
        """New numbers for the same pattern, in all plans there are and those to come."""
        for plan in self._plans.values():
            plan.update_values(data)
        self._values[:] = [data]

    def _product(self, transpose: bool, x: Any) -> np.ndarray:
        x = np.asarray(x)
        if x.dtype.kind == "c":
            return self._product(transpose, x.real.copy()) + 1j * self._product(transpose, x.imag.copy())
        x = x.astype(self.dtype, copy=False)
        return self.plan_spmv(transpose)(x) if x.ndim == 1 else self.plan_spmm(transpose, x.shape[1])(x)

    def _matvec(self, x: Any) -> np.ndarray:
        return self._product(False, np.ravel(x))

    def _rmatvec(self, x: Any) -> np.ndarray:
        return self._product(True, np.ravel(x))

    def _matmat(self, X: Any) -> np.ndarray:
        return self._product(False, X)

    def _rmatmat(self, X: Any) -> np.ndarray:
        return self._product(True, X)

    def _turned(self) -> "Operator":
        return Operator(self._tulle_matrix, dtype=self.dtype, context=self._context, transposed=not self._transposed, shared=(self._plans, self._values))

    _transpose = _adjoint = _turned

    def __matmul__(self, x: Any) -> Any:
        if type(x) is np.ndarray and x.dtype == self.dtype and x.ndim == 1:
            if x.size != self.shape[1]:
                raise ShapeError(f"x has {x.size} entries, but the operator has {self.shape[1]} columns")
            return self.plan_spmv()(x)
        return super().__matmul__(x)

    def describe(self) -> str:
        """What the plans made so far have chosen."""
        return "\n\n".join(plan.describe() for plan in self._plans.values()) or "no plan has been made yet"

    def __reduce__(self):
        return _restore, (self._tulle_matrix, self.dtype, self._context, self._transposed, self._values)

    def _repr_html_(self) -> str:
        rows = {"shape": f"{self.shape[0]} × {self.shape[1]}", "dtype": self.dtype.name}
        rows |= {f"{name}{' transposed' if turned else ''}": plan.policy for (name, turned), plan in self._plans.items()}
        return as_html("tulle operator", rows, picture_of(self._tulle_matrix))


def _restore(A: Any, dtype: Any, context: Any, transposed: bool, values: list) -> Operator:
    return Operator(A, dtype=dtype, context=context, transposed=transposed, shared=({}, values))
