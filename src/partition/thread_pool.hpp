// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// One host thread for every member of a team, kept: Team::run starts threads anew each time, which costs more than a
// product does.
#pragma once

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "tulle/api.hpp"

namespace tulle::inline TULLE_ABI::partition {

class TULLE_API ThreadPool {
public:
    // `nodes`: the NUMA node each member's thread stays on; -1, or empty: wherever it likes.
    explicit ThreadPool(int members, const std::vector<int>& nodes = {});
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    // work(member) on every member's thread; returns when all are done and throws the first failure by member number. A
    // crew of one works on the caller's thread. Not for use by two threads at once.
    template <class Work>
    void run(const Work& work)
    {
        run_all([](const void* w, int member) { (*static_cast<const Work*>(w))(member); }, &work);
    }

private:
    using Call = void (*)(const void*, int);
    void run_all(Call call, const void* work);
    void serve(int member, int node);

    std::mutex mutex_;
    std::condition_variable start_, end_;
    Call call_ = nullptr;  // empty with a new round: go home
    const void* work_ = nullptr;
    int round_ = 0, busy_ = 0;
    std::vector<std::exception_ptr> failures_;
    std::vector<std::jthread> threads_;
};

}  // namespace tulle::inline TULLE_ABI::partition
