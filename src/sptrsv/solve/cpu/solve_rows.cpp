// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The CPU's kernels: values filled in, rows solved one after the other, or level after level by threads that wait for
// each other, and how long such a wait takes.
#include <omp.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>
#include <thread>
#include <type_traits>
#include <utility>

#include "base/machine.hpp"
#include "base/math.hpp"
#include "base/vector.hpp"
#include "device/calibrate.hpp"
#include "sptrsv/solve/cpu/sweep.hpp"
#include "sptrsv/steps.hpp"
#include "tulle/trace.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {
namespace {

// --- A row: columns of right-hand sides four at a time, so that an entry is read once for all four ---

constexpr index_t columns_at_once = 4;

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

// --- Right-hand sides by rows: a block of columns of a row's unknowns is held in vector registers while the row's
// entries bring in rows of x. The library is compiled for any x86-64; the machine is asked when running ---

template <int Vectors, int Count, class V>
[[gnu::always_inline]] inline void solve_block(const Rows& rows, const RowValues<V>& values, index_t i, offset_t j,
                                               const RhsView<V>& s)
{
    using simd::load;
    const V *const value = values.value.data(), *const x = s.x + j;
    const index_t* const col = rows.col.data();
    const offset_t row = rows.row.data()[i], end = rows.begin.data()[i + 1], x_row = s.x_row;
    const V scale = values.reciprocal.data()[i];
    const V* const b = s.b + row * s.b_row + j;
    simd::Vector<V, Count> sum[Vectors];
    for (int v = 0; v < Vectors; ++v) sum[v] = s.alpha * load<Count>(b + v * Count) * scale;
    for (offset_t k = rows.begin.data()[i]; k < end; ++k) {
        const V factor = value[k];
        const V* const from = x + col[k] * x_row;
        for (int v = 0; v < Vectors; ++v) sum[v] -= factor * load<Count>(from + v * Count);
    }
    simd::store_all<Count>(s.x + row * x_row + j, sum, std::make_integer_sequence<int, Vectors>{});
}

// Rows first … last-1, one block of columns after the other. Returns how many columns the blocks have.
template <int RegisterBytes, class V>
[[gnu::always_inline]] inline offset_t solve_blocks(const Rows& rows, const RowValues<V>& values, index_t first,
                                                    index_t last, const RhsView<V>& s)
{
    return simd::for_blocks<RegisterBytes, simd::block_bytes<RegisterBytes>, V>(
        s.columns, [&](auto vectors, auto count, offset_t j) __attribute__((always_inline)) {
            for (index_t i = first; i < last; ++i) solve_block<vectors(), count()>(rows, values, i, j, s);
        });
}

template <class V>
offset_t solve_plain(const Rows& rows, const RowValues<V>& values, index_t first, index_t last, const RhsView<V>& s)
{
    return solve_blocks<16>(rows, values, first, last, s);
}

#if defined(__x86_64__)

template <class V>
[[gnu::target("avx2,fma")]] offset_t solve_avx2(const Rows& rows, const RowValues<V>& values, index_t first,
                                                index_t last, const RhsView<V>& s)
{
    return solve_blocks<32>(rows, values, first, last, s);
}

template <class V>
[[gnu::target("avx512f,avx512bw,avx512vl,avx512dq,fma")]] offset_t solve_avx512(const Rows& rows,
                                                                                const RowValues<V>& values,
                                                                                index_t first, index_t last,
                                                                                const RhsView<V>& s)
{
    return solve_blocks<64>(rows, values, first, last, s);
}

template <class V>
auto best_blocks()
{
    const simd::Machine machine = simd::machine();
    return machine == simd::Machine::avx512 ? &solve_avx512<V>
           : machine == simd::Machine::avx2 ? &solve_avx2<V>
                                            : &solve_plain<V>;
}

#else

template <class V>
auto best_blocks()
{
    return &solve_plain<V>;
}

#endif

template <class V>
void solve_sides(const Rows& rows, const RowValues<V>& values, index_t first, index_t last, const RhsView<V>& s)
{
    const bool by_rows = s.b_col == 1 && s.x_col == 1;
    const auto done = static_cast<index_t>(by_rows ? best_blocks<V>()(rows, values, first, last, s) : 0);
    if (done == s.columns) return;
    const RhsView<V> rest = s.from_column(done, s.columns);
    for (index_t i = first; i < last; ++i) solve_row(rows, values, i, rest);
}

// Calls sweep(row_at) with the rows of one right-hand side without gaps.
template <class V, class Sweep>
[[gnu::always_inline]] inline void with_rows(const Rows& rows, const RowValues<V>& values, index_t first,
                                             const RhsView<V>& s, Sweep&& sweep)
{
    const offset_t* begin = rows.begin.data();
    const index_t *row = rows.row.data(), *col = rows.col.data();
    const V *value = values.value.data(), *reciprocal = values.reciprocal.data(), *b = s.b;
    const V alpha = s.alpha;
    sweep([=, k = begin[first]](index_t i) mutable {
        const offset_t at = k;
        k = begin[i + 1];
        return SweepRow<V>{row[i], alpha * b[row[i]] * reciprocal[i], value + at, col + at, k - at};
    });
}

template <class V>
[[gnu::noinline]] void solve_column(const Rows& rows, const RowValues<V>& values, index_t first, index_t last,
                                    const RhsView<V>& s)
{
    with_rows(rows, values, first, s, [&](auto row_at) { sweep_rows(first, last, s.x, row_at); });
}

template <class V>
[[gnu::noinline]] void solve_chain(const Rows& rows, const RowValues<V>& values, index_t first, index_t last,
                                   const RhsView<V>& s)
{
    with_rows(rows, values, first, s, [&](auto row_at) { sweep_chain(first, last, s.x, row_at); });
}

bool has_chain(const Rows& rows, index_t first, index_t last)
{
    return is_chained(first, last, [&](index_t i) {
        const offset_t end = rows.begin.data()[i + 1];
        return end > rows.begin.data()[i] && rows.col.data()[end - 1] == rows.row.data()[i - 1];
    });
}

// Rows first … last-1 in the order of solving. One right-hand side without gaps is the usual case, and gets a loop
// without multiplications of indices.
template <class V>
void solve_range(const Rows& rows, const RowValues<V>& values, index_t first, index_t last, const RhsView<V>& s)
{
    if (s.columns != 1 || s.b_row != 1 || s.x_row != 1) solve_sides(rows, values, first, last, s);
    else if (has_chain(rows, first, last)) solve_chain(rows, values, first, last, s);
    else solve_column(rows, values, first, last, s);
}

// --- Levels: each thread solves its ranges in the order of levels and tells how far it is; before a range it
// waits for those threads, and only those, that have rows it needs. The order of additions is the row's own: the same
// bits for any number of threads ---

// Leaves the execution units to the other thread of this core for a moment, where there is one.
inline void pause()
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb" ::: "memory");
#endif
}

