// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// SuiteSparse archives: NAME.tar.gz holds NAME/NAME.mtx, perhaps beside right-hand sides and other files.
#pragma once

#include "io/source.hpp"

namespace tulle::inline TULLE_ABI::io {

// The archive narrowed to its matrix: NAME/NAME.mtx where the archive is called NAME.tar…, else the only .mtx there is.
Source find_matrix(Source archive);

}  // namespace tulle::inline TULLE_ABI::io
