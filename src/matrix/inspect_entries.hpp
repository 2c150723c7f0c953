// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What features() counts of one row length or one entry, for hosts and kernels.
#pragma once

#include <cstdint>

#include "matrix/inspect_checks.hpp"
#include "tulle/csr.hpp"

namespace tulle::inline TULLE_ABI::inspect {

constexpr int bit_length(offset_t n)
{
    int bits = 0;
    for (; n > 0; n /= 2) ++bits;
    return bits;
}

// The square of the distance between two lengths. Distances are cut at 2^32 - 1, which no row without repeated columns
// has.
constexpr std::uint64_t squared_distance(offset_t length, offset_t middle)
{
    const std::uint64_t distance = static_cast<std::uint64_t>(length > middle ? length - middle : middle - length);
    const std::uint64_t cut = distance < 0xffffffffu ? distance : 0xffffffffu;
    return cut * cut;
}

// Whether the mirror image of entry k, in row i, is there, and with the same value. Rows of both matrices are sorted.
struct Mirrored {
    bool found, equal;
};

template <class V>
constexpr Mirrored mirrored(const CsrView<V>& a, const CsrView<V>& mirror, index_t i, offset_t k)
{
    const offset_t own = a.row_begin[i], begin = mirror.row_begin[i], end = mirror.row_begin[i + 1];
    const offset_t first = begin + prim::lower_bound(mirror.col + begin, end - begin, a.col[k]);
    if (a.col[k] == i || first == end || mirror.col[first] != a.col[k]) return {false, false};
    const offset_t same =
        first + (k - own - prim::lower_bound(a.col + own, a.row_begin[i + 1] - own, a.col[k]));  // first with first, …
    return {true, same < end && mirror.col[same] == a.col[k] && mirror.value[same] == a.value[k]};
}

}  // namespace tulle::inline TULLE_ABI::inspect
