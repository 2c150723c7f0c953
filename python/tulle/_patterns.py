# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""What is remembered of index arrays on a GPU, so that calls without a plan look through them once and then wait for nothing.

An entry lives as long as the arrays. It holds while they are the same arrays, and unchanged as far as the framework tells: torch counts writes to a tensor
(`_version`); CuPy counts nothing, so that writes into index arrays of CuPy are not seen. What is remembered is therefore never needed for a right result of a
valid matrix, only that it is valid and which kernel suits it.
"""
from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from typing import Any

_known: dict[int, "Pattern"] = {}


class Pattern:
    """Index arrays that were found to be sound."""

    __slots__ = ("owners", "mark", "lanes", "indices", "order")

    def __init__(self, owners: tuple[Any, ...], mark: tuple[Any, ...]) -> None:
        key = id(owners[0])
        self.owners = tuple(weakref.ref(o, lambda _: _known.pop(key, None)) for o in owners)
        self.mark = mark
        self.lanes: int | None = None            # of direct products; 0: the split kernel
        self.indices: Any = None                 # a copy in 32 bits, where the framework counts writes
        self.order: tuple[bool, bool] | None = None      # sorted, unique; None: not looked at


def recall(a: Any) -> Pattern | None:
    """What is known of the index arrays of a matrix, unless they have changed."""
    if not a.owners:
        return None
    known = _known.get(id(a.owners[0]))
    if known is None or known.mark != a.mark() or any(ref() is not o for ref, o in zip(known.owners, a.owners)):
        return None
    return known


def remember(a: Any, lanes: int | None = None, order: tuple[bool, bool] | None = None) -> None:
    """Notes that a matrix was looked through, and what was found, where the framework can tell one array from another. Kernels that trust indices need one that
    counts writes.
    """
    counted = a.framework.counts_writes
    if not a.owners or not counted and (lanes == 0 or order is not None):
        return
    known = recall(a)
    if known is None:
        mark = a.mark()
        if mark is None:
            return
        try:
            known = _known[id(a.owners[0])] = Pattern(a.owners, mark)
        except TypeError:                        # no weak references to such objects
            return
    known.lanes = known.lanes if lanes is None else lanes
    known.order = known.order or order
    if counted and a.indices is not a.given[1]:
        known.indices = a.indices


def forget(a: Any) -> None:
    """Drops what is known of a matrix, so that its arrays are looked through again."""
    if a.owners:
        _known.pop(id(a.owners[0]), None)
        _forget(id(a.source))


# ---- matrices that are one object: a sparse tensor of torch, a matrix of CuPy

_bound: dict[int, "Bound"] = {}
bound_to = _bound.get                            # by id(A)
_recent: "OrderedDict[tuple[int, Any], Bound]" = OrderedDict()
MOST_PLANS = 16


class Bound:
    """A matrix whose pattern is known, with all that products without a plan need but the operand. It lives as long as the matrix, whose arrays it keeps."""

    __slots__ = ("ref", "framework", "device", "rows", "cols", "mark", "arrays", "context", "products", "plans", "lock")

    def __init__(self, A: Any, a: Any, context: Any) -> None:
        key = id(A)
        self.ref = weakref.ref(A, lambda _: _forget(key))
        self.framework, self.device, self.context = a.framework, a.device, context
        self.rows, self.cols = a.shape
        self.mark = self.framework.matrix_mark(A)
        self.arrays = (*a.given, a.indptr, a.indices, a.data)
        self.products: dict[Any, Any] = {}       # by the type of x: calls of the library for SpMV
        self.plans: dict[Any, Any] = {}          # by the type and the columns of B: plans for SpMM
        self.lock = threading.Lock()             # new values and the product that reads them go together

    def holds(self, A: Any) -> bool:
        """Whether it is still this matrix, with the same arrays."""
        return self.ref() is A and self.framework.matrix_mark(A) == self.mark

    def multiply(self, A: Any, x: Any, out: Any, alpha: float, beta: float) -> Any:
        """y = alpha A x + beta y, queued by one call of the library; None where the operands or the matrix must be looked at first."""
        f, device = self.framework, self.device
        at = f.plain_vector(x, device, self.cols)
        run = self.products.get(x.dtype) if at is not None else None
        if run is None or not self.holds(A):
            return None
        if out is None:
            if beta != 0.0:
                return None
            out = f.new_like(x, self.rows)
            to = f.address(out)
        else:
            to = f.plain_vector(out, device, self.rows)
            if to is None or out.dtype != x.dtype:
                return None
        stream = f.stream(device)
        run(self.context._places.get((device, stream)) or self.context._place(device, stream), at, self.cols, to, alpha, beta)
        return out

    def multiply_dense(self, A: Any, B: Any, out: Any, alpha: float, beta: float) -> Any:
        """C = alpha A B + beta C with the plan of an earlier call; None without one. Values are read anew."""
        if len(getattr(B, "shape", ())) != 2 or not self.plans:
            return None
        key = (B.dtype, B.shape[1])
        plan = self.plans.get(key)
        if plan is None or not self.holds(A):
            return None
        with self.lock:
            if not plan._values_in_place:
                plan._update_at((self.arrays[-1],))
            result = plan(B, out, alpha=alpha, beta=beta)
        try:
            _recent.move_to_end((id(A), key))
        except KeyError:                         # dropped by another thread
            pass
        return result


def _forget(key: int) -> None:
    bound = _bound.pop(key, None)
    for kind in list(bound.plans) if bound is not None else ():
        _recent.pop((key, kind), None)


def bind(A: Any, a: Any, context: Any) -> Bound | None:
    """What products with a matrix need, to be found by `bound_to(id(A))`; None where the framework cannot tell that it changed, or arrays had to be copied."""
    known = recall(a)
    if known is None or a.tuple or a.indptr is not a.given[0] or a.indices is not a.given[1] and a.indices is not known.indices:
        return None
    bound = _bound.get(id(A))
    if bound is None or not bound.holds(A):
        _forget(id(A))
        bound = _bound[id(A)] = Bound(A, a, context)
    return bound


def keep_plan(A: Any, bound: Bound, kind: Any, plan: Any) -> None:
    """Keeps a plan for the next call; of all matrices together, the few that were used last."""
    bound.plans[kind] = plan
    _recent[id(A), kind] = bound
    while len(_recent) > MOST_PLANS:
        (_, oldest), owner = _recent.popitem(last=False)
        owner.plans.pop(oldest, None)
