// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "io/formats/smtx.hpp"

#include "fuzz/fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    using namespace tulle;
    const auto write = [](const CpuQueue& q, io::Sink& to, const auto& a) {
        io::write_smtx(q, to, a, {.pattern = true});
    };
    fuzz::round_trip<double>(fuzz::as_text(data, size), "a.smtx", "b.smtx", write);
    return 0;
}
