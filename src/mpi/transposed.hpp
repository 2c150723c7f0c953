// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The transposed copy of a distributed matrix, and its new values, for which no columns are sent.
#pragma once

#include <vector>

#include "mpi/exchange.hpp"
#include "tulle/distributed.hpp"

namespace tulle::inline TULLE_ABI::mpi {

template <class V>
class Transposed {
public:
    // Keeps the matrix. Collective.
    explicit Transposed(const DistCsr<V>& a);
    // Distributed by the column cuts of the matrix; columns ascend in its rows.
    const DistCsr<V>& matrix() const { return matrix_; }
    // Takes the new values of the matrix. Collective.
    void update_values();
    // Of the copy, and of what its new values need.
    std::size_t bytes() const
    {
        return matrix_.bytes() +
               (sent_.begin.size() + sent_.entry.size() + begin_.size() + place_.size()) * sizeof(offset_t);
    }

private:
    DistCsr<V> make();

    DistCsr<V> given_;
    ByRank<offset_t> sent_;                // entries of the given matrix, by the rank that has their row now
    std::vector<offset_t> begin_, place_;  // what comes from each rank, and where it is
    DistCsr<V> matrix_;
};

}  // namespace tulle::inline TULLE_ABI::mpi
