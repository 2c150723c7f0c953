// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Parts of the rows of a distributed matrix by PT-SCOTCH, header-only: compiled with the caller's mpi.h and
/// ptscotch.h, linked with ptscotch, scotch and ptscotcherr (Debian: libptscotch-dev, built with Open MPI). The library
/// itself is not linked with it.
/// @code
/// auto parts = tulle::mpi::Repartition<double>::make(A, tulle::mpi::ptscotch_parts(MPI_COMM_WORLD, A));
/// @endcode
#pragma once

#include <mpi.h>

#include <cstdint>
#include <cstdio>
// Needs the two above.
#include <ptscotch.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tulle/distributed.hpp"
#include "tulle/error.hpp"
#include "tulle/repartition.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::mpi {

/// Used by ptscotch_parts().
namespace detail {

// The pattern of A + A^T without its diagonal: the rows of this rank as PT-SCOTCH takes them. Rows weigh as much as
// their nonzeros and one more.
struct ScotchRows {
    std::vector<SCOTCH_Num> begin{0}, neighbour = {}, weight = {};
};

template <class V>
void append_neighbours(const DistCsr<V>& a, index_t row, std::vector<SCOTCH_Num>& to)
{
    const CsrView<V> local = a.local();
    for (offset_t k = local.row_begin[row]; k < local.row_begin[row + 1]; ++k)
        to.push_back(static_cast<SCOTCH_Num>(a.global_col(local.col[k])));
}

template <class V>
ScotchRows scotch_rows(const DistCsr<V>& a, const DistCsr<V>& transposed)
{
    ScotchRows rows;
    const global_t first = a.row_cuts()[static_cast<std::size_t>(a.cluster().rank())];
    std::vector<SCOTCH_Num> row;
    for (index_t i = 0; i < a.local().rows; ++i) {
        row.clear();
        append_neighbours(a, i, row);
        rows.weight.push_back(static_cast<SCOTCH_Num>(row.size() + 1));
        append_neighbours(transposed, i, row);
        std::sort(row.begin(), row.end());
        row.erase(std::unique(row.begin(), row.end()), row.end());
        std::copy_if(row.begin(), row.end(), std::back_inserter(rows.neighbour),
                     [&](SCOTCH_Num j) { return j != first + i; });
        rows.begin.push_back(static_cast<SCOTCH_Num>(rows.neighbour.size()));
    }
    rows.neighbour.reserve(1);  // PT-SCOTCH takes no null pointers
    rows.weight.reserve(1);
    return rows;
}

// A graph and a strategy of PT-SCOTCH, with one thread: several would call MPI at once, which few programs allow.
class ScotchGraph {
public:
    explicit ScotchGraph(MPI_Comm comm)
    {
        SCOTCH_contextInit(&context_);
        SCOTCH_contextThreadSpawn(&context_, 1, nullptr);
        SCOTCH_stratInit(&strategy_);
        SCOTCH_dgraphInit(&graph_, comm);
        SCOTCH_contextBindDgraph(&context_, &graph_, &bound_);
    }
    ScotchGraph(const ScotchGraph&) = delete;
    ScotchGraph& operator=(const ScotchGraph&) = delete;
    ~ScotchGraph()
    {
        SCOTCH_dgraphExit(&bound_);
        SCOTCH_dgraphExit(&graph_);
        SCOTCH_stratExit(&strategy_);
        SCOTCH_contextExit(&context_);
    }
    // Collective.
    int build(ScotchRows& r)
    {
        const auto rows = static_cast<SCOTCH_Num>(r.begin.size() - 1),
                   entries = static_cast<SCOTCH_Num>(r.neighbour.size());
        return SCOTCH_dgraphBuild(&graph_, 0, rows, rows, r.begin.data(), nullptr, r.weight.data(), nullptr, entries,
                                  entries, r.neighbour.data(), nullptr, nullptr);
    }
    // Collective.
    int cut(int parts, SCOTCH_Num* part) { return SCOTCH_dgraphPart(&bound_, parts, &strategy_, part); }

private:
    SCOTCH_Context context_;
    SCOTCH_Dgraph graph_, bound_;
    SCOTCH_Strat strategy_;
};

}  // namespace detail

/// The rank that PT-SCOTCH gives each row of this rank to: about equally many rows and nonzeros together, and few
/// entries of vectors that ranks need from each other. No rank has the whole matrix. PT-SCOTCH, version 7 or newer,
/// uses one thread of each rank, and has to end within the deadline of the cluster (Cluster::run_with_deadline).
/// Collective.
/// @param comm a communicator of the ranks of the cluster, in the same order.
/// @param a a square matrix, its columns distributed as its rows.
/// @returns for each local row a rank, as Repartition::make() takes it.
/// @throws ShapeError if A is not square or its columns are distributed otherwise than its rows.
/// @throws ValueError if the integers of PT-SCOTCH are too short for the matrix; OutOfMemory. On all ranks.
template <class V>
std::vector<int> ptscotch_parts(MPI_Comm comm, const DistCsr<V>& a)
{
    const Cluster& cluster = a.cluster();
    require(a.rows() == a.cols() && a.row_cuts() == a.col_cuts(),
            "PT-SCOTCH needs a square matrix whose columns are distributed as its rows");
    const global_t most = a.rows() + 2 * a.nonzeros();
    require<ValueError>(sizeof(SCOTCH_Num) == 8 || most <= max_index,
                        [&] { return concat("PT-SCOTCH of 32 bits cannot have ", most, " rows and edges"); });
    const DistCsr<V> transposed = a.transpose();
    detail::ScotchRows rows;
    std::vector<SCOTCH_Num> part;
    cluster.run_collective("PT-SCOTCH", [&] {
        rows = detail::scotch_rows(a, transposed);
        part.resize(static_cast<std::size_t>(a.local().rows) + 1);
    });
    SCOTCH_randomReset();
    int code = 0;
    cluster.run_with_deadline("PT-SCOTCH", [&] {
        detail::ScotchGraph graph(comm);
        code = graph.build(rows);
        if (code == 0) code = graph.cut(cluster.ranks(), part.data());
    });
    require<Error>(cluster.largest(code == 0 ? 0 : 1) == 0, "PT-SCOTCH could not cut the graph");
    return {part.begin(), part.begin() + a.local().rows};
}

}  // namespace tulle::inline TULLE_ABI::mpi
