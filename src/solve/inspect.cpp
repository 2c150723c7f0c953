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

// Sums of squares over the fill-in of elimination steps.
struct FillIn {
    double all = 0, outside = 0;
};

constexpr offset_t fill_in_samples = 64;

// What the elimination of some rows brings to the entries right of them and below.
template <class V>
class SampledFillIn {
public:
    SampledFillIn(const CpuQueue& q, const CsrView<V>& a) : a_(a), diagonal_(q, a.rows), latest_(q, a.rows)
    {
        for (index_t i = 0; i < a.rows; ++i) diagonal_.data()[i] = entry_of(a, i, i);
        std::fill_n(latest_.data(), a.rows, index_t{-1});
    }

    FillIn find()
    {
        const offset_t samples = std::min<offset_t>(a_.rows, fill_in_samples);
        for (offset_t s = 0; s < samples; ++s) {
            const auto k = static_cast<index_t>(a_.rows * s / samples);
            each_right_of(k, k, [&](index_t i, double v) { add(k, i, v / diagonal_.data()[k]); });
        }
        return found_;
    }

private:
    // f(column, value) for the entries of row i right of column k.
    template <class F>
    void each_right_of(index_t k, index_t i, F&& f) const
    {
        for (offset_t t = a_.row_begin[i]; t < a_.row_begin[i + 1]; ++t)
            if (a_.col[t] > k) f(a_.col[t], static_cast<double>(a_.value[t]));
    }
    // Row i, which has `part` of row k to lose.
    void add(index_t k, index_t i, double part)
    {
        each_right_of(k, i, [&](index_t j, double) { latest_.data()[j] = i; });
        each_right_of(k, k, [&](index_t j, double v) {
            const double square = part * v * part * v / diagonal_.data()[i] / diagonal_.data()[j];
            found_.all += square;
            found_.outside += latest_.data()[j] == i ? 0 : square;
        });
    }

    CsrView<V> a_;
    Buffer<double> diagonal_;
    Buffer<index_t> latest_;  // row that was seen to have each column
    FillIn found_;
};

// Features::fill_in of a symmetric matrix with a positive diagonal in the memory of a CPU.
template <class Queue, class V>
double find_fill_in(const Queue& q, const CsrView<V>& a)
{
    FillIn found;
    if constexpr (std::is_same_v<Queue, CpuQueue>) found = SampledFillIn<V>(q, a).find();
    (void)q;
    return found.all > 0 && std::isfinite(found.all) ? std::sqrt(found.outside / found.all) : 0;
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
    const bool may_be_definite = found[2] + found[3] + found[4] == 0;
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
            .fill_in = may_be_definite ? ctx.run([&](const auto& q) { return find_fill_in(q, a); }) : 0};
}

template Features inspect(const Context&, const CsrView<float>&);
template Features inspect(const Context&, const CsrView<double>&);

}  // namespace tulle::inline TULLE_ABI::solve
