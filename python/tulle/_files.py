# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""Reading, writing, generating and looking at matrices; what was built and what machine this is."""
from __future__ import annotations

import contextlib
import html
import os
import pathlib
import subprocess
import tempfile
import warnings
from typing import Any, Callable, Iterator

import numpy as np

from . import _core
from ._arguments import checked
from ._arrays import F32, F64, NAMES, Sparse, back_to_arrays, dtype_of, on_host, sparse
from ._context import Context, context_of
from ._errors import Error, FileError, InvalidValue, NotBuilt, OutOfMemory, UnsupportedType

__all__ = ["read", "write", "generate", "generators", "info", "spy", "report", "Report", "doctor", "build_info"]

Progress = Callable[[float], Any] | bool


@contextlib.contextmanager
def _told(progress: Progress | None, what: str) -> Iterator[Callable[[float], Any] | None]:
    """What the library calls with 0 … 1: the caller's function, or for True a bar of tqdm, where that is installed."""
    if not isinstance(progress, bool):
        yield progress
        return
    try:
        from tqdm.auto import tqdm
    except ImportError:
        progress = False
    if not progress:
        yield None
        return
    with tqdm(total=100, desc=what, unit="%", leave=False) as bar:
        yield lambda share: bar.update(100 * share - bar.n)


def _name_of(file: str | bytes | os.PathLike) -> bytes:
    """The name of a file as the operating system has it."""
    try:
        name = os.fsencode(file)
    except TypeError:
        raise UnsupportedType(f"a file is named by a text, bytes or a path, not by {file!r}") from None
    if b"\0" in name:
        raise InvalidValue(f"the name of a file has no null byte, but this one: {file!r}")
    return name


@contextlib.contextmanager
def _naming(file: str | bytes | os.PathLike) -> Iterator[None]:
    """Errors of the operating system have the name of the file, as Python's own."""
    try:
        yield
    except FileError as error:
        error.filename = os.fspath(file)
        raise


def _number(dtype: Any) -> str:
    t = dtype_of(dtype)
    if t not in (F32, F64):
        raise UnsupportedType(f"matrices are read and made in float64 or float32, not in {t.name}")
    return NAMES[t]


def _csr_array(rows: int, cols: int, arrays: Any) -> Any:
    return back_to_arrays(True)(False, (rows, cols), *arrays)


def _by_rows(A: Any, shape: Any) -> Sparse:
    """By rows, in one of the library's types."""
    a = on_host(sparse(A, shape))
    t = a.data.dtype.newbyteorder("=")
    if t.kind == "c":
        raise UnsupportedType("complex matrices cannot be looked at or written", "take A.real")
    return a.by_rows().in_library_form(F32 if t == F32 else F64)


def read(file: str | bytes | os.PathLike, *, dtype: Any = "f64", format: str = "", random_values: int | None = None, real_part: bool = False, strict: bool = False,
         progress: Progress | None = None, return_info: bool = False, context: Context | None = None) -> Any:
    """Reads a matrix: Matrix Market, SuiteSparse archives, SciPy's .npz, .smtx, .petsc, .tulle; .gz and .xz directly.

    Parameters
    ----------
    file : path
        The format follows from the name.
    dtype : {"f64", "f32"}
        Of the values.
    format : str
        Such as "mtx", where the name does not tell.
    random_values : int, optional
        A seed: values of a file without values are random; otherwise they are 1.
    real_part : bool
        Take the real part of a complex file instead of refusing it.
    strict : bool
        `FormatError` instead of a warning where values change: become zero, integers that are rounded, duplicates that are added up. A value too large for its type is a
        `FormatError` in any case.
    progress : callable or bool, optional
        Called with 0 … 1 now and then; True shows a bar where tqdm is installed. Ctrl-C works while a file is read.
    return_info : bool
        Also return what the file said of itself.
    context : Context, optional
        Where and how.

    Returns
    -------
    scipy.sparse.csr_array, or (csr_array, dict)
    """
    given = checked(format=format, random_values=random_values, real_part=real_part, strict=strict)
    ctx, name = context_of(context), _name_of(file)
    load = getattr(_core, f"read_{_number(dtype)}")
    with _naming(file), _told(progress, f"read {os.path.basename(os.fsdecode(name))}") as report:
        (rows, cols, arrays), said = load(ctx._place(-1, 0), name, progress=report, **given)
    for sentence in said["warnings"]:
        warnings.warn(sentence, stacklevel=2)
    A = _csr_array(rows, cols, arrays)
    return (A, said) if return_info else A


