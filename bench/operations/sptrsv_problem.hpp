// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// One triangular system as every contender gets it: the lower triangle of a matrix, made harmless, with one or many
// right-hand sides, row-major.
//
// The pattern is the matrix's; a one stands on the diagonal, and beside it numbers in [-1, 1) divided by their count in
// the row, so that the error of every method stays small. Right: every entry lies within gamma of what substitution and
// inverses of parts may lose.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "base/error_bound.hpp"
#include "base/hash.hpp"
#include "tulle/csr.hpp"
#include "tulle/dense.hpp"
#include "tulle/transfer.hpp"

namespace tulle::bench {

template <class V>
class SptrsvProblem {
public:
    SptrsvProblem(const Context& context, const Csr<V>& matrix, int right_hand_sides)
        : ctx(context),
          sides(right_hand_sides),
          host(lower_triangle(matrix)),
          host_b(make_b(host.rows, right_hand_sides))
    {
        if (ctx.backend() == Backend::cuda) copy_ = to_device(ctx, host.view());
        a = ctx.backend() == Backend::cuda ? copy_.view() : host.view();
        b = to_device(ctx, std::span<const V>(host_b));
        x = ctx.run([&](const auto& q) { return Buffer<V>(q, offset_t{host.rows} * sides); });
    }
    SptrsvProblem(const SptrsvProblem&) = delete;
    SptrsvProblem& operator=(const SptrsvProblem&) = delete;

    DenseView<const V> b_view() const { return {host.rows, sides, sides, Layout::row_major, b.data()}; }
    DenseView<V> x_view() { return {host.rows, sides, sides, Layout::row_major, x.data()}; }

    // Values, columns and row offsets once, b and x once for each side.
    std::size_t compulsory_bytes() const
    {
        const auto nonzeros = static_cast<std::size_t>(host.nonzeros()), rows = static_cast<std::size_t>(host.rows);
        return nonzeros * (sizeof(V) + sizeof(index_t)) + (rows + 1) * sizeof(index_t) +
               2 * rows * sizeof(V) * static_cast<std::size_t>(sides);
    }

    void poison_x()
    {
        ctx.run([&](const auto& q) { fill_bytes(q, x.data(), 0xff, x.bytes()); });
    }

    std::vector<double> download_x() const
    {
        const Buffer<V> here = to_host(ctx, x.span());
        return {here.data(), here.data() + here.size()};
    }

    Context ctx;
    index_t sides;
    Csr<V> host;
    std::vector<V> host_b;
    CsrView<V> a;    // where ctx works
    Buffer<V> b, x;  // where ctx works

private:
    static Csr<V> lower_triangle(const Csr<V>& m)
    {
        const CpuQueue q(0);
        const CsrView<V> from = m.view();
        const index_t n = std::min(m.rows, m.cols);
        std::vector<offset_t> begin{0};
        std::vector<index_t> col;
        for (index_t i = 0; i < n; ++i) {
            const auto first = static_cast<std::ptrdiff_t>(col.size());
            for (offset_t k = from.row_begin[i]; k < from.row_begin[i + 1]; ++k)
                if (from.col[k] < i) col.push_back(from.col[k]);
            std::sort(col.begin() + first, col.end());
            col.erase(std::unique(col.begin() + first, col.end()), col.end());
            col.push_back(i);
            begin.push_back(static_cast<offset_t>(col.size()));
        }
        Csr<V> l = Csr<V>::make(q, n, n, static_cast<offset_t>(col.size()));
        std::copy(begin.begin(), begin.end(), l.row_begin.data());
        std::copy(col.begin(), col.end(), l.col.data());
        for (index_t i = 0; i < n; ++i)
            for (offset_t k = l.row_begin.data()[i]; k < l.row_begin.data()[i + 1]; ++k)
                l.value.data()[k] = entry(i, l.col.data()[k], l.row_begin.data()[i + 1] - l.row_begin.data()[i] - 1);
        return l;
    }

