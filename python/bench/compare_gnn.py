#!/usr/bin/env python3
# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""Graph attention and an epoch of a graph convolution network, beside what torch has for them.

    PYTHONPATH=build/gpu/python/package python3 python/bench/compare_gnn.py [--folder FOLDER] [--attention "gnn_pubmed;A.mtx"] [--columns 32,128] [--json FILE]

Attention: `tulle.torch.attention` (fused), both ways that it has (*one kernel*, *two kernels*: scores stored between them; plans of `tulle.plan_sddmm` with a policy, the forward pass
on a GPU alone), the same by three calls (`sddmm`, a softmax of rows in torch, `spmm`), torch's own (`torch.sparse.sampled_addmm`, the same softmax,
`torch.sparse.mm`) and a gather of Q, K and V for every edge, as message passing has it; the forward pass alone and with gradients of Q, K and V. Rows and transposes that torch
needs are made before. Epoch: two layers of graph convolution, cross entropy, backward pass and Adam, with the product of `tulle.torch`, with `torch.sparse.mm`, and by gather and
`index_add`. Results are compared first. Contenders take turns; a sample is the time of some calls in a row over their number, by events on a GPU; medians of the samples. *graph*: all of it
captured as a CUDA graph and replayed, which leaves the work of the GPU alone.
"""
import argparse
import json
import math
import os
import pathlib
import statistics
import sys
import time

import torch

import tulle
import tulle.torch as tt

ROOT = pathlib.Path(__file__).resolve().parents[2]
ATTENTION = ["gnn_cora", "gnn_pubmed", "musae_facebook", "uk-2007-05-100000", "cnr-2000"]
EPOCH = ["gnn_pubmed"]
CALLS_BETWEEN_EVENTS = 10


# ---- graphs


class Graph:
    """A matrix as all contenders want it: a CSR of tulle's, the row of every nonzero, index arrays of one type for torch, and the transposed pattern."""

    def __init__(self, A, device):
        self.crow, self.col, self.values, self.shape = A.crow.to(device), A.col.to(device), A.values.to(device), A.shape
        self.row, self.col_long = tt.row_of_nonzeros(self.crow, self.col.numel()), self.col.long()
        self.csr = tt.CSR(self.crow, self.col, self.values, self.shape)
        self.crow_narrow = self.crow.int()
        self.to_transposed = torch.argsort(self.col_long, stable=True)
        counts = torch.bincount(self.col_long, minlength=self.shape[1])
        self.crow_transposed = torch.cat([counts.new_zeros(1), counts.cumsum(0)]).int()
        self.col_transposed = self.row[self.to_transposed].int()

    def sparse(self, values):
        return torch.sparse_csr_tensor(self.crow_narrow, self.col, values, size=self.shape, check_invariants=False)

    def transposed(self, values):
        return torch.sparse_csr_tensor(self.crow_transposed, self.col_transposed, values[self.to_transposed], size=self.shape[::-1], check_invariants=False)

    def sum_rows(self, x):
        return x.new_zeros(self.shape[0]).index_add(0, self.row, x)

    def softmax(self, scores):
        most = scores.detach().new_full((self.shape[0],), -math.inf).scatter_reduce(0, self.row, scores.detach(), "amax")
        e = torch.exp(scores - most[self.row])
        return e / self.sum_rows(e)[self.row]


def read(name, folder):
    """A matrix of SciPy: a file, a name of a file in the folder, or what a generator makes."""
    for path in (pathlib.Path(name), *(folder / (name + end) for end in (".mtx", ".mtx.xz"))):
        if path.is_file():
            return tulle.read(str(path)).tocsr()
    return tulle.generate(name).tocsr()


# ---- attention


class AttentionOfTorch(torch.autograd.Function):
    """By torch's sparse operations, gradients too; its own gradients of sampled_addmm and of sparse values would convert layouts in every pass."""

    @staticmethod
    def forward(ctx, graph, zeros, q, k, v):
        alpha = q.shape[1] ** -0.5
        scores = torch.sparse.sampled_addmm(zeros, q, k.t(), beta=0.0, alpha=alpha)
        p = graph.softmax(scores.values())
        ctx.graph, ctx.zeros, ctx.alpha = graph, zeros, alpha
        ctx.save_for_backward(q, k, v, p)
        return torch.sparse.mm(graph.sparse(p), v)

    @staticmethod
    def backward(ctx, g):
        q, k, v, p = ctx.saved_tensors
        graph = ctx.graph
        of_p = torch.sparse.sampled_addmm(ctx.zeros, g, v.t(), beta=0.0).values()
        of_scores = ctx.alpha * p * (of_p - graph.sum_rows(p * of_p)[graph.row])
        return (None, None, torch.sparse.mm(graph.sparse(of_scores), k), torch.sparse.mm(graph.transposed(of_scores), q), torch.sparse.mm(graph.transposed(p), g))


def by_three_calls(graph, q, k, v):
    scores = tt.sddmm(graph.csr, q, k).values
    return tt.spmm(tt.CSR(graph.crow, graph.col, graph.softmax(q.shape[1] ** -0.5 * scores), graph.shape), v)


