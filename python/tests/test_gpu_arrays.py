# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""Arrays on a GPU without any framework: `__cuda_array_interface__` in, `DeviceArray` out. Runs on a real GPU, and on the simulated one of a build with
TULLE_CUDA=SIM (`make python-sim`); what torch and CuPy add is in tests/gpu and test_frameworks.py.
"""
import gc
import weakref

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import random_matrix, triangle, whole_numbers

import tulle
from tulle import _core

pytestmark = pytest.mark.skipif(not _core.gpus(), reason=f"there is no GPU: {_core.why_no_gpu()}")


class Foreign:
    """Somebody's array: the interface, and nothing else."""

    def __init__(self, a):
        self.kept = tulle.to_device(a)

    @property
    def __cuda_array_interface__(self):
        return self.kept.__cuda_array_interface__


def on_gpu(A):
    return tuple(Foreign(a) for a in (A.indptr, A.indices, A.data))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("wide", [True, False])
def test_spmv(dtype, wide):
    A = random_matrix(60, 40, 0.1, dtype)
    x = whole_numbers(40, dtype)
    arrays = (Foreign(A.indptr.astype(np.int64 if wide else np.int32)), Foreign(A.indices), Foreign(A.data))
    y = tulle.spmv(arrays, Foreign(x), shape=A.shape)
    assert isinstance(y, tulle.DeviceArray) and y.dtype == dtype
    np.testing.assert_array_equal(y.numpy(), A @ x)
    plan = tulle.plan_spmv(arrays, shape=A.shape)
    np.testing.assert_array_equal(plan(Foreign(x)).numpy(), A @ x)
    assert ("all used where they are" in plan.describe()) == wide and ("widened" in plan.describe()) != wide
    out = tulle.to_device(np.ones(60, dtype))
    assert plan(Foreign(x), out, alpha=2.0, beta=3.0) is out
    np.testing.assert_array_equal(out.numpy(), 2 * (A @ x) + 3)
    transposed = tulle.plan_spmv(arrays, shape=A.shape, transpose=True)
    np.testing.assert_array_equal(transposed(Foreign(whole_numbers(60, dtype))).numpy(), A.T @ whole_numbers(60, dtype))
    plan.update_values(Foreign(2 * A.data))
    np.testing.assert_array_equal(plan(Foreign(x)).numpy(), 2 * (A @ x))


def test_spmm_and_sddmm_and_attention():
    A = random_matrix(40, 30, 0.15, np.float32)
    B, X, Y = whole_numbers((30, 8), np.float32), whole_numbers((40, 8), np.float32), whole_numbers((30, 8), np.float32, seed=8)
    arrays = on_gpu(A)
    np.testing.assert_array_equal(tulle.spmm(arrays, Foreign(B), shape=A.shape).numpy(), A @ B)
    np.testing.assert_array_equal(tulle.plan_spmm(arrays, 8, shape=A.shape)(Foreign(B)).numpy(), A @ B)
    half = tulle.plan_spmm(on_gpu(A.astype(np.float32).astype(np.float32)), 8, shape=A.shape, transpose=True)(Foreign(X))
    np.testing.assert_array_equal(half.numpy(), A.T @ X)
    plan = tulle.plan_sddmm(arrays, 8, shape=A.shape)
    rows = np.repeat(np.arange(40), np.diff(A.indptr))
    np.testing.assert_array_equal(plan(Foreign(X), Foreign(Y)).numpy(), (X @ Y.T)[rows, A.indices])
    small = [(v / 8).astype(np.float32) for v in (X, Y, B)]
    np.testing.assert_allclose(plan.attend(*(Foreign(v) for v in small)).numpy(), tulle.attention(A, *small), atol=1e-5)


def test_spgemm():
    A = random_matrix(40, 40, 0.1)
    for C in (tulle.spgemm(on_gpu(A), on_gpu(A), shape_a=A.shape, shape_b=A.shape), tulle.plan_spgemm(on_gpu(A), on_gpu(A), shape_a=A.shape, shape_b=A.shape)()):
        indptr, indices, data = (a.numpy() for a in C)
        np.testing.assert_array_equal(sp.csr_array((data, indices, indptr), shape=A.shape).toarray(), (A @ A).toarray())
    with pytest.raises(tulle.InvalidValue, match="columns of C are kept for arrays of the host only"):
        tulle.plan_spgemm(on_gpu(A), on_gpu(A), shape_a=A.shape, shape_b=A.shape, keep_columns=True)


