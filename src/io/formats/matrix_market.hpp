// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Matrix Market exchange format (Boisvert, Pozo, Remington, NISTIR 5935, 1996).
//
//     %%MatrixMarket matrix coordinate real symmetric        banner, upper or lower case
//     % comments, here or anywhere
//     3 3 4                                                  rows, columns, entries (array: rows, columns)
//     1 1 2.0                                                one entry a line, counted from 1 (array: values, column by
//     column)
//
// Symmetric, skew-symmetric and hermitian files hold the lower triangle. Zeros of an array file are no entries of the
// result.
#pragma once

#include "io/sink.hpp"
#include "io/source.hpp"
#include "tulle/io.hpp"

namespace tulle::inline TULLE_ABI::io {

template <class V>
Csr<V> read_matrix_market(const CpuQueue& q, const Source& source, const ReadOptions& options, FileInfo& info);

template <class V>
void write_matrix_market(const CpuQueue& q, Sink& sink, const CsrView<V>& a, const WriteOptions& options);

}  // namespace tulle::inline TULLE_ABI::io
