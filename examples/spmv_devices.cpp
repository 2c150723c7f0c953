// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// One matrix on several devices: parts with equally many nonzeros, x and y distributed, only the entries of x that a
// part needs exchanged. Four streams of a GPU where there is one, else four CPU queues; four real GPUs are
// Team::cuda({0, 1, 2, 3}).
#include <cmath>
#include <cstdio>
#include <vector>

#include "tulle/tulle.hpp"

int main()
{
    const bool gpu = !tulle::cuda_devices().empty();
    const tulle::Team team = gpu ? tulle::Team::cuda({0, 0, 0, 0}) : tulle::Team::cpu(4, 1);
    const tulle::Csr<double> a = tulle::io::generate<double>(tulle::Context::cpu(), "stencil5:200");  // on the host

    auto plan = tulle::spmv::TeamPlan<double>::make(team, a.view());
    std::puts(plan.describe().c_str());

    // Vectors on the host: x goes out, y comes back.
    std::vector<double> x(static_cast<std::size_t>(plan.cols()), 1.0), y(static_cast<std::size_t>(plan.rows()));
    plan.run(x, y);

    // Vectors with the members: A applied twice more; every member moves its own slice of y to x, nothing goes through
    // the host.
    for (int m = 0; m < team.size(); ++m)
        team[m].run([&](const auto& q) {
            tulle::upload(q, y.data() + plan.x_begin(m), plan.x(m).data(), std::ssize(plan.x(m)));
        });
    for (int step = 0; step < 2; ++step) {
        plan.run(1.0, 0.0);
        for (int m = 0; m < team.size(); ++m)
            team[m].run([&](const auto& q) {
                tulle::copy(q, static_cast<const double*>(plan.y(m).data()), plan.x(m).data(), std::ssize(plan.y(m)));
            });
    }
    plan.synchronize();
    std::printf("%zu bytes between members so far\n", plan.traffic().device_to_device);
    return std::isfinite(y[0]) && plan.imbalance() < 1.01 ? 0 : 1;
}
