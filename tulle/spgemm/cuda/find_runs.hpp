// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "tulle/matrix/csr.hpp"

namespace tulle::spgemm {

// First and last column of a row of B.
struct Span {
    index_t first, last;
};

// One byte a row, see runs.hpp.
template <class V> Buffer<unsigned char> find_runs(const CudaQueue& q, const CsrView<V>& a);
// Of sorted rows.
template <class V> Buffer<Span> find_spans(const CudaQueue& q, const CsrView<V>& b);

}  // namespace tulle::spgemm
