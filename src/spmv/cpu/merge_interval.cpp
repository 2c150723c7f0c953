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

    template <class M>
    Pattern(const CsrView<M>& a, const Narrow& narrow)
    {
        if constexpr (std::is_same_v<Offset, offset_t>) row_begin = a.row_begin;
        else row_begin = narrow.row_begin.data();
        if constexpr (std::is_same_v<C, index_t>) col = a.col;
        else {
            col = narrow.col.data();
            if (!narrow.base.empty()) base = narrow.base.data();
        }
    }

    template <class V>
    const V* x_of(offset_t row, const V* x) const
    {
        if constexpr (std::is_same_v<C, index_t>) return x;
        else return base ? x + base[row] : x;
    }
};

// Everything the loop needs is in local variables: what is written to y could change anything behind a reference, as
// far as the compiler knows.
template <int Sums, Scaling S, class Offset, class C, class V, class M>
V multiply_with(const CsrView<M>& a, const Narrow& narrow, const Vectors<V>& v, offset_t from_row,
                offset_t from_nonzero, offset_t to_row, offset_t to_nonzero)
{
    const Pattern<Offset, C> pattern(a, narrow);
    const Offset* const row_begin = pattern.row_begin;
    const M* const value = a.value;
    const C* const col = pattern.col;
    const V* const x = v.x;
    V* const y = v.y;
    const V alpha = v.alpha, beta = v.beta;
    offset_t k = from_nonzero;
    for (offset_t i = from_row; i < to_row; ++i) {
        const offset_t end = row_begin[i + 1];
        const V sum = dot<Sums>(value, col, k, end, pattern.x_of(i, x));
        if constexpr (S == Scaling::alpha_and_beta) y[i] = alpha * sum + beta * y[i];
        else y[i] = S == Scaling::none ? sum : alpha * sum;
        k = end;
    }
    return k < to_nonzero ? dot<Sums>(value, col, k, to_nonzero, pattern.x_of(to_row, x)) : V(0);
}

// An IntervalLoop, as the two below.
template <int Sums, class Offset, class C, class V, class M>
V multiply_sums(const CsrView<M>& a, const Narrow& narrow, const Vectors<V>& v, offset_t from_row,
                offset_t from_nonzero, offset_t to_row, offset_t to_nonzero)
{
    const auto with = [&]<Scaling S>() {
        return multiply_with<Sums, S, Offset, C>(a, narrow, v, from_row, from_nonzero, to_row, to_nonzero);
    };
    switch (scaling_of(v)) {
    case Scaling::none: return with.template operator()<Scaling::none>();
    case Scaling::alpha: return with.template operator()<Scaling::alpha>();
    case Scaling::alpha_and_beta: break;
    }
    return with.template operator()<Scaling::alpha_and_beta>();
}

#if defined(__x86_64__)

bool ask_for_gathers()
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma");
}

// As multiply_with, which cannot call what it is not itself compiled for.
template <bool Beta, class Offset, class C, class V, class M>
TULLE_AVX2 V avx2_with(const CsrView<M>& a, const Narrow& narrow, const Vectors<V>& v, offset_t from_row,
                       offset_t from_nonzero, offset_t to_row, offset_t to_nonzero)
{
    const Pattern<Offset, C> pattern(a, narrow);
    const Offset* const row_begin = pattern.row_begin;
    const M* const value = a.value;
    const C* const col = pattern.col;
    const V* const x = v.x;
    V* const y = v.y;
    const V alpha = v.alpha, beta = v.beta;
    offset_t k = from_nonzero;
    for (offset_t i = from_row; i < to_row; ++i) {
        const offset_t end = row_begin[i + 1];
        const V sum = dot_avx2(value, col, k, end, pattern.x_of(i, x));
        if constexpr (Beta) y[i] = std::fma(beta, y[i], alpha * sum);
        else y[i] = alpha * sum;
        k = end;
    }
    return k < to_nonzero ? dot_avx2(value, col, k, to_nonzero, pattern.x_of(to_row, x)) : V(0);
}

