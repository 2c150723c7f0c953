# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""Differentiable sparse operations for PyTorch: custom operators with fake implementations and gradients, on the CPU and on GPUs.

>>> import torch, tulle.torch as tt                                         # doctest: +SKIP
>>> A = tt.CSR(crow, col, values, (rows, cols))                              # doctest: +SKIP
>>> C = tt.spmm(A, B)                # gradients go to values and to B          # doctest: +SKIP

Operators take the arrays of a matrix, not sparse tensors, whose values() stops gradients. Backward passes need memory in the order of the nonzeros and the dense
operands: values get an SDDMM, never a dense matrix. Plans are made once for each pattern, and once for its transpose, and kept (`clear_plans` drops them): a pattern
that is changed in place is noticed. All operators work under torch.compile; spmm, sddmm and attention follow torch.autocast.
"""
from __future__ import annotations

import functools
import itertools
import threading
import types
from typing import Any, Callable, NamedTuple

import torch
from torch import library as operators

from . import _operations as plain
from ._errors import InvalidValue, ShapeError

__all__ = ["CSR", "GAT", "GCN", "attention", "clear_plans", "from_edges", "sddmm", "softmax_rows", "solve_triangular", "spgemm", "spmm", "spmv"]

_HALF = (torch.float16, torch.bfloat16)


class CSR(NamedTuple):
    """The arrays of a sparse matrix by rows.

    Attributes
    ----------
    crow, col : Tensor
        Offsets of rows and columns, of 32 or 64 bits.
    values : Tensor
        May require gradients.
    shape : (int, int)
    """

    crow: torch.Tensor
    col: torch.Tensor
    values: torch.Tensor
    shape: tuple[int, int]

    def to_dense(self) -> torch.Tensor:
        """A dense copy, differentiable in the values."""
        rows = row_of_nonzeros(self.crow, self.col.numel())
        return self.values.new_zeros(self.shape).index_put((rows, self.col.long()), self.values, accumulate=True)


def as_csr(A: Any) -> CSR:
    if isinstance(A, CSR):
        return A
    if isinstance(A, torch.Tensor) and A.layout in (torch.sparse_csr, torch.sparse_csc, torch.sparse_coo):
        if A.requires_grad:
            raise InvalidValue("no gradient goes through the values() of a sparse tensor", "give CSR(crow, col, values, shape), where values requires the gradient")
        A = A if A.layout == torch.sparse_csr else A.to_sparse_csr()
        return CSR(A.crow_indices(), A.col_indices(), A.values(), tuple(A.shape))
    raise InvalidValue(f"{type(A).__name__} is no sparse matrix", "give tulle.torch.CSR(crow, col, values, shape), or a sparse tensor")


def row_of_nonzeros(crow: torch.Tensor, nonzeros: int) -> torch.Tensor:
    """The row of every nonzero."""
    return torch.repeat_interleave(torch.arange(crow.numel() - 1, device=crow.device), crow.long().diff(), output_size=nonzeros)


# ---- plans


_uses = itertools.count()                            # a number for every use of a plan


class _Entry:
    """A plan and the pattern it was made of; what values it has, if that can be told."""

    __slots__ = ("plan", "kept", "lock", "has", "captured", "used", "counts")

    def __init__(self, plan: Any, kept: tuple[torch.Tensor, ...]) -> None:
        self.plan, self.kept, self.lock = plan, kept, threading.Lock()
        self.used = next(_uses)
        self.counts = tuple(-1 if t.is_inference() else t._version for t in kept)
        self.has: tuple[tuple[torch.Tensor, int], ...] = ()      # tensors and their counts of writes
        self.captured = False                        # by a CUDA graph, which changes the values of the plan whenever it is replayed

    def update(self, values: tuple[torch.Tensor, ...], counted: bool) -> None:
        """Brings the plan up to date. Values with gradients always: optimizers may write through .data, which torch does not count; others if they are new or were written."""
        if values[0].is_cuda and torch.cuda.is_current_stream_capturing():
            self.captured = True
        if counted and not self.captured and self._has(values):
            return
        self.has = ()
        self.plan.update_values(*(v.detach().contiguous() for v in values))
        if counted and not any(v.requires_grad or v.is_inference() for v in values):
            self.has = tuple((v, v._version) for v in values)

    def _has(self, values: tuple[torch.Tensor, ...]) -> bool:
        if not self.has:
            return False
        for v, (known, count) in zip(values, self.has):
            if v is not known or v._version != count or v.requires_grad:
                return False
        return True


MOST_PLANS = 128
_plans: dict[tuple, _Entry] = {}
_by_object: dict[tuple, _Entry] = {}                 # the same by which tensors a pattern has, for a first look; an entry keeps them, so that no others have their id
_lock = threading.Lock()


def clear_plans() -> None:
    """Drops all plans that are kept, and with them the patterns they hold."""
    with _lock:
        _plans.clear()
        _by_object.clear()


def _drop_oldest() -> None:
    """Leaves the MOST_PLANS that were used last."""
    while len(_plans) > MOST_PLANS:
        del _plans[min(_plans, key=lambda key: _plans[key].used)]
        _by_object.clear()


def _stamp(t: torch.Tensor) -> tuple:
    """The same as long as the tensor has the same numbers at the same place. torch counts no writes to tensors made in inference mode: never the same."""
    return t.data_ptr(), t.numel(), t.dtype, object() if t.is_inference() else t._version


def _find(key: tuple, make: Callable[[], _Entry]) -> _Entry:
    with _lock:
        entry = _plans.get(key)
        if entry is not None:
            entry.used = next(_uses)
            return entry
    entry = make()
    if any(t.is_inference() for t in entry.kept):      # would never be found again
        return entry
    with _lock:
        _plans[key] = entry
        _drop_oldest()
    return entry


def _plan_of(kind: str, crow: torch.Tensor, col: torch.Tensor, dtype: torch.dtype, more: tuple, make: Callable[[torch.Tensor, torch.Tensor], Any]) -> _Entry:
    """The entry of one pattern; `make` gets it with columns of 32 bits."""
    objects = kind, id(crow), id(col), dtype, more
    entry = _by_object.get(objects)
    if entry is not None and entry.counts == (crow._version, col._version):
        entry.used = next(_uses)
        return entry
    entry = _find((kind, dtype, crow.device, more, *_stamp(crow), *_stamp(col)), lambda: _Entry(make(*_pattern(crow, col)), (crow, col)))
    if entry.kept[0] is crow and entry.kept[1] is col and not (crow.is_inference() or col.is_inference()):
        with _lock:
            _by_object[objects] = entry
    return entry


def _pattern(crow: torch.Tensor, col: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The pattern with columns of 32 bits, made once for all plans with it."""
    if col.dtype == torch.int32:
        return crow, col
    key = ("pattern", col.device, *_stamp(col))

    def narrow() -> _Entry:
        if col.numel() and (int(col.max()) > 2**31 - 1 or int(col.min()) < 0):
            raise InvalidValue("a column is outside what 32 bits hold")
        return _Entry(col.to(torch.int32), (col,))

    return crow, _find(key, narrow).plan


