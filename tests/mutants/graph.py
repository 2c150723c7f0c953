"""Mutations of products over semirings and of graph algorithms."""
from mutants import mutant


def graph(name, file, old, new, filter):
    return mutant("graph: " + name, file, old, new, test="graph", filter=filter, seeds=[1])


MUTANTS = [
    graph("marks of a row stay", "src/graph/products.cpp", "for (offset_t p = begin; p < end; ++p) place[mask.col[p]] = -1;", "for (offset_t p = begin + 1; p < end; ++p) place[mask.col[p]] = -1;", "MaskedProduct.*"),
    graph("complement: marks of the mask stay", "src/graph/products.cpp", "++p) place[mask_.col[p]] = -1;\n    }", "++p) place[mask_.col[p]] = -2;\n    }", "MaskedProduct.*"),
    graph("a later product replaces the sum", "src/graph/products.cpp", "has[p] ? S::add(sum[p], product) : product", "product", "MaskedProduct.*"),
    graph("plus_second takes the first", "src/graph/semirings.hpp", "static constexpr V times(V, V b) { return b; }", "static constexpr V times(V b, V) { return b; }", "SemiringProduct.*"),
    graph("triangles: self loops are edges", "src/graph/triangles.cpp", "if (rank_of(a.col[p]) > rank_of(v)) l.col", "if (rank_of(a.col[p]) >= rank_of(v)) l.col", "Triangles.*"),
    graph("triangles: a directed graph passes", "src/graph/triangles.cpp", "    require_undirected(graph);\n", "", "Triangles.*"),
    graph("rank: what dangles is lost", "src/graph/rank.cpp", "lost += dangles[i] ? r.value[i] : 0.0;", "lost += dangles[i] ? 0.0 : 0.0;", "PageRank.*"),
    graph("paths: negative weights pass", "src/graph/paths.cpp", "a.value[p] >= 0,", "a.value[p] >= -2,", "ShortestPaths.*"),
    graph("paths: the largest parent", "src/graph/paths.cpp", "        std::sort(next.begin(), next.end());\n        std::swap(now, next);\n    }\n    return r;\n}\n\nPaths", "        std::sort(next.rbegin(), next.rend());\n        std::swap(now, next);\n    }\n    return r;\n}\n\nPaths", "BreadthFirst.*"),
    graph("components: the larger name", "src/graph/paths.cpp", "[static_cast<std::size_t>(std::max(u, v))] = std::min(u, v);", "[static_cast<std::size_t>(std::min(u, v))] = std::max(u, v);", "Components.*"),
]
