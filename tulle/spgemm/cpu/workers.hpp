// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The accumulators of all threads, and rows dealt out to them.
#pragma once

#include <omp.h>

#include "tulle/device/copy.hpp"
#include "tulle/matrix/csr.hpp"
#include "tulle/spgemm/cpu/accumulators.hpp"
#include "tulle/spgemm/steps.hpp"

namespace tulle::spgemm {

// Rows with at most this many products are hashed by the adaptive method: a table of 4096 slots stays in the first cache (reasoned).
inline constexpr offset_t hashed_products = 2048;
inline constexpr int rows_at_a_time = 32;            // dealt to a thread

// How many products of a row can be hashed, and whether longer rows need the array.
struct Share {
    bool dense;
    offset_t hashed;

    static Share of(const Policy& policy, offset_t longest, index_t cols)
    {
        const offset_t bound = std::min(longest, offset_t{cols});
        if (policy.method == Method::dense) return {true, 0};
        if (policy.method == Method::hash || bound <= hashed_products) return {false, bound};
        return {true, hashed_products};
    }

    offset_t slots() const { return hashed > 0 ? offset_t{1} << HashAccumulator<char>::bits_for(hashed) : 0; }
};

template <class V>
offset_t products_of(const CsrView<V>& a, const CsrView<V>& b, offset_t row)
{
    offset_t products = 0;
    for (offset_t k = a.row_begin[row]; k < a.row_begin[row + 1]; ++k) products += b.row_begin[a.col[k] + 1] - b.row_begin[a.col[k]];
    return products;
}

// One array and one table for each thread, from the queue's memory.
template <class V>
class Workers {
public:
    Workers(const CpuQueue& q, const Share& share, index_t cols, bool with_values)
        : share_(share), cols_(share.dense ? cols : 0), mark_(q, q.threads * offset_t{cols_}), key_(q, q.threads * share.slots()),
          value_(q, with_values ? q.threads * offset_t{cols_} : 0), slot_value_(q, with_values ? q.threads * share.slots() : 0)
    {
        fill_bytes(q, mark_.data(), 0xff, mark_.bytes());       // no row is -1
    }

    // Products of a row, where anybody wants to know.
    offset_t bound(const CsrView<V>& a, const CsrView<V>& b, offset_t row) const { return share_.hashed > 0 ? products_of(a, b, row) : 0; }

    // work(accumulator) with the one that suits a row of so many products.
    template <class F>
    void with(offset_t products, F&& work)
    {
        const offset_t thread = omp_get_thread_num();
        if (!share_.dense || (share_.hashed > 0 && products <= share_.hashed)) {
            HashAccumulator<V> table{slot_value_.data() + (slot_value_.empty() ? 0 : thread * share_.slots()), key_.data() + thread * share_.slots()};
            return work(table);
        }
        DenseAccumulator<V> array{value_.data() + (value_.empty() ? 0 : thread * cols_), mark_.data() + thread * cols_};
        work(array);
    }

    static std::size_t bytes_for(const CpuQueue& q, const Share& share, index_t cols)
    {
        return static_cast<std::size_t>(q.threads) * static_cast<std::size_t>((share.dense ? offset_t{cols} : 0) + share.slots()) * (sizeof(V) + sizeof(index_t));
    }

private:
    Share share_;
    index_t cols_;
    Buffer<index_t> mark_, key_;
    Buffer<V> value_, slot_value_;
};

}  // namespace tulle::spgemm
