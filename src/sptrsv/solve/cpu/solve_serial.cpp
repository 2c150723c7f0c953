// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "sptrsv/solve/cpu/solve_rows.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {

template <class V>
void solve_serial(const CpuQueue&, const Rows& rows, const RowValues<V>& values, const RhsView<V>& sides)
{
    solve_stretch(rows, values, 0, rows.rows, sides);
}

template void solve_serial(const CpuQueue&, const Rows&, const RowValues<float>&, const RhsView<float>&);
template void solve_serial(const CpuQueue&, const Rows&, const RowValues<double>&, const RhsView<double>&);

}  // namespace tulle::inline TULLE_ABI::sptrsv
