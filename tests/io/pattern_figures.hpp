// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Figures of a matrix on the host by plain loops, to hold generators against.
#pragma once

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "tulle/csr.hpp"

namespace tulle::test {

// Sanitizers and debug builds are many times slower: tests of large matrices do less there.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(NDEBUG)
inline constexpr bool slow_build = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool slow_build = true;
#else
inline constexpr bool slow_build = false;
#endif
#else
inline constexpr bool slow_build = false;
#endif

// A name that a test may have.
inline std::string test_name(std::string name)
{
    std::replace_if(
        name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
    return name;
}

template <class V>
offset_t longest_row(const CsrView<V>& a)
{
    offset_t longest = 0;
    for (index_t i = 0; i < a.rows; ++i) longest = std::max(longest, a.row_begin[i + 1] - a.row_begin[i]);
    return longest;
}

// Multiplications of A * A.
template <class V>
offset_t products(const CsrView<V>& a)
{
    offset_t count = 0;
    for (offset_t k = 0; k < a.nonzeros; ++k) count += a.row_begin[a.col[k] + 1] - a.row_begin[a.col[k]];
    return count;
}

// Dependency levels of the lower triangle.
template <class V>
index_t levels(const CsrView<V>& a)
{
    std::vector<index_t> level(static_cast<std::size_t>(a.rows), 1);
    index_t deepest = 0;
    for (index_t i = 0; i < a.rows; ++i) {
        index_t& own = level[static_cast<std::size_t>(i)];
        for (offset_t k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k)
            if (a.col[k] < i) own = std::max(own, level[static_cast<std::size_t>(a.col[k])] + 1);
        deepest = std::max(deepest, own);
    }
    return deepest;
}

// Entries of A * A: every column is counted the first time a row meets it.
template <class V>
offset_t nonzeros_of_square(const CsrView<V>& a)
{
    std::vector<index_t> seen_by(static_cast<std::size_t>(a.cols), -1);
    offset_t count = 0;
    for (index_t i = 0; i < a.rows; ++i)
        for (offset_t k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k)
            for (offset_t h = a.row_begin[a.col[k]]; h < a.row_begin[a.col[k] + 1]; ++h) {
                index_t& seen = seen_by[static_cast<std::size_t>(a.col[h])];
                count += seen != i;
                seen = i;
            }
    return count;
}

// Offsets never fall, columns in range and strictly ascending.
template <class V>
bool is_sound(const CsrView<V>& a)
{
    if (a.row_begin[0] != 0 || a.row_begin[a.rows] != a.nonzeros) return false;
    for (index_t i = 0; i < a.rows; ++i) {
        if (a.row_begin[i + 1] < a.row_begin[i]) return false;
        for (offset_t k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k)
            if (a.col[k] < 0 || a.col[k] >= a.cols || (k > a.row_begin[i] && a.col[k] <= a.col[k - 1])) return false;
    }
    return true;
}

// Whether (i, j) is an entry of a sorted matrix.
template <class V>
bool has_entry(const CsrView<V>& a, index_t i, index_t j)
{
    return std::binary_search(a.col + a.row_begin[i], a.col + a.row_begin[i + 1], j);
}

}  // namespace tulle::test
