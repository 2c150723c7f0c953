// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Which rows a rank has: as many as the others, or as much work. One process can ask, without ranks.
#include <algorithm>

#include "tulle/distributed.hpp"

namespace tulle::inline TULLE_ABI::mpi {

Cuts even_cuts(global_t n, int ranks)
{
    Cuts cuts(static_cast<std::size_t>(ranks) + 1);
    for (int r = 0; r <= ranks; ++r)
        cuts[static_cast<std::size_t>(r)] = n / ranks * r + std::min<global_t>(r, n % ranks);
    return cuts;
}

Cuts balanced_cuts(std::span<const offset_t> row_begin, int ranks)
{
    const global_t rows = std::ssize(row_begin) - 1, work = row_begin.back() + rows;
    Cuts cuts(static_cast<std::size_t>(ranks) + 1, rows);
    cuts[0] = 0;
    for (int r = 1; r < ranks; ++r) {
        const global_t share = work / ranks * r + work % ranks * r / ranks;
        global_t low = cuts[static_cast<std::size_t>(r) - 1], high = rows;
        while (low < high) {
            const global_t middle = low + (high - low) / 2;
            if (row_begin[static_cast<std::size_t>(middle)] + middle < share) low = middle + 1;
            else high = middle;
        }
        cuts[static_cast<std::size_t>(r)] = low;
    }
    return cuts;
}

}  // namespace tulle::inline TULLE_ABI::mpi
