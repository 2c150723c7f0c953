// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Room for the places of products, and the places: every column of B is looked for among the columns of its row of C.
#include "prim/scan.hpp"
#include "prim/search.hpp"
#include "spgemm/adaptive/cuda/place_rows.hpp"
#include "spgemm/adaptive/cuda/rows.cuh"
#include "spgemm/adaptive/cuda/totals.hpp"
#include "spgemm/reuse/cuda/placed.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::spgemm {
namespace {

constexpr int threads = 256;
constexpr int warps_of_long_row = 32;
constexpr auto saturated =
    static_cast<std::uint32_t>(-1);  // what RowStats say of rows with more products than they can count

struct Longest {
    unsigned of[most_groups];
};

struct Patterns {
    const index_t* a_col;
    const offset_t* b_begin;
    const unsigned char* runs_b;
};

// Places of a row that its facts cannot count.
__device__ offset_t count_one_by_one(const RowView& v, const Patterns& p, index_t row, bool shares)
{
    offset_t places = 0;
    for (offset_t k = v.a_begin[row]; k < v.a_begin[row + 1]; ++k)
        if (!repeats(p.a_col, v.a_begin[row], k, shares ? p.runs_b : nullptr))
            places += p.b_begin[p.a_col[k] + 1] - p.b_begin[p.a_col[k]];
    return places;
}

__device__ offset_t places_of(const RowView& v, const Patterns& p, index_t row, NumericKernel filler)
{
    if (!keeps_places(filler)) return 0;
    const RowStats f = v.facts[row];
    const std::uint32_t known = is_run(filler) ? f.pattern : f.products;
    return known != saturated ? offset_t{known} : count_one_by_one(v, p, row, is_run(filler));
}

// One thread per row.      halves: what each row takes      longest: zero before
__global__ void __launch_bounds__(threads)
    count_places_kernel(RowView v, Patterns p, offset_t* halves, Longest* longest)
{
    TULLE_SHARED(unsigned, most, most_groups);
    if (threadIdx.x < most_groups) most[threadIdx.x] = 0;
    __syncthreads();
    const offset_t k = global_thread();
    if (k < v.rows) {
        const auto row = static_cast<index_t>(k);
        const offset_t nonzeros = v.row_begin[row + 1] - v.row_begin[row];
        const NumericKernel filler = filler_for(v.facts[row], v.a_begin[row + 1] - v.a_begin[row],
                                                run_of(v.runs_a, row), nonzeros, v.value_bytes, v.kinds);
        halves[row] = halves_for(places_of(v, p, row, filler), nonzeros);
        atomicMax(most + static_cast<int>(filler), static_cast<unsigned>(nonzeros));
    }
    __syncthreads();
    if (threadIdx.x < most_groups && most[threadIdx.x] > 0) atomicMax(&longest->of[threadIdx.x], most[threadIdx.x]);
}

// One thread per long row.
__global__ void count_windows_kernel(const index_t* list, offset_t rows, const offset_t* row_begin, offset_t* windows)
{
    const offset_t k = global_thread();
    if (k < rows) windows[k] = ceil_div(row_begin[list[k] + 1] - row_begin[list[k]], offset_t{window_entries});
}

// The batches of 32 nonzeros of A are dealt out to `warps` warps, number `warp` is this one; all of them count what
// goes before.
template <class P, class V>
__device__ void place_row(const CsrView<V>& a, const CsrView<V>& b, const unsigned char* runs_b, index_t row,
                          const index_t* col, offset_t nonzeros, P* place, int warp, int warps)
{
    const int lane = team_rank<32>();
    const offset_t begin = a.row_begin[row], end = a.row_begin[row + 1];
    offset_t before = 0;
    for (offset_t batch = begin; batch < end; batch += 32) {
        const offset_t k = batch + lane;
        const bool fresh = k < end && !repeats(a.col, begin, k, runs_b);
        const offset_t from = fresh ? b.row_begin[a.col[k]] : 0, length = fresh ? b.row_begin[a.col[k] + 1] - from : 0;
        const offset_t last = warp_running_sum(length), to = before + last - length;
        before += __shfl_sync(all_lanes, last, 31);
        if ((batch - begin) / 32 % warps != warp) continue;
        for (unsigned left = __ballot_sync(all_lanes, length > 0); left != 0; left &= left - 1) {
            const int owner = __ffs(static_cast<int>(left)) - 1;
            const offset_t at = __shfl_sync(all_lanes, from, owner), count = __shfl_sync(all_lanes, length, owner),
                           first = __shfl_sync(all_lanes, to, owner);
            for (offset_t l = lane; l < count; l += 32)
                place[first + l] = static_cast<P>(min(prim::lower_bound(col, nonzeros, b.col[at + l]), nonzeros - 1));
        }
    }
}

// `warps` warps per row.      grid: ceil(rows * warps * 32 / 256)      half: every place of the group's rows, once
template <class V>
__global__ void __launch_bounds__(threads) place_products_kernel(CsrView<V> a, CsrView<V> b, Task t, RowRange<V> c,
                                                                 const offset_t* begin, std::uint16_t* half, int warps)
{
    const offset_t number = team_number<32>();
    if (number >= t.rows * warps) return;  // a whole warp
    const index_t row = t.list[number / warps];
    const offset_t at = c.row_begin[row] - c.base, nonzeros = c.row_begin[row + 1] - c.row_begin[row];
    const int warp = static_cast<int>(number % warps);
    std::uint16_t* first = half + first_half(begin[row], nonzeros);
    if (is_wide(nonzeros))
        place_row(a, b, t.runs_b, row, c.col + at, nonzeros, reinterpret_cast<std::uint32_t*>(first), warp, warps);
    else place_row(a, b, t.runs_b, row, c.col + at, nonzeros, first, warp, warps);
}

}  // namespace

