# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""Arrays of torch and CuPy on a real GPU: kinds, streams, memory, graphs. `gpu/run --parts python` runs this; skipped without a GPU."""
import gc
import pathlib
import sys

import numpy as np
import pytest
import scipy.sparse as sp

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from conftest import random_matrix, triangle, whole_numbers  # noqa: E402

import tulle  # noqa: E402
from tulle import _core  # noqa: E402

if not _core.gpus() or _core.gpus()[0]["simulated"]:
    pytest.skip(f"there is no GPU: {_core.why_no_gpu()}", allow_module_level=True)


class WithTorch:
    def __init__(self):
        self.torch = pytest.importorskip("torch")
        if not self.torch.cuda.is_available():
            pytest.skip("torch sees no GPU")

    def array(self, a):
        return self.torch.from_numpy(np.ascontiguousarray(a)).cuda()

    def matrix(self, A):
        if A.format == "coo":
            return self.torch.sparse_coo_tensor(self.torch.tensor(np.vstack([A.row, A.col])), self.torch.tensor(A.data), A.shape).cuda()
        make = self.torch.sparse_csr_tensor if A.format == "csr" else self.torch.sparse_csc_tensor
        return make(self.torch.tensor(A.indptr, dtype=self.torch.int64), self.torch.tensor(A.indices, dtype=self.torch.int64), self.torch.tensor(A.data), A.shape).cuda()

    def host(self, a):
        return a.cpu().to_dense().numpy() if a.layout != self.torch.strided else a.cpu().numpy()

    def kind(self, a):
        return isinstance(a, self.torch.Tensor) and a.is_cuda

    def stream(self):
        return self.torch.cuda.stream(self.torch.cuda.Stream())

    def wait(self):
        self.torch.cuda.synchronize()


class WithCupy:
    def __init__(self):
        self.cupy = pytest.importorskip("cupy")
        self.sparse = pytest.importorskip("cupyx.scipy.sparse")

    def array(self, a):
        return self.cupy.asarray(a)

    def matrix(self, A):
        return getattr(self.sparse, f"{A.format}_matrix")(sp.csr_matrix(A).asformat(A.format))

    def host(self, a):
        return a.get().toarray() if self.sparse.issparse(a) else a.get()

    def kind(self, a):
        return isinstance(a, self.cupy.ndarray) or self.sparse.issparse(a)

    def stream(self):
        return self.cupy.cuda.Stream(non_blocking=True)

    def wait(self):
        self.cupy.cuda.Device().synchronize()


@pytest.fixture(params=[WithTorch, WithCupy], ids=["torch", "cupy"])
def on(request):
    return request.param()


@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_products(on, format, dtype):
    A = random_matrix(300, 200, 0.05, dtype, format=format)
    M, x, B = on.matrix(A), on.array(whole_numbers(200, dtype)), on.array(whole_numbers((200, 16), dtype))
    for y in (tulle.spmv(M, x), tulle.plan_spmv(M)(x)):
        assert on.kind(y)
        np.testing.assert_array_equal(on.host(y), A @ whole_numbers(200, dtype))
    for C in (tulle.spmm(M, B), tulle.plan_spmm(M, 16)(B)):
        np.testing.assert_array_equal(on.host(C), A @ whole_numbers((200, 16), dtype))
    np.testing.assert_array_equal(on.host(tulle.plan_spmm(M, 16, transpose=True)(on.array(whole_numbers((300, 16), dtype)))), A.T @ whole_numbers((300, 16), dtype))
    S = random_matrix(200, 250, 0.05, dtype, seed=7)
    for C in (tulle.spgemm(M, on.matrix(S)), tulle.plan_spgemm(M, on.matrix(S))()):
        assert on.kind(C)
        np.testing.assert_array_equal(on.host(C), (A @ S).toarray())
    X, Y = whole_numbers((300, 8), dtype), whole_numbers((200, 8), dtype, seed=4)
    np.testing.assert_array_equal(on.host(tulle.sddmm(M, on.array(X), on.array(Y))), (A.toarray() != 0) * (X @ Y.T))


