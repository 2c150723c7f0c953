// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The battery: small and nasty matrices, each with a name. Values are small integers (sums are exact in float and
// double, so results can be compared bit for bit) or reals in [-1, 1) with rows scaled between 1e-4 and 1e4 (for the
// error bounds).
#pragma once

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "simt/sanitizers.hpp"
#include "support/draws.hpp"
#include "support/host_matrix.hpp"
#include "tulle/version.hpp"

namespace tulle::test {

enum class Values { integers, reals };

template <class V>
struct Case {
    std::string name;
    HostCsr<V> a;
};

template <class V>
V test_value(Values values, std::uint64_t seed, index_t i, index_t j)
{
    const std::uint64_t h = hash_of(seed, i, j);
    if (values == Values::integers) return static_cast<V>(static_cast<int>(below(h, 9)) - 4);
    return static_cast<V>((2.0 * unit(h) - 1.0) *
                          std::pow(10.0, static_cast<double>(below(hash_of(seed, i), 9)) - 4.0));
}

template <class V>
std::vector<V> test_vector(index_t n, Values values, std::uint64_t seed)
{
    std::vector<V> x(static_cast<std::size_t>(n));
    for (index_t i = 0; i < n; ++i) x[static_cast<std::size_t>(i)] = test_value<V>(values, seed, 0, i);
    return x;
}

// Not ==: NaN equals itself, and zeros have signs.
template <class V>
bool same_bits(const std::vector<V>& a, const std::vector<V>& b)
{
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(V)) == 0);
}

// A matrix with an entry wherever keep(i, j) says so.
template <class V, class Keep>
HostCsr<V> matrix_where(index_t rows, index_t cols, Values values, std::uint64_t seed, Keep&& keep)
{
    std::vector<std::tuple<index_t, index_t, V>> entries;
    for (index_t i = 0; i < rows; ++i)
        for (index_t j = 0; j < cols; ++j)
            if (keep(i, j)) entries.emplace_back(i, j, test_value<V>(values, seed, i, j));
    return csr_of<V>(rows, cols, entries);
}

template <class V>
HostCsr<V> random_matrix(index_t rows, index_t cols, double density, Values values, std::uint64_t seed)
{
    return matrix_where<V>(rows, cols, values, seed,
                           [&](index_t i, index_t j) { return unit(hash_of(seed + 1000, i, j)) < density; });
}

// The entries of every row in a shuffled order, some of them split into two entries at the same position.
template <class V>
HostCsr<V> shuffled_with_duplicates(const HostCsr<V>& a, std::uint64_t seed)
{
    std::vector<std::tuple<index_t, index_t, V>> entries = a.entries();
    const std::size_t before = entries.size();
    for (std::size_t k = 0; k < before; k += 3) {
        auto [i, j, v] = entries[k];
        entries.emplace_back(i, j, V(2));
    }
    std::sort(entries.begin(), entries.end(), [&](const auto& x, const auto& y) {
        return hash_of(seed, std::get<0>(x), std::get<1>(x), static_cast<std::int64_t>(std::get<2>(x) * V(64))) <
               hash_of(seed, std::get<0>(y), std::get<1>(y), static_cast<std::int64_t>(std::get<2>(y) * V(64)));
    });
    return csr_of<V>(a.rows, a.cols, entries);
}

// A simulated GPU is slow, and so is a real one under compute-sanitizer: there (or with TULLE_BATTERY=sample), each run
// takes a part of the cases, another part for another seed, unless TULLE_BATTERY=full.
inline bool takes_all()
{
    const char* const wanted = std::getenv("TULLE_BATTERY");
    return std::string(wanted ? wanted : build::simulated ? "sample" : "full") == "full";
}

inline std::uint64_t sample_seed()
{
    const char* const seed = std::getenv("TULLE_SIM_SEED");
    return seed ? std::strtoull(seed, nullptr, 10) : 1;
}

