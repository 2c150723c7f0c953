# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""Plans: an operation prepared for one matrix, done many times.

A plan keeps the caller's arrays alive and reads them where they are: do not change indices while it lives, and call `update_values` after values have
changed. A plan may be used by several threads: it has a lock, and Python's lock is free while it works. Plans can be pickled: what is stored is the matrix
and how the plan was made, and it is made again where it arrives. After a fork a plan makes itself again with one thread.
"""
from __future__ import annotations

import sys
from typing import Any

import numpy as np

from . import _core
from ._arguments import checked, number
from ._arrays import common_dtype, dense, dtype_of, give_back, needs_order, ready, real_array, sparse, with_order, without_padding
from ._context import Context, context_of
from ._errors import Forked, InvalidValue, PlanMismatch, ShapeError, UnsupportedType
from ._frameworks import BF16, F16, F32, F64, NAMES, ResultAt, dense_at, name_of, operand_at, refuse_capture, require_out

_empty = np.empty
_ndarray = np.ndarray


def plan_dtype(given: np.dtype, wanted: Any, allowed: tuple[np.dtype, ...], operation: str) -> np.dtype:
    """The type a plan computes in: the one asked for, or that of the matrix."""
    dtype = dtype_of(wanted) if wanted is not None else given.newbyteorder("=")
    if dtype.kind in "iub" and wanted is None:
        dtype = F64
    if dtype not in allowed or given.kind == "c":
        known = ", ".join(name_of(t) for t in allowed)
        raise UnsupportedType(f"tulle has no {operation} for {name_of(given if given.kind == 'c' else dtype)}", f"it has {known}: dtype= converts")
    return dtype


def refuse_bfloat16(a: Any, dtype: np.dtype) -> None:
    """NumPy has no such operands."""
    if dtype == BF16 and a.framework is None:
        raise UnsupportedType("the matrix is in arrays of NumPy, which has no bfloat16 to multiply it with", "give dtype='f16', or a sparse tensor of torch")


def stored_dtype(given: np.dtype, dtype: np.dtype, scale: str) -> np.dtype:
    """The type in which the library gets the values of a matrix: rows of wider numbers are scaled where they are rounded to 16 bits."""
    if scale not in ("auto", "off", "rows"):
        raise InvalidValue(f"scale is 'auto', 'rows' or 'off', not {scale!r}")
    if dtype not in (F16, BF16) or given in (F16, BF16):
        return dtype
    return F32 if given.newbyteorder("=") == F32 else F64


def operand(x: Any, dtype: np.dtype, ndim: tuple[int, ...], name: str) -> tuple[np.ndarray, bool]:
    """An array of the right type; ValueError and TypeError say what does not fit."""
    a, as_torch = dense(x, name)
    if a.ndim not in ndim:
        raise ShapeError(f"{name} has {a.ndim} dimensions, not {' or '.join(map(str, ndim))}")
    if a.dtype.kind not in "fiubc" or not (np.can_cast(a.dtype, dtype, "safe") or a.dtype.kind in "iub" and dtype.kind in "fc"):
        raise UnsupportedType(f"{name} is {name_of(a.dtype)}, but {name_of(dtype)} is computed", f"{name}.astype({name_of(dtype)!r}), or another dtype= for the plan")
    return a if a.dtype == dtype else a.astype(dtype), as_torch


def contiguous(a: np.ndarray) -> np.ndarray:
    return a if ready(a) else np.array(a, dtype=a.dtype.newbyteorder("="), order="C", copy=True)


def with_lines(a: np.ndarray) -> np.ndarray:
    """Rows or columns contiguous, as the library's dense matrices are."""
    lines = [(a.strides[1], a.strides[0], a.shape[1], a.shape[0]), (a.strides[0], a.strides[1], a.shape[0], a.shape[1])]
    fits = any((step == a.itemsize or length <= 1) and (leap >= length * a.itemsize or many <= 1) and leap % a.itemsize == 0 for step, leap, length, many in lines)
    return a if fits and a.flags.aligned and a.dtype.isnative else np.array(a, dtype=a.dtype.newbyteorder("="), order="C", copy=True)


class Result:
    """Where a result goes: a new array, the caller's, or an array beside the caller's that cannot be written directly."""

    __slots__ = ("array", "out", "target", "as_torch")

    def __init__(self, out: Any, shape: tuple[int, ...], dtype: np.dtype, beta: float, inputs: tuple[np.ndarray, ...], as_torch: bool, used_again: Recycled | None = None) -> None:
        self.out, self.target, self.as_torch = out, None, as_torch
        require_out(out, beta)
        if out is None:
            self.array = _empty(shape, dtype) if used_again is None else used_again.empty(shape, dtype)
            return
        target, _ = dense(out, "out")
        if not isinstance(out, _ndarray) and not as_torch and not np.may_share_memory(target, np.asarray(out)):
            raise UnsupportedType(f"out cannot be written: {type(out).__name__}")
        if target.shape != shape:
            raise ShapeError(f"out has the shape {target.shape}, but the result has {shape}")
        if target.dtype != dtype:
            raise UnsupportedType(f"out is {name_of(target.dtype)}, but the result is {name_of(dtype)}")
        if not target.flags.writeable:
            raise InvalidValue("out is read-only")
        self.target = target
        direct = with_lines(target) is target if target.ndim == 2 else ready(target)
        if direct and not any(np.may_share_memory(target, a) for a in inputs):
            self.array = target
        else:
            self.array = np.array(target, dtype=dtype, order="C", copy=True)

    def give(self) -> Any:
        if self.target is None:
            return give_back(self.array, self.as_torch)
        if self.array is not self.target:
            self.target[...] = self.array
        return self.out


