// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Products of sparse matrices on a team: run spgemm --devices and plan spgemm --devices.
#pragma once

#include "apps/cli/verbs/operations/measure_spgemm.hpp"
#include "tulle/spgemm_team.hpp"

namespace tulle::cli {

// Matrices on the host, whose budget is that of C too.
template <class V>
ProductResult<V> multiply_on_team(const Session& session, const Context& host, const Context& like, const Factors<V>& f,
                                  const SpgemmOptions& options);

// Who would count and fill which rows, and how long each takes alone, on the one device that is here.
template <class V>
Json plan_on_team(const Session& session, const Context& like, const CsrView<V>& a, const CsrView<V>& b,
                  const spgemm::Options& wish, const SpgemmOptions& options, const std::string& title);

}  // namespace tulle::cli