def test_triangular_and_solve():
    L = triangle(50)
    b = np.random.default_rng(5).standard_normal((50, 3))
    plan = tulle.plan_solve_triangular(on_gpu(L), shape=L.shape)
    np.testing.assert_allclose(L @ plan(Foreign(b[:, 0].copy())).numpy(), b[:, 0])
    np.testing.assert_allclose(L @ plan(Foreign(b)).numpy(), b)
    for accuracy, told in (("fast", "inverses where they are accurate\n"), ("tested", "accurate, by trials"), ("substitution", "blocks: substitution")):
        chain = sp.csr_array(sp.diags_array([np.full(199, 0.5), np.full(200, 2.0)], offsets=[-1, 0]))
        plan = tulle.plan_solve_triangular(on_gpu(chain), shape=chain.shape, accuracy=accuracy)
        assert "  blocks:" not in plan.describe() or told in plan.describe()      # told where rows were merged to blocks
        ones = Foreign(np.ones(200))
        np.testing.assert_allclose(chain @ plan(ones).numpy(), 1)
        np.testing.assert_allclose(chain @ tulle.solve_triangular(on_gpu(chain), ones, shape=chain.shape, accuracy=accuracy).numpy(), 1)
    A = tulle.generate("stencil5:8")
    x, report = tulle.solve(on_gpu(A), Foreign(A @ np.ones(64)), shape=A.shape, method="cg", preconditioner="jacobi")
    assert report and np.allclose(x.numpy(), 1, atol=1e-6)


def test_arrays_are_kept_alive():
    A = random_matrix(30, 30, 0.2)
    arrays = on_gpu(A)
    plan = tulle.plan_spmv(arrays, shape=A.shape)
    watch = weakref.ref(arrays[2].kept)
    del arrays
    gc.collect()
    assert watch() is not None
    np.testing.assert_array_equal(plan(Foreign(np.ones(30))).numpy(), A @ np.ones(30))
    del plan
    gc.collect()
    assert watch() is None


def test_what_is_refused():
    A = random_matrix(20, 20, 0.2)
    arrays = on_gpu(A)
    plan = tulle.plan_spmv(arrays, shape=A.shape)
    with pytest.raises(tulle.UnsupportedType, match="on the host"):
        plan(np.ones(20))
    with pytest.raises(tulle.UnsupportedType, match="cannot be converted"):
        tulle.plan_spmv((arrays[0], Foreign(A.indices.astype(np.int64)), arrays[2]), shape=A.shape)
    with pytest.raises(tulle.UnsupportedType):
        tulle.plan_spmv(A)(Foreign(np.ones(20)))
    with pytest.raises(tulle.ShapeError):
        plan(Foreign(np.ones(19)))
    with pytest.raises(tulle.ShapeError):
        plan(Foreign(np.ones(20)), tulle.to_device(np.ones(19)))
    bad = A.indices.copy()
    bad[3] = 20
    with pytest.raises(tulle.InvalidValue):
        tulle.plan_spmv((arrays[0], Foreign(bad), arrays[2]), shape=A.shape)
    with pytest.raises(tulle.DeviceError):
        tulle.plan_spmv(arrays, shape=A.shape, context=tulle.Context("cpu"))
    with pytest.raises(tulle.DeviceError):
        tulle.plan_spmv(A, context=tulle.Context("cuda"))
    with pytest.raises(tulle.OutOfMemory):
        tulle.spgemm(arrays, arrays, shape_a=A.shape, shape_b=A.shape, budget=64)


def test_another_stream_comes_before_and_goes_on_after():
    """The plan's own stream is ordered after the caller's, and before what the caller does next."""
    A = random_matrix(40, 40, 0.1)
    plan = tulle.plan_spmv(on_gpu(A), shape=A.shape)
    x, y = tulle.to_device(np.ones(40)), tulle.to_device(np.zeros(40))
    address = lambda a: a.__cuda_array_interface__["data"][0]
    plan._plan.run_at(address(x), 40, address(y), 40, 1.0, 0.0, 1 if not _core.gpus()[0]["simulated"] else 0)
    np.testing.assert_array_equal(y.numpy(), A @ np.ones(40))


