// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Eight bytes at a time: table[t][b] is the effect of byte b that stands t bytes before the end (Kounavis and Berry
// 2005).
#include <array>

#include "io/compression/zip.hpp"

namespace tulle::inline TULLE_ABI::io {
namespace {

constexpr std::uint32_t polynomial = 0xEDB88320;
constexpr std::size_t crc_step = 8;
using Tables = std::array<std::array<std::uint32_t, 256>, crc_step>;

constexpr Tables make_tables()
{
    Tables table{};
    for (std::uint32_t b = 0; b < 256; ++b) {
        std::uint32_t crc = b;
        for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? polynomial : 0);
        table[0][b] = crc;
    }
    for (std::size_t t = 1; t < crc_step; ++t)
        for (std::size_t b = 0; b < 256; ++b) table[t][b] = table[t - 1][b] >> 8 ^ table[0][table[t - 1][b] & 255];
    return table;
}

constexpr Tables tables = make_tables();

}  // namespace

std::uint32_t crc32(std::uint32_t before, std::string_view bytes)
{
    std::uint32_t crc = ~before;
    const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
    std::size_t left = bytes.size();
    for (; left >= crc_step; data += crc_step, left -= crc_step) {
        std::uint32_t next = 0;
        for (std::size_t t = 0; t < crc_step; ++t) {
            const std::uint32_t mixed = t < 4 ? data[t] ^ (crc >> (8 * t) & 255) : data[t];
            next ^= tables[crc_step - 1 - t][mixed];
        }
        crc = next;
    }
    for (; left > 0; ++data, --left) crc = crc >> 8 ^ tables[0][(crc ^ *data) & 255];
    return ~crc;
}

}  // namespace tulle::inline TULLE_ABI::io
