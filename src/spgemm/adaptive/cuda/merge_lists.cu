// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Rows of C from few nonzeros of A, a thread each, and pieces of longer ones (merge_lists.cuh).
#include "spgemm/adaptive/cuda/merge_lists.cuh"

#include "base/constant.hpp"
#include "spgemm/adaptive/cuda/fill_steps.hpp"
#include "spgemm/adaptive/cuda/pieces.hpp"

namespace tulle::inline TULLE_ABI::spgemm {
namespace {

// Slots of a warp: what 32 rows of mc2depi, mac_econ, and 31 pieces need, and some more (reasoned). Every row and piece
// must fit.
template <int Lists, bool Cut>
constexpr int slots_of = Cut                  ? 1280
                         : Lists == few_lists ? 768
                                              : 1536;
static_assert(std::min(slots_of<few_lists, false>, slots_of<most_lists, false>) >=
              static_cast<int>(merged_at_once) + most_lists);
static_assert(slots_of<most_lists, true> >= most_lists * (cut_every + 1));

// Slices that bring a list: rows of B are short where rows of C are, parts of them longer.
template <bool Cut>
constexpr int slice_of = Cut ? 8 : 4;

// The last lane of a warp with pieces only knows where the piece of the lane before it ends.
constexpr int pieces_of_warp = 31;

// What a lane has to do: a row, and for pieces its number and first column.
struct Job {
    index_t row = -1, first = 0;
    offset_t number = 0;
    bool mine = false;
};

template <bool Cut>
__device__ Job job_of(const Task& t, const PieceView& p)
{
    const int lane = team_rank<32>();
    const offset_t number = offset_t{blockIdx.x} * (Cut ? pieces_of_warp : 32) + lane;
    if (number >= (Cut ? p.pieces : t.rows)) return {};
    if constexpr (Cut) return {p.row[number], p.col[number], number, lane < pieces_of_warp};
    return {t.list[number], 0, number, true};
}

template <bool Cut, int Lists, class V>
__device__ Parts<Lists> parts_of(const CsrView<V>& a, const CsrView<V>& b, const Job& job)
{
    auto parts = load_parts<Lists>(a, b, job.row);
    if constexpr (Cut) trim(parts, b, job.row, job.first);
    if (!job.mine)
#pragma unroll
        for (int k = 0; k < Lists; ++k) parts.length[k] = 0;
    return parts;
}

// A thread per row, or per piece.
//   grid: ceil(rows / 32), ceil(pieces / 31)
//   block: a warp
//   shared memory: a Board
//   count, or p.place: one a row, or piece
template <int Lists, bool Cut>
__global__ void __launch_bounds__(32) count_lists_kernel(Pattern a, Pattern b, Task t, PieceView p, offset_t* count)
{
    TULLE_DYNAMIC_SHARED(unsigned char, memory);
    constexpr int slots = slots_of<Lists, Cut>;
    const auto board = Board<Lists, false, float>::at(memory, slots);
    const Job job = job_of<Cut>(t, p);
    const Share mine = enter_parts(board, parts_of<Cut, Lists>(a, b, job), a.value);
    int nonzeros = 0;
    merge_by_turns<slice_of<Cut>>(board, b, mine, slots,
                                  [&](int base, int lists) { nonzeros += count_merged(board, mine, lists, base); });
    if (!job.mine) return;
    if (Cut) p.place[job.number] = nonzeros;
    else write_count(t, job.row, nonzeros, count);
}

// The same.      c: every entry of the group's rows, or of the pieces that lie in it, once; or every value
template <int Lists, bool Cut, bool Columns, class V>
__global__ void __launch_bounds__(32) fill_lists_kernel(CsrView<V> a, CsrView<V> b, Task t, PieceView p, RowRange<V> c)
{
    TULLE_DYNAMIC_SHARED(unsigned char, memory);
    constexpr int slots = slots_of<Lists, Cut>;
    const auto board = Board<Lists, true, V>::at(memory, slots);
    Job job = job_of<Cut>(t, p);
    job.mine = job.mine && job.row >= c.first && job.row - c.first < c.rows;
    const Share mine =
        enter_parts(board, parts_of<Cut, Lists>(a, b, job), a.value + (job.row < 0 ? 0 : a.row_begin[job.row]));
    const offset_t to = job.mine ? c.row_begin[job.row] - c.base + (Cut ? p.place[job.number] : 0) : 0;
    merge_by_turns<slice_of<Cut>>(board, b, mine, slots,
                                  [&](int base, int lists) { write_merged<Columns>(board, mine, lists, base, c, to); });
}

template <int Lists, bool Cut, bool Values, class V>
LaunchShape shape_for(offset_t jobs)
{
    constexpr std::size_t bytes = Board<Lists, Values, V>::bytes(slots_of<Lists, Cut>);
    static_assert(bytes <= 48 * 1024);
    return {ceil_div(jobs, offset_t{Cut ? pieces_of_warp : 32}), 32, bytes};
}

template <bool Cut>
void count_with(const CudaQueue& q, const Pattern& a, const Pattern& b, const Task& task, const PieceView& p, int lists,
                offset_t* count)
{
    with_constant<few_lists, most_lists>(lists, [&](auto n) {
        launch(q, shape_for<n(), Cut, false, float>(Cut ? p.pieces : task.rows), count_lists_kernel<n(), Cut>, a, b,
               task, p, count);
    });
}

template <bool Cut, class V>
void fill_with(const FillArguments<V>& f, const PieceView& p, int lists, bool columns)
{
    with_constant<few_lists, most_lists>(lists, [&](auto n) {
        launch(f.q, shape_for<n(), Cut, true, V>(Cut ? p.pieces : f.task.rows),
               columns ? fill_lists_kernel<n(), Cut, true, V> : fill_lists_kernel<n(), Cut, false, V>, f.a, f.b, f.task,
               p, f.c);
    });
}

}  // namespace

void count_lists(const CudaQueue& q, const Pattern& a, const Pattern& b, const Task& task, int lists, offset_t* count)
{
    count_with<false>(q, a, b, task, {}, lists, count);
}

void count_pieces(const CudaQueue& q, const Pattern& a, const Pattern& b, const PieceView& p, int lists)
{
    count_with<true>(q, a, b, {}, p, lists, nullptr);
}

template <class V>
void fill_lists(const FillArguments<V>& f, int lists, bool columns)
{
    fill_with<false>(f, {}, lists, columns);
}
template <class V>
void fill_pieces(const FillArguments<V>& f, const PieceView& p, int lists, bool columns)
{
    fill_with<true>(f, p, lists, columns);
}

template void fill_lists(const FillArguments<float>&, int, bool);
template void fill_lists(const FillArguments<double>&, int, bool);
template void fill_pieces(const FillArguments<float>&, const PieceView&, int, bool);
template void fill_pieces(const FillArguments<double>&, const PieceView&, int, bool);

}  // namespace tulle::inline TULLE_ABI::spgemm