def test_new_values_for_every_plan():
    A, L = random_matrix(40, 40, 0.1), triangle(40)
    x, X = whole_numbers(40), whole_numbers((40, 4))
    new, arrays, lower = Foreign(2 * A.data), on_gpu(A), on_gpu(L)
    spmm = tulle.plan_spmm(arrays, 4, shape=A.shape)
    spmm.update_values(new)
    np.testing.assert_array_equal(spmm(Foreign(X)).numpy(), 2 * (A @ X))
    spgemm = tulle.plan_spgemm(arrays, arrays, shape_a=A.shape, shape_b=A.shape)
    spgemm.update_values(new, arrays[2])
    np.testing.assert_array_equal(spgemm()[2].numpy(), 2 * tulle.plan_spgemm(A, A)().data)
    scaled = tulle.plan_sddmm(arrays, 4, shape=A.shape, scaled=True)
    before = scaled(Foreign(X), Foreign(X)).numpy()
    scaled.update_values(new)
    np.testing.assert_array_equal(scaled(Foreign(X), Foreign(X)).numpy(), 2 * before)
    solve = tulle.plan_solve_triangular(lower, shape=L.shape)
    solve.update_values(Foreign(2 * L.data))
    np.testing.assert_allclose(2 * (L @ solve(Foreign(x)).numpy()), x)
    with pytest.raises(ValueError):
        spmm.update_values(Foreign(np.ones(3)))


# ---- a module that looks like CuPy, with arrays in the library's memory: all but CuPy itself


class Pointer:
    def __init__(self, ptr):
        self.ptr = ptr


def make_cupy(asked):
    import types

    cupy, cuda = types.ModuleType("cupy"), types.ModuleType("cupy.cuda")

    class ndarray:
        __module__ = "cupy"

        def __init__(self, a):
            self.kept = tulle.to_device(a)
            self.shape, self.dtype, self.ndim, self.itemsize, self.strides = a.shape, a.dtype, a.ndim, a.itemsize, a.strides
            self.data, self.device = Pointer(self.kept._bytes.address), types.SimpleNamespace(id=0)

        @property
        def __cuda_array_interface__(self):
            return self.kept.__cuda_array_interface__

        def get(self):
            return self.kept.numpy()

        def astype(self, dtype, order="K"):
            asked.append(("astype", np.dtype(dtype)))
            return ndarray(np.ascontiguousarray(self.get().astype(dtype)))

        def min(self):
            return self.get().min()

        def max(self):
            return self.get().max()

    class Device:
        def __init__(self, number):
            asked.append(("device", number))

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

    def empty(shape, dtype):
        asked.append(("empty", shape))
        return ndarray(np.zeros(shape, dtype))

    class Stream:
        """As CuPy's: the stream goes with the last reference to the object."""

        def __init__(self):
            self.context = _core.Context(0, 0, False, _core.unlimited).on_own_stream(0)
            self.ptr = self.context.stream

        def is_capturing(self):
            return False

        def synchronize(self):
            self.context.synchronize()

        def __enter__(self):
            current.append(self)
            return self

        def __exit__(self, *_):
            current.pop()

    current = [types.SimpleNamespace(ptr=0, is_capturing=lambda: False)]
    cuda.Device, cuda.Stream, cuda.get_current_stream = Device, Stream, lambda: current[-1]
    cupy.cuda, cupy.ndarray, cupy.empty, cupy.ascontiguousarray = cuda, ndarray, empty, lambda a: a
    return cupy


@pytest.fixture
def asked():
    return []


@pytest.fixture
def cupy(asked, monkeypatch):
    import sys

    from tulle import _frameworks

    module = make_cupy(asked)
    monkeypatch.setitem(sys.modules, "cupy", module)
    monkeypatch.setattr(_frameworks, "_frameworks", {})
    return module


PLANS = {
    "spmv": lambda A, x, X: (tulle.plan_spmv(A, shape=(40, 40)), (x,)),
    "spmm": lambda A, x, X: (tulle.plan_spmm(A, 4, shape=(40, 40)), (X,)),
    "sddmm": lambda A, x, X: (tulle.plan_sddmm(A, 4, shape=(40, 40)), (X, X)),
    "triangular": lambda A, x, X: (tulle.plan_solve_triangular(A, shape=(40, 40)), (x,)),
    "spgemm": lambda A, x, X: (tulle.plan_spgemm(A, A, shape_a=(40, 40), shape_b=(40, 40)), ()),
}