def test_strides_and_out(on):
    A = random_matrix(100, 80, 0.1)
    plan = tulle.plan_spmm(on.matrix(A), 8)
    B = whole_numbers((80, 16))
    np.testing.assert_array_equal(on.host(plan(on.array(B)[:, :8])), A @ B[:, :8])
    np.testing.assert_array_equal(on.host(plan(on.array(B)[:, ::2])), A @ B[:, ::2])
    out = on.array(np.ones((100, 8)))
    assert plan(on.array(B[:, :8].copy()), out, alpha=2.0, beta=3.0) is out
    np.testing.assert_array_equal(on.host(out), 2 * (A @ B[:, :8]) + 3)


def test_solves(on):
    L = triangle(400)
    b = np.random.default_rng(3).standard_normal((400, 4))
    plan = tulle.plan_solve_triangular(on.matrix(L))
    np.testing.assert_allclose(L @ on.host(plan(on.array(b[:, 0].copy()))), b[:, 0], rtol=1e-10)
    np.testing.assert_allclose(L @ on.host(plan(on.array(b))), b, rtol=1e-10)
    A = tulle.generate("stencil5:40")
    x, report = tulle.solve(on.matrix(A), on.array(A @ np.ones(1600)))
    assert report and np.allclose(on.host(x), 1, atol=1e-5) and on.kind(x)


def test_copies_are_told(on):
    A = random_matrix(50, 50, 0.1)
    said = tulle.plan_spmv(on.matrix(A)).describe()
    assert ("indices: int64: copied as int32" in said) == isinstance(on, WithTorch)
    arrays = (on.array(A.indptr.astype(np.int64)), on.array(A.indices), on.array(A.data))
    assert "all used where they are" in tulle.plan_spmv(arrays, shape=A.shape).describe()


def test_other_streams(on):
    """A long chain on another stream: each product needs the one before, made by the framework on that stream."""
    A = random_matrix(2000, 2000, 0.002)
    plan = tulle.plan_spmv(on.matrix(A))
    x = on.array(np.ones(2000))
    want = np.ones(2000)
    plan(x)
    on.wait()
    for _ in range(3):
        with on.stream():
            y = x * 1.0
            for _ in range(20):
                y = plan(y) * 0.125
            got = on.host(y)
        w = want
        for _ in range(20):
            w = (A @ w) * 0.125
        np.testing.assert_allclose(got, w, rtol=1e-12)


def test_arrays_are_kept_alive(on):
    A = random_matrix(500, 500, 0.02)
    plan = tulle.plan_spmv(on.matrix(A))
    gc.collect()
    junk = [on.array(np.full(A.nnz, 7.0)) for _ in range(20)]
    np.testing.assert_array_equal(on.host(plan(on.array(np.ones(500)))), A @ np.ones(500))
    del junk


def test_integers_go_to_the_framework():
    on = WithCupy()
    A = random_matrix(20, 20, 0.2).astype(np.complex128)
    with pytest.warns(tulle.FallbackWarning):
        y = tulle.spmv(on.matrix(A), on.array(np.ones(20, complex)))
    np.testing.assert_allclose(on.host(y), A @ np.ones(20))
    with pytest.raises(tulle.UnsupportedType):
        tulle.spmv(on.matrix(A), on.array(np.ones(20, complex)), strict=True)


