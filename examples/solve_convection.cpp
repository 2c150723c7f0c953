// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Convection and diffusion on a square, -u_xx - u_yy + c u_x = 1, by upwind differences: not symmetric. Three recipes
// for the same system.
//
//     solve_convection [points of an edge] [c]
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "tulle/tulle.hpp"

namespace {

// The five-point matrix, row by row.
tulle::Csr<double> convection_diffusion(const tulle::Context& ctx, int edge, double c)
{
    const double h = 1.0 / (edge + 1);
    std::vector<tulle::offset_t> row_begin{0};
    std::vector<tulle::index_t> col;
    std::vector<double> value;
    for (int i = 0; i < edge; ++i)
        for (int j = 0; j < edge; ++j) {
            const auto add = [&](bool inside, int k, double v) {
                if (!inside) return;
                col.push_back(k);
                value.push_back(v);
            };
            const int here = i * edge + j;
            add(i > 0, here - edge, -1);
            add(j > 0, here - 1, -1 - c * h);
            add(true, here, 4 + c * h);
            add(j + 1 < edge, here + 1, -1);
            add(i + 1 < edge, here + edge, -1);
            row_begin.push_back(static_cast<tulle::offset_t>(col.size()));
        }
    const int n = edge * edge;
    const tulle::CsrView<double> a{.rows = n,
                                   .cols = n,
                                   .nonzeros = static_cast<tulle::offset_t>(col.size()),
                                   .row_begin = row_begin.data(),
                                   .col = col.data(),
                                   .value = value.data()};
    return tulle::to_device(ctx, a);
}

}  // namespace

int main(int count, char** words)
{
    using namespace tulle::solve;
    const auto ctx = tulle::Context::cpu();
    const auto A =
        convection_diffusion(ctx, count > 1 ? std::atoi(words[1]) : 60, count > 2 ? std::atof(words[2]) : 100);
    const std::vector<double> b(static_cast<std::size_t>(A.rows), 1.0);
    std::vector<double> x(b.size());
    bool good = true;
    for (const Recipe& recipe : {Recipe{}, Recipe{.method = Method::gmres, .preconditioner = Jacobi{}, .restart = 60},
                                 Recipe{.method = Method::fgmres, .preconditioner = BlockJacobi{16}}}) {
        auto plan = Plan<double>::make(ctx, A.view(), recipe);
        const Report report = plan.solve(b, x);
        std::printf("%s, %s: %s\n", to_text(*plan.policy().method).c_str(),
                    to_text(*plan.policy().preconditioner).c_str(), report.text().c_str());
        good = good && report.converged();
    }
    return good ? 0 : 1;
}
