# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""From what callers have to arrays the library reads, and back to the caller's kind.

Sparse matrices: SciPy's arrays and matrices, sparse tensors of torch, `(indptr, indices, data)`; those on GPUs go by their addresses (_frameworks.py). The library has 32-bit indices and 64-bit
offsets, and also takes 32-bit offsets. What does not have that form is copied, and a note says what and why. Nothing of the caller's is ever changed.
"""
from __future__ import annotations

import contextlib
import functools
import sys
import warnings
from typing import Any, Callable, Iterator

import numpy as np

from . import _core
from ._context import context_of
from ._errors import Error, FallbackWarning, InvalidValue, ShapeError, UnsupportedType
from ._frameworks import BF16, F16, F32, F64, I32, I64, NAMES, Foreign, foreign, name_of

MAX_INDEX = 2**31 - 1
DTYPES: dict[str, np.dtype] = {name: dtype for dtype, name in NAMES.items()}


def dtype_of(dtype: Any) -> np.dtype:
    """float64 from "f64", "float64", numpy.float64, torch.float64; also "bf16", "bfloat16", torch.bfloat16."""
    if isinstance(dtype, str) and dtype in DTYPES:
        return DTYPES[dtype]
    if type(dtype).__module__ == "torch":
        dtype = str(dtype).removeprefix("torch.")
    if isinstance(dtype, str) and dtype == "bfloat16":
        return BF16
    return np.dtype(dtype).newbyteorder("=")


def is_torch(x: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def ready(a: np.ndarray) -> bool:
    """Whether the library can read the array as it is."""
    return a.flags.c_contiguous and a.flags.aligned and a.dtype.isnative


def why_copied(a: np.ndarray) -> str:
    return "of foreign byte order" if not a.dtype.isnative else "not contiguous" if not a.flags.c_contiguous else "not aligned"


def ascending_copy(a: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """A fresh, contiguous, native array."""
    return np.array(a, dtype=dtype, order="C", copy=True)


def one_dimensional(a: Any, name: str) -> np.ndarray:
    if is_torch(a):
        a = a.detach().numpy()
    a = np.asarray(a)
    if a.ndim != 1:
        raise ShapeError(f"{name} must have one dimension, not {a.ndim}")
    return a


def integers(a: Any, name: str) -> np.ndarray:
    a = one_dimensional(a, name)
    if a.dtype.kind not in "iu":
        if a.size:
            raise UnsupportedType(f"{name} must be integers, not {a.dtype}")
        a = a.astype(np.int32)
    return a


def require_inside(numbers: np.ndarray, limit: int, name: str) -> None:
    if numbers.size and (numbers.min() < 0 or numbers.max() >= limit):
        bad = int(np.argmax((numbers < 0) | (numbers >= limit)))
        raise InvalidValue(f"{name} {numbers[bad]} at position {bad} is outside 0 … {limit - 1}")


@contextlib.contextmanager
def errors_of_scipy() -> Iterator[None]:
    """What SciPy refuses, as an error of tulle's."""
    try:
        yield
    except Error:
        raise
    except (ValueError, IndexError, np.linalg.LinAlgError) as e:
        raise InvalidValue(f"SciPy: {e}") from e
    except TypeError as e:
        raise UnsupportedType(f"SciPy: {e}") from e


