# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""tulle.torch: results, gradients, torch.compile, autocast. The same on a GPU where torch and tulle have one."""
import re
import warnings

import numpy as np
import pytest
from conftest import ROOT, random_matrix, triangle

torch = pytest.importorskip("torch", reason="torch is not installed (make python-torch installs it)")
from torch import library as operators  # noqa: E402

import tulle.torch as tt  # noqa: E402
from tulle import _core  # noqa: E402

HAS_GPU = torch.cuda.is_available() and _core.gpus() and not _core.gpus()[0]["simulated"]
DEVICES = ["cpu"] + (["cuda"] if HAS_GPU else [])
pytestmark = pytest.mark.parametrize("device", DEVICES)


def csr(A, device, dtype=torch.float64, grad=True, index=torch.int64):
    values = torch.tensor(A.data, dtype=dtype, device=device, requires_grad=grad)
    return tt.CSR(torch.tensor(A.indptr, dtype=torch.int64, device=device), torch.tensor(A.indices, dtype=index, device=device), values, A.shape)


def dense(shape, device, dtype=torch.float64, seed=1, grad=True):
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)).to(device, dtype).requires_grad_(grad)


@pytest.fixture
def A():
    return random_matrix(9, 7, 0.4)


def cases(A, device):
    """Every operator: a function of its differentiable inputs, those inputs, the operator and all its arguments."""
    a, ops = csr(A, device), torch.ops.tulle
    L, U = csr(triangle(8), device), csr(triangle(8, lower=False), device)
    B = csr(random_matrix(7, 6, 0.4, seed=9), device)
    p = (a.crow, a.col)
    x, xt = dense((7,), device), dense((9,), device, seed=2)
    b, bt = dense((7, 3), device), dense((9, 3), device, seed=2)
    r, rr = dense((8,), device, seed=3), dense((8, 2), device, seed=3)
    k, v = dense((7, 3), device, seed=4), dense((7, 2), device, seed=5)
    yield "spmv", ops.spmv.default, (*p, a.values, x, 9, 7, False), (2, 3)
    yield "spmv transposed", ops.spmv.default, (*p, a.values, xt, 9, 7, True), (2, 3)
    yield "spmm", ops.spmm.default, (*p, a.values, b, 9, 7, False), (2, 3)
    yield "spmm transposed", ops.spmm.default, (*p, a.values, bt, 9, 7, True), (2, 3)
    yield "sddmm", ops.sddmm.default, (*p, bt, b), (2, 3)
    yield "attention", ops.attention.default, (*p, bt, k, v, 0.7), (2, 3, 4)
    yield "solve", ops.solve_triangular.default, (L.crow, L.col, L.values, r, True, False, False), (2, 3)
    yield "solve transposed", ops.solve_triangular.default, (L.crow, L.col, L.values, rr, True, False, True), (2, 3)
    yield "solve upper, unit", ops.solve_triangular.default, (U.crow, U.col, U.values, rr, False, True, False), (2, 3)
    yield "spgemm", ops.spgemm.default, (*p, a.values, B.crow, B.col, B.values, 9, 7, 6), (2, 5)


def test_calls_go_around_registered_gradients_and_have_the_same(A, device):
    a = csr(A, device)
    p = (a.crow, a.col)
    q, k, v = dense((9, 3), device, seed=1), dense((7, 3), device, seed=2), dense((7, 2), device, seed=3)
    for f, inputs in ((lambda w, b: tt.spmm(tt.CSR(*p, w, a.shape), b), (a.values, v)), (lambda q, k: tt.sddmm(a, q, k).values, (q, k)),
                      (lambda q, k, v: tt.attention(a, q, k, v), (q, k, v))):
        assert type(f(*inputs).grad_fn).__name__.startswith("tulle_")
        assert torch.autograd.gradcheck(f, inputs) and torch.autograd.gradgradcheck(f, inputs)
    with torch.no_grad():
        assert not tt.spmm(a, v).requires_grad


def test_gradcheck(A, device):
    for name, op, arguments, where in cases(A, device):
        def f(*inputs):
            all = list(arguments)
            for i, t in zip(where, inputs):
                all[i] = t
            result = op(*all)
            return result[2] if isinstance(result, tuple) else result

        assert torch.autograd.gradcheck(f, [arguments[i] for i in where], nondet_tol=1e-12), name


