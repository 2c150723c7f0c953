// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Rows that are cut into pieces.
#include <algorithm>
#include <limits>
#include <vector>

#include "tulle/base/math.hpp"
#include "tulle/device/copy.hpp"
#include "tulle/spmm/steps.hpp"

namespace tulle::spmm {

LongRows find_long_rows(const CpuQueue& q, index_t rows, const offset_t* row_begin, offset_t longest)
{
    std::vector<RowPiece> piece;
    std::vector<LongRow> row;
    for (index_t i = 0; i < rows; ++i) {
        const offset_t length = row_begin[i + 1] - row_begin[i];
        if (length <= longest) continue;
        const offset_t first = std::ssize(piece), pieces = ceil_div(length, longest), each = ceil_div(length, pieces);
        require<ValueError>(first + pieces <= std::numeric_limits<std::int32_t>::max(), "too many pieces of long rows");
        for (offset_t k = row_begin[i]; k < row_begin[i + 1]; k += each) piece.push_back({k, std::min(k + each, row_begin[i + 1])});
        row.push_back({i, static_cast<std::int32_t>(first), static_cast<std::int32_t>(std::ssize(piece) - first)});
    }
    return {longest, to_queue(q, piece.data(), std::ssize(piece)), to_queue(q, row.data(), std::ssize(row))};
}

}  // namespace tulle::spmm