// Cases by turns: three seeds in a row take them all, and so do fifteen of CI's runs in a row under each sanitizer
// (.ci/run --seeds; tests/simt/draws_test.cpp).
inline constexpr unsigned turns = 3;
inline bool has_turn(std::uint64_t number, unsigned of = turns)
{
    return takes_all() || (number + sample_seed()) % of == 0;
}

// Tests with many combinations draw among those. Seeds k one_in … (k + 1) one_in - 1 draw each name once, at another of
// them for another k: what was drawn together, or by turns, is not always so.
inline bool is_drawn_by_seed(const std::string& name, unsigned one_in)
{
    const std::uint64_t seed = sample_seed();
    std::uint64_t h = hash_of(seed / one_in);
    for (const char c : name) h = hash_of(h, static_cast<unsigned char>(c));
    return takes_all() || below(h, one_in) == seed % one_in;
}

// The same for combinations that do not need each other: draws.hpp may leave out some of them.
inline bool is_in_sample(const std::string& name, unsigned one_in)
{
    return is_drawn_by_seed(name, one_in) && Draws::get().begin(name);
}

// Before sanitizers, which look at accesses rather than at numbers, half as many.
inline bool is_drawn(const std::string& name, unsigned one_in)
{
    return is_in_sample(name, simt::under_asan || simt::under_tsan ? 2 * one_in : one_in);
}

template <class V>
std::vector<Case<V>> battery(Values values)
{
    std::vector<Case<V>> all;
    unsigned number = 0;
    const auto add = [&](const std::string& name, HostCsr<V> a) {
        if (a.col.size() <= 1 || has_turn(number++))
            all.push_back({name, std::move(a)});  // those with next to nothing in them always
    };
    const auto add_where = [&](const std::string& name, index_t rows, index_t cols, std::uint64_t seed,
                               bool (*keep)(index_t, index_t)) {
        if (has_turn(number++)) all.push_back({name, matrix_where<V>(rows, cols, values, seed, keep)});
    };
    const auto add_random = [&](const std::string& name, index_t rows, index_t cols, double density,
                                std::uint64_t seed) {
        if (has_turn(number++)) all.push_back({name, random_matrix<V>(rows, cols, density, values, seed)});
    };
    add("no rows, no columns", csr_of<V>(0, 0, {}));
    add("no rows", csr_of<V>(0, 5, {}));
    add("no columns", csr_of<V>(5, 0, {}));
    add("all rows empty", csr_of<V>(7, 4, {}));
    add("one by one", csr_of<V>(1, 1, {{0, 0, V(3)}}));
    add("one entry in a corner", csr_of<V>(40, 70, {{39, 69, V(-2)}}));
    for (const index_t n : {2, 31, 32, 33, 63, 64, 65})
        add_where("band of " + std::to_string(n), n, n, 3, [](index_t i, index_t j) { return std::abs(i - j) <= 1; });
    add_where("every other row empty", 67, 50, 5, [](index_t i, index_t j) { return i % 2 == 1 && (i + j) % 3 == 0; });
    add_where("one full row", 50, 300, 7, [](index_t i, index_t) { return i == 20; });
    add_where("one full row among short ones", 90, 2500, 8,
              [](index_t i, index_t j) { return i == 31 || j == (i * 7) % 2500; });
    add_where("one full column", 300, 50, 9, [](index_t, index_t j) { return j == 20; });
    add_where("full", 33, 31, 10, [](index_t, index_t) { return true; });
    add_where("block diagonal", 60, 60, 11, [](index_t i, index_t j) { return i / 4 == j / 4; });
    add_where("lengths double from row to row", 11, 1200, 12, [](index_t i, index_t j) { return j < (1 << i); });
    add_where("arrow", 130, 130, 13, [](index_t i, index_t j) { return i == j || i == 0 || j == 0; });
    add_where("power law", 200, 200, 14,
              [](index_t i, index_t j) { return below(hash_of(77, i, j), 200) < 400u / static_cast<unsigned>(i + 2); });
    add_random("tall", 700, 9, 0.2, 15);
    add_random("wide", 9, 700, 0.2, 16);
    add_random("random sparse", 150, 140, 0.03, 17);
    add("unsorted with duplicates", shuffled_with_duplicates(random_matrix<V>(80, 60, 0.15, Values::integers, 18), 99));
    return all;
}

