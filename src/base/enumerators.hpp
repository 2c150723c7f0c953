// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Options that callers set: enumerators that exist, numbers in range.
#pragma once

#include <iterator>
#include <string>
#include <string_view>

#include "tulle/error.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI {

// ValueError where an option of an enumeration, whose last enumerator is given, is none of them.
template <class E>
void require_enumerator(E value, E last, std::string_view option)
{
    const auto number = static_cast<long>(value);
    require<ValueError>(
        number >= 0 && number <= static_cast<long>(last), [&] { return concat(option, " has no enumerator ", number); },
        "use one of those that the header names");
}

// ValueError where a number is NaN or below zero.
inline void require_not_negative(double value, std::string_view option)
{
    require<ValueError>(value >= 0, [&] { return concat(option, " = ", value, " must be 0 or more"); });
}

// The name of an enumerator, also of one that does not exist.
template <class Names, class E>
std::string name_in(const Names& names, E value)
{
    const auto at = static_cast<std::size_t>(value);
    return at < std::size(names) ? std::string(names[at]) : concat("unknown (", static_cast<long>(value), ")");
}

}  // namespace tulle::inline TULLE_ABI
