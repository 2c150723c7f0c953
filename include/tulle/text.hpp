// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Putting messages together, the same in every locale.
#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>

#include "tulle/api.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI {

TULLE_API std::string to_text(double number);  // shortest text that reads back as the same number
template <std::integral T>
std::string to_text(T number)
{
    return std::to_string(number);
}
inline std::string to_text(std::string_view text) { return std::string(text); }

// concat("row ", 7, ": ", 0.5) is "row 7: 0.5".
template <class... T>
std::string concat(const T&... parts)
{
    std::string all;
    ((all += to_text(parts)), ...);
    return all;
}

TULLE_API std::string fixed(double number, int decimals);  // "7.0"
TULLE_API std::string grouped(offset_t number);            // "1 402 553 118"
TULLE_API std::string human_bytes(std::size_t bytes);      // "11.3 GiB"
TULLE_API std::size_t parse_bytes(std::string_view text);  // "8GiB", "500 MB", "1024"; ValueError otherwise

}  // namespace tulle::inline TULLE_ABI
