// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Small functions that tests call for every entry of a matrix, optimised. A program of tests that are not has copies of
// its own; the linker takes these, which stand before them.
#include <cmath>
#include <cstdlib>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error_bound.hpp"
#include "base/hash.hpp"
#include "support/dense.hpp"
#include "tulle/float16.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI {
namespace {

template <class V>
using Absolute = V (*)(V);

// An inline function is there for the linker when somebody takes its address.
[[gnu::used]] const auto hashes = std::tuple(&mix, &below, &unit, &hash_of<index_t>, &hash_of<index_t, index_t>);
[[gnu::used]] const auto numbers =
    std::tuple(static_cast<Absolute<float>>(&std::abs), static_cast<Absolute<double>>(&std::abs),
               static_cast<Absolute<long double>>(&std::abs));
[[gnu::used]] const auto bits =
    std::tuple(&detail::to_odd_float, &detail::f16_bits, &detail::f16_value, &detail::bf16_bits, &detail::bf16_value);
[[gnu::used]] const auto wider =
    std::tuple(&Float16::operator float, &Float16::operator double, &Float16::operator long double,
               &Bfloat16::operator float, &Bfloat16::operator double, &Bfloat16::operator long double);
[[gnu::used]] const auto bounds =
    std::tuple(&error_bound::gamma,
               static_cast<long double (*)(long double, long double, long double, const error_bound::Rounding&)>(
                   &error_bound::of_sum));

}  // namespace
}  // namespace tulle::inline TULLE_ABI

template class std::vector<float>;
template class std::vector<double>;
template class std::vector<long double>;
template class std::vector<tulle::index_t>;
template class std::vector<tulle::offset_t>;
template class std::vector<tulle::Float16>;
template class std::vector<tulle::Bfloat16>;
template class std::set<std::pair<tulle::index_t, tulle::index_t>>;
template struct tulle::test::HostDense<float>;
template struct tulle::test::HostDense<double>;
template struct tulle::test::HostDense<tulle::Float16>;
template struct tulle::test::HostDense<tulle::Bfloat16>;
