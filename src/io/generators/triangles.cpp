// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Lower triangles with a known number of dependency levels. Values::dominant keeps solving with them harmless.
#include "base/hash.hpp"
#include "io/generators/kinds.hpp"

namespace tulle::inline TULLE_ABI::io::detail {
namespace {

// A row in begin … end-1, by a hash.
index_t pick(std::uint64_t hash, index_t begin, index_t end)
{
    return begin + static_cast<index_t>(below(hash, static_cast<std::uint64_t>(end - begin)));
}

}  // namespace

// Row i needs row i-1, so there are as many levels as rows; `extra` picks of earlier rows may fall together.
Made make_chain(const Maker& m)
{
    const offset_t extra = m.numbers.size() > 1 ? m.numbers[1] : 0;
    const index_t n = expect(m, m.numbers[0], m.numbers[0],
                             checked_product(m.numbers[0], std::min(m.numbers[0], extra + 2), m.sentence));
    return {from_rows(m, n, n,
                      [&](index_t i, auto&& emit) {
                          emit(i);
                          if (i == 0) return;
                          emit(i - 1);
                          for (offset_t k = 0; k < std::min(extra, offset_t{i}); ++k)
                              emit(pick(hash_of(m.seed, i, k), 0, i));
                      }),
            Values::dominant};
}

// Levels of equal size, one after the other. A row needs one row of the level before its own and `needs` - 1 more of
// any level before; picks may fall together.
Made make_levels(const Maker& m)
{
    const offset_t levels = m.numbers[1], needs = m.numbers.size() > 2 ? m.numbers[2] : 4;
    require<ValueError>(
        levels <= m.numbers[0],
        [&] { return concat(m.sentence, ": ", levels, " levels need as many rows, not ", m.numbers[0]); },
        "ask for fewer levels or more rows");
    const index_t n = expect(m, m.numbers[0], m.numbers[0],
                             checked_product(m.numbers[0], std::min(m.numbers[0], needs + 1), m.sentence));
    const auto begin_of = [&](offset_t level) { return static_cast<index_t>(ceil_div(level * n, levels)); };
    return {from_rows(m, n, n,
                      [&](index_t i, auto&& emit) {
                          const offset_t level = i * levels / n;
                          emit(i);
                          if (level == 0) return;
                          const index_t own = begin_of(level), before = begin_of(level - 1);
                          emit(pick(hash_of(m.seed, i, 0), before, own));
                          for (offset_t k = 1; k < std::min(needs, offset_t{own}); ++k)
                              emit(pick(hash_of(m.seed, i, k), 0, own));
                      }),
            Values::dominant};
}

}  // namespace tulle::inline TULLE_ABI::io::detail
