// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What each operation would do with a matrix: what is chosen and why, memory, predicted and on request measured times.
#pragma once

#include "apps/cli/support/json.hpp"
#include "apps/cli/support/session.hpp"
#include "tulle/csr.hpp"

namespace tulle::cli::sections {

struct Measure {
    bool run = false;       // time it
    double bandwidth = 0;   // bytes a second that the device reads, where it was measured
    offset_t products = 0;  // of A times A
    bool full_diagonal = false;
};

// One entry for each operation on the context's device: {operation, device, chosen, memory_bytes, …} or {…, not:
// reason}.
Json operations(const Context& ctx, const CsrView<double>& on_host, const Measure& measure);

}  // namespace tulle::cli::sections
