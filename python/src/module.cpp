// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The extension module tulle._core: what tulle/*.py is made of. Nothing here is for users.
#include <nanobind/stl/string.h>

#include "arrays.hpp"
#include "tulle/memory.hpp"
#include "tulle/text.hpp"
#include "tulle/version.hpp"

namespace tulle::python {
namespace {

nb::dict build_info()
{
    nb::dict d;
    d["version"] = build::version, d["compiler"] = TULLE_PYTHON_COMPILER, d["openmp"] = _OPENMP;
    d["cuda"] = build::has_cuda, d["cuda_architectures"] = build::cuda_architectures;
    d["simulated_gpu"] = build::simulated;
    return d;
}

nb::dict machine()
{
    nb::dict d;
    d["threads"] = available_threads(), d["free_bytes"] = free_bytes({.space = Space::host});
    return d;
}

}  // namespace
}  // namespace tulle::python

NB_MODULE(_core, m)
{
    using namespace tulle::python;
    nanobind::set_leak_warnings(false);  // a plan in a global variable is no leak
    m.attr("version") = tulle::build::version;
    m.attr("unlimited") = tulle::Memory::unlimited;
    m.def("build_info", &build_info);
    m.def("machine", &machine);
    m.def(
        "parse_bytes", [](const std::string& text) { return tulle::parse_bytes(text); }, "text"_a);
    m.def(
        "human_bytes", [](std::size_t bytes) { return tulle::human_bytes(bytes); }, "bytes"_a);
    bind_errors();
    bind_arrays(m);
    bind_spmv(m);
    bind_spmm(m);
    bind_spgemm(m);
    bind_sptrsv(m);
    bind_sddmm(m);
    bind_graph(m);
    bind_device(m);
    bind_solve(m);
    bind_files(m);
}
