// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The banner, the comments and the size line of a Matrix Market file.
#pragma once

#include <string>

#include "io/assemble.hpp"
#include "io/text.hpp"
#include "tulle/io.hpp"

namespace tulle::inline TULLE_ABI::io {

enum class MarketLayout { coordinate, array };
enum class Field { real, integer, complex, pattern };
enum class Symmetry { general, symmetric, skew, hermitian };

struct MarketHeader {
    MarketLayout layout = MarketLayout::coordinate;
    Field field = Field::real;
    Symmetry symmetry = Symmetry::general;
    index_t rows = 0, cols = 0;
    offset_t entries = 0;  // as announced, or as an array of this shape must have
    offset_t size_line = 0;
    const char* body = nullptr;  // behind the size line
    std::string comment;

    Mirror mirror() const;
};

MarketHeader read_market_header(const Text& text, const ReadOptions& options);
FileInfo describe(const MarketHeader& header);

}  // namespace tulle::inline TULLE_ABI::io
