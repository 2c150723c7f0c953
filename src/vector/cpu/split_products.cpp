// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Rounds by the addition of a large number; four independent sums of vectors for every bin, in registers. Parts follow
// from the products alone, so that the bits of the sum are the same for vectors of any width.
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>

#include "base/machine.hpp"
#include "base/vector.hpp"
#include "vector/binned_sum.hpp"
#ifdef __aarch64__
#include <arm_neon.h>
#endif

namespace tulle::inline TULLE_ABI::vector {
namespace {

template <int Count>
using Numbers = simd::Vector<double, Count>;
template <int Count>
using Bits = simd::Vector<std::int64_t, Count>;
template <int Count>
using Counts = simd::Vector<std::uint64_t, Count>;

// The larger of most, which is not negative, and the absolute value of v; infinities and NaN are above all numbers.
template <int Count>
[[gnu::always_inline]] inline void enlarge(Numbers<Count>& most, const Numbers<Count>& v)
{
#ifdef __aarch64__
    most = vmaxq_f64(most, vabsq_f64(v));  // NaN where one is
#else
    const Bits<Count> bits = simd::bits_as<Bits<Count>>(v) & std::numeric_limits<std::int64_t>::max(),
                      before = simd::bits_as<Bits<Count>>(most), larger = bits > before ? bits : before;
    most = simd::bits_as<Numbers<Count>>(larger);
#endif
}

template <int Count>
struct Sums {
    Numbers<Count> high{}, middle{}, most{};
    Counts<Count> low{};

    [[gnu::always_inline]] void add(const Sums& other)
    {
        high += other.high;
        middle += other.middle;
        low += other.low;
        enlarge<Count>(most, other.most);
    }
};

// The last bin needs no remainder: units are counted in the bits of the rounded numbers.
template <int Count, class V>
[[gnu::always_inline]] inline void add_products(const V* x, const V* y, const std::array<double, kept_bins>& big,
                                                Sums<Count>& s)
{
    using Wide = Numbers<Count>;
    const Wide v =
        __builtin_convertvector(simd::load<Count>(x), Wide) * __builtin_convertvector(simd::load<Count>(y), Wide);
    const Wide a = (v + big[0]) - big[0], rest = v - a, b = (rest + big[1]) - big[1], last = (rest - b) + big[2];
    s.high += a;
    s.middle += b;
    s.low += simd::bits_as<Counts<Count>>(last);
    enlarge<Count>(s.most, v);
}

template <int Count, class V>
[[gnu::always_inline]] inline double split_by(const V* x, const V* y, int n, int bin, Parts& part)
{
    const std::array<double, kept_bins> big{rounder(bin), rounder(bin + 1), rounder(bin + 2)};
    Sums<Count> s, t, u, w;
    int i = 0;
    for (; i + 4 * Count <= n; i += 4 * Count) {
        add_products<Count>(x + i, y + i, big, s);
        add_products<Count>(x + i + Count, y + i + Count, big, t);
        add_products<Count>(x + i + 2 * Count, y + i + 2 * Count, big, u);
        add_products<Count>(x + i + 3 * Count, y + i + 3 * Count, big, w);
    }
    for (; i < n; i += Count) {  // zeros beyond the end
        std::array<V, Count> last_x{}, last_y{};
        const auto count = static_cast<std::size_t>(std::min(Count, n - i));
        std::copy_n(x + i, count, last_x.begin());
        std::copy_n(y + i, count, last_y.begin());
        add_products<Count>(last_x.data(), last_y.data(), big, s);
    }
    s.add(t);
    s.add(u);
    s.add(w);
    const std::uint64_t none_of = std::bit_cast<std::uint64_t>(big[2]) * static_cast<std::uint64_t>(i / Count);
    part = {};
    std::uint64_t low = 0;  // means nothing, and wraps, where a product is not finite
    std::int64_t most = 0;
    for (int k = 0; k < Count; ++k) {
        part.high += s.high[k];
        part.middle += s.middle[k];
        low += s.low[k] - none_of;
        most = std::max(most, std::bit_cast<std::int64_t>(s.most[k]));
    }
    part.low = static_cast<std::int64_t>(low);
    return std::bit_cast<double>(most);
}

template <class V>
double split_plain(const V* x, const V* y, int n, int bin, Parts& part)
{
    return split_by<2>(x, y, n, bin, part);
}

#if defined(__x86_64__)

template <class V>
[[gnu::target("avx2")]] double split_avx2(const V* x, const V* y, int n, int bin, Parts& part)
{
    return split_by<4>(x, y, n, bin, part);
}

template <class V>
[[gnu::target("avx512f,avx512bw,avx512vl,avx512dq")]] double split_avx512(const V* x, const V* y, int n, int bin,
                                                                          Parts& part)
{
    return split_by<8>(x, y, n, bin, part);
}

template <class V>
auto best_kernel()
{
    const simd::Machine machine = simd::machine();
    return machine == simd::Machine::avx512 ? &split_avx512<V>
           : machine == simd::Machine::avx2 ? &split_avx2<V>
                                            : &split_plain<V>;
}

#else

template <class V>
auto best_kernel()
{
    return &split_plain<V>;
}

#endif

}  // namespace

template <class V>
double split_products(const V* x, const V* y, int n, int bin, Parts& part)
{
    return best_kernel<V>()(x, y, n, bin, part);
}

template double split_products(const float*, const float*, int, int, Parts&);
template double split_products(const double*, const double*, int, int, Parts&);

}  // namespace tulle::inline TULLE_ABI::vector
