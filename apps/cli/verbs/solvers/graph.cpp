// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// tulle triangles, tulle rank, tulle paths, tulle components, tulle cores, tulle cluster: what graph.hpp computes.
#include "apps/cli/verbs/solvers/graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "apps/cli/support/failure.hpp"
#include "apps/cli/support/json.hpp"
#include "apps/cli/support/layout.hpp"
#include "apps/cli/support/numbers_file.hpp"
#include "apps/cli/support/progress.hpp"
#include "apps/cli/support/whole_file.hpp"
#include "tulle/graph.hpp"
#include "tulle/text.hpp"
#include "tulle/trace.hpp"
#include "tulle/transfer.hpp"

namespace tulle::cli {
namespace {

// What `work` gives, and the seconds it took.
template <class Work>
auto timed(const Session& session, const char* doing, double& seconds, Work&& work)
{
    const Activity activity(session.console, doing);
    const double begin = trace::now();
    auto result = work();
    seconds = trace::now() - begin;
    return result;
}

// The graph in host memory, and a copy where the work is done if that is a GPU.
struct Placed {
    Context ctx;
    Loaded<double> loaded;
    Csr<double> copy = {};

    CsrView<double> view() const { return ctx.backend() == Backend::cuda ? copy.view() : loaded.matrix.view(); }
};

// `to`: the file that is written in the end, if any.
Placed place(const Session& session, const GraphSource& o, const std::string& to = {})
{
    if (!to.empty()) check_text_file(to);
    const Context host = session.host();
    Placed p{o.backend == "cuda" ? session.cuda() : host, load<double>(session, host, o.matrix)};
    if (p.ctx.backend() == Backend::cuda) p.copy = to_device(p.ctx, p.loaded.matrix.view());
    return p;
}

void add_source(Parser& parser, CLI::App* verb, GraphSource& o)
{
    parser.matrix(verb, o.matrix);
    verb->add_option("--backend", o.backend, "cpu (the default) or cuda")
        ->check(one_of({"cpu", "cuda"}))
        ->option_text("NAME");
}

void triangles(const Session& session, const TrianglesOptions& o)
{
    const Placed placed = place(session, o);
    double seconds = 0;
    const offset_t count =
        timed(session, "counting", seconds, [&] { return graph::count_triangles(placed.ctx, placed.view()); });
    if (session.settings.json) {
        Json result = about(o.matrix, placed.loaded.matrix.view());
        result.update({{"triangles", count}, {"seconds", seconds}});
        return print(session, result);
    }
    session.console.print(
        fmt::format("{}: {} in {}\n", o.matrix.name(), counted(count, "triangle", "triangles"), seconds_text(seconds)));
}

// The vertices with the largest values, equal ones by number.
std::vector<std::size_t> first_by(const std::vector<double>& value, int top)
{
    std::vector<std::size_t> order(value.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto n = std::min(order.size(), static_cast<std::size_t>(top));
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(n), order.end(),
                      [&](std::size_t u, std::size_t v) { return value[u] != value[v] ? value[u] > value[v] : u < v; });
    order.resize(n);
    return order;
}

struct Ranks {
    std::vector<double> value, hub;  // hub: of hits, beside the authorities
    int iterations = 0;
    bool converged = false;
};

Ranks ranks_of(const Context& ctx, const CsrView<double>& a, const RankOptions& o)
{
    if (o.method == "hits") {
        graph::HubsAndAuthorities r = graph::hits(ctx, a, o.tolerance, o.iterations);
        return {std::move(r.authority), std::move(r.hub), r.iterations, r.converged};
    }
    graph::Ranking r =
        graph::pagerank(ctx, a, {.damping = o.damping, .tolerance = o.tolerance, .iterations = o.iterations});
    return {std::move(r.value), {}, r.iterations, r.converged};
}

void print_ranks(const Session& session, const RankOptions& o, const CsrView<double>& a, const Ranks& r, double seconds)
{
    const std::vector<std::size_t> order = first_by(r.value, o.top);
    if (session.settings.json) {
        Json list = Json::array();
        for (const std::size_t v : order) {
            Json line{{"vertex", v}, {"value", r.value[v]}};
            if (!r.hub.empty()) line["hub"] = r.hub[v];
            list.push_back(line);
        }
        Json result = about(o.matrix, a);
        result.update({{"method", o.method},
                       {"iterations", r.iterations},
                       {"converged", r.converged},
                       {"seconds", seconds},
                       {"top", list}});
        return print(session, result);
    }
    Table table({{"vertex"}, {o.method == "hits" ? "authority" : "rank"}, {o.method == "hits" ? "hub" : ""}});
    for (const std::size_t v : order)
        table.add({std::to_string(v), fmt::format("{:.10f}", r.value[v]),
                   r.hub.empty() ? "" : fmt::format("{:.10f}", r.hub[v])});
    session.console.print(fmt::format("{} of {}: {} in {}\n", o.method, o.matrix.name(),
                                      counted(r.iterations, "iteration", "iterations"), seconds_text(seconds)) +
                          table.text(session.console));
}

void rank(const Session& session, const RankOptions& o)
{
    const Placed placed = place(session, o, o.to);
    double seconds = 0;
    const Ranks r = timed(session, "ranking", seconds, [&] { return ranks_of(placed.ctx, placed.view(), o); });
    if (!o.to.empty()) write_numbers<double>(o.to, r.value);
    if (o.to != "-") print_ranks(session, o, placed.loaded.matrix.view(), r, seconds);
    require<CheckFailed>(r.converged, [&] {
        return concat(o.method, " has not converged after ", counted(r.iterations, "iteration", "iterations"),
                      "; see --iterations, --tolerance");
    });
}

std::vector<double> distances_of(const Context& ctx, const CsrView<double>& a, const PathsOptions& o)
{
    if (o.weighted) return graph::shortest_paths(ctx, a, o.source).distance;
    const graph::Levels r = graph::breadth_first(ctx, a, o.source);
    std::vector<double> all;
    for (const index_t level : r.level)
        all.push_back(level < 0 ? static_cast<double>(INFINITY) : static_cast<double>(level));
    return all;
}

void paths(const Session& session, const PathsOptions& o)
{
    const Placed placed = place(session, o, o.to);
    double seconds = 0;
    const std::vector<double> distance =
        timed(session, "searching", seconds, [&] { return distances_of(placed.ctx, placed.view(), o); });
    if (!o.to.empty()) write_numbers<double>(o.to, distance);
    if (o.to == "-") return;
    double farthest = 0;
    const auto reached = std::count_if(distance.begin(), distance.end(), [](double d) { return d < INFINITY; });
    for (const double d : distance)
        if (d < INFINITY) farthest = std::max(farthest, d);
    if (session.settings.json) {
        Json result = about(o.matrix, placed.loaded.matrix.view());
        result.update({{"source", o.source}, {"reached", reached}, {"farthest", farthest}, {"seconds", seconds}});
        return print(session, result);
    }
    session.console.print(fmt::format("from vertex {} of {}: {} of {} reached, the farthest at {}, in {}\n", o.source,
                                      o.matrix.name(), reached,
                                      counted(placed.loaded.matrix.rows, "vertex", "vertices"), farthest,
                                      seconds_text(seconds)));
}

// A number for every vertex by `work`; `tell(numbers)` gives what there is to say of them, as JSON and as a sentence.
template <class Work, class Tell>
void number_vertices(const Session& session, const NamesOptions& o, const char* doing, Work&& work, Tell&& tell)
{
    const Placed placed = place(session, o, o.to);
    double seconds = 0;
    const std::vector<index_t> number = timed(session, doing, seconds, [&] { return work(placed.ctx, placed.view()); });
    if (!o.to.empty()) write_numbers<double>(o.to, std::vector<double>(number.begin(), number.end()));
    if (o.to == "-") return;
    const auto [facts, sentence] = tell(number);
    if (!session.settings.json)
        return session.console.print(fmt::format("{}: {}, in {}\n", o.matrix.name(), sentence, seconds_text(seconds)));
    Json result = about(o.matrix, placed.loaded.matrix.view());
    result.update(facts);
    result["seconds"] = seconds;
    print(session, result);
}

std::pair<Json, std::string> tell_components(const std::vector<index_t>& name)
{
    std::vector<offset_t> size(name.size(), 0);
    for (const index_t first : name) ++size[static_cast<std::size_t>(first)];
    const offset_t count = std::count_if(size.begin(), size.end(), [](offset_t n) { return n > 0; });
    const offset_t alone = std::count(size.begin(), size.end(), 1);
    const offset_t largest = size.empty() ? 0 : *std::max_element(size.begin(), size.end());
    return {{{"components", count}, {"largest", largest}, {"alone", alone}},
            fmt::format("{}, the largest of {}, {} of one vertex", counted(count, "component", "components"), largest,
                        alone)};
}

std::pair<Json, std::string> tell_cores(const std::vector<index_t>& core)
{
    const index_t largest = core.empty() ? 0 : *std::max_element(core.begin(), core.end());
    const offset_t vertices = std::count(core.begin(), core.end(), largest);
    return {{{"core", largest}, {"vertices", vertices}},
            fmt::format("the innermost core is the {}-core, with {}", largest,
                        counted(vertices, "vertex", "vertices"))};
}

// Vertices of every cluster on a line, as mcl writes them.
void write_clusters(const std::string& file, const graph::Clusters& r)
{
    std::vector<std::string> line(static_cast<std::size_t>(r.count));
    for (std::size_t v = 0; v < r.cluster.size(); ++v) {
        std::string& mine = line[static_cast<std::size_t>(r.cluster[v])];
        mine += (mine.empty() ? "" : "\t") + std::to_string(v);
    }
    std::string all;
    for (const std::string& one : line) all += one + "\n";
    write_whole_file(file, all);
}

void print_clusters(const Session& session, const ClusterVerbOptions& o, const CsrView<double>& a,
                    const graph::Clusters& r, double seconds)
{
    std::vector<offset_t> size(static_cast<std::size_t>(r.count), 0);
    for (const index_t c : r.cluster) ++size[static_cast<std::size_t>(c)];
    const offset_t alone = std::count(size.begin(), size.end(), 1);
    if (session.settings.json) {
        Json result = about(o.matrix, a);
        result.update({{"clusters", r.count},
                       {"largest", size.empty() ? 0 : size.front()},
                       {"alone", alone},
                       {"iterations", r.iterations},
                       {"converged", r.converged},
                       {"most_nonzeros", r.most_nonzeros},
                       {"seconds", seconds}});
        return print(session, result);
    }
    session.console.print(fmt::format("{}: {}, the largest of {}, {} of one vertex; {} in {}\n", o.matrix.name(),
                                      counted(r.count, "cluster", "clusters"), size.empty() ? 0 : size.front(), alone,
                                      counted(r.iterations, "iteration", "iterations"), seconds_text(seconds)));
}

void cluster(const Session& session, const ClusterVerbOptions& o)
{
    const Placed placed = place(session, o, o.to);
    graph::ClusterOptions options = o.options;
    if (session.settings.verbose)
        options.progress = [&](const graph::ClusterStep& s) {
            session.console.say(
                fmt::format("iteration {}: chaos {:.4f}, {} nonzeros", s.iteration, s.chaos, s.nonzeros));
        };
    double seconds = 0;
    const graph::Clusters r =
        timed(session, "clustering", seconds, [&] { return graph::cluster(placed.ctx, placed.view(), options); });
    if (!o.to.empty()) write_clusters(o.to, r);
    if (o.to != "-") print_clusters(session, o, placed.loaded.matrix.view(), r, seconds);
    require<CheckFailed>(r.converged, [&] {
        return concat("clustering has not converged after ", counted(r.iterations, "iteration", "iterations"),
                      "; see --iterations");
    });
}

void add_triangles(Parser& parser, TrianglesOptions& o)
{
    CLI::App* verb = parser.verb("triangles", "Counts the triangles of an undirected graph.",
                                 "tulle triangles graph.mtx\ntulle triangles graph.mtx --json");
    add_source(parser, verb, o);
    parser.when(verb, [&o](const Session& session) { triangles(session, o); });
}

void add_rank(Parser& parser, RankOptions& o)
{
    CLI::App* verb = parser.verb("rank", "Ranks the vertices of a graph: PageRank or HITS.",
                                 "tulle rank graph.mtx\ntulle rank graph.mtx --tolerance 1e-12 --out ranks.txt\n"
                                 "tulle rank graph.mtx --method hits --iterations 1000");
    add_source(parser, verb, o);
    verb->add_option("--method", o.method, "pagerank (the default) or hits")
        ->check(one_of({"pagerank", "hits"}))
        ->option_text("METHOD");
    verb->add_option("--damping", o.damping, "pagerank: probability of following an edge (0.85)")
        ->check(from_to(0, 1))
        ->option_text("X");
    verb->add_option("--tolerance", o.tolerance, "of the change: pagerank n times this, hits this (1e-6)")
        ->check(from_to(0, 1))
        ->option_text("X");
    verb->add_option("--iterations", o.iterations, "at most (100); exit code 1 if they do not suffice")
        ->check(CLI::Range(1, 1'000'000))
        ->option_text("N");
    verb->add_option("--top", o.top, "vertices to print (10)")->check(CLI::Range(0, 1'000'000))->option_text("N");
    verb->add_option("--out", o.to, "write all ranks (authorities) to a file, one a line; - is stdout")
        ->option_text("FILE");
    parser.output(o.to);
    parser.effective(
        verb, "--damping", [&o] { return o.method == "pagerank"; }, "with --method hits");
    parser.when(verb, [&o](const Session& session) { rank(session, o); });
}

void add_paths(Parser& parser, PathsOptions& o)
{
    CLI::App* verb = parser.verb("paths", "Distances from a vertex: in edges, or along shortest paths.",
                                 "tulle paths graph.mtx --source 0\n"
                                 "tulle paths graph.mtx --source 0 --weighted --out distances.txt");
    add_source(parser, verb, o);
    verb->add_option("--source", o.source, "the vertex to begin with, counted from 0 (0)")->option_text("N");
    verb->add_flag("--weighted", o.weighted, "values are lengths, which must not be negative");
    verb->add_option("--out", o.to, "write all distances to a file, one a line, inf where not reached; - is stdout")
        ->option_text("FILE");
    parser.output(o.to);
    parser.when(verb, [&o](const Session& session) { paths(session, o); });
}

void add_names(Parser& parser, CLI::App* verb, NamesOptions& o, const char* what)
{
    add_source(parser, verb, o);
    verb->add_option("--out", o.to, what)->option_text("FILE");
    parser.output(o.to);
}

void add_components(Parser& parser, NamesOptions& o)
{
    CLI::App* verb = parser.verb("components", "Connected components of a graph; directions are ignored.",
                                 "tulle components graph.mtx\ntulle components graph.mtx --out components.txt");
    add_names(parser, verb, o,
              "write the smallest vertex of each vertex's component to a file, one a line; - is stdout");
    parser.when(verb, [&o](const Session& session) {
        number_vertices(session, o, "joining", graph::components, tell_components);
    });
}

void add_cores(Parser& parser, NamesOptions& o)
{
    CLI::App* verb = parser.verb("cores", "Core numbers of an undirected graph (k-cores).",
                                 "tulle cores graph.mtx\ntulle cores graph.mtx --out cores.txt");
    add_names(parser, verb, o, "write the core number of each vertex to a file, one a line; - is stdout");
    parser.when(verb, [&o](const Session& session) {
        number_vertices(session, o, "peeling", graph::core_numbers, tell_cores);
    });
}

void add_cluster(Parser& parser, ClusterVerbOptions& o)
{
    CLI::App* verb = parser.verb("cluster", "Markov clustering of a graph, as the program mcl does it.",
                                 "tulle cluster graph.mtx --out clusters.txt\n"
                                 "tulle cluster graph.mtx --inflation 1.4 --select 500 --recover 600");
    add_source(parser, verb, o);
    graph::ClusterOptions& c = o.options;
    verb->add_option("--inflation,-I", c.inflation, "exponent of the entries; larger ones give smaller clusters (2)")
        ->option_text("X");
    verb->add_option("--prune", c.prune, "entries below this go; mcl's -p (1e-4)")->option_text("X");
    verb->add_option("--select", c.select, "largest entries of a row that stay; mcl's -S (1100); 0: all")
        ->check(CLI::Range(0, max_index))
        ->option_text("N");
    verb->add_option("--recover", c.recover, "rows that lost too much get so many back; mcl's -R (1400); 0: none")
        ->check(CLI::Range(0, max_index))
        ->option_text("N");
    verb->add_option("--recover-share", c.recover_share, "too much: less than this share is left; mcl's -pct (0.9)")
        ->check(from_to(0, 1))
        ->option_text("X");
    verb->add_option("--iterations", c.iterations, "at most (10000); exit code 1 if they do not suffice")
        ->check(CLI::Range(1, 1'000'000))
        ->option_text("N");
    verb->add_option("--out", o.to, "write the clusters to a file, one a line, vertices counted from 0; - is stdout")
        ->option_text("FILE");
    parser.verbose(verb);
    parser.output(o.to);
    parser.when(verb, [&o](const Session& session) { cluster(session, o); });
}

}  // namespace

void add_graph(Parser& parser, GraphWishes& wishes)
{
    add_triangles(parser, wishes.triangles);
    add_rank(parser, wishes.rank);
    add_paths(parser, wishes.paths);
    add_components(parser, wishes.components);
    add_cores(parser, wishes.cores);
    add_cluster(parser, wishes.cluster);
}

}  // namespace tulle::cli
