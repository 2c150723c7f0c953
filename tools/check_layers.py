#!/usr/bin/env python3
# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""Prints every arrow in the source tree that points up or sideways, and every thing that is used where it must not be.

    tools/check_layers.py [ROOT]       exit 1 when something is wrong
    tools/check_layers.py --self-test  shows that each rule can fail

Arrows point down only, folder to folder; a folder may always include itself:

    base  <  device model  <  prim  <  matrix  <  io  <  partition  <  vector spmv spmm spgemm sptrsv sddmm (not each other)  <  factor graph  <  amg  <  solve  <  mpi
    A public header (include/tulle) belongs to the module that include/tulle/headers.txt names, and includes public headers only.
    simt (the simulated GPU) may be included by device/cuda and by twins in sim folders; the programs on top see the public headers.
"""
import pathlib
import re
import sys
import tempfile

LAYERS = [["base"], ["device", "model"], ["prim"], ["matrix"], ["io"], ["partition"], ["vector", "spmv", "spmm", "spgemm", "sptrsv", "sddmm"], ["factor", "graph"], ["amg"], ["solve"], ["mpi"]]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
ON_TOP = ["apps", "bench", "examples", "tools", "python", "petsc", "gpu"]      # tests may look inside: they link the modules they speak of
SUFFIXES = {".hpp", ".cpp", ".cu", ".cuh"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def folder_of(path):
    """src/spmv/cuda/rows.cu -> ("src", "spmv", "cuda")"""
    return path.parts[:-1]


def in_cuda_folder(path):
    return "cuda" in folder_of(path)


def where(*prefixes):
    return lambda path: any(path.parts[: len(p)] == p for p in (tuple(q.split("/")) for q in prefixes))


LIBRARY = where("src", "include/tulle")
PUBLIC = where("include/tulle")
KERNEL_MACHINERY = where("src/device/cuda", "src/simt")

# What an include may name: (rule, pattern of the included name, who must not include it).
INCLUDE_RULES = [
    ("CUB and Thrust stay in src/prim/cuda", r"^(cub|thrust|cuda/std)/", lambda p: not where("src/prim/cuda")(p)),
    ("cooperative_groups stays in src/prim/cuda", r"^cooperative_groups", lambda p: not where("src/prim/cuda")(p)),
    ("cuSPARSE and cuBLAS stay in bench", r"^(cusparse|cublas)", lambda p: not where("bench")(p)),
    ("fmt, JSON, CLI11, Cairo and Eigen stay out of the library", r"^(fmt|nlohmann|CLI|cairo|eigen3|Eigen)", LIBRARY),
    (".cuh is included from cuda folders only", r"\.cuh$", lambda p: not {"cuda", "sim", "simt", "tests"} & set(folder_of(p))),
    ("CUDA headers stay in cuda folders", r"^(cuda|cuda_[a-z0-9_]+|cuda_runtime(_api)?|nvtx3/.*|device_launch_parameters)\.h$",
     lambda p: LIBRARY(p) and not in_cuda_folder(p)),
    ("the simulated GPU is included by device/cuda, the twins in sim folders and tests only", r"^simt/",
     lambda p: not where("src/simt", "src/device/cuda", "tests")(p) and "sim" not in folder_of(p)),
    ("std::random differs between standard libraries: generators use src/base/hash.hpp", r"^random$", where("src/io")),
    ("programs see public headers only", r"^(?!tulle/|apps/|bench/|device/cuda/)[a-z]+/[^ ]*(/(cpu|cuda|sim)/|steps\.hpp$|\.cuh$)", where(*ON_TOP)),
    ("tests, programs and benchmarks are above the library", r"^(tests|support|apps|bench|examples)/", LIBRARY),
]

# What the text may say, comments and strings left out: (rule, pattern, who must not say it).
TEXT_RULES = [
    ("launch with launch(), not <<<>>>", r"<<<", lambda p: not KERNEL_MACHINERY(p)),
    ("shared memory is TULLE_SHARED", r"\b__shared__\b", lambda p: not KERNEL_MACHINERY(p)),
    ("flags between blocks are load_acquire and store_release, not volatile", r"(?<!asm )\bvolatile\b",
     lambda p: in_cuda_folder(p) and not KERNEL_MACHINERY(p)),
    ("warp operations name their mask", r"\b__activemask\b", lambda p: in_cuda_folder(p)),
    ("std::random differs between standard libraries: generators use src/base/hash.hpp",
     r"\bstd::(mt19937|minstd_rand|default_random_engine|random_device|uniform_\w+_distribution|shuffle)\b|\brand\(\)", where("src/io")),
    ("a function of GPUs that a build without CUDA does not call is a template: GCC without optimisation keeps others, and they name what is not built",
     r"^\s*\[\[maybe_unused\]\][^()]*\(.*\bCudaQueue&", LIBRARY),
    ("std::format is not in every supported standard library", r"#\s*include\s*<format>|\bstd::format\b", LIBRARY),
]
FAST_MATH = ("IEEE arithmetic everywhere: no fast math", re.compile(r"use_fast_math|-ffast-math|-Ofast|-funsafe-math"))


def without_comments(text):
    """The text with comments and string contents blanked, line by line as before; include names are kept."""
    def blank(match):
        piece = match.group(0)
        if piece.startswith("/"):
            return re.sub(r"[^\n]", " ", piece)
        return piece[0] + " " * (len(piece) - 2) + piece[-1]
    lines = text.split("\n")
    kept = {k: line for k, line in enumerate(lines) if INCLUDE.match(line)}
    text = re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', blank, text, flags=re.S)
    lines = text.split("\n")
    for k, line in kept.items():
        lines[k] = line
    return lines


def public_modules():
    """{"tulle/csr.hpp": "matrix"}, from the list of public headers."""
    lines = (pathlib.Path(__file__).resolve().parent.parent / "include/tulle/headers.txt").read_text().splitlines()
    return {f"tulle/{line.split()[0]}": line.split()[1] for line in lines if line and not line.startswith("#")}


PUBLIC_MODULE = public_modules()


def module_of(name):
    """The module of a header by the name it is included with; None for what is not the library's."""
    return PUBLIC_MODULE.get(name) if name.startswith("tulle/") else name.split("/")[0]


