// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What a policy works on, and its kernels. The schedule: rows for the CPU, for many right-hand sides and for the
// paper's kernels; shares of threads for the CPU's level kernel; tasks for the GPU; groups for the paper's kernels;
// values are filled in afterwards. The solve decides and allocates nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/math.hpp"
#include "sptrsv/analysis.hpp"
#include "tulle/dense.hpp"
#include "tulle/memory.hpp"
#include "tulle/sptrsv.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {

// --- Schedule: rows (schedule/arrange.cpp) ---

// A triangle row after row in the order it is solved, with every row divided by its diagonal.
struct Rows {
    index_t rows = 0;
    Buffer<index_t> row;  // of op(A), for each row in the order of solving
    Buffer<offset_t> begin;
    Buffer<index_t> col;  // unknowns: rows of op(A), or places in the order of solving
    Buffer<offset_t> source;
    Buffer<offset_t> diagonal;  // empty for a unit diagonal

    offset_t nonzeros() const { return col.size(); }
    std::size_t bytes() const { return row.bytes() + begin.bytes() + col.bytes() + source.bytes() + diagonal.bytes(); }
};

enum class Unknowns { by_row, by_place };

// `order` lists the triangle's rows as they are to be solved, null: as they are. On the host.
Rows make_rows(const CpuQueue& host, const Pattern& t, const Sources& sources, const index_t* order, Unknowns unknowns);

// --- Without a schedule: one thread of a CPU solves row after row, whatever the levels are (schedule/serial.cpp) ---

// The rows as make_rows() makes them without an order, straight from what is stored. None where columns do not ascend
// or something is wrong: make_triangle() sorts, or says what.
std::optional<Rows> rows_as_stored(const CpuQueue& host, const TriangleSource& stored);
template <class V>
std::optional<Rows> extract_rows(const Context& ctx, const WideView<V>& a, const Options& options);

// The features of such rows, levels included, for those who ask.
Features features_of(const CpuQueue& host, const Rows& rows);

// --- Schedule: threads of a CPU (schedule/threads.cpp) ---

// The CPU's schedule. Rows stand in the order of their nodes' levels, those of a node together and by the same thread;
// in each level a thread has one range of them, and before it starts waits until some other threads have passed a
// level. Levels too small to be shared belong to thread 0, so that runs of them cost nobody a wait; nodes of many rows
// leave fewer levels, and more to share in each.
struct ThreadPlan {
    struct Wait {
        int thread;
        index_t level;
    };
    struct RowRange {
        index_t level, begin, end;  // rows begin … end-1 in the order of solving
        index_t wait_begin, wait_end;
    };
    std::vector<index_t> order;  // rows of the triangle as they are solved
    std::vector<std::vector<RowRange>> of_thread;
    std::vector<std::vector<Wait>> waits;  // of each thread's ranges

    int threads() const { return static_cast<int>(of_thread.size()); }
};

inline constexpr int entries_worth_sharing = 128;  // of a thread in a level: about as long as a wait takes

// Threads that share a level of so many entries: all, or a power of two, so that parts of neighbouring levels with
// other numbers of threads belong together.
constexpr int sharers_of(offset_t entries, int threads, int worth_sharing)
{
    const offset_t most = entries / worth_sharing;
    if (most >= threads) return threads;
    int sharers = 1;
    while (2 * sharers <= most) sharers *= 2;
    return sharers;
}

ThreadPlan plan_threads(const CpuQueue& host, const Pattern& t, const Graph& graph, int threads,
                        int worth_sharing = entries_worth_sharing);

