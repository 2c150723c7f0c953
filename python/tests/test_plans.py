# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""Plans: what they keep, say, refuse; pickling, threads, fork, Ctrl-C."""
import gc
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import types
import weakref

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import random_matrix, triangle, whole_numbers

import tulle


def all_plans(A, L):
    return {"spmv": tulle.plan_spmv(A), "spmm": tulle.plan_spmm(A, 4), "spgemm": tulle.plan_spgemm(A, A), "solve": tulle.plan_solve_triangular(L)}


def results(plans, x):
    C = plans["spgemm"]()
    return [plans["spmv"](x), plans["spmm"](np.outer(x, [1, 2, 3, 4])), C.toarray(), plans["solve"](x)]


def renew(plans, A, L):
    """New values for all of them."""
    plans["spmv"].update_values(3 * A.data)
    plans["spmm"].update_values(5 * A.data)
    plans["spgemm"].update_values(2 * A.data, 7 * A.data)
    plans["solve"].update_values(2 * L.data)


@pytest.fixture
def A():
    return random_matrix(80, 80, 0.1)


@pytest.fixture
def L():
    return triangle(80)


def test_pickling(A, L):
    x = whole_numbers(80)
    plans = all_plans(A, L)
    renew(plans, A, L)
    again = pickle.loads(pickle.dumps(plans))
    for one, other in zip(results(plans, x), results(again, x)):
        assert one.tobytes() == other.tobytes()
    context = pickle.loads(pickle.dumps(tulle.Context(threads=1, budget="1GiB")))
    assert "threads=1" in repr(context) and "1073741824" in repr(context)


def test_update_values(A, L):
    x = whole_numbers(80)
    plans = all_plans(A, L)
    before = results(plans, x)
    new = A.copy()
    new.data = whole_numbers(A.nnz, seed=21)
    plans["spmv"].update_values(new.data)
    plans["spmm"].update_values(new.data)
    plans["spgemm"].update_values(new.data, new.data)
    plans["solve"].update_values(2 * L.data)
    after = results(plans, x)
    np.testing.assert_array_equal(after[0], new @ x)
    np.testing.assert_array_equal(after[1], new @ np.outer(x, [1, 2, 3, 4]))
    np.testing.assert_array_equal(after[2], (new @ new).toarray())
    np.testing.assert_allclose(after[3], before[3] / 2)
    for plan in (plans["spmv"], plans["spmm"], plans["solve"]):
        with pytest.raises(ValueError):
            plan.update_values(np.ones(3))


def test_values_in_another_order_are_refused(A, L):
    """COO's values are not in the order of the CSR that was made of them."""
    unsorted = (np.array([0, 2, 3]), np.array([1, 0, 1], np.int32), np.array([0.0, 2.0, 3.0]))
    plans = [tulle.plan_spmv(A.tocoo()), tulle.plan_spmm(A.tobsr()), tulle.plan_spgemm(A, A.tocoo()), tulle.plan_solve_triangular(unsorted, shape=(2, 2), other_side="ignore")]
    for plan in plans:
        with pytest.raises(tulle.PlanMismatch, match="another order"):
            plan.update_values(*([A.data] * (2 if isinstance(plan, tulle.SpgemmPlan) else 1)))


def test_arrays_are_kept_alive(A):
    x, want = whole_numbers(80), A @ whole_numbers(80)
    indptr, indices, data = A.indptr.copy(), A.indices.copy(), A.data.copy()
    plan = tulle.plan_spmv((indptr, indices, data), shape=A.shape)
    watch = weakref.ref(data)
    del indptr, indices, data
    gc.collect()
    junk = [np.full(A.nnz, 7.0) for _ in range(20)]
    np.testing.assert_array_equal(plan(x), want)
    assert watch() is not None
    del plan, junk
    gc.collect()
    assert watch() is None


def test_nothing_is_copied_without_need():
    A = random_matrix(50, 50)
    A64 = (A.indptr.astype(np.int64), A.indices, A.data)
    assert "all used where they are" in tulle.plan_spmv(A64, shape=A.shape).describe()
    assert "widened to 64 bits once" in tulle.plan_spmv(A).describe() and "copied" not in tulle.plan_spmv(A).describe()
    assert "coo: converted to csr" in tulle.plan_spmv(A.tocoo()).describe()
    assert "data: float64, of foreign byte order: copied" in tulle.plan_spmv((A.indptr, A.indices, A.data.astype(">f8")), shape=A.shape).describe()


def test_what_plans_say(A, L):
    for name, plan in all_plans(A, L).items():
        assert plan.policy and plan.policy in repr(plan), name
        assert len(plan.describe()) > 40 and plan.nbytes >= 0 and plan.shape == (80, 80) and plan.dtype == np.float64
    plan = tulle.plan_spgemm(A, A)
    assert plan.nnz == (abs(A) @ abs(A)).nnz and plan.products == int(np.diff(A.indptr)[A.indices].sum()) and plan.memory["result"] > 0