    static V entry(index_t i, index_t j, offset_t others)
    {
        return i == j ? V(1) : static_cast<V>((2 * unit(hash_of(5, i, j)) - 1) / static_cast<double>(others));
    }

    static std::vector<V> make_b(index_t rows, int sides)
    {
        std::vector<V> values(static_cast<std::size_t>(rows) * static_cast<std::size_t>(sides));
        for (std::size_t k = 0; k < values.size(); ++k) values[k] = static_cast<V>(2 * unit(hash_of(11, k)) - 1);
        return values;
    }

    Csr<V> copy_;
};

// Solved in long double, for some of the sides, with the bound gamma (|L^-1| |L|)^2 |x|; |L^-1| by the comparison
// matrix.
template <class V>
class SptrsvReference {
public:
    explicit SptrsvReference(const SptrsvProblem<V>& p) : sides_(p.sides)
    {
        for (index_t j = 0; j < p.sides; j += std::max<index_t>(1, p.sides - 1)) solve(p, j);
    }

    // The largest error in units of what is allowed: right if not above 1. Infinite for NaN.
    double worst_share(const std::vector<double>& x) const
    {
        double worst = 0;
        for (const Side& side : checked_)
            for (std::size_t i = 0; i < side.exact.size(); ++i) {
                const double error =
                    std::fabs(x[i * static_cast<std::size_t>(sides_) + static_cast<std::size_t>(side.number)] -
                              static_cast<double>(side.exact[i]));
                worst = std::fmax(worst, std::isfinite(error) ? error / static_cast<double>(side.limit[i])
                                                              : std::numeric_limits<double>::infinity());
            }
        return worst;
    }

private:
    struct Side {
        index_t number;
        std::vector<long double> exact, limit;
    };

    void solve(const SptrsvProblem<V>& p, index_t j)
    {
        const CsrView<V> a = p.host.view();
        Side side{j, std::vector<long double>(static_cast<std::size_t>(a.rows)),
                  std::vector<long double>(static_cast<std::size_t>(a.rows))};
        for (index_t i = 0; i < a.rows; ++i) {
            long double sum =
                p.host_b[static_cast<std::size_t>(i) * static_cast<std::size_t>(p.sides) + static_cast<std::size_t>(j)];
            for (offset_t k = a.row_begin[i]; k + 1 < a.row_begin[i + 1]; ++k)
                sum -= static_cast<long double>(a.value[k]) * side.exact[static_cast<std::size_t>(a.col[k])];
            side.exact[static_cast<std::size_t>(i)] = sum;
            side.limit[static_cast<std::size_t>(i)] = std::fabs(sum);
        }
        grow(a, side.limit);
        grow(a, side.limit);
        const long double entries = longest(a);
        for (long double& limit : side.limit) limit = error_bound::of_solve<V>(entries, limit);
        checked_.push_back(std::move(side));
    }

    // f becomes |M^-1| |L| f, M the comparison matrix.
    static void grow(const CsrView<V>& a, std::vector<long double>& f)
    {
        const std::vector<long double> before = f;
        for (index_t i = 0; i < a.rows; ++i) {
            long double sum = before[static_cast<std::size_t>(i)];
            for (offset_t k = a.row_begin[i]; k + 1 < a.row_begin[i + 1]; ++k)
                sum += std::fabs(static_cast<long double>(a.value[k])) *
                       (before[static_cast<std::size_t>(a.col[k])] + f[static_cast<std::size_t>(a.col[k])]);
            f[static_cast<std::size_t>(i)] = sum;
        }
    }

    static long double longest(const CsrView<V>& a)
    {
        offset_t most = 0;
        for (index_t i = 0; i < a.rows; ++i) most = std::max(most, a.row_begin[i + 1] - a.row_begin[i]);
        return static_cast<long double>(most);
    }

    index_t sides_;
    std::vector<Side> checked_;
};

}  // namespace tulle::bench
