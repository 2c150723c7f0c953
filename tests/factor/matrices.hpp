// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Square matrices with a full diagonal for factorisations, AMG and solvers.
#pragma once

#include <cmath>

#include "support/battery.hpp"

namespace tulle::test {

// Diagonally dominant, with a symmetric or an unsymmetric pattern; the density is that of each triangle.
template <class V>
HostCsr<V> dominant(index_t n, double density, bool symmetric, std::uint64_t seed)
{
    std::vector<std::tuple<index_t, index_t, V>> entries;
    for (index_t i = 0; i < n; ++i)
        for (index_t j = 0; j < n; ++j) {
            const index_t a = symmetric ? std::min(i, j) : i, b = symmetric ? std::max(i, j) : j;
            if (i == j) entries.emplace_back(i, j, static_cast<V>(1 + density * n + unit(hash_of(seed, i))));
            else if (unit(hash_of(seed, a, b)) < density)
                entries.emplace_back(i, j, static_cast<V>(unit(hash_of(seed + 1, a, b)) - 0.7));
        }
    return csr_of<V>(n, n, entries);
}

// The Laplacian of a grid of nx x ny x nz points with Dirichlet boundaries; y and z couplings times `weak`.
template <class V>
HostCsr<V> laplacian(index_t nx, index_t ny, index_t nz, double weak = 1)
{
    std::vector<std::tuple<index_t, index_t, V>> entries;
    const auto at = [&](index_t x, index_t y, index_t z) { return x + nx * (y + ny * z); };
    for (index_t z = 0; z < nz; ++z)
        for (index_t y = 0; y < ny; ++y)
            for (index_t x = 0; x < nx; ++x) {
                const index_t i = at(x, y, z);
                const auto add = [&](bool there, index_t j, double v) {
                    if (there) entries.emplace_back(i, j, static_cast<V>(v));
                };
                add(z > 0, i - nx * ny, -weak);
                add(y > 0, i - nx, -weak);
                add(x > 0, i - 1, -1);
                add(true, i, 2 + (ny > 1 ? 2 * weak : 0) + (nz > 1 ? 2 * weak : 0));
                add(x + 1 < nx, i + 1, -1);
                add(y + 1 < ny, i + nx, -weak);
                add(z + 1 < nz, i + nx * ny, -weak);
            }
    HostCsr<V> a{.rows = nx * ny * nz, .cols = nx * ny * nz, .row_begin = {}, .col = {}, .value = {}};
    a.row_begin.assign(static_cast<std::size_t>(a.rows) + 1, 0);
    for (const auto& [i, j, v] : entries) {
        ++a.row_begin[static_cast<std::size_t>(i) + 1];
        a.col.push_back(j);
        a.value.push_back(v);
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(a.rows); ++i) a.row_begin[i + 1] += a.row_begin[i];
    return a;
}

}  // namespace tulle::test
