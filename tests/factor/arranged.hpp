// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Matrices in the order in which they are factorised, on the host.
#pragma once

#include "factor/arrange.hpp"
#include "support/battery.hpp"
#include "tulle/context.hpp"

namespace tulle::test {

// The matrix as it is factorised: rows matched to columns where asked for, unknowns in this order.
inline HostCsr<double> arranged(const HostCsr<double>& a, bool match, factor::Order order)
{
    const CpuQueue q = Context::cpu(1).host();
    const auto b = factor::make_arranged(q, a.view(), factor::arrange(q, a.view(), match, order));
    HostCsr<double> h{a.rows, a.rows, {}, {}, {}};
    h.row_begin.assign(b.row_begin.span().begin(), b.row_begin.span().end());
    h.col.assign(b.col.span().begin(), b.col.span().end());
    h.value.resize(h.col.size());
    factor::gather(q, b.from_matrix, a.value.data(), h.value.data());
    return h;
}

}  // namespace tulle::test
