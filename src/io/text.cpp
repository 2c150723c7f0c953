// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "io/text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::io {
namespace {

constexpr std::size_t longest_quote = 32;

const char* line_end(const char* at, const char* end)
{
    if (at == end) return end;
    const void* found = std::memchr(at, '\n', static_cast<std::size_t>(end - at));
    return found ? static_cast<const char*>(found) : end;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Whether a well-formed decimal number that no V can hold is too large for it, rather than too close to zero: the sign
// of its exponent once it is written as 0.d…e±x.
bool is_too_large(std::string_view number)
{
    const std::size_t exponent_at = std::min(number.find_first_of("eE"), number.size());
    const std::string_view digits = number.substr(0, exponent_at);
    const std::size_t point = std::min(digits.find('.'), digits.size());
    const std::size_t first = digits.find_first_of("123456789");
    if (first == std::string_view::npos) return false;
    const bool negative = exponent_at + 1 < number.size() && number[exponent_at + 1] == '-';
    const std::string_view power = number.substr(std::min(exponent_at + 1, number.size()));
    offset_t exponent = 0;
    const char* begin = power.data() + (!power.empty() && !is_digit(power.front()) ? 1 : 0);
    if (std::from_chars(begin, power.data() + power.size(), exponent).ec == std::errc::result_out_of_range)
        return !negative;
    const offset_t places = static_cast<offset_t>(point) - static_cast<offset_t>(first);
    return negative ? places > exponent
                    : exponent > -places;  // no sum: the exponent may be the largest number there is
}

bool has_nonzero_digit(std::string_view number)
{
    return number.substr(0, number.find_first_of("eE")).find_first_of("123456789") != std::string_view::npos;
}

}  // namespace

std::string lower(std::string_view text)
{
    std::string result(text);
    std::transform(result.begin(), result.end(), result.begin(), to_lower);
    return result;
}

bool same_word(std::string_view a, std::string_view b)
{
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](char x, char y) { return to_lower(x) == to_lower(y); });
}

offset_t Text::line_of(const char* at) const { return 1 + std::count(begin(), at, '\n'); }

void Text::fail(const char* at, const std::string& what, const std::string& hint) const
{
    throw FormatError(concat(name, ":", line_of(at), ": ", what), hint);
}

void Text::fail_at_end(const std::string& what) const { fail(bytes.ends_with('\n') ? end() - 1 : end(), what); }

Text text_of(const Source& source)
{
    Text text{source.name(), source.bytes()};
    if (text.bytes.starts_with("\xff\xfe") || text.bytes.starts_with("\xfe\xff"))
        text.fail(text.begin(), "the text is UTF-16, and numbers are read from UTF-8 or ASCII",
                  "convert it: iconv -f UTF-16 -t UTF-8");
    if (text.bytes.starts_with("\xef\xbb\xbf")) text.bytes.remove_prefix(3);
    return text;
}

std::string_view Scanner::rest_of_line() const
{
    std::string_view line(at_, static_cast<std::size_t>(line_end(at_, end_) - at_));
    while (!line.empty() && is_blank(line.back())) line.remove_suffix(1);
    return line;
}

void Scanner::skip_line()
{
    at_ = line_end(at_, end_);
    if (at_ != end_) ++at_;
}

std::string_view Scanner::word()
{
    skip_blanks();
    const char* begin = at_;
    at_ = std::find_if(at_, end_, is_space);
    return {begin, static_cast<std::size_t>(at_ - begin)};
}

std::string Scanner::quoted() const
{
    const std::string_view found(at_, static_cast<std::size_t>(std::find_if(at_, end_, is_space) - at_));
    std::string text(found.substr(0, longest_quote));
    for (char& c : text)
        if (c < ' ' || c > '~') c = '?';
    return "'" + text + (found.size() > longest_quote ? "…'" : "'");
}

