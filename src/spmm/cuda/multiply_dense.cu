// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Nearly dense matrices on tensor cores (panels.cuh): panels whose chunks are all columns, one after the other, each
// with four tiles. Nothing has to be looked up, so copies begin at once. Such matrices are small and their panels few:
// the chunks of a panel are split among up to eight blocks of a cluster, each of which adds up its share of all sums in
// the others' order; and among several clusters, whose blocks leave their sums in memory: of those that own the same
// sums, the last to come adds them up in the order of clusters.
//
// Numbers of 16 bits and of tf32 are multiplied as they are, floats in full precision as three products of tf32 numbers
// (Split), doubles on the tensor cores for doubles.
#include "spmm/cuda/panels.cuh"

#include <algorithm>

#include "device/cuda/cluster.cuh"

namespace tulle::inline TULLE_ABI::spmm {
namespace {

constexpr int most_parts = 8;

// Chunks of neighbouring columns.
template <class V>
struct Natural {
    index_t first, cols;  // the first column, and how many the matrix has
    unsigned first_tile;
    int count;  // of chunks
    static constexpr bool whole = true;

    __device__ index_t row(int chunk, int i) const
    {
        const index_t col = first + chunk * chunk_columns<V> + i;
        return chunk < count && col < cols ? col : -1;
    }
    __device__ bool has(int chunk, int) const { return chunk < count; }
    __device__ bool fills(int chunk, int chunks) const
    {
        return chunk + chunks <= count && first + (chunk + chunks) * chunk_columns<V> <= cols;
    }
    __device__ unsigned tile(int chunk, int slab) const
    {
        return first_tile + static_cast<unsigned>(chunk * slabs + slab);
    }
};

// Pairs of sums as lanes hold them, numbered through a block; each block of a cluster owns an equal share of the
// numbers.
template <int Columns>
struct Pairs {
    static constexpr int count = panel_rows * Columns / 2;

    __device__ static int number(int slab, int half, int t, int lane)
    {
        return ((slab * 2 + half) * (Columns / 8) + t) * 32 + lane;
    }
    __device__ static int lane(int number) { return number % 32; }
    __device__ static int eight(int number) { return number / 32 % (Columns / 8); }
    __device__ static int row(int number)
    {
        return number / 32 / (Columns / 8) * 8 + lane(number) / 4;
    }  // of the panel
};

// Which two sums of a lane, in the eights of columns, are the t-th pair of a row: two of an eight, or neighbours in C.
template <class V>
struct Pairing {
    static constexpr bool neighbours = std::is_same_v<V, Split> || std::is_same_v<V, double>;
    __device__ static constexpr int eight(int t, int i) { return neighbours ? t / 2 * 2 + i : t; }
    __device__ static constexpr int sum(int t, int i) { return neighbours ? t % 2 : i; }
    __device__ static constexpr int column(int t, int lane, int i)
    {
        return Tile<V>::column(eight(t, i), lane, sum(t, i));
    }
};

// Adds up the sums of the groups of this block, in their order, into those of the first.
template <class S, class V>
__device__ inline void join_groups(Piece* stages, Sums<V, S::warp_columns> (&sums)[S::tall])
{
    constexpr int threads = 32 * slabs, eights = S::warp_columns / 8, runs = S::tall * eights;  // of a group, a thread
    using Four = Run<Sum<V>>;
    static_assert((S::groups - 1) * threads * runs * sizeof(Four) <= S::depth * S::stage_pieces * sizeof(Piece));
    Four* left = reinterpret_cast<Four*>(stages) + threadIdx.x % threads;
    __syncthreads();  // nobody multiplies any more
    if (group_of_warp() > 0)
#pragma unroll
        for (int t = 0; t < runs; ++t) {
            const auto& sum = sums[t / eights].value[t % eights];
            left[((group_of_warp() - 1) * runs + t) * threads] = {{sum[0], sum[1], sum[2], sum[3]}};
        }
    __syncthreads();
    if (group_of_warp() > 0) return;
#pragma unroll
    for (int group = 0; group < S::groups - 1; ++group)
#pragma unroll
        for (int t = 0; t < runs; ++t) {
            const Four four = left[(group * runs + t) * threads];
            for (int i = 0; i < 4; ++i) sums[t / eights].value[t % eights][i] += four.value[i];
        }
}

// Gives the sums of a slab, in some eights of columns, to the blocks that own them. The cluster has met before, so that
// all of its blocks run.
template <int Columns, class V, int Eights>
__device__ inline void hand_over(Two<Sum<V>>* sums, int part, int shift, int slab, int eight,
                                 const Sum<V> (&sum)[Eights][4])
{
    using P = Pairing<V>;
    const int lane = static_cast<int>(threadIdx.x) % 32, share = Pairs<Columns>::count >> shift;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const int first = Pairs<Columns>::number(slab, half, eight, lane), owner = (slab * 2 + half) >> (3 - shift);
        Two<Sum<V>>* to = in_cluster(sums, owner) + part * share + (first - owner * share);
#pragma unroll
        for (int t = 0; t < Eights; ++t)
            to[t * 32] = {{sum[P::eight(t, 0)][half * 2 + P::sum(t, 0)], sum[P::eight(t, 1)][half * 2 + P::sum(t, 1)]}};
    }
}

// Writes a pair of sums, by its number, to C, whose rows are those of panels. As in write_sums, what can be written
// without looking is.
template <int Columns, class V, class C>
struct PairWriter {
    const PanelsView<V>& p;
    const Operands<V, C>& o;
    offset_t first_row, j;
    bool pairs, simple;

