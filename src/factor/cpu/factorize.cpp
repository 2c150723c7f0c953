// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Rows are eliminated one after the other, or level by level by several threads. A thread has a number for each column,
// so that an entry of another row finds its place without a search. The order of operations is the row's own: the same
// bits for any number of threads.
#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <thread>

#include "factor/shifted.hpp"
#include "factor/steps.hpp"
#include "matrix/inspect_steps.hpp"
#include "prim/cpu/pieces.hpp"

namespace tulle::inline TULLE_ABI::factor {
namespace {

// Entries of a mean level, for each thread, from which waiting for the others at its end pays off: a sixteenth of what
// makes starting a thread worth it.
constexpr offset_t starts_per_wait = 16;

template <class V>
V residue_of(const PatternView& p, index_t i, const V* value)
{
    V sum = 0;
    for (offset_t k = p.row_begin[i]; k < p.row_begin[i + 1]; ++k) sum += value[k] * V(0);
    return sum;
}

// w_i = a_i - sum_k l_ik u_k. `work` has a number for each column; those outside the pattern of the row are written and
// never read, which is sooner done than asking each time.
template <class V>
struct EliminateLu {
    static constexpr offset_t numbers = 1;  // of a column
    Breakdown row(const PatternView& p, index_t i, V* work, V* value) const
    {
        const offset_t begin = p.row_begin[i], diagonal = p.diagonal[i], end = p.row_begin[i + 1];
        for (offset_t k = begin; k < end; ++k) work[p.col[k]] = value[k];
        for (offset_t k = begin; k < diagonal; ++k) {
            const index_t other = p.col[k];
            const offset_t pivot = p.diagonal[other];
            const V factor = work[other] = work[other] / value[pivot];
            for (offset_t t = pivot + 1; t < p.row_begin[other + 1]; ++t) work[p.col[t]] -= factor * value[t];
        }
        for (offset_t k = begin; k < end; ++k) value[k] = work[p.col[k]];
        return judge(value[diagonal], residue_of(p, i, value), false);
    }
};

// The same, and the part `relax` of what falls outside the pattern is taken from the diagonal entry of the row. A
// second number of each column tells whether the row has it; zeros before and after.
template <class V>
struct EliminateRelaxed {
    static constexpr offset_t numbers = 2;
    V relax;