// --- Schedule: tasks of a GPU (schedule/tasks.cpp, schedule/cuda/) ---
//
// The work of the GPU kernel `tasks`, laid out so that warps read it in the order they need it.
//
// A task is up to 32 rows that a warp or a warp group solves. Lane l of each warp works on row l % width; all lanes
// that work on a row share its entries. Entries whose unknowns are likely to be known come first, in steps of one for
// each lane. Entries whose unknowns are known last are stored separately, so that little is left to do when they
// arrive:
//
//   rows alone        up to four late entries of each row, in one more step of the first warp; no sum over lanes
//                     follows them
//   merged nodes      rows that need each other: with S the node's own entries and F those of late columns, up to 32
//                     for each warp, all divided by the diagonal, x = (I + S)^-1 (b - E x_early) - (I + S)^-1 F x_late;
//                     both matrices are formed once per set of values

inline constexpr int most_team = 4;        // warps
inline constexpr int most_late = 4;        // late entries of a row that is not in a merged node
inline constexpr index_t late_levels = 2;  // parents of a merged node so close below it are late

struct Task {
    offset_t step;   // first of its entries, in units of 32
    offset_t dense;  // merged nodes: where its matrices begin: width x width, then width x late, column after column
    index_t first;   // its rows are first … first + rows - 1 in the order of tasks
    index_t late_first;        // merged nodes: where its late columns begin
    index_t steps;             // of early entries, a unit for each warp of the warp group in each
    std::uint8_t rows, width;  // width: rows rounded up to a power of two
    std::uint8_t late;         // merged nodes: late columns; else late entries a row
    std::uint8_t cluster;      // 1 if its rows may need each other
};
static_assert(sizeof(Task) == 32);

constexpr offset_t units_of(const Task& task, int team)
{
    return offset_t{task.steps} * team + (task.cluster == 0 && task.late > 0 ? 1 : 0);
}  // of entries
constexpr offset_t dense_of(const Task& task)
{
    return task.cluster == 0 ? 0 : offset_t{task.width} * (task.width + task.late);
}  // of its matrices

// All tasks, in the order they are handed out. Columns are unknowns by number: their place among the tasks' rows, or,
// without reordering, their row in the triangle.
struct Tasks {
    index_t rows = 0, levels = 0;
    int team = 1;  // warps of the warp group that works on a task
    bool reversed = false, reordered = true;
    offset_t dense_size = 0;
    Buffer<Task> task;
    Buffer<index_t> row;        // of op(A), for each row in the order of tasks
    Buffer<offset_t> diagonal;  // source of its diagonal; empty for a unit diagonal
    Buffer<index_t> col;        // of each lane in each step; -1: nothing
    Buffer<offset_t> source;    // of the entry's value
    Buffer<index_t> late_col;   // merged nodes
    Buffer<offset_t> dense_at,
        dense_source;  // entries inside merged nodes and of late columns: where they go, where they come from
    Buffer<offset_t> dense_first;  // of each task, and the end

    std::size_t bytes() const
    {
        return task.bytes() + row.bytes() + diagonal.bytes() + col.bytes() + source.bytes() + late_col.bytes() +
               dense_at.bytes() + dense_source.bytes() + dense_first.bytes();
    }
};

// How tasks are to be made: `resident` warp groups work at the same time, and levels with fewer rows are not packed
// tighter than that.
struct Packing {
    bool reorder = false;
    int team = 1;
    offset_t resident = 1;
};

// Tasks without any array yet: rows, levels and how they will be packed.
inline Tasks no_tasks_yet(const Pattern& t, index_t levels, const Packing& packing)
{
    Tasks tasks;
    tasks.rows = t.rows;
    tasks.levels = levels;
    tasks.team = packing.team;
    tasks.reversed = t.reversed;
    tasks.reordered = packing.reorder;
    return tasks;
}

// What a node is packed with: merged nodes of up to 2, 4, … 32 rows, then rows alone that a warp group takes 1, 2, … 32
// of at once.
inline constexpr int cluster_kinds = 5, node_kinds = 11;
inline constexpr offset_t entries_per_lane = 2;  // of a row alone, while the warp group's lanes last

