// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "spmm/order_oracle.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

namespace tulle::inline TULLE_ABI::spmm {

std::vector<index_t> rows_of(const Context& ctx, const RowOrder& order)
{
    const auto here = to_host<index_t>(ctx, order.row.span());
    return {here.span().begin(), here.span().end()};
}

namespace oracle {
namespace {

std::vector<Encoding> encode(const test::HostCsr<float>& a, index_t tau)
{
    std::vector<Encoding> e(static_cast<std::size_t>(a.rows),
                            Encoding(static_cast<std::size_t>((a.cols + tau - 1) / tau), 0));
    std::set<std::pair<index_t, index_t>> positions;
    for (const auto& [i, j, v] : a.entries()) positions.emplace(i, j);
    for (const auto& [i, j] : positions) ++e[static_cast<std::size_t>(i)][static_cast<std::size_t>(j / tau)];
    return e;
}

long double norm(const Encoding& e) { return std::sqrt(std::inner_product(e.begin(), e.end(), e.begin(), 0.0L)); }

}  // namespace

long double dispersion(const Encoding& e, index_t tau, Dispersion which)
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

long double similarity(const Encoding& x, const Encoding& y)
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

Order order(const test::HostCsr<float>& a, const OrderOptions& o, long double* margin)
{
    const std::vector<Encoding> e = encode(a, o.tau);
    std::vector<long double> d;
    for (const Encoding& row : e) d.push_back(dispersion(row, o.tau, o.dispersion));
    std::vector<std::size_t> by_dispersion(e.size());
    std::iota(by_dispersion.begin(), by_dispersion.end(), std::size_t{0});
    std::stable_sort(by_dispersion.begin(), by_dispersion.end(),
                     [&](std::size_t x, std::size_t y) { return d[x] < d[y]; });
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

}  // namespace oracle
}  // namespace tulle::inline TULLE_ABI::spmm
