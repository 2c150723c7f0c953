#!/usr/bin/env python3
# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""Compiles every .hpp of the library alone, with all warnings as errors: a header includes what it uses.

    tools/check_headers.py [-j N] [--include DIR] [HEADER …]       exit 1 and the compiler's words when one does not stand alone
    tools/check_headers.py --unsourced                             without headers that a source file includes first: building that file shows the same
    tools/check_headers.py --self-test                             shows that it can fail

DIR holds the generated tulle/version.hpp; without it one is written for the CPU backend.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FLAGS = "-std=c++20 -fsyntax-only -fopenmp -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wnon-virtual-dtor -Werror".split()


def all_headers():
    """mpi.hpp and ptscotch.hpp need mpi.h and ptscotch.h, which may be missing; the programs of mpi/ compile them."""
    return sorted(h for folder in ("include", "src") for h in (ROOT / folder).rglob("*.hpp") if "simt" not in h.parts and h.name not in ("mpi.hpp", "ptscotch.hpp"))


def without_sourced(headers):
    """Leaves out what the first include of a .cpp names, as long as that file is built for every backend (stage clang of .ci/run does, without precompiled
    headers). Twice does no harm is then seen by the pragma."""
    sources = [s for s in (ROOT / "src").rglob("*.cpp") if not {"simt", "sim"} & set(s.relative_to(ROOT).parts)]
    first = {found[1] for s in sources if (found := re.search(r'^#include "(.*?)"|^#include <', s.read_text(), re.M))}
    return [h for h in headers if str(h.relative_to(ROOT).relative_to(h.relative_to(ROOT).parts[0])) not in first or "\n#pragma once\n" not in h.read_text()]


def write_build_header(folder):
    """version.hpp as CMake would write it without CUDA."""
    text = (ROOT / "include/tulle/version.hpp.in").read_text()
    for name, value in {"PROJECT_VERSION_MAJOR": "0", "PROJECT_VERSION_MINOR": "0", "PROJECT_VERSION_PATCH": "0", "PROJECT_VERSION": "0.0.0", "TULLE_CUDA_ARCHITECTURES_TEXT": ""}.items():
        text = text.replace(f"@{name}@", value)
    for name in ("TULLE_HAS_CUDA_CPP", "TULLE_SIMULATED_CPP"):
        text = text.replace(f"@{name}@", "false")
    target = folder / "tulle/version.hpp"
    target.parent.mkdir(parents=True)
    target.write_text(text)


def compile_alone(header, include, compiler):
    """Included twice, to see that once is enough and twice does no harm."""
    source = f'#include "{header}"\n#include "{header}"\n'
    command = [compiler, *FLAGS, "-I", str(ROOT / "src"), "-I", str(ROOT / "include"), "-I", str(include), "-x", "c++", "-"]
    done = subprocess.run(command, input=source, text=True, capture_output=True)
    return header, done.returncode, done.stderr


def check(headers, include, jobs):
    compiler = os.environ.get("CXX", "c++")
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        results = list(pool.map(lambda h: compile_alone(h, include, compiler), headers))
    for header, status, words in results:
        if status:
            print(f"{header} does not compile alone:\n{words}")
    failed = sum(1 for _, status, _ in results if status)
    print(f"headers: {len(results) - failed} of {len(results)} compile alone with {compiler}")
    return failed


def self_test(folder):
    good, bad = folder / "good.hpp", folder / "bad.hpp"
    good.write_text("#pragma once\n#include <vector>\ninline std::vector<int> f() { return {}; }\n")
    bad.write_text("#pragma once\ninline std::vector<int> f() { return {}; }\n")
    twice = folder / "twice.hpp"
    twice.write_text("struct A {};\n")
    results = [check([h], folder, 1) for h in (good, bad, twice)]
    print("self-test: " + ("passed" if results == [0, 1, 1] else f"FAILED {results}"))
    return results != [0, 1, 1]


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("-j", type=int, default=os.cpu_count())
    parser.add_argument("--include", type=pathlib.Path)
    parser.add_argument("--unsourced", action="store_true")
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("headers", nargs="*", type=pathlib.Path)
    args = parser.parse_args()
    headers = [h.resolve() for h in args.headers] or all_headers()
    headers = without_sourced(headers) if args.unsourced else headers
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.include or pathlib.Path(scratch)
        if not args.include:
            write_build_header(folder)
        sys.exit(bool(self_test(folder) if args.self_test else check(headers, folder, args.j)))
