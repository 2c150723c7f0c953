// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What C = A A is measured against. Each is defined where its library was found (bench/build.hpp).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/harness/contender.hpp"
#include "bench/operations/spgemm_problem.hpp"

namespace tulle::bench {

// A way to compute C. A call makes it from nothing; `refill` computes its values again, in place, where there is such a
// thing.
struct Multiplier {
    std::string name;
    Role role = Role::baseline;
    std::function<void()> call;           // C is kept until forget()
    std::function<double()> worst_share;  // of the C kept
    std::function<void()> forget;
    std::function<void()> prepare_refill = {};  // whatever a refill needs beforehand, C included
    std::function<void()> refill = {};
    std::string choice = {};                         // our policy
    std::function<std::size_t()> result_bytes = {};  // of the C kept, where refills are timed
};

// The problem must outlive them.
template <class V>
std::vector<Multiplier> plain_spgemm(SpgemmProblem<V>& problem);  // for problems on the CPU, one thread
template <class V>
std::vector<Multiplier> eigen_spgemm(SpgemmProblem<V>& problem);  // for problems on the CPU
template <class V>
std::vector<Multiplier> graphblas_spgemm(SpgemmProblem<V>& problem);  // for problems on the CPU
template <class V>
std::vector<Multiplier> mkl_spgemm(SpgemmProblem<V>& problem);  // for problems on the CPU
template <class V>
std::vector<Multiplier> cusparse_spgemm(SpgemmProblem<V>& problem);  // for problems on a GPU

}  // namespace tulle::bench
