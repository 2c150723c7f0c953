// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// SciPy's scipy.sparse.save_npz: a zip archive of arrays. CSR, CSC and COO are read, CSR is written.
#pragma once

#include "io/sink.hpp"
#include "io/source.hpp"
#include "tulle/io.hpp"

namespace tulle::inline TULLE_ABI::io {

template <class V>
Csr<V> read_npz(const CpuQueue& q, const Source& source, const ReadOptions& options, FileInfo& info);
template <class V>
void write_npz(const CpuQueue& q, Sink& sink, const CsrView<V>& a, const WriteOptions& options);

}  // namespace tulle::inline TULLE_ABI::io
