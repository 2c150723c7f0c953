// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <compare>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <set>
#include <string>

#include <unistd.h>

#include "simt/machine.hpp"

namespace tulle::inline TULLE_ABI::simt {

void note_second_round(const char* file, int line, int column);
bool note_condition(bool holds, const char* file, int line, int column);

namespace {

struct Place {
    const char* file;
    int line, column;
    auto operator<=>(const Place&) const = default;
};

// The loops that have repeated; written down when the program ends, and never destroyed: static objects may still have
// loops.
struct Repeated {
    std::mutex mutex;
    std::set<Place> places;
};

Repeated& repeated();

void write_down()
{
    const char* const folder = std::getenv("TULLE_SIM_LOOPS");
    if (!folder) return;
    std::ofstream list(std::string(folder) + "/" + std::to_string(getpid()));
    for (const Place& place : repeated().places) list << place.file << ":" << place.line << ":" << place.column << "\n";
}

Repeated& repeated()
{
    static Repeated* const all = [] {
        std::atexit(write_down);
        return new Repeated;
    }();
    return *all;
}

// What was last noted of some loop, for one of a host thread's many questions each; a place that two share is only
// slow, or forgets.
struct Last {
    const void* thread = nullptr;
    Place place{};
    bool held = false;
};

Last& last_of(const void* thread, const Place& place)
{
    constexpr std::size_t slots = 1 << 14;
    thread_local std::array<Last, slots> all;
    return all[mix(mix(reinterpret_cast<std::uintptr_t>(thread), static_cast<std::uint64_t>(place.line)),
                   static_cast<std::uint64_t>(place.column)) %
               slots];
}

}  // namespace

void note_second_round(const char* file, int line, int column)
{
    const Place place{file, line, column};
    Last& last = last_of(nullptr, place);
    if (last.held && last.place == place) return;
    last = {nullptr, place, true};
    const std::lock_guard lock(repeated().mutex);
    repeated().places.insert(place);
}

bool note_condition(bool holds, const char* file, int line, int column)
{
    const Place place{file, line, column};
    const void* const thread = machine().current();
    Last& last = last_of(thread ? thread : &repeated(), place);
    const bool held_before = last.held && last.thread == thread && last.place == place;
    last = {thread, place, holds};
    if (holds && held_before) note_second_round(file, line, column);
    return holds;
}

}  // namespace tulle::inline TULLE_ABI::simt
