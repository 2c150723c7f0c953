// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string_view>

#include "tulle/device/context.hpp"

namespace tulle {

// DeviceError unless an array is where the context works; null is an empty one. Asking costs a microsecond, so an address found good is kept
// in `known` and not asked for again.
void require_placed(const Context& ctx, const void* data, const void*& known, std::string_view name);

}  // namespace tulle