@pytest.mark.parametrize("made_on", ["default stream", "stream"])
@pytest.mark.parametrize("kind", PLANS)
def test_plans_outlive_streams(cupy, kind, made_on):
    """Streams of the caller's come and go: where the plan was made, and where it was called first."""
    A = triangle(40)
    arrays = tuple(cupy.ndarray(a) for a in (A.indptr, A.indices, A.data))
    x, X = cupy.ndarray(whole_numbers(40)), cupy.ndarray(whole_numbers((40, 4)))
    values = lambda result: result[2].get() if isinstance(result, tuple) else result.get()
    if made_on == "stream":
        with cupy.cuda.Stream():
            plan, operands = PLANS[kind](arrays, x, X)
    else:
        plan, operands = PLANS[kind](arrays, x, X)
        plan(*operands)
    host, of_host = PLANS[kind](A, whole_numbers(40), whole_numbers((40, 4)))
    want = host(*of_host)
    want = want.data if kind == "spgemm" else want
    for _ in range(3):
        with cupy.cuda.Stream() as stream:
            result = plan(*operands)
            plan.update_values(*[arrays[2]] * (2 if kind == "spgemm" else 1))
            stream.synchronize()
        del stream
        np.testing.assert_allclose(values(result), want)
    assert plan._stream not in (0, None)
    np.testing.assert_allclose(values(plan(*operands)), want)        # the default stream again


def test_a_call_without_a_plan_keeps_no_stream(cupy):
    A = random_matrix(40, 40, 0.1)
    arrays = tuple(cupy.ndarray(a) for a in (A.indptr, A.indices, A.data))
    x = cupy.ndarray(whole_numbers(40))
    for _ in range(2):
        with cupy.cuda.Stream() as stream:
            y = tulle.spmv(arrays, x, shape=A.shape)
            C = tulle.spgemm(arrays, arrays, shape_a=A.shape, shape_b=A.shape)
            stream.synchronize()
        del stream
        np.testing.assert_array_equal(y.get(), A @ whole_numbers(40))
        assert C[2].get().sum() == (A @ A).sum()


def raw(a):
    """The numbers in the simulated GPU's memory now, without waiting for anything."""
    import ctypes

    return np.ctypeslib.as_array((ctypes.c_double * a.shape[0]).from_address(a.data.ptr)).copy()


@pytest.mark.skipif(not _core.gpus() or not _core.gpus()[0]["simulated"], reason="the simulator runs nothing before somebody waits")
@pytest.mark.parametrize("wide", [True, False])
def test_a_second_call_waits_for_nothing(cupy, wide):
    """Index arrays are looked through once: then a product is one launch, without a wait and without memory."""
    A = random_matrix(60, 40, 0.1)
    arrays = tuple(cupy.ndarray(a) for a in (A.indptr.astype(np.int64 if wide else np.int32), A.indices, A.data))
    x, out = cupy.ndarray(whole_numbers(40)), cupy.ndarray(np.full(60, 7.0))
    place = tulle._context.context_of(None, device=0)._place(0, 0)
    tulle.spmv(arrays, x, out, shape=A.shape)
    np.testing.assert_array_equal(out.get(), A @ whole_numbers(40))
    out = cupy.ndarray(np.full(60, 7.0))
    allocated = place.allocations
    tulle.spmv(arrays, x, out, shape=A.shape)
    assert place.allocations == allocated
    np.testing.assert_array_equal(raw(out), np.full(60, 7.0))        # queued
    np.testing.assert_array_equal(out.get(), A @ whole_numbers(40))
    tulle.spmv(arrays, x, out, shape=A.shape, check="always")
    np.testing.assert_array_equal(raw(out), A @ whole_numbers(40))   # the look at the arrays waited for what was before


