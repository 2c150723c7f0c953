// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Four nonzeros of a row at a time: a row of X stays in the L1 and is loaded once for four rows of Y. Threads have
// equal numbers of nonzeros, also where a row is longer than that.
#include <algorithm>

#include "base/machine.hpp"
#include "prim/cpu/pieces.hpp"
#include "sddmm/cpu/row_dots.hpp"

namespace tulle::inline TULLE_ABI::sddmm {
namespace {

// Nonzeros [begin, end).
template <int RegisterBytes, class V, class C>
[[gnu::always_inline]] inline void sample_range(const CsrView<V>& a, offset_t begin, offset_t end,
                                                const Sampled<V, C>& o)
{
    using S = Sum<V>;
    constexpr int count = RegisterBytes / sizeof(S);
    const auto put = [&](offset_t p, S dot) {
        const S product = o.value ? o.alpha * (dot * static_cast<S>(o.value[p])) : o.alpha * dot;
        o.c[p] = static_cast<C>(o.beta == 0 ? product : product + o.beta * static_cast<S>(o.c[p]));
    };
    offset_t row = std::upper_bound(a.row_begin, a.row_begin + a.rows + 1, begin) - a.row_begin - 1;
    for (offset_t p = begin; p < end; ++row) {
        const offset_t stop = std::min(end, a.row_begin[row + 1]);
        walk_dots<count, V>(o.x, o.y, row, a.col, p, stop, o.k, put);
        p = stop;
    }
}

template <class V, class C>
void sample_plain(const CsrView<V>& a, offset_t begin, offset_t end, const Sampled<V, C>& o)
{
    sample_range<16>(a, begin, end, o);
}

#if defined(__x86_64__)

template <class V, class C>
[[gnu::target("avx2,fma")]] void sample_avx2(const CsrView<V>& a, offset_t begin, offset_t end, const Sampled<V, C>& o)
{
    sample_range<32>(a, begin, end, o);
}

template <class V, class C>
[[gnu::target("avx512f,avx512bw,avx512vl,avx512dq,fma")]] void sample_avx512(const CsrView<V>& a, offset_t begin,
                                                                             offset_t end, const Sampled<V, C>& o)
{
    sample_range<64>(a, begin, end, o);
}

template <class V, class C>
auto best_kernel()
{
    const simd::Machine machine = simd::machine();
    return machine == simd::Machine::avx512 ? &sample_avx512<V, C>
           : machine == simd::Machine::avx2 ? &sample_avx2<V, C>
                                            : &sample_plain<V, C>;
}

#else

template <class V, class C>
auto best_kernel()
{
    return &sample_plain<V, C>;
}

#endif

}  // namespace

template <class V, class C>
void sample(const CpuQueue& q, const CsrView<V>& a, const Walk&, const Sampled<V, C>& o)
{
    const auto sample_part = best_kernel<V, C>();
    prim::each_thread(q,
                      [&](int t) { sample_part(a, a.nonzeros * t / q.threads, a.nonzeros * (t + 1) / q.threads, o); });
}

template void sample(const CpuQueue&, const CsrView<double>&, const Walk&, const Sampled<double, double>&);
template void sample(const CpuQueue&, const CsrView<float>&, const Walk&, const Sampled<float, float>&);
template void sample(const CpuQueue&, const CsrView<Float16>&, const Walk&, const Sampled<Float16, Float16>&);
template void sample(const CpuQueue&, const CsrView<Float16>&, const Walk&, const Sampled<Float16, float>&);
template void sample(const CpuQueue&, const CsrView<Bfloat16>&, const Walk&, const Sampled<Bfloat16, Bfloat16>&);
template void sample(const CpuQueue&, const CsrView<Bfloat16>&, const Walk&, const Sampled<Bfloat16, float>&);

}  // namespace tulle::inline TULLE_ABI::sddmm