_MAKE: dict[str, Callable[..., Any]] = {
    "spmv": lambda a, rows, cols, transpose: plain.plan_spmv(a, shape=(rows, cols), transpose=transpose),
    "spmm": lambda a, rows, cols, transpose, n: plain.plan_spmm(a, max(1, n), shape=(rows, cols), transpose=transpose),
    "solve_triangular": lambda a, n, lower, unit_diagonal, transpose, many: plain.plan_solve_triangular(
        a, shape=(n, n), lower=lower, unit_diagonal=unit_diagonal, transpose=transpose, right_hand_sides=max(1, many)),
}


def _planned(kind: str, crow: torch.Tensor, col: torch.Tensor, values: torch.Tensor, more: tuple, counted: bool, operand: torch.Tensor) -> Any:
    """The plan of this pattern, brought up to date with the values, applied to the operand; `counted`: writes to the values are counted by torch."""
    entry = _plan_of(kind, crow, col, values.dtype, more, lambda crow, col: _MAKE[kind]((crow, col, values.detach()), *more))
    with entry.lock:
        entry.update((values,), counted)
        return entry.plan(operand.detach() if operand.requires_grad else operand)


# ---- operators


_definitions = operators.Library("tulle", "DEF")
_definitions.define("spmv(Tensor crow, Tensor col, Tensor values, Tensor x, int rows, int cols, bool transpose) -> Tensor")
_definitions.define("spmm(Tensor crow, Tensor col, Tensor values, Tensor b, int rows, int cols, bool transpose) -> Tensor")
_definitions.define("sddmm(Tensor crow, Tensor col, Tensor x, Tensor y) -> Tensor")
_definitions.define("attention(Tensor crow, Tensor col, Tensor q, Tensor k, Tensor v, float alpha) -> Tensor")
_definitions.define("solve_triangular(Tensor crow, Tensor col, Tensor values, Tensor b, bool lower, bool unit_diagonal, bool transpose) -> Tensor")
_definitions.define("spgemm(Tensor crow_a, Tensor col_a, Tensor values_a, Tensor crow_b, Tensor col_b, Tensor values_b, int rows, int inner, int cols) -> (Tensor, Tensor, Tensor)")