def test_what_is_remembered_of_a_pattern(cupy):
    from tulle import _patterns

    A = random_matrix(60, 40, 0.1)
    before = len(_patterns._known)
    indptr, indices, data = (cupy.ndarray(a) for a in (A.indptr, A.indices, A.data))
    x = cupy.ndarray(whole_numbers(40))
    for transpose in (False, True):
        v = cupy.ndarray(whole_numbers(60)) if transpose else x
        for _ in range(2):
            tulle.spmv((indptr, indices, data), v, shape=A.shape, transpose=transpose)
    assert len(_patterns._known) == before + 1
    with pytest.raises(tulle.InvalidValue):                          # another shape is looked at again
        tulle.spmv((indptr, indices, data), cupy.ndarray(np.ones(30)), shape=(60, 30))
    twice = cupy.ndarray(2 * A.data)                                 # values are no part of it
    np.testing.assert_array_equal(tulle.spmv((indptr, indices, twice), x, shape=A.shape).get(), 2 * (A @ whole_numbers(40)))
    bad = A.indices.copy()
    bad[:5] = [40, -1, 2**30, -2**31, 2**31 - 1]
    indices.kept._bytes.upload(bad.view(np.uint8))                   # CuPy does not tell of it: no error, and nothing outside is read
    tulle.spmv((indptr, indices, data), x, shape=A.shape).get()
    with pytest.raises(tulle.InvalidValue):
        tulle.spmv((indptr, indices, data), x, shape=A.shape, check="always")
    del indices
    gc.collect()
    assert len(_patterns._known) == before


def test_long_rows_are_looked_at_every_time_without_a_count_of_writes(cupy):
    from tulle import _patterns

    A = sp.vstack([sp.csr_array(np.ones((1, 30000))), sp.eye_array(300, 30000)]).tocsr()
    before = len(_patterns._known)
    arrays = tuple(cupy.ndarray(a) for a in (A.indptr, A.indices, A.data))
    for _ in range(2):
        np.testing.assert_array_equal(tulle.spmv(arrays, cupy.ndarray(np.ones(30000)), shape=A.shape).get(), A @ np.ones(30000))
    assert len(_patterns._known) == before


def test_a_framework_makes_results_and_converts(cupy, asked):
    A = random_matrix(30, 20, 0.2)
    arrays = tuple(cupy.ndarray(a) for a in (A.indptr.astype(np.int64), A.indices.astype(np.int64), A.data))
    plan = tulle.plan_spmv(arrays, shape=A.shape)
    assert ("astype", np.dtype(np.int32)) in asked and "indices: int64: copied as int32" in plan.describe()
    y = plan(cupy.ndarray(whole_numbers(20)))
    assert type(y) is cupy.ndarray and ("empty", (30,)) in asked and ("device", 0) in asked
    np.testing.assert_array_equal(y.get(), A @ whole_numbers(20))
    y = plan(cupy.ndarray(whole_numbers(20).astype(np.int32)))
    assert ("astype", np.dtype(np.float64)) in asked
    np.testing.assert_array_equal(y.get(), A @ whole_numbers(20))
    bad = cupy.ndarray(np.full(A.nnz, 2**40))
    with pytest.raises(tulle.InvalidValue, match="outside"):
        tulle.plan_spmv((arrays[0], bad, arrays[2]), shape=A.shape)
    C = tulle.spgemm(arrays, arrays, shape_a=A.shape, shape_b=A.shape, transpose_b=True)
    np.testing.assert_array_equal(sp.csr_array((C[2].get(), C[1].get(), C[0].get()), shape=(30, 30)).toarray(), (A @ A.T).toarray())


@pytest.fixture(params=["_matmul_dispatch", "__mul__"], ids=["CuPy 14", "CuPy 13"])
def cupyx(cupy, request, monkeypatch):
    """Modules that look like cupyx.scipy.sparse, whose own functions only say that they were called."""
    import sys
    import types

    modules = {name: types.ModuleType(name) for name in ("cupyx", "cupyx.scipy", "cupyx.scipy.sparse", "cupyx.scipy.sparse.linalg", "cupyx.scipy.sparse.linalg._solve")}
    sparse, linalg, product = modules["cupyx.scipy.sparse"], modules["cupyx.scipy.sparse.linalg"], request.param

    class base:
        ndim = 2

        def __init__(self, arrays, shape):
            self.data, self.indices, self.indptr = arrays
            self.shape, self.dtype = shape, self.data.dtype

        def __matmul__(self, other):
            return getattr(self, product)(other)

        @property
        def T(self):
            return (csc_matrix if self.format == "csr" else csr_matrix)((self.data, self.indices, self.indptr), self.shape[::-1])

        def host(self):
            return getattr(sp, f"{self.format}_array")(tuple(a.get() for a in (self.data, self.indices, self.indptr)), shape=self.shape).toarray()

    csr_base = type("csr_base", (base,), {"format": "csr", product: lambda self, other: "CuPy's product"})
    csc_base = type("csc_base", (base,), {"format": "csc", product: lambda self, other: "CuPy's product"})
    csr_matrix, csc_matrix, csr_array = type("csr_matrix", (csr_base,), {}), type("csc_matrix", (csc_base,), {}), type("csr_array", (csr_base,), {})
    csr_array._as_csr_type = lambda self, C: csr_array((C.data, C.indices, C.indptr), C.shape)
    sparse.csr_array = csr_array
    sparse.csr_matrix, sparse.csc_matrix, sparse.issparse = csr_matrix, csc_matrix, lambda A: isinstance(A, base)
    sparse.made_of = lambda A: getattr(sparse, f"{A.format}_matrix")(tuple(cupy.ndarray(a) for a in (A.data, A.indices, A.indptr)), A.shape)
    linalg._solve = modules["cupyx.scipy.sparse.linalg._solve"]
    linalg.spsolve_triangular = linalg._solve.spsolve_triangular = lambda A, b, *_: "CuPy's solve"
    modules["cupyx"].scipy, modules["cupyx.scipy"].sparse, sparse.linalg = modules["cupyx.scipy"], sparse, linalg
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    return sparse


