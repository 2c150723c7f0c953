// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// How matrices get their values in this run of the program: asked for once, before the first is loaded.
#pragma once

#include <string>

namespace tulle::bench {

// Of files without values: "ones", or "random:SEED"; ValueError otherwise.
void set_pattern_values(const std::string& how);
// The type that values will be converted to; what f16 and bf16 lose is reported.
void set_value_type(const std::string& type);

// Of a matrix that was loaded, by the name of its case: "stored", "ones", "random:5".
std::string values_of(const std::string& matrix);

}  // namespace tulle::bench
