// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The values of C where the place of every product is kept: as many sums in shared memory as a row has nonzeros, or as
// a window of a long row. A warp owns them and adds in the order of A's nonzeros, a row of B at a time where these are
// long, 32 products at a time where they are short; lanes with the same place take turns. Rows with up to 32 products
// stay in registers. No atomics, and the bits of the first fill.
#include "base/constant.hpp"
#include "prim/search.hpp"
#include "spgemm/adaptive/cuda/add_products.cuh"
#include "spgemm/adaptive/cuda/add_rows.cuh"
#include "spgemm/adaptive/cuda/copied_rows.cuh"
#include "spgemm/adaptive/cuda/short_rows.cuh"
#include "spgemm/adaptive/cuda/totals.hpp"
#include "spgemm/cuda/block_memory.hpp"
#include "spgemm/reuse/cuda/placed.hpp"

namespace tulle::inline TULLE_ABI::spgemm {
namespace {

constexpr int threads = 256;   // of kernels with slices
constexpr int most_warps = 4;  // of a block of the others
constexpr std::size_t bytes_to_share =
    7 * 1024;  // warps that need more have a block for themselves, so that they need not wait for others
constexpr offset_t long_row_of_b =
    24;  // mean length from which a row of B is added by itself (reasoned: most of its lanes work)

// The plan's places, for kernels.
struct PlaceView {
    const offset_t* begin;
    const std::uint16_t* half;
};

// ---- rows that are one scaled row of B ----

// Eight lanes per row.
//   grid: ceil(rows * 8 / 256)      c: every value of the group's rows, once
template <class V>
__global__ void __launch_bounds__(threads) scale_rows_kernel(CsrView<V> a, CsrView<V> b, Task t, RowRange<V> c)
{
    copy_rows<false>(a, b, t, c);
}

// ---- rows with at most 32 products ----

// A slice of lanes per row.
//   grid: ceil(rows * Lanes / 256)      shared memory: a word a thread      c: every value of the group's rows, once
template <int Lanes, class V>
__global__ void __launch_bounds__(threads)
    add_placed_short_kernel(CsrView<V> a, CsrView<V> b, Task t, PlaceView p, RowRange<V> c)
{
    TULLE_SHARED(int, owner, threads);
    const offset_t number = team_number<Lanes>();
    const index_t row = number < t.rows ? t.list[number] : -1;
    const auto product = lane_product<Lanes, true, false>(a, b, row, owner + threadIdx.x / Lanes * Lanes);
    const index_t place = product.col < 0 ? product.col : index_t{p.half[p.begin[row] + team_rank<Lanes>()]};
    const unsigned peers = peers_of<Lanes>(place, Lanes), leaders = leaders_of<Lanes>(place, peers);
    const bool leads = (leaders >> threadIdx.x % Lanes & 1) != 0;
    const V sum = sum_of_peers(product, peers, leads);
    if (leads) c.value[c.row_begin[row] - c.base + place] = sum;
}

// ---- rows by themselves, and long rows by windows ----

// A warp per row, or per run of up to Rows rows.
//   grid: ceil(rows / warps in a block)
//   shared memory: `bytes` a warp, sums and a Batch
//   c: every value of the group's rows, once
template <int Rows, class V>
__global__ void __launch_bounds__(32 * most_warps)
    add_placed_kernel(CsrView<V> a, CsrView<V> b, Task t, PlaceView p, RowRange<V> c, int bytes)
{
    TULLE_DYNAMIC_SHARED(unsigned char, memory);
    const offset_t number = team_number<32>();
    if (number >= t.rows) return;  // a whole warp
    const index_t row = t.list[number];
    const int rows = Rows == 1 ? 1 : run_inside(t.runs_a, row, c.first, c.rows).length;
    const int nonzeros = static_cast<int>(c.row_begin[row + 1] - c.row_begin[row]);
    unsigned char* mine = memory + threadIdx.x / 32 * static_cast<unsigned>(bytes);
    V* sum = reinterpret_cast<V*>(mine + (Rows == 1 ? Batch<V>::bytes() : 0));
    team_fill<32>(sum, Rows * nonzeros, V(-0.0));  // what changes no sum, not even the sign of zero
    __syncwarp();
    const std::uint16_t* place = p.half + p.begin[row];
    const offset_t nonzeros_a = a.row_begin[row + 1] - a.row_begin[row];
    if (Rows > 1 || offset_t{t.facts[row].products} >= long_row_of_b * nonzeros_a)
        add_products<Rows, true>(
            sum, nonzeros, [](std::uint16_t found) { return found; }, place, a, b, t.runs_b, row, rows);
    else add_window(sum, Batch<V>::at(mine), a, b, KeptPlaces<std::uint16_t>{place, 0, nonzeros - 1, true}, row);
    for (int r = 0; r < rows; ++r) {
        V* value = c.value + (c.row_begin[row + r] - c.base);
        for (int k = team_rank<32>(); k < nonzeros; k += 32) value[k] = sum[r * nonzeros + k];
    }
}

// A warp per window of a long row.      windows: how many there are before each row, and in all
//   grid: ceil(windows / warps in a block)
//   shared memory: `bytes` a warp, a Batch and window_entries sums
//   c: every value, once
template <class V>
__global__ void __launch_bounds__(32 * most_warps)
    add_placed_windows_kernel(CsrView<V> a, CsrView<V> b, Task t, PlaceView p, const offset_t* windows, RowRange<V> c,
                              int bytes)
{
    TULLE_DYNAMIC_SHARED(unsigned char, memory);
    const offset_t number =
        windows[t.rows] - 1 - team_number<32>();  // the longest rows stand last, and should begin first
    if (number < 0) return;                       // a whole warp
    const offset_t at = prim::upper_bound(windows, t.rows, number) - 1;
    const index_t row = t.list[at];
    const offset_t nonzeros = c.row_begin[row + 1] - c.row_begin[row], first = (number - windows[at]) * window_entries;
    const auto count = static_cast<int>(min(offset_t{window_entries}, nonzeros - first));
    const int from = static_cast<int>(first), last = from + count - 1;
    unsigned char* mine = memory + threadIdx.x / 32 * static_cast<unsigned>(bytes);
    V* sum = reinterpret_cast<V*>(mine + Batch<V>::bytes());
    team_fill<32>(sum, count, V(-0.0));
    __syncwarp();
    const std::uint16_t* place = p.half + first_half(p.begin[row], nonzeros);
    if (is_wide(nonzeros))
        add_window(sum, Batch<V>::at(mine), a, b,
                   KeptPlaces<std::uint32_t>{reinterpret_cast<const std::uint32_t*>(place), from, last, false}, row);
    else
        add_window(sum, Batch<V>::at(mine), a, b, KeptPlaces<std::uint16_t>{place, from, last, count == nonzeros}, row);
    V* value = c.value + (c.row_begin[row] - c.base) + first;
    for (int k = team_rank<32>(); k < count; k += 32) value[k] = sum[k];
}

// ---- one launch for each group ----

// How warps with so much shared memory each are put into blocks.
LaunchShape warps_with(offset_t warps, std::size_t bytes)
{
    const int in_a_block = bytes <= bytes_to_share ? most_warps : 1;
    return {ceil_div(warps, offset_t{in_a_block}), 32 * in_a_block, bytes * static_cast<std::size_t>(in_a_block)};
}

// The longest row of a group, or of a smaller one of its kind that may have been put into it.
offset_t longest_of(const Places& places, NumericKernel filler)
{
    offset_t longest = 0;
    for (NumericKernel f = filler;; f = static_cast<NumericKernel>(static_cast<int>(f) - 1)) {
        longest = std::max(longest, places.longest[static_cast<std::size_t>(f)]);
        if (!has_larger_size(static_cast<NumericKernel>(static_cast<int>(f) - 1))) return longest;
    }
}

template <class V>
void add_group(const FillArguments<V>& f, const Places& places, const PlaceView& p, NumericKernel filler)
{
    const auto sums = static_cast<std::size_t>(longest_of(places, filler)) * sizeof(V);
    const std::size_t bytes =
        is_run(filler) ? (run_limit * sums + 15) / 16 * 16 : (sums + 15) / 16 * 16 + Batch<V>::bytes();
    const LaunchShape shape = warps_with(f.task.rows, bytes);
    switch (filler) {
    case NumericKernel::none: return;
    case NumericKernel::copy:
        return launch(f.q, one_thread_each(f.task.rows * 8, threads), scale_rows_kernel<V>, f.a, f.b, f.task, f.c);
    case NumericKernel::short8:
    case NumericKernel::short16:
    case NumericKernel::short32:
        return with_constant<8, 16, 32>(8 << (static_cast<int>(filler) - static_cast<int>(NumericKernel::short8)),
                                        [&](auto n) {
                                            launch(f.q, one_thread_each(f.task.rows * n(), threads),
                                                   add_placed_short_kernel<n(), V>, f.a, f.b, f.task, p, f.c);
                                        });
    default:
        if (is_list(filler)) return fill_merged(f, filler, false);
        if (is_run(filler))
            return launch(f.q, shape, add_placed_kernel<run_limit, V>, f.a, f.b, f.task, p, f.c,
                          static_cast<int>(bytes));
        return launch(f.q, shape, add_placed_kernel<1, V>, f.a, f.b, f.task, p, f.c, static_cast<int>(bytes));
    }
}

}  // namespace

template <class V>
void add_placed(const CudaQueue& q, const CsrView<V>& a, const CsrView<V>& b, const Workspace& work,
                const Places& places, const RowRange<V>& c)
{
    const FilledRuns runs = filled_runs(work);
    const PlaceView p{places.begin.data(), places.half.data()};
    const RowGroup of_long = long_rows_of(work.numeric);
    constexpr std::size_t bytes = window_entries * sizeof(V) + Batch<V>::bytes();
    static_assert(most_warps * bytes <= smallest_block_bytes);
    const Task task{work.list.data() + of_long.begin, of_long.rows, work.facts.data(), nullptr, nullptr};
    launch(q, {ceil_div(places.all_windows, offset_t{most_warps}), 32 * most_warps, most_warps * bytes},
           add_placed_windows_kernel<V>, a, b, task, p, places.windows.data(), c, static_cast<int>(bytes));
    const std::vector<RowGroup> groups =
        merged(work.numeric, saves_launches(work) ? few_rows_of_small : few_rows,
               [](std::size_t g) { return has_larger_size(static_cast<NumericKernel>(g)); });
    for (std::size_t g = groups.size(); g > 0; --g) {  // the longest rows first
        const auto filler = static_cast<NumericKernel>(g);
        const RowGroup& group = groups[g - 1];
        if (group.rows == 0 || is_long(filler)) continue;
        const Task rows{work.list.data() + group.begin, group.rows, work.facts.data(), runs.a,
                        is_run(filler) ? runs.b : nullptr};
        add_group(FillArguments<V>{q, a, b, rows, c, work.pieces}, places, p, filler);
    }
}

template void add_placed(const CudaQueue&, const CsrView<float>&, const CsrView<float>&, const Workspace&,
                         const Places&, const RowRange<float>&);
template void add_placed(const CudaQueue&, const CsrView<double>&, const CsrView<double>&, const Workspace&,
                         const Places&, const RowRange<double>&);

}  // namespace tulle::inline TULLE_ABI::spgemm
