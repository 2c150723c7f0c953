// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Products one behind the other on a stream, each with the result of the one before: kernels that begin before the one
// ahead of them has ended (LaunchShape::early) must wait for it before they read B, and for new values of the matrix.
#pragma once

#include <vector>

#include "support/host_matrix.hpp"

namespace tulle::test {

// A applied so many times to a matrix of ones with n columns, by rows.
inline std::vector<double> applied(const HostCsr<double>& a, index_t n, int times)
{
    std::vector<double> x(static_cast<std::size_t>(a.cols * n), 1.0);
    for (int k = 0; k < times; ++k) {
        std::vector<double> y(x.size(), 0.0);
        for (index_t i = 0; i < a.rows; ++i)
            for (offset_t e = a.row_begin[static_cast<std::size_t>(i)];
                 e < a.row_begin[static_cast<std::size_t>(i) + 1]; ++e)
                for (index_t j = 0; j < n; ++j)
                    y[static_cast<std::size_t>(i * n + j)] +=
                        a.value[static_cast<std::size_t>(e)] *
                        x[static_cast<std::size_t>(a.col[static_cast<std::size_t>(e)] * n + j)];
        x = y;
    }
    return x;
}

// The same matrix with other values of the same pattern.
inline HostCsr<double> negated(HostCsr<double> a)
{
    for (double& value : a.value) value = -value;
    return a;
}

}  // namespace tulle::test