constexpr int logarithm_from(offset_t n)  // of power_of_two_from(n)
{
    int log = 0;
    for (offset_t power = power_of_two_from(n); power > 1; power /= 2) ++log;
    return log;
}

constexpr int kind_of(index_t rows, offset_t entries, int team)
{
    if (rows > 1) return logarithm_from(rows) - 1;
    const int wanted = logarithm_from((entries + entries_per_lane - 1) / entries_per_lane),
              most = logarithm_from(offset_t{lanes} * team);
    const int log = most - (wanted < most ? wanted : most);
    return cluster_kinds + (log < 5 ? log : 5);
}

// Nodes of one kind and level share a task if they begin in the same interval of so many rows. Merged nodes share one
// only where the level has more rows in merged nodes than there are warp groups; an interval leaves room for the rows
// of its last merged node.
constexpr index_t stretch_of(int kind, offset_t rows_in_clusters, offset_t resident)
{
    if (kind >= cluster_kinds) return index_t{1} << (kind - cluster_kinds);
    const offset_t wanted = (rows_in_clusters + resident - 1) / resident, room = most_rows + 1 - (offset_t{2} << kind);
    return static_cast<index_t>(wanted < room ? wanted : room);
}

// How much the arrays of all tasks hold.
struct TaskSizes {
    offset_t units = 0;  // of 32 entries
    index_t late = 0;    // late columns of merged nodes
    offset_t dense_entries = 0;
};

// No array where there is nothing to hold: to ask for one takes as long as a small kernel.
template <class T, class Queue>
Buffer<T> array_for(const Queue& q, offset_t size)
{
    return size > 0 ? Buffer<T>(q, size) : Buffer<T>();
}

// The arrays that are not there yet.
template <class Queue>
void make_room(const Queue& q, const TaskSizes& sizes, bool has_diagonal, Tasks& tasks)
{
    tasks.row = Buffer<index_t>(q, tasks.rows);
    tasks.diagonal = array_for<offset_t>(q, has_diagonal ? tasks.rows : 0);
    tasks.col = Buffer<index_t>(q, sizes.units * lanes);
    tasks.source = Buffer<offset_t>(q, sizes.units * lanes);
    tasks.late_col = array_for<index_t>(q, sizes.late);
    tasks.dense_at = array_for<offset_t>(q, sizes.dense_entries);
    tasks.dense_source = array_for<offset_t>(q, sizes.dense_entries);
}

// On the host.
Tasks make_tasks(const CpuQueue& host, const Pattern& t, const Sources& sources, const Graph& graph,
                 const Packing& packing);

// What make_tasks gives, in two steps on the GPU. A layout is what is decided before any entry is written: tasks with
// their sizes and offsets, the rest by row or task.
struct TaskLayout {
    Tasks tasks;  // `task` and `dense_first` only
    TaskSizes sizes;
    Buffer<index_t> order;         // rows of the triangle in the order of tasks
    Buffer<index_t> place, level;  // of each row of the triangle: where it stands in that order; the level of its node
    Buffer<index_t> apart;  // of each row in that order: of a merged node's, entries not early of the task's rows
                            // before it; of a row alone, those it keeps apart itself
    Buffer<index_t> task_level;
    Buffer<index_t> late;  // late columns of each task as columns of the triangle, ascending; room for 32 for each warp
                           // of its warp group
};
TaskLayout lay_out_tasks(const CudaQueue& q, const Pattern& there, const LevelAnalysis& swept, bool chains,
                         index_t levels, const Packing& packing);
void place_tasks(const CudaQueue& q, TaskLayout& layout);  // the end of lay_out_tasks: sizes become offsets; waits
Tasks write_tasks(const CudaQueue& q, TaskLayout layout, const DeviceTriangle& there);
Tasks write_tasks(const CudaQueue& q, TaskLayout layout, const Triangle& uploaded);

// --- Schedule: groups, as in the paper (section 4.4; schedule/groups.cpp) ---
//
// Nodes of a level form groups, a group is the task of a warp, warps get their groups by ticket or by a list made
// beforehand, and levels are cut into kernels.