def _count_unshared() -> int:
    block = _empty(0)
    return sys.getrefcount(block)


_UNSHARED = _count_unshared()                    # references to what one variable knows; they are counted differently by versions of Python


class Recycled:
    """Memory of large results, used again when the caller has dropped them: to get fresh pages takes up to half as long as the product. Two blocks at most, so
    that ``C = plan(B)`` in a loop, where the last result lives until the next one is there, takes them in turn."""

    __slots__ = ("_blocks", "_most")
    LEAST = 4 << 20
    LINE = 64                                    # results begin with a line of the cache: the library may write them past the caches then

    def __init__(self, most: int = sys.maxsize) -> None:
        self._blocks: list[np.ndarray] = []      # changed by single calls of methods: threads do not get in each other's way
        self._most = most                        # bytes of a block

    def empty(self, shape: tuple[int, int], dtype: np.dtype) -> np.ndarray:
        """An array whose numbers are to be written."""
        size = shape[0] * shape[1] * dtype.itemsize
        if not self.LEAST <= size <= self._most:
            return _empty(shape, dtype)
        block = self._take(size + self.LINE)
        begin = -block.ctypes.data % self.LINE
        c = block[begin : begin + size].view(dtype).reshape(shape)
        self._blocks.append(block)
        return c

    def _take(self, size: int) -> np.ndarray:
        """A block that no result uses, or a new one; one other is kept."""
        for _ in range(2):
            try:
                block = self._blocks.pop(0)      # no other thread finds it now
            except IndexError:
                break
            if block.size == size and sys.getrefcount(block) == _UNSHARED:
                return block
            if block.size == size and len(self._blocks) == 0:
                self._blocks.append(block)
                break
        return _empty(size, np.uint8)

    @property
    def nbytes(self) -> int:
        return sum(b.size for b in list(self._blocks))


def require_order(converted: str) -> None:
    if converted:
        raise PlanMismatch(f"the values of the plan's matrix are in another order than the caller's: {converted}", "make the plan of a CSR matrix with sorted rows and no repeats")


