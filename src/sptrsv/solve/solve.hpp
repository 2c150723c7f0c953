// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The solve: what a plan keeps for one policy, and its kernels. Solving decides and allocates nothing.
#pragma once

#include "sptrsv/schedule/schedule.hpp"
#include "tulle/dense.hpp"
#include "tulle/memory.hpp"
#include "tulle/sptrsv.hpp"

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

template <class V>
void solve_tasks(const CudaQueue& q, const Tasks& tasks, const TaskValues<V>& values, const SolveScratch<V>& shared,
                 const RhsView<V>& sides);

// Clusters whose residual could be larger than so many units of roundoff times |b| + |T| |x| in a trial (x = 1 and x
// random; where one of them loses digits, b = 1 and b random) are solved by substitution from then on. value: the
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
    Rows many;  // more than one right-hand side on a GPU
    RowValues<V> many_values;
    SolveScratch<V> many_shared;

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
