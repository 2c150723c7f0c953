// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// One matrix-vector product on one backend: prepared, done once for its result, then timed. For run and demo.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "apps/cli/verbs/operations/measured.hpp"
#include "tulle/context.hpp"
#include "tulle/csr.hpp"
#include "tulle/spmv.hpp"

namespace tulle::cli {

template <class V>
struct SpmvProblem {
    CsrView<V> a;                             // on the host
    spmv::Format format = spmv::Format::csr;  // what it is turned into first
    index_t block = 4;                        // of Blocked-ELL
    bool transpose = false;
    V alpha = V(1), beta = V(0);
    std::vector<V> x, y;  // y before the product; read only if beta is not 0
    std::optional<spmv::Policy> force = {};

    index_t rows() const { return transpose ? a.cols : a.rows; }
    index_t cols() const { return transpose ? a.rows : a.cols; }
};

template <class V>
struct SpmvResult : Measured {
    std::vector<V> y;
    std::size_t bytes = 0;  // matrix, x and y, each once: the least a product must move

    double bandwidth() const { return median > 0 ? static_cast<double>(bytes) / median : 0; }
};

// Entries in [-1, 1) from a seed: the same on every machine.
template <class V>
std::vector<V> seeded_vector(offset_t size, std::uint64_t seed);

// `host` holds the matrix in the format asked for; `ctx` is where the product is done.
template <class V>
SpmvResult<V> measure(const Context& host, const Context& ctx, const SpmvProblem<V>& problem, int repeat);

template <class V>
Json to_json(const SpmvResult<V>& result);

}  // namespace tulle::cli
