// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// How many columns each row of C has: lists that a thread merges, products in the lanes of a warp, bits of a bitmap, or
// slots of a hash table.
#include "device/cuda/forked_streams.hpp"
#include "spgemm/adaptive/cuda/pieces.hpp"
#include "spgemm/adaptive/cuda/place_rows.hpp"
#include "spgemm/adaptive/cuda/short_rows.cuh"
#include "spgemm/adaptive/cuda/totals.hpp"
#include "spgemm/cuda/block_memory.hpp"
#include "spgemm/deltasparse/deltasparse.hpp"
#include "spgemm/nsparse/cuda/nsparse.hpp"

namespace tulle::inline TULLE_ABI::spgemm {
namespace {

constexpr int warps_per_block = 4;
constexpr int short_threads = 256;
constexpr int hash_block_threads = 256, map_block_threads = 1024;
constexpr int hash_block_slots = 2 * static_cast<int>(products_block);

// A slice of lanes per row.
//   grid: ceil(rows * Lanes / 256)      shared memory: a word a thread      count: every row of the group, once
template <int Lanes>
__global__ void __launch_bounds__(short_threads) count_short_kernel(Pattern a, Pattern b, Task t, offset_t* count)
{
    TULLE_SHARED(int, owner, short_threads);
    const offset_t number = team_number<Lanes>();
    const index_t row = number < t.rows ? t.list[number] : -1;
    const auto p = lane_product<Lanes, false>(a, b, row, owner + threadIdx.x / Lanes * Lanes);
    const unsigned leaders = leaders_of<Lanes>(p.col, peers_of<Lanes>(p.col, b.cols));
    if (row >= 0 && threadIdx.x % Lanes == 0) write_count(t, row, __popc(leaders), count);
}

// Nonzeros of a row, for the first thread of its team, by a bitmap that the team clears. `cell` is a word of shared
// memory of the block.
template <int Team>
__device__ int count_bits(const Pattern& a, const Pattern& b, const unsigned char* runs_b, index_t row,
                          const RowStats& f, index_t columns, unsigned* word, int* cell)
{
    int nonzeros = 0;
    for (offset_t done = 0; done < f.width; done += columns) {
        const auto here = static_cast<index_t>(min(offset_t{columns}, f.width - done));
        const int used = static_cast<int>(words_of(here));
        team_fill<Team>(word, used, 0u);
        team_sync<Team>();
        mark_columns<Team>(a, b, runs_b, row, f.pattern, static_cast<index_t>(f.first + done), here, word);
        team_sync<Team>();
        for (int w = team_rank<Team>(); w < used; w += Team) nonzeros += __popc(word[w]);
        team_sync<Team>();
    }
    return team_sum<Team>(nonzeros, cell);
}

// A warp and a bitmap per row, or a block.
//   grid: ceil(rows / teams in a block)
//   shared memory: a bitmap for every team
//   count: every row of the group, once
template <int Team>
__global__ void __launch_bounds__(Team == 32 ? 32 * warps_per_block : Team)
    count_mapped_kernel(Pattern a, Pattern b, Task t, index_t columns, offset_t* count)
{
    TULLE_DYNAMIC_SHARED(unsigned, words);
    TULLE_SHARED(int, cell, 1);
    const offset_t number = team_number<Team>();
    if (number >= t.rows) return;  // a whole team
    unsigned* word = words + (threadIdx.x / Team) * static_cast<unsigned>(columns / 32);
    const index_t row = t.list[number];
    const int nonzeros = count_bits<Team>(a, b, t.runs_b, row, t.facts[row], columns, word, cell);
    if (team_rank<Team>() == 0) write_count(t, row, nonzeros, count);
}

// A warp and a table per row, or a block. The table has room for twice the products, so no probe goes on for ever.
//   grid: ceil(rows / teams in a block)
//   shared memory: Slots words for every team
//   count: every row of the group, once
template <int Team, int Slots>
__global__ void __launch_bounds__(Team == 32 ? 32 * warps_per_block : Team)
    count_hashed_kernel(Pattern a, Pattern b, Task t, offset_t* count)
{
    TULLE_DYNAMIC_SHARED(index_t, keys);
    TULLE_SHARED(int, cell, 1);
    const offset_t number = team_number<Team>();
    if (number >= t.rows) return;  // a whole team
    index_t* key = keys + threadIdx.x / Team * Slots;
    const index_t row = t.list[number];
    team_fill<Team>(key, Slots, vacant);
    team_sync<Team>();
    int nonzeros = 0;
    walk_columns<Team>(a, b, t.runs_b, row, t.facts[row].pattern,
                       [&](index_t col) { nonzeros += insert<Slots>(key, col).is_new ? 1 : 0; });
    nonzeros = team_sum<Team>(nonzeros, cell);
    if (team_rank<Team>() == 0) write_count(t, row, nonzeros, count);
}

// ---- small products: the host has not been told how many rows of each kind there are ----

constexpr int listed_threads = 1024, most_listed_blocks = 132;
constexpr int block_counter = static_cast<int>(SymbolicKernel::map_block);

// A warp per row, as they stand; rows that would keep a warp too long are listed.
//   grid: ceil(rows / warps in a block)
//   shared memory: a bitmap for every warp
//   count: every row that is not listed, once
__global__ void __launch_bounds__(32 * warps_per_block)
    count_in_order_kernel(Pattern a, Pattern b, const RowStats* facts, KernelSet kinds, index_t columns,
                          offset_t* count, unsigned* listed, index_t* list)
{
    TULLE_DYNAMIC_SHARED(unsigned, words);
    const offset_t number = team_number<32>();
    if (number >= a.rows) return;  // a whole warp
    const auto row = static_cast<index_t>(number);
    const RowStats f = facts[row];
    const SymbolicKernel counter = counter_for(f, a.row_begin[row + 1] - a.row_begin[row], {false, 0, 1}, kinds);
    offset_t nonzeros = f.products;  // where there is nothing to count
    if (counter == SymbolicKernel::map_large)
        nonzeros = count_bits<32>(a, b, nullptr, row, f, columns,
                                  words + threadIdx.x / 32 * static_cast<unsigned>(columns / 32), nullptr);
    if (threadIdx.x % 32 != 0) return;
    if (counter == SymbolicKernel::map_block) list[atomicAdd(listed, 1u)] = row;
    else count[row] = nonzeros;
}

// A block per listed row, as many at a time as there are blocks.
//   grid: any      shared memory: a bitmap      count: every row that is listed, once
__global__ void __launch_bounds__(listed_threads)
    count_listed_kernel(Pattern a, Pattern b, const RowStats* facts, const unsigned* listed, const index_t* list,
                        index_t columns, offset_t* count)
{
    TULLE_DYNAMIC_SHARED(unsigned, words);
    TULLE_SHARED(int, cell, 1);
    for (unsigned k = blockIdx.x; k < *listed; k += gridDim.x) {
        const int nonzeros = count_bits<listed_threads>(a, b, nullptr, list[k], facts[list[k]], columns, words, cell);
        if (threadIdx.x == 0) count[list[k]] = nonzeros;
        __syncthreads();  // before the next row's sum
    }
}

void count_at_once(const CudaQueue& q, const Pattern& a, const Pattern& b, Workspace& work, offset_t* count)
{
    const auto columns = static_cast<index_t>(words_of(std::max(b.cols, 1)) * 32);
    const auto bytes = static_cast<std::size_t>(columns) / 8;
    unsigned* const listed = work.totals.data()->counting.cursor + block_counter;
    launch(q, {ceil_div(offset_t{a.rows}, offset_t{warps_per_block}), 32 * warps_per_block, warps_per_block * bytes},
           count_in_order_kernel, a, b, work.facts.data(), work.kinds, columns, count, listed, work.list.data());
    launch(q, {std::min(ceil_div(offset_t{a.rows}, offset_t{32}), offset_t{most_listed_blocks}), listed_threads, bytes},
           count_listed_kernel, a, b, work.facts.data(), listed, work.list.data(), columns, count);
}

struct Launcher {
    const CudaQueue& q;
    Pattern a, b;
    Task task;
    offset_t* count;