@pytest.mark.parametrize("format", ["csr", "csc"])
def test_cupy_backend(cupy, cupyx, format):
    A, L = random_matrix(40, 40, 0.1, format=format), triangle(40, format=format)
    M, x, X = cupyx.made_of(A), cupy.ndarray(whole_numbers(40)), cupy.ndarray(whole_numbers((40, 4)))
    original = cupyx.linalg.spsolve_triangular
    before, passed = tulle.cupy_backend.calls, tulle.cupy_backend.passed_on
    assert M @ x == "CuPy's product"
    with tulle.cupy_backend():
        for _ in range(3):
            np.testing.assert_array_equal((M @ x).get(), A @ whole_numbers(40))
        np.testing.assert_array_equal((M @ X).get(), A @ whole_numbers((40, 4)))
        for other in ("csr", "csc"):
            C = M @ cupyx.made_of(A.asformat(other))
            assert C.format == "csr"
            np.testing.assert_array_equal(C.host(), (A @ A).toarray())
        np.testing.assert_allclose(L @ cupyx.linalg.spsolve_triangular(cupyx.made_of(L), x).get(), whole_numbers(40), atol=1e-12)
        both = cupyx.made_of((L + sp.triu(random_matrix(40, 40), 1)).asformat(format))     # the other triangle is not read, as in CuPy
        np.testing.assert_allclose(L @ cupyx.linalg._solve.spsolve_triangular(both, x).get(), whole_numbers(40), atol=1e-12)
        assert tulle.cupy_backend.calls == before + 8 and tulle.cupy_backend.passed_on == passed
        assert M @ 2.0 == "CuPy's product" and M @ cupy.ndarray(np.ones(40, complex)) == "CuPy's product"
        assert M @ cupy.ndarray(np.ones(39)) == "CuPy's product"                           # CuPy has its own errors
        zero = cupyx.made_of(sp.csr_array((np.zeros(40), np.arange(40, dtype=np.int32), np.arange(41, dtype=np.int32))))
        assert cupyx.linalg.spsolve_triangular(zero, x) == "CuPy's solve"
        assert tulle.cupy_backend.passed_on == passed + 4
        M = cupyx.made_of(A.tocsr())
        array = cupyx.csr_array((M.data, M.indices, M.indptr), M.shape)
        assert type(array @ array) is cupyx.csr_array and type(M @ M) is cupyx.csr_matrix
    assert cupyx.linalg.spsolve_triangular is original and M @ x == "CuPy's product"


def test_a_cupy_matrix_is_bound_to_its_product(cupy, cupyx):
    from tulle import _patterns

    A = random_matrix(40, 40, 0.1)
    M, x = cupyx.made_of(A), cupy.ndarray(whole_numbers(40))
    for _ in range(2):
        np.testing.assert_array_equal(tulle.spmv(M, x).get(), A @ whole_numbers(40))
    assert _patterns.bound_to(id(M)).products
    M.data = cupy.ndarray(3 * A.data)                                # another array
    np.testing.assert_array_equal(tulle.spmv(M, x).get(), 3 * (A @ whole_numbers(40)))
    shifted = A.indices[::-1].copy()
    M.indices = cupy.ndarray(shifted)
    np.testing.assert_array_equal(tulle.spmv(M, x).get(), 3 * (sp.csr_array((A.data, shifted, A.indptr), shape=A.shape) @ whole_numbers(40)))
    key = id(M)
    del M
    gc.collect()
    assert _patterns.bound_to(key) is None


