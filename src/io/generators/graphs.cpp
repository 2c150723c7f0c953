// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Irregular matrices: uniform, R-MAT, road-like, and pruned weights. All numbers come from hashes of seed and position.
#include <cmath>

#include "base/hash.hpp"
#include "io/generators/kinds.hpp"
#include "prim/sort.hpp"

namespace tulle::inline TULLE_ABI::io::detail {
namespace {

// A permutation of 0 … size-1 picked by a key: four Feistel rounds on the next even number of bits, repeated until the
// result is in range. Its first k values are k different numbers, without remembering any.
class Shuffle {
public:
    Shuffle(std::uint64_t key, std::uint64_t size) : key_(key), size_(size), half_((prim::bits_for(size) + 1) / 2) {}

    std::uint64_t operator()(std::uint64_t at) const
    {
        do at = rounds(at);
        while (at >= size_);
        return at;
    }

private:
    std::uint64_t rounds(std::uint64_t at) const
    {
        const std::uint64_t mask = (std::uint64_t{1} << half_) - 1;
        std::uint64_t left = at >> half_, right = at & mask;
        for (std::uint64_t round = 0; round < 4; ++round) {
            const std::uint64_t mixed = left ^ (mix(key_ ^ (right << 2 | round)) & mask);
            left = right;
            right = mixed;
        }
        return left << half_ | right;
    }

    std::uint64_t key_, size_;
    int half_;
};

// The quadrants' shares are those of Graph500: 57, 19, 19 and 5 percent, as limits for a draw of 16 bits.
constexpr std::uint64_t share(std::uint64_t percent) { return (percent << 16) / 100; }
constexpr bool is_lower(std::uint64_t draw) { return draw >= share(76); }
constexpr bool is_right(std::uint64_t draw) { return (draw >= share(57)) != (draw >= share(76)) || draw >= share(95); }

// A crossing is joined to the one before it in its street or in the street above (a tree over all of them), and with
// this chance to both: 2.5 neighbours on average, close to real road networks.
constexpr std::uint64_t percent_both = 25;

struct Streets {
    index_t width;
    std::uint64_t seed;

    bool joined_left(index_t i) const { return i % width > 0 && (i < width || both(i) || !prefers_above(i)); }
    bool joined_above(index_t i) const { return i >= width && (i % width == 0 || both(i) || prefers_above(i)); }

private:
    bool both(index_t i) const { return below(hash_of(seed, i, 0), 100) < percent_both; }
    bool prefers_above(index_t i) const { return below(hash_of(seed, i, 1), 2) == 0; }
};

}  // namespace

Made make_uniform(const Maker& m)
{
    const offset_t per_row = m.numbers[2];
    const auto problem = [&] {
        return concat(m.sentence, ": ", per_row, " entries a row do not fit ", m.numbers[1], " columns");
    };
    require<ValueError>(per_row <= m.numbers[1], problem, "ask for fewer entries or more columns");
    const index_t rows = expect(m, m.numbers[0], m.numbers[1], checked_product(m.numbers[0], per_row, m.sentence));
    const index_t cols = static_cast<index_t>(m.numbers[1]);
    return {from_rows(m, rows, cols, [&](index_t i, auto&& emit) {
        const Shuffle shuffle(hash_of(m.seed, i), static_cast<std::uint64_t>(cols));
        for (offset_t k = 0; k < per_row; ++k) emit(static_cast<index_t>(shuffle(static_cast<std::uint64_t>(k))));
    })};
}

// Every edge picks a quadrant, then one inside it, and so on down to a single entry (Chakrabarti, Zhan and Faloutsos
// 2004, doi:10.1137/1.9781611972740.43). Edges that fall on one entry count once.
Made make_rmat(const Maker& m)
{
    const offset_t scale = m.numbers[0];
    const auto problem = [&] {
        return concat(m.sentence, ": 2^", scale, " rows are more than ", grouped(max_index), ", the most there can be");
    };
    require<ValueError>(scale <= 30, problem, "SCALE is the logarithm of the number of rows, at most 30");
    const offset_t edges = checked_product(offset_t{1} << scale, m.numbers[1], m.sentence);
    const index_t n = expect(m, offset_t{1} << scale, offset_t{1} << scale, edges);
    return {from_items(m, n, n, edges, [&](offset_t k, auto&& emit) {
        const std::uint64_t key = hash_of(m.seed, k);
        std::uint64_t draws = 0;
        index_t i = 0, j = 0;
        for (offset_t level = 0; level < scale; ++level, draws >>= 16) {
            if (level % 4 == 0) draws = mix(key ^ static_cast<std::uint64_t>(level));
            i = 2 * i + is_lower(draws & 0xFFFF);
            j = 2 * j + is_right(draws & 0xFFFF);
        }
        emit(i, j);
    })};
}

// Crossings on a square of streets, numbered street by street; symmetric, planar, connected, no diagonal.
Made make_road(const Maker& m)
{
    const index_t n = expect(m, m.numbers[0], m.numbers[0], 3 * m.numbers[0]);
    index_t width = static_cast<index_t>(std::sqrt(static_cast<double>(n)));
    while (offset_t{width} * width > n) --width;
    while (offset_t{width + 1} * (width + 1) <= n) ++width;
    const Streets streets{width, m.seed};
    return {from_rows(m, n, n, [&](index_t i, auto&& emit) {
        if (streets.joined_above(i)) emit(i - width);
        if (streets.joined_left(i)) emit(i - 1);
        if (i + 1 < n && streets.joined_left(i + 1)) emit(i + 1);
        if (width < n - i && streets.joined_above(i + width)) emit(i + width);
    })};
}

// A weight is kept with the chance 1 - sparsity, more in some rows and columns than in others: each has a factor within
// 1 ± sparsity/2, which spreads the row lengths about as magnitude pruning does in the Deep Learning Matrix Collection
// (deviation 0.1 of the mean at sparsity 0.5, 0.2 at 0.9). The factors are whole thousandths, so chances are exact
// whole numbers of 1e-12.
Made make_pruned(const Maker& m)
{
    const offset_t density = millionths - m.numbers[2];
    const offset_t entries = checked_product(m.numbers[0], m.numbers[1], m.sentence);
    const index_t rows = expect(m, m.numbers[0], m.numbers[1],
                                entries / millionths * density + entries % millionths * density / millionths);
    const index_t cols = static_cast<index_t>(m.numbers[1]);
    const offset_t spread = m.numbers[2] / 2000;
    const auto factor = [&](std::uint64_t key, index_t at) {
        return 1000 - spread +
               static_cast<offset_t>(below(hash_of(m.seed, key, at), static_cast<std::uint64_t>(2 * spread + 1)));
    };
    Buffer<offset_t> of_col(m.q, cols);
    for (index_t j = 0; j < cols; ++j) of_col.data()[j] = factor(1, j);
    return {from_rows(m, rows, cols, [&](index_t i, auto&& emit) {
        const std::uint64_t key = hash_of(m.seed, 2, i);
        const offset_t of_row = density * factor(0, i);
        for (index_t j = 0; j < cols; ++j)
            if (unit(mix(key ^ static_cast<std::uint64_t>(j))) * 1e12 < static_cast<double>(of_row * of_col.data()[j]))
                emit(j);
    })};
}

}  // namespace tulle::inline TULLE_ABI::io::detail