class Plan:
    """What all plans have in common."""

    __slots__ = ("_plan", "_settings", "_values", "_notes", "_converted", "_dtype", "_matrix_dtype", "_rows", "_cols", "_run", "_framework", "_device", "_stream", "_told", "_kept", "_native", "__weakref__")
    _matrices, _updated = 1, "one array, the values of the matrix"
    _plan: Any                                   # the library's
    _run: Any                                    # its method
    _settings: dict[str, Any]                    # what it was made with
    _values: tuple[np.ndarray, ...] | None       # what update_values() gave last
    _notes: list[str]
    _converted: str
    _dtype: np.dtype
    _matrix_dtype: np.dtype
    _rows: int
    _cols: int
    _framework: Any                              # of a matrix that goes by addresses, else None
    _device: int                                 # -1: the host
    _stream: int                                 # on a GPU: where the plan works, 0 or a stream of its own
    _told: set[int]                              # streams of callers that the framework knows to use the arrays
    _native: Any                                 # the type of operands, as the framework calls it
    _kept: tuple[Any, ...]                       # arrays of the matrix as the library reads them

    def _settle(self, a: Any, place: Any, run: Any) -> None:
        """Keeps what is known of the matrix."""
        self._notes, self._converted, self._values = a.notes, a.converted, None
        self._framework, self._device = a.framework, a.device
        self._native = None if a.framework is None else a.framework.native(self._dtype)
        self._run = run if a.framework is None else None
        self._stream = 0 if a.device < 0 else place.stream
        self._told, self._kept = set(), ()
        if a.device >= 0:
            self._kept = (a.indptr, a.indices, a.data)
            place.finish_before(a.framework.stream(a.device))

    def _stream_now(self, framework: Any) -> int:
        """The caller's current stream. A plan on the default stream gets one of its own when the first other one calls: the default one cannot be captured into graphs."""
        if self._device < 0:
            return 0
        stream = framework.stream(self._device)
        if stream not in self._told:
            if self._stream == 0 and stream > 1 and framework is self._framework:
                refuse_capture(framework)
                self._remake()
            self._framework.used_on(self._kept, self._device, stream)
            self._told.add(stream)
        return stream

    def _build(self) -> None:
        raise NotImplementedError

    def _remake(self) -> None:
        """Again, as at first, with the values that came last."""
        values = self._values
        self._build()
        if values is not None:
            self.update_values(*values)

    def _call(self, method: Any, *arguments: Any) -> Any:
        """A method of the library's plan by its name; made again first if the process was forked."""
        try:
            return getattr(self._plan, method)(*arguments)
        except Forked:
            self._remake()
            return getattr(self._plan, method)(*arguments)

    def _repr_html_(self) -> str:
        from ._picture import as_html, picture_of

        rows = {"shape": " × ".join(map(str, self.shape)), "dtype": name_of(self._dtype), "policy": self.policy, "memory": f"{self.nbytes} bytes beside the matrix"}
        return as_html(f"tulle {type(self).__name__}", rows, picture_of(self._settings["A"], self._settings.get("shape", self._settings.get("shape_a"))))

    def update_values(self, *data: Any) -> None:
        """New numbers for the same pattern; nothing is analysed again.

        Parameters
        ----------
        *data : array_like
            As many values as the matrix has, in the same order: what `A.data` is.
        """
        require_order(self._converted)
        if len(data) != self._matrices:
            raise UnsupportedType(f"update_values takes {self._updated}, not {len(data)}")
        if self._framework is not None:
            return self._update_at(data)
        arrays = tuple(contiguous(operand(d, self._matrix_dtype, (1,), "data")[0]) for d in data)
        self._call("update_values", *arrays)
        self._values = arrays

    def _update_at(self, data: tuple[Any, ...]) -> None:
        found = [operand_at(d, self._matrix_dtype, (1,), self._device, "data") for d in data]
        places = [n for f, a in found for n in (f.address(a), f.shape(a)[0])]
        stream = self._stream_now(found[0][0])
        self._call("update_values_at", *places, tuple(a for _, a in found), stream)
        self._values = data
        if self._device >= 0:
            fresh = tuple(a for _, a in found)
            self._framework.used_on(fresh, self._device, stream)
            self._told, self._kept = {stream}, (*self._kept[:-len(found)], *fresh)

    def describe(self) -> str:
        """What was chosen and why, what the plan keeps, what was copied and why."""
        arrays = "\n".join(f"  {note}" for note in self._notes) or "  all used where they are"
        return f"{self._plan.describe()}\narrays of the caller:\n{arrays}"

    @property
    def policy(self) -> str:
        """What was chosen; the same text can be given as `policy=`."""
        return self._plan.policy

    @property
    def nbytes(self) -> int:
        """Bytes held by the plan beside the caller's arrays."""
        return self._plan.nbytes

    @property
    def dtype(self) -> np.dtype:
        """The type of operands and results."""
        return self._dtype

    @property
    def shape(self) -> tuple[int, int]:
        """Of op(A); of C for products of matrices."""
        return self._rows, self._cols

    def __repr__(self) -> str:
        return f"<tulle.{type(self).__name__} {self._rows} x {self._cols}, {name_of(self._dtype)}, {self.policy}>"

    def __reduce__(self):
        return _restore, (type(self), self._settings, self._values)


def _restore(cls: type, settings: dict[str, Any], values: Any) -> Plan:
    plan = cls(**settings)
    if values is not None:
        plan.update_values(*values)
    return plan


def op_shape(shape: tuple[int, int], transpose: bool) -> tuple[int, int]:
    return shape[::-1] if transpose else shape


