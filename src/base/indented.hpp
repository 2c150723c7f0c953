// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Text of several lines inside another.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "tulle/api.hpp"

namespace tulle::inline TULLE_ABI {

// Spaces before every line.
inline std::string indented(std::string_view text, std::size_t spaces)
{
    std::string all(spaces, ' ');
    for (const char c : text) {
        all += c;
        if (c == '\n') all.append(spaces, ' ');
    }
    return all;
}

}  // namespace tulle::inline TULLE_ABI