# ---- CPU tensors of torch that say they are on a GPU, in the memory of the simulated one


@pytest.fixture
def torch(monkeypatch):
    module = pytest.importorskip("torch", reason="torch is not installed (make python-torch installs it)")
    import ctypes

    from tulle import _frameworks

    class Tensor(module.Tensor):
        is_cuda = property(lambda self: True)

        def get_device(self):
            return 0

        def new_empty(self, *shape):
            return module.tensor_at(np.full(shape, np.nan, _frameworks.the(_frameworks.Torch).to_numpy[self.dtype]))

    def tensor_at(a):
        kept = tulle.to_device(a)
        memory = np.frombuffer((ctypes.c_char * max(a.nbytes, 1)).from_address(kept._bytes.address), a.dtype, a.size).reshape(a.shape)
        t = module.from_numpy(memory).as_subclass(Tensor)
        t.kept = kept
        return t

    def csr_at(A, index=np.int32):
        arrays = [tensor_at(a) for a in (A.indptr.astype(index), A.indices.astype(index), A.data)]
        made = module.sparse_csr_tensor(*(a.as_subclass(module.Tensor) for a in arrays), size=A.shape, check_invariants=True)
        made.__class__, made.kept = Tensor, arrays                   # sparse tensors have no as_subclass
        return made

    framework = _frameworks.Torch()
    framework.raw_stream, framework.capturing, framework.used_on = lambda device: 0, lambda: False, lambda *_: None
    framework.empty = lambda shape, dtype, device: tensor_at(np.zeros(shape, dtype))
    framework.astype = lambda a, dtype: tensor_at(np.ascontiguousarray(numbers(a).astype(dtype)))
    framework.contiguous = lambda a: tensor_at(np.ascontiguousarray(numbers(a)))
    monkeypatch.setattr(_frameworks, "_frameworks", {_frameworks.Torch: framework})
    monkeypatch.setattr(_frameworks, "_torch", framework)
    monkeypatch.setattr(module, "tensor_at", tensor_at, raising=False)
    monkeypatch.setattr(module, "csr_at", csr_at, raising=False)
    return module


simulated = pytest.mark.skipif(not _core.gpus() or not _core.gpus()[0]["simulated"], reason="needs the simulated GPU")


def numbers(t):
    """What a tensor holds when all that is queued is done."""
    tulle._context.context_of(None, device=0)._place(0, 0).synchronize()
    return t.detach().cpu().numpy().copy()


@pytest.fixture
def looks(monkeypatch):
    """How often a matrix of the caller's was taken apart."""
    from tulle import _operations

    seen = []
    taken_apart = _operations.sparse
    monkeypatch.setattr(_operations, "sparse", lambda A, shape=None: seen.append(A) or taken_apart(A, shape))
    return seen


@simulated
@pytest.mark.filterwarnings("ignore:Sparse CSR")
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_a_matrix_is_bound_to_its_product(torch, looks, index):
    A = random_matrix(60, 40, 0.1)
    M, x, out = torch.csr_at(A, index), torch.tensor_at(whole_numbers(40)), torch.tensor_at(np.ones(60))
    want = A @ whole_numbers(40)
    for k in range(3):
        np.testing.assert_array_equal(numbers(tulle.spmv(M, x)), want)
        assert len(looks) == 1
    assert tulle.spmv(M, x, out, alpha=2.0, beta=3.0) is out and len(looks) == 1
    np.testing.assert_array_equal(numbers(out), 2 * want + 3)
    M.kept[2].as_subclass(torch.Tensor).mul_(2)                      # values are read anew, whoever wrote them
    np.testing.assert_array_equal(numbers(tulle.spmv(M, x)), 2 * want)
    assert len(looks) == 1
    with pytest.raises(tulle.ShapeError):
        tulle.spmv(M, torch.tensor_at(np.ones(39)))
    with pytest.raises(tulle.InvalidValue, match="no out"):
        tulle.spmv(M, x, beta=1.0)
    long = torch.tensor_at(whole_numbers(80))
    np.testing.assert_array_equal(numbers(tulle.spmv(M, long[::2])), 2 * (A @ whole_numbers(80)[::2]))
    before = len(looks)
    M.col_indices()[3] = 40                                          # torch counts it
    with pytest.raises(tulle.InvalidValue):
        tulle.spmv(M, x)
    assert len(looks) == before + 1