class SpmvPlan(Plan):
    """y = alpha op(A) x + beta y; made by `plan_spmv`."""

    __slots__ = ()

    def __init__(self, A: Any, *, shape: Any = None, transpose: bool = False, dtype: Any = None, policy: str = "", context: Context | None = None) -> None:
        self._settings = dict(A=A, shape=shape, transpose=transpose, dtype=dtype, policy=policy, context=context)
        self._build()

    def _build(self) -> None:
        s = self._settings = checked(**self._settings)
        a = sparse(s["A"], s["shape"])
        self._dtype = plan_dtype(a.dtype, s["dtype"], (F32, F64), "SpMV")
        mixed = self._dtype == F64 and a.dtype == F32
        self._matrix_dtype = F32 if mixed else self._dtype
        a.in_library_form(self._matrix_dtype)
        place = a.home(context_of(s["context"], device=a.device))
        make = getattr(_core, f"SpmvPlan_{NAMES[self._dtype]}{'_f32' if mixed else ''}")
        self._plan = make(place, a.compressed(place), s["transpose"], s["policy"])
        self._rows, self._cols = op_shape(a.shape, s["transpose"])
        self._settle(a, place, self._plan.run)

    def __call__(self, x: Any, out: Any = None, *, alpha: float = 1.0, beta: float = 0.0) -> Any:
        """The product with a vector.

        Parameters
        ----------
        x : array_like
            As many numbers as op(A) has columns.
        out : array, optional
            Where the result goes; needed for `beta`.
        alpha, beta : float
            y = alpha op(A) x + beta y.

        Returns
        -------
        array of x's kind, or out
        """
        if type(x) is _ndarray and (out is None and beta == 0.0 or type(out) is _ndarray):
            y = _empty(self._rows, self._dtype) if out is None else out
            try:
                self._run(x, y, alpha, beta)
                return y
            except (TypeError, Forked):          # another type, strides, overlap: looked at below
                pass
        alpha, beta = number(alpha, "alpha"), number(beta, "beta")
        if self._framework is not None:
            return self._multiply_at(x, out, alpha, beta)
        from_x, as_torch = operand(x, self._dtype, (1,), "x")
        result = Result(out, (self._rows,), self._dtype, beta, (from_x,), as_torch)
        self._call("run", contiguous(from_x), result.array, alpha, beta)
        return result.give()

    def _multiply_at(self, x: Any, out: Any, alpha: float, beta: float) -> Any:
        f = self._framework
        at = f.plain_vector(x, self._device, self._cols)
        if at is None or x.dtype != self._native or out is None and beta != 0.0:
            return self._multiply_any(x, out, alpha, beta)
        y = f.new_like(x, self._rows) if out is None else out
        to = f.plain_vector(y, self._device, self._rows)
        if to is None or y.dtype != self._native:
            return self._multiply_any(x, out, alpha, beta)
        stream = self._stream_now(f)             # may make the plan again
        self._call("run_at", at, self._cols, to, self._rows, alpha, beta, stream)
        return y

    def _multiply_any(self, x: Any, out: Any, alpha: float, beta: float) -> Any:
        """Operands of other types, strides and frameworks."""
        f, x = operand_at(x, self._dtype, (1,), self._device, "x")
        stream = self._stream_now(f)
        y = ResultAt(f, out, (self._rows,), self._dtype, beta, self._device)
        self._call("run_at", f.address(x), f.shape(x)[0], y.address, self._rows, alpha, beta, stream)
        return y.give()

    run = __call__


class SpmmPlan(Plan):
    """C = alpha op(A) B + beta C with dense B and C; made by `plan_spmm`."""

    __slots__ = ("_values_in_place", "_results")

    def __init__(self, A: Any, n: int = 32, *, order: str = "C", shape: Any = None, transpose: bool = False, dtype: Any = None, policy: str = "", expected_calls: float = 100,
                 scale: str = "auto", context: Context | None = None) -> None:
        if order not in ("C", "F"):
            raise InvalidValue(f"order is 'C' (rows contiguous) or 'F' (columns contiguous), not {order!r}")
        self._settings = dict(A=A, n=n, order=order, shape=shape, transpose=transpose, dtype=dtype, policy=policy, expected_calls=expected_calls, scale=scale, context=context)
        self._results = Recycled()
        self._build()

    def _build(self) -> None:
        s = self._settings = checked(**self._settings)
        a = sparse(s["A"], s["shape"])
        self._dtype = plan_dtype(a.dtype, s["dtype"], (F16, BF16, F32, F64), "SpMM")
        refuse_bfloat16(a, self._dtype)
        self._matrix_dtype = stored_dtype(a.dtype, self._dtype, s["scale"])
        a.in_library_form(self._matrix_dtype)
        place = a.home(context_of(s["context"], device=a.device))
        make = getattr(_core, f"SpmmPlan_{NAMES[self._dtype]}")
        self._plan = make(place, a.compressed(place), s["transpose"], s["n"], s["order"] == "F", s["expected_calls"], s["policy"], s["scale"])
        self._values_in_place = self._matrix_dtype == self._dtype and a.by_column == s["transpose"] and self._plan.policy.startswith("rows")
        self._rows, self._cols = op_shape(a.shape, s["transpose"])
        self._settle(a, place, self._plan.run)

    def __call__(self, B: Any, out: Any = None, *, alpha: float = 1.0, beta: float = 0.0) -> Any:
        """The product with a dense matrix; rows or columns of B contiguous, others are copied.

        Parameters
        ----------
        B : array_like
            As many rows as op(A) has columns, any number of columns.
        out : array, optional
            Where the result goes; needed for `beta`.
        alpha, beta : float
            C = alpha op(A) B + beta C.

        Returns
        -------
        array of B's kind, or out
        """
        if type(B) is _ndarray and B.ndim == 2 and (out is None and beta == 0.0 or type(out) is _ndarray):
            c = self._results.empty((self._rows, B.shape[1]), self._dtype) if out is None else out
            try:
                self._run(B, c, alpha, beta)
                return c
            except (TypeError, Forked):
                pass
        alpha, beta = number(alpha, "alpha"), number(beta, "beta")
        if self._framework is not None:
            return self._multiply_at(B, out, alpha, beta)
        from_b, as_torch = operand(B, self._dtype, (2,), "B")
        result = Result(out, (self._rows, from_b.shape[1]), self._dtype, beta, (from_b,), as_torch)
        self._call("run", with_lines(from_b), result.array, alpha, beta)
        return result.give()

    def _multiply_at(self, B: Any, out: Any, alpha: float, beta: float) -> Any:
        f = self._framework
        at = f.plain_rows(B, self._device, self._cols)
        if at is None or B.dtype != self._native or out is None and beta != 0.0:
            return self._multiply_any(B, out, alpha, beta)
        n = B.shape[1]
        C = f.new_like(B, self._rows, n) if out is None else out
        to = _core.DenseAt(f.address(C), self._rows, n, max(n, 1), 1) if out is None else f.plain_rows(C, self._device, self._rows, n)
        if to is None or C.dtype != self._native:
            return self._multiply_any(B, out, alpha, beta)
        stream = self._stream_now(f)
        self._call("run_at", at, to, alpha, beta, stream)
        return C

    def _multiply_any(self, B: Any, out: Any, alpha: float, beta: float) -> Any:
        """Operands of other types, strides and frameworks."""
        f, B = operand_at(B, self._dtype, (2,), self._device, "B")
        stream = self._stream_now(f)
        C = ResultAt(f, out, (self._rows, f.shape(B)[1]), self._dtype, beta, self._device)
        self._call("run_at", dense_at(f, B), C.dense(), alpha, beta, stream)
        return C.give()

    run = __call__

    @property
    def nbytes(self) -> int:
        """Bytes held by the plan beside the caller's arrays, with the memory of up to two large results, which is used again when they are gone."""
        return self._plan.nbytes + self._results.nbytes


