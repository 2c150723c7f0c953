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
    return is_next_to_nothing(transposed, scale, s.a.rows, norm);
}

template <class V>
Report solve_one(PlanState<V>& s, std::span<const V> b, std::span<V> x, const Observer& observe)
{
    return solve_in_turn<V>(s, b, x, observe);
}

template Report solve_one(PlanState<float>&, std::span<const float>, std::span<float>, const Observer&);
template Report solve_one(PlanState<double>&, std::span<const double>, std::span<double>, const Observer&);

}  // namespace tulle::inline TULLE_ABI::solve
