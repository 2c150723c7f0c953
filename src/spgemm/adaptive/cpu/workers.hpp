// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The accumulators of all threads, and rows dealt out to them.
#pragma once

#include <omp.h>

#include "spgemm/adaptive/cpu/accumulators.hpp"
#include "spgemm/adaptive/cpu/short_row.hpp"
#include "spgemm/steps.hpp"
#include "tulle/csr.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::spgemm {

// Rows with at most this many products are hashed by the adaptive method: a table of 4096 slots stays in the first
// cache (reasoned).
inline constexpr offset_t hashed_products = 2048;
inline constexpr int rows_at_a_time = 32;  // dealt to a thread
// Arrays with marks are taken where there are this many products for each of their columns: they must be cleared once,
// and a matrix may have 2^31 columns and hardly an entry.
inline constexpr offset_t products_per_mark = 2;

// How many products of a row can be hashed, and whether longer rows need the array; or an array with marks for all.
// Masks find several columns at once and are faster still, as are comparisons where all rows have few products.
struct Share {
    bool dense;
    offset_t hashed;
    bool marked = false;
    offset_t compared = -1;  // rows with up to so many products are short (short_row.hpp)
    bool ordered = false;    // what is marked is sorted
    bool few = false;        // all rows are as short as FewProducts takes them: nobody need count

    static Share of(const CpuQueue& q, const Policy& policy, const Workspace& work, index_t cols)
    {
        const bool marked = policy.method != Method::hash && (policy.use_runs || !work.sorted) && work.mask.empty() &&
                            work.longest > FewProducts<float>::most &&
                            offset_t{cols} * q.threads <= work.products / products_per_mark;
        return marked ? Share{false, 0, true, -1, work.sorted} : in_order(policy, work, cols);
    }

    // Where the columns of C are known, nothing is marked or found in order: an array is enough.
    static Share of_refill(const CpuQueue& q, const Policy& policy, const Workspace& work, index_t cols)
    {
        const Share share = of(q, policy, work, cols);
        return share.marked ? Share{true, 0} : share;
    }

    static Share in_order(const Policy& policy, const Workspace& work, index_t cols)
    {
        const offset_t bound = std::min(work.longest, offset_t{cols});
        const offset_t compared = policy.use_runs && work.sorted ? ShortRow<float>::most_products : -1;
        const bool few = compared >= 0 && work.longest <= FewProducts<float>::most;
        if (policy.method == Method::dense) return {true, 0, false, compared, false, few};
        if (policy.method == Method::hash) return {false, bound};
        if (bound <= hashed_products) return {false, bound, false, compared, false, few};
        return {true, hashed_products, false, compared};
    }

    // A table has its least size also where no row has a product.
    offset_t slots() const
    {
        return marked || (dense && hashed == 0) ? 0 : offset_t{1} << HashAccumulator<char>::bits_for(hashed);
    }

    // Of the bits of a row's columns.
    offset_t words(index_t cols) const { return dense || ordered ? ColumnBits::words_for(cols) : 0; }
};

template <class V>
offset_t products_of(const CsrView<V>& a, const CsrView<V>& b, offset_t row)
{
    offset_t products = 0;
    for (offset_t k = a.row_begin[row]; k < a.row_begin[row + 1]; ++k)
        products += b.row_begin[a.col[k] + 1] - b.row_begin[a.col[k]];
    return products;
}

// One array and one table for each thread, from the queue's memory.
template <class V>
class Workers {
public:
    Workers(const CpuQueue& q, const Share& share, index_t cols, bool with_values)
        : share_(share),
          cols_(share.dense || share.marked ? cols : 0),
          words_(share.words(cols)),
          summaries_(ColumnBits::words_for(words_)),
          bits_(q, q.threads * (words_ + summaries_)),
          key_(q, q.threads * (share.marked ? offset_t{cols} : share.slots())),
          value_(q, with_values ? q.threads * offset_t{cols_} : 0),
          slot_value_(q, with_values ? q.threads * share.slots() : 0)
    {
        fill_zero(q, bits_.data(), bits_.size());
        if (share.marked) fill_bytes(q, key_.data(), 0xff, key_.bytes());
        if (!share.dense) return;
#pragma omp parallel for num_threads(q.threads) schedule(static)
        for (offset_t k = 0; k < value_.size(); ++k) value_.data()[k] = V(-0.0);
    }

    // Products of a row, or more, where anybody wants to know.
    offset_t bound(const CsrView<V>& a, const CsrView<V>& b, offset_t row) const
    {
        if (share_.few) return FewProducts<V>::most;
        return share_.hashed > 0 || share_.compared >= 0 ? products_of(a, b, row) : 0;
    }

    // work(accumulator) with the one that suits a row of so many products.
    template <class F>
    void with(index_t row, offset_t products, F&& work)
    {
        const offset_t thread = omp_get_thread_num();
        V* const value = value_.data() + (value_.empty() ? 0 : thread * cols_);
        if (share_.marked) {
            MarkedAccumulator<V> array{value, key_.data() + thread * cols_, cols_, row, bits_of(thread)};
            return work(array);
        }
        if (!share_.dense || (share_.hashed > 0 && products <= share_.hashed)) {
            HashAccumulator<V> table{slot_value_.data() + (slot_value_.empty() ? 0 : thread * share_.slots()),
                                     key_.data() + thread * share_.slots()};
            return work(table);
        }
        DenseAccumulator<V> array{bits_of(thread), value};
        work(array);
    }

    static std::size_t bytes_for(const CpuQueue& q, const Share& share, index_t cols)
    {
        const offset_t words = share.words(cols), marks = share.marked ? offset_t{cols} * offset_t{sizeof(index_t)} : 0,
                       bytes = (share.dense || share.marked ? offset_t{cols} * offset_t{sizeof(V)} : 0) + marks +
                               (words + ColumnBits::words_for(words)) * offset_t{sizeof(std::uint64_t)} +
                               share.slots() * offset_t{sizeof(V) + sizeof(index_t)};
        return static_cast<std::size_t>(q.threads * bytes);
    }

private:
    ColumnBits bits_of(offset_t thread)
    {
        std::uint64_t* const bits = bits_.data() + thread * (words_ + summaries_);
        return {bits, bits + words_, static_cast<index_t>(summaries_)};
    }

    Share share_;
    index_t cols_;
    offset_t words_, summaries_;
    Buffer<std::uint64_t> bits_;
    Buffer<index_t> key_;
    Buffer<V> value_, slot_value_;
};

}  // namespace tulle::inline TULLE_ABI::spgemm