def test_second_derivatives(A, device):
    for name, op, arguments, where in cases(A, device):
        if name in ("spmm", "sddmm", "solve"):
            f = lambda *inputs: op(*[inputs[where.index(i)] if i in where else v for i, v in enumerate(arguments)])
            assert torch.autograd.gradgradcheck(f, [arguments[i] for i in where], nondet_tol=1e-12), name


def test_opcheck(A, device):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, op, arguments, _ in cases(A, device):
            checks = ("test_schema", "test_autograd_registration", "test_faketensor") + (() if name == "spgemm" else ("test_aot_dispatch_dynamic",))
            assert all(v == "SUCCESS" for v in operators.opcheck(op, arguments, test_utils=checks).values()), name


def test_results_are_those_of_tulle(A, device):
    a, b, x = csr(A, device), dense((7, 3), device), dense((7,), device)
    D = a.to_dense()
    torch.testing.assert_close(tt.spmm(a, b), D @ b)
    torch.testing.assert_close(tt.spmv(a, x), D @ x)
    torch.testing.assert_close(tt.spgemm(a, csr(A.T.tocsr(), device)).to_dense(), D @ D.T)
    torch.testing.assert_close(tt.sddmm(a, dense((9, 4), device), dense((7, 4), device)).to_dense(), (D != 0) * (dense((9, 4), device) @ dense((7, 4), device).T))
    if device == "cpu":
        import tulle
        assert tt.spmm(a, b).detach().numpy().tobytes() == tulle.plan_spmm(A, 3)(b.detach().numpy()).tobytes()


@pytest.mark.parametrize("dtype, tolerance", [(torch.float16, 2e-2), (torch.bfloat16, 1e-1)])
def test_half_precision(A, device, dtype, tolerance):
    a, b = csr(A, device, dtype), dense((7, 3), device, dtype)
    C = tt.spmm(a, b)
    assert C.dtype == dtype
    torch.testing.assert_close(C, (a.to_dense().double() @ b.double()).to(dtype), atol=tolerance, rtol=tolerance)
    C.sum().backward()
    assert a.values.grad.dtype == b.grad.dtype == dtype
    torch.testing.assert_close(b.grad, a.to_dense().double().sum(0)[:, None].expand(-1, 3).to(dtype), atol=tolerance, rtol=tolerance)
    assert tt.spmv(a, b[:, 0]).dtype == torch.float32


def test_autocast(A, device):
    a, b = csr(A, device, torch.float32), dense((7, 3), device, torch.float32)
    with torch.autocast(device, dtype=torch.bfloat16):
        C = tt.spmm(a, b)
        x = tt.spmv(a, b[:, 0])
    assert C.dtype == torch.bfloat16 and x.dtype == torch.float32
    C.float().sum().backward()
    assert b.grad.dtype == torch.float32 and a.values.grad.dtype == torch.float32


def test_compile(A, device):
    a, b = csr(A, device), dense((7, 3), device)
    f = lambda values, b: torch.relu(tt.spmm(tt.CSR(a.crow, a.col, values, a.shape), b)).sum()
    g = torch.compile(f, backend="aot_eager", fullgraph=True)
    want = torch.autograd.grad(f(a.values, b), (a.values, b))
    got = torch.autograd.grad(g(a.values, b), (a.values, b))
    for one, other in zip(want, got):
        torch.testing.assert_close(one, other)


def test_plans_are_made_once_and_follow_values_and_patterns(A, device):
    tt.clear_plans()
    a, b = csr(A, device), dense((7, 3), device)
    for _ in range(3):
        tt.spmm(a, b).sum().backward()
    kinds = [key[0] for key in tt._plans]
    assert sorted(kinds) == ["pattern", "sddmm", "spmm", "spmm"]
    a.values.data.mul_(2)
    torch.testing.assert_close(tt.spmm(a, b), a.to_dense() @ b)
    a.col[0] = (a.col[0] + 1) % 7 if a.col[0] + 1 != a.col[1] else a.col[0]
    torch.testing.assert_close(tt.spmm(a, b), a.to_dense() @ b)
    tt.clear_plans()
    assert not tt._plans