_counted: dict[str, Callable] = {}                   # by name: what runs where torch counts the writes to the values, which code that torch.compile made does not do


def _on_devices(name: str) -> Callable:
    def register(f: Callable) -> Callable:
        def uncounted(*inputs):
            return f(False, *inputs)

        for device in ("CPU", "CUDA"):
            _definitions.impl(name, uncounted, device)
        _counted[name] = functools.partial(f, True)
        return f

    return register


@_on_devices("spmv")
def _spmv(counted, crow, col, values, x, rows, cols, transpose):
    return _planned("spmv", crow, col, values, (rows, cols, transpose), counted, x)


@_on_devices("spmm")
def _spmm(counted, crow, col, values, b, rows, cols, transpose):
    return _planned("spmm", crow, col, values, (rows, cols, transpose, b.shape[1]), counted, b)


def _sddmm_plan(crow, col, x, y, attended, run):
    shape, columns = (x.shape[0], y.shape[0]), x.shape[1]

    def make(crow, col):
        unread = torch.empty(col.numel(), dtype=x.dtype, device=x.device)        # without scaled=, values of A are not read
        return plain.plan_sddmm((crow, col, unread), max(1, columns), attended=attended, shape=shape)

    entry = _plan_of("sddmm", crow, col, x.dtype, (*shape, columns, attended), make)
    with entry.lock:
        return run(entry.plan)


@_on_devices("sddmm")
def _sddmm(_, crow, col, x, y):
    x, y = x.detach(), y.detach()
    return _sddmm_plan(crow, col, x, y, 0, lambda plan: plan(x, y))


@_on_devices("attention")
def _attention(_, crow, col, q, k, v, alpha):
    q, k, v = q.detach(), k.detach(), v.detach()
    return _sddmm_plan(crow, col, q, k, v.shape[1], lambda plan: plan.attend(q, k, v, alpha=alpha))


@_on_devices("solve_triangular")
def _solve_triangular(counted, crow, col, values, b, lower, unit_diagonal, transpose):
    many = b.shape[1] if b.dim() == 2 else 1
    return _planned("solve_triangular", crow, col, values, (crow.numel() - 1, lower, unit_diagonal, transpose, many), counted, b)


@_on_devices("spgemm")
def _spgemm(counted, crow_a, col_a, values_a, crow_b, col_b, values_b, rows, inner, cols):
    patterns, values = (crow_a, col_a, crow_b, col_b), (values_a, values_b)
    make = lambda: plain.plan_spgemm((*_pattern(crow_a, col_a), values_a.detach()), (*_pattern(crow_b, col_b), values_b.detach()), shape_a=(rows, inner), shape_b=(inner, cols))
    key = ("spgemm", values_a.dtype, values_a.device, rows, inner, cols, *(_stamp(t) for t in patterns))
    entry = _find(key, lambda: _Entry(make(), patterns))
    with entry.lock:
        entry.update(values, counted)
        crow, col, values = entry.plan()
    return crow.to(crow_a.dtype), col.to(col_a.dtype), values


@operators.register_fake("tulle::spmv", lib=_definitions)
def _(crow, col, values, x, rows, cols, transpose):
    return x.new_empty((cols if transpose else rows,))


@operators.register_fake("tulle::spmm", lib=_definitions)
def _(crow, col, values, b, rows, cols, transpose):
    return b.new_empty((cols if transpose else rows, b.shape[1]))


@operators.register_fake("tulle::sddmm", lib=_definitions)
def _(crow, col, x, y):
    return x.new_empty((col.shape[0],))


@operators.register_fake("tulle::attention", lib=_definitions)
def _(crow, col, q, k, v, alpha):
    return v.new_empty((q.shape[0], v.shape[1]))


