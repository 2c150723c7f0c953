// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The closed list of semirings as types, and from the run-time name to the type.
#pragma once

#include <limits>

#include "tulle/error.hpp"
#include "tulle/graph.hpp"

namespace tulle::inline TULLE_ABI::graph {

template <class V>
inline constexpr V infinity = std::numeric_limits<V>::infinity();

template <class V>
struct Plus {
    static constexpr V identity = 0;
    static constexpr V add(V a, V b) { return a + b; }
};
template <class V>
struct Min {
    static constexpr V identity = infinity<V>;
    static constexpr V add(V a, V b) { return b < a ? b : a; }
};
template <class V>
struct Max {
    static constexpr V identity = -infinity<V>;
    static constexpr V add(V a, V b) { return a < b ? b : a; }
};
template <class V>
struct Or {
    static constexpr V identity = 0;
    static constexpr V add(V a, V b) { return a != 0 || b != 0 ? V(1) : V(0); }
};

template <class V>
struct PlusTimes : Plus<V> {
    static constexpr V times(V a, V b) { return a * b; }
};
template <class V>
struct MinPlus : Min<V> {
    static constexpr V times(V a, V b) { return a + b; }
};
template <class V>
struct MaxPlus : Max<V> {
    static constexpr V times(V a, V b) { return a + b; }
};
template <class V>
struct MaxMin : Max<V> {
    static constexpr V times(V a, V b) { return b < a ? b : a; }
};
template <class V>
struct OrAnd : Or<V> {
    static constexpr V times(V a, V b) { return a != 0 && b != 0 ? V(1) : V(0); }
};
template <class V>
struct PlusPair : Plus<V> {
    static constexpr V times(V, V) { return 1; }
};
template <class V>
struct MinFirst : Min<V> {
    static constexpr V times(V a, V) { return a; }
};
template <class V>
struct PlusSecond : Plus<V> {
    static constexpr V times(V, V b) { return b; }
};

// go(S{}) with the type of that name.
template <class V, class Go>
auto with_semiring(Semiring semiring, Go&& go)
{
    switch (semiring) {
    case Semiring::plus_times: return go(PlusTimes<V>{});
    case Semiring::min_plus: return go(MinPlus<V>{});
    case Semiring::max_plus: return go(MaxPlus<V>{});
    case Semiring::max_min: return go(MaxMin<V>{});
    case Semiring::or_and: return go(OrAnd<V>{});
    case Semiring::plus_pair: return go(PlusPair<V>{});
    case Semiring::min_first: return go(MinFirst<V>{});
    case Semiring::plus_second: return go(PlusSecond<V>{});
    }
    throw ValueError("there is no such semiring");
}

}  // namespace tulle::inline TULLE_ABI::graph
