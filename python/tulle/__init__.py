# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""Sparse linear algebra: products, triangular solves and solvers for SciPy's matrices, sparse matrices of CuPy and torch on GPUs, and plain arrays.

>>> import numpy as np, tulle
>>> A = tulle.generate("stencil5:3")         # a scipy.sparse.csr_array; tulle.read("A.mtx") reads one
>>> tulle.spmv(A, np.ones(9))                # A @ x, once
array([2., 1., 2., 1., 0., 1., 2., 1., 2.])
>>> plan = tulle.plan_spmv(A)                # looks at A once
>>> y = plan(np.ones(9))                     # many times
>>> x, report = tulle.solve(A, np.ones(9))   # A x = b; report says how it went
>>> M = tulle.wrap(A)                        # a LinearOperator, for SciPy's solvers
>>> with tulle.scipy_backend():              # SciPy's own products, on tulle
...     y = A @ np.ones(9)
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._openmp import SpinBriefly

with SpinBriefly():  # loads the OpenMP runtime, which reads the environment once
    from . import _core
from ._context import Context
from ._cupy import cupy_backend
from ._errors import (DeviceError, Error, FallbackWarning, FileError, Forked, FormatError, InvalidValue, MissingFile, NotBuilt, OutOfMemory, PlanMismatch, ShapeError, UnsupportedType)
from ._frameworks import DeviceArray, to_device
from ._files import Report, build_info, doctor, generate, generators, info, read, report, spy, write
from ._operations import attention, plan_sddmm, plan_solve, plan_solve_triangular, plan_spgemm, plan_spmm, plan_spmv, rigid_body_modes, sddmm, solve, solve_triangular, spgemm, spmm, spmv
from ._plans import Plan, SddmmPlan, SolveReport, SolverPlan, SpgemmPlan, SpmmPlan, SpmvPlan, TriangularPlan
from ._scipy import scipy_backend

if TYPE_CHECKING:
    from ._operator import Operator

__version__: str = _core.version
__all__ = [
    "Context", "DeviceArray", "DeviceError", "Error", "FallbackWarning", "FileError", "Forked", "FormatError", "InvalidValue", "MissingFile", "NotBuilt", "OutOfMemory", "Plan", "PlanMismatch", "Report",
    "SddmmPlan", "ShapeError", "SolveReport", "SolverPlan", "SpgemmPlan", "SpmmPlan", "SpmvPlan", "TriangularPlan", "UnsupportedType", "attention", "build_info", "cupy_backend", "doctor", "generate", "generators", "info",
    "plan_sddmm", "plan_solve", "plan_solve_triangular", "plan_spgemm", "plan_spmm", "plan_spmv", "read", "report", "rigid_body_modes", "scipy_backend", "sddmm", "solve", "solve_triangular", "spgemm", "spmm", "spmv", "spy", "to_device", "wrap", "write",
]


def wrap(A: Any, *, shape: Any = None, dtype: Any = None, context: Context | None = None) -> Operator:
    """A matrix with its plans, as a LinearOperator of SciPy: matvec, rmatvec, matmat, `@`, `.T`.

    Parameters
    ----------
    A, shape, context
        As for `spmv`.
    dtype : optional
        Of vectors and sums; by default what NumPy makes of A's and the vector's types.

    Returns
    -------
    Operator
        Plans are made when they are first needed and kept.

    Examples
    --------
    >>> import numpy as np, tulle
    >>> M = tulle.wrap(tulle.generate("stencil5:3"))
    >>> M.T @ np.ones(9)
    array([2., 1., 2., 1., 0., 1., 2., 1., 2.])
    """
    from ._operator import Operator

    return Operator(A, shape=shape, dtype=dtype, context=context)
