// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "factor/sweeps.hpp"

#include <algorithm>
#include <limits>

#include "sptrsv/solve/cpu/sweep.hpp"

namespace tulle::inline TULLE_ABI::factor {
namespace {

constexpr bool is_narrow(offset_t rows) { return rows <= offset_t{std::numeric_limits<std::uint16_t>::max()} + 1; }

offset_t count_lower(const PatternView& p)
{
    offset_t n = 0;
    for (index_t i = 0; i < p.rows; ++i) n += p.diagonal[i] - p.row_begin[i];
    return n;
}

// Where each row of both triangles begins; of a transpose, where its rows would end before entries are written.
void count_rows(const PatternView& p, bool cholesky, index_t* lower, index_t* upper)
{
    lower[0] = 0;
    std::fill_n(upper, p.rows + 1, index_t{0});
    for (index_t i = 0; i < p.rows; ++i) {
        const offset_t begin = p.row_begin[i], diagonal = p.diagonal[i];
        lower[i + 1] = lower[i] + static_cast<index_t>(diagonal - begin);
        if (!cholesky) upper[i + 1] = upper[i] + static_cast<index_t>(p.row_begin[i + 1] - diagonal - 1);
        else
            for (offset_t k = begin; k < diagonal; ++k) ++upper[p.col[k]];
    }
    if (cholesky)
        for (index_t i = 0; i < p.rows; ++i) upper[i + 1] += upper[i];
}

}  // namespace

template <class V>
Triangle<V>::Triangle(const CpuQueue& q, index_t rows, offset_t nonzeros)
    : begin(q, offset_t{rows} + 1),
      value(q, nonzeros)
{
    if (is_narrow(rows)) narrow = Buffer<std::uint16_t>(q, nonzeros);
    else wide = Buffer<index_t>(q, nonzeros);
}

template <class V>
Sweeps<V>::Sweeps(const CpuQueue& q, const PatternView& p, bool cholesky)
    : cholesky_(cholesky),
      reciprocal_(q, p.rows),
      lower_(q, p.rows, count_lower(p)),
      upper_(q, p.rows, cholesky ? lower_.value.size() : p.row_begin[p.rows] - lower_.value.size() - p.rows)
{
    lower_.chained = sptrsv::is_chained(0, p.rows, [&](index_t i) {
        const offset_t at = p.diagonal[i];
        return at > p.row_begin[i] && p.col[at - 1] == i - 1;
    });
    upper_.chained = cholesky ? lower_.chained : sptrsv::is_chained(0, p.rows, [&](index_t place) {
        const index_t i = p.rows - 1 - place;
        const offset_t at = p.diagonal[i] + 1;
        return at < p.row_begin[i + 1] && p.col[at] == i + 1;
    });
}

template <class V>
void Sweeps<V>::fill(const PatternView& p, const V* value)
{
    for (index_t i = 0; i < p.rows; ++i) reciprocal_.data()[i] = V(1) / value[p.diagonal[i]];
    count_rows(p, cholesky_, lower_.begin.data(), upper_.begin.data());
    if (is_narrow(p.rows)) fill_as(p, value, lower_.narrow.data(), upper_.narrow.data());
    else fill_as(p, value, lower_.wide.data(), upper_.wide.data());
}

// Rows of a transpose are written from their ends, with rows of L from the last on: columns ascend.
template <class V>
template <class C>
void Sweeps<V>::fill_as(const PatternView& p, const V* value, C* lower_col, C* upper_col)
{
    V *lower = lower_.value.data() + lower_.value.size(), *upper = upper_.value.data() + upper_.value.size();
    C *left = lower_col + lower_.value.size(), *right = upper_col + upper_.value.size();
    const V* const reciprocal = reciprocal_.data();
    for (index_t i = p.rows - 1; i >= 0; --i) {
        const offset_t diagonal = p.diagonal[i];
        for (offset_t k = p.row_begin[i + 1] - 1; k > diagonal; --k) {
            *--right = static_cast<C>(p.col[k]);
            *--upper = value[k] * reciprocal[i];
        }
        const V scale = cholesky_ ? reciprocal[i] : V(1);
        for (offset_t k = diagonal - 1; k >= p.row_begin[i]; --k) {
            *--left = static_cast<C>(p.col[k]);
            *--lower = value[k] * scale;
            if (!cholesky_) continue;
            const index_t to = --upper_.begin.data()[p.col[k]];
            upper_col[to] = static_cast<C>(i);
            upper_.value.data()[to] = value[k] * reciprocal[p.col[k]];
        }
    }
}

template <class V>
template <class C>
void Sweeps<V>::solve_lower(const C* col, const V* r, V* z) const
{
    const auto row_at = [begin = lower_.begin.data(), value = lower_.value.data(),
                         scale = cholesky_ ? reciprocal_.data() : nullptr, col, r](index_t i) {
        const offset_t at = begin[i];
        return sptrsv::SweepRow<V, C>{i, scale ? r[i] * scale[i] : r[i], value + at, col + at, begin[i + 1] - at};
    };
    const auto rows = static_cast<index_t>(reciprocal_.size());
    if (lower_.chained) sptrsv::sweep_chain(0, rows, z, row_at);
    else sptrsv::sweep_rows(0, rows, z, row_at);
}

template <class V>
template <class C>
void Sweeps<V>::solve_upper(const C* col, V* z) const
{
    const auto rows = static_cast<index_t>(reciprocal_.size());
    const auto row_at = [begin = upper_.begin.data(), value = upper_.value.data(), scale = reciprocal_.data(), col, z,
                         rows](index_t place) {
        const index_t i = rows - 1 - place;
        const offset_t last = offset_t{begin[i + 1]} - 1;
        return sptrsv::SweepRow<V, C>{i, z[i] * scale[i], value + last, col + last, last + 1 - begin[i]};
    };
    if (upper_.chained) sptrsv::sweep_chain<-1>(0, rows, z, row_at);
    else sptrsv::sweep_rows<-1>(0, rows, z, row_at);
}

template <class V>
void Sweeps<V>::apply(const V* r, V* z) const
{
    if (is_narrow(reciprocal_.size())) {
        solve_lower(lower_.narrow.data(), r, z);
        solve_upper(upper_.narrow.data(), z);
    } else {
        solve_lower(lower_.wide.data(), r, z);
        solve_upper(upper_.wide.data(), z);
    }
}

template class Sweeps<float>;
template class Sweeps<double>;

}  // namespace tulle::inline TULLE_ABI::factor
