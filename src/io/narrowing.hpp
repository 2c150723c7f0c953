// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What values lose on their way into a matrix: what a later conversion to 16 bits changes, and the sentences that
// report it.
#pragma once

#include "tulle/csr.hpp"
#include "tulle/io.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::io {

// Adds to the report what the type of ReadOptions::narrow does not hold of the matrix; places in the order of its rows.
template <class V>
void report_narrowing(const CpuQueue& q, const Csr<V>& a, const ReadOptions& options, FileInfo& info);

// FormatError with the first warning, where the options are strict.
void refuse_losses(const std::string& file, const ReadOptions& options, const FileInfo& info);

}  // namespace tulle::inline TULLE_ABI::io
