// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A line on the terminal for work that takes longer than a second: what is being done, how far it is, for how long.
//
//     Activity reading(console, "reading A.mtx");
//     io::read<double>(ctx, file, {.progress = reading.progress()});        // the line goes away with `reading`
//
// Work that cannot say how far it is gets a bar that wanders. Nothing is shown off a terminal or with --quiet.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "apps/cli/support/console.hpp"
#include "tulle/context.hpp"

namespace tulle::cli {

class Activity {
public:
    Activity(const Console& console, std::string what);
    ~Activity();
    Activity(const Activity&) = delete;
    Activity& operator=(const Activity&) = delete;

    // For the library; may be called as often as it likes. Must not outlive the activity.
    Progress progress();
    double seconds() const;

private:
    void watch();
    void draw(int tick) const;

    std::string what_;
    bool unicode_;
    double begin_;
    std::atomic<double> share_{-1.0};
    std::mutex mutex_;
    std::condition_variable changed_;
    bool over_ = false;
    std::thread watcher_;
};

}  // namespace tulle::cli
