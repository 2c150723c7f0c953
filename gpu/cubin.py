"""Machine code of every kernel, as hashes.

A .cu file is compiled to a cubin with fixed flags (or one is found in an object that CMake's Release build made with the same), and each
kernel's code section is hashed under its demangled-enough name. Names of
kernels in anonymous namespaces contain a hash of the path and sometimes the compiler's process number; both are taken out, so that neither the
folder, nor the machine, nor a comment changes anything, while any change of machine code does.
"""
import hashlib
import pathlib
import re
import struct
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parent.parent
FLAGS = ["-cubin", "-arch=sm_90", "-std=c++20", "--expt-relaxed-constexpr", "-O3", "-DNDEBUG"]
UNSTABLE = re.compile(r"\d+_GLOBAL__N__[0-9a-f]{8}_\d+_(\w+?)_cu_[0-9a-f]{8}(?:_\d+)?")
CODE = (".text.", ".nv.constant", ".nv.shared.", ".nv.global.init")


SUITES = ["base", "device", "mma", "prim", "matrix", "partition", "spmv", "spmv_multi", "spmm", "spmm_multi", "spmm_order", "spgemm", "sptrsv", "sddmm", "factor", "graph", "amg", "vector", "solve", "mpi_gpu"]
TOOLS = ["memcheck", "racecheck", "synccheck", "initcheck"]
# What each tool has to look at: all suites on a GPU, but initcheck none whose tests are of teams alone (gpu/run says why).
PAIRS = [(tool, suite) for tool in TOOLS for suite in SUITES[1:] if not (tool == "initcheck" and suite.endswith("_multi"))]


def folder_of(suite):
    """Where its test program lies, and under src/ the kernels it is about."""
    return {"mma": "simt", "spmv_multi": "spmv", "spmm_multi": "spmm", "spmm_order": "spmm", "mpi_gpu": "mpi"}.get(suite, suite)


def code_of(kernels, suite):
    """One digest of all recorded kernels that a suite is about; files without a kernel do not count."""
    about = {file: found for file, found in kernels.items() if file.startswith(f"src/{folder_of(suite)}/") and any(name.startswith(".text.") for name in found)}
    lines = [f"{file} {kernel} {digest}" for file, found in sorted(about.items()) for kernel, digest in sorted(found.items())]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def is_clean(record, tool, suite):
    """Whether a sanitizer has run on a suite with the recorded kernels, to its end, and found nothing."""
    run = record["sanitizers"].get(f"{tool} {suite}")
    return bool(run) and run["errors"] == 0 and run.get("code") == code_of(record["kernels"], suite)


def sources():
    """All .cu files of the library, as paths from the repository's root."""
    return sorted(str(p.relative_to(ROOT)) for p in (ROOT / "src").rglob("*.cu"))


def stable_name(name):
    """A symbol's name without what differs from run to run: the anonymous namespace keeps the file's name only.

    The number in front of _GLOBAL__N__ is the length of the whole identifier, whose end is not marked; what follows the process
    number begins with the length of the next identifier, so the match must give those digits back."""
    def replace(match):
        length = int(re.match(r"\d+", match[0])[0])
        prefix = len(str(length))
        return f"(anonymous in {match[1]})" + match[0][prefix + length:]
    return UNSTABLE.sub(replace, name)


def sections(cubin):
    """(name, type, flags, bytes or size) of the sections of a 64-bit ELF file."""
    at, = struct.unpack_from("<Q", cubin, 40)
    size, count, names = struct.unpack_from("<HHH", cubin, 58)
    headers = [struct.unpack_from("<IIQQQQIIQQ", cubin, at + i * size) for i in range(count)]
    name_table = headers[names][4]
    for name, kind, _, _, offset, length, *_ in headers:
        end = cubin.index(b"\0", name_table + name)
        text = cubin[name_table + name:end].decode()
        yield text, (b"" if kind == 8 else cubin[offset:offset + length]), length


def kernels_of(cubin):
    """{section: sha256} for everything that makes up a kernel's code."""
    found = {}
    for name, data, length in sections(cubin):
        if name.startswith(CODE):
            found[stable_name(name)] = hashlib.sha256(data + str(length).encode()).hexdigest()
    return found


def compile_file(source, include, nvcc="nvcc"):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out.cubin"
        command = [nvcc, *FLAGS, f"-I{ROOT}/src", f"-I{ROOT}/include", f"-I{include}", str(ROOT / source), "-o", str(out)]
        run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode != 0:
            raise SystemExit(f"{source} does not compile:\n{run.stdout}{run.stderr}")
        return kernels_of(out.read_bytes())


def cubins_in(item):
    """The cubins in an object of nvcc; none where they are compressed, as they are without --no-compress."""
    for name, data, _ in sections(item):
        if name == ".nv_fatbin":
            at = data.find(b"\x7fELF")
            while at >= 0:
                yield data[at:]
                at = data.find(b"\x7fELF", at + 4)


def read_object(source, build):
    """{section: sha256} out of the object of a .cu file in a build folder; None when it has no readable code for the GPU."""
    _, module, *rest = source.split("/")
    item = pathlib.Path(build) / "src" / module / "CMakeFiles" / f"tulle_{module}.dir" / ("/".join(rest) + ".o")
    found = {}
    for code in cubins_in(item.read_bytes()) if item.exists() else ():
        found.update(kernels_of(code))
    return found or None


def write_build_header(folder):
    """version.hpp as CMake would write it for the CUDA backend; only host code reads it."""
    target = pathlib.Path(folder) / "tulle/version.hpp"
    target.parent.mkdir(parents=True)
    text = (ROOT / "include/tulle/version.hpp.in").read_text()
    for key, value in {"PROJECT_VERSION": "0", "PROJECT_VERSION_MAJOR": "0", "PROJECT_VERSION_MINOR": "0", "PROJECT_VERSION_PATCH": "0", "TULLE_HAS_CUDA_CPP": "true", "TULLE_SIMULATED_CPP": "false", "TULLE_CUDA_ARCHITECTURES_TEXT": "90"}.items():
        text = text.replace(f"@{key}@", value)
    target.write_text(text)


def hash_all(jobs=2, nvcc="nvcc", build=None):
    """{file: {kernel: sha256}} of the whole library; compiles what `build` does not have."""
    with tempfile.TemporaryDirectory() as include:
        write_build_header(include)
        with ThreadPoolExecutor(jobs) as pool:
            files = sources()
            return dict(zip(files, pool.map(lambda f: build and read_object(f, build) or compile_file(f, include, nvcc), files)))
