// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// One product C = A A as every contender gets it, and whether a C is right: sorted, with exactly the nonzeros that a
// plain count finds, and C x within the bound of base/error_bound.hpp of A (A x), with all products of the row: what
// any order of summation keeps, C x included.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error_bound.hpp"
#include "base/hash.hpp"
#include "tulle/csr.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"
#include "tulle/transfer.hpp"

namespace tulle::bench {

template <class V>
class SpgemmProblem {
public:
    SpgemmProblem(const Context& context, Csr<V> matrix) : ctx(context), host(std::move(matrix)), x_(make_x(host.cols))
    {
        if (ctx.backend() == Backend::cuda) copy_ = to_device(ctx, host.view());
        a = ctx.backend() == Backend::cuda ? copy_.view() : host.view();
        count();
        find_reference();
    }
    SpgemmProblem(const SpgemmProblem&) = delete;
    SpgemmProblem& operator=(const SpgemmProblem&) = delete;

    offset_t products() const { return products_; }
    offset_t nonzeros() const { return nonzeros_; }

    // The least that must be moved: A read and C written once each. Offsets count four bytes where they fit.
    std::size_t compulsory_bytes() const
    {
        const auto entries = static_cast<std::size_t>(host.nonzeros() + nonzeros_),
                   rows = static_cast<std::size_t>(host.rows);
        return entries * (sizeof(V) + sizeof(index_t)) +
               2 * (rows + 1) * (nonzeros_ <= max_index ? sizeof(index_t) : sizeof(offset_t));
    }

    // What C takes.
    std::size_t result_bytes() const
    {
        return static_cast<std::size_t>(nonzeros_) * (sizeof(V) + sizeof(index_t)) +
               (static_cast<std::size_t>(host.rows) + 1) * sizeof(offset_t);
    }

    // OutOfMemory where C is larger than what is free where the context works, or on the host, where it is checked.
    void require_room() const
    {
        const Place there = ctx.run([](const auto& q) { return q.place(); });
        for (const Place& place : {there, Place{}}) {
            const std::size_t free = free_bytes(place);
            if (result_bytes() > free)
                throw OutOfMemory(concat("the product has ", nonzeros_, " nonzeros, which take ",
                                         human_bytes(result_bytes()), "; ", human_bytes(free), " are free"),
                                  result_bytes(), free);
        }
    }

    // The largest error of C x in units of what is allowed: right if not above 1. Infinite where the pattern is wrong.
    // Arrays on the host.
    template <class Offset>
    double worst_share(index_t rows, const Offset* row_begin, const index_t* col, const V* value) const
    {
        const double wrong = std::numeric_limits<double>::infinity();
        if (rows != host.rows || row_begin[0] != 0 || static_cast<offset_t>(row_begin[rows]) != nonzeros_) return wrong;
        double worst = 0;
#pragma omp parallel for schedule(dynamic, 64) reduction(max : worst)
        for (index_t i = 0; i < rows; ++i) worst = std::max(worst, share_of_row(i, row_begin, col, value));
        return worst;
    }

    // The same for rows in any order.
    template <class Offset>
    double worst_share_unsorted(index_t rows, const Offset* row_begin, const index_t* col, const V* value) const
    {
        std::vector<index_t> cols(col, col + row_begin[rows]);
        std::vector<V> values(value, value + row_begin[rows]);
        std::vector<std::pair<index_t, V>> row;
        for (index_t i = 0; i < rows; ++i) {
            row.clear();
            for (auto k = row_begin[i]; k < row_begin[i + 1]; ++k) row.emplace_back(col[k], value[k]);
            std::sort(row.begin(), row.end());
            for (std::size_t k = 0; k < row.size(); ++k)
                std::tie(cols[static_cast<std::size_t>(row_begin[i]) + k],
                         values[static_cast<std::size_t>(row_begin[i]) + k]) = row[k];
        }
        return worst_share(rows, row_begin, cols.data(), values.data());
    }

    Context ctx;
    Csr<V> host;
    CsrView<V> a;  // where ctx works

private:
    static std::vector<double> make_x(index_t cols)
    {
        std::vector<double> values(static_cast<std::size_t>(cols));
        for (std::size_t j = 0; j < values.size(); ++j) values[j] = 2 * unit(hash_of(11, j)) - 1;
        return values;
    }

    template <class Offset>
    double share_of_row(index_t i, const Offset* row_begin, const index_t* col, const V* value) const
    {
        const double wrong = std::numeric_limits<double>::infinity();
        long double sum = 0;
        for (auto k = row_begin[i]; k < row_begin[i + 1]; ++k) {
            if (col[k] < 0 || col[k] >= host.cols || (k > row_begin[i] && col[k] <= col[k - 1])) return wrong;
            sum += static_cast<long double>(value[k]) * x_[static_cast<std::size_t>(col[k])];
        }
        const auto at = static_cast<std::size_t>(i);
        return error_bound::share(sum, exact_[at], limit_[at]);
    }

    void count()
    {
        const CsrView<V> h = host.view();
        offset_t products = 0, nonzeros = 0;
#pragma omp parallel reduction(+ : products, nonzeros)
        {
            std::vector<index_t> mark(static_cast<std::size_t>(h.cols), -1);
#pragma omp for schedule(dynamic, 64)
            for (index_t i = 0; i < h.rows; ++i)
                for (offset_t k = h.row_begin[i]; k < h.row_begin[i + 1]; ++k)
                    for (offset_t l = h.row_begin[h.col[k]]; l < h.row_begin[h.col[k] + 1]; ++l) {
                        ++products;
                        index_t& last = mark[static_cast<std::size_t>(h.col[l])];
                        if (last != i) ++nonzeros;
                        last = i;
                    }
        }
        products_ = products;
        nonzeros_ = nonzeros;
    }

    void find_reference()
    {
        const CsrView<V> h = host.view();
        const auto n = static_cast<std::size_t>(h.rows);
        std::vector<long double> y(n), size(n);
        std::vector<offset_t> length(n);
        exact_.resize(n), limit_.resize(n);
        for (index_t i = 0; i < h.rows; ++i)
            for (offset_t k = h.row_begin[i]; k < h.row_begin[i + 1]; ++k) {
                const long double term = static_cast<long double>(h.value[k]) * x_[static_cast<std::size_t>(h.col[k])];
                y[static_cast<std::size_t>(i)] += term;
                size[static_cast<std::size_t>(i)] += std::fabs(term);
            }
        for (index_t i = 0; i < h.rows; ++i) {
            long double magnitude = 0, products = 0;
            for (offset_t k = h.row_begin[i]; k < h.row_begin[i + 1]; ++k) {
                const auto j = static_cast<std::size_t>(h.col[k]);
                exact_[static_cast<std::size_t>(i)] += static_cast<long double>(h.value[k]) * y[j];
                magnitude += std::fabs(static_cast<long double>(h.value[k])) * size[j];
                products += static_cast<long double>(h.row_begin[j + 1] - h.row_begin[j]);
            }
            limit_[static_cast<std::size_t>(i)] = error_bound::of_sum<V>(products, magnitude);
        }
    }

    Csr<V> copy_;
    std::vector<double> x_;
    std::vector<long double> exact_, limit_;
    offset_t products_ = 0, nonzeros_ = 0;
};

}  // namespace tulle::bench
