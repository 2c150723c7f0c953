// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Reading text: numbers without a locale, and errors that name the line. Lines are only counted when something is
// wrong.
#pragma once

#include <bit>
#include <charconv>
#include <cmath>
#include <concepts>
#include <limits>
#include <string>
#include <string_view>

#include "io/source.hpp"
#include "tulle/error.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI::io {

// Whether V has the bits for a whole number.
template <class V, std::integral I>
constexpr bool holds_exactly(I number)
{
    using U = std::make_unsigned_t<I>;
    const U magnitude = number < I(0) ? static_cast<U>(U{0} - static_cast<U>(number)) : static_cast<U>(number);
    return magnitude == 0 ||
           static_cast<int>(std::bit_width(magnitude)) - std::countr_zero(magnitude) <= std::numeric_limits<V>::digits;
}

constexpr bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}  // inside a line
constexpr bool is_space(char c) { return is_blank(c) || c == '\n'; }
constexpr char to_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
std::string lower(std::string_view text);
// The same text but for upper and lower case. Copies nothing: a word of a file may be as long as the file.
bool same_word(std::string_view a, std::string_view b);

// A whole text and its name.
struct Text {
    std::string name;
    std::string_view bytes;

    const char* begin() const { return bytes.data(); }
    const char* end() const { return bytes.data() + bytes.size(); }
    offset_t line_of(const char* at) const;  // from 1
    // FormatError "name:12: what".
    [[noreturn]] void fail(const char* at, const std::string& what, const std::string& hint = {}) const;
    [[noreturn]] void fail_at_end(const std::string& what) const;  // names the last line there is
};

// The text of a source without the byte order mark that editors put before UTF-8; FormatError for UTF-16.
Text text_of(const Source& source);

// What happened to a number that was read.
enum class Loss : char { none, underflowed, rounded };

// Walks over a piece of a text, which should begin at the begin of a line; what it does not understand it reports.
class Scanner {
public:
    Scanner(const Text& text, const char* begin, const char* end) : text_(&text), at_(begin), end_(end) {}

    const char* at() const { return at_; }
    bool at_end() const { return at_ == end_; }
    bool at_line_end()
    {
        skip_blanks();
        return at_ == end_ || *at_ == '\n';
    }
    std::string_view rest_of_line() const;  // without moving
    void skip_line();

    // Moves to the next line that is neither empty nor a comment; false when there is none. The scanner stands at the
    // begin of a line.
    bool next_entry();
    // The line must end here; moves behind it.
    void end_entry();

    std::string_view word();  // up to a space; empty at the end of the line
    offset_t integer(const char* what);
    index_t index(const char* what, index_t limit);  // 1 … limit in the file, 0 … limit-1 here
    template <class V>
    V real();  // V is float or double
    template <class V>
    V whole();  // a whole number of any size as V

    Loss loss() const { return loss_; }  // of the last real() or whole()
    void loss(Loss of_another) { loss_ = of_another; }
    std::string quoted() const;  // the word here, for messages
    [[noreturn]] void fail(const std::string& what, const std::string& hint = {}) const
    {
        text_->fail(at_, what, hint);
    }

private:
    void skip_blanks()
    {
        while (at_ != end_ && is_blank(*at_)) ++at_;
    }
    bool ends_here(const char* at) const { return at == end_ || is_space(*at); }
    offset_t unusual_integer(const char* what);
    [[noreturn]] void fail_index(const char* what, offset_t number, index_t limit, const char* at);
    template <class V>
    V unusual_real();
    template <class V>
    V unusual_whole();
    template <class V>
    void note_loss(std::string_view number, V value);

    const Text* text_;
    const char *at_, *end_;
    Loss loss_ = Loss::none;
};

inline bool Scanner::next_entry()
{
    for (;;) {
        skip_blanks();
        if (at_ == end_) return false;
        if (*at_ == '\n') ++at_;
        else if (*at_ == '%') skip_line();
        else return true;
    }
}

inline offset_t Scanner::integer(const char* what)
{
    skip_blanks();
    offset_t number = 0;
    const auto [after, fault] = std::from_chars(at_, end_, number);
    if (fault != std::errc{} || !ends_here(after)) [[unlikely]]
        return unusual_integer(what);
    at_ = after;
    return number;
}

inline index_t Scanner::index(const char* what, index_t limit)
{
    const char* before = at_;
    const offset_t number = integer(what);
    if (number < 1 || number > limit) [[unlikely]]
        fail_index(what, number, limit, before);
    return static_cast<index_t>(number - 1);
}

template <class V>
V Scanner::real()
{
    skip_blanks();
    V number = 0;
    const auto [after, fault] = std::from_chars(at_, end_, number);
    if (fault != std::errc{} || !ends_here(after)) [[unlikely]]
        return unusual_real<V>();
    constexpr int whole_digits = std::numeric_limits<V>::digits10 + 1;  // fewer digits are always held exactly
    loss_ = Loss::none;
    if (number == V(0) || (after - at_ >= whole_digits && number == std::trunc(number))) [[unlikely]]
        note_loss({at_, static_cast<std::size_t>(after - at_)}, number);
    at_ = after;
    return number;
}

template <class V>
V Scanner::whole()
{
    skip_blanks();
    offset_t number = 0;
    const auto [after, fault] = std::from_chars(at_, end_, number);
    if (fault != std::errc{} || !ends_here(after)) [[unlikely]]
        return unusual_whole<V>();
    at_ = after;
    loss_ = holds_exactly<V>(number) ? Loss::none : Loss::rounded;
    return static_cast<V>(number);
}

inline void Scanner::end_entry()
{
    if (!at_line_end()) [[unlikely]]
        fail("unexpected " + quoted() + " after the entry");
    if (at_ != end_) ++at_;
}

extern template float Scanner::unusual_real<float>();
extern template double Scanner::unusual_real<double>();
extern template float Scanner::unusual_whole<float>();
extern template double Scanner::unusual_whole<double>();
extern template void Scanner::note_loss(std::string_view, float);
extern template void Scanner::note_loss(std::string_view, double);

}  // namespace tulle::inline TULLE_ABI::io