def test_memory_of_dropped_results_is_used_again():
    A, X = tulle.generate("stencil5:200"), whole_numbers(40000 * 16).reshape(40000, 16)
    plan, want = tulle.plan_spmm(A, 16), A @ X
    small = plan(X[:, :2].copy())
    assert plan.nbytes < 1 << 20 and small.flags.owndata                     # small results are NumPy's own
    held = [plan(k * X) for k in (1, 2, 3, 4)]
    assert len({C.ctypes.data for C in held}) == 4 and all(C.ctypes.data % 64 == 0 and C.flags.c_contiguous for C in held)
    for k, C in zip((1, 2, 3, 4), held):
        np.testing.assert_array_equal(C, k * want)                          # nobody's result is written again
    part, at = held[3][7:9], held[3].ctypes.data
    del held, C
    C = plan(X)
    assert C.ctypes.data != at                                              # a part of it is still used
    np.testing.assert_array_equal(part, 4 * want[7:9])
    del part, C
    addresses = {plan(X).ctypes.data for _ in range(6)}
    assert len(addresses) <= 2 and addresses_in_loop(plan, X, want) <= 3
    assert plan.nbytes <= 2 * (want.nbytes + 64) + tulle.plan_spmm(A, 16).nbytes


def test_memory_of_results_without_a_plan_goes_with_the_matrix():
    A, X = tulle.generate("stencil5:200"), whole_numbers(40000 * 16).reshape(40000, 16)
    want = A @ X
    assert addresses_in_loop(lambda B: tulle.spmm(A, B), X, want) <= 2
    held = [tulle.spmm(A, k * X) for k in (1, 2, 3)]
    for k, C in zip((1, 2, 3), held):
        np.testing.assert_array_equal(C, k * want)
    block = weakref.ref(held[2].base)
    del held, C
    assert block() is not None                   # kept for the next product
    del A
    gc.collect()
    assert block() is None


def addresses_in_loop(plan, X, want):
    seen = set()
    for k in range(1, 9):
        C = plan(k * X)
        seen.add(C.ctypes.data)
        np.testing.assert_array_equal(C, k * want)
    return len(seen)


