// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Rows are permuted where the context works. Which tiles are dense is found on the CPU, panel by panel; both parts go
// back from there.
#include "spmm/order/split.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/math.hpp"
#include "prim/scan.hpp"
#include "spmm/order/steps.hpp"
#include "tulle/convert.hpp"
#include "tulle/memory.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::spmm {
namespace {

// The entries whose mark is `wanted`.
template <class V>
Csr<V> pick(const CpuQueue& q, const CsrView<V>& a, const unsigned char* mark, unsigned char wanted)
{
    Csr<V> part{
        .rows = a.rows, .cols = a.cols, .row_begin = Buffer<offset_t>(q, offset_t{a.rows} + 1), .col = {}, .value = {}};
    offset_t* begin = part.row_begin.data();
#pragma omp parallel for num_threads(q.threads) schedule(static)
    for (index_t i = 0; i < a.rows; ++i)
        begin[i] = std::count(mark + a.row_begin[i], mark + a.row_begin[i + 1], wanted);
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
    const auto empty =
        static_cast<index_t>(std::upper_bound(begin, begin + a.rows + 1, offset_t{0}) - begin - 1);  // leading rows
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
    require<ValueError>(
        delta >= 0, [&] { return concat("delta = ", delta, " is no density"); }, "0 to 1");
    check_arrays(ctx, a);
    require(order.rows() == a.rows,
            [&] { return concat("an order of ", order.rows(), " rows for a matrix of ", a.rows); });
    const CpuQueue host = ctx.host();
    const Csr<V> permuted = reordered(ctx, a, order);
    const Csr<V> here = to_host(ctx, permuted.view());
    Buffer<unsigned char> dense(host, here.nonzeros());
    Split<V> split{.tiles = {}, .first_panel = 0, .rest = {}};
    Buffer<index_t> tiles(host, ceil_div(a.rows, tau));
    mark_tiles(host, pattern_of(here.view()), nullptr, tau,
               {.least = delta * static_cast<double>(tau) * static_cast<double>(tau), .gain = 0}, dense.data(),
               tiles.data());
    split.dense_tiles = std::accumulate(tiles.span().begin(), tiles.span().end(), offset_t{0});
    const Csr<V> in_tiles = pick(host, here.view(), dense.data(), 1);
    split.in_tiles = in_tiles.nonzeros();
    split.first_panel = empty_panels(in_tiles, tau);
    const Csr<V> rest = pick(host, here.view(), dense.data(), 0);
    split.rest = to_device(ctx, rest.view());
    CsrView<V> lower = in_tiles.view();  // without the leading panels
    const index_t skipped = std::min(a.rows, split.first_panel * tau);
    lower.rows -= skipped;
    lower.row_begin += skipped;
    const Csr<V> there = to_device(ctx, lower);
    split.tiles = to_blocked_ell(ctx, there.view(), tau);
    return split;
}

template Split<float> split_tiles(const Context&, const CsrView<float>&, const RowOrder&, index_t, double);
template Split<double> split_tiles(const Context&, const CsrView<double>&, const RowOrder&, index_t, double);

}  // namespace tulle::inline TULLE_ABI::spmm
