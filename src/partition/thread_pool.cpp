// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "partition/thread_pool.hpp"

#include "partition/nodes.hpp"

namespace tulle::inline TULLE_ABI::partition {

ThreadPool::ThreadPool(int members, const std::vector<int>& nodes) : failures_(static_cast<std::size_t>(members))
{
    if (members == 1) return;
    for (int member = 0; member < members; ++member)
        threads_.emplace_back([this, member, node = nodes.empty() ? -1 : nodes[static_cast<std::size_t>(member)]] {
            serve(member, node);
        });
}

ThreadPool::~ThreadPool()
{
    {
        const std::lock_guard lock(mutex_);
        call_ = nullptr;
        ++round_;
    }
    start_.notify_all();
}

void ThreadPool::serve(int member, int node)
{
    stay_on_node(node);
    for (int done = 0;;) {
        std::unique_lock lock(mutex_);
        start_.wait(lock, [&] { return round_ != done; });
        done = round_;
        if (!call_) return;
        const Call call = call_;
        const void* work = work_;
        lock.unlock();
        std::exception_ptr failure;
        try {
            call(work, member);
        } catch (...) {
            failure = std::current_exception();
        }
        lock.lock();
        failures_[static_cast<std::size_t>(member)] = failure;
        if (--busy_ == 0) end_.notify_one();
    }
}

void ThreadPool::run_all(Call call, const void* work)
{
    if (threads_.empty()) return call(work, 0);
    std::unique_lock lock(mutex_);
    call_ = call;
    work_ = work;
    busy_ = static_cast<int>(threads_.size());
    ++round_;
    start_.notify_all();
    end_.wait(lock, [&] { return busy_ == 0; });
    for (const auto& failure : failures_)
        if (failure) std::rethrow_exception(failure);
}

}  // namespace tulle::inline TULLE_ABI::partition
