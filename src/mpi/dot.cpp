// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Reproducible dot products and norms.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "mpi/binned_sum.hpp"
#include "mpi/exchange.hpp"
#include "tulle/distributed.hpp"
#include "tulle/error.hpp"

namespace tulle::inline TULLE_ABI::mpi {
namespace {

// The products of a block, and the largest of their absolute values: compared as integers, by which infinities and NaN
// are above all numbers.
template <class V>
double multiply_block(const V* x, const V* y, int n, double* product)
{
    using Pair = double __attribute__((vector_size(2 * sizeof(double))));
    using Bits = std::int64_t __attribute__((vector_size(2 * sizeof(double))));
    constexpr std::int64_t without_sign = std::numeric_limits<std::int64_t>::max();
    Bits most{};
    const auto add_pair = [&](Pair p) {
        const Bits bits = reinterpret_cast<Bits>(p) & without_sign;
        most = bits > most ? bits : most;
        return p;
    };
    const auto at = [](const V* from, int i) { return static_cast<double>(from[i]); };
    int i = 0;
    for (; i + 2 <= n; i += 2) {
        const Pair p = add_pair(Pair{at(x, i), at(x, i + 1)} * Pair{at(y, i), at(y, i + 1)});
        product[i] = p[0];
        product[i + 1] = p[1];
    }
    if (i < n) product[i] = add_pair(Pair{at(x, i), 0} * Pair{at(y, i), 0})[0];
    return std::bit_cast<double>(std::max(most[0], most[1]));
}

template <class V>
BinnedSum local_dot(const V* x, const V* y, offset_t n)
{
    constexpr int block = 1024;
    static_assert(block <= BinnedSum::most_at_once);
    double product[block];
    BinnedSum sum;
    for (offset_t i = 0; i < n; i += block) {
        const int count = static_cast<int>(std::min<offset_t>(block, n - i));
        const double largest = multiply_block(x + i, y + i, count, product);
        sum.add(product, count, largest);
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
