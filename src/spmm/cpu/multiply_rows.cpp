// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Row by row: some columns of a row of C are held in vector registers while the row's nonzeros bring in rows of B.
// Threads have rows with equal numbers of nonzeros. The library is compiled for any x86-64; the machine is asked when
// running for its wider vectors.
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/machine.hpp"
#include "base/vector.hpp"
#include "prim/merge_path.hpp"
#include "spmm/steps.hpp"

#pragma GCC diagnostic ignored "-Wpsabi"  // vectors are passed between functions that are always inlined

namespace tulle::inline TULLE_ABI::spmm {
namespace {

using simd::load;
using simd::Vector;

template <class V, class C>
[[gnu::always_inline]] inline void put(const Operands<V, C>& o, offset_t row, offset_t j, Sum<V> sum)
{
    using Entry = EntryType<C>;
    Entry* to = o.c + row * o.c_row + j * o.c_col;
    sum = RowFactor<V, C>(o, row)(sum);
    *to = static_cast<Entry>(o.beta == 0 ? o.alpha * sum : o.alpha * sum + o.beta * static_cast<Sum<V>>(*to));
}

template <int Count, class V, class C>
[[gnu::always_inline]] inline void put_vector(const Operands<V, C>& o, offset_t row, offset_t j,
                                              Vector<Sum<V>, Count> sum)
{
    if constexpr (std::is_same_v<EntryType<C>, Sum<V>>)
        if (o.c_col == 1) {
            EntryType<C>* to = o.c + row * o.c_row + j;
            if constexpr (is_scaled<C>) sum *= o.row_scale[row];
            sum = o.beta == 0 ? o.alpha * sum : o.alpha * sum + o.beta * load<Count>(to);
            std::memcpy(to, &sum, sizeof(sum));
            return;
        }
    for (int l = 0; l < Count; ++l) put(o, row, j + l, sum[l]);
}

// `Vectors` vectors of columns of one row of C, from column j on; rows of B are contiguous. Even and odd nonzeros are
// added up apart, so that an addition need not wait for the one before it.
template <int Vectors, int Count, class V, class C>
[[gnu::always_inline]] inline void multiply_block(const CsrView<V>& a, offset_t row, const Operands<V, C>& o,
                                                  offset_t j)
{
    using S = Sum<V>;
    Vector<S, Count> even[Vectors] = {}, odd[Vectors] = {};
    const offset_t end = a.row_begin[row + 1];
    offset_t k = a.row_begin[row];
    for (; k + 1 < end; k += 2) {
        const S first = static_cast<S>(a.value[k]), second = static_cast<S>(a.value[k + 1]);
        const V *b = o.b + a.col[k] * o.b_row + j, *next = o.b + a.col[k + 1] * o.b_row + j;
        for (int v = 0; v < Vectors; ++v) {
            even[v] += first * load<Count>(b + v * Count);
            odd[v] += second * load<Count>(next + v * Count);
        }
    }
    if (k < end)
        for (int v = 0; v < Vectors; ++v)
            even[v] += static_cast<S>(a.value[k]) * load<Count>(o.b + a.col[k] * o.b_row + j + v * Count);
    for (int v = 0; v < Vectors; ++v) put_vector<Count>(o, row, j + v * Count, even[v] + odd[v]);
}

// One column of one row of C, whatever the strides; added up as in the blocks.
template <class V, class C>
[[gnu::always_inline]] inline void multiply_one(const CsrView<V>& a, offset_t row, const Operands<V, C>& o, offset_t j)
{
    using S = Sum<V>;
    S even = 0, odd = 0;
    const offset_t end = a.row_begin[row + 1];
    offset_t k = a.row_begin[row];
    for (; k + 1 < end; k += 2) {
        even += static_cast<S>(a.value[k]) * static_cast<S>(o.b[a.col[k] * o.b_row + j * o.b_col]);
        odd += static_cast<S>(a.value[k + 1]) * static_cast<S>(o.b[a.col[k + 1] * o.b_row + j * o.b_col]);
    }
    if (k < end) even += static_cast<S>(a.value[k]) * static_cast<S>(o.b[a.col[k] * o.b_row + j * o.b_col]);
    put(o, row, j, even + odd);
}

// Rows [begin, end), widest blocks first: 128 bytes of sums in vectors as wide as the machine's registers. (Wider ones
// are kept in memory by the compiler, as 64 bytes are on a Neoverse V1, whose registers have 16.)
template <int RegisterBytes, class V, class C>
[[gnu::always_inline]] inline void multiply_stretch(const CsrView<V>& a, offset_t begin, offset_t end,
                                                    const Operands<V, C>& o)
{
    constexpr int vectors = 128 / RegisterBytes;
    constexpr int wide = RegisterBytes / sizeof(Sum<V>), narrow = 16 / sizeof(Sum<V>);
    for (offset_t row = begin; row < end; ++row) {
        offset_t j = 0;
        if (o.b_col == 1) {
            for (; j + vectors * wide <= o.n; j += vectors * wide) multiply_block<vectors, wide>(a, row, o, j);
            for (; j + narrow <= o.n; j += narrow) multiply_block<1, narrow>(a, row, o, j);
        }
        for (; j < o.n; ++j) multiply_one(a, row, o, j);
    }
}

template <class V, class C>
void multiply_plain(const CsrView<V>& a, offset_t begin, offset_t end, const Operands<V, C>& o)
{
    multiply_stretch<16>(a, begin, end, o);
}

#if defined(__x86_64__)

template <class V, class C>
[[gnu::target("avx2,fma")]] void multiply_avx2(const CsrView<V>& a, offset_t begin, offset_t end,
                                               const Operands<V, C>& o)
{
    multiply_stretch<32>(a, begin, end, o);
}

template <class V, class C>
[[gnu::target("avx512f,avx512bw,avx512vl,avx512dq,fma")]] void multiply_avx512(const CsrView<V>& a, offset_t begin,
                                                                               offset_t end, const Operands<V, C>& o)
{
    multiply_stretch<64>(a, begin, end, o);
}

template <class V, class C>
auto best_stretch()
{
    const simd::Machine machine = simd::machine();
    return machine == simd::Machine::avx512 ? &multiply_avx512<V, C>
           : machine == simd::Machine::avx2 ? &multiply_avx2<V, C>
                                            : &multiply_plain<V, C>;
}

#else

template <class V, class C>
auto best_stretch()
{
    return &multiply_plain<V, C>;
}

#endif

}  // namespace

template <class V, class C>
void multiply_rows(const CpuQueue& q, const CsrView<V>& a, int, const Workspace<V>&, const Operands<V, C>& o)
{
    const offset_t steps = prim::steps_per_part(a.rows, a.nonzeros, q.threads), all = a.rows + a.nonzeros;
    const auto stretch = best_stretch<V, C>();
#pragma omp parallel for num_threads(q.threads) schedule(static)
    for (int t = 0; t < q.threads; ++t) {
        const auto row_at = [&](offset_t part) {
            return prim::merge_point(a.row_begin, a.rows, a.nonzeros, std::min(all, part * steps)).row;
        };
        stretch(a, row_at(t), row_at(t + 1), o);
    }
}

template void multiply_rows(const CpuQueue&, const CsrView<double>&, int, const Workspace<double>&,
                            const Operands<double, double>&);
template void multiply_rows(const CpuQueue&, const CsrView<float>&, int, const Workspace<float>&,
                            const Operands<float, float>&);
template void multiply_rows(const CpuQueue&, const CsrView<Float16>&, int, const Workspace<Float16>&,
                            const Operands<Float16, Float16>&);
template void multiply_rows(const CpuQueue&, const CsrView<Float16>&, int, const Workspace<Float16>&,
                            const Operands<Float16, float>&);
template void multiply_rows(const CpuQueue&, const CsrView<Bfloat16>&, int, const Workspace<Bfloat16>&,
                            const Operands<Bfloat16, Bfloat16>&);
template void multiply_rows(const CpuQueue&, const CsrView<Bfloat16>&, int, const Workspace<Bfloat16>&,
                            const Operands<Bfloat16, float>&);
template void multiply_rows(const CpuQueue&, const CsrView<Float16>&, int, const Workspace<Float16>&,
                            const Operands<Float16, Scaled<Float16>>&);
template void multiply_rows(const CpuQueue&, const CsrView<Float16>&, int, const Workspace<Float16>&,
                            const Operands<Float16, Scaled<float>>&);
template void multiply_rows(const CpuQueue&, const CsrView<Bfloat16>&, int, const Workspace<Bfloat16>&,
                            const Operands<Bfloat16, Scaled<Bfloat16>>&);
template void multiply_rows(const CpuQueue&, const CsrView<Bfloat16>&, int, const Workspace<Bfloat16>&,
                            const Operands<Bfloat16, Scaled<float>>&);

}  // namespace tulle::inline TULLE_ABI::spmm
