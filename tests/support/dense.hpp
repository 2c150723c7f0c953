// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Dense matrices for tests: in both layouts, with room between lines, aligned or not, between guards.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "support/battery.hpp"
#include "tulle/dense.hpp"
#include "tulle/transfer.hpp"

namespace tulle::test {

template <class V>
std::string name_of()
{
    return std::is_same_v<V, Float16> ? "f16" : std::is_same_v<V, Bfloat16> ? "bf16" : sizeof(V) == 4 ? "f32" : "f64";
}

// The same matrix with numbers of another type.
template <class V>
HostCsr<V> in_type(const HostCsr<double>& a, double scale = 1)
{
    HostCsr<V> b{.rows = a.rows,
                 .cols = a.cols,
                 .row_begin = a.row_begin,
                 .col = a.col,
                 .value = {},
                 .sorted = a.sorted,
                 .unique = a.unique};
    for (const double v : a.value) b.value.push_back(static_cast<V>(scale * v));
    return b;
}

struct Scalars {
    double alpha = 1, beta = 0;
};

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

struct Form {
    Layout layout = Layout::row_major;
    index_t gap = 0;          // entries between lines
    std::size_t margin = 64;  // entries before the first; 64 keeps any alignment

    std::string name() const
    {
        return (layout == Layout::row_major ? "rows +" : "columns +") + std::to_string(gap) + " at " +
               std::to_string(margin);
    }
};

template <class V>
struct HostDense {
    index_t rows = 0, cols = 0;
    std::vector<V> at;  // row after row, without gaps

    V& operator()(index_t i, index_t j)
    {
        return at[static_cast<std::size_t>(i) * static_cast<std::size_t>(cols) + static_cast<std::size_t>(j)];
    }
    const V& operator()(index_t i, index_t j) const
    {
        return at[static_cast<std::size_t>(i) * static_cast<std::size_t>(cols) + static_cast<std::size_t>(j)];
    }
};

template <class V>
HostDense<V> dense(index_t rows, index_t cols, Values values, std::uint64_t seed)
{
    HostDense<V> m{rows, cols, {}};
    for (index_t i = 0; i < rows; ++i)
        for (index_t j = 0; j < cols; ++j) {
            const std::uint64_t h = hash_of(seed, i, j);
            m.at.push_back(values == Values::integers ? static_cast<V>(static_cast<int>(below(h, 9)) - 4)
                                                      : static_cast<V>(2.0 * unit(h) - 1.0));
        }
    return m;
}

// A dense matrix in the memory of a context, among guards: whoever writes beside it, or into the gaps between its
// lines, is found.
template <class V>
class Lent {
public:
    Lent(const Context& ctx, const HostDense<V>& m, const Form& form)
        : ctx_(ctx),
          form_(form),
          rows_(m.rows),
          cols_(m.cols)
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
        EXPECT_TRUE(all.empty() || std::memcmp(all.data(), untouched.data(), all.size() * sizeof(V)) == 0)
            << "something was written beside the matrix or between its lines";
        return m;
    }

private:
    static V guard() { return static_cast<V>(-31.0); }
    std::size_t place(index_t i, index_t j) const
    {
        return form_.margin +
               static_cast<std::size_t>(form_.layout == Layout::row_major ? i * leading_ + j : j * leading_ + i);
    }

    Context ctx_;
    Form form_;
    index_t rows_, cols_;
    offset_t leading_ = 0;
    std::vector<V> host_;
    Buffer<V> there_;
};

}  // namespace tulle::test
