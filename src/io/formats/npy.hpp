// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// numpy's .npy: a header that is a Python dictionary in text, and the numbers. Our own reader of that text; nothing is
// evaluated.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/formats/raw_array.hpp"
#include "io/source.hpp"

namespace tulle::inline TULLE_ABI::io {

struct NpyArray {
    std::string type;  // "<f8", "|S3"
    std::vector<offset_t> shape;
    std::string_view data;  // as many bytes as type and shape say
};

// FormatError where the header is wrong or the array is not all there; objects (pickles) and other byte orders are
// refused.
NpyArray read_npy(const Source& source);

// A one-dimensional array of numbers.
RawArray as_numbers(const Source& source, const NpyArray& array, const std::string& name);
// The text of an array of one string, type S or U.
std::string as_text(const Source& source, const NpyArray& array);

// What stands before the numbers in a .npy file; shape is "(7,)".
std::string npy_header(const std::string& type, const std::string& shape);

}  // namespace tulle::inline TULLE_ABI::io
