// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Reproducible dot products and norms.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "mpi/binned_sum.hpp"
#include "mpi/exchange.hpp"
#include "tulle/distributed.hpp"
#include "tulle/error.hpp"

namespace tulle::inline TULLE_ABI::mpi {
namespace {

// The product, and the bits of its absolute value: as integers, infinities and NaN are above all numbers.
template <class V>
std::uint64_t multiply_one(V x, V y, double& product)
{
    product = static_cast<double>(x) * static_cast<double>(y);
    return std::bit_cast<std::uint64_t>(product) & ~(std::uint64_t{1} << 63);
}

// The products of a block, and the largest of their absolute values.
template <class V>
double multiply_block(const V* x, const V* y, int n, double* product)
{
    constexpr int lanes = 8;
    std::uint64_t most[lanes] = {};
    int i = 0;
    for (; i + lanes <= n; i += lanes)
        for (int l = 0; l < lanes; ++l) most[l] = std::max(most[l], multiply_one(x[i + l], y[i + l], product[i + l]));
    for (; i < n; ++i) most[0] = std::max(most[0], multiply_one(x[i], y[i], product[i]));
    return std::bit_cast<double>(*std::max_element(most, most + lanes));
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