class Sparse:
    """A sparse matrix as arrays: stored by rows, or by columns."""

    __slots__ = ("by_column", "shape", "indptr", "indices", "data", "notes", "back", "source", "converted", "padded")

    def __init__(self, by_column: bool, shape: tuple[int, int], indptr: np.ndarray, indices: np.ndarray, data: np.ndarray, back: Callable, source: Any) -> None:
        self.by_column, self.shape = by_column, shape
        self.indptr, self.indices, self.data = indptr, indices, data
        self.notes: list[str] = []
        self.back = back          # (by_column, shape, indptr, indices, data) -> the caller's kind
        self.source = source
        self.converted = ""       # why the values are in another order than the caller's; empty: they are not
        self.padded = False       # whether the caller's format stores whole blocks

    framework = None              # arrays go by themselves, not by their addresses
    device = -1

    @property
    def dtype(self) -> np.dtype:
        return self.data.dtype

    def place(self, context: Any) -> _core.Context:
        return context._place(-1, 0)

    home = place

    def in_library_form(self, dtype: np.dtype) -> "Sparse":
        """Arrays the library reads, values in `dtype`; what is copied is noted."""
        self._take_offsets()
        self.cut()
        self._take_indices()
        self._take_values(dtype)
        return self

    def _take_offsets(self) -> None:
        a = integers(self.indptr, "indptr")
        if a.dtype in (I32, I64) and ready(a):
            if a.dtype == I32:
                self.notes.append(f"indptr: 32-bit, widened to 64 bits once ({a.size * 8} bytes)")
        elif a.dtype.kind == "u" and a.size and a.max() > np.iinfo(np.int64).max:
            raise InvalidValue(f"indptr has {a.max()}, which 64-bit integers do not hold")
        else:
            self.notes.append(f"indptr: {a.dtype.name}{'' if ready(a) else ', ' + why_copied(a)}: copied as int64")
            a = ascending_copy(a, I64)
        self.indptr = a

    def cut(self) -> None:
        """SciPy's arrays may be longer than the matrix."""
        self.indices, self.data = integers(self.indices, "indices"), one_dimensional(self.data, "data")
        end = int(self.indptr[-1]) if self.indptr.size else 0
        if 0 <= end <= min(self.indices.size, self.data.size):
            self.indices, self.data = self.indices[:end], self.data[:end]

    def _take_indices(self) -> None:
        a = self.indices
        if a.dtype != I32 or not ready(a):
            require_inside(a, self.shape[0] if self.by_column else self.shape[1], "row" if self.by_column else "column")
            self.notes.append(f"indices: {a.dtype.name}{'' if ready(a) else ', ' + why_copied(a)}: copied as int32")
            a = ascending_copy(a, I32)
        self.indices = a

    def _take_values(self, dtype: np.dtype) -> None:
        a = self.data
        if a.dtype != dtype or not ready(a):
            self.notes.append(f"data: {a.dtype.name}{'' if ready(a) else ', ' + why_copied(a)}: copied as {dtype.name}")
            a = ascending_copy(a, dtype)
        self.data = a

    def compressed(self, place: _core.Context, check: bool = True) -> _core.Compressed:
        """The library's view; offsets and indices are looked through unless `check` is false."""
        return _core.Compressed(place, self.by_column, *self.shape, self.indptr, self.indices, self.data, bool(check))

    def looked_through(self) -> "Sparse":
        """Itself, with offsets and indices that SciPy, which trusts them, can be given; values may have any type."""
        values = np.empty(one_dimensional(self.data, "data").size)
        pattern = Sparse(self.by_column, self.shape, self.indptr, self.indices, values, self.back, self.source)
        pattern.in_library_form(F64).compressed(pattern.place(context_of(None)))
        return self

    def without_repeats(self) -> "Sparse":
        """A copy with sorted rows and entries at the same position added up."""
        csr = self.scipy()
        csr = csr.copy()
        csr.sum_duplicates()
        s = Sparse(self.by_column, self.shape, csr.indptr, csr.indices, csr.data, self.back, self.source)
        s.notes = self.notes + ["indices: not sorted or with repeats: copied, sorted and added up"]
        s.converted = "its rows were not sorted or had repeats"
        return s

    def transposed(self) -> "Sparse":
        """The same arrays, read the other way."""
        s = Sparse(not self.by_column, self.shape[::-1], self.indptr, self.indices, self.data, self.back, self.source)
        s.notes, s.converted, s.padded = self.notes, self.converted, self.padded
        return s

    def by_rows(self) -> "Sparse":
        """Itself, or a copy in CSR of what is stored by columns."""
        if not self.by_column:
            return self
        csr = self.looked_through().scipy().tocsr()
        s = Sparse(False, self.shape, csr.indptr, csr.indices, csr.data, self.back, self.source)
        s.notes = self.notes + ["csc: converted to csr"]
        s.converted = "it was converted from csc to csr"
        return s

    def scipy(self) -> Any:
        """As SciPy's, for what tulle does not have."""
        from scipy import sparse

        make = sparse.csc_array if self.by_column else sparse.csr_array
        with errors_of_scipy():
            a = make((self.data, self.indices, self.indptr), shape=self.shape)
        a.has_sorted_indices = False           # looked at when it matters
        return a