def write(file: str | bytes | os.PathLike, A: Any, *, shape: Any = None, comment: str = "", symmetric: bool = False, pattern: bool = False, format: str = "",
          progress: Progress | None = None, context: Context | None = None) -> None:
    """Writes a matrix as Matrix Market, SciPy's .npz, .petsc or .tulle; a write that fails leaves no half file behind.

    Parameters
    ----------
    file : path
        The format follows from the name.
    A, shape
        As for `spmv`.
    comment : str
        For formats that have comments.
    format : str
        Such as "mtx", where the name does not tell.
    symmetric : bool
        Matrix Market: write the lower triangle of a symmetric matrix (checked).
    pattern : bool
        Matrix Market: leave the values out.
    progress, context
        As for `read`.
    """
    given = checked(comment=comment, symmetric=symmetric, pattern=pattern, format=format)
    ctx, name = context_of(context), _name_of(file)
    a = _by_rows(A, shape)
    save = getattr(_core, f"write_{NAMES[a.data.dtype]}")
    with _naming(file), _told(progress, f"write {os.path.basename(os.fsdecode(name))}") as report:
        save(ctx._place(-1, 0), name, a.compressed(ctx._place(-1, 0)), progress=report, **given)


def generate(sentence: str, *, dtype: Any = "f64", progress: Progress | None = None, context: Context | None = None) -> Any:
    """A matrix made from a sentence, the same on every machine: "stencil7:100", "rmat:18,16,seed=7", "twin:cant". `generators` lists the kinds.

    Parameters
    ----------
    sentence : str
        The kind, its sizes and its options.
    dtype : {"f64", "f32"}
        Of the values.
    progress, context
        As for `read`.

    Returns
    -------
    scipy.sparse.csr_array

    Examples
    --------
    >>> import tulle
    >>> tulle.generate("stencil5:10").shape
    (100, 100)
    """
    checked(sentence=sentence)
    ctx = context_of(context)
    with _told(progress, sentence) as report:
        return _csr_array(*getattr(_core, f"generate_{_number(dtype)}")(ctx._place(-1, 0), sentence, report))


def generators() -> list[tuple[str, str, str, str]]:
    """Name, form, meaning and an example of every kind of matrix that `generate` makes."""
    return _core.generators()


def info(A: Any, *, shape: Any = None, context: Context | None = None) -> dict[str, Any]:
    """What a matrix is like: row lengths, bandwidth, symmetry, dependency levels, products of A times A.

    Parameters
    ----------
    A, shape
        As for `spmv`.
    context : Context, optional
        Where and how.

    Examples
    --------
    >>> import tulle
    >>> tulle.info(tulle.generate("stencil5:10"))["longest_row"]
    5
    """
    ctx = context_of(context)
    a = _by_rows(A, shape)
    return getattr(_core, f"info_{NAMES[a.data.dtype]}")(ctx._place(-1, 0), a.compressed(ctx._place(-1, 0)))


def cli_program() -> str:
    """The command line tool inside this package."""
    program = pathlib.Path(__file__).parent / "bin" / "tulle"
    if not program.exists():
        raise NotBuilt("the command line tool is not part of this installation", "pip install . -C cmake.define.TULLE_PYTHON_CLI=ON (it needs CLI11, fmt and nlohmann-json)")
    return str(program)


_BY_EXIT_CODE = {2: InvalidValue, 3: FileError, 4: OutOfMemory, 5: NotBuilt}


def _run_on(A: Any, shape: Any, verb: str, words: list[str], name: str = "matrix") -> None:
    """Runs a command of the command line tool on a matrix."""
    program = cli_program()
    with tempfile.TemporaryDirectory() as folder:
        matrix = os.path.join(folder, f"{name}.tulle")
        write(matrix, A, shape=shape)
        done = subprocess.run([program, verb, matrix, "--quiet", *words], capture_output=True, text=True)
        if done.returncode:
            message, _, hint = done.stderr.strip().removeprefix("tulle: ").partition("\n  hint: ")
            raise _BY_EXIT_CODE.get(done.returncode, Error)(message or f"tulle {verb} ended with {done.returncode}", hint)


