// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The verbs about graphs: triangles, rank, paths, components, cores, cluster.
#pragma once

#include <string>

#include "apps/cli/support/parser.hpp"
#include "apps/cli/support/source.hpp"
#include "tulle/graph.hpp"
#include "tulle/types.hpp"

namespace tulle::cli {

// The graph, and where the work is done.
struct GraphSource {
    Source matrix;
    std::string backend = "cpu";
};

struct TrianglesOptions : GraphSource {};

struct RankOptions : GraphSource {
    std::string method = "pagerank", to;  // pagerank or hits; to: the values, one a line
    double damping = 0.85, tolerance = 1e-6;
    int iterations = 100;
    int top = 10;  // vertices to print
};

struct PathsOptions : GraphSource {
    index_t source = 0;
    bool weighted = false;  // shortest paths instead of levels
    std::string to;         // levels or distances, one a line
};

struct NamesOptions : GraphSource {
    std::string to;  // a number for each vertex, one a line
};

struct ClusterVerbOptions : GraphSource {
    std::string to;  // the clusters, one a line
    graph::ClusterOptions options;
};

struct GraphWishes {
    TrianglesOptions triangles;
    RankOptions rank;
    PathsOptions paths;
    NamesOptions components, cores;
    ClusterVerbOptions cluster;
};

void add_graph(Parser& parser, GraphWishes& wishes);

}  // namespace tulle::cli
