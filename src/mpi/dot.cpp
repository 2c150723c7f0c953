// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Reproducible dot products and norms.
#include <cmath>
#include <type_traits>
#include <vector>

#include "device/placed.hpp"
#include "mpi/dots.hpp"
#include "mpi/exchange.hpp"
#include "tulle/distributed.hpp"
#include "tulle/error.hpp"
#include "vector/local_dot.hpp"

namespace tulle::inline TULLE_ABI::mpi {

template <class V>
void dots(const Cluster& cluster, offset_t n, std::span<const VectorPair<V>> pairs, double* result)
{
    using vector::BinnedSum;
    static_assert(std::is_trivially_copyable_v<BinnedSum>);
    std::vector<BinnedSum> sum(pairs.size());
    cluster.context().run([&](const auto& q) {
        for (std::size_t k = 0; k < pairs.size(); ++k) sum[k] = vector::local_dot(q, pairs[k].x, pairs[k].y, n);
    });
    reduce_bytes(cluster, "dot", sum.data(), sum.size() * sizeof(BinnedSum), [&](void* to, const void* from) {
        for (std::size_t k = 0; k < sum.size(); ++k)
            static_cast<BinnedSum*>(to)[k].add(static_cast<const BinnedSum*>(from)[k]);
    });
    for (std::size_t k = 0; k < sum.size(); ++k) result[k] = sum[k].value();
}

template <class V>
double dot(const Cluster& cluster, std::span<const V> x, std::span<const V> y)
{
    require(x.size() == y.size(), "the local parts of x and y have different sizes");
    const void *known_x = nullptr, *known_y = nullptr;
    require_placed(cluster.context(), x.data(), x.size(), known_x, "x");
    require_placed(cluster.context(), y.data(), y.size(), known_y, "y");
    double result = 0;
    const VectorPair<V> pair{x.data(), y.data()};
    dots<V>(cluster, std::ssize(x), {&pair, 1}, &result);
    return result;
}

template <class V>
double norm(const Cluster& cluster, std::span<const V> x)
{
    return std::sqrt(dot<V>(cluster, x, x));
}

template void dots(const Cluster&, offset_t, std::span<const VectorPair<float>>, double*);
template void dots(const Cluster&, offset_t, std::span<const VectorPair<double>>, double*);
template double dot(const Cluster&, std::span<const float>, std::span<const float>);
template double dot(const Cluster&, std::span<const double>, std::span<const double>);
template double norm(const Cluster&, std::span<const float>);
template double norm(const Cluster&, std::span<const double>);

}  // namespace tulle::inline TULLE_ABI::mpi
