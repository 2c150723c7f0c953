#!/usr/bin/env python3
# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""Weak scaling of a distributed SpMV on many GPUs: a model, not a measurement.

    tools/scaling_model.py               the table of docs/mpi.md
    tools/scaling_model.py --link 25     with another link; see --help

Each GPU has a cube of a grid with a 7-point stencil. Measured on one H200: the product and the packing of a rank. Assumed: link, copies to the host
and back, and the latency of an exchange. A product takes

    staged          pack, copy to the host, then messages and the copy back while rows without ghosts are computed, then the other rows
    nccl            pack, messages, all rows: what tulle does
    nccl, overlap   pack, then messages while rows without ghosts are computed, then the other rows: what it could do
"""
import argparse


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--side", type=int, default=160, help="points of a GPU's cube in one direction (160)")
    parser.add_argument("--product", type=float, default=132, help="microseconds of a product of that cube on one GPU, measured (132)")
    parser.add_argument("--pack", type=float, default=24, help="microseconds to pack, measured (24)")
    parser.add_argument("--link", type=float, default=50, help="GB/s of each GPU to others, assumed (50: a network card of 400 Gb/s for each GPU)")
    parser.add_argument("--host", type=float, default=50, help="GB/s between GPU and host, assumed (50)")
    parser.add_argument("--latency", type=float, default=10, help="microseconds of an exchange by MPI or NCCL, assumed (10)")
    parser.add_argument("--copy", type=float, default=10, help="microseconds of a copy between GPU and host, and its wait, assumed (10)")
    return parser.parse_args()


def halo_bytes(gpus, side, blocks):
    """Bytes that the fullest rank receives: faces of cubes, or whole planes of the grid above and below consecutive rows."""
    per_side = round(gpus ** (1 / 3))
    faces = sum(2 if per_side > 2 else 1 for _ in range(3)) if per_side > 1 else 0
    if blocks:
        return faces * side * side * 8
    return min(2, gpus - 1) * (per_side * side) ** 2 * 8


def times(o, gpus, blocks):
    """Microseconds of a product: staged, nccl, nccl with overlap."""
    received = halo_bytes(gpus, o.side, blocks)
    points = o.side ** 3
    outer = min(1.0, received / 8 / points)      # rows with ghosts, about one for each ghost
    inner = o.product * (1 - outer)
    exchange = o.latency + received / o.link / 1e3
    copy = o.copy + received / o.host / 1e3
    return (o.pack + copy + max(inner, exchange + copy) + o.product - inner,
            o.pack + exchange + o.product,
            o.pack + max(inner, exchange) + o.product - inner)


def main():
    o = arguments()
    print("| GPUs | halo of a GPU, blocks | staged | nccl | nccl, overlap | halo, consecutive rows | staged | nccl | nccl, overlap |")
    print("|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for gpus in (8, 64, 512, 1000):      # cubes of cubes
        cells = [f"{gpus}"]
        for blocks in (True, False):
            cells.append(f"{halo_bytes(gpus, o.side, blocks) / 1e6:.1f} MB")
            cells += [f"{o.product / t:.2f}" for t in times(o, gpus, blocks)]
        print("| " + " | ".join(cells) + " |")


main()