// … nor here.
template <bool Beta, class Offset, class C, class V, class M>
TULLE_GATHERS V vectors_with(const CsrView<M>& a, const Narrow& narrow, const Vectors<V>& v, offset_t from_row,
                             offset_t from_nonzero, offset_t to_row, offset_t to_nonzero)
{
    const Pattern<Offset, C> pattern(a, narrow);
    const Offset* const row_begin = pattern.row_begin;
    const M* const value = a.value;
    const C* const col = pattern.col;
    const V* const x = v.x;
    V* const y = v.y;
    const V alpha = v.alpha, beta = v.beta;
    Unchecked check;
    offset_t k = from_nonzero;
    for (offset_t i = from_row; i < to_row; ++i) {
        const offset_t end = row_begin[i + 1];
        const V sum = vector_dot(value + k, col + k, end - k, pattern.x_of(i, x), check);
        if constexpr (Beta) y[i] = std::fma(beta, y[i], alpha * sum);
        else y[i] = alpha * sum;
        k = end;
    }
    return k < to_nonzero ? vector_dot(value + k, col + k, to_nonzero - k, pattern.x_of(to_row, x), check) : V(0);
}

template <class Offset, class C, class V, class M>
V multiply_avx2(const CsrView<M>& a, const Narrow& narrow, const Vectors<V>& v, offset_t from_row,
                offset_t from_nonzero, offset_t to_row, offset_t to_nonzero)
{
    const auto loop = v.beta == V(0) ? avx2_with<false, Offset, C, V, M> : avx2_with<true, Offset, C, V, M>;
    return loop(a, narrow, v, from_row, from_nonzero, to_row, to_nonzero);
}

template <class Offset, class C, class V, class M>
V multiply_vectors(const CsrView<M>& a, const Narrow& narrow, const Vectors<V>& v, offset_t from_row,
                   offset_t from_nonzero, offset_t to_row, offset_t to_nonzero)
{
    const auto loop = v.beta == V(0) ? vectors_with<false, Offset, C, V, M> : vectors_with<true, Offset, C, V, M>;
    return loop(a, narrow, v, from_row, from_nonzero, to_row, to_nonzero);
}

template <class V, class M, class Offset, class C>
IntervalLoop<V, M> vector_loop(int sums)
{
    if (sums == 8 && has_gathers()) return multiply_vectors<Offset, C, V, M>;
    return has_avx2() ? multiply_avx2<Offset, C, V, M> : multiply_sums<4, Offset, C, V, M>;
}

#else

bool ask_for_gathers() { return false; }

template <class V, class M, class Offset, class C>
IntervalLoop<V, M> vector_loop(int)
{
    return multiply_sums<4, Offset, C, V, M>;
}

#endif

template <class V, class M, class Offset, class C>
IntervalLoop<V, M> loop_over(const CsrView<M>& a, int sums)
{
    if (sums == 8 && !has_gathers()) sums = a.nonzeros >= long_row * a.rows ? 4 : 1;
    if (sums >= 4) return vector_loop<V, M, Offset, C>(sums);
    return sums == 2 ? multiply_sums<2, Offset, C, V, M> : multiply_sums<1, Offset, C, V, M>;
}

}  // namespace

bool has_gathers()
{
    static const bool found = ask_for_gathers();
    return found;
}

template <class V, class M>
IntervalLoop<V, M> interval_loop(const CsrView<M>& a, const Narrow& narrow, int sums)
{
    if (narrow.row_begin.empty()) return loop_over<V, M, offset_t, index_t>(a, sums);
    if (narrow.col.empty()) return loop_over<V, M, std::int32_t, index_t>(a, sums);
    return loop_over<V, M, std::int32_t, std::uint16_t>(a, sums);
}

template IntervalLoop<float, float> interval_loop(const CsrView<float>&, const Narrow&, int);
template IntervalLoop<double, double> interval_loop(const CsrView<double>&, const Narrow&, int);
template IntervalLoop<double, float> interval_loop(const CsrView<float>&, const Narrow&, int);
template IntervalLoop<float, Float16> interval_loop(const CsrView<Float16>&, const Narrow&, int);
template IntervalLoop<float, Bfloat16> interval_loop(const CsrView<Bfloat16>&, const Narrow&, int);

}  // namespace tulle::inline TULLE_ABI::spmv
