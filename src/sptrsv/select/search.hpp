// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Trying schemes on a matrix.
#pragma once

#include <functional>
#include <type_traits>
#include <vector>

#include "sptrsv/analysis/prepare.hpp"
#include "tulle/context.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {

// Sees a scheme with the seconds of its preparation and of a solve, and may take it.
template <class V>
using TrialCallback = std::function<void(Prepared<V>& p, double prepare_seconds, double solve_seconds)>;

// Tries schemes until options.seconds are over, the first in any case; those whose unknowns do not fit are left out.
template <class V>
void try_each(const Context& ctx, const WideView<V>& a, const Options& options, AnalysisState& known,
              const std::vector<Policy>& schemes, const Progress& progress,
              const std::type_identity_t<TrialCallback<V>>& f);

template <class V>
void require_square(const WideView<V>& a);

}  // namespace tulle::inline TULLE_ABI::sptrsv