def wrong_arrow(path, included):
    """Why the library's file `path` must not include `included`, or None."""
    here = module_of("/".join(path.parts[1:]))
    there = module_of(included)
    if there == "all" and here != "all":
        return "layers: tulle.hpp is above everything"
    if PUBLIC(path) and not included.startswith("tulle/"):
        return "layers: a public header includes public headers only"
    if included.startswith("tulle/") and there is None:
        return "layers: a public header is listed in include/tulle/headers.txt"
    if here not in RANK or there not in RANK or here == there:
        return None
    if RANK[there] > RANK[here]:
        return f"layers: {here} -> {there} points up"
    if RANK[there] == RANK[here]:
        return f"layers: {here} -> {there} points sideways"
    return None


def check_file(root, path):
    wrong = []
    for number, line in enumerate(without_comments((root / path).read_text(errors="replace")), 1):
        say = lambda what: wrong.append(f"{path}:{number}: {what}: {line.strip()}")
        if include := INCLUDE.match(line):
            quote, name = include.groups()
            for rule, pattern, applies in INCLUDE_RULES:
                if applies(path) and re.search(pattern, name):
                    say(rule)
            if LIBRARY(path) and quote == '"' and "/" not in name:
                say('includes are written "<module>/<file>", or "tulle/<file>" for public headers')
            elif LIBRARY(path) and quote == '"' and (reason := wrong_arrow(path, name)):
                say(reason)
        for rule, pattern, applies in TEXT_RULES:
            if applies(path) and re.search(pattern, line):
                say(rule)
    return wrong


def check(root):
    wrong = []
    for top in ["include", "src", "tests", *ON_TOP]:
        for file in sorted((root / top).rglob("*")):
            path = file.relative_to(root)
            if file.suffix in SUFFIXES:
                wrong += check_file(root, path)
            if where("src")(path) and len(path.parts) > 2 and file.suffix in SUFFIXES and path.parts[1] not in RANK and path.parts[1] != "simt":
                wrong.append(f"{path}: layers: the folder {path.parts[1]} has no layer in tools/check_layers.py")
            if file.suffix in {".cu", ".cuh"} and LIBRARY(path) and not in_cuda_folder(path):
                wrong.append(f"{path}: CUDA sources live in cuda folders")
    present = {f"tulle/{file.name.removesuffix('.in')}" for file in (root / "include/tulle").glob("*.hpp*")}
    wrong += [f"include/{name}: a public header is listed in include/tulle/headers.txt" for name in sorted(present - set(PUBLIC_MODULE))]
    folders = [f for f in root.iterdir() if f.is_dir() and not f.name.startswith(("build", "."))]
    candidates = [*root.iterdir(), *(f for folder in folders for f in folder.rglob("*"))]
    for file in sorted(f for f in candidates if f.name in {"CMakeLists.txt", "CMakePresets.json", "Makefile"} or f.suffix == ".cmake"):
        path = file.relative_to(root)
        for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1):
            if FAST_MATH[1].search(line):
                wrong.append(f"{path}:{number}: {FAST_MATH[0]}: {line.strip()}")
    return wrong


