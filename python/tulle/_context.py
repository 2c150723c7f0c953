# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""Where work is done, with how much memory, and how repeatable."""
from __future__ import annotations

import math

from . import _core
from ._arguments import flag, number, whole
from ._errors import DeviceError, InvalidValue, UnsupportedType


def to_bytes(budget: int | str | None) -> int:
    """Bytes from a number, a text such as "2GiB", or None for no limit."""
    if budget is None:
        return _core.unlimited
    if isinstance(budget, str):
        return _core.parse_bytes(budget)
    if not 0 <= number(budget, "budget") < math.inf:
        raise InvalidValue(f"a budget of {budget} bytes cannot be kept", "None is no limit")
    return min(int(budget), _core.unlimited)


class Context:
    """Where work is done.

    Parameters
    ----------
    device : str
        "cpu", "cuda" (arrays on any GPU) or "cuda:0". Work is done where the arrays are: this says which arrays are meant.
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

    __slots__ = ("_core", "_settings", "_places")

    def __init__(self, device: str = "cpu", threads: int = 0, deterministic: bool = False, budget: int | str | None = None) -> None:
        held = to_bytes(budget)
        deterministic, threads = flag(deterministic, "deterministic"), whole(-2**31, 2**31 - 1)(threads, "threads")
        if not isinstance(device, str):
            raise UnsupportedType(f"device is 'cpu', 'cuda' or 'cuda:0', not {device!r}")
        kind, _, number = device.partition(":")
        if kind not in ("cpu", "cuda") or number and not (kind == "cuda" and number.isdigit()):
            raise InvalidValue(f"device is 'cpu', 'cuda' or 'cuda:0', not {device!r}")
        self._places = {}
        self._core = _core.Context(threads, deterministic, held) if kind == "cpu" else None
        self._settings = (device, threads, deterministic, None if held == _core.unlimited else held)

    def _place(self, device: int, stream: int):
        """The library's context for arrays on the CPU (-1), or on a GPU and a stream of the caller's. Nothing made there may outlive the call: the stream may die."""
        if device < 0 and self._core is not None:
            return self._core
        place = self._places.get((device, stream))
        if place is None:
            name = self._settings[0]
            if device < 0 or name not in ("cuda", f"cuda:{device}"):
                raise DeviceError(f"the context is for {name}, but the arrays are on {'the host' if device < 0 else f'cuda:{device}'}", "leave context= out, or bring the arrays there")
            _, _, deterministic, budget = self._settings
            place = self._places[device, stream] = _core.Context(device, stream, deterministic, to_bytes(budget))
        return place

    def _home(self, device: int, stream: int):
        """The same for what outlives the call: on the default stream (0, 1), or on a stream of its own that follows the caller's."""
        place = self._place(device, 0)
        return place if device < 0 or stream in (0, 1) else place.on_own_stream(stream)

    @property
    def name(self) -> str:
        """As the library calls it, with the number of threads ("cpu:8"), or as it was made ("cuda:0")."""
        return self._core.name if self._core is not None else self._settings[0]

    @property
    def peak_bytes(self) -> int:
        """The most bytes held at once so far."""
        return max((p.peak_bytes for p in ([self._core] if self._core is not None else self._places.values())), default=0)

    def __repr__(self) -> str:
        return "Context(device={!r}, threads={}, deterministic={}, budget={})".format(*self._settings)

    def __reduce__(self):
        return Context, self._settings


_defaults: dict[int, Context] = {}               # by the threads of the CPU; 0: for GPUs


def context_of(context: Context | None, budget: int | str | None = None, device: int = -1) -> Context:
    """The caller's context, or the usual one for arrays on the CPU (-1) or a GPU; with a budget of its own where one is asked for."""
    if not (context is None or isinstance(context, Context)):
        raise UnsupportedType(f"context is a tulle.Context, not {context!r}", f"tulle.Context({context!r})" if isinstance(context, str) else "")
    if budget is not None:
        name, threads, deterministic, _ = (context or context_of(None, device=device))._settings
        return Context(name, threads, deterministic, budget)
    if context is not None:
        return context
    threads = 0 if device >= 0 else _core.available_threads()      # threadpoolctl changes them
    if threads not in _defaults:
        _defaults[threads] = Context("cuda" if device >= 0 else "cpu")
    return _defaults[threads]