class SpgemmPlan(Plan):
    """C = op(A) op(B), all sparse: the symbolic phase is done; made by `plan_spgemm`."""

    __slots__ = ("_back", "_by_column", "_matrix")
    _matrices, _updated = 2, "two arrays, the values of A and of B"

    def __init__(self, A: Any, B: Any, *, shape_a: Any = None, shape_b: Any = None, transpose_a: bool = False, transpose_b: bool = False, dtype: Any = None, policy: str = "",
                 budget: int | str | None = None, sorted: bool = True, keep_columns: bool = False, context: Context | None = None) -> None:
        self._settings = dict(A=A, B=B, shape_a=shape_a, shape_b=shape_b, transpose_a=transpose_a, transpose_b=transpose_b, dtype=dtype, policy=policy, budget=budget,
                              sorted=sorted, keep_columns=keep_columns, context=context)
        self._build()

    def _build(self) -> None:
        s = self._settings = checked(**self._settings)
        a, b = sparse(s["A"], s["shape_a"]), sparse(s["B"], s["shape_b"])
        self._dtype = plan_dtype(common_dtype(a.dtype, b.dtype), s["dtype"], (F32, F64), "SpGEMM")
        self._matrix_dtype = self._dtype
        a.in_library_form(self._dtype)
        b.in_library_form(self._dtype)
        if s["keep_columns"] and a.device >= 0:
            raise InvalidValue("columns of C are kept for arrays of the host only, and A is on a GPU", "leave keep_columns out")
        place = a.home(context_of(s["context"], s["budget"], a.device))
        make = getattr(_core, f"SpgemmPlan_{NAMES[self._dtype]}")
        self._by_column, self._back, self._matrix = a.by_column, a.back, a
        in_order = s["sorted"] or needs_order(a)
        self._plan = make(place, a.compressed(place), s["transpose_a"], b.compressed(place), s["transpose_b"], a.by_column, in_order, s["keep_columns"], s["policy"])
        self._rows, self._cols = op_shape(a.shape, s["transpose_a"])[0], op_shape(b.shape, s["transpose_b"])[1]
        self._settle(a, place, self._plan.run)
        self._kept = (a.indptr, a.indices, b.indptr, b.indices, a.data, b.data) if a.device >= 0 else ()
        self._notes = [f"A: {n}" for n in a.notes] + [f"B: {n}" for n in b.notes]
        self._converted = a.converted or b.converted

    def __call__(self) -> Any:
        """The product, as a new matrix of A's kind; only the numeric phase is done.

        Returns
        -------
        sparse matrix of A's kind, without repeats; sorted unless the plan was made with ``sorted=False``
        """
        if self._framework is not None:
            return self._matrix.fetch(self._call("run_at", self._stream_now(self._framework)), self.shape)
        *arrays, in_order = self._call("run")
        return with_order(self._back(self._by_column, self.shape, *arrays), in_order, in_order)

    run = __call__

    @property
    def nnz(self) -> int:
        """Nonzeros of C, exact, before anything of that size is allocated."""
        return self._plan.nnz

    @property
    def products(self) -> int:
        """Multiplications."""
        return self._plan.products

    @property
    def memory(self) -> dict[str, int]:
        """Bytes of the result, of the plan, and held while it works."""
        return self._plan.memory


def check_other_side(other_side: str) -> None:
    if other_side not in ("refuse", "ignore"):
        raise InvalidValue(f"other_side is 'refuse' or 'ignore', not {other_side!r}")


