// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// DeltaSPARSE up to the nonzeros of every row: upper bounds, groups, hash tables and bitmaps.
#include "base/constant.hpp"
#include "spgemm/cuda/block_memory.hpp"
#include "spgemm/deltasparse/cuda/deltasparse.cuh"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::spgemm::delta {
namespace {

constexpr int dense_threads = counting[counting_groups - 1].threads;

using Pattern = CsrView<float>;  // values play no part

template <class V>
Pattern pattern_of(const CsrView<V>& a)
{
    return {a.rows, a.cols, a.nonzeros, a.row_begin, a.col, nullptr, a.sorted, a.unique};
}

// One thread per row.
__global__ void __launch_bounds__(256) find_sizes_kernel(const offset_t* row_begin, offset_t rows, offset_t* size)
{
    const offset_t k = global_thread();
    if (k < rows) size[k] = row_begin[k + 1] - row_begin[k];
}

// One thread per row.
__global__ void __launch_bounds__(256) classify_kernel(Sizes sizes, std::uint32_t* group, offset_t* order)
{
    const offset_t k = global_thread();
    if (k >= sizes.rows) return;
    group[k] = static_cast<std::uint32_t>(sizes.group(k));
    order[k] = sizes.first + k;
}

// Rows that a hash table could not count well.
struct Bad {
    unsigned char* collided;  // a flag for every row
    offset_t* list;
    unsigned* count;
};

// A block and a hash table per row (the paper's algorithm 1).
//   grid: rows of the group      shared memory: Slots words      count: every row of the group that is not bad, once
template <int Threads, int Slots>
__global__ void __launch_bounds__(Threads)
    count_hashed_kernel(Pattern a, Pattern b, Rows rows, offset_t* count, Bad bad)
{
    TULLE_SHARED(index_t, key, Slots);
    TULLE_SHARED(int, cells, 2);
    const index_t row = rows[blockIdx.x];
    team_fill<Threads>(key, Slots, vacant);
    if (threadIdx.x == 0) cells[1] = 0;
    __syncthreads();
    int nonzeros = 0;
    walk_products<Threads>(a, b, row, [&](offset_t, offset_t l) {
        if (peek(cells + 1) != 0) return;  // somebody has searched for too long
        const Found found = insert<Slots>(key, b.col[l], probe_limit);
        nonzeros += found.is_new ? 1 : 0;
        if (found.slot < 0) atomicOr(cells + 1, 1);
    });
    __syncthreads();
    const bool is_bad = peek(cells + 1) != 0;
    nonzeros = team_sum<Threads>(nonzeros, cells);
    if (threadIdx.x != 0) return;
    if (is_bad) {
        bad.collided[row] = 1;
        bad.list[atomicAdd(bad.count, 1u)] = row;
    } else {
        count[row] = nonzeros;
    }
}

// A block and a bitmap per row, one range of columns after the other.
//   grid: rows of the group      shared memory: `columns` bits      count: every row of the group, once
__global__ void __launch_bounds__(dense_threads)
    count_dense_kernel(Pattern a, Pattern b, Rows rows, index_t columns, offset_t* count)
{
    TULLE_DYNAMIC_SHARED(unsigned, word);
    TULLE_SHARED(index_t, cells,
                 3);  // the range, which some may still be reading when others have nothing to count, and the sum
    const index_t row = rows[blockIdx.x];
    const Range range = range_of(a, b, row, cells);
    int nonzeros = 0;
    for (offset_t begin = range.first; begin <= range.last; begin += columns) {
        const offset_t here = min(offset_t{columns}, range.last + 1 - begin);
        const int words = static_cast<int>((here + 31) / 32);
        team_fill<dense_threads>(word, words, 0u);
        __syncthreads();
        walk_range<dense_threads>(a, b, row, begin, begin + here, [&](offset_t, offset_t l) {
            const auto at = static_cast<unsigned>(b.col[l] - begin), bit = 1u << at % 32;
            if ((peek(word + at / 32) & bit) == 0) atomicOr(word + at / 32, bit);
        });
        __syncthreads();
        for (int w = static_cast<int>(threadIdx.x); w < words; w += dense_threads) nonzeros += __popc(word[w]);
        __syncthreads();
    }
    nonzeros = team_sum<dense_threads>(nonzeros, cells + 2);
    if (threadIdx.x == 0) count[row] = nonzeros;
}

void count_dense(const CudaQueue& q, const Pattern& a, const Pattern& b, const Rows& rows, offset_t* count)
{
    const index_t columns = bitmap_columns(q, b.cols, count_window);
    launch(q, {rows.count, dense_threads, static_cast<std::size_t>(columns) / 8}, count_dense_kernel, a, b, rows,
           columns, count);
}

void count_hashed(const CudaQueue& q, const Pattern& a, const Pattern& b, int group, const Rows& rows, offset_t* count,
                  unsigned char* collided)
{
    Buffer<offset_t> list(q, rows.count);
    Buffer<unsigned> bad(q, 1);
    fill_zero(q, bad.data(), 1);
    for_each_index<counting_groups - 1>([&](auto k) {
        constexpr Group g = counting[k()];
        if (group != static_cast<int>(k()) + 1) return;
        launch(q, {rows.count, g.threads}, count_hashed_kernel<g.threads, g.table>, a, b, rows, count,
               Bad{collided, list.data(), bad.data()});
    });
    if (counting[static_cast<std::size_t>(group - 1)].up_to <= probe_limit) return;  // so few columns are always found
    if (const unsigned again = read_value(q, bad.data()); again > 0)
        count_dense(q, a, b, {list.data(), 0, again}, count);
}

}  // namespace

void find_sizes(const CudaQueue& q, const offset_t* row_begin, offset_t rows, offset_t* size)
{
    launch(q, one_thread_each(rows), find_sizes_kernel, row_begin, rows, size);
}

void classify(const CudaQueue& q, const Sizes& sizes, std::uint32_t* group, offset_t* order)
{
    launch(q, one_thread_each(sizes.rows), classify_kernel, sizes, group, order);
}

template <class V>
void count_group(const CudaQueue& q, const CsrView<V>& a, const CsrView<V>& b, int group, const Rows& rows,
                 offset_t* count, unsigned char* collided)
{
    if (group == counting_groups) count_dense(q, pattern_of(a), pattern_of(b), rows, count);
    else count_hashed(q, pattern_of(a), pattern_of(b), group, rows, count, collided);
}

template void count_group(const CudaQueue&, const CsrView<float>&, const CsrView<float>&, int, const Rows&, offset_t*,
                          unsigned char*);
template void count_group(const CudaQueue&, const CsrView<double>&, const CsrView<double>&, int, const Rows&, offset_t*,
                          unsigned char*);

}  // namespace tulle::inline TULLE_ABI::spgemm::delta
