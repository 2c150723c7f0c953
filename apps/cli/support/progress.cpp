// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "apps/cli/support/progress.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <utility>

#include "tulle/trace.hpp"

namespace tulle::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto patience = 1s;  // shorter work shows nothing
constexpr auto beat = 100ms;
constexpr int bar_width = 28;

std::string repeated(std::string_view piece, int times)
{
    std::string all;
    for (int i = 0; i < times; ++i) all += piece;
    return all;
}

std::string bar(double share, int tick, bool unicode)
{
    const std::string_view full = unicode ? "━" : "#", rest = unicode ? "─" : "-";
    if (share >= 0) {
        const int filled = static_cast<int>(share * bar_width);
        return repeated(full, filled) + repeated(rest, bar_width - filled);
    }
    constexpr int block = 6;
    const int round = 2 * (bar_width - block), phase = tick % round;
    const int at = phase < round / 2 ? phase : round - phase;
    return repeated(rest, at) + repeated(full, block) + repeated(rest, bar_width - block - at);
}

}  // namespace

Activity::Activity(const Console& console, std::string what)
    : what_(std::move(what)),
      unicode_(console.unicode()),
      begin_(trace::now())
{
    if (console.shows_progress()) watcher_ = std::thread([this] { watch(); });
}

Activity::~Activity()
{
    if (!watcher_.joinable()) return;
    {
        const std::lock_guard lock(mutex_);
        over_ = true;
    }
    changed_.notify_all();
    watcher_.join();
}

Progress Activity::progress()
{
    if (!watcher_.joinable()) return {};
    return [this](double share) { share_.store(share < 0 ? 0 : share > 1 ? 1 : share, std::memory_order_relaxed); };
}

double Activity::seconds() const { return trace::now() - begin_; }

void Activity::watch()
{
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, patience, [this] { return over_; })) return;
    for (int tick = 0; !over_; ++tick) {
        draw(tick);
        changed_.wait_for(lock, beat, [this] { return over_; });
    }
    std::fputs("\r\033[K", stderr);
}

void Activity::draw(int tick) const
{
    const double share = share_.load(std::memory_order_relaxed);
    const std::string percent = share >= 0 ? fmt::format("{:3.0f} %", 100 * share) : "     ";
    const std::string line =
        fmt::format("\r{} {} {} {:.0f} s\033[K", what_, bar(share, tick, unicode_), percent, seconds());
    std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace tulle::cli