template <class V>
Places reserve_places(const CudaQueue& q, const CsrView<V>& a, const CsrView<V>& b, const Workspace& work,
                      const offset_t* row_begin)
{
    Places places;
    const FilledRuns runs = filled_runs(work);
    places.begin = Buffer<offset_t>(q, offset_t{a.rows} + 1);
    Buffer<Longest> longest(q, 1);
    fill_zero(q, longest.data(), 1);
    const RowView rows{0, a.rows, a.row_begin, work.facts.data(), runs.a, row_begin, sizeof(V), work.kinds};
    launch(q, one_thread_each(a.rows, threads), count_places_kernel, rows, Patterns{a.col, b.row_begin, runs.b},
           places.begin.data(), longest.data());
    prim::exclusive_scan(q, places.begin.data(), places.begin.data(), a.rows);
    const RowGroup of_long = long_rows_of(work.numeric);
    places.windows = Buffer<offset_t>(q, of_long.rows + 1);
    launch(q, one_thread_each(of_long.rows, threads), count_windows_kernel, work.list.data() + of_long.begin,
           of_long.rows, row_begin, places.windows.data());
    prim::exclusive_scan(q, places.windows.data(), places.windows.data(), of_long.rows);
    const Longest found = read_value(q, longest.data());
    places.longest.assign(found.of, found.of + most_groups);
    places.all_windows = read_value(q, places.windows.data() + of_long.rows);
    places.half = Buffer<std::uint16_t>(q, read_value(q, places.begin.data() + a.rows));
    return places;
}

template <class V>
void place_products(const CudaQueue& q, const CsrView<V>& a, const CsrView<V>& b, const Workspace& work,
                    const RowRange<V>& c, Places& places)
{
    const FilledRuns runs = filled_runs(work);
    for (std::size_t g = work.numeric.size(); g > 0; --g) {
        const RowGroup& group = work.numeric[g - 1];
        const auto filler = static_cast<NumericKernel>(g);
        if (group.rows == 0 || !keeps_places(filler)) continue;
        const int warps = is_long(filler) ? warps_of_long_row : 1;
        const Task task{work.list.data() + group.begin, group.rows, work.facts.data(), runs.a,
                        is_run(filler) ? runs.b : nullptr};
        launch(q, one_thread_each(group.rows * warps * 32, threads), place_products_kernel<V>, a, b, task, c,
               places.begin.data(), places.half.data(), warps);
    }
    places.known = true;
}

std::size_t place_bytes_for(const CudaQueue&, index_t) { return 0; }

template Places reserve_places(const CudaQueue&, const CsrView<float>&, const CsrView<float>&, const Workspace&,
                               const offset_t*);
template Places reserve_places(const CudaQueue&, const CsrView<double>&, const CsrView<double>&, const Workspace&,
                               const offset_t*);
template void place_products(const CudaQueue&, const CsrView<float>&, const CsrView<float>&, const Workspace&,
                             const RowRange<float>&, Places&);
template void place_products(const CudaQueue&, const CsrView<double>&, const CsrView<double>&, const Workspace&,
                             const RowRange<double>&, Places&);

}  // namespace tulle::inline TULLE_ABI::spgemm
