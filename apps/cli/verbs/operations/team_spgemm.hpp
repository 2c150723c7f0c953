// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Products of sparse matrices on a team: run spgemm --devices and plan spgemm --devices.
#pragma once

#include "apps/cli/support/json.hpp"
#include "apps/cli/verbs/operations/spgemm.hpp"
#include "tulle/spgemm_team.hpp"

namespace tulle::cli {

template <class V>
struct TeamProduct {
    std::string where, policy, description;
    Csr<V> c;  // on the host
    offset_t products = 0;
    double first = 0, median = 0, refill = 0;  // whole calls with A, B and C on the host; refills of a plan
    std::size_t peak = 0;                      // bytes, of the member that holds most
};

// Matrices on the host.
template <class V>
TeamProduct<V> multiply_on_team(const Session& session, const Context& like, const CsrView<V>& a, const CsrView<V>& b,
                                const spgemm::Options& wish, const SpgemmOptions& options);

// Who would count and fill which rows, and how long each takes alone, on the one device that is here.
template <class V>
Json plan_on_team(const Session& session, const Context& like, const CsrView<V>& a, const CsrView<V>& b,
                  const spgemm::Options& wish, const SpgemmOptions& options, const std::string& title);

}  // namespace tulle::cli