    Breakdown row(const PatternView& p, index_t i, V* work, V* value) const
    {
        const offset_t begin = p.row_begin[i], diagonal = p.diagonal[i], end = p.row_begin[i + 1];
        V* const inside = work + p.rows;
        for (offset_t k = begin; k < end; ++k) {
            work[p.col[k]] = value[k];
            inside[p.col[k]] = 1;
        }
        V outside = 0;
        for (offset_t k = begin; k < diagonal; ++k) outside += subtract(p, p.col[k], work, inside, value);
        work[i] -= relax * outside;
        for (offset_t k = begin; k < end; ++k) {
            value[k] = work[p.col[k]];
            inside[p.col[k]] = 0;
        }
        return judge(value[diagonal], residue_of(p, i, value), false);
    }

private:
    // Takes a multiple of row `other`; returns the sum of what is outside the pattern.
    static V subtract(const PatternView& p, index_t other, V* work, const V* inside, const V* value)
    {
        const offset_t pivot = p.diagonal[other];
        const V factor = work[other] = work[other] / value[pivot];
        V outside = 0;
        for (offset_t t = pivot + 1; t < p.row_begin[other + 1]; ++t) {
            const V product = factor * value[t];
            work[p.col[t]] -= product;
            outside += inside[p.col[t]] == V(0) ? product : V(0);
        }
        return outside;
    }
};

// sum_t work[col[t]] value[t] in two sums, so that an addition need not wait for the one before it.
template <class V>
V gathered_dot(const index_t* col, const V* value, offset_t begin, offset_t end, const V* work)
{
    V even = 0, odd = 0;
    offset_t t = begin;
    for (; t + 2 <= end; t += 2) {
        even += work[col[t]] * value[t];
        odd += work[col[t + 1]] * value[t + 1];
    }
    if (t < end) even += work[col[t]] * value[t];
    return even + odd;
}

// l_ik = (a_ik - sum_j l_ij l_kj) / l_kk. `work` has the row's entries found so far, and zeros elsewhere.
template <class V>
struct EliminateCholesky {
    static constexpr offset_t numbers = 1;
    Breakdown row(const PatternView& p, index_t i, V* work, V* value) const
    {
        const offset_t begin = p.row_begin[i], diagonal = p.diagonal[i];
        V pivot = value[diagonal];
        for (offset_t k = begin; k < diagonal; ++k) {
            const index_t other = p.col[k];
            const offset_t end = p.diagonal[other];
            value[k] = (value[k] - gathered_dot(p.col, value, p.row_begin[other], end, work)) / value[end];
            work[other] = value[k];
            pivot -= value[k] * value[k];
        }
        for (offset_t k = begin; k < diagonal; ++k) work[p.col[k]] = 0;
        value[diagonal] = std::sqrt(pivot);
        return judge(pivot, residue_of(p, i, value), true);
    }
};

class Failure {
public:
    explicit Failure(index_t rows) : word_(breakdown_word(rows, Breakdown::none)) {}
    void add(index_t row, Breakdown why)
    {
        if (why == Breakdown::none) return;
        const long long word = breakdown_word(row, why);
        long long known = word_.load(std::memory_order_relaxed);
        while (word < known && !word_.compare_exchange_weak(known, word, std::memory_order_relaxed)) {}
    }
    index_t row() const { return get().row; }
    FirstBreakdown get() const { return breakdown_of(word_.load(std::memory_order_relaxed)); }

private:
    std::atomic<long long> word_;
};

struct alignas(64) Passed {
    std::atomic<offset_t> level{0};
};

void wait_for(const Passed& other, offset_t level)
{
    constexpr int spins_before_yielding = 2000;
    for (int spins = 0; other.level.load(std::memory_order_acquire) < level; ++spins)
        if (spins > spins_before_yielding) std::this_thread::yield();
}

// The thread's share of every level. Rows after one that broke down are left as they are.
template <class Eliminate, class V>
void work(const Eliminate& eliminate, const PatternView& p, const LevelOrder& levels, int me, int threads,
          Passed* passed, V* row, V* value, Failure& failure)
{
    for (offset_t level = 0; level + 1 < levels.begin.size(); ++level) {
        const offset_t begin = levels.begin.data()[level], rows = levels.begin.data()[level + 1] - begin;
        for (int other = 0; other < threads; ++other) wait_for(passed[other], level);
        for (offset_t n = begin + rows * me / threads; n < begin + rows * (me + 1) / threads; ++n) {
            const index_t i = levels.order.data()[n];
            if (i < failure.row()) failure.add(i, eliminate.row(p, i, row, value));
        }
        passed[me].level.store(level + 1, std::memory_order_release);
    }
}

template <class Eliminate, class V>
FirstBreakdown factorize(const CpuQueue& q, const PatternView& p, const LevelOrder& levels, const Eliminate& eliminate,
                         V* value)
{
    const int threads = levels.order.empty() ? 1 : q.threads;
    const offset_t numbers = p.rows * Eliminate::numbers;
    Buffer<V> rows(q, numbers * threads);
    std::fill_n(rows.data(), rows.size(), V(0));
    const auto passed = std::make_unique<Passed[]>(static_cast<std::size_t>(threads));
    Failure failure(p.rows);
    const auto serial = [&] {
        V* const row = rows.data();
        for (index_t i = 0; i < p.rows && i < failure.row(); ++i) failure.add(i, eliminate.row(p, i, row, value));
    };
    if (threads == 1) {
        serial();
        return failure.get();
    }
#pragma omp parallel num_threads(threads)
    {
        const int me = omp_get_thread_num();
        if (omp_get_num_threads() == threads)
            work(eliminate, p, levels, me, threads, passed.get(), rows.data() + numbers * me, value, failure);
        else if (me == 0) serial();
    }
    return failure.get();
}

}  // namespace

LevelOrder order_levels(const CpuQueue& q, const PatternView& p)
{
    const offset_t nonzeros = p.row_begin[p.rows];
    if (threads_for(q, nonzeros) == 1) return {};
    Buffer<index_t> level(q, p.rows);
    inspect::find_levels(q, p.row_begin, p.col, p.rows, level.data());
    const offset_t levels = p.rows == 0 ? 0 : *std::max_element(level.data(), level.data() + p.rows);
    if (levels == 0 || nonzeros / levels * starts_per_wait < 2 * q.work_per_thread) return {};
    LevelOrder by{Buffer<index_t>(q, p.rows), Buffer<offset_t>(q, levels + 1)};
    std::fill_n(by.begin.data(), levels + 1, offset_t{0});
    for (index_t i = 0; i < p.rows; ++i) ++by.begin.data()[level.data()[i]];
    for (offset_t l = 0; l < levels; ++l) by.begin.data()[l + 1] += by.begin.data()[l];
    for (index_t i = 0; i < p.rows; ++i) by.order.data()[by.begin.data()[level.data()[i] - 1]++] = i;
    for (offset_t l = levels; l > 0; --l) by.begin.data()[l] = by.begin.data()[l - 1];
    by.begin.data()[0] = 0;
    return by;
}

template <class V>
FirstBreakdown factorize_lu(const CpuQueue& q, const PatternView& p, const LevelOrder& levels, V* value)
{
    return factorize(q, p, levels, EliminateLu<V>{}, value);
}

template <class V>
FirstBreakdown factorize_relaxed(const CpuQueue& q, const PatternView& p, const LevelOrder& levels, double relax,
                                 V* value)
{
    return factorize(q, p, levels, EliminateRelaxed<V>{static_cast<V>(relax)}, value);
}

template <class V>
FirstBreakdown factorize_cholesky(const CpuQueue& q, const PatternView& p, const LevelOrder& levels, V* value)
{
    return factorize(q, p, levels, EliminateCholesky<V>{}, value);
}

template FirstBreakdown factorize_lu(const CpuQueue&, const PatternView&, const LevelOrder&, float*);
template FirstBreakdown factorize_lu(const CpuQueue&, const PatternView&, const LevelOrder&, double*);
template FirstBreakdown factorize_relaxed(const CpuQueue&, const PatternView&, const LevelOrder&, double, float*);
template FirstBreakdown factorize_relaxed(const CpuQueue&, const PatternView&, const LevelOrder&, double, double*);
template FirstBreakdown factorize_cholesky(const CpuQueue&, const PatternView&, const LevelOrder&, float*);
template FirstBreakdown factorize_cholesky(const CpuQueue&, const PatternView&, const LevelOrder&, double*);

}  // namespace tulle::inline TULLE_ABI::factor
