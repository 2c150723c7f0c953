// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// BSA as the paper defines it, one row after the other: dense encodings, normalised vectors, every free row compared with every seed.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <vector>

#include "support/host_matrix.hpp"
#include "tulle/spmm/order.hpp"

namespace tulle::spmm::oracle {

using Encoding = std::vector<long double>;

inline Encoding encode(const test::HostCsr<float>& a, index_t row, index_t tau)
{
    Encoding e(static_cast<std::size_t>((a.cols + tau - 1) / tau), 0);
    std::set<index_t> cols;
    for (const auto& [i, j, v] : a.entries())
        if (i == row) cols.insert(j);
    for (const index_t j : cols) ++e[static_cast<std::size_t>(j / tau)];
    return e;
}

inline long double dispersion(const Encoding& e, index_t tau, Dispersion which)
{
    long double blocks = 0, zeros = 0, nonzeros = 0;
    for (const long double n : e) {
        if (n == 0) continue;
        ++blocks;
        zeros += tau - n;
        nonzeros += n;
    }
    return (which == Dispersion::paper ? tau : nonzeros) * blocks + zeros;
}

inline long double norm(const Encoding& e) { return std::sqrt(std::inner_product(e.begin(), e.end(), e.begin(), 0.0L)); }

inline long double similarity(const Encoding& x, const Encoding& y)
{
    const long double in_x = norm(x), in_y = norm(y);
    if (in_x == 0 && in_y == 0) return 1;
    if (in_x == 0 || in_y == 0) return 0;
    long double least = 0, most = 0;
    for (std::size_t b = 0; b < x.size(); ++b) {
        least += std::min(x[b] / in_x, y[b] / in_y);
        most += std::max(x[b] / in_x, y[b] / in_y);
    }
    return least / most;
}

struct Order {
    std::vector<index_t> row;
    index_t empty = 0, clusters = 0;
};

// `margin`: the smallest distance of a similarity from alpha that was met.
inline Order order(const test::HostCsr<float>& a, const OrderOptions& o, long double* margin = nullptr)
{
    std::vector<Encoding> e;
    std::vector<long double> d;
    for (index_t i = 0; i < a.rows; ++i) {
        e.push_back(encode(a, i, o.tau));
        d.push_back(dispersion(e.back(), o.tau, o.dispersion));
    }
    std::vector<std::size_t> by_dispersion(e.size());
    std::iota(by_dispersion.begin(), by_dispersion.end(), std::size_t{0});
    std::stable_sort(by_dispersion.begin(), by_dispersion.end(), [&](std::size_t x, std::size_t y) { return d[x] < d[y]; });
    Order result;
    std::vector<int> cluster(e.size(), -1);
    for (const std::size_t i : by_dispersion)
        if (d[i] == 0) {
            result.row.push_back(static_cast<index_t>(i));
            ++result.empty;
        }
    for (auto seed = by_dispersion.begin(); seed != by_dispersion.end(); ++seed) {
        if (d[*seed] == 0 || cluster[*seed] >= 0) continue;
        Encoding representative(e[*seed].size(), 0);
        for (auto next = seed; next != by_dispersion.end(); ++next) {
            if (cluster[*next] >= 0) continue;
            const long double j = next == seed ? 2 : similarity(representative, e[*next]);
            if (margin) *margin = std::min(*margin, std::abs(j - static_cast<long double>(o.alpha)));
            if (!(j > static_cast<long double>(o.alpha))) continue;
            cluster[*next] = result.clusters;
            result.row.push_back(static_cast<index_t>(*next));
            for (std::size_t b = 0; b < representative.size(); ++b) representative[b] += e[*next][b];
        }
        ++result.clusters;
    }
    return result;
}

}  // namespace tulle::spmm::oracle
