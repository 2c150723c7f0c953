#!/usr/bin/env python3
"""Compiles the device code of every .cu file for every supported GPU architecture; needs nvcc and no GPU.

    tools/check_architectures.py               all files for 80, 86, 89, 90, 100 and 120
    tools/check_architectures.py --draw 6      about one in six pairs of file and architecture, others for another commit: what CI does
    tools/check_architectures.py --only spmm --architectures 80,120

An instruction that an architecture does not have, and more shared memory than it allows a block without asking, are errors of the assembler, so the code
is assembled, but not optimised. Whether a launch fits a GPU is decided at run time and tested on the simulated GPU (TULLE_SIM_COMPUTE).
"""
import argparse
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "gpu"))
import cubin  # noqa: E402

FLAGS = ["-cubin", "-std=c++20", "--expt-relaxed-constexpr", "-DNDEBUG", "-Werror=all-warnings", "-Xcicc=-O0", "-Xptxas=-O0"]


def supported():
    """The architectures that cmake/TulleCuda.cmake compiles for, as far as this nvcc knows them."""
    named = re.search(r"foreach\(architecture ([\d ]+)\)", (ROOT / "cmake/TulleCuda.cmake").read_text())[1].split()
    known = re.findall(r"compute_(\d+)", subprocess.run(["nvcc", "--list-gpu-arch"], capture_output=True, text=True, check=True).stdout)
    return [architecture for architecture in named if architecture in known]


def drawn(pairs, one_in):
    """The share that the present commit draws."""
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    return [pair for pair in pairs if int(hashlib.sha256((commit + " ".join(pair)).encode()).hexdigest(), 16) % one_in == 0]


def compile_for(pair, include, folder):
    """None, or what nvcc said."""
    source, architecture = pair
    out = pathlib.Path(folder) / (hashlib.sha256(" ".join(pair).encode()).hexdigest() + ".cubin")
    command = ["nvcc", *FLAGS, f"-arch=sm_{architecture}", f"-I{ROOT}/src", f"-I{ROOT}/include", f"-I{include}", str(ROOT / source), "-o", str(out)]
    run = subprocess.run(command, capture_output=True, text=True)
    out.unlink(missing_ok=True)
    return None if run.returncode == 0 else f"{source} for sm_{architecture}:\n{run.stdout}{run.stderr}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--architectures", default="", help="comma-separated, e.g. 80,120; default: all supported ones")
    parser.add_argument("--only", default="", help="files whose path contains this")
    parser.add_argument("--draw", type=int, default=1, metavar="K", help="about one in K, drawn by the commit")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1)
    args = parser.parse_args()
    architectures = args.architectures.split(",") if args.architectures else supported()
    pairs = drawn([(file, architecture) for file in cubin.sources() if args.only in file for architecture in architectures], args.draw)
    begin = time.time()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(args.jobs) as pool:
        include = pathlib.Path(folder) / "include"
        cubin.write_build_header(include)
        bad = [said for said in pool.map(lambda pair: compile_for(pair, include, folder), pairs) if said]
    print("\n".join(bad))
    print(f"check_architectures: {len(pairs) - len(bad)} of {len(pairs)} pairs of file and architecture compile ({', '.join('sm_' + a for a in architectures)}), {time.time() - begin:.0f} s")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