@operators.register_fake("tulle::solve_triangular", lib=_definitions)
def _(crow, col, values, b, lower, unit_diagonal, transpose):
    return b.new_empty(b.shape)


@operators.register_fake("tulle::spgemm", lib=_definitions)
def _(crow_a, col_a, values_a, crow_b, col_b, values_b, rows, inner, cols):
    nonzeros = operators.get_ctx().new_dynamic_size()
    return crow_a.new_empty((rows + 1,)), col_a.new_empty((nonzeros,)), values_a.new_empty((nonzeros,))


_ops = torch.ops.tulle


# ---- calls: what torch does in Python for an operator with a registered gradient takes longer than most products, so that plain tensors go around it


class _Calls:
    """The operators by name. Under torch.compile and torch.func, and for tensors of other classes, they are called as they are."""

    spmv: Callable
    spmm: Callable
    sddmm: Callable
    attention: Callable
    solve_triangular: Callable
    spgemm: Callable

    def add(self, name: str, back: Callable, keep: Callable) -> None:
        operator, counted = getattr(_ops, name).default, _counted[name]

        def run(*inputs):
            if not (torch._C._len_torch_dispatch_stack() or torch._C._autograd._profiler_enabled()):      # modes and profiles see operators
                return counted(*inputs)
            with torch._C._AutoDispatchBelowAutograd():
                return operator(*inputs)

        def forward(ctx, *inputs):                   # with a setup_context of its own torch takes 40 us more
            output = run(*inputs)
            keep(ctx, inputs, output)
            return output

        function = types.new_class(f"tulle_{name}", (torch.autograd.Function,), exec_body=lambda body: body.update(forward=staticmethod(forward), backward=staticmethod(back)))

        def call(*inputs):
            if torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active():
                return operator(*inputs)
            wanted = False
            for t in inputs:
                if isinstance(t, torch.Tensor):
                    if type(t) not in _PLAIN or not (t.is_cuda or t.is_cpu):
                        return operator(*inputs)
                    wanted = wanted or t.requires_grad
            return function.apply(*inputs) if wanted and torch.is_grad_enabled() else run(*inputs)

        setattr(self, name, call)


_PLAIN = (torch.Tensor, torch.nn.Parameter)
_call = _Calls()


def _rows_of(crow: torch.Tensor, nonzeros: int) -> torch.Tensor:
    """row_of_nonzeros, kept with the plans."""
    if torch.compiler.is_compiling() or type(crow) not in _PLAIN:
        return row_of_nonzeros(crow, nonzeros)
    return _find(("rows", crow.device, nonzeros, _stamp(crow)), lambda: _Entry(row_of_nonzeros(crow, nonzeros), (crow,))).plan


# ---- gradients: formulas of the same operators, so that they can be differentiated again


def _keep_product(ctx, inputs, output):
    crow, col, values, b, ctx.rows, ctx.cols, ctx.transpose = inputs
    ctx.save_for_backward(crow, col, values, b)


def _back_spmv(ctx, g):
    crow, col, values, x = ctx.saved_tensors
    left, right = (x, g) if ctx.transpose else (g, x)
    of_values = _call.sddmm(crow, col, left[:, None], right[:, None]) if ctx.needs_input_grad[2] else None
    of_x = _call.spmv(crow, col, values, g, ctx.rows, ctx.cols, not ctx.transpose) if ctx.needs_input_grad[3] else None
    return None, None, of_values, of_x, None, None, None


def _back_spmm(ctx, g):
    crow, col, values, b = ctx.saved_tensors
    left, right = (b, g) if ctx.transpose else (g, b)
    of_values = _call.sddmm(crow, col, left, right) if ctx.needs_input_grad[2] else None
    of_b = _call.spmm(crow, col, values, g, ctx.rows, ctx.cols, not ctx.transpose) if ctx.needs_input_grad[3] else None
    return None, None, of_values, of_b, None, None, None