def test_calls_without_a_plan_again(on):
    """The second call finds what the first one prepared; values are read anew, other indices are looked at."""
    A = random_matrix(300, 300, 0.05)
    M, x, X = on.matrix(A), whole_numbers(300), whole_numbers((300, 16))
    values = (lambda: M.values()) if isinstance(on, WithTorch) else (lambda: M.data)
    for factor in (1, 2, 4):
        for _ in range(3):
            np.testing.assert_array_equal(on.host(tulle.spmv(M, on.array(x))), factor * (A @ x))
            np.testing.assert_array_equal(on.host(tulle.spmm(M, on.array(X))), factor * (A @ X))
            with on.stream():
                np.testing.assert_array_equal(on.host(tulle.spmv(M, on.array(x))), factor * (A @ x))
                np.testing.assert_array_equal(on.host(tulle.spmm(M, on.array(X))), factor * (A @ X))
        on.wait()
        values()[...] *= 2
        on.wait()


def test_cupy_backend():
    on = WithCupy()
    from cupyx.scipy.sparse import linalg

    A, L = random_matrix(300, 300, 0.05), triangle(300)
    x, X = whole_numbers(300), whole_numbers((300, 4))
    before, passed = tulle.cupy_backend.calls, tulle.cupy_backend.passed_on
    for format in ("csr", "csc"):
        M, T = on.matrix(A.asformat(format)), on.matrix(L.asformat(format))
        with tulle.cupy_backend():
            results = M @ on.array(x), M.dot(on.array(x)), M @ on.array(X), M @ M, M @ on.matrix(A), linalg.spsolve_triangular(T, on.array(x)), linalg.spsolve_triangular(T, on.array(X))
        assert tulle.cupy_backend.calls == before + 7 and tulle.cupy_backend.passed_on == passed
        before += 7
        for got, want in zip(results, (A @ x, A @ x, A @ X, (A @ A).toarray(), (A @ A).toarray())):
            np.testing.assert_array_equal(on.host(got), want)
        assert results[3].format == results[4].format == "csr"
        np.testing.assert_allclose(L @ on.host(results[5]), x, atol=1e-9)
        np.testing.assert_allclose(L @ on.host(results[6]), X, atol=1e-9)
    wide = on.matrix(A)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    with tulle.cupy_backend():
        assert (wide @ wide).indices.dtype == (wide @ on.matrix(A)).indptr.dtype == np.int64 and (M @ M).indices.dtype == np.int32
    with tulle.cupy_backend():
        np.testing.assert_array_equal(on.host(2.0 * M), 2 * A.toarray())
        np.testing.assert_array_equal(on.host(M * 2.0), 2 * A.toarray())
        np.testing.assert_allclose(on.host(M @ on.array(x + 1j)), A @ (x + 1j))
        x_cg, failed = linalg.cg(on.matrix(tulle.generate("stencil5:20")), on.array(np.ones(400)))
        assert not failed      # CuPy's solvers multiply by a cuSPARSE call of their own


def test_cuda_graphs():
    on = WithTorch()
    torch = on.torch
    A = random_matrix(1000, 1000, 0.01, np.float32)
    plan = tulle.plan_spmm(on.matrix(A), 16)
    B = on.array(whole_numbers((1000, 16), np.float32))
    C = torch.empty(1000, 16, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        plan(B, C)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        plan(B, C)
    B.mul_(2)
    C.zero_()
    graph.replay()
    np.testing.assert_array_equal(on.host(C), 2 * (A @ whole_numbers((1000, 16), np.float32)))


def test_backward_needs_little_memory():
    """The gradients of A B where a dense gradient of A would have 40 GB."""
    import tulle.torch as tt

    on = WithTorch()
    torch = on.torch
    A = tulle.generate("uniform:100000,100000,8", dtype="f32")
    csr = tt.CSR(on.array(A.indptr.astype(np.int64)), on.array(A.indices), on.array(A.data).requires_grad_(), A.shape)
    B = torch.ones(100000, 64, device="cuda", requires_grad=True)
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    tt.spmm(csr, B).sum().backward()
    assert torch.cuda.max_memory_allocated() - before < 16 * (A.nnz * 4 + 100000 * 64 * 4)
    np.testing.assert_allclose(on.host(B.grad)[:, 0], np.asarray(A.sum(axis=0)).ravel(), rtol=1e-4, atol=1e-4)