// A matrix whose row i has the columns that columns_of(i) lists, in ascending order; values are small integers, none of
// them zero.
template <class V, class Columns>
HostCsr<V> matrix_of_columns(index_t rows, index_t cols, std::uint64_t seed, Columns&& columns_of)
{
    std::vector<std::tuple<index_t, index_t, V>> entries;
    for (index_t i = 0; i < rows; ++i)
        for (const index_t j : columns_of(i)) {
            const V v = test_value<V>(Values::integers, seed, i, j);
            entries.emplace_back(i, j, v == V(0) ? V(5) : v);
        }
    return csr_of<V>(rows, cols, entries);
}

// Dimensions and distances at the ends of 8 and 16 bits: limit - 1, limit, limit + 1. Rows reach from the first to the
// last column, or begin at some column and reach over just so many; there are two slices of 32 rows, and rows of one
// entry among them.
template <class V>
std::vector<Case<V>> near_limits()
{
    std::vector<Case<V>> all;
    for (const index_t limit : {256, 65536})
        for (const index_t n : {limit - 1, limit, limit + 1}) {
            all.push_back({std::to_string(n) + " columns", matrix_of_columns<V>(35, n, 51, [n](index_t i) {
                               return i % 4 == 0   ? std::vector{0, n - 1}
                                      : i % 4 == 1 ? std::vector{n - 1}
                                      : i % 4 == 2 ? std::vector{i, n - 2, n - 1}
                                                   : std::vector{0, n / 2, n - 1};
                           })});
            all.push_back({"distances of " + std::to_string(n), matrix_of_columns<V>(35, 3 * n, 52, [n](index_t i) {
                               const index_t first = n / 2 + 3 * (i / 32);
                               return i % 3 == 0   ? std::vector{first, first + n}
                                      : i % 3 == 1 ? std::vector{first + n}
                                                   : std::vector{first};
                           })});
        }
    return all;
}

// Few rows whose columns are up to 2^31 - 2: at both ends, 2^30 apart, close together at the end. Nobody can write a
// vector of that length; reserved.hpp has it.
template <class V>
std::vector<Case<V>> hypersparse()
{
    constexpr index_t last = max_index - 1, half = index_t{1} << 30;
    std::vector<Case<V>> all;
    all.push_back({"both ends and 2^30 apart", matrix_of_columns<V>(6, max_index, 61, [](index_t i) {
                       return i == 1   ? std::vector<index_t>{}
                              : i == 3 ? std::vector{last}
                                       : std::vector{i, half - 1, half, half + 1 + i, last - 1 - i, last};
                   })});
    all.push_back({"close together at the end", matrix_of_columns<V>(70, max_index, 62, [](index_t i) {
                       return std::vector{last - 80 + i, last - 79 + i, last - 77 + i, last - 1 - i % 2, last};
                   })});
    all.push_back({"equal rows 2^30 apart", matrix_of_columns<V>(40, max_index, 63, [](index_t i) {
                       return std::vector{i / 4, half + i / 4, last - 40 + i / 4};
                   })});
    all.push_back({"a long row over all columns", matrix_of_columns<V>(4, max_index, 64, [](index_t i) {
                       std::vector<index_t> col{i};
                       for (index_t k = 1; i == 2 && k <= 600; ++k) col.push_back(k * (last / 600));
                       return col;
                   })});
    return all;
}

}  // namespace tulle::test