    __device__ PairWriter(const PanelsView<V>& panels, const Operands<V, C>& operands, offset_t row, offset_t column)
        : p(panels),
          o(operands),
          first_row(row),
          j(column),
          pairs(writes_pairs(operands))
    {
        simple = (sizeof(V) == 2 || Pairing<V>::neighbours) && pairs && o.beta == 0 && j + Columns <= o.n;
    }

    __device__ void operator()(int number, Sum<V> left, Sum<V> right) const
    {
        using Entry = EntryType<C>;
        const int lane = Pairs<Columns>::lane(number), t = Pairs<Columns>::eight(number);
        const offset_t position = first_row + Pairs<Columns>::row(number), column = j + Pairing<V>::column(t, lane, 0),
                       next = j + Pairing<V>::column(t, lane, 1);
        if (position >= p.rows) return;
        if (simple) {
            const RowFactor<V, C> scaled(o, position);
            *reinterpret_cast<Two<Entry>*>(o.c + position * o.c_row + column) = {
                {Narrow<Entry>::from(o.alpha * scaled(left)), Narrow<Entry>::from(o.alpha * scaled(right))}};
        } else if (next == column + 1) put_pair(o, pairs, position, column, left, right);
        else {
            if (column < o.n) put(o, position, column, left);
            if (next < o.n) put(o, position, next, right);
        }
    }
};

// Adds up, for every pair that this block owns, what the blocks of its cluster have, and hands it on by its number.
template <int Columns, class T, class Use>
__device__ inline void add_share(const Two<T>* sums, int part, int shift, Use&& use)
{
    const int share = Pairs<Columns>::count >> shift, parts = 1 << shift;
    for (int i = static_cast<int>(threadIdx.x); i < share; i += static_cast<int>(blockDim.x)) {
        T left = 0, right = 0;
#pragma unroll
        for (int other = 0; other < most_parts; ++other) {
            if (other >= parts) break;
            const Two<T> two = sums[other * share + i];
            left += two.value[0];
            right += two.value[1];
        }
        const int number = part * share + i;
        use(number, left, right);
    }
}

// The same with what the blocks of other clusters have left that own these pairs.
template <int Columns, class T, class Use>
__device__ inline void add_clusters(const Two<T>* left_sums, int clusters, int part, int shift, Use&& use)
{
    constexpr int at_once = 8;
    const int share = Pairs<Columns>::count >> shift;
    for (int i = static_cast<int>(threadIdx.x); i < share; i += static_cast<int>(blockDim.x)) {
        const int number = part * share + i;
        T left = 0, right = 0;
        for (int first = 0; first < clusters; first += at_once) {
            Two<T> some[at_once] = {};
#pragma unroll
            for (int k = 0; k < at_once; ++k)
                if (first + k < clusters) some[k] = left_sums[(first + k) * Pairs<Columns>::count + number];
#pragma unroll
            for (int k = 0; k < at_once; ++k) left += some[k].value[0], right += some[k].value[1];
        }
        use(number, left, right);
    }
}

// Counts this block in, all of whose threads have left their sums. True, for all of them, if it is the last of so many;
// the counter is ready for the next run then.
__device__ inline bool block_comes_last(int* arrived, int blocks, int* is_last)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        is_last[0] = arrive(arrived) == blocks - 1;
        if (is_last[0]) *arrived = 0;
    }
    __syncthreads();
    return is_last[0];
}