def _keep_sddmm(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


def _back_sddmm(ctx, g):
    crow, col, x, y = ctx.saved_tensors
    rows, cols = x.shape[0], y.shape[0]
    of_x = _call.spmm(crow, col, g, y, rows, cols, False) if ctx.needs_input_grad[2] else None
    of_y = _call.spmm(crow, col, g, x, rows, cols, True) if ctx.needs_input_grad[3] else None
    return None, None, of_x, of_y


def _keep_attention(ctx, inputs, output):
    *tensors, ctx.alpha = inputs
    ctx.save_for_backward(*tensors)


def _back_attention(ctx, g):
    """The scores again, one for each nonzero; then the usual softmax."""
    crow, col, q, k, v = ctx.saved_tensors
    rows, cols = q.shape[0], k.shape[0]
    p = softmax_rows(crow, ctx.alpha * _call.sddmm(crow, col, q, k))
    of_p = _call.sddmm(crow, col, g, v)
    row = _rows_of(crow, col.numel())
    of_scores = ctx.alpha * p * (of_p - p.new_zeros(rows).index_add(0, row, p * of_p)[row])
    return (None, None, _call.spmm(crow, col, of_scores, k, rows, cols, False), _call.spmm(crow, col, of_scores, q, rows, cols, True),
            _call.spmm(crow, col, p, g, rows, cols, True), None)


def _keep_solve(ctx, inputs, output):
    crow, col, values, _, ctx.lower, ctx.unit_diagonal, ctx.transpose = inputs
    ctx.save_for_backward(crow, col, values, output)


def _back_solve(ctx, g):
    crow, col, values, x = ctx.saved_tensors
    of_b = _call.solve_triangular(crow, col, values, g, ctx.lower, ctx.unit_diagonal, not ctx.transpose)
    of_values = None
    if ctx.needs_input_grad[2]:
        left, right = (x, of_b) if ctx.transpose else (of_b, x)
        left, right = (left, right) if left.dim() == 2 else (left[:, None], right[:, None])
        of_values = -_call.sddmm(crow, col, left, right)
        if ctx.unit_diagonal:
            of_values = of_values.masked_fill(row_of_nonzeros(crow, col.numel()) == col, 0)
    return None, None, of_values, of_b, None, None, None


def _keep_spgemm(ctx, inputs, output):
    crow_a, col_a, values_a, crow_b, col_b, values_b, ctx.rows, ctx.inner, ctx.cols = inputs
    ctx.mark_non_differentiable(output[0], output[1])
    ctx.save_for_backward(crow_a, col_a, values_a, crow_b, col_b, values_b, output[0], output[1])


PRODUCTS_AT_ONCE = 1 << 22


def _back_spgemm(ctx, _crow, _col, g):
    """Every product a_ik b_kj adds to c_ij: the position of (i, j) in C by a binary search, some millions of products at a time."""
    crow_a, col_a, a, crow_b, col_b, b, crow_c, col_c = ctx.saved_tensors
    row_a, inner = row_of_nonzeros(crow_a, col_a.numel()), col_a.long()
    length = crow_b.long().diff()[inner]
    place = row_of_nonzeros(crow_c, col_c.numel()) * ctx.cols + col_c.long()
    of_a, of_b = torch.zeros_like(a), torch.zeros_like(b)
    ends = torch.cumsum(length, 0)
    first = 0
    while first < col_a.numel():
        before = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(torch.searchsorted(ends, before + PRODUCTS_AT_ONCE, right=True)))
        count = length[first:last]
        of = torch.repeat_interleave(torch.arange(first, last, device=a.device), count)
        start = torch.cumsum(count, 0) - count
        q = crow_b.long()[inner[of]] + torch.arange(of.numel(), device=a.device) - start[of - first]
        grad = g[torch.searchsorted(place, row_a[of] * ctx.cols + col_b.long()[q])]
        of_a, of_b = of_a.index_add(0, of, grad * b[q]), of_b.index_add(0, q, grad * a[of])
        first = last
    return None, None, of_a, None, None, of_b, None, None, None


for _name, _back, _keep in (("spmv", _back_spmv, _keep_product), ("spmm", _back_spmm, _keep_product), ("sddmm", _back_sddmm, _keep_sddmm), ("attention", _back_attention, _keep_attention),
                            ("solve_triangular", _back_solve, _keep_solve), ("spgemm", _back_spgemm, _keep_spgemm)):
    operators.register_autograd(f"tulle::{_name}", _back, setup_context=_keep, lib=_definitions)
    _call.add(_name, _back, _keep)


# ---- what users call