# One small tree per rule: (what the report must contain, file, contents). The second list must pass.
PLANTED = [
    ("base -> device points up", "src/base/a.hpp", '#include "tulle/memory.hpp"'),
    ("prim -> matrix points up", "src/prim/cpu/a.cpp", '#include "tulle/csr.hpp"'),
    ("model -> device points sideways", "src/model/a.hpp", '#include "tulle/memory.hpp"'),
    ("spmv -> spmm points sideways", "src/spmv/a.cpp", '#include "tulle/spmm.hpp"'),
    ("matrix -> io points up", "src/matrix/a.cpp", '#  include "tulle/io.hpp"'),
    ("tulle.hpp is above", "src/io/a.cpp", '#include "tulle/tulle.hpp"'),
    ("has no layer", "src/extra/a.hpp", "int a;"),
    ("public headers only", "include/tulle/csr.hpp", '#include "matrix/entries.hpp"'),
    ("is listed in", "include/tulle/extra.hpp", "int a;"),
    ("is listed in", "src/spmv/a.cpp", '#include "tulle/extra.hpp"'),
    ("includes are written", "src/spmv/a.cpp", '#include "spmv.hpp"'),
    ("CUB and Thrust", "src/spmv/cuda/a.cu", "#include <cub/cub.cuh>"),
    ("CUB and Thrust", "src/matrix/cuda/a.cu", "#include <thrust/sort.h>"),
    ("cooperative_groups", "src/spmv/cuda/a.cu", "#include <cooperative_groups.h>"),
    ("cuSPARSE", "src/spmv/cuda/a.cu", "#include <cusparse.h>"),
    ("cuSPARSE", "apps/cli/a.cpp", "#include <cublas_v2.h>"),
    ("fmt, JSON", "src/io/a.cpp", "#include <fmt/format.h>"),
    ("fmt, JSON", "src/io/a.cpp", "#include <nlohmann/json.hpp>"),
    ("fmt, JSON", "src/io/a.cpp", "#include <CLI/CLI.hpp>"),
    (".cuh is included", "src/spmv/a.cpp", '#include "device/cuda/kernel.cuh"'),
    ("CUDA headers stay", "src/device/a.hpp", "#include <cuda_runtime.h>"),
    ("simulated GPU", "src/spmv/cuda/a.cu", '#include "simt/kernel.hpp"'),
    ("std::random", "src/io/generate/a.cpp", "#include <random>"),
    ("std::random", "src/io/a.cpp", "std::mt19937 g(1);"),
    ("public headers only", "apps/cli/a.cpp", '#include "spmv/steps.hpp"'),
    ("above the library", "src/io/a.cpp", '#include "support/battery.hpp"'),
    ("not <<<>>>", "src/spmv/cuda/a.cu", "kernel<<<1, 2>>>();"),
    ("TULLE_SHARED", "src/spmv/cuda/a.cu", "__shared__ int a[3];"),
    ("not volatile", "src/spmv/cuda/a.cu", "volatile int* flag;"),
    ("name their mask", "src/spmv/cuda/a.cu", "auto m = __activemask();"),
    ("std::format", "src/base/a.cpp", "auto s = std::format(1);"),
    ("is a template", "src/spmv/a.cpp", "[[maybe_unused]] void f(void* p, const CudaQueue& q) {}"),
    ("cuda folders", "src/spmv/a.cu", "int a;"),
    ("no fast math", "cmake/Flags.cmake", "add_compile_options(--use_fast_math)"),
    ("no fast math", "CMakePresets.json", '"CMAKE_CXX_FLAGS": "-ffast-math"'),
]
ALLOWED = [
    ("src/spmv/a.cpp", '#include "tulle/csr.hpp"\n#include "spmv/steps.hpp"\n#include <vector>'),
    ("src/matrix/a.cpp", '#include "prim/scan.hpp"   // prim is below\n// #include "tulle/io.hpp"\n/* a<<<1>>> */ auto s = "<<<";'),
    ("src/prim/cuda/a.cu", '#include <cub/cub.cuh>\n#include "device/cuda/kernel.cuh"'),
    ("src/device/cuda/a.cuh", '#include "simt/kernel.hpp"\nkernel<<<1, 2>>>(); __shared__ int a[3]; asm volatile("");'),
    ("bench/cuda/a.cu", '#include "device/cuda/kernel.cuh"'),
    ("src/prim/sim/a.cpp", '#include "simt/launch.hpp"\n#include "device/cuda/runtime.cuh"'),
    ("bench/a.cpp", "#include <cusparse.h>\n#include <fmt/format.h>\n#include \"tulle/tulle.hpp\""),
    ("tests/io/a.cpp", "#include <random>\nstd::mt19937 g(1);\n#include \"spmv/steps.hpp\""),
]


def self_test():
    def report(file, text):
        with tempfile.TemporaryDirectory() as folder:
            target = pathlib.Path(folder) / file
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text + "\n")
            return check(pathlib.Path(folder))
    broken = [f"not found: {want!r} in {file}: {text!r}" for want, file, text in PLANTED if not any(want in w for w in report(file, text))]
    broken += [f"false alarm: {found}" for file, text in ALLOWED for found in report(file, text)]
    rules = [rule for rule, *_ in INCLUDE_RULES + TEXT_RULES + [FAST_MATH]]
    said = "\n".join("\n".join(report(file, text)) for _, file, text in PLANTED)
    broken += [f"no planted case for the rule: {rule}" for rule in rules if rule not in said]
    print("\n".join(broken) or f"check_layers: {len(PLANTED)} planted faults found, {len(ALLOWED)} good files passed")
    return bool(broken)


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(self_test())
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent
    wrong = check(root)
    print("\n".join(wrong) or "layers: all arrows point down")
    sys.exit(bool(wrong))