// Polls, soon with pauses, and lets others have the processor after a while.
template <class Done>
void spin_until(const Done& done)
{
    constexpr int spins_before_pauses = 64, spins_before_yielding = 2000;
    for (int spins = 0; !done(); ++spins) {
        if (spins > spins_before_yielding) std::this_thread::yield();
        else if (spins > spins_before_pauses) pause();
    }
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
    for (const ThreadPlan::RowRange& range : plan.of_thread[me]) {
        for (index_t w = range.wait_begin; w < range.wait_end; ++w) {
            const ThreadPlan::Wait& wait = plan.waits[me][static_cast<std::size_t>(w)];
            wait_for(passed[wait.thread], wait.level);
        }
        solve_range(rows, values, range.begin, range.end, sides);
        passed[me].level.store(range.level, std::memory_order_release);
    }
}

// --- Threads that wait for each other in rounds, as those of a solve by levels do, each for its two neighbours. An
// idle machine takes less than a microsecond a round; one where others have the processors takes milliseconds, until
// the waiting thread gets its turn ---

constexpr int most_rounds = 64;
constexpr double most_seconds = 1e-3;

struct alignas(64) Arrived {
    std::atomic<int> round{0};
};

void wait_for(const Arrived& other, int round)
{
    spin_until([&] { return other.round.load(std::memory_order_acquire) >= round; });
}

// Rounds made after the first, in which threads start, and the seconds they took. Thread 0 says which is the last; who
// leaves lets all others pass.
struct Rounds {
    int made = 0;
    double seconds = 0;
};
Rounds make_rounds(Arrived* arrived, std::atomic<int>& last, int threads)
{
    const int me = omp_get_thread_num();
    double begin = trace::now();
    int round = 0;
    while (round < last.load(std::memory_order_relaxed)) {
        ++round;
        arrived[me].round.store(round, std::memory_order_release);
        wait_for(arrived[(me + 1) % threads], round);
        wait_for(arrived[(me + threads - 1) % threads], round);
        if (round == 1) begin = trace::now();
        if (me == 0 && round > 1 && trace::now() - begin > most_seconds) last.store(round, std::memory_order_relaxed);
    }
    arrived[me].round.store(std::numeric_limits<int>::max(), std::memory_order_release);
    return {round - 1, trace::now() - begin};
}

// Columns that a thread solves at least: those of a cache line where they are side by side, so that no two threads
// write to one line.
template <class V>
index_t columns_of_a_thread(const CpuQueue& q, const RhsView<V>& s)
{
    const index_t least = s.x_col == 1 ? 64 / index_t{sizeof(V)} : columns_at_once;
    return round_up(ceil_div(s.columns, static_cast<index_t>(q.threads)), least);
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
void solve_serial(const CpuQueue& q, const Rows& rows, const RowValues<V>& values, const RhsView<V>& sides)
{
    const index_t share = columns_of_a_thread(q, sides);
    if (q.threads == 1 || share >= sides.columns) return solve_range(rows, values, 0, rows.rows, sides);
#pragma omp parallel for num_threads(q.threads) schedule(static, 1)
    for (index_t j = 0; j < sides.columns; j += share)
        solve_range(rows, values, 0, rows.rows, sides.from_column(j, share));
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

double measure_sync_latency(int threads)
{
    if (threads < 2 || !may_calibrate()) return Limits{}.sync_latency;
    const auto arrived = std::make_unique<Arrived[]>(static_cast<std::size_t>(threads));
    std::atomic<int> last{most_rounds};
    Rounds rounds;
#pragma omp parallel num_threads(threads)
    if (omp_get_num_threads() == threads) {
        const Rounds made = make_rounds(arrived.get(), last, threads);
        if (omp_get_thread_num() == 0) rounds = made;
    }
    return rounds.made > 0 ? rounds.seconds / rounds.made : Limits{}.sync_latency;
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