def test_threads_never_share_a_result():
    A, X = tulle.generate("stencil5:200"), whole_numbers(40000 * 16).reshape(40000, 16)
    plan, want, wrong = tulle.plan_spmm(A, 16, context=tulle.Context(threads=1)), A @ X, []

    def work(k):
        for _ in range(20):
            C = plan(k * X)
            time.sleep(0.0005)
            if not np.array_equal(C, k * want):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in (1, 2, 3, 4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


@pytest.mark.parametrize("in_order", [True, False])
def test_kept_columns(A, in_order):
    plan, other = tulle.plan_spgemm(A, A, sorted=in_order, keep_columns=True), tulle.plan_spgemm(A, A, sorted=in_order)
    before, want = plan.nbytes, other()
    first, second = plan(), plan()
    assert plan.nbytes - before >= 4 * plan.nnz and other.nbytes < plan.nbytes
    for C in (first, second):
        assert C.indices.tobytes() == want.indices.tobytes() and C.indptr.tobytes() == want.indptr.tobytes() and C.data.tobytes() == want.data.tobytes()
    first.indices[:] = second.indices[:] = 0                               # results are the caller's: the plan has columns of its own
    for p in (plan, other):
        p.update_values(3 * A.data, A.data)
    again = pickle.loads(pickle.dumps(plan))
    for p in (plan, again, again):
        assert p().data.tobytes() == other().data.tobytes() and p().indices.tobytes() == want.indices.tobytes()


def test_policies_can_be_forced(A):
    x = whole_numbers(80)
    chosen = tulle.plan_spmv(A).policy
    assert tulle.plan_spmv(A, policy=chosen).policy == chosen
    plan = tulle.plan_spmv(A, policy="split")
    assert plan.policy.startswith("split")
    np.testing.assert_array_equal(plan(x), A @ x)
    assert tulle.plan_spgemm(A, A, policy="hash").policy.startswith("hash")
    with pytest.raises(tulle.InvalidValue, match="there are"):
        tulle.plan_spmv(A, policy="teleport")


def test_many_threads_share_a_plan():
    A = tulle.generate("stencil5:60")
    plan, solve = tulle.plan_spmv(A), tulle.plan_solve_triangular(sp.tril(A).tocsr())
    xs = [np.random.default_rng(i).standard_normal(A.shape[0]) for i in range(8)]
    want, solved = [plan(x) for x in xs], [solve(x) for x in xs]
    wrong = []

    def work(i):
        for _ in range(30):
            if plan(xs[i]).tobytes() != want[i].tobytes() or solve(xs[i]).tobytes() != solved[i].tobytes():
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not wrong


def test_new_values_from_many_threads():
    A = tulle.generate("stencil5:40")
    plan = tulle.plan_spmv(A)
    x = np.ones(A.shape[0])

    def work(i):
        for k in range(50):
            plan.update_values(np.full(A.nnz, float(i)))
            plan(x)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    plan.update_values(A.data)
    np.testing.assert_array_equal(plan(x), A @ x)


def test_python_goes_on_while_a_plan_works():
    A = tulle.generate("twin:cant")
    counted, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            counted[0] += 1
            time.sleep(0)

    thread = threading.Thread(target=count)
    thread.start()
    plan = tulle.plan_spgemm(A, A, context=tulle.Context(threads=1))
    before = counted[0]
    plan()
    during = counted[0] - before
    stop.set()
    thread.join()
    assert during > 100


def forked_work(plan, x, queue):
    queue.put((plan(x).tobytes(), tulle.spmv(tulle.generate("stencil5:200"), np.ones(40000)).sum()))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_after_a_fork():
    A = tulle.generate("stencil5:200")                                       # large enough for several threads
    plan, x = tulle.plan_spmv(A), np.random.default_rng(5).standard_normal(A.shape[0])
    want = plan(x)
    fork = multiprocessing.get_context("fork")
    queue = fork.Queue()
    child = fork.Process(target=forked_work, args=(plan, x, queue))
    child.start()
    got, total = queue.get(timeout=60)
    child.join(timeout=60)
    np.testing.assert_allclose(np.frombuffer(got), want, rtol=1e-12)
    assert total == pytest.approx(tulle.spmv(A, np.ones(A.shape[0])).sum())
    assert plan(x).tobytes() == want.tobytes()                               # the parent goes on as before


def forked_results(plans, x, queue):
    queue.put([r.tobytes() for r in results(plans, x)])


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_new_values_after_a_fork(A, L):
    x, plans = whole_numbers(80), all_plans(A, L)
    old = [r.tobytes() for r in results(plans, x)]
    renew(plans, A, L)
    fork = multiprocessing.get_context("fork")
    queue = fork.Queue()
    child = fork.Process(target=forked_results, args=(plans, x, queue))
    child.start()
    got = queue.get(timeout=60)
    child.join(timeout=60)
    assert got == [r.tobytes() for r in results(plans, x)]
    assert all(a != b for a, b in zip(got, old))


def test_ctrl_c_while_a_matrix_is_written(tmp_path):
    program = f"""
import signal, tulle
signal.signal(signal.SIGINT, signal.default_int_handler)        # tests in the background of a shell have SIGINT ignored
A = tulle.generate("stencil7:110")
print("ready", flush=True)
try:
    while True:
        tulle.write({str(tmp_path / 'a.mtx')!r}, A)
except KeyboardInterrupt:
    print("stopped", flush=True)
"""
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "ready\n"
    time.sleep(0.5)
    child.send_signal(signal.SIGINT)
    begin = time.monotonic()
    assert child.communicate(timeout=60)[0] == "stopped\n"
    assert time.monotonic() - begin < 10


def test_progress(tmp_path):
    A, seen = tulle.generate("stencil5:100"), []
    tulle.write(tmp_path / "a.mtx", A, progress=seen.append)
    tulle.read(tmp_path / "a.mtx", progress=seen.append)
    assert seen and all(0 <= s <= 1 for s in seen) and seen[-1] == 1

    def fails(share):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        tulle.read(tmp_path / "a.mtx", progress=fails)


class Bar:
    """Stands for tqdm's."""
    made = []

    def __init__(self, total, desc, unit, leave):
        self.total, self.desc, self.n, self.closed = total, desc, 0, False
        self.made.append(self)

    def update(self, more):
        self.n += more

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.closed = True


def test_progress_bars_where_tqdm_is_installed(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)                       # not installed: nothing is shown
    A = tulle.generate("stencil5:100", progress=True)
    monkeypatch.setitem(sys.modules, "tqdm", types.ModuleType("tqdm"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", types.SimpleNamespace(tqdm=Bar))
    tulle.write(tmp_path / "a.mtx", A, progress=True)
    assert (tulle.read(tmp_path / "a.mtx", progress=True) != A).nnz == 0
    tulle.read(tmp_path / "a.mtx", progress=False)
    assert [bar.desc for bar in Bar.made] == ["write a.mtx", "read a.mtx"]
    assert all(bar.closed and abs(bar.n - bar.total) < 1e-9 for bar in Bar.made)
