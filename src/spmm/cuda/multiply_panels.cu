// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Panels on tensor cores (panels.cuh). A block has a unit of a panel; the lists that say which rows of B and which
// tiles a chunk needs are copied to shared memory some stages before these. Units of a long panel leave their sums; the
// last of them to come adds all up in their order, so that results do not depend on who that is.
#include "spmm/cuda/panels.cuh"

namespace tulle::inline TULLE_ABI::spmm {
namespace {

// Lists of chunks in shared memory.
template <class S, class V>
struct Lists {
    static constexpr int stages =
        2 * (S::depth - 1);  // of a list: it is in use for so long after the next has been asked for
    static constexpr int chunks = stages * S::chunks;
    static constexpr int pieces = static_cast<int>(sizeof(Chunk<V>) / sizeof(Piece));  // of a chunk
    static_assert(chunks * pieces <= S::threads);
    static constexpr bool whole = false;
    Chunk<V>* list;  // two of them

    // Of chunks counted from the beginning of the unit; those beyond its end have no columns and no tiles.
    __device__ const Chunk<V>& operator[](int chunk) const { return list[static_cast<unsigned>(chunk) % (2 * chunks)]; }
    __device__ index_t row(int chunk, int i) const { return (*this)[chunk].col[i]; }
    __device__ bool has(int chunk, int slab) const { return (*this)[chunk].slabs >> slab & 1u; }
    __device__ unsigned tile(int chunk, int slab) const
    {
        return (*this)[chunk].first + static_cast<unsigned>(__popc((*this)[chunk].slabs & ((1u << slab) - 1)));
    }

