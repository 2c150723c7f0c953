// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The CPU's kernels: values filled in, rows solved one after the other, or level after level by threads that wait for
// each other, and how long such a wait takes.
#include <omp.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <type_traits>

#include "device/calibrate.hpp"
#include "sptrsv/steps.hpp"
#include "tulle/trace.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {
namespace {

// --- A row: columns of right-hand sides four at a time, so that an entry is read once for all four ---

constexpr index_t columns_at_once = 4;

// Two sums side by side where the row is long enough, and the last entry at the very end: its column is the nearest and
// was solved last, so that nothing but one product waits for it. Step is 1, or the distance of x's entries.
template <class Step, class V>
V solve_one(const V* value, const index_t* col, offset_t n, V start, const V* x, Step step)
{
    constexpr offset_t few = 4;
    V sum = start;
    offset_t k = 0;
    if (n > few) {
        V odd = 0;
        for (; k + 2 < n; k += 2) {
            sum -= value[k] * x[col[k] * step];
            odd -= value[k + 1] * x[col[k + 1] * step];
        }
        sum += odd;
    }
    for (; k < n; ++k) sum -= value[k] * x[col[k] * step];
    return sum;
}

template <class V>
void solve_four(const V* value, const index_t* col, offset_t n, V (&sum)[columns_at_once], const V* x,
                const RhsView<V>& s)
{
    for (offset_t k = 0; k < n; ++k)
        for (index_t j = 0; j < columns_at_once; ++j) sum[j] -= value[k] * x[col[k] * s.x_row + j * s.x_col];
}

// Row i, in the order of solving, for all right-hand sides.
template <class V>
void solve_row(const Rows& rows, const RowValues<V>& values, index_t i, const RhsView<V>& s)
{
    const offset_t begin = rows.begin.data()[i], n = rows.begin.data()[i + 1] - begin;
    const V* value = values.value.data() + begin;
    const index_t* col = rows.col.data() + begin;
    const offset_t row = rows.row.data()[i];
    const V scale = values.reciprocal.data()[i];
    const auto right = [&](index_t j) { return s.alpha * s.b[row * s.b_row + j * s.b_col] * scale; };
    index_t j = 0;
    for (; j + columns_at_once <= s.columns; j += columns_at_once) {
        V sum[columns_at_once];
        for (index_t c = 0; c < columns_at_once; ++c) sum[c] = right(j + c);
        solve_four(value, col, n, sum, s.x + j * s.x_col, s);
        for (index_t c = 0; c < columns_at_once; ++c) s.x[row * s.x_row + (j + c) * s.x_col] = sum[c];
    }
    for (; j < s.columns; ++j)
        s.x[row * s.x_row + j * s.x_col] = solve_one(value, col, n, right(j), s.x + j * s.x_col, s.x_row);
}

// Rows first … last-1 in the order of solving. One right-hand side without gaps is the usual case, and gets a loop
// without multiplications of indices.
template <class V>
void solve_stretch(const Rows& rows, const RowValues<V>& values, index_t first, index_t last, const RhsView<V>& s)
{
    if (s.columns != 1 || s.b_row != 1 || s.x_row != 1) {
        for (index_t i = first; i < last; ++i) solve_row(rows, values, i, s);
        return;
    }
    const offset_t* begin = rows.begin.data();
    const index_t *row = rows.row.data(), *col = rows.col.data();
    const V *value = values.value.data(), *reciprocal = values.reciprocal.data(), *b = s.b;
    V* x = s.x;
    offset_t k = begin[first];
    for (index_t i = first; i < last; ++i) {
        const offset_t end = begin[i + 1];
        x[row[i]] = solve_one(value + k, col + k, end - k, s.alpha * b[row[i]] * reciprocal[i], x,
                              std::integral_constant<index_t, 1>{});
        k = end;
    }
}

// --- Levels: each thread solves its stretches in the order of levels and tells how far it is; before a stretch it
// waits for those threads, and only those, that have rows it needs. The order of additions is the row's own: the same
// bits for any number of threads ---

// Polls, and lets others have the processor after a while.
template <class Done>
void spin_until(const Done& done)
{
    constexpr int spins_before_yielding = 2000;
    for (int spins = 0; !done(); ++spins)
        if (spins > spins_before_yielding) std::this_thread::yield();
}

struct alignas(64) Passed {
    std::atomic<index_t> level{0};
};

void wait_for(const Passed& other, index_t level)
{
    spin_until([&] { return other.level.load(std::memory_order_acquire) >= level; });
}

template <class V>
void work(const Rows& rows, const RowValues<V>& values, const ThreadPlan& plan, std::size_t me, Passed* passed,
          const RhsView<V>& sides)
{
    for (const ThreadPlan::RowRange& stretch : plan.of_thread[me]) {
        for (index_t w = stretch.wait_begin; w < stretch.wait_end; ++w) {
            const ThreadPlan::Wait& wait = plan.waits[me][static_cast<std::size_t>(w)];
            wait_for(passed[wait.thread], wait.level);
        }
        solve_stretch(rows, values, stretch.begin, stretch.end, sides);
        passed[me].level.store(stretch.level, std::memory_order_release);
    }
}

// --- Threads that wait for each other in rounds, as those of a solve by levels do. An idle machine takes a microsecond
// a round; one where others have the processors takes milliseconds, until the waiting thread gets its turn ---

constexpr int most_rounds = 64;
constexpr double most_seconds = 1e-3;

struct alignas(64) Arrived {
    std::atomic<int> round{0};
};

void wait_for(const Arrived& other, int round)
{
    spin_until([&] { return other.round.load(std::memory_order_acquire) >= round; });
}

// Rounds made. Thread 0 says which is the last before it arrives there, so that all leave together.
int make_rounds(Arrived* arrived, std::atomic<int>& last, int threads, double begin)
{
    const int me = omp_get_thread_num();
    int round = 0;
    while (round < last.load(std::memory_order_relaxed)) {
        ++round;
        if (me == 0 && trace::now() - begin > most_seconds) last.store(round, std::memory_order_relaxed);
        arrived[me].round.store(round, std::memory_order_release);
        for (int other = 0; other < threads; ++other) wait_for(arrived[other], round);
    }
    return round;
}

}  // namespace

