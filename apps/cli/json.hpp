// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What --json prints: one object, two spaces deep, numbers as numbers.
#pragma once

#include <nlohmann/json.hpp>

#include "apps/cli/session.hpp"
#include "apps/cli/source.hpp"
#include "tulle/matrix/features.hpp"

namespace tulle::cli {

using Json = nlohmann::ordered_json;

inline void print(const Session& session, const Json& result)
{
    // A file's comment may hold any bytes; what is not UTF-8 is replaced rather than fatal.
    session.console.print(result.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace tulle::cli
