# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""What is remembered of index arrays on a GPU, so that calls without a plan look through them once and then wait for nothing.

An entry lives as long as the arrays. It holds while they are the same arrays, and unchanged as far as the framework tells: torch counts writes to a tensor
(`_version`); CuPy counts nothing, so that writes into index arrays of CuPy are not seen. What is remembered is therefore never needed for a right result of a
valid matrix, only that it is valid and which kernel suits it.
"""
from __future__ import annotations

import weakref
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
