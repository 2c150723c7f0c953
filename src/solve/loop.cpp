// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "solve/loop.hpp"

#include "tulle/spmv.hpp"

namespace tulle::inline TULLE_ABI::solve {

template <class V>
bool is_least_squares(PlanState<V>& s, double norm)
{
    const Buffer<V>& r = s.system->residual;
    spmv::multiply(s.ctx, s.a, r.span(), s.checked.span(), {.op = Op::transpose, .checked = false});
    const double transposed = s.system->norm_of(s.checked.data());
    const double scale = s.system->norm_of(s.a.value, s.a.nonzeros);
    return transposed <= 1e-7 * scale / std::sqrt(static_cast<double>(s.a.rows)) * norm;
}

template <class V>
Report run_loop(PlanState<V>& s, std::span<const V> b, std::span<V> x, const Observer& observe)
{
    return Loop<V, PlanState<V>>(s, b, x, observe).run();
}

template Report run_loop(PlanState<float>&, std::span<const float>, std::span<float>, const Observer&);
template Report run_loop(PlanState<double>&, std::span<const double>, std::span<double>, const Observer&);

}  // namespace tulle::inline TULLE_ABI::solve
