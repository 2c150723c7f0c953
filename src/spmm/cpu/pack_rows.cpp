// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Greedy packing: a panel starts with a row and takes, one after the other, the row for which the columns it shares
// with the panel weigh most against the columns it would add. Who shares a column is found through the transposed
// pattern. What is left of one panel's candidates gives the next panel its first row, so that neighbouring panels stay
// close.
//
// Columns with many rows say little about who belongs together and cost much: they find no candidates. A panel looks at
// a limited number of entries, so the whole is linear in the nonzeros times the length of short columns.
#include <algorithm>
#include <vector>

#include "prim/histogram.hpp"
#include "prim/scan.hpp"
#include "spmm/order/steps.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::spmm {
namespace {

constexpr offset_t long_column = 256;
constexpr offset_t most_touches = 200'000;           // of a panel
constexpr int buckets = 1024, bucket_of_zero = 256;  // scores; those beyond share the first and the last

// The rows of each short column.
struct Columns {
    Buffer<offset_t> begin;
    Buffer<index_t> row;

    Columns(const CpuQueue& q, const Pattern& a) : begin(q, offset_t{a.cols} + 1)
    {
        prim::histogram(q, a.col, a.nonzeros, begin.data(), a.cols);
        for (index_t j = 0; j < a.cols; ++j)
            if (begin.data()[j] > long_column) begin.data()[j] = 0;
        Buffer<index_t> room(q, a.cols);  // rows that a column will still take
        for (index_t j = 0; j < a.cols; ++j) room.data()[j] = static_cast<index_t>(begin.data()[j]);
        prim::exclusive_scan(q, begin.data(), begin.data(), a.cols);
        row = Buffer<index_t>(q, begin.data()[a.cols]);
        for (index_t i = a.rows - 1; i >= 0; --i)
            for (offset_t k = a.row_begin[i + 1] - 1; k >= a.row_begin[i]; --k) {
                const index_t j = a.col[k];
                if (room.data()[j] > 0) row.data()[begin.data()[j] + --room.data()[j]] = i;
            }
    }
};

// Rows by score; a row that was touched again stands in several buckets, and only the one of its present score counts.
class Candidates {
public:
    Candidates(const CpuQueue& q, const Pattern& a) : a_(a), overlap_(q, a.rows), panel_(q, a.rows), bucket_(buckets)
    {
        std::fill(panel_.data(), panel_.data() + a.rows, index_t{-1});
    }

    void start_panel(index_t panel)
    {
        for (int b = 0; b <= highest_; ++b) bucket_[static_cast<std::size_t>(b)].clear();
        highest_ = -1;
        now_ = panel;
    }

    // A panel's row has one more column in common with this one.
    void touch(index_t row)
    {
        if (panel_.data()[row] != now_) {
            panel_.data()[row] = now_;
            overlap_.data()[row] = 0;
        }
        ++overlap_.data()[row];
        const int b = bucket_of(row);
        bucket_[static_cast<std::size_t>(b)].push_back(row);
        highest_ = std::max(highest_, b);
    }

    // The best row that is still free, or -1.
    template <class Free>
    index_t take(Free&& is_free)
    {
        for (; highest_ >= 0; --highest_) {
            auto& rows = bucket_[static_cast<std::size_t>(highest_)];
            while (!rows.empty()) {
                const index_t row = rows.back();
                rows.pop_back();
                if (is_free(row) && bucket_of(row) == highest_) return row;
            }
        }
        return -1;
    }

private:
    // Twice the columns shared less the columns added.
    int bucket_of(index_t row) const
    {
        const offset_t length = a_.row_begin[row + 1] - a_.row_begin[row];
        const offset_t score = 3 * offset_t{overlap_.data()[row]} - length;
        return static_cast<int>(std::clamp<offset_t>(score + bucket_of_zero, 0, buckets - 1));
    }

    const Pattern& a_;
    Buffer<index_t> overlap_, panel_;  // of each row: columns shared with the panel, and which panel that was
    std::vector<std::vector<index_t>> bucket_;
    int highest_ = -1;
    index_t now_ = -1;
};

class Packing {
public:
    Packing(const CpuQueue& q, const Pattern& a)
        : a_(a),
          columns_(q, a),
          candidates_(q, a),
          in_panel_(q, a.cols),
          placed_(q, a.rows)
    {
        std::fill(in_panel_.data(), in_panel_.data() + a.cols, index_t{-1});
        for (index_t i = 0; i < a.rows; ++i) placed_.data()[i] = a.row_begin[i] == a.row_begin[i + 1];
    }

    // Rows that are not empty, panel after panel; returns how many.
    index_t run(index_t height, index_t* to)
    {
        index_t done = 0, seed = next_free();
        for (index_t panel = 0; seed >= 0; ++panel) {
            candidates_.start_panel(panel);
            touches_ = 0;
            index_t row = seed;
            for (index_t k = 0; k < height && row >= 0; ++k) {
                to[done++] = row;
                add(row, panel);
                if (k + 1 < height) row = best_or_next();
            }
            seed = best_or_next();
        }
        return done;
    }

private:
    index_t best_or_next()
    {
        const index_t best = candidates_.take([&](index_t r) { return placed_.data()[r] == 0; });
        return best >= 0 ? best : next_free();
    }

    index_t next_free()
    {
        while (next_ < a_.rows && placed_.data()[next_] != 0) ++next_;
        return next_ < a_.rows ? next_ : -1;
    }

    void add(index_t row, index_t panel)
    {
        placed_.data()[row] = 1;
        for (offset_t k = a_.row_begin[row]; k < a_.row_begin[row + 1]; ++k) {
            const index_t col = a_.col[k];
            if (in_panel_.data()[col] == panel || touches_ > most_touches) continue;
            in_panel_.data()[col] = panel;
            touch_rows(columns_.begin.data()[col], columns_.begin.data()[col + 1]);
        }
    }

    void touch_rows(offset_t begin, offset_t end)
    {
        touches_ += end - begin;
        for (offset_t k = begin; k < end; ++k)
            if (const index_t r = columns_.row.data()[k]; placed_.data()[r] == 0) candidates_.touch(r);
    }

    const Pattern& a_;
    Columns columns_;
    Candidates candidates_;
    Buffer<index_t> in_panel_;  // of each column: the last panel that has it
    Buffer<unsigned char> placed_;
    offset_t touches_ = 0;
    index_t next_ = 0;
};

}  // namespace

void pack_rows(const CpuQueue& q, const Pattern& a, index_t panel, index_t* row)
{
    index_t at = Packing(q, a).run(panel, row);
    for (index_t i = 0; i < a.rows; ++i)
        if (a.row_begin[i] == a.row_begin[i + 1]) row[at++] = i;
}

}  // namespace tulle::inline TULLE_ABI::spmm
