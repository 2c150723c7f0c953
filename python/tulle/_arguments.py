# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""Types of arguments that are no arrays, checked by their names: what does not fit is an `UnsupportedType` that names the argument, or an `InvalidValue` that says its range."""
from __future__ import annotations

import operator
from typing import Any, Callable

import numpy as np

from ._errors import InvalidValue, UnsupportedType


def flag(x: Any, name: str) -> bool:
    if not isinstance(x, (bool, np.bool_)):
        raise UnsupportedType(f"{name} is True or False, not {x!r}")
    return bool(x)


def number(x: Any, name: str) -> float:
    if type(x) is float:
        return x
    if isinstance(x, (str, bytes, complex, np.complexfloating)):
        raise UnsupportedType(f"{name} is a real number, not {x!r}")
    try:
        return float(x)
    except (TypeError, ValueError, OverflowError):
        raise UnsupportedType(f"{name} is a real number, not {x!r}") from None


def text(x: Any, name: str) -> str:
    if not isinstance(x, str):
        raise UnsupportedType(f"{name} is a text, not {x!r}")
    return x


def whole(low: int, high: int) -> Callable[[Any, str], int]:
    """Checks of whole numbers that the library can hold; which of them it takes, it says itself."""

    def check(x: Any, name: str) -> int:
        try:
            n = operator.index(x)
        except TypeError:
            raise UnsupportedType(f"{name} is a whole number, not {x!r}") from None
        if not low <= n <= high:
            raise InvalidValue(f"{name} is {n}, and must be in {low} … {high}")
        return n

    return check


def look(x: Any, name: str) -> bool | str:
    if not isinstance(x, (bool, np.bool_)) and x != "always":
        raise InvalidValue(f"{name} is True, False or 'always', not {x!r}")
    return x


def seed(x: Any, name: str) -> int | None:
    return None if x is None else whole(0, 2**64 - 1)(x, name)


_FLAGS = ("transpose", "transpose_a", "transpose_b", "lower", "unit_diagonal", "sorted", "keep_columns", "scaled", "guess", "graphs", "symmetric", "pattern", "real_part", "strict", "complement")
_NUMBERS = ("alpha", "beta", "expected_calls", "atol", "seconds", "damping", "tolerance", "inflation", "prune", "recover_share", "threshold")
_WHOLE = ("n", "k", "attended", "right_hand_sides", "restart", "unknowns_per_node", "iterations", "source", "select", "recover", "most_per_row")
_TEXTS = ("policy", "method", "preconditioner", "accuracy", "scale", "comment", "format", "semiring", "triangle", "sentence")
_CHECKS: dict[str, Callable[[Any, str], Any]] = {
    **dict.fromkeys(_FLAGS, flag), **dict.fromkeys(_NUMBERS, number), **dict.fromkeys(_WHOLE, whole(-2**31, 2**31 - 1)), **dict.fromkeys(_TEXTS, text),
    "rtol": lambda x, name: None if x is None else number(x, name), "maxiter": whole(-2**63, 2**63 - 1), "check": look, "random_values": seed,
}


def checked(**given: Any) -> dict[str, Any]:
    """The arguments as Python's own types; those whose names are not known here as they are."""
    return {name: _CHECKS[name](x, name) if name in _CHECKS else x for name, x in given.items()}
