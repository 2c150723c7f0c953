# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""What notebooks show of a plan or an operator: a table, and a small picture of the nonzeros. It needs neither the command line tool nor another package."""
from __future__ import annotations

import base64
import html
import struct
import zlib
from typing import Any

import numpy as np

from ._arrays import Sparse, sparse

SIDE = 160                       # pixels of the longer side
MOST_SHOWN = 2_000_000           # of more nonzeros, every second, third … is counted
LEAST_ASPECT = 0.25
FEW, MANY = np.array([150, 195, 232]), np.array([8, 29, 88])


def png(pixels: np.ndarray) -> bytes:
    """A PNG of height x width x 3 bytes."""
    height, width, _ = pixels.shape

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    lines = np.concatenate([np.zeros((height, 1), np.uint8), pixels.reshape(height, -1)], axis=1)      # each begins with its filter: none
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">2I5B", width, height, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(lines.tobytes(), 9)) + chunk(b"IEND", b"")


def cells_of(a: Sparse, height: int, width: int) -> np.ndarray:
    """How many nonzeros fall into each cell, in proportion."""
    at = np.arange(0, a.indices.size, max(1, a.indices.size // MOST_SHOWN))
    line, other = np.searchsorted(a.indptr, at, side="right") - 1, np.asarray(a.indices)[at].astype(np.int64)
    row, col = (other, line) if a.by_column else (line, other)
    rows, cols = a.shape
    inside = (row >= 0) & (row < rows) & (col >= 0) & (col < cols)                                      # a picture refuses nothing
    return np.bincount((row[inside] * height // rows) * width + col[inside] * width // cols, minlength=height * width).reshape(height, width)


def picture_of(A: Any, shape: Any = None) -> bytes | None:
    """A PNG of where the nonzeros of a matrix on the host are; None on a GPU, from which nothing is copied unasked, and for a matrix without positions."""
    a = sparse(A, shape)
    if a.framework is not None or 0 in a.shape:
        return None
    rows, cols = a.shape
    aspect = min(max(rows / cols, LEAST_ASPECT), 1 / LEAST_ASPECT)
    height, width = max(1, round(SIDE * min(1, aspect))), max(1, round(SIDE * min(1, 1 / aspect)))
    count = cells_of(a, height, width)
    share = (np.log1p(count) / max(np.log1p(count.max()), 1))[..., None]
    return png(np.where(count[..., None] > 0, FEW + share * (MANY - FEW), 255).astype(np.uint8))


def as_html(caption: str, rows: dict[str, Any], picture: bytes | None) -> str:
    cells = "".join(f"<tr><th>{html.escape(k)}</th><td>{html.escape(str(v))}</td></tr>" for k, v in rows.items())
    table = f"<table><caption>{html.escape(caption)}</caption>{cells}</table>"
    if picture is None:
        return table
    image = f'<img alt="where the nonzeros are" style="border:1px solid #888;image-rendering:pixelated" src="data:image/png;base64,{base64.b64encode(picture).decode()}">'
    return f'<div style="display:flex;gap:1em;align-items:center">{image}{table}</div>'
