// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Markov clustering. Row i of the matrix is where a walk from vertex i goes: column i of the program mcl. Expansion
// with pruning is multiply_select(), on vertices in the order of communities (order.hpp); clusters are read from the
// last matrix on the host, in the order given.
#include <algorithm>
#include <numeric>
#include <vector>

#include "graph/arguments.hpp"
#include "graph/order.hpp"
#include "graph/steps.hpp"
#include "graph/trees.hpp"
#include "prim/reduce.hpp"
#include "tulle/convert.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::graph {
namespace {

constexpr double settled = 1e-4;  // chaos; mcl's
// After so many iterations, every one raises the inflation a little, for graphs that are the same after each (mcl).
constexpr int patience = 40;
constexpr double raise = 1.001;
// An entry of the last matrix leads somewhere if it is not far below the others of its row (mcl's weights).
constexpr double weight_of_self = 0.999, weight_of_largest = 0.001, below_self = 1.01;

void require_options(const ClusterOptions& o)
{
    require<ValueError>(o.inflation > 1 && o.inflation <= 30,
                        [&] { return concat("inflation must be above 1 and at most 30, and is ", o.inflation); });
    require<ValueError>(o.prune >= 0 && o.prune < 1,
                        [&] { return concat("prune must be in 0 … 1, and is ", o.prune); });
    require<ValueError>(o.negligible >= 0 && o.negligible < 1,
                        [&] { return concat("negligible must be in 0 … 1, and is ", o.negligible); });
    require<ValueError>(o.iterations >= 1, "there must be one iteration at least");
}

// Walks: weights with the largest of every row as self loop, scaled to add up to 1. In host memory.
Csr<float> walks(const CpuQueue& q, const CsrView<double>& a)
{
    Csr<float> m = Csr<float>::make(q, a.rows, a.rows, a.nonzeros + a.rows);
    offset_t to = 0;
    m.row_begin.data()[0] = 0;
    for (index_t i = 0; i < a.rows; ++i) {
        double largest = 0, sum = 0;
        for (offset_t p = a.row_begin[i]; p < a.row_begin[i + 1]; ++p) {
            if (a.col[p] == i) continue;
            largest = std::max(largest, a.value[p]);
            sum += a.value[p];
        }
        if (largest == 0) largest = 1;
        const auto add = [&](index_t j, double weight) {
            m.col.data()[to] = j;
            m.value.data()[to++] = static_cast<float>(weight / (sum + largest));
        };
        bool has_self = false;
        for (offset_t p = a.row_begin[i]; p < a.row_begin[i + 1]; ++p) {
            if (!has_self && a.col[p] >= i) add(i, largest), has_self = true;
            if (a.col[p] != i && a.value[p] > 0) add(a.col[p], a.value[p]);
        }
        if (!has_self) add(i, largest);
        m.row_begin.data()[i + 1] = to;
    }
    Csr<float> fitting = Csr<float>::make(q, a.rows, a.rows, to);
    copy(q, m.col.data(), fitting.col.data(), to);
    copy(q, m.value.data(), fitting.value.data(), to);
    fitting.row_begin = std::move(m.row_begin);
    return fitting;
}

// Where each vertex leads in the last matrix (mcl's mclDag): the columns of its row at or above a cutoff.
std::vector<Vertices> leads(const CsrView<float>& m)
{
    std::vector<Vertices> to(static_cast<std::size_t>(m.rows));
    for (index_t i = 0; i < m.rows; ++i) {
        double self = 0, largest = 0, sum = 0;
        std::vector<std::pair<index_t, double>> high;
        for (offset_t p = m.row_begin[i]; p < m.row_begin[i + 1]; ++p) {
            const double v = static_cast<double>(m.value[p]);
            if (m.col[p] == i) self = v;
            largest = std::max(largest, v);
        }
        const double cutoff = self < largest ? weight_of_self * self + weight_of_largest * largest : self / below_self;
        for (offset_t p = m.row_begin[i]; p < m.row_begin[i + 1]; ++p)
            if (const double v = static_cast<double>(m.value[p]); v >= cutoff) {
                high.emplace_back(m.col[p], v);
                sum += v;
            }
        for (const auto& [j, v] : high)
            if (v / sum >= 1 / (static_cast<double>(high.size()) + 1)) to[static_cast<std::size_t>(i)].push_back(j);
    }
    return to;
}

index_t& at(Vertices& all, index_t v) { return all[static_cast<std::size_t>(v)]; }

// Where each vertex is in an order.
Vertices places_of(const Vertices& order)
{
    Vertices place(order.size());
    for (std::size_t k = 0; k < order.size(); ++k) at(place, order[k]) = static_cast<index_t>(k);
    return place;
}

// The smallest attractor of the system that each attractor is in; -1 for other vertices. Attractors lead to themselves.
Vertices systems_of(const std::vector<Vertices>& to)
{
    const auto n = static_cast<index_t>(to.size());
    Vertices tree(to.size());
    std::iota(tree.begin(), tree.end(), 0);
    const auto is_attractor = [&](index_t v) {
        const Vertices& next = to[static_cast<std::size_t>(v)];
        return std::find(next.begin(), next.end(), v) != next.end();
    };
    for (index_t v = 0; v < n; ++v)
        for (const index_t u : to[static_cast<std::size_t>(v)]) {
            if (!is_attractor(v) || !is_attractor(u)) continue;
            const index_t x = root_of(tree, v), y = root_of(tree, u);
            at(tree, std::max(x, y)) = std::min(x, y);
        }
    Vertices system(to.size(), -1);
    for (index_t v = 0; v < n; ++v)
        if (is_attractor(v)) at(system, v) = root_of(tree, v);
    return system;
}

// The smallest system that v leads to, over any number of vertices; v itself where there is none.
index_t reached_from(const std::vector<Vertices>& to, Vertices& system, Vertices& seen, index_t v)
{
    index_t smallest = static_cast<index_t>(to.size());
    Vertices open{v};
    at(seen, v) = v;
    while (!open.empty()) {
        const index_t u = open.back();
        open.pop_back();
        if (at(system, u) >= 0) smallest = std::min(smallest, at(system, u));
        for (const index_t next : to[static_cast<std::size_t>(u)])
            if (at(seen, next) != v) at(seen, next) = v, open.push_back(next);
    }
    return smallest < static_cast<index_t>(to.size()) ? smallest : v;
}

// Clusters numbered from the largest on, equal ones by their smallest vertex; name[v]: any number below n.
void number_clusters(const Vertices& name, Clusters& r)
{
    Vertices size(name.size(), 0), first(name.size(), -1), order, number(name.size(), -1);
    for (std::size_t v = 0; v < name.size(); ++v) {
        ++at(size, name[v]);
        if (at(first, name[v]) < 0) at(first, name[v]) = static_cast<index_t>(v);
    }
    for (std::size_t c = 0; c < name.size(); ++c)
        if (size[c] > 0) order.push_back(static_cast<index_t>(c));
    std::sort(order.begin(), order.end(), [&](index_t c, index_t d) {
        return at(size, c) != at(size, d) ? at(size, c) > at(size, d) : at(first, c) < at(first, d);
    });
    for (std::size_t k = 0; k < order.size(); ++k) at(number, order[k]) = static_cast<index_t>(k);
    r.count = static_cast<index_t>(order.size());
    r.cluster.clear();
    for (const index_t c : name) r.cluster.push_back(at(number, c));
}

void read_clusters(const CsrView<float>& m, Clusters& r)
{
    const std::vector<Vertices> to = leads(m);
    Vertices system = systems_of(to), seen(to.size(), -1), name(to.size());
    for (index_t v = 0; v < m.rows; ++v)
        at(name, v) = at(system, v) >= 0 ? at(system, v) : reached_from(to, system, seen, v);
    number_clusters(name, r);
}

// Expand, prune, inflate; the chaos between.
template <class Queue>
double step(const Context& ctx, const Queue& q, const Select& selection, double inflation, std::size_t budget,
            Csr<float>& m)
{
    m = multiply_select(ctx, Semiring::plus_times, m.view(), m.view(), selection, budget);
    Buffer<double> chaos(q, m.rows);
    inflate(q, m.rows, m.row_begin.data(), inflation, m.value.data(), chaos.data());
    return prim::maximum(q, chaos.data(), m.rows, 0.0);
}

}  // namespace

