// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Each thread solves its stretches in the order of levels and tells how far it is; before a stretch it waits for those
// threads, and only those, that have rows it needs. The order of additions is the row's own: the same bits for any
// number of threads.
#include <omp.h>

#include <atomic>
#include <memory>

#include "sptrsv/cpu/spin.hpp"
#include "sptrsv/solve/cpu/solve_rows.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {
namespace {

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

}  // namespace

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

template void solve_levels(const CpuQueue&, const Rows&, const RowValues<float>&, const ThreadPlan&,
                           const RhsView<float>&);
template void solve_levels(const CpuQueue&, const Rows&, const RowValues<double>&, const ThreadPlan&,
                           const RhsView<double>&);

}  // namespace tulle::inline TULLE_ABI::sptrsv
