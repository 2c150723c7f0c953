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

namespace detail {

/// A text or a number for concat(), so that one compiled function does for all of them.
class TextPart {
public:
    /// A text; it is not copied.
    TextPart(std::string_view text) : kind_(Kind::text), text_(text) {}
    /// A number in the digits of to_text().
    template <class T>
    requires std::integral<T> || std::floating_point<T> TextPart(T number)
    {
        if constexpr (std::floating_point<T>) kind_ = Kind::real, real_ = static_cast<double>(number);
        else if constexpr (std::signed_integral<T>) kind_ = Kind::integer, integer_ = number;
        else kind_ = Kind::natural, natural_ = number;
    }
    /// Appends it to `all`.
    void append_to(std::string& all) const;

private:
    enum class Kind : unsigned char { text, integer, natural, real };
    Kind kind_;
    union {
        std::string_view text_;
        long long integer_;
        unsigned long long natural_;
        double real_;
    };
};

/// The parts, one after the other.
TULLE_API std::string join(const TextPart* part, std::size_t parts);

}  // namespace detail

/// Concatenates texts and numbers: concat("row ", 7, ": ", 0.5) is "row 7: 0.5".
template <class... T>
std::string concat(const T&... parts)
{
    using Part = detail::TextPart;
    const auto as_part = []<class P>(const P& part) {
        if constexpr (std::convertible_to<const P&, std::string_view>) return Part(std::string_view(part));
        else return Part(part);
    };
    const Part all[] = {as_part(parts)...};
    return detail::join(all, sizeof...(parts));
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
