// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "sptrsv/analysis/rows.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {

Rows make_rows(const CpuQueue& host, const Triangle& t, const index_t* order, Unknowns unknowns)
{
    Rows rows{.rows = t.rows,
              .row = Buffer<index_t>(host, t.rows),
              .begin = Buffer<offset_t>(host, offset_t{t.rows} + 1),
              .col = Buffer<index_t>(host, t.nonzeros()),
              .source = Buffer<offset_t>(host, t.nonzeros()),
              .diagonal = Buffer<offset_t>(host, t.diagonal.size())};
    Buffer<index_t> place(host, t.rows);
    const auto at = [&](index_t k) { return order ? order[k] : k; };
    rows.begin.data()[0] = 0;
    for (index_t k = 0; k < t.rows; ++k) {
        place.data()[at(k)] = k;
        rows.begin.data()[k + 1] = rows.begin.data()[k] + t.row_begin.data()[at(k) + 1] - t.row_begin.data()[at(k)];
    }
#pragma omp parallel for num_threads(host.threads) schedule(static)
    for (index_t k = 0; k < t.rows; ++k) {
        const index_t i = at(k);
        rows.row.data()[k] = t.row_of(i);
        if (!t.diagonal.empty()) rows.diagonal.data()[k] = t.diagonal.data()[i];
        offset_t to = rows.begin.data()[k];
        for (offset_t from = t.row_begin.data()[i]; from < t.row_begin.data()[i + 1]; ++from, ++to) {
            const index_t col = t.col.data()[from];
            rows.col.data()[to] = unknowns == Unknowns::by_row ? t.row_of(col) : place.data()[col];
            rows.source.data()[to] = t.source.data()[from];
        }
    }
    return rows;
}

}  // namespace tulle::inline TULLE_ABI::sptrsv
