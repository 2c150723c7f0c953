// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Twins of the matrices of table 2 of the nsparse paper (Nagasaka, Nukada and Matsuoka 2017, doi:10.1109/ICPP.2017.19)
// whose original has a regular lattice: mc2depi and qcd5_4 fit every published figure, cant has the real mesh and all
// of the paper's figures. docs/twins.md has the figures of all twins.
#include <array>

#include "base/hash.hpp"
#include "io/generators/kinds.hpp"

namespace tulle::inline TULLE_ABI::io::detail {
namespace {

// mc2depi: half-rows of alternately 257 and 256 states.
constexpr index_t epi_states = 525'825, epi_pair = 513, epi_first = 257;

constexpr index_t half_row(index_t state) { return 2 * (state / epi_pair) + (state % epi_pair >= epi_first ? 1 : 0); }

// qcd5_4: a periodic lattice of 8^4 sites, 4 spins, 3 colours.
constexpr index_t qcd_side = 8, qcd_spins = 4, qcd_colours = 3;

// The site one step along a direction; strides are powers of the side.
constexpr index_t neighbour_site(index_t site, index_t stride, index_t step)
{
    const index_t x = site / stride % qcd_side;
    return site + stride * ((x + step + qcd_side) % qcd_side - x);
}

constexpr index_t spin_partner(int direction, index_t spin) { return direction < 2 ? 3 - spin : spin ^ 2; }

// Calls f(site, spin) for every (site, spin) that spin `spin` of `site` couples to.
template <class F>
void for_each_coupling(index_t site, index_t spin, const F& f)
{
    index_t stride = 1;
    for (int direction = 0; direction < 3; ++direction, stride *= qcd_side)
        for (const index_t step : {-1, 1}) {
            f(neighbour_site(site, stride, step), spin);
            f(neighbour_site(site, stride, step), spin_partner(direction, spin));
        }
    f(neighbour_site(site, stride, spin < 2 ? 1 : -1), spin);
}

// cant: 8-node bricks on 9 x 9 x 257 nodes, 3 unknowns each; nodes with z = 0 are clamped.
constexpr std::array<index_t, 3> cant_nodes{9, 9, 257};
constexpr std::array<index_t, 3> cant_stride{1, 9, 81};
constexpr index_t cant_rows = 3 * 9 * 9 * 257;

using Point = std::array<index_t, 3>;

Point cant_point(index_t node) { return {node % 9, node / 9 % 9, node / 81}; }
bool cant_inner(const Point& at, std::size_t direction)
{
    return at[direction] > 0 && at[direction] < cant_nodes[direction] - 1;
}

// Whether a row of the node has 81 entries before any is dropped.
bool cant_full(const Point& at) { return cant_inner(at, 0) && cant_inner(at, 1) && at[2] >= 2 && cant_inner(at, 2); }

// Whether the entry between component p of the node `at` and component q of the node at + d is zero in exact
// arithmetic.
bool cant_cancels(const Point& at, const Point& d, std::size_t p, std::size_t q)
{
    if (p == q || (d[p] != 0 && d[q] != 0)) return false;
    if (d[p] != 0) return cant_inner(at, q);
    if (d[q] != 0) return cant_inner(at, p);
    return cant_inner(at, p) || cant_inner(at, q);
}

// The original dropped 301 610 of the entries that cancel and kept the others as round-off; which ones is not known.
// This choice meets the products and the entries of A² exactly.
bool cant_dropped(index_t r, index_t c)
{
    const Point from = cant_point(r / 3), to = cant_point(c / 3);
    if (!cant_full(from) || !cant_full(to)) return hash_of(33, r, c) < 4239629701655960531u;
    if (r / 3 == c / 3 || (c / 3 - r / 3 == 81 && from[2] % 2 == 0 && c % 3 == (r + 1) % 3)) return true;
    return hash_of(33, r, c) < 1640818872547317473u;
}

// Free nodes are linked to all free nodes around them, with full blocks but for what is dropped.
template <class Emit>
void cant_row(index_t row, const Emit& emit)
{
    const index_t node = row / 3;
    const Point at = cant_point(node);
    if (at[2] == 0) return emit(row);
    for (Point d{0, 0, at[2] == 1 ? 0 : -1}; d[2] <= 1; ++d[2])
        for (d[1] = -1; d[1] <= 1; ++d[1])
            for (d[0] = -1; d[0] <= 1; ++d[0]) {
                bool outside = false;
                index_t other = node;
                for (std::size_t k = 0; k < 3; ++k) {
                    outside = outside || at[k] + d[k] < 0 || at[k] + d[k] >= cant_nodes[k];
                    other += d[k] * cant_stride[k];
                }
                for (index_t q = 0; q < 3 && !outside; ++q) {
                    const index_t col = 3 * other + q;
                    const bool cancels =
                        cant_cancels(at, d, static_cast<std::size_t>(row % 3), static_cast<std::size_t>(q));
                    if (!cancels || !cant_dropped(std::min(row, col), std::max(row, col))) emit(col);
                }
            }
}

}  // namespace

Made make_mc2depi(const Maker& m)
{
    return {from_rows(m, epi_states, epi_states, [](index_t i, auto&& emit) {
        if (i >= epi_pair) emit(i - epi_pair);
        emit(i);
        for (const index_t j : {i + 256, i + 257})
            if (j < epi_states && half_row(j) == half_row(i) + 1) emit(j);
    })};
}

// The hopping matrix of Wilson fermions: full blocks of colours, no diagonal.
Made make_qcd5_4(const Maker& m)
{
    constexpr index_t n = qcd_side * qcd_side * qcd_side * qcd_side * qcd_spins * qcd_colours;
    return {from_rows(m, n, n, [](index_t i, auto&& emit) {
        const index_t spin = i / qcd_colours % qcd_spins, site = i / (qcd_colours * qcd_spins);
        for_each_coupling(site, spin, [&](index_t other_site, index_t other_spin) {
            for (index_t colour = 0; colour < qcd_colours; ++colour)
                emit((other_site * qcd_spins + other_spin) * qcd_colours + colour);
        });
    })};
}

Made make_cant(const Maker& m)
{
    return {from_rows(m, cant_rows, cant_rows, [](index_t i, auto&& emit) { cant_row(i, emit); })};
}

}  // namespace tulle::inline TULLE_ABI::io::detail
