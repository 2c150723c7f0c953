// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Twins of the mesh matrices of table 2 of the nsparse paper: a graph of nodes is made first, then every entry becomes
// a block of unknowns. The meshes are invented so that size, row lengths, products, entries of A² and dependency levels
// come close to the original's (docs/twins.md); every constant below was fitted to that end and changes the matrix.
#include <array>
#include <cstdlib>

#include "io/generators/kinds.hpp"

namespace tulle::inline TULLE_ABI::io::detail {
namespace {

constexpr std::array<index_t, 3> around{-1, 0, 1};

// pdb1HYS: columns (x, y) of 25 nodes, laid out along y on one half and back on the other.
constexpr index_t protein_nodes = 12'139, protein_length = 61, protein_height = 25;

struct Column {
    index_t x, y;
};

std::vector<Column> protein_columns()
{
    std::vector<Column> columns;
    for (index_t y = 0; y < protein_length; ++y)
        for (index_t k = 0; k < 4; ++k) columns.push_back({y % 2 == 0 ? k : 3 - k, y});
    for (index_t y = protein_length - 1; y >= 0; --y)
        for (index_t k = 0; k < 4; ++k) columns.push_back({y % 2 == 0 ? 4 + k : 7 - k, y});
    return columns;
}

constexpr index_t protein_reach(index_t y) { return y < 4 ? 1 : y < 54 ? 2 : 3; }

// How far apart in z nodes of two columns may be to be linked; -1 if they are not at all.
index_t protein_reach(const Column& a, const Column& b)
{
    const index_t dx = std::abs(a.x - b.x), dy = std::abs(a.y - b.y);
    if (dx <= 1 && dy <= 1) return std::min(protein_reach(a.y), protein_reach(b.y));
    return std::min(a.y, b.y) >= 54 && dx * dy == 0 && dx + dy == 2 ? 0 : -1;
}

// consph: slabs of 25 x 21 nodes closed to a ring and numbered folded, so that ring neighbours stay near each other.
constexpr index_t ring_slabs = 53, ring_y = 25, ring_z = 21, ring_nodes = 27'778, ring_constrained = 3'655;

constexpr index_t slab_at(index_t position)
{
    return position % 2 == 0 ? position / 2 : ring_slabs - (position + 1) / 2;
}
constexpr index_t position_of(index_t slab) { return slab <= ring_slabs / 2 ? 2 * slab : 2 * (ring_slabs - slab) - 1; }

Pattern ring_graph(const Maker& m)
{
    return from_rows(m, ring_nodes, ring_nodes, [](index_t u, auto&& emit) {
        const index_t z = u % ring_z, y = u / ring_z % ring_y, slab = slab_at(u / ring_z / ring_y);
        for (const index_t ds : around)
            for (const index_t dy : around)
                for (const index_t dz : around) {
                    const index_t v =
                        z + dz + ring_z * (y + dy + ring_y * position_of((slab + ds + ring_slabs) % ring_slabs));
                    const bool inside = y + dy >= 0 && y + dy < ring_y && z + dz >= 0 && z + dz < ring_z;
                    if (inside && v < ring_nodes) emit(v);
                }
    });
}

// The unknowns that keep only their diagonal: on the four outer faces, face by face, until there are enough.
std::vector<char> ring_constraints()
{
    std::vector<char> constrained(3 * std::size_t{ring_nodes}, 0);
    index_t left = ring_constrained;
    const auto constrain_face = [&](std::size_t component, auto&& on_face) {
        for (index_t u = 0; u < ring_nodes && left > 0; ++u)
            if (on_face(u)) {
                constrained[3 * static_cast<std::size_t>(u) + component] = 1;
                --left;
            }
    };
    constrain_face(2, [](index_t u) { return u % ring_z == 0; });
    constrain_face(2, [](index_t u) { return u % ring_z == ring_z - 1; });
    constrain_face(1, [](index_t u) { return u / ring_z % ring_y == 0; });
    constrain_face(1, [](index_t u) { return u / ring_z % ring_y == ring_y - 1; });
    return constrained;
}

// pwtk: a sheet of lines, some numbered there and back, with three cuts and a few hubs that reach far.
constexpr index_t sheet_lines = 454, sheet_width = 80, sheet_hubs = 23, sheet_rows = 217'918;

constexpr index_t sheet_node(index_t x, index_t y)
{
    return sheet_width * y + (y % 2 == 1 && y < 300 ? sheet_width - 1 - x : x);
}
constexpr bool sheet_cut_after(index_t y) { return y == 112 || y == 226 || y == 339; }

template <class Emit>
void sheet_links(index_t x, index_t y, const Emit& emit)
{
    for (const index_t dy : around)
        for (const index_t dx : around) {
            const bool inside = x + dx >= 0 && x + dx < sheet_width && y + dy >= 0 && y + dy < sheet_lines;
            const bool cut = (dy == 1 && sheet_cut_after(y)) || (dy == -1 && sheet_cut_after(y - 1));
            if (inside && !cut) emit(sheet_node(x, y), sheet_node(x + dx, y + dy));
        }
}

template <class Emit>
void hub_links(index_t hub, const Emit& emit)
{
    const index_t y = (2 * hub + 1) * sheet_lines / (2 * sheet_hubs), x = hub % 2 == 0 ? 26 : 53;
    const auto link = [&](index_t other_x, index_t other_y) {
        emit(sheet_node(x, y), sheet_node(other_x, other_y));
        emit(sheet_node(other_x, other_y), sheet_node(x, y));
    };
    int ends = 0;
    for (index_t b = -2; b <= 2; ++b)
        for (index_t a = -2; a <= 2; ++a) {
            const bool skipped = (a == 0 && b == 0) || y + 5 * b < 0 || y + 5 * b >= sheet_lines;
            if (!skipped && ends++ < 20) link(x + 5 * a, y + 5 * b);
        }
    link(x, (y + sheet_lines / 2) % sheet_lines);
}

// shipsec1: the corners of the unit squares of decks, bulkheads, hull and stiffeners, as points of a lattice.
constexpr index_t ship_x = 87, ship_y = 39, ship_z = 22, ship_nodes = 23'479;

using Square = std::array<index_t, 4>;

constexpr index_t ship_point(index_t x, index_t y, index_t z) { return (x * ship_y + y) * ship_z + z; }

// The lowest corner of a square and the steps along its two sides.
constexpr index_t step_x = ship_point(1, 0, 0), step_y = ship_point(0, 1, 0), step_z = ship_point(0, 0, 1);
constexpr Square square_at(index_t corner, index_t side, index_t other)
{
    return {corner, corner + side, corner + other, corner + side + other};
}

std::vector<Square> ship_squares()
{
    std::vector<Square> squares;
    for (index_t x = 0; x + 1 < ship_x; ++x)
        for (index_t y = 0; y + 1 < ship_y; ++y)
            for (const index_t deck : {0, 7, 14, 21})
                squares.push_back(square_at(ship_point(x, y, deck), step_x, step_y));
    for (const index_t bulkhead : {0, 16, 32, 48, 64, 80})
        for (index_t y = 0; y + 1 < ship_y; ++y)
            for (index_t z = 0; z + 1 < ship_z; ++z)
                squares.push_back(square_at(ship_point(bulkhead, y, z), step_y, step_z));
    for (index_t x = 0; x + 1 < ship_x; ++x)
        for (index_t z = 0; z + 1 < ship_z; ++z)
            for (const index_t hull : {index_t{0}, ship_y - 1})
                squares.push_back(square_at(ship_point(x, hull, z), step_x, step_z));
    for (index_t x = 0; x + 1 < ship_x; ++x)
        for (index_t y = 3; y <= 36; y += 3)
            for (const index_t under_deck : {6, 13, 20})
                squares.push_back(square_at(ship_point(x, y, under_deck), step_x, step_z));
    return squares;
}

// Replaces lattice points by their numbers among the points that are corners.
void number_corners(std::vector<Square>& squares)
{
    std::vector<index_t> number(std::size_t{ship_x} * ship_y * ship_z, 0);
    for (const Square& square : squares)
        for (const index_t point : square) number[static_cast<std::size_t>(point)] = 1;
    index_t corners = 0;
    for (index_t& is_corner : number) is_corner = is_corner ? corners++ : -1;
    for (Square& square : squares)
        for (index_t& point : square) point = number[static_cast<std::size_t>(point)];
}

}  // namespace

Made make_pdb1hys(const Maker& m)
{
    const std::vector<Column> columns = protein_columns();
    const Pattern graph = from_rows(m.quiet(), protein_nodes, protein_nodes, [&](index_t u, auto&& emit) {
        const index_t z = u % protein_height;
        const Column& own = columns[static_cast<std::size_t>(u / protein_height)];
        for (std::size_t c = 0; c < columns.size(); ++c) {
            const index_t reach = protein_reach(own, columns[c]), first = static_cast<index_t>(c) * protein_height;
            const index_t end = std::min({protein_height, z + reach + 1, protein_nodes - first});
            for (index_t other = std::max(0, z - reach); reach >= 0 && other < end; ++other) emit(first + other);
        }
    });
    return {expand(m, graph, SameUnknowns{3}, 3 * protein_nodes)};
}

Made make_consph(const Maker& m)
{
    const Pattern graph = ring_graph(m.quiet());
    const std::vector<char> constrained = ring_constraints();
    const auto is_free = [&](index_t unknown) { return !constrained[static_cast<std::size_t>(unknown)]; };
    const auto keep = [&](index_t i, index_t j) { return i == j || (is_free(i) && is_free(j)); };
    return {expand(m, graph, SameUnknowns{3}, 3 * ring_nodes, keep)};
}

Made make_pwtk(const Maker& m)
{
    constexpr index_t nodes = sheet_lines * sheet_width;
    const Pattern graph = from_items(m.quiet(), nodes, nodes, nodes + sheet_hubs, [](offset_t k, auto&& emit) {
        const index_t item = static_cast<index_t>(k);
        if (item < nodes) sheet_links(item % sheet_width, item / sheet_width, emit);
        else hub_links(item - nodes, emit);
    });
    return {expand(m, graph, SameUnknowns{6}, sheet_rows)};
}

Made make_shipsec1(const Maker& m)
{
    std::vector<Square> squares = ship_squares();
    number_corners(squares);
    const Pattern graph =
        from_items(m.quiet(), ship_nodes, ship_nodes, std::ssize(squares), [&](offset_t k, auto&& emit) {
            for (const index_t u : squares[static_cast<std::size_t>(k)])
                for (const index_t v : squares[static_cast<std::size_t>(k)])
                    if (u < ship_nodes && v < ship_nodes) emit(u, v);
        });
    return {expand(m, graph, SameUnknowns{6}, 6 * ship_nodes)};
}

}  // namespace tulle::inline TULLE_ABI::io::detail
