// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// DeltaSPARSE, long rows: a radix sort of columns in shared memory, four bits at a time, least significant first, so
// the order of equal digits stays.
//
//     thread            0       1       2            every thread has neighbouring entries
//     digits of its     3 0     0 3     1 0
//     tally[digit][thread], a running sum over all digits and threads: where each thread's next entry with that digit
//     goes
#include "spgemm/deltasparse/cuda/sort.hpp"

#include "prim/sort.hpp"
#include "spgemm/adaptive/cuda/rows.cuh"
#include "spgemm/cuda/block_memory.hpp"

namespace tulle::inline TULLE_ABI::spgemm::delta {
namespace {

constexpr int threads = 256, warps = threads / 32;
constexpr int digit_bits = 4, digits = 1 << digit_bits;

template <class V>
struct Deck {
    V* value;                 // (most_sorted) as they came
    index_t* col[2];          // (most_sorted) before and after a pass …
    unsigned short* from[2];  // (most_sorted) … and where each stood at the beginning
    unsigned short* tally;    // (digits, threads)
    int* warp_total;          // (warps)

    static constexpr std::size_t bytes()
    {
        return most_sorted * (sizeof(V) + 2 * sizeof(index_t) + 2 * sizeof(unsigned short)) +
               digits * threads * sizeof(unsigned short) + warps * sizeof(int);
    }

    __device__ static Deck at(unsigned char* memory)
    {
        Deck d{};
        d.value = reinterpret_cast<V*>(memory);
        d.col[0] = reinterpret_cast<index_t*>(d.value + most_sorted);
        d.col[1] = d.col[0] + most_sorted;
        d.warp_total = d.col[1] + most_sorted;
        d.from[0] = reinterpret_cast<unsigned short*>(d.warp_total + warps);
        d.from[1] = d.from[0] + most_sorted;
        d.tally = d.from[1] + most_sorted;
        return d;
    }
};

// The tallies become running sums, digit after digit, thread after thread. Every thread takes `digits` neighbouring
// ones.
__device__ void scan_tally(unsigned short* tally, int* warp_total)
{
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    unsigned short* mine = tally + threadIdx.x * digits;
    int sum = 0;
    for (int k = 0; k < digits; ++k) sum += mine[k];
    int through = sum;  // up to and with this thread
    for (int distance = 1; distance < 32; distance *= 2) {
        const int other = __shfl_up_sync(all_lanes, through, static_cast<unsigned>(distance));
        if (lane >= distance) through += other;
    }
    if (lane == 31) warp_total[warp] = through;
    __syncthreads();
    int before = through - sum;
    for (int w = 0; w < warp; ++w) before += warp_total[w];
    for (int k = 0; k < digits; ++k) {
        const int here = mine[k];
        mine[k] = static_cast<unsigned short>(before);
        before += here;
    }
}

// One pass: entries by the digit at `shift`, those with equal digits in the order they have.
template <class V>
__device__ void sort_pass(const Deck<V>& d, int pass, int entries)
{
    const int share = (entries + threads - 1) / threads, rank = static_cast<int>(threadIdx.x),
              first = min(rank * share, entries), last = min(first + share, entries);
    const index_t* col = d.col[pass % 2];
    const auto digit = [&](int k) { return col[k] >> pass * digit_bits & (digits - 1); };
    for (int g = 0; g < digits; ++g) d.tally[g * threads + rank] = 0;
    for (int k = first; k < last; ++k) ++d.tally[digit(k) * threads + rank];
    __syncthreads();
    scan_tally(d.tally, d.warp_total);
    __syncthreads();
    for (int k = first; k < last; ++k) {
        const int to = d.tally[digit(k) * threads + rank]++;
        d.col[(pass + 1) % 2][to] = col[k];
        d.from[(pass + 1) % 2][to] = d.from[pass % 2][k];
    }
    __syncthreads();
}

// A block per row.
//   grid: rows      shared memory: a Deck      c: every entry of those rows, read and written once
template <class V>
__global__ void __launch_bounds__(threads) sort_by_digits_kernel(Rows rows, int passes, RowRange<V> c)
{
    TULLE_DYNAMIC_SHARED(unsigned char, memory);
    const auto d = Deck<V>::at(memory);
    const index_t row = rows[blockIdx.x];
    const offset_t at = c.row_begin[row] - c.base;
    const int entries = static_cast<int>(c.row_begin[row + 1] - c.row_begin[row]);
    for (int k = static_cast<int>(threadIdx.x); k < entries; k += threads) {
        d.col[0][k] = c.col[at + k];
        d.value[k] = c.value[at + k];
        d.from[0][k] = static_cast<unsigned short>(k);
    }
    __syncthreads();
    for (int pass = 0; pass < passes; ++pass) sort_pass(d, pass, entries);
    for (int k = static_cast<int>(threadIdx.x); k < entries; k += threads) {
        c.col[at + k] = d.col[passes % 2][k];
        c.value[at + k] = d.value[d.from[passes % 2][k]];
    }
}

}  // namespace

template <class V>
void sort_by_digits(const CudaQueue& q, const Rows& rows, index_t cols, const RowRange<V>& c)
{
    static_assert(Deck<V>::bytes() <= smallest_block_bytes && most_sorted <= 0x10000);
    const int passes = (prim::bits_for(static_cast<std::uint64_t>(cols)) + digit_bits - 1) / digit_bits;
    launch(q, {rows.count, threads, Deck<V>::bytes()}, sort_by_digits_kernel<V>, rows, passes, c);
}

template void sort_by_digits(const CudaQueue&, const Rows&, index_t, const RowRange<float>&);
template void sort_by_digits(const CudaQueue&, const Rows&, index_t, const RowRange<double>&);

}  // namespace tulle::inline TULLE_ABI::spgemm::delta
