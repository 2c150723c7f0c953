// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "partition/metis.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/loaded_library.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::partition {
namespace {

constexpr int options_of_metis = 40;

// The functions that are used, for one type of integers.
template <class Index>
struct Metis {
    int (*set_default_options)(Index* options) = nullptr;
    int (*part_graph_kway)(Index* vertices, Index* constraints, Index* begin, Index* neighbour, Index* weight,
                           Index* size, Index* edge_weight, Index* parts, void* targets, void* imbalance,
                           Index* options, Index* cut, Index* part) = nullptr;
    int (*node_nd)(Index* vertices, Index* begin, Index* neighbour, Index* weight, Index* options, Index* order,
                   Index* place) = nullptr;
};

LoadedLibrary load_metis()
{
    return LoadedLibrary::load("METIS", "version 5 is needed", "TULLE_METIS",
                               {"libmetis.so.5", "libmetis.so", "libscotchmetisv5.so"}, "Debian: libmetis5");
}

// METIS is built with integers of 32 or 64 bits, and does not tell: it fills 40 of them, with -1, SCOTCH with 0.
bool has_wide_integers(const LoadedLibrary& library)
{
    Metis<std::int32_t> metis;
    library.find("METIS_SetDefaultOptions", metis.set_default_options);
    constexpr std::int32_t untouched = 7;
    std::array<std::int32_t, 2 * options_of_metis> options{};
    options.fill(untouched);
    metis.set_default_options(options.data());
    return options.back() != untouched;
}

template <class Index>
struct Graph {
    std::vector<Index> begin{0}, neighbour;
};

// Each neighbour once, ascending, and no row its own.
template <class Index>
Graph<Index> graph_of(const Neighbours& given)
{
    Graph<Index> g;
    std::vector<index_t> row;
    for (index_t i = 0; i < given.rows; ++i) {
        row.assign(given.of(i).begin(), given.of(i).end());
        std::sort(row.begin(), row.end());
        row.erase(std::unique(row.begin(), row.end()), row.end());
        std::copy_if(row.begin(), row.end(), std::back_inserter(g.neighbour), [&](index_t j) { return j != i; });
        g.begin.push_back(static_cast<Index>(g.neighbour.size()));
    }
    require<ValueError>(sizeof(Index) == 8 || std::ssize(g.neighbour) <= max_index,
                        [&] { return concat("METIS of 32 bits cannot have ", g.neighbour.size(), " edges"); });
    return g;
}

// SCOTCH goes on with its random numbers from one call to the next; METIS begins anew by itself.
void reset_random(const LoadedLibrary& library)
{
    if (const auto reset = reinterpret_cast<void (*)()>(dlsym(library.handle, "SCOTCH_randomReset"))) reset();
}

void require_done(int code, std::string_view function)
{
    require<Error>(code == 1, [&] { return concat(function, " failed with code ", code); });
}

template <class Index>
std::vector<index_t> parts_by(const LoadedLibrary& library, const Neighbours& given,
                              const std::vector<offset_t>& weights, int parts)
{
    Metis<Index> metis;
    library.find("METIS_PartGraphKway", metis.part_graph_kway);
    reset_random(library);
    Graph<Index> g = graph_of<Index>(given);
    std::vector<Index> weight(weights.begin(), weights.end()), part(weight.size());
    Index vertices = given.rows, constraints = 1, wanted = parts, cut = 0;
    require_done(metis.part_graph_kway(&vertices, &constraints, g.begin.data(), g.neighbour.data(), weight.data(),
                                       nullptr, nullptr, &wanted, nullptr, nullptr, nullptr, &cut, part.data()),
                 "METIS_PartGraphKway");
    return {part.begin(), part.end()};
}

// Takes rows without neighbours out of the graph, and puts them into `alone`; returns the others.
template <class Index>
std::vector<index_t> take_connected(Graph<Index>& g, std::vector<index_t>& alone)
{
    const auto rows = static_cast<index_t>(g.begin.size() - 1);
    std::vector<index_t> connected, number(static_cast<std::size_t>(rows));
    std::vector<Index> begin{0};
    for (std::size_t i = 0; i < number.size(); ++i) {
        const bool is_alone = g.begin[i] == g.begin[i + 1];
        number[i] = static_cast<index_t>(connected.size());
        (is_alone ? alone : connected).push_back(static_cast<index_t>(i));
        if (!is_alone) begin.push_back(g.begin[i + 1]);
    }
    for (Index& j : g.neighbour) j = number[static_cast<std::size_t>(j)];
    g.begin = std::move(begin);
    return connected;
}

template <class Index>
std::vector<index_t> dissect_by(const LoadedLibrary& library, const Neighbours& given)
{
    Metis<Index> metis;
    library.find("METIS_NodeND", metis.node_nd);
    reset_random(library);
    Graph<Index> g = graph_of<Index>(given);
    std::vector<index_t> order;
    const std::vector<index_t> connected = take_connected(g, order);
    if (connected.empty()) return order;
    auto vertices = static_cast<Index>(connected.size());
    std::vector<Index> row(connected.size()), place(connected.size());
    require_done(metis.node_nd(&vertices, g.begin.data(), g.neighbour.data(), nullptr, nullptr, row.data(),
                               place.data()),
                 "METIS_NodeND");
    for (const Index i : row) order.push_back(connected.at(static_cast<std::size_t>(i)));
    return order;
}

}  // namespace

bool has_metis()
{
    try {
        const LoadedLibrary library = load_metis();
        has_wide_integers(library);
        Metis<std::int32_t> metis;
        library.find("METIS_NodeND", metis.node_nd);
    } catch (const NotBuilt&) {
        return false;
    }
    return true;
}

std::vector<index_t> metis_parts(const Neighbours& graph, const std::vector<offset_t>& weight, int parts)
{
    const LoadedLibrary library = load_metis();
    return has_wide_integers(library) ? parts_by<std::int64_t>(library, graph, weight, parts)
                                      : parts_by<std::int32_t>(library, graph, weight, parts);
}

std::vector<index_t> nested_dissection(const Neighbours& graph)
{
    const LoadedLibrary library = load_metis();
    return has_wide_integers(library) ? dissect_by<std::int64_t>(library, graph)
                                      : dissect_by<std::int32_t>(library, graph);
}

}  // namespace tulle::inline TULLE_ABI::partition
