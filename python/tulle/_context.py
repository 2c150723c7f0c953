# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""Where work is done, with how much memory, and how repeatable."""
from __future__ import annotations

from . import _core
from ._errors import InvalidValue, NotBuilt


def to_bytes(budget: int | str | None) -> int:
    """Bytes from a number, a text such as "2GiB", or None for no limit."""
    if budget is None:
        return _core.unlimited
    if isinstance(budget, str):
        return _core.parse_bytes(budget)
    if budget < 0:
        raise InvalidValue(f"a budget of {budget} bytes cannot be kept")
    return min(int(budget), _core.unlimited)


class Context:
    """Where work is done.

    Parameters
    ----------
    device : str
        "cpu". GPU arrays are not supported by this version of the package.
    threads : int
        Threads of the CPU; 0 takes all that this process may use.
    deterministic : bool
        The same bits every time, also where that costs speed.
    budget : int or str, optional
        Bytes that may be held at once, such as ``"2GiB"``; more is an `OutOfMemory`.

    Examples
    --------
    >>> import tulle
    >>> tulle.Context(threads=2, budget="1GiB")
    Context(device='cpu', threads=2, deterministic=False, budget=1073741824)
    """

    __slots__ = ("_core", "_settings")

    def __init__(self, device: str = "cpu", threads: int = 0, deterministic: bool = False, budget: int | str | None = None) -> None:
        if device != "cpu":
            raise NotBuilt(f"this package works on the CPU, not on {device!r}", 'use device="cpu"; the C++ library and the program tulle can use GPUs')
        held = to_bytes(budget)
        self._core = _core.Context(threads, deterministic, held)
        self._settings = (device, threads, deterministic, None if held == _core.unlimited else held)

    @property
    def name(self) -> str:
        """As the library calls it, with the number of threads: "cpu:8"."""
        return self._core.name

    @property
    def peak_bytes(self) -> int:
        """The most bytes held at once so far."""
        return self._core.peak_bytes

    def __repr__(self) -> str:
        return "Context(device={!r}, threads={}, deterministic={}, budget={})".format(*self._settings)

    def __reduce__(self):
        return Context, self._settings


_default: Context | None = None


def context_of(context: Context | None, budget: int | str | None = None) -> Context:
    """The caller's context, or the usual one; with a budget of its own where one is asked for."""
    global _default
    if budget is not None:
        device, threads, deterministic, _ = (context or context_of(None))._settings
        return Context(device, threads, deterministic, budget)
    if context is not None:
        return context
    if _default is None:
        _default = Context()
    return _default