// Which block is which: parts of a panel are neighbours, then come clusters, panels and columns. Powers of two by their
// exponents: a division takes as long as a copy.
template <class T>
struct Grid {
    index_t cols;  // of the matrix
    int parts_shift, clusters_shift;
    unsigned panels;
    Two<T>* partial;  // where each of several clusters leaves its sums of a panel and some columns
    int* arrived;     // blocks that have, by panel and columns, and part of a cluster
};

// Eight warps in two groups: each has half of the chunks of a stage. Blocks are few, one or two a multiprocessor, and a
// stage costs them as much time for its barrier as for its bytes: stages are large. A wide block reads fewer bytes for
// a product, from L2 and, as its warps have 32 rows and 32 columns, from shared memory.
template <class V, int Columns>
using DenseShape = Shape<V, Columns, 3, 2, 8, Columns == 32 ? 1 : 2, Columns / 32>;

// Bytes of shared memory: stages, then sums (of wide blocks in place of stages), then a word. All of it is dynamic: a
// static word would move the stages off the lines of 128 bytes that copies are written in.
template <class S, class T>
struct DenseMemory {
    static constexpr bool in_place = S::columns > narrowest_panel;
    static constexpr std::size_t stages = sizeof(Piece) * S::depth * S::stage_pieces,
                                 sums = sizeof(Two<T>) * Pairs<S::columns>::count, sums_at = in_place ? 0 : stages,
                                 word_at = in_place ? std::max(stages, sums) : stages + sums,
                                 bytes = word_at + sizeof(Piece);
    static_assert(bytes <= 99 * 1024);  // what a block may have on some GPUs
};

// The sums of this block's warps to C.
template <class S, class V, class C>
__device__ inline void write_all(const PanelsView<V>& p, const Operands<V, C>& o, offset_t first_row, offset_t j,
                                 int lane, const Sums<V, S::warp_columns> (&sums)[S::tall])
{
#pragma unroll
    for (int s = 0; s < S::tall; ++s)
        write_sums<S::warp_columns>(p, o, first_row + (first_slab<S>() + s) * slab_rows, j + first_eight<S>() * 8, lane,
                                    sums[s].value);
}

// What this block has multiplied, with all warps' sums joined in those of the first group, and all finite that can be.
template <class S, class V, class C>
__device__ inline void settle_sums(const PanelsView<V>& p, const Operands<V, C>& o, offset_t first_chunk, int count,
                                   offset_t j, Piece* stages, Sums<V, S::warp_columns> (&sums)[S::tall])
{
#pragma unroll
    for (int s = 0; s < S::tall; ++s) sums[s].settle();
    join_groups<S, V>(stages, sums);
    if (group_of_warp() > 0) return;
#pragma unroll
    for (int s = 0; s < S::tall; ++s)
        mend_sums<S::warp_columns>(p, o, first_chunk, first_chunk + count, first_slab<S>() + s,
                                   static_cast<int>(threadIdx.x) % 32, j + first_eight<S>() * 8, sums[s].value);
}