def test_sparse_tensors_are_taken_without_their_gradient(A, device):
    a = csr(A, device, grad=False)
    S = torch.sparse_csr_tensor(a.crow, a.col, a.values, A.shape)
    b = dense((7, 3), device)
    torch.testing.assert_close(tt.spmm(S, b), a.to_dense() @ b)
    with pytest.raises(ValueError, match="no gradient"):
        tt.spmm(S.detach().requires_grad_(), b)
    with pytest.raises(ValueError, match="7"):
        tt.spmm(S, dense((8, 3), device))


def test_products_in_pieces(A, device, monkeypatch):
    monkeypatch.setattr(tt, "PRODUCTS_AT_ONCE", 3)
    a, b = csr(A, device), csr(random_matrix(7, 6, 0.4, seed=9), device)
    tt.spgemm(a, b).values.square().sum().backward()
    got = a.values.grad.clone(), b.values.grad.clone()
    a.values.grad = b.values.grad = None
    (a.to_dense() @ b.to_dense()).square().sum().backward()
    torch.testing.assert_close(got, (a.values.grad, b.values.grad))


def test_layers_learn(device):
    """Two groups of nodes, edges mostly inside: both layers tell them apart from noisy features."""
    generator = torch.Generator().manual_seed(3)
    label = (torch.arange(80) >= 40).long()
    edges = torch.randint(0, 80, (2, 900), generator=generator)
    edges = edges[:, (label[edges[0]] == label[edges[1]]) | (torch.rand(900, generator=generator) < 0.05)]
    G = tt.from_edges(edges.to(device), 80)
    X = (torch.randn(80, 8, generator=generator) + 0.7 * (2 * label - 1)[:, None] * torch.eye(8)[0]).to(device)
    label = label.to(device)
    for layer in (tt.GCN, tt.GAT):
        torch.manual_seed(1)
        first, second = layer(8, 8).to(device), layer(8, 2).to(device)
        optimizer = torch.optim.Adam([*first.parameters(), *second.parameters()], lr=0.02)
        for _ in range(60):
            optimizer.zero_grad()
            scores = second(G, torch.relu(first(G, X)))
            torch.nn.functional.cross_entropy(scores, label).backward()
            optimizer.step()
        assert (scores.argmax(1) == label).float().mean() > 0.95, layer.__name__


def test_rows_without_nonzeros(device):
    """The softmax of nothing is nothing, and its gradient too."""
    A = random_matrix(6, 6, 0.1, seed=4)
    a = csr(A, device)
    q = dense((6, 2), device)
    tt.attention(a, q, q, q).sum().backward()
    assert torch.isfinite(q.grad).all() and np.diff(A.indptr).min() == 0


def test_writes_into_index_arrays_are_counted(device):
    """What is remembered of index arrays on a GPU depends on it."""
    from tulle import _frameworks

    assert _frameworks.the(_frameworks.Torch).counts_writes
    A = torch.eye(3, device=device).to_sparse_csr()
    a = _frameworks._from_torch(A, torch)
    before = a.mark()
    assert before is not None and _frameworks._from_torch(A, torch).mark() == before
    A.col_indices()[0] = 1
    assert _frameworks._from_torch(A, torch).mark() != before
    with torch.inference_mode():
        assert _frameworks._from_torch(torch.eye(3, device=device).to_sparse_csr(), torch).mark() is None


def test_the_page_for_users(A, device):
    """The block of docs/python.md, which runs here only, as torch may be missing elsewhere."""
    block = next(b for b in re.findall(r"```text\n(.*?)```", (ROOT / "docs/python.md").read_text(encoding="utf-8"), flags=re.S) if "import tulle.torch" in b)
    a, names = csr(A, device), {}
    names.update(crow=a.crow, col=a.col, values=a.values, rows=9, cols=7, B=dense((7, 3), device))
    exec(block, names)
    np.testing.assert_allclose(names["C"].detach().cpu().numpy(), A @ names["B"].detach().cpu().numpy())
    names["C"].sum().backward()
    assert a.values.grad is not None and names["B"].grad is not None


