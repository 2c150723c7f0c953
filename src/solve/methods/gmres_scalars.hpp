// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "solve/ops/gmres.hpp"

namespace tulle::inline TULLE_ABI::solve {

// The scalars of GMRES in GmresScalars::doubles(restart) numbers.
inline GmresScalars arrange(double* at, int* columns, int restart)
{
    const offset_t line = offset_t{restart} + 1;
    return {restart,       at,
            at + line,     at + 6 * line + 1,
            at + 2 * line, at + 3 * line,
            at + 4 * line, at + 5 * line,
            at + 6 * line, columns};
}

}  // namespace tulle::inline TULLE_ABI::solve
