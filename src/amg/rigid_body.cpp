// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Rigid displacements and rotations of points, on the host: once for a mesh.
#include <algorithm>
#include <array>
#include <cmath>

#include "tulle/amg.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::amg {
namespace {

// Places relative to the mean point, the furthest at distance 1.
struct Frame {
    std::array<double, 3> middle{};
    double scale = 1;

    double place(double coordinate, index_t direction) const
    {
        return (coordinate - middle[static_cast<std::size_t>(direction)]) * scale;
    }
};

template <class V>
Frame frame_of(const DenseView<const V>& at)
{
    Frame f;
    double reach = 0;
    for (index_t c = 0; c < at.cols; ++c) {
        double sum = 0;
        for (index_t i = 0; i < at.rows; ++i) sum += static_cast<double>(at(i, c));
        require<ValueError>(
            std::isfinite(sum), [&] { return concat("column ", c, " of the coordinates is not finite"); },
            "every point needs finite coordinates");
        f.middle[static_cast<std::size_t>(c)] = sum / std::max<index_t>(1, at.rows);
        for (index_t i = 0; i < at.rows; ++i)
            reach = std::max(reach, std::abs(static_cast<double>(at(i, c)) - f.middle[static_cast<std::size_t>(c)]));
    }
    if (reach > 0) f.scale = 1 / reach;
    return f;
}

// Rotation number k turns direction a to direction b.
struct Turn {
    index_t a, b;
};
constexpr std::array<Turn, 3> turns{Turn{0, 1}, Turn{1, 2}, Turn{2, 0}};

}  // namespace

template <class V>
Dense<V> rigid_body_modes(const Context& ctx, const DenseView<const V>& coordinates)
{
    const index_t dimensions = coordinates.cols;
    check_dense(coordinates, "the coordinates");
    require(dimensions == 2 || dimensions == 3,
            [&] { return concat("the coordinates have ", dimensions, " columns, not 2 or 3"); });
    require(coordinates.rows <= max_index / dimensions,
            [&] { return concat(coordinates.rows, " points have more than ", max_index, " unknowns"); });
    const index_t rotations = dimensions == 2 ? 1 : 3;
    const Frame frame = frame_of(coordinates);
    const index_t vectors = dimensions + rotations;
    Dense<V> modes = Dense<V>::make(ctx.host(), coordinates.rows * dimensions, vectors);
    const auto view = modes.view();
    std::fill_n(modes.data.data(), modes.data.size(), V(0));
    for (index_t i = 0; i < coordinates.rows; ++i) {
        const index_t row = i * dimensions;
        for (index_t c = 0; c < dimensions; ++c) view(row + c, c) = V(1);
        for (index_t k = 0; k < rotations; ++k) {
            const Turn turn = turns[static_cast<std::size_t>(k)];
            view(row + turn.a, dimensions + k) = -static_cast<V>(frame.place(coordinates(i, turn.b), turn.b));
            view(row + turn.b, dimensions + k) = static_cast<V>(frame.place(coordinates(i, turn.a), turn.a));
        }
    }
    modes.data = to_device<V>(ctx, std::as_const(modes.data).span());
    return modes;
}

template Dense<float> rigid_body_modes(const Context&, const DenseView<const float>&);
template Dense<double> rigid_body_modes(const Context&, const DenseView<const double>&);

}  // namespace tulle::inline TULLE_ABI::amg
