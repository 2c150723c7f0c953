// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Where a column is looked for first in a hash table.
#pragma once

#include <cstdint>

#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI::spgemm {

// Of the number of slots, a power of two.
constexpr int bits_of(int slots)
{
    int bits = 0;
    while ((1 << bits) < slots) ++bits;
    return bits;
}

// In a table of 2^bits slots: the high bits of a product. Columns a power of two apart are spread as well as neighbours
// are. (Neighbouring columns in neighbouring slots would spare the banks, but runs of columns that meet make long
// searches: 160 ms instead of 6 on webbase-1M.)
constexpr std::uint32_t first_slot(index_t col, int bits)
{
    return (static_cast<std::uint32_t>(col) * std::uint32_t{0x9E3779B1u}) >> (32 - bits);
}

}  // namespace tulle::inline TULLE_ABI::spgemm
