// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What the orders of the unknowns cost: analysis + iterations expected x seconds of an iteration.
//
//   seconds      a product with A and two triangular solves as SpTRSV predicts them from the levels of the order
//   iterations   beside those of the natural order, from the fill-in that is left out: R = L U - A outside of the
//                pattern, whose Frobenius norm goes with the iterations of different orders (Duff, Meurant, BIT 29,
//                1989, doi:10.1007/BF01932738). Of sampled pivots, with entries of A in place of those of the factors
//   analysis     seconds for each entry, measured
#pragma once

#include <string>
#include <vector>

#include "factor/arrange.hpp"
#include "tulle/context.hpp"

namespace tulle::inline TULLE_ABI::factor {

// An order that must be made, priced.
struct PricedOrder {
    OrderCost cost;
    Arrangement by;
};

// The natural order first, then those that might pay where the context works. `a` is on the host, valid, no entry
// stored twice.
template <class V>
std::vector<PricedOrder> price_orders(const Context& ctx, const CsrView<V>& a, const Options& options);

// The place of the cheapest; 0 unless another one saves more than what the predictions are wrong by. Pure.
std::size_t choose_order(const std::vector<OrderCost>& costs, double calls);

// The costs in one line.
std::string to_text(const std::vector<OrderCost>& costs, double calls);

// The fill-in that is left out: the norm of R, above, of a matrix with sorted rows on the host. place[i] is where row i
// comes.
template <class V>
double left_out(const CpuQueue& q, const CsrView<V>& a, const Buffer<index_t>& place);

}  // namespace tulle::inline TULLE_ABI::factor
