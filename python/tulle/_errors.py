# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""The errors of the library. Each is a tulle.Error and an error that Python programs already catch; `hint` says what to do next."""
from __future__ import annotations

import errno as numbers
import os
from typing import Any


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
    """A file cannot be opened, read or written.

    Attributes
    ----------
    errno, strerror, filename
        As of an OSError; `errno` is None where the operating system refused nothing.
    """

    def __init__(self, message: str = "", hint: str = "", errno: int | None = None, filename: Any = None) -> None:
        super().__init__(message, hint)
        self.errno, self.strerror, self.filename = errno, os.strerror(errno) if errno else None, filename

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message, self.hint, self.errno, self.filename)


class MissingFile(FileError, FileNotFoundError):
    """There is no such file, or no such folder to write into."""


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


# Hints of the library that speak of C++, in the words of this package: what follows replaces a hint that has the first text in it. A test finds every hint without a line here.
HINTS = (
    ("ReadOptions::complex", "real_part=True reads the real part"),
    ("ReadOptions::unproven_bytes", "the program reads it with --trust-header: tulle convert"),
    ("WriteOptions::pattern", "pattern=True leaves the values out; or use another format"),
    ("(sum_duplicates), or use the policy 'rows'", "add them up (A.sum_duplicates()), or give policy='rows'"),
    ("sum_duplicates", "add duplicates up first: A.sum_duplicates()"),
    ("tulle::sort_rows", "sort the rows first: A.sort_indices()"),
    ("store it, or set Options::unit_diagonal", "store it, or give unit_diagonal=True"),
    ("Options::unit_diagonal", "give unit_diagonal=True if it is meant to be one"),
    ("Options::other_side", "other_side='ignore' solves with one triangle of a general matrix"),
    ("set missing_diagonal to add", "store one, or write '+match' behind the preconditioner"),
    ("set shift or shift_attempts", "write '+match' or '+rcm' behind the preconditioner, or give another one"),
    ("(BlockJacobi)", "give preconditioner='none' or 'block-jacobi:8' with blocks that hold these rows, or reorder the matrix"),
    ("Coarsening::aggregation", "leave classical out of the preconditioner"),
    ("leave smooth_by empty", "leave +smoother[…] out of the preconditioner"),
    ("leave precision at automatic", "leave :f16 or :bf16 out of the preconditioner"),
    ("Storage::full", "leave :f16 or :bf16 out of the preconditioner"),
    ("NumericReuse::find_places keeps nothing", "leave keep_columns out, or raise the budget"),
    ("leave the refill at NumericReuse::find_places", "leave policy or keep_columns out"),
    ("NumericReuse::fastest", "leave policy or keep_columns out"),
    ("-DTULLE_CUDA=ON", "install it with -C cmake.define.CUDA=on on a machine with nvcc"),
    ("Context::cpu()", "tulle.doctor() tells more; arrays of NumPy always work"),
    ("tulle::to_device", "bring it there with the framework of the matrix, or tulle.to_device"),
    ("make a Plan<double>", "give dtype='f64'"),
    ("TeamOptions::", ""),
    ("ExecutionScope::", ""),
    ("Rule::", ""),
    ("narrow() makes", ""),
)


def python_hint(hint: str) -> str:
    """A hint of the library in the words of this package."""
    return next((ours for part, ours in HINTS if part in hint), hint)


def from_library(name: str, message: str, hint: str, errno: int = 0, **facts: Any) -> Error:
    """An error of the library as the class of that name here."""
    if errno:
        return (MissingFile if errno == numbers.ENOENT else FileError)(message, python_hint(hint), errno)
    error = globals()[name](message, python_hint(hint))
    for fact, value in facts.items():
        setattr(error, fact, value)
    return error
