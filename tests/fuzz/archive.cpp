// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Files inside of others: the first byte of the input says how the rest is read. A gzip checksum keeps a fuzzer out as
// well, so tar archives are also given without compression.
#include "fuzz/fuzz.hpp"
#include "io/compression/tar.hpp"
#include "io/formats/matrix_market.hpp"

namespace {

using namespace tulle;

void write_again(const CpuQueue& q, io::Sink& to, const CsrView<double>& a) { io::write_matrix_market(q, to, a, {}); }

// A bare tar archive whose matrix goes through the reader.
void read_tar(std::string_view bytes)
{
    try {
        const io::Source matrix = io::find_matrix(io::Source("a.tar", bytes));
        fuzz::round_trip<double>(matrix.bytes(), "a.mtx", "b.mtx", write_again);
    } catch (const FormatError&) {}
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    if (size == 0) return 0;
    const std::string_view rest = fuzz::as_text(data + 1, size - 1);
    switch (data[0] % 4) {
    case 0: fuzz::round_trip<double>(rest, "a.mtx.gz", "b.mtx", write_again); break;
    case 1: fuzz::round_trip<double>(rest, "a.tar.gz", "b.mtx", write_again); break;
    case 2: fuzz::round_trip<double>(rest, "a.mtx.xz", "b.mtx", write_again); break;
    default: read_tar(rest);
    }
    return 0;
}
