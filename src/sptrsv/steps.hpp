// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The steps of a triangular solve. Filling takes the caller's values to where a kernel wants them, divided by their
// row's diagonal; it returns the row of op(A) with the first zero on its diagonal in the order of solving, or -1 (and
// so waits). Solving decides and allocates nothing.
#pragma once

#include <optional>
#include <vector>

#include "prim/sort.hpp"
#include "sptrsv/analysis/rows.hpp"
#include "sptrsv/schedule/groups.hpp"
#include "sptrsv/schedule/schedule.hpp"
#include "sptrsv/schedule/tasks.hpp"
#include "tulle/dense.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {

// alpha b and x; entry i of column j stands at i * row_step + j * col_step. x may be b.
template <class V>
struct RhsView {
    V alpha;
    const V* b;
    offset_t b_row, b_col;
    V* x;
    offset_t x_row, x_col;
    index_t columns;
};

// The numbers that go with Rows.
template <class V>
struct RowValues {
    Buffer<V> value, reciprocal;
    std::size_t bytes() const { return value.bytes() + reciprocal.bytes(); }
};

// The numbers that go with Tasks. A cluster whose inverse would lose accuracy keeps its entries instead, and is solved
// by substitution.
template <class V>
struct TaskValues {
    Buffer<V> value, reciprocal, dense;
    Buffer<index_t> substitute;  // of each task: 1 where its matrices are S and F, not their products with the inverse
    std::size_t bytes() const { return value.bytes() + reciprocal.bytes() + dense.bytes() + substitute.bytes(); }
};

// The largest row sum of |(I + S)^-1| |I + S| that an inverse may have: it bounds how much larger errors may get than
// by substitution.
inline constexpr double most_growth = 1000;

template <class V>
index_t fill_rows(const CpuQueue& q, const Rows& rows, const V* value, RowValues<V>& to);
template <class V>
index_t fill_rows(const CudaQueue& q, const Rows& rows, const V* value, RowValues<V>& to);
template <class V>
index_t fill_tasks(const CudaQueue& q, const Tasks& tasks, const V* value, TaskValues<V>& to);

// The analysis where the matrix is: the triangle from the caller's rows, as stored there and not transposed; its
// features, from the levels of its rows; and the entries of all tasks. The same as make_triangle, features_of and
// make_tasks give on the host, but for sources: one a row.
std::optional<Triangle> extract_triangle(
    const CudaQueue& q, const TriangleSource& stored);  // none where the host has to say what is wrong, or to sort

// A sweep on a GPU keeps what it finds of a row in one word: level alone, level of its chain, first row of that, place
// in it. Room for so many levels.
inline constexpr index_t most_rows_swept = index_t{1} << 27;
inline constexpr int place_bits = 5;
constexpr int row_bits_swept(index_t rows) { return prim::bits_for(static_cast<std::uint64_t>(rows)); }
constexpr int level_bits_swept(index_t rows)
{
    const int room = (64 - place_bits - row_bits_swept(rows)) / 2;
    return room < 30 ? room : 30;
}
constexpr index_t most_levels_swept(index_t rows) { return (index_t{1} << level_bits_swept(rows)) - 1; }

// Levels of all rows, and Merge::chains of up to `most` rows, found where the triangle is: a word for each row
// (cuda/nodes.cuh), and behind them room for what a survey counts. A triangle of more levels than `deepest` is given
// up.
struct LevelAnalysis {
    int most = 0;
    index_t rows = 0;
    Buffer<unsigned long long> words;
};
LevelAnalysis sweep(const CudaQueue& q, const Triangle& there, int most, index_t deepest);
void write_levels(const CudaQueue& q, const LevelAnalysis& swept, index_t* level);  // of each row alone

// The same from a graph that was merged on the host into nodes of up to 32 rows, or rows alone; there is nothing to
// survey.
constexpr bool can_take_nodes(index_t rows, index_t levels)
{
    return rows < most_rows_swept && levels <= most_levels_swept(rows);
}
LevelAnalysis upload_nodes(const CudaQueue& q, const CpuQueue& host, const Graph& graph);