def _together(*tensors: torch.Tensor, half: bool = True) -> list[torch.Tensor]:
    """All in one type: that of torch.autocast where it is on and the operation has it, else the common one; without `half` no less than float32."""
    kind, dtype = tensors[0].device.type, tensors[0].dtype
    for t in tensors[1:]:
        if t.dtype is not dtype:
            dtype = torch.promote_types(dtype, t.dtype)
    if half and torch.is_autocast_enabled(kind) and dtype != torch.float64:
        dtype = torch.get_autocast_dtype(kind)
    if not half and dtype in _HALF:
        dtype = torch.float32
    return [t if t.dtype == dtype else t.to(dtype) for t in tensors]


def spmv(A: Any, x: torch.Tensor, *, transpose: bool = False) -> torch.Tensor:
    """op(A) x, differentiable in the values of A and in x; float64 and float32 (half precision is computed in float32)."""
    A = as_csr(A)
    if not (x.dim() == 1 and x.shape[0] == A.shape[0 if transpose else 1]):
        raise ShapeError(f"x has the shape {tuple(x.shape)}, but A is {A.shape[0]} x {A.shape[1]}")
    values, x = _together(A.values, x, half=False)
    return _call.spmv(A.crow, A.col, values, x, *A.shape, transpose)


def spmm(A: Any, B: torch.Tensor, *, transpose: bool = False) -> torch.Tensor:
    """op(A) B with a dense B, differentiable in the values of A and in B.

    Parameters
    ----------
    A : CSR or sparse Tensor
        Gradients go to the values of a `CSR`.
    B : Tensor
        Dense, with two dimensions; float64, float32, float16 or bfloat16.
    transpose : bool
        Multiply with the transposed matrix.

    Returns
    -------
    Tensor
    """
    A = as_csr(A)
    if not (B.dim() == 2 and B.shape[0] == A.shape[0 if transpose else 1]):
        raise ShapeError(f"B has the shape {tuple(B.shape)}, but A is {A.shape[0]} x {A.shape[1]}")
    values, B = _together(A.values, B)
    return _call.spmm(A.crow, A.col, values, B, *A.shape, transpose)


def sddmm(A: Any, X: torch.Tensor, Y: torch.Tensor) -> CSR:
    """X Y' at the positions of A, differentiable in X and Y; the values of A are not read."""
    A = as_csr(A)
    if not (X.dim() == Y.dim() == 2 and X.shape[1] == Y.shape[1] and (X.shape[0], Y.shape[0]) == tuple(A.shape)):
        raise ShapeError(f"X and Y have the shapes {tuple(X.shape)} and {tuple(Y.shape)}, but A is {A.shape[0]} x {A.shape[1]}")
    X, Y = _together(X, Y)
    return CSR(A.crow, A.col, _call.sddmm(A.crow, A.col, X, Y), A.shape)


def attention(A: Any, Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor, alpha: float | None = None) -> torch.Tensor:
    """softmax(alpha Q K' at the positions of A) V, differentiable in Q, K and V; scores are not stored. alpha: one over the root of Q's columns by default."""
    A = as_csr(A)
    if not (Q.dim() == K.dim() == V.dim() == 2 and Q.shape[1] == K.shape[1] and (Q.shape[0], K.shape[0]) == tuple(A.shape) and V.shape[0] == K.shape[0]):
        raise ShapeError(f"Q, K and V have the shapes {tuple(Q.shape)}, {tuple(K.shape)} and {tuple(V.shape)}, but A is {A.shape[0]} x {A.shape[1]}")
    Q, K, V = _together(Q, K, V)
    return _call.attention(A.crow, A.col, Q, K, V, float(alpha) if alpha is not None else 1.0 / max(1, Q.shape[1]) ** 0.5)


def spgemm(A: Any, B: Any) -> CSR:
    """A B, all sparse, differentiable in the values of A and B. C's pattern has an entry wherever a product falls."""
    A, B = as_csr(A), as_csr(B)
    if not (A.shape[1] == B.shape[0]):
        raise ShapeError(f"A is {A.shape[0]} x {A.shape[1]}, but B is {B.shape[0]} x {B.shape[1]}")
    a, b = _together(A.values, B.values, half=False)
    return CSR(*_call.spgemm(A.crow, A.col, a, B.crow, B.col, b, A.shape[0], A.shape[1], B.shape[1]), (A.shape[0], B.shape[1]))


