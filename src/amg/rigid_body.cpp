// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Rigid displacements and rotations of points, on the host: once for a mesh.
#include <algorithm>
#include <array>
#include <cmath>

#include "amg/rigid_body.hpp"
#include "tulle/amg.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::amg {
namespace {

// Rotation number k turns direction a to direction b.
struct Turn {
    index_t a, b;
};
constexpr std::array<Turn, 3> turns{Turn{0, 1}, Turn{1, 2}, Turn{2, 0}};

}  // namespace

template <class V>
PointSums sums_of(const DenseView<const V>& at)
{
    check_dense(at, "the coordinates");
    require(at.cols == 2 || at.cols == 3,
            [&] { return concat("the coordinates have ", at.cols, " columns, not 2 or 3"); });
    require(at.rows <= max_index / at.cols,
            [&] { return concat(at.rows, " points have more than ", max_index, " unknowns"); });
    PointSums sums{.points = static_cast<double>(at.rows)};
    for (index_t c = 0; c < at.cols; ++c) {
        double& sum = sums.of[static_cast<std::size_t>(c)];
        for (index_t i = 0; i < at.rows; ++i) sum += static_cast<double>(at(i, c));
        require<ValueError>(
            std::isfinite(sum), [&] { return concat("column ", c, " of the coordinates is not finite"); },
            "every point needs finite coordinates");
    }
    return sums;
}

template <class V>
double reach_of(const DenseView<const V>& at, const PointSums& sums)
{
    double reach = 0;
    for (index_t c = 0; c < at.cols; ++c)
        for (index_t i = 0; i < at.rows; ++i)
            reach = std::max(reach, std::abs(static_cast<double>(at(i, c)) - sums.mean(c)));
    return reach;
}

template <class V>
Dense<V> modes_of(const Context& ctx, const DenseView<const V>& coordinates, const PointSums& sums, double reach)
{
    const index_t dimensions = coordinates.cols;
    const index_t rotations = dimensions == 2 ? 1 : 3;
    const double scale = reach > 0 ? 1 / reach : 1;
    const auto place = [&](index_t i, index_t c) {
        return static_cast<V>((static_cast<double>(coordinates(i, c)) - sums.mean(c)) * scale);
    };
    Dense<V> modes = Dense<V>::make(ctx.host(), coordinates.rows * dimensions, dimensions + rotations);
    const auto view = modes.view();
    std::fill_n(modes.data.data(), modes.data.size(), V(0));
    for (index_t i = 0; i < coordinates.rows; ++i) {
        const index_t row = i * dimensions;
        for (index_t c = 0; c < dimensions; ++c) view(row + c, c) = V(1);
        for (index_t k = 0; k < rotations; ++k) {
            const Turn turn = turns[static_cast<std::size_t>(k)];
            view(row + turn.a, dimensions + k) = -place(i, turn.b);
            view(row + turn.b, dimensions + k) = place(i, turn.a);
        }
    }
    modes.data = to_device<V>(ctx, std::as_const(modes.data).span());
    return modes;
}

template <class V>
Dense<V> rigid_body_modes(const Context& ctx, const DenseView<const V>& coordinates)
{
    const PointSums sums = sums_of(coordinates);
    return modes_of(ctx, coordinates, sums, reach_of(coordinates, sums));
}

#define TULLE_MODES(V)                                                                               \
    template PointSums sums_of(const DenseView<const V>&);                                           \
    template double reach_of(const DenseView<const V>&, const PointSums&);                           \
    template Dense<V> modes_of(const Context&, const DenseView<const V>&, const PointSums&, double); \
    template Dense<V> rigid_body_modes(const Context&, const DenseView<const V>&);
TULLE_MODES(float)
TULLE_MODES(double)
#undef TULLE_MODES

}  // namespace tulle::inline TULLE_ABI::amg
