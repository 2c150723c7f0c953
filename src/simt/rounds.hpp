// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Which loops repeat. The build that counts lines includes this before every .cu file: each `for` and `while` behind it
// notes when its body begins a second time since the loop was entered. TULLE_SIM_LOOPS names a folder for the lists;
// tools/check_coverage.py --loops tells which loops are in none of them.
//
// A `for` knows where it was entered. A `while` may be the end of a `do`, so that its condition alone is looked at: it
// has repeated when it held twice without having failed in between, in one thread; one that is left by break or return
// may seem to repeat.
#pragma once

#include <algorithm>  // what kernels and the host code around them include, so that its loops are not looked at
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "simt/copies.hpp"
#include "simt/kernel.hpp"

namespace tulle::inline TULLE_ABI::simt {

void note_second_round(const char* file, int line, int column);
bool note_condition(bool holds, const char* file, int line, int column);

class Rounds {
public:
    constexpr Rounds(const char* file, int line, int column) : file_(file), line_(line), column_(column) {}
    constexpr bool enter()  // plain: this build does not optimise, and calls of std::exchange took a tenth of its time
    {
        const bool first = !entered_;
        entered_ = true;
        return first;
    }
    constexpr bool begin_body()
    {
        if (++bodies_ == 2 && !std::is_constant_evaluated()) note_second_round(file_, line_, column_);
        return true;
    }

private:
    const char* file_;
    int line_, column_;
    unsigned bodies_ = 0;
    bool entered_ = false;
};

constexpr bool look_at(bool holds, const char* file, int line, int column)
{
    return std::is_constant_evaluated() ? holds : note_condition(holds, file, line, column);
}

}  // namespace tulle::inline TULLE_ABI::simt

#pragma clang diagnostic ignored "-Wdangling-else"  // clang asks for braces where only one `if` is left without an else
#pragma clang diagnostic ignored "-Wkeyword-macro"
#pragma clang diagnostic ignored "-Wreturn-type"  // behind a loop without an end
#pragma clang diagnostic ignored "-Wshadow"
// clang-format off
#define for(...)                                                                                            \
    for (::tulle::simt::Rounds tulle_rounds(__FILE__, __LINE__, __builtin_COLUMN()); tulle_rounds.enter();) \
        for (__VA_ARGS__)                                                                                   \
            if (!tulle_rounds.begin_body()) {                                                               \
            } else
#define while(...) \
    while (::tulle::simt::look_at(static_cast<bool>(__VA_ARGS__), __FILE__, __LINE__, __builtin_COLUMN()))
// clang-format on