// A cluster, or several, per panel and `Columns` columns of C; their blocks have equal parts of the chunks.
//   grid: parts of every cluster, for every panel, for every `Columns` columns
//   shared memory: stages and sums, 80 KB, 96 KB with sums in double
//   C: every row once
template <int Columns, class V, class C>
__global__ void __launch_bounds__(DenseShape<V, Columns>::threads)
    multiply_dense_kernel(PanelsView<V> p, Operands<V, C> o, Grid<Sum<V>> grid)
{
    using S = DenseShape<V, Columns>;
    using Memory = DenseMemory<S, Sum<V>>;
    TULLE_DYNAMIC_SHARED(unsigned char, memory);
    Piece* const stages = reinterpret_cast<Piece*>(memory);
    Two<Sum<V>>* const shared = reinterpret_cast<Two<Sum<V>>*>(memory + Memory::sums_at);
    const int shift = grid.parts_shift, splits_shift = shift + grid.clusters_shift,
              part = static_cast<int>(blockIdx.x) & ((1 << shift) - 1), lane = static_cast<int>(threadIdx.x) % 32;
    const unsigned group = blockIdx.x >> splits_shift, split = blockIdx.x & ((1u << splits_shift) - 1),
                   tile = group / grid.panels, panel = group - tile * grid.panels;
    const std::uint64_t chunks = static_cast<std::uint64_t>(ceil_div(grid.cols, index_t{chunk_columns<V>}));
    const auto begin = static_cast<unsigned>((chunks * split) >> splits_shift);
    const int count = static_cast<int>(static_cast<unsigned>((chunks * (split + 1)) >> splits_shift) - begin);
    const offset_t j = static_cast<offset_t>(tile) * Columns, first_row = static_cast<offset_t>(panel) * panel_rows,
                   first_chunk = static_cast<offset_t>(panel) * static_cast<offset_t>(chunks) + begin;
    const Natural<V> source{static_cast<index_t>(begin) * chunk_columns<V>, grid.cols,
                            static_cast<unsigned>(first_chunk * slabs), count};
    if (!Memory::in_place && splits_shift > 0) arrive_in_cluster();
    Sums<V, S::warp_columns> sums[S::tall];
    multiply_chunks<S>(p, RowCopies<S, Rows::pieces, V, C>(o, j), source, count, stages, sums, [](int) {});
    settle_sums<S>(p, o, first_chunk, count, j, stages, sums);
    if (Memory::in_place && splits_shift > 0) arrive_in_cluster();  // others may write where stages were
    const bool has_sums = group_of_warp() == 0;
    if (splits_shift == 0) {
        if (has_sums) write_all<S>(p, o, first_row, j, lane, sums);
        return;
    }
    wait_for_cluster();
    if (has_sums)
#pragma unroll
        for (int s = 0; s < S::tall; ++s)
            hand_over<Columns, V>(shared, part, shift, first_slab<S>() + s, first_eight<S>(), sums[s].value);
    arrive_in_cluster();
    wait_for_cluster();
    const PairWriter<Columns, V, C> write(p, o, first_row, j);
    const int clusters = 1 << (splits_shift - shift);
    if (clusters == 1) return add_share<Columns>(shared, part, shift, write);
    Two<Sum<V>>* const left = grid.partial + static_cast<offset_t>(group) * clusters * Pairs<Columns>::count;
    Two<Sum<V>>* const mine = left + static_cast<offset_t>(split >> shift) * Pairs<Columns>::count;
    add_share<Columns>(shared, part, shift, [&](int number, Sum<V> one, Sum<V> other) {
        mine[number] = {{one, other}};
    });
    if (block_comes_last(grid.arrived + (static_cast<offset_t>(group) << shift) + part, clusters,
                         reinterpret_cast<int*>(memory + Memory::word_at)))
        add_clusters<Columns>(left, clusters, part, shift, write);
}

template <int Columns, class V, class C>
void launch_dense(const CudaQueue& q, const Policy& policy, const PanelsView<V>& panels, const Grid<Sum<V>>& grid,
                  bool early, const Operands<V, C>& o)
{
    const offset_t tiles = ceil_div(o.n, index_t{Columns});
    using S = DenseShape<V, Columns>;
    launch(q,
           {offset_t{grid.panels} * tiles * policy.clusters * policy.parts, S::threads, DenseMemory<S, Sum<V>>::bytes,
            policy.parts, early},
           multiply_dense_kernel<Columns, V, C>, panels, o, grid);
}

