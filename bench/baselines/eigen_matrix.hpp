// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <Eigen/SparseCore>

#include <vector>

#include "bench/baselines/narrow_offsets.hpp"
#include "tulle/csr.hpp"

namespace tulle::bench {

// Our matrix as Eigen sees one: columns and values are read where they are, only the offsets are narrowed to 32 bits,
// as an Eigen user would have them.
template <class V>
class EigenMatrix {
public:
    using Sparse = Eigen::SparseMatrix<V, Eigen::RowMajor, int>;
    using Map = Eigen::Map<const Sparse>;

    void narrow(const CsrView<V>& a)
    {
        row_begin_ = narrow_offsets(a);
        a_ = a;
    }

    Map map() const
    {
        return Map(a_.rows, a_.cols, static_cast<Eigen::Index>(a_.nonzeros), row_begin_.data(), a_.col, a_.value);
    }
    std::size_t bytes() const { return row_begin_.size() * sizeof(int); }

private:
    CsrView<V> a_ = {};
    std::vector<int> row_begin_;
};

}  // namespace tulle::bench
