// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A part of the entries of a Matrix Market file, for several processes that read it together: the lines that begin in a
// share of its bytes.
#pragma once

#include <string_view>
#include <vector>

#include "io/formats/matrix_market_header.hpp"
#include "io/source.hpp"
#include "tulle/coo.hpp"
#include "tulle/io.hpp"

namespace tulle::inline TULLE_ABI::io {

// Lines that one thread reads.
struct MarketPiece {
    std::string_view text;
    offset_t begin = 0;  // number of its first entry
    offset_t kept = 0;   // entries written, from `begin` on
    Occurrences underflowed = {}, rounded = {};
};

class MarketPart {
public:
    // Reads the header and counts the entries of the part.
    MarketPart(const CpuQueue& q, Source source, const ReadOptions& options, int part, int parts);

    const MarketHeader& header() const { return header_; }
    offset_t entries() const { return entries_; }
    // The entries as they stand in the file, once; `before` are in the parts before, `all` in all of them. FormatError
    // with the line in the whole file; that entries are missing is told by the last part. Not for arrays.
    template <class V>
    Coo<V> read(offset_t before, offset_t all, FileInfo& info);

private:
    CpuQueue q_;
    Source source_;
    Text text_;
    MarketHeader header_;
    bool is_last_;
    std::vector<MarketPiece> pieces_;
    offset_t entries_ = 0;
};

}  // namespace tulle::inline TULLE_ABI::io