inline constexpr int resident_warps = 64;  // of a multiprocessor, at most: what alpha is multiplied with

// Groups first … last-1 in the order of levels, in one launch.
struct Segment {
    index_t first, last;
    bool waits;     // rows of several levels: they must wait for each other
    bool tells;     // rows of this launch or a later one wait for its rows
    offset_t list;  // where the warps' lists of this launch begin among list_begin
};

struct Groups {
    int subwarps = 1, share_above = 0, warps_per_block = 1, blocks = 1;
    bool by_ticket = true;
    Buffer<index_t> node_begin;        // rows of each node are consecutive in the order of solving
    Buffer<index_t> node;              // of each group: `subwarps` of them, -1 where there are fewer
    Buffer<index_t> list, list_begin;  // groups of each warp in each launch; empty with tickets
    std::vector<Segment> segments;

    std::size_t bytes() const { return node_begin.bytes() + node.bytes() + list.bytes() + list_begin.bytes(); }
};

// `rows` are those of `graph`, which was merged from consecutive rows.
Groups make_groups(const CpuQueue& host, const Rows& rows, const Graph& graph, const Policy& scheme,
                   int multiprocessors);

// --- Schedule: values ---
//
// Filling takes the caller's values to where a kernel wants them, divided by their row's diagonal; it returns the row
// of op(A) with the first zero on its diagonal in the order of solving, or -1 (and so waits).

// The numbers that go with Rows.
template <class V>
struct RowValues {
    Buffer<V> value, reciprocal;
    std::size_t bytes() const { return value.bytes() + reciprocal.bytes(); }
};

// The numbers that go with Tasks. A merged node whose inverse would lose accuracy keeps its entries instead, and is
// solved by substitution.
template <class V>
struct TaskValues {
    Buffer<V> value, reciprocal, dense;
    Buffer<index_t> substitute;  // of each task: 1 where its matrices are S and F, not their products with the inverse
    std::size_t bytes() const { return value.bytes() + reciprocal.bytes() + dense.bytes() + substitute.bytes(); }
};

// The largest row sum of |(I + S)^-1| |I + S| that an inverse may have: it bounds how much larger errors may get than
// by substitution. No merged node has so little that 0 would allow its inverse.
inline constexpr double most_growth = 1000;
constexpr double growth_allowed(Accuracy accuracy) { return accuracy == Accuracy::substitution ? 0 : most_growth; }

template <class V>
index_t fill_rows(const CpuQueue& q, const Rows& rows, const V* value, RowValues<V>& to);
template <class V>
index_t fill_rows(const CudaQueue& q, const Rows& rows, const V* value, RowValues<V>& to);
template <class V>
index_t fill_tasks(const CudaQueue& q, const Tasks& tasks, const V* value, double growth, TaskValues<V>& to);

// --- Solve (solve/) ---

// alpha b and x; entry i of column j stands at i * row_step + j * col_step. x may be b.
template <class V>
struct RhsView {
    V alpha;
    const V* b;
    offset_t b_row, b_col;
    V* x;
    offset_t x_row, x_col;
    index_t columns;

    // Those from column j on, at most `most`.
    constexpr RhsView from_column(index_t j, index_t most) const
    {
        RhsView part = *this;
        part.b += j * b_col;
        part.x += j * x_col;
        part.columns = columns - j < most ? columns - j : most;
        return part;
    }
};

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
    Buffer<TicketState> turns;       // one; of solve_sides for each bundle, whose faults are with the first
    offset_t half = 0;               // unknowns of one half; of a block, where they are in shared memory
    int takers = 0;                  // warps or warp groups (of a bundle) that take tickets; the same for all solves
    unsigned spin_limit = 1u << 25;  // polls until a wait gives up: some ten seconds
    ExecutionScope execution_scope = ExecutionScope::device;
    int blocks = 1;  // of the cluster

    std::size_t bytes() const { return unknown.bytes() + turns.bytes(); }
};

