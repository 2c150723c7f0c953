# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""Solvers: beside SciPy's direct solver, reasons for what cannot be solved, new values, pickling, kinds of matrices."""
import pickle
import signal
import time

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from conftest import random_matrix

import tulle


def convection(n=20):
    """Not symmetric, diagonally dominant."""
    return sp.csr_array(tulle.generate(f"stencil5:{n}") + sp.diags_array([-0.3, 0.3], offsets=[-1, 1], shape=(n * n, n * n)))


@pytest.mark.parametrize("preconditioner", ["", "none", "jacobi", "block-jacobi:4", "chebyshev:3", "ic0", "fsai", "amg"])
@pytest.mark.parametrize("method", ["", "cg", "minres", "gmres", "bicgstab"])
def test_symmetric(method, preconditioner):
    A = tulle.generate("stencil5:20")
    b = np.random.default_rng(1).standard_normal(400)
    x, report = tulle.solve(A, b, method=method, preconditioner=preconditioner)
    assert report and report.reason == "converged" and report.iterations == len(report.history) - 1
    assert np.linalg.norm(b - A @ x) <= 1.01e-8 * np.linalg.norm(b)
    assert report.relative == pytest.approx(np.linalg.norm(b - A @ x) / np.linalg.norm(b), rel=1e-3)
    assert np.allclose(x, spla.spsolve(A.tocsc(), b))


@pytest.mark.parametrize("preconditioner", ["", "ilu0", "iluk:1", "ilut"])
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array, sp.coo_matrix, sp.bsr_array])
def test_not_symmetric_in_every_kind(kind, preconditioner):
    A = convection()
    b = np.ones(400)
    x, report = tulle.solve(kind(A), b, preconditioner=preconditioner)
    assert report.converged and np.allclose(A @ x, b, atol=1e-6)


def test_float32():
    A = tulle.generate("stencil5:20").astype(np.float32)
    x, report = tulle.solve(A, np.ones(400, np.float32), rtol=1e-4)
    assert x.dtype == np.float32 and report.converged


@pytest.mark.parametrize("sizes", ["24,20", "8,6,6"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rigid_body_modes(sizes, dtype):
    dimensions = sizes.count(",") + 1
    A = tulle.generate(f"elasticity{dimensions}d:{sizes}").astype(dtype)
    modes = tulle.rigid_body_modes(tulle.generate("coordinates:" + sizes).toarray())
    assert modes.shape == (A.shape[0], 3 * dimensions - 3) and np.linalg.matrix_rank(modes) == modes.shape[1]
    options = dict(method="cg", preconditioner="amg", rtol=1e-8 if dtype == np.float64 else 1e-3)
    b = np.ones(A.shape[0], dtype)
    x, report = tulle.solve(A, b, near_null_space=modes, unknowns_per_node=dimensions, **options)
    assert report.converged and report.iterations < tulle.solve(A, b, **options)[1].iterations
    with pytest.raises(tulle.ShapeError):
        tulle.solve(A, b, near_null_space=modes[1:], **options)
    with pytest.raises(tulle.ShapeError):
        tulle.rigid_body_modes(np.ones((3, 4)))
    with pytest.raises(tulle.InvalidValue):
        tulle.plan_solve(A, unknowns_per_node=7)


def test_a_plan_is_used_again():
    A = tulle.generate("stencil5:20")
    plan = tulle.plan_solve(A, preconditioner="amg")
    b = np.ones(400)
    x, _ = plan(b)
    assert plan(b)[0].tobytes() == x.tobytes()
    again = pickle.loads(pickle.dumps(plan))
    assert again(b)[0].tobytes() == x.tobytes()
    assert tulle.plan_solve(A, preconditioner="amg", graphs=False)(b)[0].tobytes() == x.tobytes()
    plan.update_values(2 * A.data)
    assert np.allclose(plan(b)[0], x / 2)
    assert "amg" in plan.policy and plan.nbytes > 0 and "amg" in plan.describe()


def test_a_guess_saves_iterations():
    A = tulle.generate("stencil5:30")
    b = A @ np.ones(900)
    plan = tulle.plan_solve(A, method="cg", preconditioner="jacobi", guess=True)
    x, report = plan(b, np.ones(900))
    assert report.iterations == 0 and np.array_equal(x, np.ones(900))
    with pytest.raises(tulle.InvalidValue, match="guess"):
        plan(b)


def test_reasons():
    A = tulle.generate("stencil5:20")
    _, report = tulle.solve(A, np.ones(400), method="cg", preconditioner="none", maxiter=3)
    assert not report and report.reason == "limit of iterations" and report.iterations == 3 and "3" in report.text
    _, report = tulle.solve(-A, np.ones(400), method="cg", preconditioner="none")
    assert not report and report.reason == "not positive definite"
    _, report = tulle.solve(A, np.full(400, np.nan))
    assert not report and report.reason == "not finite" and report.where == "b"
    x, report = tulle.solve(A, np.zeros(400))
    assert report and not x.any()
    with pytest.raises(AttributeError, match="history"):
        report.residuals
    assert pickle.loads(pickle.dumps(report)).iterations == report.iterations and "converged" in repr(report)


def test_errors():
    A = tulle.generate("stencil5:5")
    with pytest.raises(tulle.ShapeError):
        tulle.solve(random_matrix(4, 5), np.ones(4))
    with pytest.raises(tulle.ShapeError, match="24"):
        tulle.solve(A, np.ones(24))
    with pytest.raises(tulle.InvalidValue, match="conjugate"):
        tulle.solve(A, np.ones(25), method="conjugate")
    with pytest.raises(tulle.InvalidValue, match="ilu9"):
        tulle.solve(A, np.ones(25), preconditioner="ilu9")
    with pytest.raises(tulle.UnsupportedType):
        tulle.solve(A.astype(complex), np.ones(25))
    bad = A.copy()
    bad.data[3] = np.inf
    with pytest.raises(tulle.InvalidValue):
        tulle.solve(bad, np.ones(25))


class Interrupt(Exception):
    pass


def test_a_signal_ends_a_solve():
    def handler(*_):
        raise Interrupt

    A = tulle.generate("stencil5:300")
    plan = tulle.plan_solve(A, method="cg", preconditioner="none", rtol=1e-300, maxiter=10**6)
    b = np.ones(A.shape[0])
    before = signal.signal(signal.SIGALRM, handler)
    try:
        begin = time.perf_counter()
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(Interrupt):
            plan(b)
        interrupted = time.perf_counter() - begin
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    begin = time.perf_counter()
    _, report = plan(b)                              # the plan is whole
    assert report.reason == "stagnated" and interrupted < time.perf_counter() - begin


def test_near_null_spaces_are_real():
    A, points = tulle.generate("elasticity2d:4"), tulle.generate("coordinates:4,4").toarray()
    with pytest.raises(tulle.UnsupportedType, match="complex"):
        tulle.rigid_body_modes(points * 1j)
    with pytest.raises(tulle.UnsupportedType, match="complex"):
        tulle.plan_solve(A, preconditioner="amg", near_null_space=tulle.rigid_body_modes(points) * 1j, unknowns_per_node=2)
