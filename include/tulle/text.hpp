// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Numbers and messages as text, the same in every locale.
#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>

#include "tulle/api.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI {

/// The shortest text that reads back as the same number.
TULLE_API std::string to_text(double number);
/// The number in decimal digits.
template <std::integral T>
std::string to_text(T number)
{
    return std::to_string(number);
}
/// The text itself.
inline std::string to_text(std::string_view text) { return std::string(text); }

/// Concatenates texts and numbers: concat("row ", 7, ": ", 0.5) is "row 7: 0.5".
template <class... T>
std::string concat(const T&... parts)
{
    std::string all;
    ((all += to_text(parts)), ...);
    return all;
}

/// The number with so many digits after the point: "7.0".
TULLE_API std::string fixed(double number, int decimals);
/// The number with a space between groups of three digits: "1 402 553 118".
TULLE_API std::string grouped(offset_t number);
/// An amount of memory in binary units: "11.3 GiB".
TULLE_API std::string human_bytes(std::size_t bytes);
/// Bytes of an amount of memory: "8GiB", "500 MB", "1024".
/// @throws ValueError if the text is not an amount of memory.
TULLE_API std::size_t parse_bytes(std::string_view text);

}  // namespace tulle::inline TULLE_ABI
