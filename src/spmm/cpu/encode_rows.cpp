// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>

#include "base/math.hpp"
#include "spmm/order/steps.hpp"

namespace tulle::inline TULLE_ABI::spmm {
namespace {

constexpr int rows_at_once = 512;

struct RowSums {
    index_t blocks = 0, sum = 0;
    offset_t squares = 0;
};

// One walk over a row whose columns ascend, with a division for each block; a column that stands twice counts once.
RowSums encode_row(const Pattern& a, index_t row, index_t tau, BlockCount* to)
{
    RowSums sums;
    const offset_t end = a.row_begin[row + 1];
    for (offset_t k = a.row_begin[row]; k < end; ++sums.blocks) {
        const index_t block = a.col[k] / tau;
        const offset_t beyond = (offset_t{block} + 1) * tau;
        index_t count = 1;
        for (++k; k < end && a.col[k] < beyond; ++k) count += a.col[k] != a.col[k - 1];
        to[sums.blocks] = {block, count};
        sums.sum += count;
        sums.squares += offset_t{count} * count;
    }
    return sums;
}

}  // namespace

Encodings encode_rows(const CpuQueue& q, const Pattern& a, index_t tau)
{
    Encodings e{.rows = a.rows,
                .tau = tau,
                .all_blocks = ceil_div(a.cols, tau),
                .begin = a.row_begin,
                .entry = Buffer<BlockCount>(q, a.nonzeros),
                .blocks = Buffer<index_t>(q, a.rows),
                .sum = Buffer<index_t>(q, a.rows),
                .extent = Buffer<Extent>(q, a.rows)};
#pragma omp parallel for num_threads(q.threads) schedule(dynamic, rows_at_once)
    for (index_t row = 0; row < a.rows; ++row) {
        const RowSums sums = encode_row(a, row, tau, e.entry.data() + a.row_begin[row]);
        const double length = std::sqrt(static_cast<double>(sums.squares));
        e.blocks.data()[row] = sums.blocks;
        e.sum.data()[row] = sums.sum;
        e.extent.data()[row] = sums.blocks == 0 ? Extent{} : Extent{length, static_cast<double>(sums.sum) / length};
    }
    return e;
}

}  // namespace tulle::inline TULLE_ABI::spmm
