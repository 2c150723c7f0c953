// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Twins of the irregular matrices of table 2 of the nsparse paper: circuit, web and accelerator. As with the meshes,
// every constant and every seed was fitted to the original's figures (docs/twins.md) and changes the matrix.
#include <array>
#include <numeric>

#include "base/hash.hpp"
#include "io/generators/kinds.hpp"

namespace tulle::inline TULLE_ABI::io::detail {
namespace {

// 0 … m-1 from a hash, as an index.
index_t draw(std::uint64_t hash, index_t m) { return static_cast<index_t>(below(hash, static_cast<std::uint64_t>(m))); }

// begin … end-1 in ascending order of hash_of(seed, key …, number).
template <class... Keys>
std::vector<index_t> by_hash(index_t begin, index_t end, std::uint64_t seed, Keys... keys)
{
    std::vector<index_t> order(static_cast<std::size_t>(end - begin));
    std::iota(order.begin(), order.end(), begin);
    std::sort(order.begin(), order.end(),
              [&](index_t a, index_t b) { return hash_of(seed, keys..., a) < hash_of(seed, keys..., b); });
    return order;
}

// cop20k_A: points of a lattice linked to all within a reach that varies with z.
constexpr index_t cop_rows = 121'192, cop_points = 99'843, cop_side = 24, cop_empty_rows = 21'349, cop_run = 8,
                  cop_runs_in_order = 1008;

constexpr index_t cop_reach(index_t z) { return z < 6 ? 6 : z < 116 ? 5 : 2; }

bool cop_linked(index_t i, index_t j, index_t distance)
{
    const index_t reach = std::min(cop_reach(i / (cop_side * cop_side)), cop_reach(j / (cop_side * cop_side)));
    if (i == j) return true;
    return distance <= reach && (reach != 5 || below(hash_of(1, std::min(i, j), std::max(i, j)), 1000) < 530);
}

// The rows of the points: runs of eight points scattered by hash, rows picked by hash left empty.
std::vector<index_t> cop_numbering()
{
    std::vector<char> empty(cop_rows, 0);
    const std::vector<index_t> rows = by_hash(0, cop_rows, 3);
    for (std::size_t k = 0; k < cop_empty_rows; ++k) empty[static_cast<std::size_t>(rows[k])] = 1;

    std::vector<index_t> runs(cop_runs_in_order);
    std::iota(runs.begin(), runs.end(), 0);
    const std::vector<index_t> scattered = by_hash(cop_runs_in_order, ceil_div(cop_points, cop_run), 2);
    runs.insert(runs.end(), scattered.begin(), scattered.end());

    std::vector<index_t> row_of(cop_points);
    std::size_t row = 0;
    for (const index_t run : runs)
        for (index_t point = run * cop_run; point < std::min(cop_points, (run + 1) * cop_run); ++point) {
            while (empty[row]) ++row;
            row_of[static_cast<std::size_t>(point)] = static_cast<index_t>(row++);
        }
    return row_of;
}

template <class F>
void for_each_cop_neighbour(index_t i, const F& f)
{
    const index_t x = i % cop_side, y = i / cop_side % cop_side, z = i / (cop_side * cop_side);
    for (index_t dz = -2; dz <= 2; ++dz)
        for (index_t dy = -2; dy <= 2; ++dy)
            for (index_t dx = -2; dx <= 2; ++dx) {
                if (x + dx < 0 || x + dx >= cop_side || y + dy < 0 || y + dy >= cop_side || z + dz < 0) continue;
                const index_t j = x + dx + cop_side * (y + dy + cop_side * (z + dz));
                if (j < cop_points && cop_linked(i, j, dx * dx + dy * dy + dz * dz)) f(j);
            }
}

// scircuit: cells of four nodes, wires between them, and nets of all sizes; all links are mutual.
constexpr index_t circuit_nodes = 170'998, circuit_cells = 42'750, circuit_nets = 5'600;
constexpr std::uint64_t circuit_seed = 11;

template <class Transfers>
void cell_links(index_t k, const Transfers& link)
{
    constexpr std::uint64_t s = circuit_seed;
    for (index_t a = 4 * k; a < std::min(circuit_nodes, 4 * k + 4); ++a)
        for (index_t b = a; b < std::min(circuit_nodes, 4 * k + 4); ++b) link(a, b);
    if (k < 290) link(4 * k + 3, 4 * k + 4);
    else link(4 * k, 4 * (k + 1 + draw(hash_of(s, 1, k), 3)) + 2);
    link(4 * k + 1, 4 * (k + 50 + draw(hash_of(s, 2, k), 3)) + 3);
    if (k % 9 == 0) link(4 * k + 2, 4 * (k + 7) + 1);
}

// Two nets with one key have the same ends.
template <class Transfers>
void net_links(index_t net, const Transfers& link)
{
    constexpr std::uint64_t s = circuit_seed;
    const index_t hub = 4 * draw(hash_of(s, 3, net), circuit_nodes / 4) + net % 4;
    const index_t key = below(hash_of(s, 4, net / 2), 100) < 12 ? net - net % 2 : net;
    const index_t ends = 9558 / (key + 27);
    for (index_t t = 0; t < ends; ++t) {
        const index_t b =
            (draw(hash_of(s, 5, key), circuit_nodes) + draw(hash_of(s, 6, key, t / 4), 16 * ends)) % circuit_nodes;
        link(hub, std::min(b - b % 4 + t % 4, circuit_nodes - 1));
    }
}

// webbase-1M: sites whose first page (and second, in double sites) points to all their pages.
constexpr index_t web_pages = 1'000'005, web_sites = 60'000, web_chain = 508, web_strays = 606'992;
constexpr std::uint64_t web_seed = 5;

constexpr index_t site_size(index_t site) { return 8 + 46920 / (site + 10); }
bool is_double(index_t site) { return below(hash_of(web_seed, 2, site), 100) < 31; }

std::vector<index_t> first_pages()
{
    std::vector<index_t> first(web_sites);
    index_t page = 0;
    for (const index_t site : by_hash(0, web_sites, web_seed, 1)) {
        first[static_cast<std::size_t>(site)] = page;
        page += site_size(site);
    }
    return first;
}

template <class Emit>
void site_links(index_t site, const std::vector<index_t>& first_page, const Emit& emit)
{
    const index_t size = site_size(site), first = first_page[static_cast<std::size_t>(site)];
    const auto link_site = [&](index_t page, index_t to) {
        const index_t target = first_page[static_cast<std::size_t>(to)];
        emit(page, target);
        if (is_double(to)) emit(page, target + 1);
    };
    for (index_t t = 0; t < size; ++t) {
        emit(first, first + t);
        if (is_double(site)) emit(first + 1, first + t);
        if (t >= 2 && draw(hash_of(web_seed, 3, site, t), size) < std::min(size * 55 / 100, 280))
            link_site(first + t, below(hash_of(web_seed, 6, site, t), 100) < 25 ? site : site ^ 1);
    }
}

}  // namespace

Made make_cop20k_a(const Maker& m)
{
    const std::vector<index_t> row_of = cop_numbering();
    return {from_items(m, cop_rows, cop_rows, cop_points, [&](offset_t k, auto&& emit) {
        const index_t i = static_cast<index_t>(k);
        for_each_cop_neighbour(i, [&](index_t j) {
            emit(row_of[static_cast<std::size_t>(i)], row_of[static_cast<std::size_t>(j)]);
        });
    })};
}

Made make_scircuit(const Maker& m)
{
    return {from_items(m, circuit_nodes, circuit_nodes, circuit_cells + circuit_nets, [](offset_t k, auto&& emit) {
        const auto link = [&](index_t a, index_t b) {
            if (a >= circuit_nodes || b >= circuit_nodes) return;
            emit(a, b);
            emit(b, a);
        };
        const index_t item = static_cast<index_t>(k);
        if (item < circuit_cells) cell_links(item, link);
        else net_links(item - circuit_cells, link);
    })};
}

Made make_webbase(const Maker& m)
{
    const std::vector<index_t> first_page = first_pages();
    return {
        from_items(m, web_pages, web_pages, offset_t{web_pages} + web_sites + web_strays, [&](offset_t k, auto&& emit) {
            index_t item = static_cast<index_t>(k);
            if (item < web_pages) {
                emit(item, item);
                if (item >= web_pages - web_chain) emit(item, item - 1);
                return;
            }
            if ((item -= web_pages) < web_sites) return site_links(item, first_page, emit);
            item -= web_sites;
            emit(draw(hash_of(web_seed, 4, item), web_pages), draw(hash_of(web_seed, 5, item), web_pages));
        })};
}

}  // namespace tulle::inline TULLE_ABI::io::detail
