// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Rows are permuted where the context works. Which tiles are dense is found on the CPU, panel by panel; both parts go back from there.
#include "tulle/spmm/order_split.hpp"

#include <algorithm>
#include <utility>

#include "tulle/base/math.hpp"
#include "tulle/device/copy.hpp"
#include "tulle/matrix/arrange.hpp"
#include "tulle/matrix/convert.hpp"
#include "tulle/matrix/move.hpp"
#include "tulle/prim/scan.hpp"

namespace tulle::spmm {
namespace {

// dense[k] = 1 where nonzero k lies in a dense tile; returns how many such tiles there are.
template <class V>
offset_t mark_dense(const CpuQueue& q, const CsrView<V>& a, index_t tau, double delta, unsigned char* dense)
{
    const index_t panels = ceil_div(a.rows, tau), block_cols = ceil_div(a.cols, tau);
    const double limit = delta * static_cast<double>(tau) * static_cast<double>(tau);
    const int threads = std::max(1, std::min<int>(q.threads, panels));
    Buffer<index_t> counts(q, offset_t{threads} * block_cols);
    fill_zero(q, counts.data(), counts.size());
    offset_t tiles = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : tiles)
    for (int t = 0; t < threads; ++t) {
        index_t* count = counts.data() + offset_t{t} * block_cols;
        for (index_t p = t; p < panels; p += threads) {
            const offset_t begin = a.row_begin[p * tau], end = a.row_begin[std::min(a.rows, (p + 1) * tau)];
            for (offset_t k = begin; k < end; ++k) {
                const index_t before = count[a.col[k] / tau]++;
                tiles += static_cast<double>(before) <= limit && static_cast<double>(before + 1) > limit;
            }
            for (offset_t k = begin; k < end; ++k) dense[k] = static_cast<double>(count[a.col[k] / tau]) > limit;
            for (offset_t k = begin; k < end; ++k) count[a.col[k] / tau] = 0;
        }
    }
    return tiles;
}

// The entries whose mark is `wanted`.
template <class V>
Csr<V> pick(const CpuQueue& q, const CsrView<V>& a, const unsigned char* mark, unsigned char wanted)
{
    Csr<V> part{.rows = a.rows, .cols = a.cols, .row_begin = Buffer<offset_t>(q, offset_t{a.rows} + 1), .col = {}, .value = {}};
    offset_t* begin = part.row_begin.data();
#pragma omp parallel for num_threads(q.threads) schedule(static)
    for (index_t i = 0; i < a.rows; ++i) begin[i] = std::count(mark + a.row_begin[i], mark + a.row_begin[i + 1], wanted);
    prim::exclusive_scan(q, begin, begin, a.rows);
    part.col = Buffer<index_t>(q, begin[a.rows]);
    part.value = Buffer<V>(q, begin[a.rows]);
#pragma omp parallel for num_threads(q.threads) schedule(static)
    for (index_t i = 0; i < a.rows; ++i) {
        offset_t to = begin[i];
        for (offset_t k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k) {
            if (mark[k] != wanted) continue;
            part.col.data()[to] = a.col[k];
            part.value.data()[to++] = a.value[k];
        }
    }
    return part;
}

// Panels of tau rows before the first nonzero.
template <class V>
index_t empty_panels(const Csr<V>& a, index_t tau)
{
    const offset_t* begin = a.row_begin.data();
    const auto empty = static_cast<index_t>(std::upper_bound(begin, begin + a.rows + 1, offset_t{0}) - begin - 1);      // leading rows
    return empty == a.rows ? ceil_div(a.rows, tau) : empty / tau;
}

template <class V>
Csr<V> reordered(const Context& ctx, const CsrView<V>& a, const RowOrder& order)
{
    Csr<V> b = permute(ctx, a, order.row.span(), {});
    return b.unique ? std::move(b) : sum_duplicates(ctx, b.view());
}

}  // namespace

template <class V>
Split<V> split_tiles(const Context& ctx, const CsrView<V>& a, const RowOrder& order, index_t tau, double delta)
{
    require<ValueError>(tau >= 1, [&] { return concat("tiles of ", tau, " rows and columns cannot be"); });
    require<ValueError>(delta >= 0, [&] { return concat("delta = ", delta, " is no density"); }, "0 to 1");
    require(order.rows() == a.rows, [&] { return concat("an order of ", order.rows(), " rows for a matrix of ", a.rows); });
    const CpuQueue host = ctx.host();
    const Csr<V> permuted = reordered(ctx, a, order);
    const Csr<V> here = to_host(ctx, permuted.view());
    Buffer<unsigned char> dense(host, here.nonzeros());
    Split<V> split{.tiles = {}, .first_panel = 0, .rest = {}};
    split.dense_tiles = mark_dense(host, here.view(), tau, delta, dense.data());
    const Csr<V> in_tiles = pick(host, here.view(), dense.data(), 1);
    split.in_tiles = in_tiles.nonzeros();
    split.first_panel = empty_panels(in_tiles, tau);
    split.rest = to_device(ctx, pick(host, here.view(), dense.data(), 0).view());
    CsrView<V> lower = in_tiles.view();                  // without the leading panels
    const index_t skipped = std::min(a.rows, split.first_panel * tau);
    lower.rows -= skipped;
    lower.row_begin += skipped;
    split.tiles = to_blocked_ell(ctx, to_device(ctx, lower).view(), tau);
    return split;
}

template Split<float> split_tiles(const Context&, const CsrView<float>&, const RowOrder&, index_t, double);
template Split<double> split_tiles(const Context&, const CsrView<double>&, const RowOrder&, index_t, double);

}  // namespace tulle::spmm