# ---- from the caller's kind


def shape_of(shape: Any) -> tuple[int, int]:
    if shape is None:
        raise ShapeError("(indptr, indices, data) do not say how many columns there are", "give shape=(rows, columns)")
    r, c = (int(n) for n in shape)
    if r < 0 or c < 0 or r > MAX_INDEX or c > MAX_INDEX:
        raise ShapeError(f"a matrix of {r} x {c} is outside what tulle can have (0 to {MAX_INDEX} rows and columns)")
    return r, c


def back_to_scipy(cls_csr: Any, cls_csc: Any) -> Callable:
    def back(by_column: bool, shape: tuple[int, int], indptr: Any, indices: Any, data: Any) -> Any:
        if data.size <= MAX_INDEX:
            indptr = indptr.astype(np.int32)          # SciPy would copy the indices to 64 bits otherwise
        c = (cls_csc if by_column else cls_csr)((data, indices, indptr), shape=shape)
        c.has_canonical_format = True                 # the library's results are sorted, without repeats; with_order() where they are not
        return c

    return back


def with_order(c: Any, in_order: bool, canonical: bool) -> Any:
    """A result whose flags say whether its rows are sorted, and that without repeats, where it has such flags."""
    if not canonical and hasattr(c, "has_canonical_format"):
        c.has_canonical_format, c.has_sorted_indices = False, in_order
    return c


def without_padding(a: Sparse | Foreign) -> Sparse | Foreign:
    """The matrix, or a copy without the zeros that fill its blocks: they are no entries of a triangle."""
    if a.framework is not None or not a.padded:
        return a
    c = a.looked_through().scipy().copy()
    c.eliminate_zeros()
    s = Sparse(a.by_column, a.shape, c.indptr, c.indices, c.data, a.back, a.source)
    s.notes, s.converted = a.notes + ["zeros in blocks: left out"], a.converted
    return s


def needs_order(a: Any) -> bool:
    """Whether results of this kind must be sorted: sparse tensors of torch, and what is on a GPU."""
    return a.framework is not None or a.back is back_to_torch


@functools.cache
def back_to_arrays(arrays: bool) -> Callable:
    """To SciPy's sparse arrays, or to its older matrices."""
    from scipy import sparse as sp

    return back_to_scipy(sp.csr_array, sp.csc_array) if arrays else back_to_scipy(sp.csr_matrix, sp.csc_matrix)


def require_lengths(first: Any, second: Any, names: str) -> None:
    if len(first) != len(second):
        raise ShapeError(f"the matrix has {len(first)} and {len(second)} {names}")


def look_through_coo(A: Any) -> None:
    for numbers, limit, name in (A.row, A.shape[0], "row"), (A.col, A.shape[1], "column"):
        require_lengths(numbers, A.data, f"{name}s and values")
        require_inside(integers(numbers, f"{name}s"), limit, name)


