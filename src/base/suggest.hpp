// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Typing mistakes: of the words that are known, the one that was probably meant.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI {

// Letters to insert, delete, replace or swap with their neighbour (optimal string alignment).
inline std::size_t edit_distance(std::string_view a, std::string_view b)
{
    std::vector<std::size_t> before, last(b.size() + 1), now(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        now[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = std::min(now[j], before[j - 2] + 1);
        }
        before = last;
        std::swap(last, now);
    }
    return last[b.size()];
}

// The nearest known word, the first of several; empty if none is near: a third of the letters may be wrong, or the end
// be missing.
template <class Words>
std::string nearest_word(std::string_view word, const Words& known)
{
    std::string nearest;
    std::size_t least = std::max<std::size_t>(1, word.size() / 3) + 1;
    for (const std::string_view candidate : known) {
        const bool begun = word.size() >= 3 && candidate.starts_with(word);
        const std::size_t distance = begun ? 1 : edit_distance(word, candidate);
        if (distance < least && 2 * distance < std::max(word.size(), candidate.size()))
            nearest = candidate, least = distance;
    }
    return nearest;
}

// "did you mean 'help'? ", to be put before another hint; empty if nothing is near.
template <class Words>
std::string did_you_mean(std::string_view word, const Words& known)
{
    const std::string nearest = nearest_word(word, known);
    return nearest.empty() ? "" : concat("did you mean '", nearest, "'? ");
}

// The hint for a name that is not among those known: the nearest, and all of them.
template <class Words>
std::string one_of_hint(std::string_view word, const Words& known)
{
    std::string all;
    for (const std::string_view name : known) all += concat(all.empty() ? "" : ", ", name);
    return concat(did_you_mean(word, known), "one of ", all);
}

}  // namespace tulle::inline TULLE_ABI
