// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Products of rows with x, in plain C++ and with the gathers of AVX-512. The library is compiled for any x86-64; the
// machine is asked when running.
#include "spmv/cpu/merge_interval.hpp"

#include <cmath>
#include <type_traits>

#include "spmv/cpu/row_dot.hpp"

namespace tulle::inline TULLE_ABI::spmv {
namespace {

constexpr offset_t long_row = 32;  // from this mean on, four plain sums beat one (docs/design/spmv.md)

// Where columns are read: the matrix's own, or the plan's of 16 bits, from the base of their row where there is one.
// The matrix's own have none at compile time: in rows of a few nonzeros a branch more is felt.
template <class C>
struct Columns {
    const C* col;
    const index_t* base = nullptr;

    template <class V>
    const V* x_of(offset_t row, const V* x) const
    {
        if constexpr (std::is_same_v<C, index_t>) return x;
        else return base ? x + base[row] : x;
    }
};

// y = A x, y = alpha A x, y = alpha A x + beta y: in rows of a few nonzeros a product more is felt.
enum class Scaling { none, alpha, alpha_and_beta };

template <class V>
Scaling scaling_of(const Vectors<V>& v)
{
    if (v.beta != V(0)) return Scaling::alpha_and_beta;
    return v.alpha == V(1) ? Scaling::none : Scaling::alpha;
}

// Everything the loop needs is in local variables: what is written to y could change anything behind a reference, as
// far as the compiler knows.
template <int Sums, Scaling S, class V, class M, class C>
V multiply_with(const CsrView<M>& a, const Columns<C> columns, prim::MergePoint from, prim::MergePoint to,
                const Vectors<V>& v)
{
    const offset_t* const row_begin = a.row_begin;
    const M* const value = a.value;
    const C* const col = columns.col;
    const V* const x = v.x;
    V* const y = v.y;
    const V alpha = v.alpha, beta = v.beta;
    offset_t k = from.nonzero;
    for (offset_t i = from.row; i < to.row; ++i) {
        const offset_t end = row_begin[i + 1];
        const V sum = dot<Sums>(value, col, k, end, columns.x_of(i, x));
        if constexpr (S == Scaling::alpha_and_beta) y[i] = alpha * sum + beta * y[i];
        else y[i] = S == Scaling::none ? sum : alpha * sum;
        k = end;
    }
    return k < to.nonzero ? dot<Sums>(value, col, k, to.nonzero, columns.x_of(to.row, x)) : V(0);
}

template <int Sums, class V, class M, class C>
V multiply_sums(const CsrView<M>& a, const Columns<C>& columns, prim::MergePoint from, prim::MergePoint to,
                const Vectors<V>& v)
{
    switch (scaling_of(v)) {
    case Scaling::none: return multiply_with<Sums, Scaling::none>(a, columns, from, to, v);
    case Scaling::alpha: return multiply_with<Sums, Scaling::alpha>(a, columns, from, to, v);
    case Scaling::alpha_and_beta: break;
    }
    return multiply_with<Sums, Scaling::alpha_and_beta>(a, columns, from, to, v);
}

template <class V, class M, class C>
V multiply_plain(const CsrView<M>& a, const Columns<C>& columns, prim::MergePoint from, prim::MergePoint to, int sums,
                 const Vectors<V>& v)
{
    if (sums == 4) return multiply_sums<4>(a, columns, from, to, v);
    return sums == 2 ? multiply_sums<2>(a, columns, from, to, v) : multiply_sums<1>(a, columns, from, to, v);
}

#if defined(__x86_64__)

bool ask_for_gathers()
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("bmi2");
}

// As multiply_with, which cannot call what it is not itself compiled for.
template <bool Beta, class V, class M, class C>
TULLE_GATHERS V vectors_with(const CsrView<M>& a, const Columns<C> columns, prim::MergePoint from, prim::MergePoint to,
                             const Vectors<V>& v)
{
    const offset_t* const row_begin = a.row_begin;
    const M* const value = a.value;
    const C* const col = columns.col;
    const V* const x = v.x;
    V* const y = v.y;
    const V alpha = v.alpha, beta = v.beta;
    offset_t k = from.nonzero;
    for (offset_t i = from.row; i < to.row; ++i) {
        const offset_t end = row_begin[i + 1];
        const V sum = vector_dot(value + k, col + k, end - k, columns.x_of(i, x));
        if constexpr (Beta) y[i] = std::fma(beta, y[i], alpha * sum);
        else y[i] = alpha * sum;
        k = end;
    }
    return k < to.nonzero ? vector_dot(value + k, col + k, to.nonzero - k, columns.x_of(to.row, x)) : V(0);
}

template <class V, class M, class C>
V multiply_vectors(const CsrView<M>& a, const Columns<C>& columns, prim::MergePoint from, prim::MergePoint to,
                   const Vectors<V>& v)
{
    return v.beta == V(0) ? vectors_with<false>(a, columns, from, to, v) : vectors_with<true>(a, columns, from, to, v);
}

#else

bool ask_for_gathers() { return false; }

template <class V, class M, class C>
V multiply_vectors(const CsrView<M>& a, const Columns<C>& columns, prim::MergePoint from, prim::MergePoint to,
                   const Vectors<V>& v)
{
    return multiply_plain(a, columns, from, to, 4, v);
}

#endif

template <class V, class M, class C>
V multiply_columns(const CsrView<M>& a, const Columns<C>& columns, prim::MergePoint from, prim::MergePoint to, int sums,
                   const Vectors<V>& v)
{
    if (sums == 8 && has_gathers()) return multiply_vectors(a, columns, from, to, v);
    return multiply_plain(a, columns, from, to, sums == 8 ? (a.nonzeros >= long_row * a.rows ? 4 : 1) : sums, v);
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
    if (narrow.row_begin.empty()) return multiply_columns(a, Columns<index_t>{a.col}, from, to, sums, v);
    return multiply_columns(a,
                            Columns<std::uint16_t>{narrow.col.data(),
                                                   narrow.base.empty() ? nullptr : narrow.base.data()},
                            from, to, sums, v);
}

template float multiply_interval(const CsrView<float>&, const Narrow&, prim::MergePoint, prim::MergePoint, int,
                                 const Vectors<float>&);
template double multiply_interval(const CsrView<double>&, const Narrow&, prim::MergePoint, prim::MergePoint, int,
                                  const Vectors<double>&);
template double multiply_interval(const CsrView<float>&, const Narrow&, prim::MergePoint, prim::MergePoint, int,
                                  const Vectors<double>&);

}  // namespace tulle::inline TULLE_ABI::spmv
