// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// One product C = A B as every contender gets it, rows of B and C contiguous, and whether a C is right: on some rows,
// every entry within the bound of base/error_bound.hpp. Numbers are those that are stored: rounded to 16 bits before.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/error_bound.hpp"
#include "base/hash.hpp"
#include "base/math.hpp"
#include "tulle/csr.hpp"
#include "tulle/dense.hpp"
#include "tulle/float16.hpp"
#include "tulle/narrow.hpp"
#include "tulle/transfer.hpp"

namespace tulle::bench {

// V: A and B; C is in float for numbers of 16 bits, else in V. `tf32`: rounded to 11 bits before they are multiplied.
// Numbers of 16 bits are divided by the largest of the matrix, or by powers of two of their rows (`scaling`). Baselines
// know no such powers: they, and the check, have the matrix without.
template <class V>
class SpmmProblem {
public:
    using Result = std::conditional_t<sizeof(V) == 2, float, V>;

    template <class From>
    SpmmProblem(const Context& context, const Csr<From>& matrix, index_t columns, bool rounded,
                Scaling scaling = Scaling::off)
        : ctx(context),
          n(columns),
          tf32(rounded)
    {
        CpuQueue q;
        host = Csr<V>::make(q, matrix.rows, matrix.cols, matrix.nonzeros());
        std::copy_n(matrix.row_begin.data(), matrix.rows + 1, host.row_begin.data());
        std::copy_n(matrix.col.data(), matrix.nonzeros(), host.col.data());
        convert_values(matrix, scaling);
        host.sorted = matrix.sorted;
        host.unique = matrix.unique;
        host_b.resize(static_cast<std::size_t>(whole_blocks(matrix.cols)) * static_cast<std::size_t>(n));
        for (std::size_t k = 0; k < static_cast<std::size_t>(matrix.cols) * static_cast<std::size_t>(n); ++k)
            host_b[k] = static_cast<V>(2 * unit(hash_of(11, k)) - 1);
        if (ctx.backend() == Backend::cuda) copy_ = to_device(ctx, host.view());
        a = ctx.backend() == Backend::cuda ? copy_.view() : host.view();
        row_scale = to_device(ctx, std::span<const float>(host_scale_));
        b_data = to_device(ctx, std::span<const V>(host_b));
        c_data = ctx.run([&](const auto& where) { return Buffer<Result>(where, whole_blocks(host.rows) * n); });
        b = {host.cols, n, n, Layout::row_major, b_data.data()};
        c = {host.rows, n, n, Layout::row_major, c_data.data()};
    }
    SpmmProblem(const SpmmProblem&) = delete;
    SpmmProblem& operator=(const SpmmProblem&) = delete;

    // B and C have room, and B zeros, for formats that know whole blocks only.
    static offset_t whole_blocks(index_t rows) { return ceil_div<offset_t>(rows, largest_block) * largest_block; }

    // A, B and C once each.
    std::size_t compulsory_bytes() const
    {
        const auto nonzeros = static_cast<std::size_t>(host.nonzeros()), rows = static_cast<std::size_t>(host.rows);
        const std::size_t offset = host.nonzeros() <= max_index ? sizeof(index_t) : sizeof(offset_t);
        const std::size_t dense = static_cast<std::size_t>(host.cols) * sizeof(V) + rows * sizeof(Result);
        return nonzeros * (sizeof(V) + sizeof(index_t)) + (rows + 1) * offset + dense * static_cast<std::size_t>(n);
    }

    void poison()
    {
        ctx.run([&](const auto& q) { fill_bytes(q, c_data.data(), 0xff, c_data.bytes()); });
    }

    // `scaled`: rows of C have their powers, which are taken out again.
    std::vector<double> download(bool scaled = false) const
    {
        const Buffer<Result> here = to_host(ctx, std::span<const Result>(c_data.span()));
        std::vector<double> all(here.data(), here.data() + here.size());
        if (scaled)
            for (std::size_t k = 0; k < host_scale_.size() * static_cast<std::size_t>(n); ++k)
                all[k] /= host_scale_[k / static_cast<std::size_t>(n)];
        return all;
    }

    // The largest error on some rows in units of what is allowed; infinite for NaN.
    double worst_share(const std::vector<double>& got) const
    {
        double worst = 0;
        const index_t step = std::max<index_t>(1, host.rows / rows_to_check);
        for (index_t i = 0; i < host.rows; i += step) worst = std::fmax(worst, share_of_row(i, got));
        return worst;
    }

    Context ctx;
    index_t n;
    bool tf32;
    Csr<V> host;
    std::vector<V> host_b;
    CsrView<V> a;             // where ctx works, as all below
    Buffer<float> row_scale;  // powers of two of the rows; empty: none
    Buffer<V> b_data;
    Buffer<Result> c_data;
    DenseView<const V> b;
    DenseView<Result> c;

private:
    template <class From>
    void convert_values(const Csr<From>& matrix, Scaling scaling)
    {
        if constexpr (sizeof(V) == 2)
            if (scaling != Scaling::off) {
                const auto narrowed = narrow<V>(Context::cpu(), matrix.view(), {.scaling = scaling});
                std::copy_n(narrowed.value.data(), matrix.nonzeros(), host.value.data());
                host_scale_.assign(narrowed.row_scale.data(), narrowed.row_scale.data() + narrowed.row_scale.size());
                return;
            }
        const From scale = scale_of(matrix);
        std::transform(matrix.value.data(), matrix.value.data() + matrix.nonzeros(), host.value.data(),
                       [scale](From v) { return static_cast<V>(v * scale); });
    }

    // What brings the largest number to 1, where numbers have so few bits that a physicist's units overflow;
    // otherwise 1.
    template <class From>
    static From scale_of(const Csr<From>& matrix)
    {
        From largest = 0;
        for (const From v : matrix.value.span()) largest = std::max(largest, std::abs(v));
        return sizeof(V) == 2 && largest > 0 ? 1 / largest : 1;
    }

    static constexpr index_t rows_to_check = 400;
    static constexpr offset_t largest_block = 32;

    double share_of_row(index_t i, const std::vector<double>& got) const
    {
        constexpr bool tensor_cores = sizeof(V) < 8;  // some contender may use them
        using error_bound::Operands;
        const error_bound::Rounding rounding =
            error_bound::rounding_of<V, Result>(tensor_cores, tf32             ? Operands::tf32
                                                              : sizeof(V) == 4 ? Operands::split
                                                                               : Operands::whole);
        double worst = 0;
        for (index_t j = 0; j < n; ++j) {
            long double sum = 0, magnitude = 0, products = 0;
            for (offset_t k = host.row_begin.data()[i]; k < host.row_begin.data()[i + 1]; ++k, ++products) {
                const auto at = static_cast<std::size_t>(host.col.data()[k]) * static_cast<std::size_t>(n) +
                                static_cast<std::size_t>(j);
                sum += static_cast<long double>(host.value.data()[k]) * static_cast<long double>(host_b[at]);
                magnitude += error_bound::weight(host.value.data()[k], tensor_cores) *
                             error_bound::weight(host_b[at], tensor_cores);
            }
            const double is =
                got[static_cast<std::size_t>(i) * static_cast<std::size_t>(n) + static_cast<std::size_t>(j)];
            worst =
                std::max(worst, error_bound::share(is, sum, error_bound::of_sum(products, magnitude, sum, rounding)));
        }
        return worst;
    }

    Csr<V> copy_;
    std::vector<float> host_scale_;
};

}  // namespace tulle::bench
