// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A warp for each row waits for the rows that its entries left of the diagonal name, one after the other in ascending
// order, and not for levels. Rows are handed out by a ticket in ascending order, so whoever is waited for has started
// already and waits in turn only for earlier rows: everything moves on, however few blocks the device runs at once. A
// row's flag is released after its values are written; lanes that acquire it see them.
//
// Entries of the other row are divided among the lanes, and each finds its place in this row by a search. Sums are in a
// fixed order: the same bits every time.
#include <cmath>

#include "device/cuda/kernel.cuh"
#include "factor/shifted.hpp"
#include "factor/steps.hpp"
#include "prim/search.hpp"

namespace tulle::inline TULLE_ABI::factor {
namespace {

constexpr int threads = 128;
constexpr unsigned whole_warp = 0xffffffffu;

// What the warps of a factorisation share; zero before, but for `failed`.
struct Shared {
    unsigned* ticket;
    unsigned* done;  // per row
    long long* failed;
};

__device__ offset_t take_row(const Shared& shared, int lane)
{
    unsigned taken = 0;
    if (lane == 0) taken = atomicAdd(shared.ticket, 1u);
    return __shfl_sync(whole_warp, taken, 0);
}

__device__ void wait_for(const unsigned* done)
{
    while (load_acquire(done) == 0) {}
}

// All lanes have written their entries of row i.
template <class V>
__device__ void finish_row(const PatternView& p, index_t i, const Shared& shared, int lane, V pivot, const V* value,
                           bool cholesky)
{
    V residue = 0;
    for (offset_t k = p.row_begin[i] + lane; k < p.row_begin[i + 1]; k += 32) residue += value[k] * V(0);
    residue = slice_sum<32>(residue);
    if (lane != 0) return;
    const Breakdown why = judge(pivot, residue, cholesky);
    if (why != Breakdown::none) atomicMin(shared.failed, breakdown_word(i, why));
    store_release(&shared.done[i], 1u);
}

// Position of a column in the sorted positions begin … end-1 of a row; -1 where there is none.
__device__ offset_t find_place(const PatternView& p, offset_t begin, offset_t end, index_t col)
{
    const offset_t at = begin + prim::lower_bound(p.col + begin, end - begin, col);
    return at < end && p.col[at] == col ? at : -1;
}

// grid: ceil(rows * 32 / threads)      value: of A before, of the factors after
template <class V>
__global__ void __launch_bounds__(threads) factorize_lu_kernel(PatternView p, Shared shared, V* value)
{
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const offset_t turn = take_row(shared, lane);
    if (turn >= p.rows) return;
    const auto i = static_cast<index_t>(turn);
    const offset_t end = p.row_begin[i + 1], diagonal = p.diagonal[i];
    for (offset_t k = p.row_begin[i]; k < diagonal; ++k) {
        const index_t other = p.col[k];
        wait_for(&shared.done[other]);
        const V factor = value[k] / value[p.diagonal[other]];
        __syncwarp();  // all lanes have read value[k]
        if (lane == 0) value[k] = factor;
        for (offset_t t = p.diagonal[other] + 1 + lane; t < p.row_begin[other + 1]; t += 32) {
            const offset_t to = find_place(p, k + 1, end, p.col[t]);
            if (to >= 0) value[to] -= factor * value[t];
        }
        __syncwarp();
    }
    finish_row(p, i, shared, lane, value[diagonal], value, false);
}

template <class V>
__global__ void __launch_bounds__(threads) factorize_cholesky_kernel(PatternView p, Shared shared, V* value)
{
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const offset_t turn = take_row(shared, lane);
    if (turn >= p.rows) return;
    const auto i = static_cast<index_t>(turn);
    const offset_t begin = p.row_begin[i], diagonal = p.diagonal[i];
    V pivot = value[diagonal];
    for (offset_t k = begin; k < diagonal; ++k) {
        const index_t other = p.col[k];
        wait_for(&shared.done[other]);
        V sum = 0;
        for (offset_t t = p.row_begin[other] + lane; t < p.diagonal[other]; t += 32) {
            const offset_t at = find_place(p, begin, k, p.col[t]);
            if (at >= 0) sum += value[at] * value[t];
        }
        const V entry = (value[k] - slice_sum<32>(sum)) / value[p.diagonal[other]];
        pivot -= entry * entry;
        __syncwarp();  // all lanes have read value[k]
        if (lane == 0) value[k] = entry;
        __syncwarp();
    }
    __syncwarp();  // all lanes have read the pivot
    if (lane == 0) value[diagonal] = std::sqrt(pivot);
    __syncwarp();
    finish_row(p, i, shared, lane, pivot, value, true);
}

template <class V>
FirstBreakdown factorize(const CudaQueue& q, const PatternView& p, void (*kernel)(PatternView, Shared, V*), V* value)
{
    Buffer<unsigned> words(q, offset_t{p.rows} + 1);
    Buffer<long long> failed(q, 1);
    fill_zero(q, words.data(), words.size());
    const long long none = breakdown_word(p.rows, Breakdown::none);
    upload(q, &none, failed.data(), 1);
    launch(q, one_thread_each(offset_t{p.rows} * 32, threads), kernel, p,
           Shared{words.data() + p.rows, words.data(), failed.data()}, value);
    return breakdown_of(read_value(q, failed.data()));
}

}  // namespace

LevelOrder order_levels(const CudaQueue&, const PatternView&) { return {}; }

template <class V>
FirstBreakdown factorize_lu(const CudaQueue& q, const PatternView& p, const LevelOrder&, V* value)
{
    return factorize(q, p, factorize_lu_kernel<V>, value);
}

template <class V>
FirstBreakdown factorize_cholesky(const CudaQueue& q, const PatternView& p, const LevelOrder&, V* value)
{
    return factorize(q, p, factorize_cholesky_kernel<V>, value);
}

template FirstBreakdown factorize_lu(const CudaQueue&, const PatternView&, const LevelOrder&, float*);
template FirstBreakdown factorize_lu(const CudaQueue&, const PatternView&, const LevelOrder&, double*);
template FirstBreakdown factorize_cholesky(const CudaQueue&, const PatternView&, const LevelOrder&, float*);
template FirstBreakdown factorize_cholesky(const CudaQueue&, const PatternView&, const LevelOrder&, double*);

}  // namespace tulle::inline TULLE_ABI::factor