def look_through_bsr(A: Any) -> None:
    rows, cols = A.blocksize
    Sparse(False, (A.shape[0] // rows, A.shape[1] // cols), A.indptr, A.indices, A.data[:, 0, 0], None, A).looked_through()


def look_through_dia(A: Any) -> None:
    require_lengths(A.offsets, A.data, "offsets and diagonals")


def look_through_lil(A: Any) -> None:
    require_lengths(A.rows, A.data, "rows of columns and of values")
    for columns, values in zip(A.rows, A.data):
        require_lengths(columns, values, "columns and values in a row")


LOOK_THROUGH: dict[str, Callable] = {"coo": look_through_coo, "bsr": look_through_bsr, "dia": look_through_dia, "lil": look_through_lil}


def converted_to_csr(A: Any) -> Any:
    """By SciPy, which would read and write outside of malformed arrays."""
    with errors_of_scipy():
        LOOK_THROUGH.get(A.format, lambda _: None)(A)
        return A.tocsr()


def from_scipy(A: Any) -> Sparse:
    if A.ndim != 2:
        raise ShapeError(f"a sparse array must have two dimensions, not {A.ndim}")
    notes = []
    if A.format not in ("csr", "csc"):
        notes.append(f"{A.format}: converted to csr")
        A_used = converted_to_csr(A)
    else:
        A_used = A
    back = back_to_arrays(isinstance(A, sys.modules["scipy.sparse"].sparray))
    s = Sparse(A_used.format == "csc", shape_of(A.shape), A_used.indptr, A_used.indices, A_used.data, back, A)
    s.notes = notes
    s.converted = f"it was converted from {A.format} to csr" if notes else ""
    s.padded = A.format == "bsr"
    return s


def back_to_torch(by_column: bool, shape: tuple[int, int], indptr: Any, indices: Any, data: Any) -> Any:
    import torch

    make = torch.sparse_csc_tensor if by_column else torch.sparse_csr_tensor
    return make(torch.from_numpy(indptr), torch.from_numpy(indices.astype(np.int64)), torch.from_numpy(data), size=shape)


def from_torch(A: Any) -> Sparse:
    import torch

    if A.device.type != "cpu":
        raise UnsupportedType(f"the tensor is on {A.device}", "tulle works on the CPU and on CUDA devices: A.cpu()")
    if A.dim() != 2:
        raise ShapeError(f"a sparse tensor must have two dimensions, not {A.dim()}")
    notes, padded = [], A.layout in (torch.sparse_bsr, torch.sparse_bsc)
    if A.layout not in (torch.sparse_csr, torch.sparse_csc):
        notes.append(f"{A.layout}: converted to CSR")
        A = A.to_sparse_csr()
    by_column = A.layout == torch.sparse_csc
    indptr, indices = (A.ccol_indices(), A.row_indices()) if by_column else (A.crow_indices(), A.col_indices())
    s = Sparse(by_column, shape_of(A.shape), indptr.numpy(), indices.numpy(), A.values().detach().numpy(), back_to_torch, A)
    s.notes = notes
    s.converted = "it was converted to CSR" if notes else ""
    s.padded = padded
    return s


def from_arrays(A: Any, shape: Any) -> Sparse:
    indptr, indices, data = A
    as_torch = is_torch(data)

    def back(by_column: bool, shape: tuple[int, int], indptr: Any, indices: Any, data: Any) -> Any:
        if as_torch:
            import torch

            return tuple(torch.from_numpy(a) for a in (indptr, indices, data))
        return indptr, indices, data

    return Sparse(False, shape_of(shape), integers(indptr, "indptr"), integers(indices, "indices"), one_dimensional(data, "data"), back, A)


def sparse(A: Any, shape: Any = None) -> Sparse | Foreign:
    """A sparse matrix of any kind there is; where the kind has a shape, `shape` must be the same."""
    a = known_kind(A, shape)
    if shape is not None and shape_of(shape) != tuple(a.shape):
        raise ShapeError("shape= says {} x {}, but A is {} x {}".format(*shape_of(shape), *a.shape), "leave it out: it is for (indptr, indices, data)")
    return a


def known_kind(A: Any, shape: Any) -> Sparse | Foreign:
    if type(A) is Foreign:
        return A
    by_address = foreign(A, shape) if type(A) in (tuple, list) or "torch" in sys.modules or "cupyx.scipy.sparse" in sys.modules else None
    if by_address is not None:
        return by_address
    if type(A) is tuple or type(A) is list:
        if len(A) != 3:
            raise ShapeError(f"a matrix as arrays is (indptr, indices, data), not {len(A)} things")
        return from_arrays(A, shape)
    module = sys.modules.get("scipy.sparse")
    if module is not None and module.issparse(A):
        return from_scipy(A)
    if is_torch(A):
        return from_torch(A)
    if hasattr(A, "_tulle_sparse"):
        return A._tulle_sparse()
    hint = "tulle works on sparse matrices: scipy.sparse.csr_array(A) makes one" if isinstance(A, np.ndarray) else "a SciPy sparse array, a sparse tensor of torch, or (indptr, indices, data) with shape="
    raise UnsupportedType(f"{type(A).__name__} is no sparse matrix that tulle knows", hint)


def on_host(a: Sparse | Foreign) -> Sparse:
    """The matrix, for what only reads the host's memory."""
    if a.framework is not None:
        raise UnsupportedType(f"the matrix is in arrays of {a.framework.name}, but this reads NumPy's", "bring it to the host, in float64 or float32: A.get() in CuPy, A.cpu() in torch")
    return a


# ---- dense arrays


def dense(x: Any, name: str) -> tuple[np.ndarray, bool]:
    """The array behind x, and whether it is torch's."""
    if type(x) is np.ndarray:
        return x, False
    if is_torch(x):
        if x.device.type != "cpu":
            raise UnsupportedType(f"{name} is on {x.device}, but the matrix is on the host", "both must be on the same device")
        return x.detach().numpy(), True
    if not isinstance(x, np.ndarray) and hasattr(x, "__dlpack__"):
        return np.from_dlpack(x), False
    a = np.asarray(x)
    if a.dtype == object:
        raise UnsupportedType(f"{name} is no array of numbers: {type(x).__name__}")
    return a, False


def give_back(a: np.ndarray, as_torch: bool) -> Any:
    if as_torch:
        import torch

        return torch.from_numpy(a)
    return a


# ---- which numbers


def require_real(dtype: np.dtype, name: str) -> None:
    if dtype.kind == "c":
        raise UnsupportedType(f"{name} has complex numbers, of which the imaginary part would be lost", "give the real part (.real), or the magnitude (abs)")


def real_array(x: Any, name: str, dtype: np.dtype = F64) -> np.ndarray:
    """Contiguous, in a type; complex numbers are refused."""
    a = np.asarray(x)
    if a.dtype.kind not in "biufc" and a.dtype != BF16:
        raise UnsupportedType(f"{name} is no array of numbers: {type(x).__name__}")
    require_real(a.dtype, name)
    return np.ascontiguousarray(a, dtype)


def common_dtype(*dtypes: np.dtype) -> np.dtype:
    if BF16 in dtypes:
        others = [d for d in dtypes if d != BF16]
        return BF16 if not others else F32 if all(d in (F16, F32) for d in others) else F64
    try:
        return np.result_type(*(d.newbyteorder("=") for d in dtypes))
    except TypeError:
        raise UnsupportedType(f"{' and '.join(map(str, dtypes))} have no type in common") from None


_warned: set[str] = set()


def level_of_caller() -> int:
    """The stacklevel with which the function that asks warns of the code that called this package, also through SciPy's LinearOperator."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in (__package__, "scipy"):
        frame, level = frame.f_back, level + 1
    return level


def fall_back(operation: str, dtype: np.dtype, strict: bool, who: str = "SciPy") -> None:
    """Says, once for each operation and type, that SciPy (or the caller's framework) does the work; UnsupportedType where the caller forbids it."""
    what = f"tulle has no {operation} for {name_of(dtype)}"
    if dtype.kind not in "biufc":
        raise UnsupportedType(what)
    if strict:
        raise UnsupportedType(what, f"convert to float64 or float32, or leave strict=True out: {who} does it then")
    if what not in _warned:
        _warned.add(what)
        warnings.warn(f"{what}: {who} does it", FallbackWarning, stacklevel=level_of_caller())