Clusters cluster(const Context& ctx, const AnyCsr<double>& given, const ClusterOptions& options)
{
    Buffer<offset_t> wide;
    const auto a = matrix::widened<CsrView<double>>(ctx, given, wide);
    require_graph(ctx, a);
    require_weights(ctx, a, true);
    require_options(options);
    const Select selection{.threshold = options.prune,
                           .most_per_row = options.select,
                           .recover = options.recover,
                           .recover_share = options.recover_share,
                           .negligible = options.negligible * options.prune};
    const Csr<double> tidy = sum_duplicates(ctx, a), here = to_host(ctx, tidy.view());
    const Context host = ctx.backend() == Backend::cpu ? ctx : Context::cpu(ctx.host().threads);
    const Csr<float> numbered = walks(ctx.host(), here.view());
    const Vertices order = order_by_community(numbered.view());
    const Csr<float> start = permute(host, numbered.view(), order, order);
    Csr<float> m = to_device(ctx, start.view());
    Clusters r;
    r.converged = a.rows == 0;
    r.most_nonzeros = m.nonzeros();
    double inflation = options.inflation;
    while (!r.converged && r.iterations < options.iterations) {
        const double chaos =
            ctx.run([&](const auto& q) { return step(ctx, q, selection, inflation, options.budget, m); });
        r.converged = chaos < settled;
        if (++r.iterations >= patience) inflation *= raise;
        r.most_nonzeros = std::max(r.most_nonzeros, m.nonzeros());
        if (options.progress) options.progress({r.iterations, chaos, m.nonzeros()});
    }
    const Vertices place = places_of(order);
    const Csr<float> here_again = to_host(ctx, m.view()), last = permute(host, here_again.view(), place, place);
    read_clusters(last.view(), r);
    return r;
}

}  // namespace tulle::inline TULLE_ABI::graph
