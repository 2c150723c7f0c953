// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Reproducible dot products and norms.
#include <algorithm>
#include <cmath>

#include "mpi/binned_sum.hpp"
#include "mpi/exchange.hpp"
#include "tulle/distributed.hpp"
#include "tulle/error.hpp"

namespace tulle::inline TULLE_ABI::mpi {
namespace {

template <class V>
BinnedSum local_dot(const V* x, const V* y, offset_t n)
{
    constexpr offset_t first = 64, others = 2048;  // the first tells how large products are, and takes two passes
    static_assert(others <= BinnedSum::most_at_once);
    BinnedSum sum;
    for (offset_t i = 0; i < n;) {
        const offset_t count = std::min(i == 0 ? first : others, n - i);
        sum.add_products(x + i, y + i, static_cast<int>(count));
        i += count;
    }
    return sum;
}

}  // namespace

template <class V>
double dot(const Cluster& cluster, std::span<const V> x, std::span<const V> y)
{
    require(x.size() == y.size(), "the local parts of x and y have different sizes");
    return reduce(cluster, "dot", local_dot(x.data(), y.data(), std::ssize(x)),
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