template <class V>
index_t fill_rows(const CpuQueue& q, const Rows& rows, const V* value, RowValues<V>& to)
{
    index_t first_zero = rows.rows;
#pragma omp parallel for num_threads(q.threads) schedule(static) reduction(min : first_zero)
    for (index_t i = 0; i < rows.rows; ++i) {
        const V diagonal = rows.diagonal.empty() ? V(1) : value[rows.diagonal.data()[i]];
        if (diagonal == V(0) && i < first_zero) first_zero = i;
        const V reciprocal = V(1) / diagonal;
        to.reciprocal.data()[i] = reciprocal;
        for (offset_t k = rows.begin.data()[i]; k < rows.begin.data()[i + 1]; ++k)
            to.value.data()[k] = value[rows.source.data()[k]] * reciprocal;
    }
    return first_zero < rows.rows ? rows.row.data()[first_zero] : -1;
}

template <class V>
void solve_serial(const CpuQueue&, const Rows& rows, const RowValues<V>& values, const RhsView<V>& sides)
{
    solve_stretch(rows, values, 0, rows.rows, sides);
}

template <class V>
void solve_levels(const CpuQueue& q, const Rows& rows, const RowValues<V>& values, const ThreadPlan& plan,
                  const RhsView<V>& sides)
{
    const auto passed = std::make_unique<Passed[]>(static_cast<std::size_t>(plan.threads()));
#pragma omp parallel num_threads(plan.threads())
    {
        const int me = omp_get_thread_num();
        if (omp_get_num_threads() == plan.threads())
            work(rows, values, plan, static_cast<std::size_t>(me), passed.get(), sides);
        else if (me == 0) solve_serial(q, rows, values, sides);  // fewer threads than planned: nobody to wait for
    }
}

double measure_handover(int threads)
{
    if (threads < 2 || !may_calibrate()) return Limits{}.handover;
    const auto arrived = std::make_unique<Arrived[]>(static_cast<std::size_t>(threads));
    std::atomic<int> last{most_rounds};
    int rounds = 0;
    const double begin = trace::now();
#pragma omp parallel num_threads(threads)
    if (omp_get_num_threads() == threads) {
        const int made = make_rounds(arrived.get(), last, threads, begin);
        if (omp_get_thread_num() == 0) rounds = made;
    }
    return rounds > 0 ? (trace::now() - begin) / rounds : Limits{}.handover;
}

template index_t fill_rows(const CpuQueue&, const Rows&, const float*, RowValues<float>&);
template void solve_serial(const CpuQueue&, const Rows&, const RowValues<float>&, const RhsView<float>&);
template void solve_levels(const CpuQueue&, const Rows&, const RowValues<float>&, const ThreadPlan&,
                           const RhsView<float>&);
template index_t fill_rows(const CpuQueue&, const Rows&, const double*, RowValues<double>&);
template void solve_serial(const CpuQueue&, const Rows&, const RowValues<double>&, const RhsView<double>&);
template void solve_levels(const CpuQueue&, const Rows&, const RowValues<double>&, const ThreadPlan&,
                           const RhsView<double>&);

}  // namespace tulle::inline TULLE_ABI::sptrsv
