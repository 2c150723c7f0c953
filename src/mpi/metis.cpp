// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Rows in parts by METIS (partition/metis.hpp). The graph has an edge where A or its transpose has an entry, and
// vertices weigh as much as their rows.
#include <algorithm>
#include <numeric>

#include "partition/metis.hpp"
#include "tulle/error.hpp"
#include "tulle/repartition.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::mpi {
namespace {

template <class V>
std::vector<index_t> parts_of(const CsrView<V>& a, int parts)
{
    std::vector<offset_t> weight(static_cast<std::size_t>(a.rows));
    for (std::size_t i = 0; i < weight.size(); ++i) weight[i] = a.row_begin[i + 1] - a.row_begin[i] + 1;
    const auto graph = partition::both_directions(Context::cpu(1).host(), a, [](index_t j) { return j; });
    return partition::metis_parts(graph, weight, parts);
}

}  // namespace

template <class V>
RowOrder metis_order(const CsrView<V>& a, int parts)
{
    require(a.rows == a.cols, [&] { return concat("METIS needs a square matrix, not ", a.rows, " x ", a.cols); });
    require<ValueError>(parts > 0, [&] { return concat("there cannot be ", parts, " parts"); });
    RowOrder order{std::vector<index_t>(static_cast<std::size_t>(a.rows)), even_cuts(a.rows, parts)};
    std::iota(order.order.begin(), order.order.end(), index_t{0});
    if (parts == 1 || parts >= a.rows) return order;  // nothing to choose
    const std::vector<index_t> part = parts_of(a, parts);
    std::stable_sort(order.order.begin(), order.order.end(), [&](index_t i, index_t j) {
        return part[static_cast<std::size_t>(i)] < part[static_cast<std::size_t>(j)];
    });
    order.cuts.assign(static_cast<std::size_t>(parts) + 1, 0);
    for (const index_t p : part) ++order.cuts[static_cast<std::size_t>(p) + 1];
    std::partial_sum(order.cuts.begin(), order.cuts.end(), order.cuts.begin());
    return order;
}

template RowOrder metis_order(const CsrView<float>&, int);
template RowOrder metis_order(const CsrView<double>&, int);

}  // namespace tulle::inline TULLE_ABI::mpi
