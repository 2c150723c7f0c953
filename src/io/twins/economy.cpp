// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The twin of mac_econ_fwd500 (Economics): 500 periods of one system of 413 equations. An equation has the same entries
// in every period; an entry is a variable and a lag, the number of periods between the equation and the variable's
// value.
#include <array>
#include <numeric>
#include <utility>

#include "base/hash.hpp"
#include "io/generators/kinds.hpp"

namespace tulle::inline TULLE_ABI::io::detail {
namespace {

constexpr index_t periods = 500, equations = 413, sector = 30, chained = 25, with_diagonal = 45;
constexpr std::uint64_t seed = 244;

struct Term {
    index_t lag, variable;
    auto operator<=>(const Term&) const = default;
};

// How many of a hundred draws give a lag.
constexpr std::array<std::pair<int, index_t>, 8> lag_shares{
    {{54, 0}, {27, -1}, {5, -2}, {2, -3}, {7, 1}, {2, 2}, {2, 3}, {1, 4}}};

constexpr index_t lag_at(int percent)
{
    int passed = 0;
    for (const auto& [share, lag] : lag_shares)
        if ((passed += share) > percent) return lag;
    return 0;
}
static_assert(lag_at(53) == 0 && lag_at(54) == -1 && lag_at(99) == 4);

// Equation -> its rank by hash_of(seed, key, equation).
std::vector<index_t> ranks(int key)
{
    std::vector<std::size_t> order(equations);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return hash_of(seed, key, a) < hash_of(seed, key, b); });
    std::vector<index_t> rank(equations);
    for (std::size_t k = 0; k < order.size(); ++k) rank[order[k]] = static_cast<index_t>(k);
    return rank;
}

std::vector<index_t> equation_lengths()
{
    std::vector<index_t> length = ranks(1);
    for (index_t& r : length) r = 3 + 328 / (r + 8) + (r >= 100 && r < 305 ? 1 : 0);
    return length;
}

index_t drawn_variable(index_t e, index_t t)
{
    const std::uint64_t hash = hash_of(seed, 4, e, t);
    if (below(hash_of(seed, 3, e, t), 100) < 10) return static_cast<index_t>(below(hash, equations));
    const index_t first = e - e % sector;
    return first + static_cast<index_t>(below(hash, static_cast<std::uint64_t>(std::min(sector, equations - first))));
}

// The terms of equation e in the order of their columns.
std::vector<Term> terms_of(index_t e, const std::vector<index_t>& length, bool diagonal)
{
    std::vector<Term> terms;
    if (diagonal) terms.push_back({0, e});
    if (e < chained) terms.push_back(e == 0 ? Term{-1, chained - 1} : Term{0, e - 1});
    for (index_t t = 0; std::ssize(terms) < length[static_cast<std::size_t>(e)]; ++t) {
        const Term term{lag_at(static_cast<int>(below(hash_of(seed, 5, e, t), 100))), drawn_variable(e, t)};
        const bool shunned =
            length[static_cast<std::size_t>(term.variable)] > 9 && below(hash_of(seed, 6, e, t), 100) < 20;
        if (!shunned && term != Term{0, e} && std::find(terms.begin(), terms.end(), term) == terms.end())
            terms.push_back(term);
    }
    std::sort(terms.begin(), terms.end());
    return terms;
}

}  // namespace

Made make_mac_econ(const Maker& m)
{
    const std::vector<index_t> length = equation_lengths(), rank = ranks(2);
    std::vector<std::vector<Term>> terms;
    for (index_t e = 0; e < equations; ++e)
        terms.push_back(terms_of(e, length, rank[static_cast<std::size_t>(e)] < with_diagonal));
    constexpr index_t n = periods * equations;
    return {from_rows(m, n, n, [&](index_t i, auto&& emit) {
        for (const Term& term : terms[static_cast<std::size_t>(i % equations)]) {
            const index_t period = i / equations + term.lag;
            if (period >= 0 && period < periods) emit(equations * period + term.variable);
        }
    })};
}

}  // namespace tulle::inline TULLE_ABI::io::detail
