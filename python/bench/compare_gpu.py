#!/usr/bin/env python3
# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""tulle beside CuPy and torch on a GPU, whole calls from Python: what a plan's call costs, SpMV, SpMM (128 columns, float32), SpGEMM, triangular solves, and the
forward and backward pass of SpMM.

    PYTHONPATH=build/gpu/python/package python3 python/bench/compare_gpu.py [--matrices "stencil7:128;A.mtx"] [--seconds 0.2] [--only spmv,spmm] [--json FILE]

A name is a generator's sentence or a file. Contenders take turns; a time is the median of calls that are followed by a wait, except for the overhead, where many calls
are queued. Results are compared first.
"""
import argparse
import json
import statistics
import time

import numpy as np

import tulle
import tulle.torch as tt

MATRICES = ["fem:20,3", "levels:100000,100,6", "twin:scircuit", "rmat:15,8", "stencil7:64", "stencil7:128"]


def load(name):
    return tulle.read(name) if name.rpartition(".")[2] in ("mtx", "gz", "tulle", "npz") else tulle.generate(name)


def medians(contenders, seconds, wait):
    """Median milliseconds of a call and a wait, contenders in turns; None where one fails."""
    times = {name: [] for name in contenders}
    failed = {}
    for name, call in contenders.items():
        try:
            for _ in range(3):
                call()
            wait()
        except Exception as e:  # noqa: BLE001: what others cannot do is told in the table
            failed[name] = f"{type(e).__name__}: {str(e).splitlines()[0][:60]}"
    end = time.perf_counter() + seconds * len(contenders)
    while time.perf_counter() < end:
        for name, call in contenders.items():
            if name not in failed:
                begin = time.perf_counter()
                call()
                wait()
                times[name].append(time.perf_counter() - begin)
    return {name: failed.get(name) or 1e3 * statistics.median(times[name]) for name in contenders}


def overhead(torch):
    """Microseconds that a call of a plan occupies the host, many calls queued, on a matrix of 64 rows."""
    A = tulle.generate("stencil5:8")
    arrays = [torch.tensor(a, device="cuda") for a in (A.indptr.astype(np.int64), A.indices, A.data)]
    plan, x, y = tulle.plan_spmv(tuple(arrays), shape=A.shape), torch.ones(64, dtype=torch.float64, device="cuda"), torch.empty(64, dtype=torch.float64, device="cuda")
    core, at = plan._plan.run_at, (x.data_ptr(), 64, y.data_ptr(), 64, 1.0, 0.0, 0)
    result = {}
    T = torch.sparse_csr_tensor(arrays[0].int(), arrays[1], arrays[2], size=A.shape)
    calls = {"plan(x)": lambda: plan(x), "plan(x, out)": lambda: plan(x, y), "the library's call": lambda: core(*at),
             "spmv(A, x)": lambda: tulle.spmv(T, x), "spmv(A, x, out)": lambda: tulle.spmv(T, x, y), "torch's A @ x": lambda: T @ x}
    B, C, many = torch.ones(64, 32, dtype=torch.float64, device="cuda"), torch.empty(64, 32, dtype=torch.float64, device="cuda"), tulle.plan_spmm(T, 32)
    calls |= {"plan_spmm(B)": lambda: many(B), "spmm(A, B)": lambda: tulle.spmm(T, B), "spmm(A, B, out)": lambda: tulle.spmm(T, B, C), "torch's A @ B": lambda: T @ B}
    for name, call in calls.items():
        best = float("inf")
        for _ in range(20):
            torch.cuda.synchronize()
            begin = time.perf_counter()
            for _ in range(200):
                call()
            best = min(best, (time.perf_counter() - begin) / 200)
        result[name] = 1e6 * best
    return result


def contenders_of(operation, A, torch, cupy, sparse):
    n = A.shape[1]
    tensor = lambda a: torch.tensor(a, device="cuda")
    f32 = operation in ("spmm", "backward")
    M = A.astype(np.float32) if f32 else A
    t_arrays = (tensor(M.indptr.astype(np.int32)), tensor(M.indices), tensor(M.data))
    T = torch.sparse_csr_tensor(*t_arrays, size=M.shape)
    C = sparse.csr_matrix((cupy.asarray(M.data), cupy.asarray(M.indices), cupy.asarray(M.indptr)), shape=M.shape) if cupy else None
    found = {}
    if operation == "spmv":
        x = torch.randn(n, dtype=torch.float64, device="cuda")
        plan = tulle.plan_spmv(T)
        found = {"tulle plan": lambda: plan(x), "tulle": lambda: tulle.spmv(T, x), "tulle check=False": lambda: tulle.spmv(T, x, check=False), "torch": lambda: T @ x}
        if cupy:
            xc = cupy.asarray(x)
            found |= {"tulle (cupy)": lambda: tulle.spmv(C, xc), "cupy": lambda: C @ xc}
    elif operation == "spmm":
        B = torch.randn(n, 128, device="cuda")
        plan = tulle.plan_spmm(T, 128)
        found = {"tulle plan": lambda: plan(B), "tulle": lambda: tulle.spmm(T, B), "torch": lambda: T @ B}
        if cupy:
            Bc = cupy.asarray(B)
            found |= {"tulle (cupy)": lambda: tulle.spmm(C, Bc), "cupy": lambda: C @ Bc}
    elif operation == "spgemm":
        found = {"tulle": lambda: tulle.spgemm(T, T), "torch": lambda: T @ T} | ({"cupy": lambda: C @ C} if cupy else {})
        plan = tulle.plan_spgemm(T, T)
        found["tulle plan"] = lambda: plan()
    elif operation == "solve":
        import scipy.sparse as sp

        L = (sp.tril(A, -1) + sp.diags_array(np.asarray(abs(A).sum(axis=1)).ravel() + 1)).tocsr()
        TL = torch.sparse_csr_tensor(*(tensor(a) for a in (L.indptr, L.indices, L.data)), size=L.shape)
        plan, b = tulle.plan_solve_triangular(TL), torch.ones(n, dtype=torch.float64, device="cuda")
        found = {"tulle plan": lambda: plan(b), "tulle": lambda: tulle.solve_triangular(TL, b)}
        if cupy:
            from cupyx.scipy.sparse.linalg import spsolve_triangular

            CL, bc = sparse.csr_matrix(sp.csr_matrix(L)), cupy.asarray(b)
            found |= {"cupy": lambda: spsolve_triangular(CL, bc)}
    else:
        values, B = t_arrays[2].clone().requires_grad_(), torch.randn(n, 128, device="cuda", requires_grad=True)
        csr = tt.CSR(t_arrays[0].long(), t_arrays[1], values, M.shape)
        S = T.detach().clone().requires_grad_()
        found = {"tulle": lambda: torch.autograd.grad(tt.spmm(csr, B).sum(), (values, B)), "torch": lambda: torch.autograd.grad((S @ B).sum(), (S, B))}
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--matrices", default="")
    parser.add_argument("--only", default="spmv,spmm,spgemm,solve,backward")
    parser.add_argument("--seconds", type=float, default=0.2, help="for each contender")
    parser.add_argument("--json", default="", help="also write the times, in milliseconds, to a file")
    args = parser.parse_args()
    import torch

    try:
        import cupy
        from cupyx.scipy import sparse
    except ImportError:
        cupy = sparse = None
    told = {"overhead, us": overhead(torch)}
    print("host time of a call, 64 rows: " + ", ".join(f"{name} {us:.1f} us" for name, us in told["overhead, us"].items()), flush=True)
    for name in args.matrices.split(";") if args.matrices else MATRICES:
        try:
            A = load(name)
        except tulle.Error as e:
            print(f"{name}: {e.message}")
            continue
        for operation in args.only.split(","):
            times = medians(contenders_of(operation, A, torch, cupy, sparse), args.seconds, torch.cuda.synchronize)
            told[f"{name} {operation}"] = times
            print(f"{name:16} {operation:9} " + "  ".join(f"{who}: {t if isinstance(t, str) else f'{t:.4f} ms'}" for who, t in times.items()), flush=True)
            torch.cuda.empty_cache()
    if args.json:
        with open(args.json, "w") as out:
            json.dump(told, out, indent=1)


if __name__ == "__main__":
    main()
