// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <span>

#include "graph/steps.hpp"

namespace tulle::inline TULLE_ABI::graph {
namespace {

void scale(std::span<float> row)
{
    double sum = 0;
    for (const float v : row) sum += static_cast<double>(v);
    for (float& v : row) v = static_cast<float>(static_cast<double>(v) / sum);
}

double chaos_of(std::span<const float> row)
{
    double largest = 0, squares = 0;
    for (const float v : row) {
        largest = std::max(largest, static_cast<double>(v));
        squares += static_cast<double>(v) * static_cast<double>(v);
    }
    return (largest - squares) * static_cast<double>(row.size());
}

}  // namespace

void inflate(const CpuQueue& q, index_t rows, const offset_t* row_begin, double power, float* value, double* chaos)
{
#pragma omp parallel for num_threads(q.threads) schedule(static)
    for (index_t i = 0; i < rows; ++i) {
        const std::span<float> row(value + row_begin[i], value + row_begin[i + 1]);
        scale(row);
        chaos[i] = chaos_of(row);
        for (float& v : row) v = power == 2 ? v * v : static_cast<float>(std::pow(static_cast<double>(v), power));
        scale(row);
    }
}

}  // namespace tulle::inline TULLE_ABI::graph
