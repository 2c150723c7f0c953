// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// One sum for each row, the rows of a window in order of their lengths: a loop over rows of one length has no branch at
// the end of a row, which nobody can foresee where neighbours differ. A window has so few rows that what its rows read
// and write stays in the first cache, and their places in it take a byte each.
#include "spmv/cpu/row_windows.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/math.hpp"
#include "spmv/cpu/row_dot.hpp"
#include "spmv/cpu/scaling.hpp"

namespace tulle::inline TULLE_ABI::spmv {
namespace {

constexpr std::size_t longer = RowWindow::lengths - 1;  // where rows of other lengths are counted

std::size_t length_class(const offset_t* row_begin, offset_t row)
{
    return static_cast<std::size_t>(std::min<offset_t>(row_begin[row + 1] - row_begin[row], longer));
}

void fill_window(const offset_t* row_begin, offset_t rows, RowWindow& w)
{
    w.count = {};
    for (offset_t i = 0; i < rows; ++i) ++w.count[length_class(row_begin, i)];
    std::array<std::size_t, RowWindow::lengths> place{};
    for (std::size_t k = 1; k < place.size(); ++k) place[k] = place[k - 1] + w.count[k - 1];
    for (offset_t i = 0; i < rows; ++i) w.row[place[length_class(row_begin, i)]++] = static_cast<std::uint8_t>(i);
}

template <Scaling S, class V, class M, class Offset>
struct Product {
    const Offset* row_begin;
    const index_t* col;
    const M* value;
    const V* x;
    V* y;
    V alpha, beta;

    [[gnu::always_inline]] void put(offset_t i, V sum) const
    {
        if constexpr (S == Scaling::alpha_and_beta) y[i] = alpha * sum + beta * y[i];
        else y[i] = S == Scaling::none ? sum : alpha * sum;
    }
};

// Rows of Length nonzeros; `first` is the first row of their window.
template <std::size_t Length, Scaling S, class V, class M, class Offset>
[[gnu::always_inline]] inline const std::uint8_t* multiply_equal(const Product<S, V, M, Offset>& p, offset_t first,
                                                                 const std::uint8_t* row, std::size_t count)
{
    for (const std::uint8_t* const end = row + count; row < end; ++row) {
        const offset_t i = first + *row, begin = p.row_begin[i];
        V sum = 0;
#pragma GCC unroll 8
        for (std::size_t k = 0; k < Length; ++k)
            sum += static_cast<V>(p.value[begin + static_cast<offset_t>(k)]) *
                   p.x[p.col[begin + static_cast<offset_t>(k)]];
        p.put(i, sum);
    }
    return row;
}

template <Scaling S, class V, class M, class Offset>
void multiply_window(const Product<S, V, M, Offset> p, offset_t first, const RowWindow& w)
{
    const std::uint8_t* row = w.row.data();
    [&]<std::size_t... Length>(std::index_sequence<Length...>)
    {
        ((row = multiply_equal<Length>(p, first, row, w.count[Length])), ...);
    }
    (std::make_index_sequence<longer>());
    for (const std::uint8_t* const end = row + w.count[longer]; row < end; ++row) {
        const offset_t i = first + *row;
        p.put(i, dot<1>(p.value, p.col, p.row_begin[i], p.row_begin[i + 1], p.x));
    }
}

template <Scaling S, class V, class M, class Offset>
void multiply_with(const CsrView<M>& a, const Offset* row_begin, const RowWindow* window, offset_t first, offset_t last,
                   const Vectors<V>& v)
{
    const Product<S, V, M, Offset> p{row_begin, a.col, a.value, v.x, v.y, v.alpha, v.beta};
    for (offset_t w = ceil_div(first, RowWindow::rows); w * RowWindow::rows < last; ++w)
        multiply_window(p, w * RowWindow::rows, window[w]);
}

template <class V, class M, class Offset>
void multiply_scaled(const CsrView<M>& a, const Offset* row_begin, const RowWindow* window, offset_t first,
                     offset_t last, const Vectors<V>& v)
{
    switch (scaling_of(v)) {
    case Scaling::none: return multiply_with<Scaling::none>(a, row_begin, window, first, last, v);
    case Scaling::alpha: return multiply_with<Scaling::alpha>(a, row_begin, window, first, last, v);
    case Scaling::alpha_and_beta: break;
    }
    multiply_with<Scaling::alpha_and_beta>(a, row_begin, window, first, last, v);
}

}  // namespace

template <class M>
Buffer<RowWindow> make_windows(const CpuQueue& q, const CsrView<M>& a)
{
    const offset_t windows = ceil_div(offset_t{a.rows}, RowWindow::rows);
    Buffer<RowWindow> window(q, windows);
#pragma omp parallel for num_threads(q.threads) schedule(static)
    for (offset_t w = 0; w < windows; ++w) {
        const offset_t first = w * RowWindow::rows;
        fill_window(a.row_begin + first, std::min(RowWindow::rows, a.rows - first), window.data()[w]);
    }
    return window;
}

template <class V, class M>
void multiply_windows(const CsrView<M>& a, const Narrow& narrow, const RowWindow* window, offset_t first, offset_t last,
                      const Vectors<V>& v)
{
    if (narrow.row_begin.empty()) multiply_scaled(a, a.row_begin, window, first, last, v);
    else multiply_scaled(a, narrow.row_begin.data(), window, first, last, v);
}

template Buffer<RowWindow> make_windows(const CpuQueue&, const CsrView<float>&);
template Buffer<RowWindow> make_windows(const CpuQueue&, const CsrView<double>&);
template void multiply_windows(const CsrView<float>&, const Narrow&, const RowWindow*, offset_t, offset_t,
                               const Vectors<float>&);
template void multiply_windows(const CsrView<double>&, const Narrow&, const RowWindow*, offset_t, offset_t,
                               const Vectors<double>&);
template void multiply_windows(const CsrView<float>&, const Narrow&, const RowWindow*, offset_t, offset_t,
                               const Vectors<double>&);
template void multiply_windows(const CsrView<Float16>&, const Narrow&, const RowWindow*, offset_t, offset_t,
                               const Vectors<float>&);
template void multiply_windows(const CsrView<Bfloat16>&, const Narrow&, const RowWindow*, offset_t, offset_t,
                               const Vectors<float>&);

}  // namespace tulle::inline TULLE_ABI::spmv
