# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""How long threads of OpenMP spin while they wait for each other, before they sleep.

GNU's runtime spins 300,000 times: 10 to 20 ms on x86-64. On a machine with other work that is a core that the other thread waits for, at each barrier.
"""
from __future__ import annotations

import os
import platform
from types import TracebackType

SPINS = "2000" if platform.machine() in ("x86_64", "AMD64") else "20000"  # about 0.1 ms


def is_busy() -> bool:
    """By the load of the last minute. A thread that slept is woken at a price, which is lost where nobody else wants the cores."""
    try:
        return os.getloadavg()[0] >= 0.5 * (os.cpu_count() or 1)
    except OSError:
        return False


class SpinBriefly:
    """While it is entered, an OpenMP runtime that is loaded takes a shorter spin, on a machine with other work; not where the environment has a policy."""

    def __enter__(self) -> None:
        self.ours = is_busy() and not os.environ.keys() & {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"}
        if self.ours:
            os.environ["GOMP_SPINCOUNT"] = SPINS

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.ours:
            del os.environ["GOMP_SPINCOUNT"]
