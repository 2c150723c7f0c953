// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Rigid-body modes in three steps, between which ranks add up what they found of their points.
#pragma once

#include <algorithm>
#include <array>

#include "tulle/context.hpp"
#include "tulle/dense.hpp"

namespace tulle::inline TULLE_ABI::amg {

struct PointSums {
    std::array<double, 3> of{};  // coordinates
    double points = 0;

    double mean(index_t direction) const { return of[static_cast<std::size_t>(direction)] / std::max(1.0, points); }
};

// Checks the coordinates as well.
template <class V>
PointSums sums_of(const DenseView<const V>& coordinates);

// The largest distance from the mean point in one direction.
template <class V>
double reach_of(const DenseView<const V>& coordinates, const PointSums& sums);

// The modes about the mean point of all points, in the memory of the context.
template <class V>
Dense<V> modes_of(const Context& ctx, const DenseView<const V>& coordinates, const PointSums& sums, double reach);

}  // namespace tulle::inline TULLE_ABI::amg
