// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The greedy clustering of BSA (paper, algorithms 1 and 2) with the result of the sequential definition, without
// comparing all with all.
//
// A row that shares no block with the cluster's representative has similarity 0, which is never above alpha. So each
// block keeps a list of the rows that have it, by position in the order. When the representative gains a block, with
// the row at position p, the rows behind p in that block's list become candidates: marks in a set that hands out the
// smallest one next. Rows before p are not looked at again, whatever the representative gains: neither does the
// definition. A row is therefore compared exactly when it is behind the last row that joined, and shares a block then.
//
// Two bounds keep most candidates from being compared at all, without changing a decision:
//   - J is at most the smaller mass over the larger one (could_resemble): two numbers, not the rows;
//   - J > alpha needs s > alpha |y|. A row is left out of the lists of some of its blocks, the most frequent ones, as
//   long as all that they could
//     share stays below alpha |y|: who shares nothing else is no candidate. `safety` outweighs any rounding of the
//     sums.
// Rows that have a cluster leave the lists when these are walked next.
#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "base/math.hpp"
#include "prim/scan.hpp"
#include "spmm/order/steps.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::spmm {
namespace {

constexpr double safety = 1 - 1e-9;

// A set of numbers below n; take() gives the smallest. Words of 64 bits, and above them words that tell which are not
// empty.
class Marks {
public:
    Marks(const CpuQueue& q, index_t n)
    {
        offset_t words = std::max<offset_t>(1, n);
        do {
            words = ceil_div(words, offset_t{64});
            level_.emplace_back(q, words);
            fill_zero(q, level_.back().data(), words);
        } while (words > 1);
    }

    void add(index_t number)
    {
        auto at = static_cast<std::size_t>(number);
        for (Buffer<std::uint64_t>& level : level_) {
            std::uint64_t& word = level.data()[at / 64];
            const bool was_empty = word == 0;
            word |= std::uint64_t{1} << at % 64;
            if (!was_empty) return;
            at /= 64;
        }
    }

    bool empty() const { return level_.back().data()[0] == 0; }

    index_t take()
    {
        std::size_t at = 0;
        for (auto level = level_.rbegin(); level != level_.rend(); ++level)
            at = at * 64 + static_cast<std::size_t>(std::countr_zero(level->data()[at]));
        const auto number = static_cast<index_t>(at);
        for (Buffer<std::uint64_t>& level : level_) {
            std::uint64_t& word = level.data()[at / 64];
            word &= word - 1;  // the lowest bit is the one taken
            if (word != 0) break;
            at /= 64;
        }
        return number;
    }

private:
    std::vector<Buffer<std::uint64_t>> level_;
};

// A row in the order, ready to be compared.
struct Candidate {
    const BlockCount *begin, *end;
    Extent extent;
};

Candidate candidate(const EncodingsView& e, offset_t row)
{
    const BlockCount* begin = e.entry + e.begin[row];
    return {begin, begin + e.blocks[row], e.extent[row]};
}

// For each block the positions of the rows that may become candidates through it, ascending.
class Lists {
public:
    Lists(const CpuQueue& q, const EncodingsView& e, const offset_t* row, index_t n, double alpha)
        : begin_(q, offset_t{e.all_blocks} + 1),
          end_(q, e.all_blocks)
    {
        Buffer<offset_t> at(q, offset_t{n} + 1);
        for (index_t i = 0; i < n; ++i) at.data()[i] = e.blocks[row[i]];
        prim::exclusive_scan(q, at.data(), at.data(), n);
        Buffer<index_t> needed(q, at.data()[n]), count(q, n);
        choose_needed(q, e, row, n, alpha, at.data(), needed.data(), count.data());
        const auto for_needed = [&](auto&& f) {
            for (index_t i = 0; i < n; ++i)
                for (offset_t k = at.data()[i]; k < at.data()[i] + count.data()[i]; ++k) f(i, needed.data()[k]);
        };
        fill_zero(q, begin_.data(), begin_.size());
        for_needed([&](index_t, index_t block) { ++begin_.data()[block]; });
        prim::exclusive_scan(q, begin_.data(), begin_.data(), e.all_blocks);
        copy(q, begin_.data(), end_.data(), e.all_blocks);
        position_ = Buffer<index_t>(q, begin_.data()[e.all_blocks]);
        for_needed([&](index_t i, index_t block) { position_.data()[end_.data()[block]++] = i; });
    }