class Picture(bytes):
    """A PNG; a notebook shows it."""

    def _repr_png_(self) -> bytes:
        return bytes(self)

    def __repr__(self) -> str:
        return f"<picture, {len(self)} bytes of PNG>"


def spy(A: Any, file: str | os.PathLike | None = None, *, shape: Any = None, options: tuple[str, ...] = ()) -> Picture | None:
    """A picture of where the nonzeros are, drawn by the command line tool (`tulle spy`).

    In a notebook the result is shown; `file` writes it instead.

    Parameters
    ----------
    A, shape
        As for `spmv`.
    file : path, optional
        .png, .svg or .pdf; without it a PNG is returned, as bytes.
    options : tuple of str
        Further options of `tulle spy`.
    """
    if isinstance(options, (str, bytes)):
        raise UnsupportedType(f"options are several texts, not {options!r}", f"options=({options!r},)")
    with tempfile.TemporaryDirectory() as folder:
        picture = os.fspath(file) if file else os.path.join(folder, "picture.png")
        _run_on(A, shape, "spy", ["-o", picture, *options])
        return None if file else Picture(pathlib.Path(picture).read_bytes())


class Report(str):
    """The page of `report`, as text; a notebook shows it."""

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{html.escape(self)}" title="report on a matrix" style="width:100%;height:720px;border:1px solid #888"></iframe>'

    def __repr__(self) -> str:
        return f"<report on a matrix, {len(self)} characters of HTML>"


def report(A: Any, file: str | os.PathLike | None = None, *, B: Any = None, run: bool = False, name: str = "A", shape: Any = None) -> Report:
    """All about a matrix as one HTML page: map with zoom, histograms, what each operation would choose, warnings (`tulle report`).

    In a notebook the result is shown; `file` also writes it.

    Parameters
    ----------
    A, shape
        As for `spmv`.
    file : path, optional
        Where to write the page.
    B : matrix, optional
        To compare with.
    run : bool
        Also run every operation and show times and a roofline.
    name : str
        What the page calls the matrix; without "/".

    Returns
    -------
    Report
        A str with the page.
    """
    if "/" in name:
        raise InvalidValue(f"a name without / is needed, not {name!r}")
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / "report.html"
        words = ["-o", str(page), *(["--run"] if run else [])]
        if B is not None:
            other = os.path.join(folder, "B.tulle")
            write(other, B)
            words += ["--compare", other]
        _run_on(A, shape, "report", words, name)
        text = page.read_text(encoding="utf-8")
    if file is not None:
        pathlib.Path(file).write_text(text, encoding="utf-8")
    return Report(text)


def build_info() -> dict[str, Any]:
    """Version, compiler and backends of the library inside this package."""
    return _core.build_info()


def doctor() -> str:
    """What was built, what is there, and what is not used and why.

    Examples
    --------
    >>> import tulle
    >>> print(tulle.doctor().splitlines()[0])
    tulle 0.1.0
    """
    import scipy

    built, machine = build_info(), _core.machine()
    try:
        program = cli_program()
    except NotBuilt:
        program = "not part of this installation"
    lines = [
        f"tulle {built['version']}",
        f"  compiler   {built['compiler']}",
        f"  threads    {machine['threads']} that this process may use (OMP_NUM_THREADS, affinity)",
        f"  memory     {_core.human_bytes(machine['free_bytes'])} available",
        *(f"  GPU        cuda:{g['device']}, {g['name']}, compute capability {g['compute']}, {_core.human_bytes(g['bytes'])}, for arrays that are there" for g in _core.gpus()),
        *([f"  GPU        not used: {_core.why_no_gpu()}"] if not _core.gpus() else []),
        f"  program    {program}",
        f"  beside     NumPy {np.__version__}, SciPy {scipy.__version__}",
    ]
    return "\n".join(lines)
