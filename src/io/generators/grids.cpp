// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Regular matrices: stencils and bricks on grids, bands, arrows, diagonals.
//
// Grid point (x, y, z) has the number x + NX * (y + NY * z); neighbours outside the grid are left out (Dirichlet), so
// stencils and bricks with -1 beside the diagonal and the full neighbour count on it are symmetric positive definite.
#include "io/generators/kinds.hpp"

namespace tulle::inline TULLE_ABI::io::detail {
namespace {

struct Grid {
    index_t nx, ny, nz;
    offset_t points(std::string_view what) const { return checked_product(checked_product(nx, ny, what), nz, what); }
};

struct Step {
    index_t x, y, z;
};

// One number is the side of a square or cube.
Grid grid_of(const Maker& m, std::size_t dimensions)
{
    const auto side = [&](std::size_t k) {
        return static_cast<index_t>(m.numbers.size() < dimensions ? m.numbers[0] : m.numbers[k]);
    };
    return {side(0), side(1), dimensions == 3 ? side(2) : 1};
}

// The steps to a point's neighbours and itself, in the order of their numbers.
std::vector<Step> steps_of(bool star, bool flat)
{
    std::vector<Step> steps;
    const index_t height = flat ? 0 : 1;
    for (index_t z = -height; z <= height; ++z)
        for (index_t y = -1; y <= 1; ++y)
            for (index_t x = -1; x <= 1; ++x)
                if (!star || x * x + y * y + z * z <= 1) steps.push_back({x, y, z});
    return steps;
}

// Full blocks of `dof` unknowns for every pair of neighbours.
Made on_grid(const Maker& m, const Grid& g, const std::vector<Step>& steps, index_t dof)
{
    const offset_t unknowns = checked_product(g.points(m.sentence), dof, m.sentence);
    const offset_t row_length = std::ssize(steps) * offset_t{dof};
    const index_t n = expect(m, unknowns, unknowns, checked_product(unknowns, row_length, m.sentence));
    Pattern p = from_rows(m, n, n, [&](index_t i, auto&& emit) {
        const index_t node = i / dof;
        const index_t x = node % g.nx, y = node / g.nx % g.ny, z = node / g.nx / g.ny;
        for (const Step& s : steps) {
            if (x + s.x < 0 || x + s.x >= g.nx || y + s.y < 0 || y + s.y >= g.ny || z + s.z < 0 || z + s.z >= g.nz)
                continue;
            const index_t first = (x + s.x + g.nx * (y + s.y + g.ny * (z + s.z))) * dof;
            for (index_t k = 0; k < dof; ++k) emit(first + k);
        }
    });
    return {std::move(p), Values::stencil, static_cast<double>(row_length - 1)};
}

Made stencil(const Maker& m, std::size_t dimensions, bool star)
{
    return on_grid(m, grid_of(m, dimensions), steps_of(star, dimensions == 2), 1);
}

Pattern diagonal(const Maker& m)
{
    const index_t n = expect(m, m.numbers[0], m.numbers[0], m.numbers[0]);
    return from_rows(m, n, n, [](index_t i, auto&& emit) { emit(i); });
}

}  // namespace

Made make_identity(const Maker& m) { return {diagonal(m), Values::ones}; }
Made make_diagonal(const Maker& m) { return {diagonal(m), Values::position}; }
Made make_stencil5(const Maker& m) { return stencil(m, 2, true); }
Made make_stencil9(const Maker& m) { return stencil(m, 2, false); }
Made make_stencil7(const Maker& m) { return stencil(m, 3, true); }
Made make_stencil27(const Maker& m) { return stencil(m, 3, false); }

Made make_fem(const Maker& m)
{
    return on_grid(m, grid_of(m, 3), steps_of(false, false), static_cast<index_t>(m.numbers.back()));
}

// All entries with -lower <= j - i <= upper.
Made make_banded(const Maker& m)
{
    const offset_t size = m.numbers[0], lower = m.numbers[1], upper = m.numbers.back();
    const index_t n = expect(m, size, size, checked_product(size, std::min(size, lower + upper + 1), m.sentence));
    return {from_rows(m, n, n, [=](index_t i, auto&& emit) {
        const offset_t end = std::min(offset_t{n}, i + upper + 1);
        for (offset_t j = std::max(offset_t{0}, i - lower); j < end; ++j) emit(static_cast<index_t>(j));
    })};
}

// The diagonal and the last `width` rows and columns.
Made make_arrow(const Maker& m)
{
    const offset_t size = m.numbers[0], width = m.numbers.size() > 1 ? m.numbers[1] : 1;
    require<ValueError>(
        width <= size,
        [&] { return concat(m.sentence, ": the arrow's width ", width, " exceeds its ", size, " rows"); },
        "WIDTH is the number of full rows and columns");
    const index_t n = expect(m, size, size, (size - width) * (width + 1) + width * size);
    const index_t shaft = static_cast<index_t>(size - width);
    return {from_rows(m, n, n,
                      [=](index_t i, auto&& emit) {
                          if (i < shaft) emit(i);
                          for (index_t j = i < shaft ? shaft : 0; j < n; ++j) emit(j);
                      }),
            Values::dominant};
}

}  // namespace tulle::inline TULLE_ABI::io::detail
