# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""The errors of the library. Each is a tulle.Error and an error that Python programs already catch; `hint` says what to do next."""
from __future__ import annotations


class Error(Exception):
    """Base of all errors of tulle.

    Attributes
    ----------
    message : str
        What is wrong, with the numbers.
    hint : str
        What to do next; empty where there is nothing to say.
    """

    def __init__(self, message: str = "", hint: str = "") -> None:
        super().__init__(message, hint)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n  hint: {self.hint}" if self.hint else self.message


class ShapeError(Error, ValueError):
    """Sizes of arguments do not fit each other."""


class InvalidValue(Error, ValueError):
    """A value out of range: a column beyond the matrix, an offset that falls, an unknown option."""


class UnsupportedType(Error, TypeError):
    """Numbers, or an object, that tulle cannot compute with."""


class FileError(Error, OSError):
    """A file cannot be opened, read or written."""


class FormatError(FileError, ValueError):
    """The contents of a file are wrong."""


class OutOfMemory(Error, MemoryError):
    """Memory that the machine does not have or the budget does not allow.

    Attributes
    ----------
    needed, available : int
        Bytes.
    """

    needed: int = 0
    available: int = 0


class NotBuilt(Error, NotImplementedError):
    """Something this build does not contain."""


class DeviceError(Error, RuntimeError):
    """A GPU, its driver, or memory of the wrong device."""


class PlanMismatch(Error, ValueError):
    """A plan used with a matrix other than the one it was made for."""


class Forked(Error, RuntimeError):
    """A plan from before a fork. Plans remake themselves, so that users do not see this."""


class FallbackWarning(UserWarning):
    """An operation was done by SciPy because tulle does not have it for these numbers."""
