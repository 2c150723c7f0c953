// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The product on a team: done once for its result, then timed with x and y lying where the members work.
#pragma once

#include "apps/cli/verbs.hpp"
#include "apps/cli/verbs/operations/measure_spmv.hpp"
#include "tulle/team.hpp"

namespace tulle::cli {

// `members` of the kind of `like`: CPU queues that share its threads, or GPUs from its number on, several streams to
// each where there are fewer GPUs than members; that is said. The budget is that of all CPU queues together, and of
// each GPU's member.
Team team_like(const Session& session, const Context& like, int members);

// Members that each have the whole device: they are timed one after the other.
Team alone_each(const Session& session, const Context& like, int members);

template <class V>
SpmvResult<V> measure_team(const Session& session, const Context& like, const SpmvProblem<V>& problem,
                           const SpmvOptions& options);

}  // namespace tulle::cli
