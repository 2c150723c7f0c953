// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A model's text, line by line: words between blanks, comments from '#' and empty lines left out. Every complaint names
// the line.
#pragma once

#include <charconv>
#include <cmath>
#include <concepts>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "tulle/error.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::model {

class Lines {
public:
    Lines(std::string_view text, std::string_view name) : rest_(text), name_(name) {}

    // To the next line with words; false at the end.
    bool next();

    const std::vector<std::string_view>& words() const { return words_; }
    std::string_view word(std::size_t k) const;                    // complains if there are not so many
    std::string_view after_first() const { return after_first_; }  // all words but the first, as they stand
    template <class T>
    T number(std::size_t k) const;         // complains unless the whole word is one number, finite
    void expect(std::size_t words) const;  // exactly
    std::size_t find(const std::vector<std::string>& names, std::size_t k,
                     std::string_view what) const;  // the place of a word among names

    [[noreturn]] void fail(const std::string& what) const;

private:
    std::string_view rest_, name_, after_first_;
    std::vector<std::string_view> words_;
    int line_ = 0;
};

// A whole file; FileError if it cannot be read.
std::string read_text(const std::string& path);

template <class T>
T Lines::number(std::size_t k) const
{
    const std::string_view text = word(k);
    T value{};
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (fault != std::errc{} || end != text.data() + text.size())
        fail(concat("'", text, "' is not a ", std::integral<T> ? "whole number" : "number"));
    if constexpr (std::floating_point<T>)
        if (!std::isfinite(value)) fail(concat("'", text, "' is not finite"));
    return value;
}

}  // namespace tulle::inline TULLE_ABI::model
