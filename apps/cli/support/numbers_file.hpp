// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Vectors as text: one number a line, written so that it reads back as the same bits.
#pragma once

#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "tulle/types.hpp"

namespace tulle::cli {

// The file, opened in `opened`, or standard input for "-"; FileError where it cannot be.
std::istream& open_text(const std::string& file, std::ifstream& opened);

template <class V>
std::vector<V> read_numbers(const std::string& file, index_t expected);

template <class V>
void write_numbers(const std::string& file, std::span<const V> numbers);

}  // namespace tulle::cli