    template <int Lanes>
    void count_short() const
    {
        launch(q, one_thread_each(task.rows * Lanes, short_threads), count_short_kernel<Lanes>, a, b, task, count);
    }

    void count_mapped(index_t columns) const
    {
        const auto bytes = static_cast<std::size_t>(warps_per_block * columns / 8);
        launch(q, {ceil_div(task.rows, offset_t{warps_per_block}), 32 * warps_per_block, bytes},
               count_mapped_kernel<32>, a, b, task, columns, count);
    }

    void count_mapped_by_block() const
    {
        const index_t columns = bitmap_columns(q, b.cols, map_block_columns);
        launch(q, {task.rows, map_block_threads, static_cast<std::size_t>(columns) / 8},
               count_mapped_kernel<map_block_threads>, a, b, task, columns, count);
    }

    template <int Team, int Slots>
    void count_hashed() const
    {
        constexpr int teams = Team == 32 ? warps_per_block : 1;
        launch(q, {ceil_div(task.rows, offset_t{teams}), Team * teams, sizeof(index_t) * Slots * teams},
               count_hashed_kernel<Team, Slots>, a, b, task, count);
    }

    void run(SymbolicKernel counter) const
    {
        switch (counter) {
        case SymbolicKernel::none:
        case SymbolicKernel::cut4:
        case SymbolicKernel::cut8: return;  // as pieces, see below
        case SymbolicKernel::lists4: return count_lists(q, a, b, task, few_lists, count);
        case SymbolicKernel::lists8: return count_lists(q, a, b, task, most_lists, count);
        case SymbolicKernel::short8: return count_short<8>();
        case SymbolicKernel::short16: return count_short<16>();
        case SymbolicKernel::short32: return count_short<32>();
        case SymbolicKernel::map_small: return count_mapped(small_map_columns);
        case SymbolicKernel::map_large: return count_mapped(large_map_columns);
        case SymbolicKernel::hash_small: return count_hashed<32, 2 * products_small>();
        case SymbolicKernel::hash_medium: return count_hashed<32, 2 * products_medium>();
        case SymbolicKernel::hash_large: return count_hashed<32, 2 * products_large>();
        case SymbolicKernel::hash_block: return count_hashed<hash_block_threads, hash_block_slots>();
        case SymbolicKernel::map_block: return count_mapped_by_block();
        }
    }
};

constexpr bool is_cut(SymbolicKernel c) { return c == SymbolicKernel::cut4 || c == SymbolicKernel::cut8; }

bool has_larger_size(SymbolicKernel c)
{
    return c == SymbolicKernel::lists4 || c == SymbolicKernel::short8 || c == SymbolicKernel::short16 ||
           c == SymbolicKernel::map_small || c == SymbolicKernel::hash_small || c == SymbolicKernel::hash_medium;
}

// Rows that are too long for a thread: cut, counted, and put together again.
void count_cut(const CudaQueue& q, const Pattern& a, const Pattern& b, Workspace& work, offset_t* count)
{
    if (work.pieces.all == 0) return;
    const Buffer<offset_t> begin = cut_rows(q, a, b, work);
    count_pieces(q, a, b, pieces_for(work.pieces, true), few_lists);
    count_pieces(q, a, b, pieces_for(work.pieces, false), most_lists);
    add_up_pieces(q, work, begin.data(), count);
}

}  // namespace

template <class V>
void count_nonzeros(const CudaQueue& q, const CsrView<V>& a, const CsrView<V>& b, const Policy& policy, Workspace& work,
                    offset_t* count)
{
    if (policy.method == Method::nsparse) return nsparse::count_nonzeros(q, a, b, policy.side_by_side, work, count);
    if (policy.method == Method::deltasparse) return delta::count_nonzeros(q, a, b, work, count);
    if (work.kinds.at_once) return count_at_once(q, pattern_of(a), pattern_of(b), work, count);
    const unsigned char* runs_a = policy.use_runs ? work.runs_a.data() : nullptr;
    const unsigned char* runs_b = policy.use_runs && !work.same_runs ? work.runs_b.data() : runs_a;
    place_for_counting(q, {0, a.rows, a.row_begin, work.facts.data(), runs_a, nullptr, sizeof(V), work.kinds}, work,
                       count);
    const std::vector<RowGroup> groups =
        merged(work.symbolic, few_rows, [](std::size_t g) { return has_larger_size(static_cast<SymbolicKernel>(g)); });
    cuda::ForkedStreams side(q, branches_for(groups, policy.side_by_side));
    count_cut(q, pattern_of(a), pattern_of(b), work, count);
    for (const std::size_t g : launch_order(groups)) {
        const RowGroup& group = groups[g - 1];
        const Task task{work.list.data() + group.begin, group.rows, work.facts.data(), runs_a, runs_b};
        if (!is_cut(static_cast<SymbolicKernel>(g)))
            Launcher{side.next(), pattern_of(a), pattern_of(b), task, count}.run(static_cast<SymbolicKernel>(g));
    }
}

template void count_nonzeros(const CudaQueue&, const CsrView<float>&, const CsrView<float>&, const Policy&, Workspace&,
                             offset_t*);
template void count_nonzeros(const CudaQueue&, const CsrView<double>&, const CsrView<double>&, const Policy&,
                             Workspace&, offset_t*);

}  // namespace tulle::inline TULLE_ABI::spgemm
