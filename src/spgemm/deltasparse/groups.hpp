// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// DeltaSPARSE: which accumulator a row of C gets, and with which parameters. Pure functions, used by both backends and
// by tests.
//
// The paper's two tables of ranges are not in the text we have; these follow from the rules it states: tables twice the
// bound of their group, half as many threads as slots, the dense accumulator above 1025 while counting and above tables
// of 4096 slots while filling.
#pragma once

#include <array>
#include <cstdint>

#include "base/math.hpp"
#include "tulle/spgemm.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI::spgemm::delta {

struct Group {
    offset_t up_to;  // an upper bound of the nonzeros while counting, the nonzeros while filling
    int threads;     // of the block that owns a row
    int table;       // slots of its hash table; 0: the dense accumulator
};

inline constexpr int counting_groups = 7, filling_groups = 8;
inline constexpr std::array<Group, counting_groups> counting{{{32, 32, 64},
                                                              {64, 64, 128},
                                                              {128, 128, 256},
                                                              {256, 256, 512},
                                                              {512, 512, 1024},
                                                              {1024, 1024, 2048},
                                                              {max_offset, 1024, 0}}};
inline constexpr std::array<Group, filling_groups> filling{{{32, 32, 64},
                                                            {64, 64, 128},
                                                            {128, 128, 256},
                                                            {256, 256, 512},
                                                            {512, 512, 1024},
                                                            {1024, 1024, 2048},
                                                            {2048, 1024, 4096},
                                                            {max_offset, 1024, 0}}};

template <std::size_t N>
constexpr bool is_sound(const std::array<Group, N>& g)
{
    for (std::size_t k = 0; k + 1 < N; ++k)
        if (g[k].table != 2 * g[k].up_to || g[k].threads != (g[k].table / 2 < 1024 ? g[k].table / 2 : 1024) ||
            g[k + 1].up_to <= g[k].up_to)
            return false;
    return g[N - 1].up_to == max_offset && g[N - 1].table == 0;
}
static_assert(is_sound(counting) && is_sound(filling));

// A column that is not found within so many slots makes its row a bad one: it is counted and filled by the dense
// accumulator. (The paper detects collisions, but does not say how many are too many.)
inline constexpr int probe_limit = 32;

// Columns that the dense accumulator looks at in one round: bits of 192 KiB while counting, sums and bits while
// filling.
inline constexpr index_t count_window = 48 * 1024 * 32, fill_window = 20 * 1024;

constexpr bool is_dense(offset_t nonzeros, index_t cols, int share)
{
    return nonzeros * dense_share_of > share * offset_t{cols};
}

// The number of the group, counted from 1, without looking at the tables: a kernel cannot. The last one is open.
constexpr int by_size(int groups, offset_t size)
{
    int group = 1;
    while (group < groups && size > offset_t{16} << group) ++group;
    return group;
}

template <std::size_t N>
constexpr bool agrees(const std::array<Group, N>& g)
{
    for (std::size_t k = 0; k + 1 < N; ++k)
        if (by_size(N, g[k].up_to) != static_cast<int>(k) + 1 || by_size(N, g[k].up_to + 1) != static_cast<int>(k) + 2)
            return false;
    return true;
}
static_assert(agrees(counting) && agrees(filling));

// 0: nothing to do, else the number of the group; the last is the dense accumulator.
constexpr int counting_group(offset_t products, index_t cols, int share)
{
    if (products == 0) return 0;
    const offset_t bound = products < cols ? products : cols;
    return is_dense(bound, cols, share) ? counting_groups : by_size(counting_groups, bound);
}

constexpr int filling_group(offset_t nonzeros, index_t cols, int share, bool collided)
{
    if (nonzeros == 0) return 0;
    return collided || is_dense(nonzeros, cols, share) ? filling_groups : by_size(filling_groups, nonzeros);
}

// What the decision tree looks at; upper bounds instead of nonzeros while counting.
struct Features {
    double density = 0, row_mean = 0, row_longest = 0;
};

constexpr Features features_of(offset_t total, offset_t longest, offset_t rows, index_t cols)
{
    const double mean = rows > 0 ? static_cast<double>(total) / static_cast<double>(rows) : 0;
    return {cols > 0 ? mean / static_cast<double>(cols) : 0, mean, static_cast<double>(longest)};
}

// Whether sorting rows into groups pays, or all of them are better done with the parameters of the longest. Reasoned
// from the two cases the paper names, too little work and rows alike, not learned: group_pays() asks the tree of
// data/models/ first.
constexpr bool seems_to_pay(const Features& f)
{
    if (f.row_longest <= static_cast<double>(counting[0].up_to)) return false;  // all of them fit the smallest table
    return f.row_longest > 2 * f.row_mean;  // not even one size apart, on the average
}

}  // namespace tulle::inline TULLE_ABI::spgemm::delta
