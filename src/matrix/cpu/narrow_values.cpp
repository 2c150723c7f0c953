// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include <atomic>

#include "matrix/narrow_steps.hpp"

namespace tulle::inline TULLE_ABI::matrix {
namespace {

// at = the smaller (larger) of both, as `better` says; several threads may have the same line.
template <class Better>
void improve(int& at, int value, const Better& better)
{
    const std::atomic_ref<int> shared(at);
    int old = shared.load(std::memory_order_relaxed);
    while (better(value, old) && !shared.compare_exchange_weak(old, value, std::memory_order_relaxed)) {}
}

}  // namespace

template <class V, class From>
void find_exponents(const CpuQueue& q, const From* value, const index_t* line, offset_t n, int* least, int* most)
{
#pragma omp parallel for num_threads(q.threads) schedule(static)
    for (offset_t k = 0; k < n; ++k) {
        if (!has_exponent(value[k])) continue;
        const int exponent = exponent_of<V>(value[k]);
        improve(least[line[k]], exponent, [](int a, int b) { return a < b; });
        improve(most[line[k]], exponent, [](int a, int b) { return a > b; });
    }
}

template <class V, class From>
void narrow_values(const CpuQueue& q, const From* value, const index_t* line, const float* scale, offset_t n, V* to,
                   Losses* losses)
{
    unsigned long long overflowed = 0, subnormal = 0, zeroed = 0;
#pragma omp parallel for num_threads(q.threads) schedule(static) reduction(+ : overflowed, subnormal, zeroed)
    for (offset_t k = 0; k < n; ++k) {
        to[k] = narrowed<V>(value[k], scale == nullptr ? 1.0 : scale[line[k]]);
        const Loss loss = loss_of(value[k], to[k]);
        overflowed += loss == Loss::overflowed;
        subnormal += loss == Loss::subnormal;
        zeroed += loss == Loss::zeroed;
    }
    losses->overflowed += overflowed;
    losses->subnormal += subnormal;
    losses->zeroed += zeroed;
}

template void find_exponents<Float16>(const CpuQueue&, const float*, const index_t*, offset_t, int*, int*);
template void find_exponents<Float16>(const CpuQueue&, const double*, const index_t*, offset_t, int*, int*);
template void find_exponents<Bfloat16>(const CpuQueue&, const float*, const index_t*, offset_t, int*, int*);
template void find_exponents<Bfloat16>(const CpuQueue&, const double*, const index_t*, offset_t, int*, int*);
template void narrow_values(const CpuQueue&, const float*, const index_t*, const float*, offset_t, Float16*, Losses*);
template void narrow_values(const CpuQueue&, const double*, const index_t*, const float*, offset_t, Float16*, Losses*);
template void narrow_values(const CpuQueue&, const float*, const index_t*, const float*, offset_t, Bfloat16*, Losses*);
template void narrow_values(const CpuQueue&, const double*, const index_t*, const float*, offset_t, Bfloat16*, Losses*);

}  // namespace tulle::inline TULLE_ABI::matrix
