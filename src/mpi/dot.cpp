// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Reproducible dot products and norms.
#include <cmath>

#include "device/placed.hpp"
#include "mpi/exchange.hpp"
#include "mpi/local_dot.hpp"
#include "tulle/distributed.hpp"
#include "tulle/error.hpp"

namespace tulle::inline TULLE_ABI::mpi {
template <class V>
double dot(const Cluster& cluster, std::span<const V> x, std::span<const V> y)
{
    require(x.size() == y.size(), "the local parts of x and y have different sizes");
    const void *known_x = nullptr, *known_y = nullptr;
    require_placed(cluster.context(), x.data(), x.size(), known_x, "x");
    require_placed(cluster.context(), y.data(), y.size(), known_y, "y");
    const BinnedSum mine =
        cluster.context().run([&](const auto& q) { return local_dot(q, x.data(), y.data(), std::ssize(x)); });
    return reduce(cluster, "dot", mine,
                  [](BinnedSum a, const BinnedSum& b) {
                      a.add(b);
                      return a;
                  })
        .value();
}

template <class V>
double norm(const Cluster& cluster, std::span<const V> x)
{
    return std::sqrt(dot<V>(cluster, x, x));
}

template double dot(const Cluster&, std::span<const float>, std::span<const float>);
template double dot(const Cluster&, std::span<const double>, std::span<const double>);
template double norm(const Cluster&, std::span<const float>);
template double norm(const Cluster&, std::span<const double>);

}  // namespace tulle::inline TULLE_ABI::mpi