def by_kernels(graph, columns, stored):
    """Attention in one kernel or in two, whatever is chosen."""
    A = (graph.crow, graph.col, graph.values)
    lanes = tulle.plan_sddmm(A, columns, shape=graph.shape).policy
    plan = tulle.plan_sddmm(A, columns, attended=columns, shape=graph.shape, policy=lanes + (", scores stored" if stored else ""))
    return lambda q, k, v: plan.attend(q, k, v)


def by_gather(graph, q, k, v):
    scores = (q.index_select(0, graph.row) * k.index_select(0, graph.col_long)).sum(1) * q.shape[1] ** -0.5
    return torch.zeros_like(q[:, :1]).expand(-1, v.shape[1]).index_add(0, graph.row, graph.softmax(scores)[:, None] * v.index_select(0, graph.col_long))


def with_gradients(attend, inputs, g):
    def call():
        for t in inputs:
            t.grad = None
        h = attend(*inputs)
        h.backward(g)
        return (h.detach(), *(t.grad for t in inputs))

    return call


def attention_calls(graph, columns, gradients, device):
    """name: call, and the calls give tuples of tensors that must agree."""
    make = lambda rows, seed: torch.randn(rows, columns, generator=torch.Generator().manual_seed(seed)).to(device)
    rows, cols = graph.shape
    inputs = [make(rows, 1), make(cols, 2), make(cols, 3)]
    zeros = graph.sparse(torch.zeros(graph.col.numel(), device=device))
    ways = {"fused": lambda q, k, v: tt.attention(graph.csr, q, k, v), "three calls": lambda q, k, v: by_three_calls(graph, q, k, v),
            "torch": lambda q, k, v: AttentionOfTorch.apply(graph, zeros, q, k, v), "gather": lambda q, k, v: by_gather(graph, q, k, v)}
    if not gradients:
        if device == "cuda":
            ways.update({"one kernel": by_kernels(graph, columns, False), "two kernels": by_kernels(graph, columns, True)})
        return {name: lambda way=way: (way(*inputs),) for name, way in ways.items()}
    inputs, g = [t.requires_grad_() for t in inputs], make(rows, 4)
    return {name: with_gradients(way, inputs, g) for name, way in ways.items()}


# ---- an epoch