    // keep(position) for every row in the block's list; those for which it is false leave.
    template <class Keep>
    void walk(index_t block, Keep&& keep)
    {
        index_t* first = position_.data() + begin_.data()[block];
        index_t* last = position_.data() + end_.data()[block];
        end_.data()[block] = std::remove_if(first, last, [&](index_t p) { return !keep(p); }) - position_.data();
    }

private:
    // needed[at[i]] … : all blocks of row[i] but the most frequent ones, which together hold less than alpha of it.
    static void choose_needed(const CpuQueue& q, const EncodingsView& e, const offset_t* row, index_t n, double alpha,
                              const offset_t* at, index_t* needed, index_t* count)
    {
        Buffer<index_t> rows_with(q, e.all_blocks);
        fill_zero(q, rows_with.data(), e.all_blocks);
        for (index_t i = 0; i < n; ++i) {
            const Candidate c = candidate(e, row[i]);
            for (const BlockCount* b = c.begin; b != c.end; ++b) ++rows_with.data()[b->block];
        }
        Buffer<BlockCount> entry(q, at[n]);
        const auto more_frequent = [common = rows_with.data()](const BlockCount& x, const BlockCount& y) {
            return common[x.block] != common[y.block] ? common[x.block] > common[y.block] : x.block < y.block;
        };
#pragma omp parallel for num_threads(q.threads) schedule(dynamic, 512)
        for (index_t i = 0; i < n; ++i) {
            const Candidate c = candidate(e, row[i]);
            BlockCount *first = entry.data() + at[i], *last = std::copy(c.begin, c.end, first);
            std::sort(first, last, more_frequent);
            const double spare = alpha * safety * static_cast<double>(e.sum[row[i]]);
            offset_t left_out = 0;
            count[i] = 0;
            for (const BlockCount* b = first; b != last; ++b) {
                if (static_cast<double>(left_out + b->count) < spare) left_out += b->count;
                else needed[at[i] + count[i]++] = b->block;
            }
        }
    }

    Buffer<offset_t> begin_, end_;
    Buffer<index_t> position_;
};

// The sum of a cluster's rows.
class Representative {
public:
    Representative(const CpuQueue& q, index_t blocks) : count_(q, blocks) { fill_zero(q, count_.data(), blocks); }

    const Extent& extent() const { return extent_; }

    bool resembles(const Candidate& y, double alpha) const
    {
        if (!could_resemble(extent_, y.extent, alpha)) return false;
        Overlap overlap;
        for (const BlockCount* b = y.begin; b != y.end; ++b)
            overlap.add(count_.data()[b->block], b->count, extent_, y.extent);
        return spmm::resembles(overlap.share(extent_, y.extent), extent_, y.extent, alpha);
    }

    // gained(block) for every block that was not there before.
    template <class F>
    void add(const Candidate& y, F&& gained)
    {
        for (const BlockCount* b = y.begin; b != y.end; ++b) {
            index_t& mine = count_.data()[b->block];
            squares_ += offset_t{b->count} * (2 * offset_t{mine} + b->count);
            sum_ += b->count;
            if (mine == 0) {
                has_.push_back(b->block);
                gained(b->block);
            }
            mine += b->count;
        }
        extent_.length = std::sqrt(static_cast<double>(squares_));
        extent_.mass = static_cast<double>(sum_) / extent_.length;
    }

    void clear()
    {
        for (const index_t block : has_) count_.data()[block] = 0;
        has_.clear();
        squares_ = sum_ = 0;
    }

private:
    Buffer<index_t> count_;
    std::vector<index_t> has_;
    offset_t squares_ = 0, sum_ = 0;
    Extent extent_;
};

}  // namespace

index_t cluster_rows(const CpuQueue& q, const EncodingsView& e, const offset_t* row, index_t n, double alpha,
                     index_t* cluster)
{
    Lists lists(q, e, row, n, alpha);
    Representative representative(q, e.all_blocks);
    Marks candidates(q, n);
    std::fill(cluster, cluster + n, -1);
    index_t clusters = 0;
    const auto join = [&](index_t p) {
        cluster[p] = clusters;
        representative.add(candidate(e, row[p]), [&](index_t block) {
            lists.walk(block, [&](index_t other) {
                if (other > p && cluster[other] < 0) candidates.add(other);
                return cluster[other] < 0;
            });
        });
    };
    for (index_t seed = 0; seed < n; ++seed) {
        if (cluster[seed] >= 0) continue;
        join(seed);
        while (!candidates.empty()) {
            const index_t p = candidates.take();
            if (representative.resembles(candidate(e, row[p]), alpha)) join(p);
        }
        representative.clear();
        ++clusters;
    }
    return clusters;
}

}  // namespace tulle::inline TULLE_ABI::spmm
