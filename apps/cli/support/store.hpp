// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Writing results: a matrix to a file with a progress line and a word on what was written.
#pragma once

#include <string>

#include "apps/cli/support/json.hpp"
#include "apps/cli/support/session.hpp"
#include "tulle/io.hpp"

namespace tulle::cli {

// Throws what store() would for this file, before there is a matrix; UsageError where the name says no format.
void check_store(const std::string& file, const io::WriteOptions& how = {});

// Writes the matrix, then reports file, shape, nonzeros and bytes: as an object, and as a line on stdout unless --json
// was given.
template <class V>
Json store(const Session& session, const Context& ctx, const std::string& file, const CsrView<V>& a,
           io::WriteOptions how = {});

}  // namespace tulle::cli