// What make_tasks gives, in two steps on the GPU. A layout is what is decided before any entry is written: tasks with
// their sizes and offsets, the rest by row or task.
struct TaskLayout {
    Tasks tasks;  // `task` and `dense_first` only
    TaskSizes sizes;
    Buffer<index_t> order;         // rows of the triangle in the order of tasks
    Buffer<index_t> place, level;  // of each row of the triangle: where it stands in that order; the level of its node
    Buffer<index_t> apart;  // of each row in that order: of a cluster's, entries not early of the task's rows before
                            // it; of a row alone, those it keeps apart itself
    Buffer<index_t> task_level;
    Buffer<index_t>
        late;  // late columns of each task as columns of the triangle, ascending; room for 32 for each warp of its team
};
TaskLayout lay_out_tasks(const CudaQueue& q, const Triangle& there, const LevelAnalysis& swept, bool chains,
                         index_t levels, const Packing& packing);
Tasks write_tasks(const CudaQueue& q, TaskLayout layout, const Triangle& there);

// What a sweep found, added up; none if it was given up.
struct Widths {
    std::vector<offset_t> nodes, rows;  // of each level, the first level first
};
struct Surveyed {
    Features features;
    Widths alone, chained;  // of rows alone, and of chains
};
std::optional<Surveyed> survey(const CudaQueue& q, const Triangle& there, LevelAnalysis& swept);  // once for each sweep

// The CPU's kernels.
template <class V>
void solve_serial(const CpuQueue& q, const Rows& rows, const RowValues<V>& values, const RhsView<V>& sides);
template <class V>
void solve_levels(const CpuQueue& q, const Rows& rows, const RowValues<V>& values, const ThreadPlan& plan,
                  const RhsView<V>& sides);

struct TicketState {
    int fault;  // the row of op(A), plus one, whose wait was the first to run out of spin_limit
    unsigned long long ticket;
};

// What GPU kernels share between solves: unknowns that are their own flags, twice (a solve arms the other half for the
// next one), and whose turn it is. One block or cluster keeps unknowns and tickets in its shared memory.
template <class V>
struct SolveScratch {
    Buffer<V> unknown;
    Buffer<TicketState> turns;       // one
    offset_t half = 0;               // unknowns of one half; of a block, where they are in shared memory
    int takers = 0;                  // warps or teams that take tickets; the same for all solves
    unsigned spin_limit = 1u << 25;  // polls until a wait gives up: some ten seconds
    ExecutionScope execution_scope = ExecutionScope::device;
    int blocks = 1;  // of the cluster

    std::size_t bytes() const { return unknown.bytes() + turns.bytes(); }
};

// `warps` on each multiprocessor, in teams; or on those of one block or cluster.
template <class V>
SolveScratch<V> make_shared(const CudaQueue& q, offset_t unknowns, offset_t tasks, int warps, int team);
template <class V>
SolveScratch<V> make_shared(const CudaQueue& q, index_t unknowns, const Policy& scheme);
int multiprocessors(const CudaQueue& q);

// With what the device of a queue has.
inline Limits limits_on(const CpuQueue&, const Limits& limits) { return limits; }
Limits limits_on(const CudaQueue& q, const Limits& limits);

template <class V>
void solve_tasks(const CudaQueue& q, const Tasks& tasks, const TaskValues<V>& values, const SolveScratch<V>& shared,
                 const RhsView<V>& sides);

// A lane for each of up to 32 right-hand sides, a warp for each row; rows in the order of levels.
inline constexpr index_t sides_at_once = 32;
inline constexpr int many_warps = 16;  // on each multiprocessor
template <class V>
void solve_many(const CudaQueue& q, const Rows& rows, const RowValues<V>& values, const SolveScratch<V>& shared,
                const RhsView<V>& sides);

// The paper's kernels: flags beside the unknowns, set to zero before every solve. `rows` by place.
template <class V>
struct Flags {
    Buffer<V> unknown;
    Buffer<int> flag;  // of each row; then the ticket of each launch; then the fault as in SolveScratch
    unsigned spin_limit = 1u << 25;
    std::size_t bytes() const { return unknown.bytes() + flag.bytes(); }
};
template <class V>
Flags<V> make_flags(const CudaQueue& q, index_t rows, const Groups& groups);
template <class V>
void solve_groups(const CudaQueue& q, const Rows& rows, const RowValues<V>& values, const Groups& groups,
                  const Flags<V>& flags, const RhsView<V>& sides);

}  // namespace tulle::inline TULLE_ABI::sptrsv
