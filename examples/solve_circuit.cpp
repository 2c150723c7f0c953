// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The operating point of a circuit: a grid of resistors with a diode to ground and an amplifying current source at each
// node, driven at one corner. Nodal analysis gives F(v) = G v + diodes(v) - drive = 0, which Newton's method solves:
// the Jacobian, not symmetric because of the amplifiers, has new values in each step and always the same pattern.
//
//     solve_circuit [nodes of an edge]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "tulle/tulle.hpp"

namespace {

constexpr double conductance = 1e-3;  // of a resistor
constexpr double leak = 1e-6;         // of a node to ground
constexpr double amplification = 2e-4;
constexpr double saturation = 1e-12, thermal = 0.0259;  // of a diode
constexpr double drive = 0.01;                          // amperes into node 0
constexpr double largest_step = 0.1;                    // volts: exponentials overflow otherwise

double diode_current(double v) { return saturation * (std::exp(v / thermal) - 1); }
double diode_conductance(double v) { return saturation / thermal * std::exp(v / thermal); }

// G: conductances of the resistors, and the amplifiers, whose current follows the node to the left.
tulle::Csr<double> conductances(const tulle::Context& ctx, int edge)
{
    std::vector<tulle::offset_t> row_begin{0};
    std::vector<tulle::index_t> col;
    std::vector<double> value;
    for (int here = 0; here < edge * edge; ++here) {
        const int i = here / edge, j = here % edge;
        const int neighbours = (i > 0) + (j > 0) + (j + 1 < edge) + (i + 1 < edge);
        const auto add = [&](bool there, int k, double v) {
            if (!there) return;
            col.push_back(k);
            value.push_back(v);
        };
        add(i > 0, here - edge, -conductance);
        add(j > 0, here - 1, -conductance + amplification);
        add(true, here, neighbours * conductance + leak);
        add(j + 1 < edge, here + 1, -conductance);
        add(i + 1 < edge, here + edge, -conductance);
        row_begin.push_back(static_cast<tulle::offset_t>(col.size()));
    }
    const int n = edge * edge;
    const tulle::CsrView<double> view{.rows = n,
                                      .cols = n,
                                      .nonzeros = static_cast<tulle::offset_t>(col.size()),
                                      .row_begin = row_begin.data(),
                                      .col = col.data(),
                                      .value = value.data()};
    return tulle::to_device(ctx, view);
}

// -F(v), and the Jacobian G + diode conductances in the place of the values of J.
std::vector<double> linearise(const tulle::Csr<double>& G, const std::vector<double>& v, tulle::Csr<double>& J)
{
    std::vector<double> rest(v.size());
    for (tulle::index_t i = 0; i < G.rows; ++i) {
        const double own = v[static_cast<std::size_t>(i)];
        double current = diode_current(own) - (i == 0 ? drive : 0);
        for (tulle::offset_t k = G.row_begin.data()[i]; k < G.row_begin.data()[i + 1]; ++k) {
            const tulle::index_t j = G.col.data()[k];
            current += G.value.data()[k] * v[static_cast<std::size_t>(j)];
            J.value.data()[k] = G.value.data()[k] + (j == i ? diode_conductance(own) : 0);
        }
        rest[static_cast<std::size_t>(i)] = -current;
    }
    return rest;
}

double largest(const std::vector<double>& v)
{
    double most = 0;
    for (const double x : v) most = std::max(most, std::abs(x));
    return most;
}

}  // namespace

int main(int count, char** words)
{
    const int edge = count > 1 ? std::atoi(words[1]) : 40;
    const auto ctx = tulle::Context::cpu();
    const auto G = conductances(ctx, edge);
    auto J = conductances(ctx, edge);
    std::vector<double> v(static_cast<std::size_t>(G.rows), 0.0), step(v.size());
    std::vector<double> rest = linearise(G, v, J);
    auto plan = tulle::solve::Plan<double>::make(ctx, J.view());
    for (int round = 1; round <= 100; ++round) {
        const tulle::solve::Report report = plan.solve(rest, step);
        if (!report.converged()) {
            std::puts(report.text().c_str());
            return 1;
        }
        for (std::size_t i = 0; i < v.size(); ++i) v[i] += std::clamp(step[i], -largest_step, largest_step);
        rest = linearise(G, v, J);
        plan.update_values(J.view());
        std::printf("step %d: current left over %.1e A, %ld iterations\n", round, largest(rest),
                    static_cast<long>(report.iterations));
        if (largest(rest) < 1e-12) {
            std::printf("%.3g V at the driven corner, %.3g V at the far one\n", v.front(), v.back());
            return 0;
        }
    }
    return 1;
}
