// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Products of rows with x, in plain C++, with AVX2 and with the gathers of AVX-512. The library is compiled for any
// x86-64; the machine is asked when running.
#include "spmv/cpu/merge_interval.hpp"

#include <cmath>
#include <type_traits>

#include "spmv/cpu/avx2.hpp"
#include "spmv/cpu/row_dot.hpp"
#include "spmv/cpu/scaling.hpp"

namespace tulle::inline TULLE_ABI::spmv {
namespace {

constexpr offset_t long_row = 32;  // from this mean on, four plain sums beat one (docs/design/spmv.md)

// Where offsets and columns are read: the matrix's own, the plan's offsets of 32 bits, or both of the plan, columns of
// 16 bits from the base of their row where there is one. The matrix's own columns have none at compile time: in rows of
// a few nonzeros a branch more is felt.
template <class Offset, class C>
struct Pattern {
    const Offset* row_begin;
    const C* col;
    const index_t* base = nullptr;

    template <class V>
    const V* x_of(offset_t row, const V* x) const
    {
        if constexpr (std::is_same_v<C, index_t>) return x;
        else return base ? x + base[row] : x;
    }
};

// Everything the loop needs is in local variables: what is written to y could change anything behind a reference, as
// far as the compiler knows.
template <int Sums, Scaling S, class V, class M, class Offset, class C>
V multiply_with(const CsrView<M>& a, const Pattern<Offset, C> pattern, const prim::MergePoint& from,
                const prim::MergePoint& to, const Vectors<V>& v)
{
    const Offset* const row_begin = pattern.row_begin;
    const M* const value = a.value;
    const C* const col = pattern.col;
    const V* const x = v.x;
    V* const y = v.y;
    const V alpha = v.alpha, beta = v.beta;
    offset_t k = from.nonzero;
    for (offset_t i = from.row; i < to.row; ++i) {
        const offset_t end = row_begin[i + 1];
        const V sum = dot<Sums>(value, col, k, end, pattern.x_of(i, x));
        if constexpr (S == Scaling::alpha_and_beta) y[i] = alpha * sum + beta * y[i];
        else y[i] = S == Scaling::none ? sum : alpha * sum;
        k = end;
    }
    return k < to.nonzero ? dot<Sums>(value, col, k, to.nonzero, pattern.x_of(to.row, x)) : V(0);
}

template <int Sums, class V, class M, class Offset, class C>
V multiply_sums(const CsrView<M>& a, const Pattern<Offset, C>& pattern, const prim::MergePoint& from,
                const prim::MergePoint& to, const Vectors<V>& v)
{
    switch (scaling_of(v)) {
    case Scaling::none: return multiply_with<Sums, Scaling::none>(a, pattern, from, to, v);
    case Scaling::alpha: return multiply_with<Sums, Scaling::alpha>(a, pattern, from, to, v);
    case Scaling::alpha_and_beta: break;
    }
    return multiply_with<Sums, Scaling::alpha_and_beta>(a, pattern, from, to, v);
}

template <class V, class M, class Offset, class C>
V multiply_plain(const CsrView<M>& a, const Pattern<Offset, C>& pattern, const prim::MergePoint& from,
                 const prim::MergePoint& to, int sums, const Vectors<V>& v)
{
    if (sums == 4) return multiply_sums<4>(a, pattern, from, to, v);
    return sums == 2 ? multiply_sums<2>(a, pattern, from, to, v) : multiply_sums<1>(a, pattern, from, to, v);
}

#if defined(__x86_64__)

bool ask_for_gathers()
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma");
}

// As multiply_with, which cannot call what it is not itself compiled for.
template <bool Beta, class V, class M, class Offset, class C>
TULLE_AVX2 V avx2_with(const CsrView<M>& a, const Pattern<Offset, C> pattern, const prim::MergePoint& from,
                       const prim::MergePoint& to, const Vectors<V>& v)
{
    const Offset* const row_begin = pattern.row_begin;
    const M* const value = a.value;
    const C* const col = pattern.col;
    const V* const x = v.x;
    V* const y = v.y;
    const V alpha = v.alpha, beta = v.beta;
    offset_t k = from.nonzero;
    for (offset_t i = from.row; i < to.row; ++i) {
        const offset_t end = row_begin[i + 1];
        const V sum = dot_avx2(value, col, k, end, pattern.x_of(i, x));
        if constexpr (Beta) y[i] = std::fma(beta, y[i], alpha * sum);
        else y[i] = alpha * sum;
        k = end;
    }
    return k < to.nonzero ? dot_avx2(value, col, k, to.nonzero, pattern.x_of(to.row, x)) : V(0);
}

// … nor here.
template <bool Beta, class V, class M, class Offset, class C>
TULLE_GATHERS V vectors_with(const CsrView<M>& a, const Pattern<Offset, C> pattern, const prim::MergePoint& from,
                             const prim::MergePoint& to, const Vectors<V>& v)
{
    const Offset* const row_begin = pattern.row_begin;
    const M* const value = a.value;
    const C* const col = pattern.col;
    const V* const x = v.x;
    V* const y = v.y;
    const V alpha = v.alpha, beta = v.beta;
    Unchecked check;
    offset_t k = from.nonzero;
    for (offset_t i = from.row; i < to.row; ++i) {
        const offset_t end = row_begin[i + 1];
        const V sum = vector_dot(value + k, col + k, end - k, pattern.x_of(i, x), check);
        if constexpr (Beta) y[i] = std::fma(beta, y[i], alpha * sum);
        else y[i] = alpha * sum;
        k = end;
    }
    return k < to.nonzero ? vector_dot(value + k, col + k, to.nonzero - k, pattern.x_of(to.row, x), check) : V(0);
}

template <class V, class M, class Offset, class C>
V multiply_avx2(const CsrView<M>& a, const Pattern<Offset, C>& pattern, const prim::MergePoint& from,
                const prim::MergePoint& to, const Vectors<V>& v)
{
    return v.beta == V(0) ? avx2_with<false>(a, pattern, from, to, v) : avx2_with<true>(a, pattern, from, to, v);
}

template <class V, class M, class Offset, class C>
V multiply_vectors(const CsrView<M>& a, const Pattern<Offset, C>& pattern, const prim::MergePoint& from,
                   const prim::MergePoint& to, const Vectors<V>& v)
{
    return v.beta == V(0) ? vectors_with<false>(a, pattern, from, to, v) : vectors_with<true>(a, pattern, from, to, v);
}

#else

bool ask_for_gathers() { return false; }

template <class V, class M, class Offset, class C>
V multiply_avx2(const CsrView<M>& a, const Pattern<Offset, C>& pattern, const prim::MergePoint& from,
                const prim::MergePoint& to, const Vectors<V>& v)
{
    return multiply_plain(a, pattern, from, to, 4, v);
}

template <class V, class M, class Offset, class C>
V multiply_vectors(const CsrView<M>& a, const Pattern<Offset, C>& pattern, const prim::MergePoint& from,
                   const prim::MergePoint& to, const Vectors<V>& v)
{
    return multiply_plain(a, pattern, from, to, 4, v);
}

#endif

template <class V, class M, class Offset, class C>
V multiply_pattern(const CsrView<M>& a, const Pattern<Offset, C>& pattern, const prim::MergePoint& from,
                   const prim::MergePoint& to, int sums, const Vectors<V>& v)
{
    if (sums == 8 && has_gathers()) return multiply_vectors(a, pattern, from, to, v);
    if (sums == 8) sums = a.nonzeros >= long_row * a.rows ? 4 : 1;
    if (sums == 4 && has_avx2()) return multiply_avx2(a, pattern, from, to, v);
    return multiply_plain(a, pattern, from, to, sums, v);
}

}  // namespace