class TriangularPlan(Plan):
    """op(T) x = alpha b for a triangle T; made by `plan_solve_triangular`."""

    __slots__ = ()

    def __init__(self, A: Any, *, lower: bool = True, unit_diagonal: bool = False, transpose: bool = False, other_side: str = "refuse", right_hand_sides: int = 1,
                 accuracy: str = "tested", shape: Any = None, dtype: Any = None, policy: str = "", expected_calls: float = 100, context: Context | None = None) -> None:
        check_other_side(other_side)
        self._settings = dict(A=A, lower=lower, unit_diagonal=unit_diagonal, transpose=transpose, other_side=other_side, right_hand_sides=right_hand_sides,
                              accuracy=accuracy, shape=shape, dtype=dtype, policy=policy, expected_calls=expected_calls, context=context)
        self._build()

    def _build(self) -> None:
        s = self._settings = checked(**self._settings)
        a = without_padding(sparse(s["A"], s["shape"]))
        self._dtype = plan_dtype(a.dtype, s["dtype"], (F32, F64), "SpTRSV")
        self._matrix_dtype = self._dtype
        a.in_library_form(self._dtype)
        place = a.home(context_of(s["context"], device=a.device))
        if a.shape[0] != a.shape[1]:
            raise ShapeError(f"a triangle is square, not {a.shape[0]} x {a.shape[1]}")
        view = a.compressed(place)
        if not (view.sorted and view.unique):
            a = a.without_repeats().in_library_form(self._dtype)
            view = a.compressed(place)
        make = getattr(_core, f"TriangularPlan_{NAMES[self._dtype]}")
        self._plan = make(place, view, s["lower"], s["transpose"], s["unit_diagonal"], s["other_side"] == "ignore", s["right_hand_sides"], s["expected_calls"], s["accuracy"],
                          s["policy"])
        self._rows, self._cols = a.shape
        self._settle(a, place, self._plan.solve)

    def __call__(self, b: Any, out: Any = None, *, alpha: float = 1.0) -> Any:
        """Solves for one right-hand side, or for the columns of a matrix.

        Parameters
        ----------
        b : array_like
            As many numbers, or rows, as T has rows.
        out : array, optional
            Where x goes; may be b.
        alpha : float
            op(T) x = alpha b.

        Returns
        -------
        array of b's kind, or out
        """
        if type(b) is _ndarray and b.ndim == 1 and (out is None or type(out) is _ndarray):
            x = _empty(self._rows, self._dtype) if out is None else out
            try:
                self._run(b, x, alpha)
                return x
            except (TypeError, Forked):
                pass
        alpha = number(alpha, "alpha")
        if self._framework is not None:
            return self._solve_at(b, out, alpha)
        from_b, as_torch = operand(b, self._dtype, (1, 2), "b")
        if from_b.shape[0] != self._rows:
            raise ShapeError(f"b has {from_b.shape[0]} rows, but the triangle has {self._rows}")
        result = Result(out, from_b.shape, self._dtype, 0.0, (from_b,), as_torch)
        if from_b.ndim == 1:
            self._call("solve", contiguous(from_b), result.array, alpha)
        else:
            self._call("solve_many", with_lines(from_b), result.array, alpha)
        return result.give()

    def _solve_at(self, b: Any, out: Any, alpha: float) -> Any:
        f, b = operand_at(b, self._dtype, (1, 2), self._device, "b")
        shape = f.shape(b)
        if shape[0] != self._rows:
            raise ShapeError(f"b has {shape[0]} rows, but the triangle has {self._rows}")
        stream = self._stream_now(f)
        x = ResultAt(f, out, shape, self._dtype, 0.0, self._device)
        if len(shape) == 1:
            self._call("solve_at", f.address(b), x.address, self._rows, alpha, stream)
        else:
            self._call("solve_many_at", dense_at(f, b), x.dense(), alpha, stream)
        return x.give()

    solve = run = __call__

    @property
    def levels(self) -> int:
        """Levels of rows, one after the other."""
        return self._plan.levels


class SolveReport:
    """How a solve went: `reason`, `converged`, `iterations`, `relative` (the true residual over the norm of b), `history` (norms of the residual, the first
    before any iteration), `method`, seconds by phase, and `text`, all of it as a sentence. True where it converged.
    """

    __slots__ = ("_fields",)

    def __init__(self, fields: dict[str, Any]) -> None:
        self._fields = {**fields, "history": np.array(fields["history"])}

    def __getattr__(self, name: str) -> Any:
        try:
            return self._fields[name]
        except KeyError:
            raise AttributeError(f"a report has no {name}; it has {', '.join(self._fields)}") from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._fields]

    def __getstate__(self) -> dict[str, Any]:
        return self._fields

    def __setstate__(self, fields: dict[str, Any]) -> None:
        self._fields = fields

    def __bool__(self) -> bool:
        return self._fields["converged"]

    def __repr__(self) -> str:
        return f"SolveReport({self._fields['text']})"