def solve_triangular(T: Any, b: torch.Tensor, *, lower: bool = True, unit_diagonal: bool = False, transpose: bool = False) -> torch.Tensor:
    """Solves op(T) x = b for a sparse triangle, differentiable in the values of T and in b (a vector, or a matrix of right-hand sides)."""
    T = as_csr(T)
    if not (T.shape[0] == T.shape[1] == b.shape[0]):
        raise ShapeError(f"T is {T.shape[0]} x {T.shape[1]}, and b has {b.shape[0]} rows")
    values, b = _together(T.values, b, half=False)
    return _call.solve_triangular(T.crow, T.col, values, b, lower, unit_diagonal, transpose)


def softmax_rows(crow: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
    """The softmax of the nonzeros of every row, with memory for the nonzeros alone."""
    rows = crow.numel() - 1
    row = _rows_of(crow, scores.numel())
    most = scores.detach().new_full((rows,), float("-inf")).scatter_reduce(0, row, scores.detach(), "amax")
    e = torch.exp(scores - most[row])
    return e / e.new_zeros(rows).index_add(0, row, e)[row]


# ---- layers


def from_edges(edges: torch.Tensor, nodes: int, *, self_loops: bool = True, normalize: bool = True, dtype: torch.dtype = torch.float32) -> CSR:
    """The adjacency matrix of a graph: entry (i, j) for the edge j -> i.

    Parameters
    ----------
    edges : Tensor
        2 x edges: sources and targets, as PyTorch Geometric's edge_index. Repeated edges count once.
    nodes : int
    self_loops : bool
        An edge of every node to itself, as graph convolutions want.
    normalize : bool
        Divide the entry (i, j) by the root of the degrees of i and j, as GCN does.
    dtype : dtype

    Returns
    -------
    CSR
    """
    source, target = edges[0].long(), edges[1].long()
    if self_loops:
        loop = torch.arange(nodes, device=edges.device)
        source, target = torch.cat([source, loop]), torch.cat([target, loop])
    place = torch.unique(target * nodes + source)
    row, col = place // nodes, (place % nodes).to(torch.int32)
    degree = torch.bincount(row, minlength=nodes)
    crow = torch.cat([degree.new_zeros(1), degree.cumsum(0)])
    root = degree.to(dtype).clamp(min=1).rsqrt()
    values = root[row] * root[col.long()] if normalize else torch.ones(col.numel(), dtype=dtype, device=edges.device)
    return CSR(crow, col, values, (nodes, nodes))


class GCN(torch.nn.Module):
    """A graph convolution: A (X W) + bias (Kipf and Welling, 2017), with `A` of `from_edges`."""

    def __init__(self, features: int, outputs: int, bias: bool = True) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.empty(features, outputs))
        self.bias = torch.nn.Parameter(torch.zeros(outputs)) if bias else None
        torch.nn.init.xavier_uniform_(self.weight)

    def forward(self, A: Any, X: torch.Tensor) -> torch.Tensor:
        H = spmm(A, X @ self.weight)
        return H if self.bias is None else H + self.bias


class GAT(torch.nn.Module):
    """Graph attention (Veličković et al., 2018): every row of the result is a weighted mean of the neighbours' X W, heads side by side."""

    def __init__(self, features: int, outputs: int, heads: int = 1, slope: float = 0.2) -> None:
        super().__init__()
        self.heads, self.outputs, self.slope = heads, outputs, slope
        self.weight = torch.nn.Parameter(torch.empty(features, heads * outputs))
        self.target, self.source = (torch.nn.Parameter(torch.empty(heads, outputs)) for _ in range(2))
        self.bias = torch.nn.Parameter(torch.zeros(heads * outputs))
        for p in (self.weight, self.target, self.source):
            torch.nn.init.xavier_uniform_(p)

    def forward(self, A: Any, X: torch.Tensor) -> torch.Tensor:
        A = as_csr(A)
        H = (X @ self.weight).view(-1, self.heads, self.outputs)
        to, of = (H * self.target).sum(-1), (H * self.source).sum(-1)
        row, col = _rows_of(A.crow, A.col.numel()), A.col.long()
        parts = []
        for h in range(self.heads):
            p = softmax_rows(A.crow, torch.nn.functional.leaky_relu(to[row, h] + of[col, h], self.slope))
            parts.append(spmm(CSR(A.crow, A.col, p, A.shape), H[:, h].contiguous()))
        return torch.cat(parts, dim=1) + self.bias
