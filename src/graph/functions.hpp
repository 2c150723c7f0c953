// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Monoids and semirings as functions of two numbers that are chosen at run time.
#pragma once

#include "graph/matrix_ops.hpp"
#include "tulle/error.hpp"

namespace tulle::inline TULLE_ABI::graph {

inline Binary addition_of(Monoid monoid)
{
    switch (monoid) {
    case Monoid::plus: return Binary::plus;
    case Monoid::times: return Binary::times;
    case Monoid::min: return Binary::min;
    case Monoid::max: return Binary::max;
    case Monoid::any: return Binary::any;
    }
    throw ValueError("there is no such monoid");
}

struct Functions {
    Binary plus, times;
};

inline Functions functions_of(Semiring semiring)
{
    switch (semiring) {
    case Semiring::plus_times: return {Binary::plus, Binary::times};
    case Semiring::min_plus: return {Binary::min, Binary::plus};
    case Semiring::max_plus: return {Binary::max, Binary::plus};
    case Semiring::max_min: return {Binary::max, Binary::min};
    case Semiring::or_and: return {Binary::any, Binary::both};
    case Semiring::plus_pair: return {Binary::plus, Binary::pair};
    case Semiring::min_first: return {Binary::min, Binary::first};
    case Semiring::plus_second: return {Binary::plus, Binary::second};
    }
    throw ValueError("there is no such semiring");
}

}  // namespace tulle::inline TULLE_ABI::graph
