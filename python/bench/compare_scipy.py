#!/usr/bin/env python3
# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""tulle beside SciPy in one process: SpMV, SpMM and SpGEMM on twins of the nsparse paper's matrices, and what a call costs on a small matrix.

    build/python-venv/bin/python python/bench/compare_scipy.py [--threads 2] [--matrices cant,scircuit] [--rounds 7] [--cpu-time] [--sort-scipy] [--overhead-only]

Contenders take turns, each time is the best of the rounds, results are compared before anything is timed. SciPy has one thread. `plan` is a plan's call,
`once` the call without one, which looks through the matrix first. SpGEMM: SciPy's columns are not sorted, ours are but for `any order` (sorted=False); `kept` is a
plan that keeps the columns of C (keep_columns=True). --sort-scipy sorts SciPy's too, within its time. --cpu-time is for machines that others use too: the processor time of all threads, divided
by the number of threads that the contender has. It is the wall time of an idle machine but for the imbalance between threads.
"""
import argparse
import os
import subprocess
import tempfile
import time

import numpy as np

import tulle

TWINS = "pdb1HYS,consph,cant,pwtk,rma10,qcd5_4,shipsec1,mac_econ,mc2depi,cop20k_A,scircuit,webbase-1M".split(",")


def best_times(contenders, rounds, least=0.02, clock=time.perf_counter):
    """Seconds of one call of each, the best of some rounds in which they take turns."""
    best = [float("inf")] * len(contenders)
    repeats = []
    for call in contenders:
        begin = clock()
        call()
        repeats.append(max(1, int(least / max(clock() - begin, 1e-7))))
    for _ in range(rounds):
        for i, call in enumerate(contenders):
            begin = clock()
            for _ in range(repeats[i]):
                call()
            best[i] = min(best[i], (clock() - begin) / repeats[i])
    return best


def spgemm_contenders(A, ctx, sort_scipy):
    def scipy_sorted():
        C = A @ A
        C.sort_indices()
        return C

    plan, any_order, kept = (tulle.plan_spgemm(A, A, context=ctx, **k) for k in ({}, {"sorted": False}, {"keep_columns": True}))
    return {"SciPy": scipy_sorted if sort_scipy else lambda: A @ A, "plan": plan, "any order": any_order, "kept": kept, "once": lambda: tulle.spgemm(A, A, context=ctx),
            "any order, once": lambda: tulle.spgemm(A, A, sorted=False, context=ctx)}


def contenders_of(A, operation, o, ctx):
    rng = np.random.default_rng(1)
    if operation == "spmv":
        x = rng.standard_normal(A.shape[1])
        plan = tulle.plan_spmv(A, context=ctx)
        return {"SciPy": lambda: A @ x, "plan": lambda: plan(x), "once": lambda: tulle.spmv(A, x, context=ctx)}
    if operation == "spmm":
        X = rng.standard_normal((A.shape[1], o.columns))
        plan = tulle.plan_spmm(A, o.columns, context=ctx)
        return {"SciPy": lambda: A @ X, "plan": lambda: plan(X), "once": lambda: tulle.spmm(A, X, context=ctx)}
    return spgemm_contenders(A, ctx, o.sort_scipy)


def agree(calls):
    """Whether all give the same, but for rounding; one result is held at a time. Called twice: a plan may do something else from the second call on."""
    first = None
    for call in [*calls, *calls]:
        r = call()
        dense = r if isinstance(r, np.ndarray) else r @ np.ones(r.shape[1])
        first = dense if first is None else first
        if np.abs(dense - first).max() > 1e-10 * np.abs(first).max():
            return False
    return True


def compare(name, operation, o, ctx):
    """Prints a line, with the names of the contenders above the first one; SciPy's time divided by that of each other one."""
    A = tulle.generate(f"twin:{name}")
    contenders = contenders_of(A, operation, o, ctx)
    if name == o.matrices.split(",")[0]:
        names = list(contenders)
        print(f"{'':7} {'matrix':10} {'nonzeros':>9}" + "".join(f" {n:>15}" for n in names) + "  |" + "".join(f" {n:>15}" for n in names[1:]))
    if not agree(contenders.values()):
        raise SystemExit(f"{name} {operation}: results differ")
    times = best_times(list(contenders.values()), o.rounds if operation != "spgemm" else 3, clock=time.process_time if o.cpu_time else time.perf_counter)
    times = [times[0], *(t / (o.threads if o.cpu_time else 1) for t in times[1:])]
    ratios = [times[0] / t for t in times[1:]]
    print(f"{operation:7} {name:10} {A.nnz:9}" + "".join(f" {t * 1e3:15.3f}" for t in times) + "  |" + "".join(f" {r:15.2f}" for r in ratios), flush=True)
    return ratios


def overhead():
    """A plan's call on a small matrix: from Python, from C++, and SciPy's product."""
    A = tulle.generate("stencil5:8")
    x = np.ones(A.shape[1])
    plan, M = tulle.plan_spmv(A), tulle.wrap(A)
    y = np.empty(A.shape[0])
    times = best_times([lambda: plan(x), lambda: plan(x, y), lambda: M @ x, lambda: tulle.spmv(A, x), lambda: A @ x], 30, 0.01)
    empty = best_times([lambda: None], 30, 0.01)[0]
    for name, seconds in zip(["plan(x)", "plan(x, out)", "wrap(A) @ x", "tulle.spmv(A, x)", "A @ x of SciPy"], times):
        print(f"  {name:18} {(seconds - empty) * 1e6:8.2f} µs")
    program = os.environ.get("TULLE_PYTHON_REFERENCE", "build/python/reference")
    if os.path.exists(program):
        with tempfile.TemporaryDirectory() as folder:
            tulle.write(f"{folder}/a.tulle", A)
            inside = float(subprocess.run([program, "time", f"{folder}/a.tulle"], capture_output=True, text=True, check=True).stdout) * 1e-9
        print(f"  {'plan.run() in C++':18} {inside * 1e6:8.2f} µs; plan(x) takes {(times[0] - empty - inside) * 1e6:.2f} µs more")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--threads", type=int, default=2)
    options.add_argument("--matrices", default=",".join(TWINS))
    options.add_argument("--operations", default="spmv,spmm,spgemm")
    options.add_argument("--columns", type=int, default=32)
    options.add_argument("--rounds", type=int, default=7)
    options.add_argument("--cpu-time", action="store_true")
    options.add_argument("--sort-scipy", action="store_true")
    options.add_argument("--overhead-only", action="store_true")
    o = options.parse_args()
    print(f"a call on a matrix of 64 rows (load {os.getloadavg()[0]:.1f}):")
    overhead()
    if o.overhead_only:
        return
    ctx = tulle.Context(threads=o.threads)
    print(f"\n{o.threads} threads, double, SpMM with {o.columns} columns; milliseconds{' of processor time for each thread' * o.cpu_time}, and SciPy's time divided by tulle's")
    for operation in o.operations.split(","):
        ratios = [compare(name, operation, o, ctx) for name in o.matrices.split(",")]
        means = np.exp(np.log(ratios).mean(axis=0))
        print(f"{operation:7} geometric mean over {len(ratios)} matrices (load {os.getloadavg()[0]:.1f}): " + "  ".join(f"{m:.2f}" for m in means), flush=True)


if __name__ == "__main__":
    main()
