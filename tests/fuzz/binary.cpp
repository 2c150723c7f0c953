// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Checksums keep a fuzzer out: each input is read as it is, and once more with the checksums put right.
#include "io/formats/binary.hpp"

#include "base/hash.hpp"
#include "fuzz/fuzz.hpp"

namespace {

using namespace tulle;

std::string with_right_checksums(std::string bytes)
{
    const auto number = [&](std::size_t at) {
        std::uint64_t n = 0;
        std::memcpy(&n, bytes.data() + at, sizeof(n));
        return n;
    };
    if (bytes.size() < 96) return bytes;
    const CpuQueue q(1);
    const std::uint64_t rows = number(24), n = number(40), value_bytes = number(16) & 0xFF;
    const auto hash = [&](std::size_t place, std::uint64_t count) {
        const std::uint64_t at = number(place);
        const bool inside = at <= bytes.size() && count <= bytes.size() - at;
        return io::checksum(q, bytes.data() + (inside ? at : 0), inside ? count : 0);
    };
    const std::uint64_t data = hash_of(hash(48, (rows + 1) * 8), hash(56, n * 4), hash(64, n * value_bytes));
    std::memcpy(bytes.data() + 80, &data, 8);
    const std::uint64_t header = io::checksum(q, bytes.data(), 88);
    std::memcpy(bytes.data() + 88, &header, 8);
    return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    const auto write = [](const CpuQueue& q, io::Sink& to, const auto& a) { io::write_binary(q, to, a, {}); };
    fuzz::round_trip<double>(fuzz::as_text(data, size), "a.tulle", "b.tulle", write);
    fuzz::round_trip<float>(with_right_checksums(std::string(fuzz::as_text(data, size))), "a.tulle", "b.tulle", write);
    return 0;
}
