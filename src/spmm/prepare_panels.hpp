// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Panels on a GPU: made on the host and taken up; values are carried where they lie.
#pragma once

#include <utility>

#include "spmm/host_pattern.hpp"
#include "spmm/steps.hpp"

namespace tulle::inline TULLE_ABI::spmm {

// The matrix's values into the tiles, where there are tiles.
template <class V>
void fill_panels(const CudaQueue& q, const CsrView<V>& a, Panels<V>& panels)
{
    if (!panels.value.empty()) spread_values(q, a.value, panels.place.data(), panels.place.size(), panels.value.data());
}
template <class V>
void fill_panels(const CpuQueue&, const CsrView<V>&, Panels<V>&)
{}

// `row`: the original row at each position; empty, as always for doubles: all columns and all tiles, rows as they are.
// Cut into about so many `units`.
template <class V>
Panels<V> prepare_panels(const CudaQueue& q, const CpuQueue& host, const CsrView<V>& a, Buffer<index_t>&& row,
                         offset_t units)
{
    const HostPattern here(q, host, pattern_of(a));
    const auto order = fetch(q, host, std::as_const(row).data(), row.size());
    Panels<V> panels;
    if (row.empty()) panels = make_dense_panels<V>(host, here.view());
    else if constexpr (sizeof(V) != 8) panels = make_panels<V>(host, here.view(), order.data(), units);
    panels.row = std::move(row);
    panels.unit = lift(q, std::move(panels.unit));
    panels.chunk = lift(q, std::move(panels.chunk));
    panels.present = lift(q, std::move(panels.present));
    panels.place = lift(q, std::move(panels.place));
    panels.value = Buffer<V>(q, panels.present.size() * values_per_lane<V>);
    fill_zero(q, panels.value.data(), panels.value.size());
    fill_panels(q, a, panels);
    return panels;
}

}  // namespace tulle::inline TULLE_ABI::spmm