class SolverPlan(Plan):
    """A x = b by a preconditioned Krylov method; made by `plan_solve`."""

    __slots__ = ()

    def __init__(self, A: Any, *, method: str = "", preconditioner: str = "", rtol: float | None = None, atol: float = 0.0, maxiter: int = 10_000, seconds: float = float("inf"),
                 restart: int = 30, guess: bool = False, near_null_space: Any = None, unknowns_per_node: int = 1, graphs: bool = True, shape: Any = None,
                 dtype: Any = None, context: Context | None = None) -> None:
        self._settings = dict(A=A, method=method, preconditioner=preconditioner, rtol=rtol, atol=atol, maxiter=maxiter, seconds=seconds, restart=restart, guess=guess,
                              near_null_space=near_null_space, unknowns_per_node=unknowns_per_node, graphs=graphs, shape=shape, dtype=dtype, context=context)
        self._build()

    def _build(self) -> None:
        s = self._settings = checked(**self._settings)
        a = sparse(s["A"], s["shape"]).by_rows()
        self._dtype = plan_dtype(a.dtype, s["dtype"], (F32, F64), "solver")
        self._matrix_dtype = self._dtype
        a.in_library_form(self._dtype)
        place = a.home(context_of(s["context"], device=a.device))
        view = a.compressed(place)
        if not (view.sorted and view.unique):
            a = a.without_repeats().in_library_form(self._dtype)
            view = a.compressed(place)
        make = getattr(_core, f"SolverPlan_{NAMES[self._dtype]}")
        vectors = np.empty((0, 0), self._dtype) if s["near_null_space"] is None else real_array(s["near_null_space"], "near_null_space", self._dtype)
        if vectors.ndim != 2 or (vectors.size and vectors.shape[0] != a.shape[0]):
            raise ShapeError(f"the near null space has the shape {vectors.shape}, but must have {a.shape[0]} rows and a column for each vector")
        self._plan = make(place, view, s["method"], s["preconditioner"], s["rtol"], s["atol"], s["maxiter"], s["seconds"], s["restart"], s["guess"], s["graphs"], s["unknowns_per_node"],
                          vectors.reshape(-1), vectors.shape[1])
        self._rows, self._cols = a.shape
        self._settle(a, place, self._plan.solve)

    def __call__(self, b: Any, out: Any = None) -> tuple[Any, SolveReport]:
        """Solves for one right-hand side.

        Parameters
        ----------
        b : array_like
            As many numbers as A has rows.
        out : array, optional
            Where x goes, with the first guess in it if the plan was made with guess=True.

        Returns
        -------
        x : array of b's kind, or out
            As good as it got, whatever the report says.
        report : SolveReport
        """
        if self._settings["guess"] and out is None:
            raise InvalidValue("the plan begins with a guess, but there is none", "out= holds the guess, and x afterwards")
        if self._framework is not None:
            return self._solve_at(b, out)
        from_b, as_torch = operand(b, self._dtype, (1,), "b")
        if from_b.shape[0] != self._rows:
            raise ShapeError(f"b has {from_b.shape[0]} rows, but the matrix has {self._rows}")
        result = Result(out, from_b.shape, self._dtype, 0.0, (from_b,), as_torch)
        report = self._call("solve", contiguous(from_b), result.array)
        return result.give(), SolveReport(report)

    def _solve_at(self, b: Any, out: Any) -> tuple[Any, SolveReport]:
        f, b = operand_at(b, self._dtype, (1,), self._device, "b")
        if f.shape(b)[0] != self._rows:
            raise ShapeError(f"b has {f.shape(b)[0]} rows, but the matrix has {self._rows}")
        stream = self._stream_now(f)
        x = ResultAt(f, out, (self._rows,), self._dtype, 0.0, self._device)
        report = self._call("solve_at", f.address(b), x.address, self._rows, stream)
        return x.give(), SolveReport(report)

    solve = run = __call__


