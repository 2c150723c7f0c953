// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "tulle/trace.hpp"

#include <atomic>
#include <chrono>

namespace tulle::inline TULLE_ABI::trace {
namespace {

thread_local Recorder* current = nullptr;
std::atomic<void (*)(const char*)> range_push = nullptr;
std::atomic<void (*)()> range_pop = nullptr;

}  // namespace

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

void set_ranges(Ranges ranges)
{
    range_push = ranges.push;
    range_pop = ranges.pop;
}

Recorder::Recorder(std::function<void()> settle) : settle_(std::move(settle)), outer_(current) { current = this; }

Recorder::~Recorder() { current = outer_; }

Phase::Phase(const char* name) : recorder_(current)
{
    if (auto* push = range_push.load()) push(name);
    if (!recorder_) return;
    if (recorder_->settle_) recorder_->settle_();
    slot_ = recorder_->phases_.size();
    recorder_->phases_.push_back({name, 0.0, recorder_->depth_++});
    begin_ = now();
}

Phase::~Phase()
{
    if (auto* pop = range_pop.load()) pop();
    if (!recorder_) return;
    try {
        if (recorder_->settle_) recorder_->settle_();
    } catch (
        ...) {  // the phase is being left by an exception already, or the device will report again at the next call
    }
    recorder_->phases_[slot_].seconds = now() - begin_;
    --recorder_->depth_;
}

}  // namespace tulle::inline TULLE_ABI::trace
