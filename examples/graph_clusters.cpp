// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Clusters of a graph, and a product of which only the largest entries are ever held.
#include <cstdio>

#include "tulle/tulle.hpp"

int main()
{
    const auto ctx = tulle::Context::cpu();
    const auto A = tulle::io::generate<double>(ctx, "road:400");
    using tulle::graph::Semiring;

    tulle::graph::Clusters r = tulle::graph::cluster(ctx, A.view(), {.inflation = 1.4});
    // r.cluster[v]: number of the cluster of vertex v, from the largest on; r.count, r.iterations, r.converged
    auto C = tulle::graph::multiply_select(ctx, Semiring::plus_times, A.view(), A.view(),
                                           {.threshold = 1e-4, .most_per_row = 100});

    std::printf("%d clusters after %d iterations; %lld entries of the product\n", r.count, r.iterations,
                static_cast<long long>(C.nonzeros()));
    return r.converged && r.count > 0 && C.nonzeros() > 0 ? 0 : 1;
}