// `warps` on each multiprocessor, in warp groups that are dealt out to bundles; or on those of one block or cluster.
template <class V>
SolveScratch<V> make_shared(const CudaQueue& q, offset_t unknowns, offset_t tasks, int warps, int team,
                            int bundles = 1);
template <class V>
SolveScratch<V> make_shared(const CudaQueue& q, index_t unknowns, const Policy& scheme);

template <class V>
void solve_tasks(const CudaQueue& q, const Tasks& tasks, const TaskValues<V>& values, const SolveScratch<V>& shared,
                 const RhsView<V>& sides);

// Merged nodes whose residual could be larger than so many units of roundoff times |b| + |T| |x| in a trial (x = 1 and
// x random; where one of them loses digits, b = 1 and b random) are solved by substitution from then on. value: the
// caller's.
inline constexpr double most_trial_error = 32;  // 7e-15 in double
template <class V>
void test_tasks(const CudaQueue& q, const Tasks& tasks, const V* value, const SolveScratch<V>& shared,
                TaskValues<V>& to);

// A lane for each of up to 32 right-hand sides, a warp for each row; rows in the order of levels.
inline constexpr index_t sides_at_once = 32;
inline constexpr int many_warps = 16;  // on each multiprocessor
template <class V>
void solve_many(const CudaQueue& q, const Rows& rows, const RowValues<V>& values, const SolveScratch<V>& shared,
                const RhsView<V>& sides);

// Many right-hand sides with the tasks of warp groups: up to four bundles of eight sides, which are solved
// independently.
inline constexpr int bundle_sides = 8;
constexpr bool takes_bundles(const Policy& s)
{
    return s.kernel == Kernel::tasks && s.merge != Merge::none && s.warps_per_task == most_team &&
           s.execution_scope == ExecutionScope::device;
}
constexpr int bundles_for(index_t sides)
{
    return static_cast<int>(ceil_div(sides < sides_at_once ? sides : sides_at_once, index_t{bundle_sides}));
}
template <class V>
void solve_sides(const CudaQueue& q, const Tasks& tasks, const TaskValues<V>& values, const SolveScratch<V>& shared,
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

// What one policy works on.
template <class V>
struct Prepared {
    Policy policy;
    Accuracy accuracy = Accuracy::tested;
    index_t levels = 0;
    Rows rows;  // serial, levels, groups
    RowValues<V> row_values;
    ThreadPlan threads;  // levels
    Tasks tasks;         // tasks
    TaskValues<V> task_values;
    SolveScratch<V> shared;
    Groups groups;  // groups
    Flags<V> flags;
    Rows many;  // more than one right-hand side on a GPU, unless they are solved with the tasks
    RowValues<V> many_values;
    SolveScratch<V> many_shared;  // more than one right-hand side on a GPU

    std::size_t bytes() const
    {
        return rows.bytes() + row_values.bytes() + groups.bytes() + flags.bytes() + tasks.bytes() +
               task_values.bytes() + shared.bytes() + many.bytes() + many_values.bytes() + many_shared.bytes();
    }
};

// Values to their places; ValueError names the row of a zero on the diagonal.
template <class V>
void set_values(const Context& ctx, const V* value, Prepared<V>& p);

// Whether a scheme's tasks are made where the triangle is, and nothing of it comes to the host.
bool is_device_resident(const AnalysisState& known, const Options& options, const Policy& scheme);

// What a scheme works on, values filled in.
template <class V>
Prepared<V> prepare(const Context& ctx, const WideView<V>& a, const Options& options, AnalysisState& known,
                    const Policy& scheme);

// One solve, put on the context's queue.
template <class V>
void run(const Context& ctx, const Prepared<V>& p, const RhsView<V>& sides);

}  // namespace tulle::inline TULLE_ABI::sptrsv
