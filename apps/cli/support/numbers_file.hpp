// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Vectors as text: one number a line, written so that it reads back as the same bits.
#pragma once

#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tulle/types.hpp"

namespace tulle::cli {

// The file, opened in `opened`, or standard input for "-"; FileError where it cannot be.
std::istream& open_text(const std::string& file, std::ifstream& opened);

// The next line that is not blank, without its end and a byte order mark; `number` counts all lines, from 1.
bool next_line(std::istream& in, std::string& line, offset_t& number);

// After the last line: FileError where it is the last one because reading failed.
void check_read(const std::istream& in, const std::string& file);

// Asked before there is anything to write, of a text: one number a line, or as the verb says.
void check_text_file(const std::string& file, std::string_view hint = "name it like x.txt");

template <class V>
std::vector<V> read_numbers(const std::string& file, index_t expected);

template <class V>
void write_numbers(const std::string& file, std::span<const V> numbers);

}  // namespace tulle::cli