int exponent(int power_of_two) { return __builtin_ctz(static_cast<unsigned>(power_of_two)); }

template <class V, class W, class C>
void launch_width(const CudaQueue& q, const Policy& policy, const PanelsView<V>& panels, index_t cols,
                  const Workspace<W>& work, const Operands<V, C>& o)
{
    const Grid<Sum<V>> grid{cols,
                            exponent(policy.parts),
                            exponent(policy.clusters),
                            static_cast<unsigned>(ceil_div<offset_t>(panels.rows, panel_rows)),
                            reinterpret_cast<Two<Sum<V>>*>(const_cast<Sum<W>*>(work.partial.data())),
                            const_cast<int*>(work.arrived.data())};
    if (policy.width == 64) launch_dense<64>(q, policy, panels, grid, work.early, o);
    else launch_dense<32>(q, policy, panels, grid, work.early, o);
}

// The same numbers, to be split.
PanelsView<Split> split(const PanelsView<float>& p)
{
    return {p.rows, p.row, p.unit, p.units, p.chunk, reinterpret_cast<const Split*>(p.value), p.present};
}
Operands<Split, float> split(const Operands<float, float>& o)
{
    return {o.alpha, reinterpret_cast<const Split*>(o.b), o.b_row, o.b_col, o.beta, o.c, o.c_row, o.c_col, o.n};
}
PanelsView<double> split(const PanelsView<double>& p) { return p; }
Operands<double, double> split(const Operands<double, double>& o) { return o; }

}  // namespace

template <class V, class C>
void multiply_dense(const CudaQueue& q, const Policy& policy, index_t cols, const Workspace<V>& work,
                    const Operands<V, C>& o)
{
    if (!has_pieces(o)) multiply_panels(q, narrowest_panel, work, o);
    else launch_width(q, policy, work.panels.view(), cols, work, o);
}

template <class V>
void multiply_dense_in_full(const CudaQueue& q, const Policy& policy, index_t cols, const Workspace<V>& work,
                            const Operands<V, V>& o)
{
    launch_width(q, policy, split(work.panels.view()), cols, work, split(o));
}

template void multiply_dense_in_full(const CudaQueue&, const Policy&, index_t, const Workspace<float>&,
                                     const Operands<float, float>&);
template void multiply_dense_in_full(const CudaQueue&, const Policy&, index_t, const Workspace<double>&,
                                     const Operands<double, double>&);
template void multiply_dense(const CudaQueue&, const Policy&, index_t, const Workspace<float>&,
                             const Operands<float, float>&);
template void multiply_dense(const CudaQueue&, const Policy&, index_t, const Workspace<Float16>&,
                             const Operands<Float16, Float16>&);
template void multiply_dense(const CudaQueue&, const Policy&, index_t, const Workspace<Float16>&,
                             const Operands<Float16, float>&);
template void multiply_dense(const CudaQueue&, const Policy&, index_t, const Workspace<Bfloat16>&,
                             const Operands<Bfloat16, Bfloat16>&);
template void multiply_dense(const CudaQueue&, const Policy&, index_t, const Workspace<Bfloat16>&,
                             const Operands<Bfloat16, float>&);
template void multiply_dense(const CudaQueue&, const Policy&, index_t, const Workspace<Float16>&,
                             const Operands<Float16, Scaled<Float16>>&);
template void multiply_dense(const CudaQueue&, const Policy&, index_t, const Workspace<Float16>&,
                             const Operands<Float16, Scaled<float>>&);
template void multiply_dense(const CudaQueue&, const Policy&, index_t, const Workspace<Bfloat16>&,
                             const Operands<Bfloat16, Scaled<Bfloat16>>&);
template void multiply_dense(const CudaQueue&, const Policy&, index_t, const Workspace<Bfloat16>&,
                             const Operands<Bfloat16, Scaled<float>>&);

}  // namespace tulle::inline TULLE_ABI::spmm
