// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "support/dense.hpp"
#include "support/exact.hpp"

namespace tulle::test {

// What makes the leading dimension a multiple of 8: lines are aligned, though the last batch of one is not whole.
inline index_t gap_to_aligned(index_t length) { return (8 - length % 8) % 8; }

// A dense matrix whose array ends with its last entry.
template <class V>
struct ExactDense {
    ExactDense(const Context& c, const HostDense<V>& m, Layout layout, index_t gap, Edge edge, std::size_t skip)
        : leading((layout == Layout::row_major ? m.cols : m.rows) + gap),
          of{m.rows, m.cols, leading, layout, nullptr},
          data(c, laid_out(m, of), edge, skip)
    {
        of.data = data.data();
    }
    static std::vector<V> laid_out(const HostDense<V>& m, const DenseView<V>& to)
    {
        if (m.at.empty()) return {};
        std::vector<V> all(static_cast<std::size_t>(to.at(m.rows - 1, m.cols - 1) + 1), static_cast<V>(-31.0));
        for (index_t i = 0; i < m.rows; ++i)
            for (index_t j = 0; j < m.cols; ++j) all[static_cast<std::size_t>(to.at(i, j))] = m(i, j);
        return all;
    }
    HostDense<V> take() const
    {
        const auto all = data.take();
        HostDense<V> m{of.rows, of.cols, {}};
        for (index_t i = 0; i < of.rows; ++i)
            for (index_t j = 0; j < of.cols; ++j) m.at.push_back(all[static_cast<std::size_t>(of.at(i, j))]);
        return m;
    }

    offset_t leading;
    DenseView<V> of;
    Exact<V> data;
};

}  // namespace tulle::test
