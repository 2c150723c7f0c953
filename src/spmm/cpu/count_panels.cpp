// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A panel at a time, each by one thread, which has a mask for every column of the matrix.
#include <algorithm>
#include <array>

#include "base/math.hpp"
#include "spmm/order/steps.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::spmm {
namespace {

// What a thread keeps: masks are zero between panels.
struct Desk {
    unsigned char* mask;
    index_t* used;
};

PanelCounts count_panel(const Pattern& a, const index_t* row, index_t rows, const Desk& desk)
{
    offset_t used = 0, nonzeros = 0, entries = 0;
    for (index_t i = 0; i < rows; ++i) {
        const auto bit = static_cast<unsigned char>(1u << i / counted_slab);
        index_t last = -1;
        for (offset_t k = a.row_begin[row[i]]; k < a.row_begin[row[i] + 1]; ++k) {
            const index_t col = a.col[k];
            nonzeros += col != last;
            last = col;
            if (desk.mask[col] == 0) desk.used[used++] = col;
            desk.mask[col] |= bit;
        }
        entries += a.row_begin[row[i] + 1] - a.row_begin[row[i]];
    }
    std::array<index_t, slab_masks> cols_with{};
    for (offset_t k = 0; k < used; ++k) {
        ++cols_with[desk.mask[desk.used[k]]];
        desk.mask[desk.used[k]] = 0;
    }
    PanelCounts counts{count_columns(cols_with.data()), entries};
    counts.cost.nonzeros = nonzeros;
    return counts;
}

}  // namespace

PanelCounts count_panels(const CpuQueue& q, const Pattern& a, const index_t* row, index_t height, const PanelList& list)
{
    const int threads = std::max(1, std::min<int>(q.threads, list.count));
    Buffer<unsigned char> mask(q, offset_t{threads} * a.cols);
    Buffer<index_t> used(q, offset_t{threads} * a.cols);
    fill_zero(q, mask.data(), mask.size());
    std::vector<PanelCounts> counts(static_cast<std::size_t>(threads));
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int t = 0; t < threads; ++t) {
        const Desk desk{mask.data() + offset_t{t} * a.cols, used.data() + offset_t{t} * a.cols};
        PanelCounts mine;
        for (index_t k = t; k < list.count; k += threads) {
            const index_t first = list[k] * height;
            mine += count_panel(a, row + first, std::min(height, a.rows - first), desk);
        }
        counts[static_cast<std::size_t>(t)] = mine;
    }
    PanelCounts all;
    for (const PanelCounts& some : counts) all += some;
    return all;
}

}  // namespace tulle::inline TULLE_ABI::spmm