def epoch_calls(graph, features, hidden, classes, device, capturable):
    """name: call; every contender trains parameters of its own, from the same beginning."""
    torch.manual_seed(1)
    nodes = graph.shape[0]
    X, label = torch.randn(nodes, features).to(device), torch.randint(0, classes, (nodes,)).to(device)
    known = torch.randperm(nodes)[:max(1, nodes // 10)].to(device)
    known_label, beginning = label[known], [torch.nn.init.xavier_uniform_(torch.empty(features, hidden)), torch.zeros(hidden),
                                            torch.nn.init.xavier_uniform_(torch.empty(hidden, classes)), torch.zeros(classes)]
    sparse, weight = graph.sparse(graph.values), graph.values[:, None]
    spread = {"tulle": lambda H: tt.spmm(graph.csr, H), "torch": lambda H: torch.sparse.mm(sparse, H),
              "gather": lambda H: H.new_zeros(nodes, H.shape[1]).index_add(0, graph.row, weight * H.index_select(0, graph.col_long))}

    def make(spread):
        parameters = [p.clone().to(device).requires_grad_() for p in beginning]
        optimizer = torch.optim.Adam(parameters, lr=0.01, weight_decay=5e-4, capturable=capturable)

        def epoch():
            first, first_bias, second, second_bias = parameters
            optimizer.zero_grad(set_to_none=True)
            scores = spread(torch.relu(spread(X @ first) + first_bias) @ second) + second_bias
            loss = torch.nn.functional.cross_entropy(scores.index_select(0, known), known_label)
            loss.backward()
            optimizer.step()
            return (loss.detach(),)

        return epoch

    return {name: make(way) for name, way in spread.items()}


# ---- times


def agree(name, calls):
    """The contenders that run and whose results are those of the first; what is wrong with the others is told."""
    good, expected = {}, None
    for who, call in calls.items():
        try:
            found = [t.clone() for t in call()]
        except (RuntimeError, NotImplementedError) as e:
            print(f"  {name}, {who}: not run: {str(e).splitlines()[0][:150]}", flush=True)
            continue
        expected = expected or found
        error = max(float((a - b).abs().max() / b.abs().max().clamp(min=1e-30)) for a, b in zip(found, expected))
        if error > 2e-3:
            sys.exit(f"{name}, {who}: differs by {error:.1e} of the largest number")
        good[who] = call
    return good


def sample(call, at_once, device):
    """Milliseconds of a call."""
    if device == "cpu":
        begin = time.perf_counter()
        for _ in range(at_once):
            call()
        return 1e3 * (time.perf_counter() - begin) / at_once
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    begin.record()
    for _ in range(at_once):
        call()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / at_once


def medians(calls, seconds, at_once, device):
    for call in calls.values():
        sample(call, 3, device)
    times = {name: [] for name in calls}
    end = time.perf_counter() + seconds * len(calls)
    while not min(map(len, times.values()), default=1) or time.perf_counter() < end:
        for name, call in calls.items():
            times[name].append(sample(call, at_once, device))
    return {name: statistics.median(t) for name, t in times.items()}


def captured(name, calls):
    """The calls as graphs; those that cannot be captured are told and left out."""
    graphs, kept = {}, []
    for who, call in calls.items():
        try:
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(3):
                    call()
            torch.cuda.current_stream().wait_stream(side)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                kept.append(call())
            graphs[who] = graph.replay
        except Exception as e:  # noqa: BLE001: whatever a library does that a graph cannot hold
            print(f"  {name}, {who}: not captured: {str(e).splitlines()[0][:150]}", flush=True)
            torch.cuda.synchronize()
    return graphs, kept


def tell(rows, name, what, mode, times):
    first = next(iter(times))
    rows.append({"matrix": name, "what": what, "mode": mode, "milliseconds": times})
    ratios = "  ".join(f"{who} {t:.4f} ms" + (f" ({t / times[first]:.2f})" if who != first else "") for who, t in times.items())
    print(f"{name:18} {what:26} {mode:6} {ratios}", flush=True)


def measure(rows, name, what, make, at_once, args):
    """make(capturable): the calls."""
    calls = agree(f"{name}, {what}", make(False))
    if calls:
        tell(rows, name, what, "calls", medians(calls, args.seconds, at_once, args.device))
    if args.device == "cuda" and args.graphs:
        graphs, kept = captured(f"{name}, {what}", {who: call for who, call in make(True).items() if who in calls})
        if graphs:
            tell(rows, name, what, "graph", medians(graphs, args.seconds, at_once, args.device))
        del graphs, kept
        torch.cuda.empty_cache()


def tell_means(rows):
    """Geometric means of the ratios of others to the first contender."""
    kinds = sorted({(row["what"].split(",")[0], row["mode"]) for row in rows})
    for what, mode in kinds:
        ratios = {}
        for row in rows:
            if (row["what"].split(",")[0], row["mode"]) == (what, mode):
                first = next(iter(row["milliseconds"].values()))
                for who, t in row["milliseconds"].items():
                    ratios.setdefault(who, []).append(t / first)
        told = ", ".join(f"{who} {math.exp(statistics.mean(map(math.log, r))):.2f} (least {min(r):.2f})" for who, r in list(ratios.items())[1:])
        print(f"geometric mean of the ratios, {what}, {mode}: {told}", flush=True)


def measure_attention(rows, name, args):
    A = read(name, args.folder)
    graph = Graph(tt.CSR(torch.tensor(A.indptr, dtype=torch.int64), torch.tensor(A.indices, dtype=torch.int32), torch.ones(A.nnz), A.shape), args.device)
    for columns in map(int, args.columns.split(",")):
        for gradients in (False, True):
            what = f"attention{' with gradients' if gradients else ''}, {columns}"
            measure(rows, name, what, lambda _: attention_calls(graph, columns, gradients, args.device), CALLS_BETWEEN_EVENTS, args)
    tt.clear_plans()


def measure_epoch(rows, name, args):
    A = read(name, args.folder).tocoo()
    graph = Graph(tt.from_edges(torch.tensor([A.col.tolist(), A.row.tolist()]), A.shape[0]), args.device)
    sizes = [int(size) for size in args.sizes.split(",")]
    measure(rows, name, "epoch", lambda capturable: epoch_calls(graph, *sizes, args.device, capturable), CALLS_BETWEEN_EVENTS, args)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda", choices=["cpu", "cuda"])
    parser.add_argument("--folder", default=os.environ.get("TULLE_MATRICES", ROOT / "matrices"), type=pathlib.Path, help="where matrices are looked for by name; by default TULLE_MATRICES, or `matrices` in the source tree")
    parser.add_argument("--attention", default=";".join(ATTENTION), help="matrices of attention; empty: none")
    parser.add_argument("--epoch", default=";".join(EPOCH), help="matrices of the network; empty: none")
    parser.add_argument("--columns", default="32,128", help="of Q, K and V")
    parser.add_argument("--sizes", default="500,16,3", help="features, hidden, classes of the network")
    parser.add_argument("--seconds", type=float, default=0.3, help="for each contender")
    parser.add_argument("--no-graphs", dest="graphs", action="store_false")
    parser.add_argument("--json", default="", help="also write the times to a file")
    args = parser.parse_args()
    rows = []
    for name in filter(None, args.attention.split(";")):
        measure_attention(rows, name, args)
    for name in filter(None, args.epoch.split(";")):
        measure_epoch(rows, name, args)
    tell_means(rows)
    if args.json:
        device = torch.cuda.get_device_name() if args.device == "cuda" else "cpu"
        pathlib.Path(args.json).write_text(json.dumps({"device": device, "torch": torch.__version__, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