@simulated
@pytest.mark.filterwarnings("ignore:Sparse CSR")
def test_spmm_without_a_plan_keeps_one(torch, looks):
    from tulle import _patterns

    A = random_matrix(60, 40, 0.1, np.float32)
    before = len(_patterns._recent)
    M, X = torch.csr_at(A), whole_numbers((40, 8), np.float32)
    B, place = torch.tensor_at(X), tulle._context.context_of(None, device=0)._place(0, 0)
    for _ in range(3):
        np.testing.assert_array_equal(numbers(tulle.spmm(M, B)), A @ X)
    assert len(looks) == 1 and len(_patterns._recent) == before + 1
    out, allocated = torch.tensor_at(np.full((60, 8), 7.0, np.float32)), place.allocations
    assert tulle.spmm(M, B, out) is out and place.allocations == allocated
    assert (out.cpu().numpy() == 7).all()                            # queued: nothing waited
    np.testing.assert_array_equal(numbers(out), A @ X)
    M.kept[2].as_subclass(torch.Tensor).mul_(2)
    np.testing.assert_array_equal(numbers(tulle.spmm(M, B)), 2 * (A @ X))
    bound = _patterns.bound_to(id(M))
    next(iter(bound.plans.values()))._values_in_place = False        # as plans with copies of values have it
    M.kept[2].as_subclass(torch.Tensor).mul_(2)
    np.testing.assert_array_equal(numbers(tulle.spmm(M, B)), 4 * (A @ X))
    for n in range(1, _patterns.MOST_PLANS + 3):
        tulle.spmm(M, torch.tensor_at(whole_numbers((40, n), np.float32)))
    assert len(_patterns._recent) == _patterns.MOST_PLANS == len(bound.plans)
    watch = weakref.ref(M.kept[2].kept)
    del M, bound, B
    looks.clear()
    gc.collect()
    assert not [b for b in _patterns._recent.values() if b.ref() is None] and watch() is None


@simulated
@pytest.mark.filterwarnings("ignore:Sparse CSR")
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("product", [tulle.spmv, tulle.spmm])
def test_check_always_sees_writes_that_torch_does_not_count(torch, product, index):
    A = random_matrix(60, 40, 0.1)
    M, x = torch.csr_at(A, index), whole_numbers(40 if product is tulle.spmv else (40, 8))
    v = torch.tensor_at(x)
    for _ in range(2):
        np.testing.assert_array_equal(numbers(product(M, v)), A @ x)
    turned = A.indices[::-1].copy()
    M.kept[1].as_subclass(torch.Tensor).copy_(torch.from_numpy(turned.astype(index)))
    want = sp.csr_array((A.data, turned, A.indptr), shape=A.shape) @ x
    np.testing.assert_array_equal(numbers(product(M, v, check="always")), want)
    np.testing.assert_array_equal(numbers(product(M, v)), want)


@simulated
@pytest.mark.filterwarnings("ignore:Sparse CSR")
def test_plans_called_with_tensors(torch):
    A = random_matrix(60, 40, 0.1)
    M, x, X = torch.csr_at(A), whole_numbers(40), whole_numbers((40, 8))
    plan, many = tulle.plan_spmv(M), tulle.plan_spmm(M, 8)
    np.testing.assert_array_equal(numbers(plan(torch.tensor_at(x))), A @ x)
    np.testing.assert_array_equal(numbers(many(torch.tensor_at(X))), A @ X)
    wide = torch.tensor_at(X)
    np.testing.assert_array_equal(numbers(many(wide[:, ::2])), A @ X[:, ::2])
    for p, right, wrong in ((plan, x, np.ones(60, np.float32)), (many, X, np.ones((60, 8), np.float32))):
        with pytest.raises(tulle.UnsupportedType, match="out is"):
            p(torch.tensor_at(right), torch.tensor_at(wrong))
        with pytest.raises(tulle.InvalidValue, match="no out"):
            p(torch.tensor_at(right), beta=2.0)
