// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A warp for every row. The k-th largest key is found bit by bit from above: the largest number that at least k keys
// reach.
#include "device/cuda/kernel.cuh"
#include "graph/steps.hpp"

namespace tulle::inline TULLE_ABI::graph {
namespace {

constexpr int warp = 32;
constexpr unsigned whole_warp = 0xffffffffu;

constexpr LaunchShape one_warp_each(offset_t rows) { return one_thread_each(rows * warp); }

// The keys of one row, as cutoff_of() asks for them; all lanes ask together, and every lane gets the answer.
template <class V>
struct WarpRow {
    using Key = KeyOf<V>;
    CsrView<V> a;
    Rule<V> rule;
    index_t row;
    offset_t begin, end;
    int lane;

    __device__ bool is_inside(offset_t p) const { return rule.is_inside(row, a.col[p]); }
    __device__ offset_t size() const { return count(0); }
    __device__ offset_t count(Key cutoff) const
    {
        offset_t n = 0;
        for (offset_t p = begin + lane; p < end; p += warp) n += is_inside(p) && key_of(a.value[p]) >= cutoff ? 1 : 0;
        return slice_sum<warp>(n);
    }
    __device__ double mass(Key cutoff) const
    {
        double sum = 0;
        for (offset_t p = begin + lane; p < end; p += warp) {
            const Key key = key_of(a.value[p]);
            if (is_inside(p) && key >= cutoff) sum += static_cast<double>(magnitude_of<V>(key));
        }
        return slice_sum<warp>(sum);
    }
    __device__ Key kth(offset_t k) const
    {
        Key found = 0;
        for (Key bit = Key{1} << (sizeof(Key) * 8 - 2); bit > 0; bit >>= 1)
            if (count(found | bit) >= k) found |= bit;
        return found;
    }
};

template <class V>
__device__ WarpRow<V> row_of_warp(const CsrView<V>& a, const Rule<V>& rule, offset_t row)
{
    const bool is_row = row < a.rows;
    return {a,
            rule,
            static_cast<index_t>(row),
            is_row ? a.row_begin[row] : 0,
            is_row ? a.row_begin[row + 1] : 0,
            static_cast<int>(threadIdx.x % warp)};
}

//   grid: one warp per row      shared memory: none      cutoff, count: every row written once
template <class V>
__global__ void count_selected_kernel(CsrView<V> a, Rule<V> rule, KeyOf<V>* cutoff, offset_t* count)
{
    const offset_t i = global_thread() / warp;
    WarpRow<V> row = row_of_warp(a, rule, i);
    const KeyOf<V> mine = cutoff_of(rule, row);
    const offset_t stay = row.count(mine);
    if (i < a.rows && row.lane == 0) {
        cutoff[i] = mine;
        count[i] = stay;
    }
}

// In every step the lanes whose entry stays count those before them, and so keep the order.
//   grid: one warp per row      shared memory: none      col, value: every entry that stays written once
template <class V>
__global__ void fill_selected_kernel(CsrView<V> a, Rule<V> rule, const KeyOf<V>* cutoff, const offset_t* row_begin,
                                     index_t* col, V* value)
{
    const offset_t i = global_thread() / warp;
    const WarpRow<V> row = row_of_warp(a, rule, i);
    offset_t to = i < a.rows ? row_begin[i] : 0;
    for (offset_t step = row.begin; step < row.end; step += warp) {
        const offset_t p = step + row.lane;
        const bool stays = p < row.end && row.is_inside(p) && key_of(a.value[p]) >= cutoff[i];
        const unsigned all = __ballot_sync(whole_warp, stays);
        if (stays) {
            const int before = __popc(all & ((1u << row.lane) - 1));
            col[to + before] = a.col[p];
            value[to + before] = a.value[p];
        }
        to += __popc(all);
    }
}

}  // namespace

template <class V>
void count_selected(const CudaQueue& q, const CsrView<V>& a, const Rule<V>& rule, KeyOf<V>* cutoff, offset_t* count)
{
    launch(q, one_warp_each(a.rows), count_selected_kernel<V>, a, rule, cutoff, count);
}

template <class V>
void fill_selected(const CudaQueue& q, const CsrView<V>& a, const Rule<V>& rule, const KeyOf<V>* cutoff,
                   const offset_t* row_begin, index_t* col, V* value)
{
    launch(q, one_warp_each(a.rows), fill_selected_kernel<V>, a, rule, cutoff, row_begin, col, value);
}

template void count_selected(const CudaQueue&, const CsrView<float>&, const Rule<float>&, std::uint32_t*, offset_t*);
template void count_selected(const CudaQueue&, const CsrView<double>&, const Rule<double>&, std::uint64_t*, offset_t*);
template void fill_selected(const CudaQueue&, const CsrView<float>&, const Rule<float>&, const std::uint32_t*,
                            const offset_t*, index_t*, float*);
template void fill_selected(const CudaQueue&, const CsrView<double>&, const Rule<double>&, const std::uint64_t*,
                            const offset_t*, index_t*, double*);

}  // namespace tulle::inline TULLE_ABI::graph
