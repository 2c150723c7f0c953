// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// One thread of a CPU solves row after row, whatever the levels are: its rows are written straight from what is stored,
// in two passes. First where the triangle's entries are in each row, and how many each row of the system has; then the
// entries, the nearest unknown last in each row.
#include <algorithm>
#include <optional>

#include "sptrsv/steps.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {
namespace {

struct Range {
    offset_t begin, end;
};

class RowWriter {
public:
    RowWriter(const CpuQueue& q, const TriangleSource& s)
        : s_(s),
          lower_(s.upper == s.transpose),
          edge_(q, s.rows),
          to_{.rows = s.rows,
              .row = Buffer<index_t>(q, s.rows),
              .begin = Buffer<offset_t>(q, offset_t{s.rows} + 1),
              .col = {},
              .source = {},
              .diagonal = Buffer<offset_t>(q, s.unit_diagonal ? 0 : s.rows)}
    {
        std::fill_n(to_.begin.data(), to_.begin.size(), offset_t{0});
    }

    // False where another has to look.
    bool count()
    {
        for (index_t i = 0; i < s_.rows; ++i) {
            if (!find_edge(i)) return false;
            to_.row.data()[place(i)] = i;
            const Range r = range(i);
            if (!s_.transpose) to_.begin.data()[place(i) + 1] = r.end - r.begin;
            else
                for (offset_t k = r.begin; k < r.end; ++k) ++to_.begin.data()[place(s_.col[k]) + 1];
        }
        return true;
    }

    Rows write(const CpuQueue& q)
    {
        offset_t* begin = to_.begin.data();
        for (index_t i = 0; i < s_.rows; ++i) begin[i + 1] += begin[i];
        to_.col = Buffer<index_t>(q, begin[s_.rows]);
        to_.source = Buffer<offset_t>(q, begin[s_.rows]);
        if (s_.transpose) write_transposed(q);
        else write_rows();
        return std::move(to_);
    }

private:
    offset_t place(index_t i) const { return s_.upper ? s_.rows - 1 - i : i; }

    // Entries of a stored row that count.
    Range range(index_t i) const
    {
        const offset_t edge = edge_.data()[i];
        return lower_ ? Range{s_.row_begin[i], edge} : Range{edge, s_.row_begin[i + 1]};
    }

    // Where those below the diagonal end, or those above it begin.
    bool find_edge(index_t i)
    {
        const offset_t begin = s_.row_begin[i], end = s_.row_begin[i + 1];
        for (offset_t k = begin + 1; k < end; ++k)
            if (s_.col[k] <= s_.col[k - 1]) return false;
        const offset_t at = std::lower_bound(s_.col + begin, s_.col + end, i) - s_.col;
        const bool stored = at < end && s_.col[at] == i;
        const Range other = lower_ ? Range{at + (stored ? 1 : 0), end} : Range{begin, at};
        if (!s_.ignore_other_side && other.begin < other.end) return false;
        edge_.data()[i] = lower_ || !stored ? at : at + 1;
        if (s_.unit_diagonal) return true;
        to_.diagonal.data()[place(i)] = at;
        return stored;
    }

    void write_rows()
    {
        for (index_t i = 0; i < s_.rows; ++i) {
            const Range r = range(i);
            offset_t to = to_.begin.data()[place(i)];
            const auto put = [&](offset_t k) {
                to_.col.data()[to] = s_.col[k];
                to_.source.data()[to++] = k;
            };
            if (lower_)
                for (offset_t k = r.begin; k < r.end; ++k) put(k);
            else
                for (offset_t k = r.end; k > r.begin; --k) put(k - 1);
        }
    }

    void write_transposed(const CpuQueue& q)
    {
        Buffer<offset_t> next(q, s_.rows);
        std::copy_n(to_.begin.data(), s_.rows, next.data());
        for (index_t n = 0; n < s_.rows; ++n) {
            const index_t j = lower_ ? s_.rows - 1 - n : n;
            const Range r = range(j);
            for (offset_t k = r.begin; k < r.end; ++k) {
                const offset_t to = next.data()[place(s_.col[k])]++;
                to_.col.data()[to] = j;
                to_.source.data()[to] = k;
            }
        }
    }

    TriangleSource s_;
    bool lower_;             // the stored triangle that counts
    Buffer<offset_t> edge_;  // of each stored row
    Rows to_;
};

}  // namespace

std::optional<Rows> rows_as_stored(const CpuQueue& host, const TriangleSource& stored)
{
    RowWriter writer(host, stored);
    if (!writer.count()) return std::nullopt;
    return writer.write(host);
}

Features features_of(const CpuQueue& host, const Rows& rows)
{
    const bool reversed = rows.rows > 0 && rows.row.data()[0] != 0;
    Pattern t{.rows = rows.rows,
              .reversed = reversed,
              .row_begin = Buffer<offset_t>(host, rows.begin.size()),
              .col = Buffer<index_t>(host, rows.nonzeros())};
    std::copy_n(rows.begin.data(), rows.begin.size(), t.row_begin.data());
    for (offset_t k = 0; k < rows.nonzeros(); ++k) t.col.data()[k] = t.row_of(rows.col.data()[k]);
    return features_of(t, merge(host, t, Merge::none));
}

}  // namespace tulle::inline TULLE_ABI::sptrsv
