// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Dense matrices for tests of SpMM: in both layouts, with room between lines, aligned or not, between guards; the oracle in long double on the
// numbers as they are stored; and the bound that any order of summation keeps.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "support/battery.hpp"
#include "tulle/base/error_bound.hpp"
#include "tulle/matrix/move.hpp"
#include "tulle/spmm/spmm.hpp"

namespace tulle::spmm::test {

using tulle::test::battery;
using tulle::test::csr_of;
using tulle::test::is_drawn;
using tulle::test::matrix_where;
using tulle::test::random_matrix;
using tulle::test::same_bits;
using tulle::test::HostCsr;
using tulle::test::Values;

template <class V> std::string name_of() { return std::is_same_v<V, Float16> ? "f16" : std::is_same_v<V, Bfloat16> ? "bf16" : sizeof(V) == 4 ? "f32" : "f64"; }

// The same matrix with numbers of another type.
template <class V>
HostCsr<V> in_type(const HostCsr<double>& a, double scale = 1)
{
    HostCsr<V> b{.rows = a.rows, .cols = a.cols, .row_begin = a.row_begin, .col = a.col, .value = {}, .sorted = a.sorted, .unique = a.unique};
    for (const double v : a.value) b.value.push_back(static_cast<V>(scale * v));
    return b;
}

struct Form {
    Layout layout = Layout::row_major;
    index_t gap = 0;                          // entries between lines
    std::size_t margin = 64;                  // entries before the first; 64 keeps any alignment

    std::string name() const { return (layout == Layout::row_major ? "rows +" : "columns +") + std::to_string(gap) + " at " + std::to_string(margin); }
};

template <class V>
struct HostDense {
    index_t rows = 0, cols = 0;
    std::vector<V> at;                        // row after row, without gaps

    V& operator()(index_t i, index_t j) { return at[static_cast<std::size_t>(i) * static_cast<std::size_t>(cols) + static_cast<std::size_t>(j)]; }
    const V& operator()(index_t i, index_t j) const { return at[static_cast<std::size_t>(i) * static_cast<std::size_t>(cols) + static_cast<std::size_t>(j)]; }
};

template <class V>
HostDense<V> dense(index_t rows, index_t cols, Values values, std::uint64_t seed)
{
    HostDense<V> m{rows, cols, {}};
    for (index_t i = 0; i < rows; ++i)
        for (index_t j = 0; j < cols; ++j) {
            const std::uint64_t h = hash_of(seed, i, j);
            m.at.push_back(values == Values::integers ? static_cast<V>(static_cast<int>(below(h, 9)) - 4) : static_cast<V>(2.0 * unit(h) - 1.0));
        }
    return m;
}

// A dense matrix in the memory of a context, among guards: whoever writes beside it, or into the gaps between its lines, is found.
template <class V>
class Lent {
public:
    Lent(const Context& ctx, const HostDense<V>& m, const Form& form) : ctx_(ctx), form_(form), rows_(m.rows), cols_(m.cols)
    {
        const bool by_rows = form.layout == Layout::row_major;
        leading_ = offset_t{by_rows ? m.cols : m.rows} + form.gap;
        const offset_t lines = by_rows ? m.rows : m.cols;
        host_.assign(2 * form.margin + static_cast<std::size_t>(lines * leading_), guard());
        for (index_t i = 0; i < rows_; ++i)
            for (index_t j = 0; j < cols_; ++j) host_[place(i, j)] = m(i, j);
        there_ = to_device<V>(ctx, std::span<const V>(host_));
    }

    DenseView<V> view() { return {rows_, cols_, leading_, form_.layout, there_.data() + form_.margin}; }

    // The contents; everything else must be as it was.
    HostDense<V> take()
    {
        const auto now = to_host<V>(ctx_, std::span<const V>(there_.span()));
        std::vector<V> all(now.data(), now.data() + now.size());
        HostDense<V> m{rows_, cols_, {}};
        for (index_t i = 0; i < rows_; ++i)
            for (index_t j = 0; j < cols_; ++j) {
                m.at.push_back(all[place(i, j)]);
                all[place(i, j)] = guard();
            }
        const std::vector<V> untouched(all.size(), guard());
        EXPECT_TRUE(all.empty() || std::memcmp(all.data(), untouched.data(), all.size() * sizeof(V)) == 0) << "something was written beside the matrix or between its lines";
        return m;
    }

private:
    static V guard() { return static_cast<V>(-31.0); }
    std::size_t place(index_t i, index_t j) const
    {
        return form_.margin + static_cast<std::size_t>(form_.layout == Layout::row_major ? i * leading_ + j : j * leading_ + i);
    }

