// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What is seen of a matrix before a method is chosen: one pass over its rows.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "base/plural.hpp"
#include "solve/state.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"
#include "tulle/trace.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::solve {
namespace {

// ValueError that names the first of so many rows with values that are not finite.
template <class V>
[[noreturn]] void refuse_values(const Context& ctx, const CsrView<V>& a, offset_t rows)
{
    const Csr<V> here = to_host(ctx, a);
    offset_t at = 0;
    while (at < here.nonzeros() && std::isfinite(here.value.data()[at])) ++at;
    const offset_t* begin = here.row_begin.data();
    const auto row = std::upper_bound(begin, begin + a.rows + 1, at) - begin - 1;
    throw ValueError(concat(rows, plural(rows, " row", " rows"), " of the matrix ", plural(rows, "has", "have"),
                            " values that are not finite, first row ", row, " (counted from 0)"),
                     "look at the matrix with tulle validate --finite");
}

// Counts as those of InspectRows, and 1 for a matrix that is not symmetric: of sorted rows, each entry once, by one
// thread. Rows come in ascending order, so that the entries right of a diagonal meet their mirror images one after the
// other: a position in each row takes the place of searches.
template <class V>
class InspectSorted {
public:
    InspectSorted(const CpuQueue& q, const CsrView<V>& a, double tolerance)
        : a_(a),
          tolerance_(tolerance),
          next_(q, a.rows)
    {}

    void run(double (&found)[5])
    {
        std::fill_n(found, 5, 0.0);
        for (index_t i = 0; i < a_.rows; ++i) {
            const offset_t begin = a_.row_begin[i], end = a_.row_begin[i + 1];
            offset_t k = begin;
            bool finite = true;
            for (; k < end && a_.col[k] < i; ++k) {
                finite = finite && vector::is_finite(a_.value[k]);
                if (symmetric_) compare(i, a_.col[k], a_.value[k]);
            }
            const double diagonal = k < end && a_.col[k] == i ? static_cast<double>(a_.value[k++]) : 0.0;
            next_.data()[i] = k;
            for (; k < end; ++k) finite = finite && vector::is_finite(a_.value[k]);
            found[0] += finite && vector::is_finite(diagonal) ? 0 : 1;
            found[1] += begin == end ? 1 : 0;
            found[2] += diagonal == 0 ? 1 : 0;
            found[3] += diagonal < 0 ? 1 : 0;
        }
        for (index_t i = 0; i < a_.rows && symmetric_; ++i) skip(i, a_.cols);
        found[4] = symmetric_ ? 0 : 1;
    }

private:
    // The entry (i, j) left of the diagonal and (j, i).
    void compare(index_t i, index_t j, double here)
    {
        skip(j, i);
        offset_t& at = next_.data()[j];
        const bool stored = at < a_.row_begin[j + 1] && a_.col[at] == i;
        const double there = stored ? static_cast<double>(a_.value[at++]) : 0.0;
        if (!(std::abs(here - there) <= tolerance_ * (std::abs(here) + std::abs(there)))) symmetric_ = false;
    }
    // Entries of row j before a column have no mirror images.
    void skip(index_t j, index_t col)
    {
        offset_t& at = next_.data()[j];
        for (; at < a_.row_begin[j + 1] && a_.col[at] < col; ++at)
            if (a_.value[at] != V(0)) symmetric_ = false;
    }

    CsrView<V> a_;
    double tolerance_;
    bool symmetric_ = true;
    Buffer<offset_t> next_;  // of each row, right of its diagonal
};

// More threads search sooner than one goes through all rows.
constexpr int few_threads = 8;

template <class Queue, class V>
void count_rows(const Queue& q, const CsrView<V>& a, double (&found)[5])
{
    const double tolerance = sizeof(V) == 4 ? 1e-5 : 1e-10;
    if constexpr (std::is_same_v<Queue, CpuQueue>)
        if (a.sorted && a.unique && q.threads < few_threads) return InspectSorted<V>(q, a, tolerance).run(found);
    vector::PassBuffer buffer(q, a.rows);
    Buffer<double> result(q, 5);
    run_pass(q, a.rows, InspectRows<V>{a, tolerance, result.data()}, buffer.space());
    download(q, result.data(), found, 5);
}

// Of a matrix in the memory of a CPU; others are not asked for it.
template <class Queue, class V>
offset_t count_positive(const Queue& q, const CsrView<V>& a)
{
    offset_t found = 0;
    if constexpr (std::is_same_v<Queue, CpuQueue>) {
#pragma omp parallel for num_threads(q.threads) schedule(static) reduction(+ : found)
        for (offset_t k = 0; k < a.nonzeros; ++k) found += a.value[k] > V(0) ? 1 : 0;
    }
    (void)q;
    return found;
}

// Whether the diagonal of row i is at least the sum of its other magnitudes, but for rounding.
template <class V>
bool is_dominant(const CsrView<V>& a, index_t i)
{
    double diagonal = 0, all = 0;
    for (offset_t k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k) {
        const double size = std::abs(static_cast<double>(a.value[k]));
        all += size;
        if (a.col[k] == i) diagonal += size;
    }
    constexpr double rounding = 1e-6;
    return 2 * diagonal >= (1 - rounding) * all;
}

// Features::dominant_rows of a matrix in the memory of a CPU.
template <class Queue, class V>
offset_t count_dominant(const Queue& q, const CsrView<V>& a)
{
    offset_t found = 0;
    if constexpr (std::is_same_v<Queue, CpuQueue>) {
#pragma omp parallel for num_threads(q.threads) schedule(static) reduction(+ : found)
        for (index_t i = 0; i < a.rows; ++i) found += is_dominant(a, i) ? 1 : 0;
    }
    (void)q;
    return found;
}

constexpr offset_t spread_samples = 1024, far_part = 20;  // rows, and the part of all rows that is far

// Features::spread, of evenly spaced rows of a matrix in the memory of a CPU.
template <class Queue, class V>
double find_spread(const Queue&, const CsrView<V>& a)
{
    offset_t entries = 0, far = 0;
    if constexpr (std::is_same_v<Queue, CpuQueue>) {
        const offset_t samples = std::min<offset_t>(a.rows, spread_samples);
        for (offset_t s = 0; s < samples; ++s) {
            const offset_t i = a.rows * s / samples;
            for (offset_t k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k) {
                const offset_t distance = std::abs(a.col[k] - i);
                entries += distance > 0 ? 1 : 0;
                far += distance * far_part > a.rows ? 1 : 0;
            }
        }
    }
    return entries == 0 ? 0 : static_cast<double>(far) / static_cast<double>(entries);
}

// Features::fill_in, mean_coupling and most_coupling.
struct Couplings {
    double fill_in = 0, mean = 0, most = 0;
};

constexpr offset_t fill_in_samples = 64, coupling_samples = 1024;

// Of a symmetric matrix with a positive diagonal, from sampled rows.
template <class V>
class SampledCouplings {
public:
    SampledCouplings(const CpuQueue& q, const CsrView<V>& a) : a_(a), inverse_(q, a.rows), latest_(q, a.rows)
    {
        for (index_t i = 0; i < a.rows; ++i) inverse_.data()[i] = 1 / entry_of(a, i, i);
        std::fill_n(latest_.data(), a.rows, index_t{-1});
    }

