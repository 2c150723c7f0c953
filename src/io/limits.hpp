// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// How much memory a file of a given size may make us ask for.
#pragma once

#include <cstddef>
#include <limits>
#include <string>

#include "tulle/io.hpp"
#include "tulle/text.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI::io {

constexpr std::size_t limit_for(std::size_t present, std::size_t factor, const ReadOptions& options)
{
    constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
    const std::size_t justified = present > most / factor ? most : present * factor;
    return options.unproven_bytes > most - justified ? most : justified + options.unproven_bytes;
}

// Row offsets are the one array whose size is only claimed: entries have to be there to be counted.
constexpr bool rows_are_justified(offset_t rows, std::size_t present, const ReadOptions& options)
{
    return (static_cast<std::size_t>(rows) + 1) * sizeof(offset_t) <= limit_for(present, 64, options);
}

// Deflate reaches 1032 to 1 at most; xz can do more, but hardly with numbers.
inline constexpr std::size_t deflate_ratio = 1032;
constexpr std::size_t unpacked_limit(std::size_t packed, const ReadOptions& options)
{
    return limit_for(packed, deflate_ratio, options);
}

inline std::string too_many_rows(offset_t rows, std::size_t present)
{
    return concat(rows, " rows in a file of ", present, " bytes are more than its size justifies");
}
inline constexpr const char* too_many_rows_hint = "raise ReadOptions::unproven_bytes to read it all the same";

}  // namespace tulle::inline TULLE_ABI::io