bool has_gathers()
{
    static const bool found = ask_for_gathers();
    return found;
}

template <class V, class M>
V multiply_interval(const CsrView<M>& a, const Narrow& narrow, prim::MergePoint from, prim::MergePoint to, int sums,
                    const Vectors<V>& v)
{
    const std::int32_t* const short_offsets = narrow.row_begin.data();
    if (narrow.row_begin.empty())
        return multiply_pattern(a, Pattern<offset_t, index_t>{a.row_begin, a.col}, from, to, sums, v);
    if (narrow.col.empty())
        return multiply_pattern(a, Pattern<std::int32_t, index_t>{short_offsets, a.col}, from, to, sums, v);
    const index_t* const base = narrow.base.empty() ? nullptr : narrow.base.data();
    return multiply_pattern(a, Pattern<std::int32_t, std::uint16_t>{short_offsets, narrow.col.data(), base}, from, to,
                            sums, v);
}

template float multiply_interval(const CsrView<float>&, const Narrow&, prim::MergePoint, prim::MergePoint, int,
                                 const Vectors<float>&);
template double multiply_interval(const CsrView<double>&, const Narrow&, prim::MergePoint, prim::MergePoint, int,
                                  const Vectors<double>&);
template double multiply_interval(const CsrView<float>&, const Narrow&, prim::MergePoint, prim::MergePoint, int,
                                  const Vectors<double>&);
template float multiply_interval(const CsrView<Float16>&, const Narrow&, prim::MergePoint, prim::MergePoint, int,
                                 const Vectors<float>&);
template float multiply_interval(const CsrView<Bfloat16>&, const Narrow&, prim::MergePoint, prim::MergePoint, int,
                                 const Vectors<float>&);

}  // namespace tulle::inline TULLE_ABI::spmv