    Couplings find()
    {
        each_sample(fill_in_samples, [&](index_t k) {
            each_right_of(k, k, [&](index_t i, double v) { eliminate(k, i, v * inverse_.data()[k]); });
        });
        double sum = 0, most = 0, rows = 0;
        each_sample(coupling_samples, [&](index_t i) {
            const double one = coupling_of(i);
            sum += one;
            most = std::max(most, one);
            ++rows;
        });
        if (!(all_ > 0) || !std::isfinite(all_ + sum)) return {};
        return {std::sqrt(outside_ / all_), std::sqrt(sum / rows), std::sqrt(most)};
    }

private:
    // f(row) for evenly spaced rows, at most so many.
    template <class F>
    void each_sample(offset_t most, F&& f) const
    {
        const offset_t samples = std::min<offset_t>(a_.rows, most);
        for (offset_t s = 0; s < samples; ++s) f(static_cast<index_t>(a_.rows * s / samples));
    }
    // f(column, value) for the entries of row i right of column k.
    template <class F>
    void each_right_of(index_t k, index_t i, F&& f) const
    {
        for (offset_t t = a_.row_begin[i]; t < a_.row_begin[i + 1]; ++t)
            if (a_.col[t] > k) f(a_.col[t], static_cast<double>(a_.value[t]));
    }
    double coupling_of(index_t i) const
    {
        double sum = 0;
        each_right_of(-1, i, [&](index_t j, double v) { sum += j == i ? 0 : v * v * inverse_.data()[j]; });
        return sum * inverse_.data()[i];
    }
    // Row i loses `part` of row k: squares of what that brings.
    void eliminate(index_t k, index_t i, double part)
    {
        each_right_of(k, i, [&](index_t j, double) { latest_.data()[j] = i; });
        each_right_of(k, k, [&](index_t j, double v) {
            const double square = part * v * inverse_.data()[i] * part * v * inverse_.data()[j];
            all_ += square;
            outside_ += latest_.data()[j] == i ? 0 : square;
        });
    }

    CsrView<V> a_;
    Buffer<double> inverse_;  // of the diagonal
    Buffer<index_t> latest_;  // row that was seen to have each column
    double all_ = 0, outside_ = 0;
};

// Of a matrix in the memory of a CPU.
template <class Queue, class V>
Couplings find_couplings(const Queue& q, const CsrView<V>& a)
{
    if constexpr (std::is_same_v<Queue, CpuQueue>) return SampledCouplings<V>(q, a).find();
    (void)q;
    return {};
}

}  // namespace

template <class V>
Features inspect(const Context& ctx, const CsrView<V>& a)
{
    const trace::Phase phase{"inspect"};
    double found[5];
    ctx.run([&](const auto& q) { count_rows(q, a, found); });
    if (found[0] > 0) refuse_values(ctx, a, static_cast<offset_t>(found[0]));
    const offset_t positive = ctx.run([&](const auto& q) { return count_positive(q, a); });
    Couplings couplings;
    if (found[2] + found[3] + found[4] == 0) couplings = ctx.run([&](const auto& q) { return find_couplings(q, a); });
    return {.rows = a.rows,
            .nonzeros = a.nonzeros,
            .symmetric = found[4] == 0,
            .empty_rows = static_cast<offset_t>(found[1]),
            .missing_diagonal = static_cast<offset_t>(found[2]),
            .negative_diagonal = static_cast<offset_t>(found[3]),
            .positive_values = positive,
            .dominant_rows = positive == a.rows ? ctx.run([&](const auto& q) { return count_dominant(q, a); }) : 0,
            .spread = ctx.run([&](const auto& q) { return find_spread(q, a); }),
            .backend = ctx.backend(),
            .fill_in = couplings.fill_in,
            .mean_coupling = couplings.mean,
            .most_coupling = couplings.most};
}

template Features inspect(const Context&, const CsrView<float>&);
template Features inspect(const Context&, const CsrView<double>&);

}  // namespace tulle::inline TULLE_ABI::solve
