// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// One c = X Y^T at the positions of A as every contender gets it, and whether a c is right: on some nonzeros, within
// the bound of base/error_bound.hpp. Values of A do not matter.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/error_bound.hpp"
#include "base/hash.hpp"
#include "tulle/csr.hpp"
#include "tulle/dense.hpp"
#include "tulle/float16.hpp"
#include "tulle/transfer.hpp"

namespace tulle::bench {

// V: X and Y; c is in float for numbers of 16 bits, else in V.
template <class V>
class SddmmProblem {
public:
    using Result = std::conditional_t<sizeof(V) == 2, float, V>;

    template <class From>
    SddmmProblem(const Context& context, const Csr<From>& matrix, index_t columns) : ctx(context),
                                                                                     k(columns)
    {
        CpuQueue q;
        host = Csr<V>::make(q, matrix.rows, matrix.cols, matrix.nonzeros());
        std::copy_n(matrix.row_begin.data(), matrix.rows + 1, host.row_begin.data());
        std::copy_n(matrix.col.data(), matrix.nonzeros(), host.col.data());
        std::fill_n(host.value.data(), host.nonzeros(), static_cast<V>(1.0));
        host.sorted = matrix.sorted;
        host.unique = matrix.unique;
        host_x = numbers(host.rows, 11);
        host_y = numbers(host.cols, 12);
        if (ctx.backend() == Backend::cuda) copy_ = to_device(ctx, host.view());
        a = ctx.backend() == Backend::cuda ? copy_.view() : host.view();
        x_data = to_device(ctx, std::span<const V>(host_x));
        y_data = to_device(ctx, std::span<const V>(host_y));
        c = ctx.run([&](const auto& where) { return Buffer<Result>(where, host.nonzeros()); });
        x = {host.rows, k, k, Layout::row_major, x_data.data()};
        y = {host.cols, k, k, Layout::row_major, y_data.data()};
    }
    SddmmProblem(const SddmmProblem&) = delete;
    SddmmProblem& operator=(const SddmmProblem&) = delete;

    // The pattern of A, X, Y and c once each.
    std::size_t compulsory_bytes() const
    {
        const auto nonzeros = static_cast<std::size_t>(host.nonzeros()), rows = static_cast<std::size_t>(host.rows);
        const std::size_t offset = host.nonzeros() <= max_index ? sizeof(index_t) : sizeof(offset_t);
        return nonzeros * (sizeof(Result) + sizeof(index_t)) + (rows + 1) * offset +
               (host_x.size() + host_y.size()) * sizeof(V);
    }

    void poison()
    {
        ctx.run([&](const auto& q) { fill_bytes(q, c.data(), 0xff, c.bytes()); });
    }

    std::vector<double> download() const
    {
        const Buffer<Result> here = to_host(ctx, std::span<const Result>(c.span()));
        return {here.data(), here.data() + here.size()};
    }

    // The largest error on some rows in units of what is allowed; infinite for NaN.
    double worst_share(const std::vector<double>& got) const
    {
        double worst = 0;
        const index_t step = std::max<index_t>(1, host.rows / rows_to_check);
        for (index_t i = 0; i < host.rows; i += step)
            for (offset_t p = host.row_begin.data()[i]; p < host.row_begin.data()[i + 1]; ++p)
                worst = std::fmax(worst, share_of(i, p, got[static_cast<std::size_t>(p)]));
        return worst;
    }

    Context ctx;
    index_t k;
    Csr<V> host;
    std::vector<V> host_x, host_y;
    CsrView<V> a;  // where ctx works, as all below
    Buffer<V> x_data, y_data;
    Buffer<Result> c;
    DenseView<const V> x, y;

private:
    static constexpr index_t rows_to_check = 200;

    std::vector<V> numbers(index_t rows, std::uint64_t seed) const
    {
        std::vector<V> all(static_cast<std::size_t>(rows) * static_cast<std::size_t>(k));
        for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<V>(2 * unit(hash_of(seed, i)) - 1);
        return all;
    }

    double share_of(index_t i, offset_t p, double is) const
    {
        constexpr bool tensor_cores = sizeof(V) < 8;  // some contender may use them
        const error_bound::Rounding rounding = error_bound::rounding_of<V, Result>(tensor_cores);
        const V* left = host_x.data() + offset_t{i} * k;
        const V* right = host_y.data() + offset_t{host.col.data()[p]} * k;
        double sum = 0, magnitude = 0;
        for (index_t j = 0; j < k; ++j) {
            const double term = static_cast<double>(left[j]) * static_cast<double>(right[j]);
            sum += term;
            magnitude += std::abs(term);
        }
        return error_bound::share(is, sum, 2 * error_bound::of_sum(k, magnitude, sum, rounding));
    }

    Csr<V> copy_;
};

}  // namespace tulle::bench