    // Asks for one: a piece a thread.
    __device__ void ask(const PanelsView<V>& p, const PanelUnit& unit, int first) const
    {
        const int i = static_cast<int>(threadIdx.x);
        if (i >= chunks * pieces) return;
        Piece* to = reinterpret_cast<Piece*>(list + static_cast<unsigned>(first) % (2 * chunks)) + i;
        const offset_t chunk = unit.begin + first;
        if (chunk + i / pieces < unit.end)
            copy_async(SharedAddress(to), reinterpret_cast<const Piece*>(p.chunk + chunk) + i);
        else if (i % pieces == pieces - 1) *to = {};
        else *to = {{~0u, ~0u, ~0u, ~0u}};
    }
};

// Where units leave their sums, and how many units of a panel have.
struct Pieces {
    float* partial;  // of each slot and each `Columns` columns, a block's sums
    int* arrived;    // of each slot (the first of a panel counts) and each `Columns` columns
};

// Leaves this unit's sums. True for the last unit of the panel to come, whose sums are then those of all.
template <int Columns>
__device__ inline bool join_units(const PanelUnit& unit, const Pieces& pieces, offset_t tile, offset_t tiles,
                                  int* is_last, float (&sum)[Columns / 8][4])
{
    // Sums lie as threads hold them: nobody else reads them.
    const auto at = [&](int piece) {
        return reinterpret_cast<Run<float>*>(pieces.partial) +
               ((offset_t{unit.first_slot + piece} * tiles + tile) * (Columns / 8)) * blockDim.x + threadIdx.x;
    };
    Run<float>* mine = at(unit.piece);
#pragma unroll
    for (int t = 0; t < Columns / 8; ++t) mine[t * blockDim.x] = {{sum[t][0], sum[t][1], sum[t][2], sum[t][3]}};
    int* arrived = pieces.arrived + unit.first_slot * tiles + tile;
    __syncthreads();
    if (threadIdx.x == 0) {
        is_last[0] = arrive(arrived) == unit.pieces - 1;
        if (is_last[0]) *arrived = 0;  // for the next run
    }
    __syncthreads();
    if (!is_last[0]) return false;
#pragma unroll
    for (int t = 0; t < Columns / 8; ++t)
        for (int i = 0; i < 4; ++i) sum[t][i] = 0;
    for (int piece = 0; piece < unit.pieces; ++piece) {
        const Run<float>* other = at(piece);
#pragma unroll
        for (int t = 0; t < Columns / 8; ++t) {
            const Run<float> four = other[t * blockDim.x];
            for (int i = 0; i < 4; ++i) sum[t][i] += four.value[i];
        }
    }
    return true;
}

// One block per unit and `Columns` columns of C; blocks with the same columns come together, because they share rows of
// B.
//   grid: units for every `Columns` columns
//   shared memory: three stages and two lists, 26 to 39 KB
//   C: every row once
template <int Columns, Rows Kind, class V, class C>
__global__ void __launch_bounds__(Shape<V, Columns>::threads)
    multiply_panels_kernel(PanelsView<V> p, Operands<V, C> o, Pieces pieces)
{
    using S = Shape<V, Columns>;
    TULLE_SHARED(Piece, stages, S::depth * S::stage_pieces);
    TULLE_SHARED(Chunk<V>, list, (2 * Lists<S, V>::chunks));
    TULLE_SHARED(int, is_last, 1);
    const offset_t tile = blockIdx.x / p.units;
    const PanelUnit unit = p.unit[blockIdx.x % p.units];
    const offset_t j = tile * Columns;
    const Lists<S, V> lists{list};
    const RowCopies<S, Kind, V, C> rows(o, j);
    const int lane = static_cast<int>(threadIdx.x) % 32, slab = static_cast<int>(threadIdx.x) / 32;
    Sums<V, Columns> sums[1];
    lists.ask(p, unit, 0);
    end_copy_group();
    wait_for_copies<0>();
    __syncthreads();
    multiply_chunks<S>(p, rows, lists, static_cast<int>(unit.end - unit.begin), stages, sums, [&](int step) {
        if (step % lists.stages == 0) lists.ask(p, unit, step * S::chunks + lists.chunks);
    });
    mend_sums<Columns>(p, o, unit.begin, unit.end, slab, lane, j, sums[0].value);
    if (unit.first_slot >= 0 &&
        !join_units<Columns>(unit, pieces, tile, ceil_div<offset_t>(o.n, Columns), is_last, sums[0].value))
        return;
    write_sums<Columns>(p, o, offset_t{unit.panel} * panel_rows + slab * slab_rows, j, lane, sums[0].value);
}

template <int Columns, Rows Kind, class V, class C>
void launch_panels(const CudaQueue& q, const Workspace<V>& work, const Operands<V, C>& o)
{
    const Pieces pieces{const_cast<float*>(work.partial.data()), const_cast<int*>(work.arrived.data())};
    const offset_t tiles = ceil_div(o.n, index_t{Columns});
    launch(q, {work.panels.unit.size() * tiles, Shape<V, Columns>::threads, 0, 1, work.early},
           multiply_panels_kernel<Columns, Kind, V, C>, work.panels.view(), o, pieces);
}

}  // namespace

template <class V, class C>
void multiply_panels(const CudaQueue& q, int width, const Workspace<V>& work, const Operands<V, C>& o)
{
    if (!has_pieces(o)) launch_panels<32, Rows::numbers>(q, work, o);
    else if (width == 128) launch_panels<128, Rows::pieces>(q, work, o);
    else if (width == 64) launch_panels<64, Rows::pieces>(q, work, o);
    else launch_panels<32, Rows::pieces>(q, work, o);
}

template void multiply_panels(const CudaQueue&, int, const Workspace<float>&, const Operands<float, float>&);
template void multiply_panels(const CudaQueue&, int, const Workspace<Float16>&, const Operands<Float16, Float16>&);
template void multiply_panels(const CudaQueue&, int, const Workspace<Float16>&, const Operands<Float16, float>&);
template void multiply_panels(const CudaQueue&, int, const Workspace<Bfloat16>&, const Operands<Bfloat16, Bfloat16>&);
template void multiply_panels(const CudaQueue&, int, const Workspace<Bfloat16>&, const Operands<Bfloat16, float>&);
template void multiply_panels(const CudaQueue&, int, const Workspace<Float16>&,
                              const Operands<Float16, Scaled<Float16>>&);
template void multiply_panels(const CudaQueue&, int, const Workspace<Float16>&,
                              const Operands<Float16, Scaled<float>>&);
template void multiply_panels(const CudaQueue&, int, const Workspace<Bfloat16>&,
                              const Operands<Bfloat16, Scaled<Bfloat16>>&);
template void multiply_panels(const CudaQueue&, int, const Workspace<Bfloat16>&,
                              const Operands<Bfloat16, Scaled<float>>&);

}  // namespace tulle::inline TULLE_ABI::spmm
