// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Linear elasticity on a grid of unit squares or cubes with (bi-, tri-)linear functions, Lame's constants both 1:
//
//   K(p a, q b) = T(a, b) + T(b, a) + [a = b] sum_c T(c, c),   T(a, b) = integral of d_a phi_p  d_b phi_q
//
// for points p, q and directions a, b. Functions are products of one-dimensional ones, and the body is a box, so that
// an integral is a product of one-dimensional integrals. Points with x = 0 are clamped and have no rows; the first free
// one has x = 1. In units of 1/12 (squares) or 1/72 (cubes) every value is a whole number.
#include <array>

#include "io/generators/kinds.hpp"

namespace tulle::inline TULLE_ABI::io::detail {
namespace {

// The points of one direction, and integrals over all cells between them; |p - q| <= 1.
struct Line {
    index_t points;
    bool clamped;  // a cell before the first point

    int before(index_t p) const { return clamped || p > 0 ? 1 : 0; }
    int behind(index_t p) const { return p + 1 < points ? 1 : 0; }
    // 6 times the integral of phi_p phi_q.
    int mass(index_t p, index_t q) const { return p == q ? 2 * (before(p) + behind(p)) : 1; }
    // The integral of phi_p' phi_q'.
    int stiffness(index_t p, index_t q) const { return p == q ? before(p) + behind(p) : -1; }
    // Twice the integral of phi_p' phi_q.
    int slope(index_t p, index_t q) const { return p == q ? before(p) - behind(p) : p - q; }
};

struct Body {
    std::array<Line, 3> line;
    index_t dimensions;

    using Point = std::array<index_t, 3>;
    Point point(index_t number) const
    {
        const index_t nx = line[0].points, ny = line[1].points;
        return {number % nx, number / nx % ny, number / nx / ny};
    }
    int integral(const Point& p, const Point& q, index_t a, index_t b) const
    {
        int product = a == b ? 2 : 3;
        for (index_t c = 0; c < dimensions; ++c) {
            const auto k = static_cast<std::size_t>(c);
            const Line& l = line[k];
            product *= c == a && c == b ? l.stiffness(p[k], q[k])
                       : c == a         ? l.slope(p[k], q[k])
                       : c == b         ? l.slope(q[k], p[k])
                                        : l.mass(p[k], q[k]);
        }
        return product;
    }
    double value(index_t i, index_t j) const
    {
        const Point p = point(i / dimensions), q = point(j / dimensions);
        const index_t a = i % dimensions, b = j % dimensions;
        int sum = integral(p, q, a, b) + integral(p, q, b, a);
        for (index_t c = 0; a == b && c < dimensions; ++c) sum += integral(p, q, c, c);
        return sum;
    }
};

Body body_of(const Maker& m, index_t dimensions)
{
    const auto side = [&](std::size_t k) {
        return static_cast<index_t>(m.numbers.size() == 1 ? m.numbers[0] : m.numbers[k]);
    };
    return {{Line{side(0), true}, Line{side(1), false}, Line{dimensions == 3 ? side(2) : 1, false}}, dimensions};
}

offset_t points_of(const Maker& m, const Body& b)
{
    return checked_product(checked_product(b.line[0].points, b.line[1].points, m.sentence), b.line[2].points,
                           m.sentence);
}

Made make_elasticity(const Maker& m, index_t dimensions)
{
    const Body body = body_of(m, dimensions);
    const offset_t unknowns = checked_product(points_of(m, body), dimensions, m.sentence);
    const offset_t row_length = dimensions == 2 ? 18 : 81;
    const index_t n = expect(m, unknowns, unknowns, checked_product(unknowns, row_length, m.sentence));
    const index_t nx = body.line[0].points, ny = body.line[1].points, nz = body.line[2].points;
    Pattern p = from_rows(m, n, n, [&](index_t i, auto&& emit) {
        const auto [x, y, z] = body.point(i / dimensions);
        for (index_t w = std::max(0, z - 1); w < std::min(nz, z + 2); ++w)
            for (index_t v = std::max(0, y - 1); v < std::min(ny, y + 2); ++v)
                for (index_t u = std::max(0, x - 1); u < std::min(nx, x + 2); ++u)
                    for (index_t b = 0; b < dimensions; ++b) {
                        const index_t j = (u + nx * (v + ny * w)) * dimensions + b;
                        if (body.value(i, j) != 0) emit(j);
                    }
    });
    return {std::move(p), Values::function, 0, [body](index_t i, index_t j) { return body.value(i, j); }};
}

}  // namespace

Made make_elasticity2d(const Maker& m) { return make_elasticity(m, 2); }
Made make_elasticity3d(const Maker& m) { return make_elasticity(m, 3); }

Made make_coordinates(const Maker& m)
{
    const auto dimensions = static_cast<index_t>(m.numbers.size());
    const Body body = body_of(m, dimensions);
    const offset_t points = points_of(m, body);
    const index_t n = expect(m, points, dimensions, checked_product(points, dimensions, m.sentence));
    Pattern p = from_rows(m, n, dimensions, [=](index_t, auto&& emit) {
        for (index_t c = 0; c < dimensions; ++c) emit(c);
    });
    return {std::move(p), Values::function, 0,
            [body](index_t i, index_t c) { return 1.0 + body.point(i)[static_cast<std::size_t>(c)]; }};
}

}  // namespace tulle::inline TULLE_ABI::io::detail
