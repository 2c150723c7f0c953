// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What one row is sorted by, for hosts and kernels.
#pragma once

#include <cstdint>

#include "base/hash.hpp"
#include "spmm/order/encoding.hpp"
#include "tulle/spmm.hpp"

namespace tulle::inline TULLE_ABI::spmm {

constexpr std::uint64_t dispersion_key(const EncodingsView& e, Dispersion which, offset_t row)
{
    const offset_t blocks = e.blocks[row], nonzeros = e.sum[row];
    const offset_t d = which == Dispersion::paper ? dispersion_paper(e.tau, blocks, nonzeros)
                                                  : dispersion_released(e.tau, blocks, nonzeros);
    return static_cast<std::uint64_t>(d);
}

constexpr std::uint64_t length_key(const Pattern& a, offset_t row)
{
    return static_cast<std::uint64_t>(a.nonzeros - (a.row_begin[row + 1] - a.row_begin[row]));
}

// The column of a row that comes first in a random order of the columns. mix() is one to one, so no two columns share a
// place.
struct FirstColumn {
    std::uint64_t place = ~std::uint64_t{0};
    std::int64_t col = -1;

    constexpr void look_at(int hash, index_t candidate)
    {
        const std::uint64_t its = mix(static_cast<std::uint64_t>(candidate) | static_cast<std::uint64_t>(hash) << 32);
        if (its <= place) {
            place = its;
            col = candidate;
        }
    }
    constexpr std::uint32_t key() const { return static_cast<std::uint32_t>(col + 1); }
};

}  // namespace tulle::inline TULLE_ABI::spmm
