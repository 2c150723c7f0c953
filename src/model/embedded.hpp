// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The models of data/models/, built into the library: nothing is looked for at run time.
#pragma once

#include <string_view>
#include <vector>

#include "tulle/api.hpp"

namespace tulle::inline TULLE_ABI::model {

// The text of data/models/<name>.txt as it was when the library was built; empty if there was none.
TULLE_API std::string_view embedded(std::string_view name);

TULLE_API std::vector<std::string_view> embedded_names();

}  // namespace tulle::inline TULLE_ABI::model
