// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// BSA as the paper defines it, one row after the other: dense encodings, normalised vectors, every free row compared
// with every seed; and the rows that anybody's order has.
#pragma once

#include <vector>

#include "support/host_matrix.hpp"
#include "tulle/context.hpp"
#include "tulle/spmm.hpp"

namespace tulle::inline TULLE_ABI::spmm {

std::vector<index_t> rows_of(const Context& ctx, const RowOrder& order);  // on the host

namespace oracle {

using Encoding = std::vector<long double>;

long double dispersion(const Encoding& e, index_t tau, Dispersion which);
long double similarity(const Encoding& x, const Encoding& y);

struct Order {
    std::vector<index_t> row;
    index_t empty = 0, clusters = 0;
};

// `margin`: the smallest distance of a similarity from alpha that was met.
Order order(const test::HostCsr<float>& a, const OrderOptions& o, long double* margin = nullptr);

}  // namespace oracle
}  // namespace tulle::inline TULLE_ABI::spmm
