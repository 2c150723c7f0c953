// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "factor/sweeps.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "sptrsv/solve/cpu/sweep.hpp"

namespace tulle::inline TULLE_ABI::factor {
namespace {

constexpr bool is_narrow(offset_t rows) { return rows <= offset_t{std::numeric_limits<std::uint16_t>::max()} + 1; }

// Of longer rows a mispredicted end is a smaller part, and zeros cost more than it.
constexpr offset_t longest_mean_to_pad = 6;

// Entries of each row left of the diagonal; right of it, or of the transpose.
Buffer<index_t> count_lower(const CpuQueue& q, const PatternView& p)
{
    Buffer<index_t> n(q, p.rows);
    for (index_t i = 0; i < p.rows; ++i) n.data()[i] = static_cast<index_t>(p.diagonal[i] - p.row_begin[i]);
    return n;
}
Buffer<index_t> count_upper(const CpuQueue& q, const PatternView& p, bool cholesky)
{
    Buffer<index_t> n(q, p.rows);
    std::fill_n(n.data(), p.rows, index_t{0});
    for (index_t i = 0; i < p.rows; ++i)
        if (!cholesky) n.data()[i] = static_cast<index_t>(p.row_begin[i + 1] - p.diagonal[i] - 1);
        else
            for (offset_t k = p.row_begin[i]; k < p.diagonal[i]; ++k) ++n.data()[p.col[k]];
    return n;
}

bool is_lower_chained(const PatternView& p)
{
    return sptrsv::is_chained(0, p.rows, [&](index_t i) {
        const offset_t at = p.diagonal[i];
        return at > p.row_begin[i] && p.col[at - 1] == i - 1;
    });
}
bool is_upper_chained(const PatternView& p)
{
    return sptrsv::is_chained(0, p.rows, [&](index_t place) {
        const index_t i = p.rows - 1 - place;
        const offset_t at = p.diagonal[i] + 1;
        return at < p.row_begin[i + 1] && p.col[at] == i + 1;
    });
}

// Whether rows are to be padded, and whether there is room.
bool is_worth_padding(const Buffer<index_t>& length)
{
    offset_t entries = 0, places = 0;
    for (offset_t i = 0; i < length.size(); ++i) {
        entries += length.data()[i];
        places += sptrsv::padded_length(length.data()[i]);
    }
    return entries <= longest_mean_to_pad * length.size() && places <= max_index;
}

// Zeros have a column of their row that is known early: nothing waits for them.
template <class V, class C>
void fill_columns_of_zeros(const Triangle<V>& t, bool from_end, C* col)
{
    for (offset_t i = 0; t.padded && i < t.length.size(); ++i) {
        const offset_t n = t.length.data()[i], size = sptrsv::padded_length(n);
        if (size == n) continue;
        C* const row = col + (from_end ? t.begin.data()[i + 1] - 1 : t.begin.data()[i]);
        const offset_t step = from_end ? -1 : 1, furthest = sptrsv::padded_place(n - 1, n);
        for (offset_t k = furthest + 1; k < size; ++k) row[k * step] = row[furthest * step];
        if (sptrsv::padded_place(1, n) > 1) row[step] = row[furthest * step];
    }
}

// f(0) + f(1) + ... in double, in an order that depends on n alone; f is called once for each.
template <class F>
double summed(offset_t n, F&& f)
{
    constexpr int side_by_side = 8;
    constexpr offset_t piece = 4096;
    double all = 0;
    for (offset_t begin = 0; begin < n; begin += piece) {
        const offset_t end = std::min(n, begin + piece);
        double sum[side_by_side] = {};
        offset_t i = begin;
        for (; i + side_by_side <= end; i += side_by_side)
            for (int k = 0; k < side_by_side; ++k) sum[k] += f(i + k);
        for (; i < end; ++i) sum[0] += f(i);
        for (const double one : sum) all += one;
    }
    return all;
}

}  // namespace

template <class V>
Triangle<V>::Triangle(const CpuQueue& q, Buffer<index_t> lengths, bool is_chained)
    : chained(is_chained),
      padded(!is_chained && is_worth_padding(lengths)),
      length(std::move(lengths)),
      begin(q, length.size() + 1)
{
    const offset_t rows = length.size();
    begin.data()[0] = 0;
    for (offset_t i = 0; i < rows; ++i) {
        const index_t n = length.data()[i];
        begin.data()[i + 1] = begin.data()[i] + static_cast<index_t>(padded ? sptrsv::padded_length(n) : n);
    }
    value = Buffer<V>(q, begin.data()[rows]);
    if (padded) std::fill_n(value.data(), value.size(), V(0));
    if (is_narrow(rows)) narrow = Buffer<std::uint16_t>(q, value.size());
    else wide = Buffer<index_t>(q, value.size());
}

template <class V>
Sweeps<V>::Sweeps(const CpuQueue& q, const PatternView& p, SweepForm form)
    : form_(form),
      reciprocal_(q, p.rows),
      diagonal_(q, form == SweepForm::split ? p.rows : 0),
      left_(q, form == SweepForm::cholesky ? p.rows : 0),
      lower_(q, count_lower(q, p), is_lower_chained(p)),
      upper_(q, count_upper(q, p, form == SweepForm::cholesky),
             form == SweepForm::cholesky ? lower_.chained : is_upper_chained(p))
{}

// f(columns of the lower triangle, of the upper one).
template <class V>
template <class F>
void Sweeps<V>::with_columns(F&& f) const
{
    if (is_narrow(reciprocal_.size())) f(lower_.narrow.data(), upper_.narrow.data());
    else f(lower_.wide.data(), upper_.wide.data());
}

template <class V>
void Sweeps<V>::fill(const PatternView& p, const V* value, double weight)
{
    weight_ = static_cast<V>(weight);
    for (index_t i = 0; i < p.rows; ++i) reciprocal_.data()[i] = weight_ / value[p.diagonal[i]];
    for (index_t i = 0; i < diagonal_.size(); ++i) diagonal_.data()[i] = value[p.diagonal[i]] / weight_;
    if (is_narrow(p.rows)) fill_as(p, value, lower_.narrow.data(), upper_.narrow.data());
    else fill_as(p, value, lower_.wide.data(), upper_.wide.data());
}

// Each row from its nearest entry on, which stands at the end of a lower row and at the beginning of an upper one.
template <class V>
template <class C>
void Sweeps<V>::fill_as(const PatternView& p, const V* value, C* lower_col, C* upper_col)
{
    const auto put = [](const Triangle<V>& t, offset_t nearest, int step, C* col, V* to, index_t i) {
        return [=, n = t.length.data()[i], padded = t.padded](offset_t k, index_t c, V v) {
            const offset_t at = nearest + step * (padded ? sptrsv::padded_place(k, n) : k);
            col[at] = static_cast<C>(c);
            to[at] = v;
        };
    };
    for (index_t i = 0; i < p.rows; ++i) {
        const offset_t diagonal = p.diagonal[i];
        const V reciprocal = reciprocal_.data()[i], scale = form_ == SweepForm::lu ? V(1) : reciprocal;
        const auto left = put(lower_, lower_.begin.data()[i + 1] - 1, -1, lower_col, lower_.value.data(), i);
        for (offset_t k = diagonal - 1; k >= p.row_begin[i]; --k) left(diagonal - 1 - k, p.col[k], value[k] * scale);
        const auto right = put(upper_, upper_.begin.data()[i], 1, upper_col, upper_.value.data(), i);
        for (offset_t k = diagonal + 1; k < p.row_begin[i + 1]; ++k)
            right(k - diagonal - 1, p.col[k], value[k] * reciprocal);
    }
    if (form_ == SweepForm::cholesky) fill_transpose(p, value, upper_col);
    fill_columns_of_zeros(lower_, true, lower_col);
    fill_columns_of_zeros(upper_, false, upper_col);
}

// Rows of L from the last on: entries of a row of the transpose come from the furthest on.
template <class V>
template <class C>
void Sweeps<V>::fill_transpose(const PatternView& p, const V* value, C* upper_col)
{
    const index_t *const length = upper_.length.data(), *const begin = upper_.begin.data();
    index_t* const left = left_.data();
    std::copy_n(length, p.rows, left);
    for (index_t i = p.rows - 1; i >= 0; --i)
        for (offset_t k = p.diagonal[i] - 1; k >= p.row_begin[i]; --k) {
            const index_t row = p.col[k], nearer = --left[row];
            const offset_t at = begin[row] + (upper_.padded ? sptrsv::padded_place(nearer, length[row]) : nearer);
            upper_col[at] = static_cast<C>(i);
            upper_.value.data()[at] = value[k] * reciprocal_.data()[row];
        }
}

// start(i): the right-hand side of row i, divided by its diagonal; asked once for each row, in the order of solving.
template <class V>
template <class C, class Start>
void Sweeps<V>::solve_lower(const C* col, V* z, Start&& start) const
{
    const auto row_at = [begin = lower_.begin.data(), value = lower_.value.data(), col, &start](index_t i) {
        const offset_t at = begin[i];
        return sptrsv::SweepRow<V, C>{i, start(i), value + at, col + at, begin[i + 1] - at};
    };
    const auto rows = static_cast<index_t>(reciprocal_.size());
    if (lower_.chained) sptrsv::sweep_chain(0, rows, z, row_at);
    else if (lower_.padded) sptrsv::sweep_padded(0, rows, z, row_at);
    else sptrsv::sweep_rows(0, rows, z, row_at);
}

template <class V>
template <class C, class Start>
void Sweeps<V>::solve_upper(const C* col, V* z, Start&& start) const
{
    const auto rows = static_cast<index_t>(reciprocal_.size());
    const auto row_at = [begin = upper_.begin.data(), value = upper_.value.data(), col, rows, &start](index_t place) {
        const index_t i = rows - 1 - place;
        const offset_t last = offset_t{begin[i + 1]} - 1;
        return sptrsv::SweepRow<V, C>{i, start(i), value + last, col + last, last + 1 - begin[i]};
    };
    if (upper_.chained) sptrsv::sweep_chain<-1>(0, rows, z, row_at);
    else if (upper_.padded) sptrsv::sweep_padded<-1>(0, rows, z, row_at);
    else sptrsv::sweep_rows<-1>(0, rows, z, row_at);
}

template <class V>
void Sweeps<V>::apply(const V* r, V* z) const
{
    const V* const scale = reciprocal_.data();
    with_columns([&](const auto* lower, const auto* upper) {
        if (form_ == SweepForm::lu) solve_lower(lower, z, [=](index_t i) { return r[i]; });
        else solve_lower(lower, z, [=](index_t i) { return r[i] * scale[i]; });
        if (form_ == SweepForm::split) solve_upper(upper, z, [=](index_t i) { return z[i]; });
        else solve_upper(upper, z, [=](index_t i) { return z[i] * scale[i]; });
    });
}

template <class V>
void Sweeps<V>::begin_split(const V* r, V* y) const
{
    with_columns([&, scale = reciprocal_.data()](const auto* lower, const auto*) {
        solve_lower(lower, y, [=](index_t i) { return r[i] * scale[i]; });
    });
}

// A = (D' + L) + (D' + U) + (D - 2 D'), so that (D' + L)^-1 A t = t + (D' + L)^-1 (D' p + (D - 2 D') t).
template <class V>
double Sweeps<V>::step_split(const SplitVectors<V>& v, double beta, double owed) const
{
    with_columns([&](const auto* lower, const auto* upper) {
        solve_upper(upper, v.t, [=, b = static_cast<V>(beta), o = static_cast<V>(owed)](index_t i) {
            v.x[i] += o * v.t[i];
            return v.p[i] = v.y[i] + b * v.p[i];
        });
        solve_lower(lower, v.s, [=, beside = weight_ - V(2)](index_t i) { return v.p[i] + beside * v.t[i]; });
    });
    return summed(reciprocal_.size(), [=, d = diagonal_.data()](offset_t i) {
        v.s[i] += v.t[i];
        return static_cast<double>(d[i] * v.p[i]) * v.s[i];
    });
}

template <class V>
double Sweeps<V>::advance_split(const SplitVectors<V>& v, double alpha) const
{
    return summed(reciprocal_.size(), [=, a = static_cast<V>(alpha), d = diagonal_.data()](offset_t i) {
        const V y = v.y[i] -= a * v.s[i];
        return static_cast<double>(d[i] * y) * y;
    });
}

template <class V>
double Sweeps<V>::split_square(const V* y) const
{
    return summed(reciprocal_.size(),
                  [=, d = diagonal_.data()](offset_t i) { return static_cast<double>(d[i] * y[i]) * y[i]; });
}

template <class V>
double Sweeps<V>::residual_square(const V* y) const
{
    double sum = 0;
    with_columns([&, begin = lower_.begin.data(), value = lower_.value.data(), d = diagonal_.data()](const auto* col,
                                                                                                     const auto*) {
        sum = summed(reciprocal_.size(), [=](offset_t i) {
            V row = y[i];
            for (offset_t k = begin[i]; k < begin[i + 1]; ++k) row += value[k] * y[col[k]];
            return static_cast<double>(d[i] * row) * (d[i] * row);
        });
    });
    return sum;
}

template class Sweeps<float>;
template class Sweeps<double>;

}  // namespace tulle::inline TULLE_ABI::factor