// Everything that from_chars does not read as a number that ends with the word.
offset_t Scanner::unusual_integer(const char* what)
{
    if (at_line_end()) fail(concat("the ", what, " is missing"));
    offset_t number = 0;
    const char* digits = at_ + (*at_ == '+' && at_ + 1 != end_ && is_digit(at_[1]) ? 1 : 0);
    const auto [after, fault] = std::from_chars(digits, end_, number);
    if (fault == std::errc::result_out_of_range) fail(concat("the ", what, " ", quoted(), " does not fit 64 bits"));
    if (fault != std::errc{} || !ends_here(after))
        fail(concat("the ", what, " should be a whole number, not ", quoted()));
    at_ = after;
    return number;
}

void Scanner::fail_index(const char* what, offset_t number, index_t limit, const char* at)
{
    at_ = at;
    if (number == 0)
        fail(concat(what, " 0, but ", what, "s count from 1"),
             "the file seems to count from zero; add one to its indices");
    if (number < 0) fail(concat(what, " ", number, " is negative"));
    fail(concat(what, " ", number, " exceeds ", limit, " (counted from 1)"));
}

template <class V>
V Scanner::unusual_real()
{
    if (at_line_end()) fail("the value is missing");
    std::string number(at_, std::find_if(at_, end_, is_space));
    if (number.front() == '+' && number.size() > 1 && number[1] != '-') number.erase(0, 1);
    for (char& c : number)  // Fortran's 1.5D+03
        if (c == 'd' || c == 'D') c = 'e';
    V value = 0;
    const auto [after, fault] = std::from_chars(number.data(), number.data() + number.size(), value);
    const bool whole = after == number.data() + number.size();
    if (fault == std::errc::result_out_of_range && whole) {
        if (is_too_large(number))
            fail(concat("the value ", quoted(), " does not fit ", std::is_same_v<V, float> ? "float" : "double"));
        value = number.front() == '-' ? V(-0.0) : V(0);
    } else if (fault != std::errc{} || !whole) {
        const bool comma = after != number.data() + number.size() && *after == ',';
        fail(concat(quoted(), " is not a number", comma ? ": decimals are written with a point, not a comma" : ""));
    }
    note_loss(number, value);
    at_ = std::find_if(at_, end_, is_space);
    return value;
}

// A number that became zero, or a whole one, written without point and exponent, that V does not hold exactly.
template <class V>
void Scanner::note_loss(std::string_view number, V value)
{
    loss_ = value == V(0) && has_nonzero_digit(number) ? Loss::underflowed : Loss::none;
    if (number.starts_with('-') || number.starts_with('+')) number.remove_prefix(1);
    if (!std::all_of(number.begin(), number.end(), is_digit) || !std::isfinite(value)) return;
    number.remove_prefix(std::min(number.find_first_not_of('0'), number.size()));
    std::array<char, std::numeric_limits<V>::max_exponent10 + 2> exact{};
    const auto end =
        std::to_chars(exact.data(), exact.data() + exact.size(), std::abs(value), std::chars_format::fixed, 0).ptr;
    if (value != V(0) && number != std::string_view(exact.data(), static_cast<std::size_t>(end - exact.data())))
        loss_ = Loss::rounded;
}

// Whole numbers beyond 64 bits become the nearest V.
template <class V>
V Scanner::unusual_whole()
{
    if (at_line_end()) fail("the value is missing");
    const char* digits = at_ + (*at_ == '+' || *at_ == '-' ? 1 : 0);
    const char* after = std::find_if_not(digits, end_, is_digit);
    if (after == digits || !ends_here(after)) fail(concat("the value should be a whole number, not ", quoted()));
    return unusual_real<V>();
}

template float Scanner::unusual_real<float>();
template double Scanner::unusual_real<double>();
template float Scanner::unusual_whole<float>();
template double Scanner::unusual_whole<double>();
template void Scanner::note_loss(std::string_view, float);
template void Scanner::note_loss(std::string_view, double);

}  // namespace tulle::inline TULLE_ABI::io
