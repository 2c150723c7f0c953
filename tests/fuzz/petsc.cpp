// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "io/formats/petsc.hpp"

#include "fuzz/fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    using namespace tulle;
    const auto write = [](const CpuQueue& q, io::Sink& to, const auto& a) { io::write_petsc(q, to, a, {}); };
    fuzz::round_trip<double>(fuzz::as_text(data, size), "a.petsc", "b.petsc", write);
    fuzz::round_trip<float>(fuzz::as_text(data, size), "a.petsc", "b.petsc", write);
    return 0;
}
