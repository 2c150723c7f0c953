// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Which places of an array of sums a row of A B can reach: the array is divided into segments, of which each row of B
// has a set of bits, and a row of A B the union of those of its rows of B. Only these places are searched and cleared.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "graph/cpu/rows.hpp"
#include "tulle/csr.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::graph {

inline constexpr int segment_words = 4, segments_per_word = 64;
inline constexpr int least_segment_bits = 6;  // of 64 places at least: a multiple of what loops of vectors take at once

using SegmentSet = std::array<std::uint64_t, segment_words>;

// Ranges of places, ascending, with gaps between them.
class PlaceRanges {
public:
    struct Range {
        offset_t begin, end;
    };
    // Segments of 2^bits places each, of an array of so many places.
    PlaceRanges(const SegmentSet& set, int bits, offset_t places)
    {
        for (std::size_t w = 0; w < set.size(); ++w)
            for (std::uint64_t left = set[w]; left != 0; left &= left - 1)
                add(static_cast<offset_t>(w) * segments_per_word + std::countr_zero(left), bits, places);
    }

    const Range* begin() const { return ranges_.data(); }
    const Range* end() const { return ranges_.data() + count_; }
    // How many places there are.
    offset_t size() const { return size_; }

private:
    void add(offset_t segment, int bits, offset_t places)
    {
        const offset_t first = segment << bits, last = std::min(first + (offset_t{1} << bits), places);
        if (count_ > 0 && ranges_[count_ - 1].end == first) ranges_[count_ - 1].end = last;
        else ranges_[count_++] = {first, last};
        size_ += last - first;
    }

    std::array<Range, segment_words * segments_per_word / 2> ranges_;
    std::size_t count_ = 0;
    offset_t size_ = 0;
};

// What is known of a row of B, and of a row of A B from those of its rows of B.
struct RowReach {
    SegmentSet segments{};
    offset_t products = 0;  // of a row of B: entries
    double sum = 0;         // of the values

    void add(const RowReach& other, double factor)
    {
        for (std::size_t w = 0; w < segments.size(); ++w) segments[w] |= other.segments[w];
        products += other.products;
        sum += factor * other.sum;
    }
};

// What is known of all rows of B, in one array: a row of A B reads one place for each of its factors.
class ReachOfRows {
public:
    ReachOfRows() = default;
    template <class V>
    ReachOfRows(const CpuQueue& q, const CsrView<V>& b) : of_row_(q, b.rows)
    {
        while (b.cols > (offset_t{segment_words * segments_per_word} << bits_)) ++bits_;
        for_each_row(q, b.row_begin, b.rows, [&](int, index_t k) {
            RowReach reach{.products = b.row_begin[k + 1] - b.row_begin[k]};
            for (offset_t r = b.row_begin[k]; r < b.row_begin[k + 1]; ++r) {
                const auto segment = static_cast<std::size_t>(b.col[r] >> bits_);
                reach.segments[segment / segments_per_word] |= std::uint64_t{1} << segment % segments_per_word;
                reach.sum += static_cast<double>(b.value[r]);
            }
            of_row_.data()[k] = reach;
        });
    }

    // Of row i of A B.
    template <class V>
    RowReach of(const CsrView<V>& a, index_t i) const
    {
        RowReach all;
        for (offset_t p = a.row_begin[i]; p < a.row_begin[i + 1]; ++p)
            all.add(of_row_.data()[a.col[p]], static_cast<double>(a.value[p]));
        return all;
    }
    // Which of so many places a row reaches.
    PlaceRanges places(const RowReach& row, offset_t places) const { return {row.segments, bits_, places}; }

private:
    int bits_ = least_segment_bits;
    Buffer<RowReach> of_row_;
};

}  // namespace tulle::inline TULLE_ABI::graph
