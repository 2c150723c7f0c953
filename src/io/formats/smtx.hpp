// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The Deep Learning Matrix Collection's format, a pattern without values:
//
//     2, 3, 4              rows, columns, entries
//     0 1 4                row offsets
//     2 0 1 2              columns, from zero
#pragma once

#include "io/sink.hpp"
#include "io/source.hpp"
#include "tulle/io.hpp"

namespace tulle::inline TULLE_ABI::io {

template <class V>
Csr<V> read_smtx(const CpuQueue& q, const Source& source, const ReadOptions& options, FileInfo& info);
template <class V>
void write_smtx(const CpuQueue& q, Sink& sink, const CsrView<V>& a, const WriteOptions& options);

}  // namespace tulle::inline TULLE_ABI::io
