// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "base/hash.hpp"
#include "base/math.hpp"
#include "io/chunks.hpp"
#include "io/formats/binary.hpp"

namespace tulle::inline TULLE_ABI::io {
namespace {

constexpr std::size_t block = std::size_t{1} << 20;
constexpr std::size_t lanes = 4,
                      word =
                          sizeof(std::uint64_t);  // lanes are independent, so that the processor works on all of them

std::uint64_t hash_block(const char* data, std::size_t bytes)
{
    std::array<std::uint64_t, lanes> lane{1, 2, 3, 4};
    std::array<std::uint64_t, lanes> words{};
    for (; bytes >= lanes * word; data += lanes * word, bytes -= lanes * word) {
        std::memcpy(words.data(), data, lanes * word);
        for (std::size_t l = 0; l < lanes; ++l) lane[l] = mix(lane[l] ^ words[l]);
    }
    words.fill(0);
    if (bytes > 0) std::memcpy(words.data(), data, bytes);
    for (std::size_t l = 0; l < lanes; ++l) lane[l] = mix(lane[l] ^ words[l]);
    return hash_of(bytes, lane[0], lane[1], lane[2], lane[3]);
}

}  // namespace

std::uint64_t checksum(const CpuQueue& q, const void* data, std::size_t bytes)
{
    const std::size_t blocks = ceil_div(bytes, block);
    std::vector<std::uint64_t> hash(blocks);
    for_each_chunk(q, static_cast<offset_t>(blocks), {}, [&](offset_t b) {
        const std::size_t begin = static_cast<std::size_t>(b) * block;
        hash[static_cast<std::size_t>(b)] =
            hash_block(static_cast<const char*>(data) + begin, std::min(block, bytes - begin));
    });
    std::uint64_t all = mix(bytes);
    for (const std::uint64_t h : hash) all = mix(all ^ h);
    return all;
}

}  // namespace tulle::inline TULLE_ABI::io
