# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""Arrays that the library is given by their address: those of torch and CuPy on a GPU, anything with `__cuda_array_interface__`, and torch's bfloat16.

A framework tells where an array begins, its strides, its device and the current stream, makes results in its own memory, and converts what the library does
not read. Nothing here waits for a GPU but the check of 64-bit indices.
"""
from __future__ import annotations

import functools
import sys
import warnings
from typing import Any

import numpy as np

from . import _core
from ._context import context_of
from ._errors import DeviceError, InvalidValue, ShapeError, UnsupportedType
from ._patterns import recall, remember

F16, F32, F64 = np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64)
BF16 = np.dtype([("bfloat16", np.uint16)])         # NumPy has no such numbers; torch has
I32, I64 = np.dtype(np.int32), np.dtype(np.int64)
NAMES = {F16: "f16", BF16: "bf16", F32: "f32", F64: "f64"}
FLOATS = (F16, BF16, F32, F64)


def name_of(dtype: np.dtype) -> str:
    return "bfloat16" if dtype == BF16 else dtype.name if dtype.isnative else f"{dtype.name} of foreign byte order"


def where(device: int) -> str:
    return "the host" if device < 0 else f"cuda:{device}"


class Torch:
    """Tensors of torch, on a GPU or on the CPU (device -1)."""

    name = "torch"
    sparse_hint = "A.to_sparse_csr()"

    def __init__(self) -> None:
        import torch

        self.torch, self.tensor, self.strided = torch, torch.Tensor, torch.strided
        self.to_numpy = {getattr(torch, d): np.dtype(d) for d in ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool", "complex64", "complex128")}
        self.to_numpy[torch.bfloat16] = BF16
        self.from_numpy = {b: a for a, b in self.to_numpy.items()}
        self.device_object = functools.cache(lambda device: torch.device("cpu") if device < 0 else torch.device("cuda", device))
        self.stream_object = functools.lru_cache(16)(lambda stream, device: torch.cuda.ExternalStream(stream, device=device) if stream > 1 else torch.cuda.default_stream(device))
        self.raw_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None) or (lambda device: torch.cuda.current_stream(device).cuda_stream)

    def dtype(self, a: Any) -> np.dtype:
        return self.to_numpy[a.dtype]

    def native(self, dtype: np.dtype) -> Any:
        """What the framework itself calls a type."""
        return self.from_numpy[dtype]

    def shape(self, a: Any) -> tuple[int, ...]:
        return tuple(a.shape)

    def strides(self, a: Any) -> tuple[int, ...]:
        return a.stride()

    def address(self, a: Any) -> int:
        return a.data_ptr()

    def device(self, a: Any) -> int:
        return a.get_device()

    def stream(self, device: int) -> int:
        return self.raw_stream(device) if device >= 0 else 0

    def capturing(self) -> bool:
        return self.torch.cuda.is_current_stream_capturing()

    @functools.cached_property
    def counts_writes(self) -> bool:
        """Whether `_version` tells of writes into the index arrays of sparse tensors, which come as new tensors with every call."""
        torch = self.torch
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")          # sparse CSR is beta
            A = torch.sparse_csr_tensor(torch.tensor([0, 1]), torch.tensor([0]), torch.tensor([1.0]), size=(1, 1))
        before = A.crow_indices()._version, A.col_indices()._version
        A.crow_indices().zero_()
        after = A.crow_indices()._version, A.col_indices()._version
        A.col_indices().zero_()
        return before[0] != after[0] and after[1] != A.col_indices()._version

    def mark(self, a: Any) -> Any:
        """Changes when the numbers of an array do; None: cannot be told."""
        return None if a.is_inference() else (a.data_ptr(), a._version)

    def matrix_mark(self, A: Any) -> Any:
        """The same for a sparse tensor: the arrays that it hands out share its count."""
        return A._version

    def plain_vector(self, a: Any, device: int, n: int) -> int | None:
        """The address of a contiguous vector with n entries on a device; None: look at it in detail."""
        if isinstance(a, self.tensor) and a.get_device() == device and a.dim() == 1 and a.numel() == n and a.layout is self.strided and a.is_contiguous():
            return a.data_ptr()
        return None

    def plain_rows(self, a: Any, device: int, rows: int, cols: int = -1) -> Any:
        """The same for a matrix with contiguous rows; any number of columns for -1."""
        if not (isinstance(a, self.tensor) and a.get_device() == device and a.dim() == 2 and a.layout is self.strided and a.is_contiguous()):
            return None
        r, c = a.shape
        return _core.DenseAt(a.data_ptr(), r, c, max(c, 1), 1) if r == rows and cols in (-1, c) else None

    def new_like(self, like: Any, *shape: int) -> Any:
        return like.new_empty(*shape)

    def used_on(self, arrays: tuple[Any, ...], device: int, stream: int) -> None:
        """Their memory is not given to others before what is queued on the stream is done, wherever it was allocated."""
        user = self.stream_object(stream, device)
        for a in arrays:
            a.record_stream(user)

    def empty(self, shape: tuple[int, ...], dtype: np.dtype, device: int) -> Any:
        return self.torch.empty(shape, dtype=self.from_numpy[dtype], device=self.device_object(device))

    def astype(self, a: Any, dtype: np.dtype) -> Any:
        return a.detach().to(self.from_numpy[dtype]).contiguous()

    def contiguous(self, a: Any) -> Any:
        return a.detach().contiguous()

    def assign(self, target: Any, source: Any) -> None:
        target.detach().copy_(source)

    def limits(self, a: Any) -> tuple[int, int]:
        return int(a.min()), int(a.max())

    def compressed(self, by_column: bool, shape: tuple[int, int], indptr: Any, indices: Any, data: Any) -> Any:
        make = self.torch.sparse_csc_tensor if by_column else self.torch.sparse_csr_tensor
        return make(indptr, indices.to(indptr.dtype), data, size=shape)

    def by_rows(self, A: Any) -> Any:
        return A.to_sparse_csr()

    def without_repeats(self, A: Any, by_column: bool) -> Any:
        A = A.to_sparse_coo().coalesce()
        return A.to_sparse_csc() if by_column else A.to_sparse_csr()


class Cupy:
    """CuPy's arrays."""

    name = "cupy"
    sparse_hint = "A.tocsr()"

    def __init__(self) -> None:
        import cupy

        self.cupy, self.array = cupy, cupy.ndarray

    def dtype(self, a: Any) -> np.dtype:
        return a.dtype

    def native(self, dtype: np.dtype) -> Any:
        return dtype

    def shape(self, a: Any) -> tuple[int, ...]:
        return a.shape

    def strides(self, a: Any) -> tuple[int, ...]:
        return tuple(s // a.itemsize for s in a.strides)

    def address(self, a: Any) -> int:
        return a.data.ptr

    def device(self, a: Any) -> int:
        return a.device.id

    def stream(self, device: int) -> int:
        return self.cupy.cuda.get_current_stream().ptr

    def capturing(self) -> bool:
        return self.cupy.cuda.get_current_stream().is_capturing()

    counts_writes = False

    def mark(self, a: Any) -> Any:
        return a.data.ptr

    def matrix_mark(self, A: Any) -> Any:
        """Which arrays a matrix has; they are kept, so that no others get their numbers."""
        return id(A.indptr), id(A.indices), id(A.data)

    def plain_vector(self, a: Any, device: int, n: int) -> int | None:
        if isinstance(a, self.array) and a.shape == (n,) and (n <= 1 or a.strides[0] == a.itemsize) and a.device.id == device:
            return a.data.ptr
        return None

    def plain_rows(self, a: Any, device: int, rows: int, cols: int = -1) -> Any:
        return None

    def new_like(self, like: Any, *shape: int) -> Any:
        return self.empty(shape, like.dtype, like.device.id)

    def used_on(self, arrays: tuple[Any, ...], device: int, stream: int) -> None:
        """CuPy has no such thing: memory goes back to the stream it was allocated on."""

    def empty(self, shape: tuple[int, ...], dtype: np.dtype, device: int) -> Any:
        with self.cupy.cuda.Device(device):
            return self.cupy.empty(shape, dtype)

    def astype(self, a: Any, dtype: np.dtype) -> Any:
        return a.astype(dtype, order="C")

    def contiguous(self, a: Any) -> Any:
        return self.cupy.ascontiguousarray(a)

    def assign(self, target: Any, source: Any) -> None:
        target[...] = source

    def limits(self, a: Any) -> tuple[int, int]:
        return int(a.min()), int(a.max())

    def compressed(self, by_column: bool, shape: tuple[int, int], indptr: Any, indices: Any, data: Any) -> Any:
        from cupyx.scipy import sparse

        narrow = indptr.astype(np.int32) if len(data) <= np.iinfo(np.int32).max else indptr      # 64 bits: CuPy 14
        c = (sparse.csc_matrix if by_column else sparse.csr_matrix)((data, indices, narrow), shape=shape)
        c.has_canonical_format = True
        return c

    def by_rows(self, A: Any) -> Any:
        return A.tocsr()

    def without_repeats(self, A: Any, by_column: bool) -> Any:
        A = A.copy()
        A.sum_duplicates()
        return A


class Interface:
    """Anything with `__cuda_array_interface__`. It can be read, and written as `out`; results that tulle makes are `DeviceArray`s, and nothing can be converted."""

    name = "__cuda_array_interface__"
    sparse_hint = "(indptr, indices, data) by rows"

    def dtype(self, a: Any) -> np.dtype:
        return np.dtype(a.__cuda_array_interface__["typestr"])

    def native(self, dtype: np.dtype) -> Any:
        return dtype

    def shape(self, a: Any) -> tuple[int, ...]:
        return tuple(a.__cuda_array_interface__["shape"])

    def strides(self, a: Any) -> tuple[int, ...]:
        face = a.__cuda_array_interface__
        if face.get("strides") is not None:
            return tuple(s // np.dtype(face["typestr"]).itemsize for s in face["strides"])
        shape = face["shape"]
        return tuple(int(np.prod(shape[k + 1:])) for k in range(len(shape)))

    def address(self, a: Any) -> int:
        return a.__cuda_array_interface__["data"][0]

    def device(self, a: Any) -> int:
        return int(getattr(a, "device_id", 0))

    def stream(self, device: int) -> int:
        return 0

    def capturing(self) -> bool:
        return False

    counts_writes = False

    def mark(self, a: Any) -> Any:
        return None

    def plain_vector(self, a: Any, device: int, n: int) -> int | None:
        return None

    def plain_rows(self, a: Any, device: int, rows: int, cols: int = -1) -> Any:
        return None

    def used_on(self, arrays: tuple[Any, ...], device: int, stream: int) -> None:
        pass

    def empty(self, shape: tuple[int, ...], dtype: np.dtype, device: int) -> Any:
        return DeviceArray(shape, dtype, device)

    def refuse(self, what: str) -> Any:
        raise UnsupportedType(f"{what}, and arrays that only have __cuda_array_interface__ cannot be converted", "use arrays of CuPy or torch, or convert them before")

    def astype(self, a: Any, dtype: np.dtype) -> Any:
        return self.refuse(f"the array is {self.dtype(a).name}, but {name_of(dtype)} is needed")

    def contiguous(self, a: Any) -> Any:
        return self.refuse("the array is not contiguous")

    def assign(self, target: Any, source: Any) -> None:
        self.refuse("out is not contiguous")

    def limits(self, a: Any) -> tuple[int, int]:
        return self.refuse("indices have 64 bits")

    def by_rows(self, A: Any) -> Any:
        return self.refuse("the matrix is stored by columns")

    def without_repeats(self, A: Any, by_column: bool) -> Any:
        return self.refuse("the matrix is not sorted or has repeats")


class DeviceArray:
    """An array on a GPU without any framework; `__cuda_array_interface__` lets all of them read it.

    Parameters
    ----------
    shape : tuple of int
    dtype : dtype
    device : int
        Number of the GPU.

    Examples
    --------
    With a GPU: ``x = tulle.to_device(numpy.ones(3)); x.numpy()``
    """

    __slots__ = ("shape", "dtype", "device_id", "_bytes", "__weakref__")

    def __init__(self, shape: Any, dtype: Any, device: int = 0) -> None:
        self.shape, self.dtype, self.device_id = tuple(int(n) for n in np.atleast_1d(shape)), np.dtype(dtype), device
        place = context_of(None, device=device)._place(device, 0)
        self._bytes = _core.DeviceBytes(place, int(np.prod(self.shape)) * self.dtype.itemsize)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {"shape": self.shape, "typestr": self.dtype.str, "data": (self._bytes.address, False), "strides": None, "version": 3, "stream": 1}

    def numpy(self) -> np.ndarray:
        """A copy on the host; waits."""
        a = np.empty(self.shape, self.dtype)
        self._bytes.download(a.reshape(-1).view(np.uint8))
        return a

    def __repr__(self) -> str:
        return f"<tulle.DeviceArray {self.shape}, {self.dtype.name}, cuda:{self.device_id}>"


def to_device(a: Any, device: int = 0) -> DeviceArray:
    """A copy of a NumPy array on a GPU, for those who have neither CuPy nor torch.

    Parameters
    ----------
    a : array_like
    device : int
        Number of the GPU.

    Returns
    -------
    DeviceArray
    """
    a = np.ascontiguousarray(a)
    there = DeviceArray(a.shape, a.dtype, device)
    there._bytes.upload(a.reshape(-1).view(np.uint8))
    return there


_frameworks: dict[type, Any] = {}


def the(kind: type) -> Any:
    if kind not in _frameworks:
        _frameworks[kind] = kind()
    return _frameworks[kind]


_torch: Any = None


def adopt(x: Any) -> tuple[Any, Any] | None:
    """The framework of an array that goes by its address, and the array; None for what NumPy reads."""
    global _torch
    if type(x) is np.ndarray:
        return None
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(x, torch.Tensor):
        if _torch is None:
            _torch = the(Torch)
        return (_torch, x) if x.is_cuda or x.dtype is torch.bfloat16 else None
    if hasattr(x, "__cuda_array_interface__"):
        return the(Cupy if type(x).__module__.partition(".")[0] == "cupy" else Interface), x
    if hasattr(x, "__dlpack_device__") and x.__dlpack_device__()[0] in (2, 13):        # CUDA, managed memory
        if "cupy" in sys.modules:
            return the(Cupy), sys.modules["cupy"].from_dlpack(x)
        if torch is not None:
            return the(Torch), torch.from_dlpack(x)
        raise UnsupportedType(f"{type(x).__name__} is on a GPU and speaks DLPack alone", "import cupy or torch, which can read it")
    return None


# ---- dense operands and results


def has_lines(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Rows or columns contiguous, as the library's dense matrices are; vectors: contiguous."""
    if len(shape) == 1:
        return shape[0] <= 1 or strides[0] == 1
    (r, c), (s, t) = shape, strides
    return (c <= 1 or t == 1) and (r <= 1 or s >= c) or (r <= 1 or s == 1) and (c <= 1 or t >= r)


def operand_at(x: Any, dtype: np.dtype, ndim: tuple[int, ...], device: int, name: str) -> tuple[Any, Any]:
    """The framework and an array of the right type on the right device."""
    found = adopt(x)
    if found is None and device < 0 and "torch" in sys.modules:
        found = the(Torch), sys.modules["torch"].as_tensor(x)
    if found is None:
        raise UnsupportedType(f"{name} is on the host, but the matrix is on {where(device)}", f"bring {name} to the GPU with the framework of the matrix")
    f, a = found
    if f.device(a) != device:
        raise UnsupportedType(f"{name} is on {where(f.device(a))}, but the matrix is on {where(device)}", "both must be on the same device")
    if len(f.shape(a)) not in ndim:
        raise ShapeError(f"{name} has {len(f.shape(a))} dimensions, not {' or '.join(map(str, ndim))}")
    given = f.dtype(a)
    if given != dtype:
        if not (given.kind in "iub" or dtype in (F32, F64) and given in (F16, BF16, F32)):
            raise UnsupportedType(f"{name} is {name_of(given)}, but {name_of(dtype)} is computed", f"convert {name}, or another dtype= for the plan")
        a = f.astype(a, dtype)
    return f, a if has_lines(f.shape(a), f.strides(a)) else f.contiguous(a)


def require_out(out: Any, beta: float) -> None:
    if out is None and beta != 0:
        raise InvalidValue("beta scales what is in out, but there is no out", "give out=, or leave beta out")


class ResultAt:
    """Where a result goes: a new array of the framework, or the caller's."""

    __slots__ = ("framework", "array", "out")

    def __init__(self, framework: Any, out: Any, shape: tuple[int, ...], dtype: np.dtype, beta: float, device: int) -> None:
        self.framework, self.out = framework, out
        require_out(out, beta)
        if out is None:
            self.array = framework.empty(shape, dtype, device)
            return
        found = adopt(out)
        if found is None and device < 0:
            found = framework, out
        if found is None or found[0].device(found[1]) != device:
            raise UnsupportedType(f"out is not on {where(device)}, where the matrix is")
        f, a = found
        if f.shape(a) != shape:
            raise ShapeError(f"out has the shape {f.shape(a)}, but the result has {shape}")
        if f.dtype(a) != dtype:
            raise UnsupportedType(f"out is {name_of(f.dtype(a))}, but the result is {name_of(dtype)}")
        self.framework = f
        self.array = a if has_lines(shape, f.strides(a)) else f.contiguous(a)

    @property
    def address(self) -> int:
        return self.framework.address(self.array)

    def dense(self) -> Any:
        return dense_at(self.framework, self.array)

    def give(self) -> Any:
        if self.out is None:
            return self.array
        if self.array is not self.out and self.framework.address(self.array) != self.framework.address(self.out):
            self.framework.assign(self.out, self.array)
        return self.out


def dense_at(framework: Any, a: Any) -> Any:
    return _core.DenseAt(framework.address(a), *framework.shape(a), *framework.strides(a))


# ---- sparse matrices


class Foreign:
    """A sparse matrix whose arrays go by their address; what `Sparse` is for NumPy's."""

    __slots__ = ("framework", "device", "by_column", "shape", "indptr", "indices", "data", "notes", "source", "converted", "tuple", "wide", "owners", "given")

    def __init__(self, framework: Any, by_column: bool, shape: tuple[int, int], indptr: Any, indices: Any, data: Any, source: Any, owners: tuple[Any, ...] = ()) -> None:
        self.framework, self.by_column, self.shape, self.source = framework, by_column, shape, source
        self.indptr, self.indices, self.data = indptr, indices, data
        self.given, self.owners = (indptr, indices), owners      # what the caller holds as long as the pattern
        self.device = framework.device(data)
        self.notes: list[str] = []
        self.converted = ""
        self.tuple = isinstance(source, (tuple, list))
        self.wide = framework.dtype(indices) == I64

    @property
    def dtype(self) -> np.dtype:
        return self.framework.dtype(self.data)

    def mark(self) -> Any:
        """Changes when the pattern does; None: cannot be told."""
        marks = [self.framework.mark(a) for a in self.given]
        return None if None in marks else (self.by_column, self.shape, *marks)

    def in_library_form(self, dtype: np.dtype) -> "Foreign":
        f = self.framework
        for name in ("indptr", "indices", "data"):
            a = getattr(self, name)
            if len(f.shape(a)) != 1:
                raise ShapeError(f"{name} must have one dimension, not {len(f.shape(a))}")
            if f.device(a) != self.device:
                raise UnsupportedType(f"{name} is on {where(f.device(a))}, but data is on {where(self.device)}")
        lines = self.shape[1] if self.by_column else self.shape[0]
        if f.shape(self.indptr)[0] != lines + 1:
            raise ShapeError(f"indptr has {f.shape(self.indptr)[0]} entries, but {lines + 1} are needed")
        if f.shape(self.indices) != f.shape(self.data):
            raise ShapeError(f"there are {f.shape(self.indices)[0]} indices, but {f.shape(self.data)[0]} values")
        if f.dtype(self.indptr) == I32 and self.device >= 0:
            self.notes.append(f"indptr: 32-bit, widened to 64 bits once ({f.shape(self.indptr)[0] * 8} bytes)")
        elif f.dtype(self.indptr) not in (I32, I64):
            self.indptr = self._copy("indptr", I64)
        self._take_indices()
        if f.dtype(self.data) != dtype:
            self.data = self._copy("data", dtype)
        for name in ("indptr", "indices", "data"):
            if not has_lines(f.shape(getattr(self, name)), f.strides(getattr(self, name))):
                self.notes.append(f"{name}: not contiguous: copied")
                setattr(self, name, f.contiguous(getattr(self, name)))
        return self

    def _copy(self, name: str, dtype: np.dtype) -> Any:
        a = getattr(self, name)
        self.notes.append(f"{name}: {name_of(self.framework.dtype(a))}: copied as {name_of(dtype)}")
        return self.framework.astype(a, dtype)

    def _take_indices(self) -> None:
        f = self.framework
        if f.dtype(self.indices) == I32:
            return
        if f.dtype(self.indices).kind not in "iu":
            raise UnsupportedType(f"indices must be integers, not {f.dtype(self.indices).name}")
        known = recall(self)
        if known is not None and known.indices is not None:
            self.notes.append(f"indices: {f.dtype(self.indices).name}: copied as int32")
            self.indices = known.indices
            return
        limit = self.shape[0] if self.by_column else self.shape[1]
        if f.shape(self.indices)[0]:
            low, high = f.limits(self.indices)
            if low < 0 or high >= limit:
                raise InvalidValue(f"{'row' if self.by_column else 'column'} {low if low < 0 else high} is outside 0 … {limit - 1}")
        self.indices = self._copy("indices", I32)

    def place(self, context: Any) -> Any:
        return context._place(self.device, self.framework.stream(self.device))

    def home(self, context: Any) -> Any:
        return context._home(self.device, self.framework.stream(self.device))

    def compressed(self, place: Any, check: bool | str = True) -> Any:
        """The matrix for the library, looked through; once for arrays of a framework that counts writes."""
        f = self.framework
        arrays = (self.indptr, self.indices, self.data)
        known = recall(self) if check is True and f.counts_writes else None
        order = known.order if known is not None else None
        c = _core.Compressed.at(place, self.by_column, *self.shape, f.shape(self.indices)[0], f.address(self.indptr),
                                   "i32" if f.dtype(self.indptr) == I32 else "i64", f.address(self.indices), f.address(self.data), NAMES[self.dtype], arrays, bool(check) and order is None)
        if order is not None:
            c.sorted, c.unique = order
        elif check and self.device >= 0:
            remember(self, order=(c.sorted, c.unique))
        return c

    def _again(self, A: Any, note: str, converted: str) -> "Foreign":
        again = foreign(A, self.shape)
        again.notes, again.converted = self.notes + [note], converted
        return again

    def without_repeats(self) -> "Foreign":
        A = self.framework.compressed(self.by_column, self.shape, self.indptr, self.indices, self.data) if self.makes_matrices() else None
        return self._again(self.framework.without_repeats(A, self.by_column), "indices: not sorted or with repeats: copied, sorted and added up", "its rows were not sorted or had repeats")

    def by_rows(self) -> "Foreign":
        if not self.by_column:
            return self
        return self._again(self.framework.by_rows(self.source), "csc: converted to csr", "it was converted from csc to csr")

    def makes_matrices(self) -> bool:
        return hasattr(self.framework, "compressed")

    def back(self, by_column: bool, shape: tuple[int, int], indptr: Any, indices: Any, data: Any) -> Any:
        """A result as the caller's kind."""
        f = self.framework
        if self.tuple or not self.makes_matrices():
            return indptr, indices, data
        if f.name == "torch" and not self.wide and f.shape(indices)[0] < 2**31:
            indptr = f.astype(indptr, I32)
        return f.compressed(by_column, shape, indptr, indices, data)

    def fetch(self, product: Any, shape: tuple[int, int]) -> Any:
        """A product of the library in arrays of the framework."""
        f, stream = self.framework, self.framework.stream(self.device)
        lines = shape[1] if self.by_column else shape[0]
        arrays = f.empty((lines + 1,), I64, self.device), f.empty((product.nnz,), I32, self.device), f.empty((product.nnz,), self.dtype, self.device)
        product.copy_to(*(f.address(a) for a in arrays), stream)
        return self.back(self.by_column, shape, *arrays)


def foreign(A: Any, shape: Any) -> Foreign | None:
    """A sparse matrix that goes by addresses, or None."""
    if isinstance(A, (tuple, list)):
        found = adopt(A[2]) if len(A) == 3 else None
        if found is None:
            return None
        if shape is None:
            raise ShapeError("(indptr, indices, data) do not say how many columns there are", "give shape=(rows, columns)")
        return Foreign(found[0], False, (int(shape[0]), int(shape[1])), A[0], A[1], found[1], A, (A[0], A[1]))
    torch, cupyx = sys.modules.get("torch"), sys.modules.get("cupyx.scipy.sparse")
    if torch is not None and isinstance(A, torch.Tensor):
        return _from_torch(A, torch) if A.is_cuda or A.dtype is torch.bfloat16 else None
    if cupyx is not None and cupyx.issparse(A):
        B = A if A.format in ("csr", "csc") else A.tocsr()
        a = Foreign(the(Cupy), B.format == "csc", tuple(A.shape), B.indptr, B.indices, B.data, B, (B.indptr, B.indices) if B is A else ())
        if B is not A:
            a.notes, a.converted = [f"{A.format}: converted to csr"], f"it was converted from {A.format} to csr"
        return a
    return None


def _from_torch(A: Any, torch: Any) -> Foreign:
    if A.dim() != 2:
        raise ShapeError(f"a sparse tensor must have two dimensions, not {A.dim()}")
    B = A if A.layout in (torch.sparse_csr, torch.sparse_csc) else A.to_sparse_csr()
    by_column = B.layout == torch.sparse_csc
    indptr, indices = (B.ccol_indices(), B.row_indices()) if by_column else (B.crow_indices(), B.col_indices())
    a = Foreign(the(Torch), by_column, tuple(A.shape), indptr, indices, B.values().detach(), B, (A,) if B is A else ())
    if B is not A:
        a.notes, a.converted = [f"{A.layout}: converted to CSR"], "it was converted to CSR"
    return a


def refuse_capture(framework: Any) -> None:
    if framework.capturing():
        raise DeviceError("a plan that was made on the default stream cannot be captured into a CUDA graph", "call it once on another stream before, as torch.cuda.graph's warm-up does")