    Context ctx_;
    Form form_;
    index_t rows_, cols_;
    offset_t leading_ = 0;
    std::vector<V> host_;
    Buffer<V> there_;
};

// A float as tf32 has it: 10 bits of fraction, ties away from zero.
inline float tf32_of(float value)
{
    std::uint32_t bits;
    std::memcpy(&bits, &value, 4);
    if ((bits & 0x7f800000u) != 0x7f800000u) bits = (bits + 0x1000u) & ~0x1fffu;
    std::memcpy(&value, &bits, 4);
    return value;
}

struct Scalars {
    double alpha = 1, beta = 0;
};

// Whether `got` is alpha op(A) B + beta C: exactly, where sums are, or within the bound. `tensor`: the sums are a tensor core's, with inputs in tf32.
template <class V, class C>
::testing::AssertionResult is_product(const HostCsr<V>& a, bool transpose, Scalars s, const HostDense<V>& b, const HostDense<C>& before, const HostDense<C>& got, bool exact, bool tensor)
{
    const error_bound::Rounding rounding = error_bound::rounding_of<V, C>(tensor);
    const auto number = [&](V v) {
        if constexpr (std::is_same_v<V, float>) return static_cast<long double>(tensor ? tf32_of(v) : v);
        else return static_cast<long double>(v);
    };
    const auto weight = [&](V v) { return error_bound::weight(v, tensor); };
    const std::size_t all = got.at.size();
    std::vector<long double> sum(all, 0), magnitude(all, 0), terms(static_cast<std::size_t>(got.rows), 0);
    for (const auto& [i, j, v] : a.entries()) {
        const index_t to = transpose ? j : i, from = transpose ? i : j;
        ++terms[static_cast<std::size_t>(to)];
        for (index_t n = 0; n < got.cols; ++n) {
            const std::size_t at = static_cast<std::size_t>(to) * static_cast<std::size_t>(got.cols) + static_cast<std::size_t>(n);
            const long double term = number(v) * number(b(from, n));
            sum[at] += term;
            magnitude[at] += weight(v) * weight(b(from, n));
        }
    }
    for (index_t i = 0; i < got.rows; ++i)
        for (index_t n = 0; n < got.cols; ++n) {
            const std::size_t at = static_cast<std::size_t>(i) * static_cast<std::size_t>(got.cols) + static_cast<std::size_t>(n);
            const long double old = s.beta == 0 ? 0.0L : s.beta * static_cast<long double>(before.at[at]);
            const long double want = s.alpha * sum[at] + old, is = static_cast<long double>(got.at[at]);
            const long double bound = exact ? 0.0L : error_bound::of_sum(terms[static_cast<std::size_t>(i)], std::abs(s.alpha) * magnitude[at] + std::abs(old), want, rounding);
            const bool right = exact ? is == static_cast<long double>(static_cast<C>(static_cast<double>(want))) : std::abs(is - want) <= bound;
            if (!right) return ::testing::AssertionFailure() << "C(" << i << ", " << n << ") is " << is << ", not " << want << "; bound " << bound;
        }
    return ::testing::AssertionSuccess();
}

// A B entry by entry, in doubles and in no bound's way: for numbers of B that are not finite, and integers beside them.
template <class V, class C>
::testing::AssertionResult is_product_entry_by_entry(const HostCsr<V>& a, const HostDense<V>& b, const HostDense<C>& got)
{
    HostDense<double> want{got.rows, got.cols, std::vector<double>(got.at.size(), 0.0)};
    for (const auto& [i, col, x] : a.entries())
        for (index_t n = 0; n < got.cols; ++n) want(i, n) += static_cast<double>(x) * static_cast<double>(b(col, n));
    for (index_t i = 0; i < got.rows; ++i)
        for (index_t n = 0; n < got.cols; ++n) {
            const double is = static_cast<double>(got(i, n)), must = want(i, n);
            if (is != must && !(std::isnan(is) && std::isnan(must))) return ::testing::AssertionFailure() << name_of<V>() << " C(" << i << ", " << n << ") is " << is << ", not " << must;
        }
    return ::testing::AssertionSuccess();
}

// go(V, C) for every pair of types there is.
template <class Go>
void for_each_type(Go&& go)
{
    go(double(), double());
    go(float(), float());
    go(Float16(), Float16());
    go(Float16(), float());
    go(Bfloat16(), Bfloat16());
    go(Bfloat16(), float());
}

}  // namespace tulle::spmm::test
