// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Rows in parts by METIS (Karypis, Kumar, doi:10.1137/S1064827595287997), which is loaded when it is first wanted: the
// library is not linked with it. The graph has an edge where A or its transpose has an entry, and vertices weigh as
// much as their rows.
#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>

#include "mpi/loaded_library.hpp"
#include "tulle/error.hpp"
#include "tulle/repartition.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::mpi {
namespace {

constexpr int options_of_metis = 40;

// The functions that are used, for one type of integers.
template <class Index>
struct Metis {
    int (*set_default_options)(Index* options) = nullptr;
    int (*part_graph_kway)(Index* vertices, Index* constraints, Index* begin, Index* neighbour, Index* weight,
                           Index* size, Index* edge_weight, Index* parts, void* targets, void* imbalance,
                           Index* options, Index* cut, Index* part) = nullptr;
};

LoadedLibrary load_metis()
{
    return LoadedLibrary::load("METIS", "version 5 is needed", "TULLE_METIS", {"libmetis.so.5", "libmetis.so"},
                               "Debian: libmetis5");
}

// METIS is built with integers of 32 or 64 bits, and does not tell: it fills 40 of them with -1.
bool has_wide_integers(const LoadedLibrary& library)
{
    Metis<std::int32_t> metis;
    library.find("METIS_SetDefaultOptions", metis.set_default_options);
    std::array<std::int32_t, 2 * options_of_metis> options{};
    metis.set_default_options(options.data());
    return options.back() == -1;
}

struct Graph {
    std::vector<offset_t> begin;
    std::vector<index_t> neighbour;
};

// The pattern of A + A^T without its diagonal; neighbours ascend.
template <class V>
Graph graph_of(const CsrView<V>& a)
{
    Graph g{std::vector<offset_t>(static_cast<std::size_t>(a.rows) + 1, 0), {}};
    const auto for_each_edge = [&](const auto& visit) {
        for (index_t i = 0; i < a.rows; ++i)
            for (offset_t k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k)
                if (a.col[k] != i) visit(static_cast<std::size_t>(i), static_cast<std::size_t>(a.col[k]));
    };
    for_each_edge([&](std::size_t i, std::size_t j) {
        ++g.begin[i + 1];
        ++g.begin[j + 1];
    });
    std::partial_sum(g.begin.begin(), g.begin.end(), g.begin.begin());
    g.neighbour.resize(static_cast<std::size_t>(g.begin.back()));
    std::vector<offset_t> next = g.begin;
    for_each_edge([&](std::size_t i, std::size_t j) {
        g.neighbour[static_cast<std::size_t>(next[i]++)] = static_cast<index_t>(j);
        g.neighbour[static_cast<std::size_t>(next[j]++)] = static_cast<index_t>(i);
    });
    auto to = g.neighbour.begin();
    for (std::size_t i = 0; i < static_cast<std::size_t>(a.rows); ++i) {
        const auto first = g.neighbour.begin() + g.begin[i], last = g.neighbour.begin() + g.begin[i + 1];
        std::sort(first, last);
        g.begin[i] = to - g.neighbour.begin();
        to = std::unique_copy(first, last, to);
    }
    g.begin.back() = to - g.neighbour.begin();
    g.neighbour.resize(static_cast<std::size_t>(g.begin.back()));
    return g;
}

// The part of each row.
template <class Index, class V>
std::vector<index_t> parts_by(const LoadedLibrary& library, const CsrView<V>& a, int parts)
{
    Metis<Index> metis;
    library.find("METIS_PartGraphKway", metis.part_graph_kway);
    const Graph graph = graph_of(a);
    require<ValueError>(sizeof(Index) == 8 || graph.begin.back() <= max_index,
                        [&] { return concat("METIS of 32 bits cannot have ", graph.begin.back(), " edges"); });
    std::vector<Index> begin(graph.begin.begin(), graph.begin.end()),
        neighbour(graph.neighbour.begin(), graph.neighbour.end()), weight(static_cast<std::size_t>(a.rows)),
        part(weight.size());
    for (std::size_t i = 0; i < weight.size(); ++i)
        weight[i] = static_cast<Index>(a.row_begin[i + 1] - a.row_begin[i] + 1);
    Index vertices = a.rows, constraints = 1, wanted = parts, cut = 0;
    const int code = metis.part_graph_kway(&vertices, &constraints, begin.data(), neighbour.data(), weight.data(),
                                           nullptr, nullptr, &wanted, nullptr, nullptr, nullptr, &cut, part.data());
    require<Error>(code == 1, [&] { return concat("METIS_PartGraphKway failed with code ", code); });
    return {part.begin(), part.end()};
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
    const LoadedLibrary library = load_metis();
    const std::vector<index_t> part = has_wide_integers(library) ? parts_by<std::int64_t>(library, a, parts)
                                                                 : parts_by<std::int32_t>(library, a, parts);
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