class SddmmPlan(Plan):
    """c = alpha (X Y') at the positions of A + beta c, and sparse attention; made by `plan_sddmm`."""

    __slots__ = ("_nnz", "_plain", "_order")

    def __init__(self, A: Any, k: int = 32, *, attended: int = 0, scaled: bool = False, shape: Any = None, dtype: Any = None, policy: str = "", context: Context | None = None) -> None:
        self._settings = dict(A=A, k=k, attended=attended, scaled=scaled, shape=shape, dtype=dtype, policy=policy, context=context)
        self._build()

    def _build(self) -> None:
        s = self._settings = checked(**self._settings)
        a = sparse(s["A"], s["shape"])
        self._dtype = self._matrix_dtype = plan_dtype(a.dtype, s["dtype"], (F16, BF16, F32, F64), "SDDMM")
        refuse_bfloat16(a, self._dtype)
        a.in_library_form(self._dtype)
        place = a.home(context_of(s["context"], device=a.device))
        view = a.compressed(place)
        self._plan = getattr(_core, f"SddmmPlan_{NAMES[self._dtype]}")(place, view, s["k"], s["attended"], s["scaled"], s["policy"])
        self._order = view.sorted, view.unique
        self._rows, self._cols = a.shape
        self._nnz, self._plain = a.indices.shape[0] if a.framework is None else a.framework.shape(a.indices)[0], not a.by_column
        self._settle(a, place, self._plan.run)

    def _check(self, first: Any, second: Any, names: str) -> None:
        for shape, rows, name in ((first, self._rows, names[0]), (second, self._cols, names[1])):
            if shape[0] != rows:
                raise ShapeError(f"{name} has {shape[0]} rows, not {rows}")
        if first[1] != second[1]:
            raise ShapeError(f"{names[0]} has {first[1]} columns, but {names[1]} has {second[1]}")

    def __call__(self, X: Any, Y: Any, out: Any = None, *, alpha: float = 1.0, beta: float = 0.0) -> Any:
        """The products of rows of X and rows of Y, one for each nonzero of A.

        Parameters
        ----------
        X, Y : array_like
            A row for each row of A, and a row for each column of A; as many columns.
        out : array, optional
            Where the values go; needed for `beta`.
        alpha, beta : float
            c = alpha (X Y') at the positions of A + beta c.

        Returns
        -------
        array of X's kind, or out
            In the order of the plan's matrix: together with its indptr and indices it is a matrix.
        """
        alpha, beta = number(alpha, "alpha"), number(beta, "beta")
        if self._framework is not None:
            return self._multiply_at(X, Y, out, alpha, beta)
        x, as_torch = operand(X, self._dtype, (2,), "X")
        y, _ = operand(Y, self._dtype, (2,), "Y")
        self._check(x.shape, y.shape, "XY")
        x, y = with_lines(x), with_lines(y)
        result = Result(out, (self._nnz,), self._dtype, beta, (x, y), as_torch)
        self._call("run", x, y, result.array, alpha, beta)
        return result.give()

    def _multiply_at(self, X: Any, Y: Any, out: Any, alpha: float, beta: float) -> Any:
        f, X = operand_at(X, self._dtype, (2,), self._device, "X")
        g, Y = operand_at(Y, self._dtype, (2,), self._device, "Y")
        self._check(f.shape(X), g.shape(Y), "XY")
        stream = self._stream_now(f)
        c = ResultAt(f, out, (self._nnz,), self._dtype, beta, self._device)
        self._call("run_at", dense_at(f, X), dense_at(g, Y), c.address, self._nnz, alpha, beta, stream)
        return c.give()

    run = __call__

    def attend(self, Q: Any, K: Any, V: Any, out: Any = None, *, alpha: float | None = None) -> Any:
        """Sparse attention: H = S V, where a row of S is the softmax of alpha Q K' over the nonzeros of that row of A. Scores are computed once; on a GPU a plan made
        with `attended` may store them between two kernels.

        Parameters
        ----------
        Q, K, V : array_like
            A row of Q for each row of A, rows of K and V for each column.
        out : array, optional
            Where H goes.
        alpha : float, optional
            Factor of the scores; one over the root of the columns of Q by default.

        Returns
        -------
        array of Q's kind, or out
        """
        if not self._plain:
            raise UnsupportedType("attention needs a matrix stored by rows", "make the plan of A.tocsr()")
        alpha = None if alpha is None else number(alpha, "alpha")
        if self._framework is not None:
            return self._attend_at(Q, K, V, out, alpha)
        q, as_torch = operand(Q, self._dtype, (2,), "Q")
        k, v = operand(K, self._dtype, (2,), "K")[0], operand(V, self._dtype, (2,), "V")[0]
        self._check(q.shape, k.shape, "QK")
        self._check((self._rows, 1), (v.shape[0], 1), "QV")
        q, k, v = with_lines(q), with_lines(k), with_lines(v)
        result = Result(out, (self._rows, v.shape[1]), self._dtype, 0.0, (q, k, v), as_torch)
        self._call("attend", q, k, v, result.array, factor_of(alpha, q.shape[1]))
        return result.give()

    def _attend_at(self, Q: Any, K: Any, V: Any, out: Any, alpha: float | None) -> Any:
        (f, q), (g, k), (h, v) = (operand_at(a, self._dtype, (2,), self._device, name) for a, name in ((Q, "Q"), (K, "K"), (V, "V")))
        self._check(f.shape(q), g.shape(k), "QK")
        self._check((self._rows, 1), (h.shape(v)[0], 1), "QV")
        stream = self._stream_now(f)
        to = ResultAt(f, out, (self._rows, h.shape(v)[1]), self._dtype, 0.0, self._device)
        self._call("attend_at", dense_at(f, q), dense_at(g, k), dense_at(h, v), to.dense(), factor_of(alpha, f.shape(q)[1]), stream)
        return to.give()

    @property
    def nnz(self) -> int:
        """Nonzeros of A: values of a result."""
        return self._nnz


def factor_of(alpha: float | None, columns: int) -> float:
    return alpha if alpha is not None else 1.0 / max(columns, 1) ** 0.5