def test_writes_between_forward_and_backward_are_an_error(A, device):
    """Gradients need what was there: torch's count of writes tells of values, operands and patterns that were changed in place."""
    for write in (lambda a, b: a.values.detach().mul_(2), lambda a, b: b.detach().add_(1), lambda a, b: a.col.zero_()):
        a, b = csr(A, device), dense((7, 3), device)
        C = tt.spmm(a, b)
        write(a, b)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            C.sum().backward()


def test_tensors_of_inference_mode_are_read_anew(device):
    """torch counts no writes to them, so that no plan is kept."""
    tt.clear_plans()
    with torch.inference_mode():
        crow, col, values = torch.tensor([0, 1, 2], device=device), torch.tensor([0, 1], device=device), torch.tensor([2.0, 3.0], dtype=torch.float64, device=device)
        x = torch.tensor([1.0, 10.0], dtype=torch.float64, device=device)
        assert tt.spmv(tt.CSR(crow, col, values, (2, 2)), x).tolist() == [2, 30]
        col.copy_(torch.tensor([1, 0], device=device))
        assert tt.spmv(tt.CSR(crow, col, values, (2, 2)), x).tolist() == [20, 3]
    assert not tt._plans


def updates_of(monkeypatch):
    """The calls of update_values from now on."""
    from tulle import _plans

    calls, update = [], _plans.Plan.update_values
    monkeypatch.setattr(_plans.Plan, "update_values", lambda self, *values: (calls.append(self), update(self, *values))[1])
    return calls


def test_values_are_given_to_plans_when_they_change(A, device, monkeypatch):
    """A constant matrix once for each plan; torch counts writes, and other tensors are others even with the same count."""
    tt.clear_plans()
    a, b, c = csr(A, device, grad=False), dense((7, 3), device), dense((9, 3), device)
    updates = updates_of(monkeypatch)
    for _ in range(4):
        tt.spmm(a, b).sum().backward()
    assert len(updates) == 2                             # the product and the transposed one
    for change in (lambda v: v.mul_(2), lambda v: v.view(-1)[:1].add_(1), lambda v: v.detach().neg_()):
        change(a.values)
        torch.testing.assert_close(tt.spmm(a, b), a.to_dense() @ b)
        torch.testing.assert_close(tt.spmm(a, c, transpose=True), a.to_dense().T @ c)
    for factor in (3.0, 5.0):
        other = a._replace(values=factor * a.values.detach())
        torch.testing.assert_close(tt.spmm(other, b), factor * (a.to_dense() @ b))
    torch.testing.assert_close(tt.spmm(a, b), a.to_dense() @ b)


def test_values_with_gradients_are_read_anew(A, device):
    """Optimizers may write through .data, which torch does not count; the transposed product has a copy of the values."""
    a, b = csr(A, device), dense((9, 2), device)
    constant = a._replace(values=a.values.detach().clone())
    torch.testing.assert_close(tt.spmm(constant, b, transpose=True), constant.to_dense().T @ b)
    constant.values.requires_grad_()
    constant.values.data.mul_(3)
    torch.testing.assert_close(tt.spmm(constant, b, transpose=True), constant.to_dense().T @ b)
    operator = torch.ops.tulle.spmm.default              # as compiled code calls it, whose writes are not counted
    for _ in range(2):
        a.values.data.add_(1)
        torch.testing.assert_close(operator(a.crow, a.col, a.values.detach(), b, 9, 7, True), a.to_dense().T @ b)


def test_plans_in_use_are_kept(A, device, monkeypatch):
    tt.clear_plans()
    monkeypatch.setattr(tt, "MOST_PLANS", 3)
    a, b = csr(A, device, grad=False, index=torch.int32), dense((7, 3), device, grad=False)
    tt.spmm(a, b)
    kept = next(iter(tt._plans.values()))
    for n in range(4, 12):
        tt.spmm(a, dense((7, n), device, grad=False))
        torch.testing.assert_close(tt.spmm(a, b), a.to_dense() @ b)
        assert len(tt._plans) <= 3 and kept in tt._plans.values()
    tt.clear_plans()
    assert not tt._by_object


def test_profiles_see_operators(A, device):
    a, b = csr(A, device, grad=False), dense((7, 3), device, grad=False)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        tt.spmm(a, b)
    assert any("tulle::spmm" in event.key for event in profile.key_averages())
