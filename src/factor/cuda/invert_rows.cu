// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A slice of a warp for each row, its dense system in shared memory. Rows are in classes by their number of entries; a
// launch for each class looks at all rows and leaves those of other classes.
#include <algorithm>
#include <cmath>

#include "device/cuda/kernel.cuh"
#include "factor/fsai_row.hpp"
#include "matrix/inspect_steps.hpp"

namespace tulle::inline TULLE_ABI::factor {
namespace {

// Lanes of a row, and threads of a block so that systems of `most` entries fit into 48 KiB.
template <int Most>
struct RowClass {
    static constexpr int lanes = Most < 32 ? Most : 32;
    static constexpr int threads = Most <= 32 ? 128 : 64;
    static constexpr int rows = threads / lanes;
};

// The lanes of this thread's slice.
template <int Lanes>
__device__ unsigned slice_mask()
{
    if constexpr (Lanes == 32) return 0xffffffffu;
    else return ((1u << Lanes) - 1) << (threadIdx.x % 32 / Lanes * Lanes);
}

// All lanes of a slice return the same.
template <class V>
__device__ Breakdown invert_row(const FsaiRow<V>& row, V* to, int lane, int lanes, unsigned slice)
{
    row.load(lane, lanes);
    __syncwarp(slice);
    for (int k = 0; k < row.m; ++k) {
        row.eliminate(k, lane, lanes);
        __syncwarp(slice);
        if (const Breakdown why = row.judge_pivot(k); why != Breakdown::none) return why;
    }
    __syncwarp(slice);  // all lanes have read the diagonal
    row.clear(lane, lanes);
    __syncwarp(slice);
    for (int r = row.m - 1; r > 0; --r) {
        row.substitute(r, lane, lanes);
        __syncwarp(slice);
    }
    row.store(std::sqrt(row.inverse[row.m - 1]), to, lane, lanes);
    return Breakdown::none;
}

// grid: ceil(rows / RowClass::rows). Rows with more than `Most` / 2 (none for the first class) and at most Most
// entries.
template <int Most, class V>
__global__ void __launch_bounds__(RowClass<Most>::threads)
    invert_rows_kernel(PatternView lower, const V* a, CsrView<V> g, int above, V* value, long long* failed)
{
    using Class = RowClass<Most>;
    TULLE_SHARED(double, room, Class::rows* fsai_room(Most));
    const int slice = static_cast<int>(threadIdx.x) / Class::lanes, lane = static_cast<int>(threadIdx.x) % Class::lanes;
    const offset_t i = static_cast<offset_t>(blockIdx.x) * Class::rows + slice;
    if (i >= g.rows) return;
    const offset_t first = g.row_begin[i], entries = g.row_begin[i + 1] - first;
    if (entries <= above || entries > Most) return;
    const FsaiRow<V> row(lower, a, g.col + first, static_cast<int>(entries), room + slice * fsai_room(Most));
    const Breakdown why = invert_row(row, value + first, lane, Class::lanes, slice_mask<Class::lanes>());
    if (why != Breakdown::none && lane == 0) atomicMin(failed, breakdown_word(static_cast<index_t>(i), why));
}

template <int Most, class V>
void invert_class(const CudaQueue& q, const PatternView& lower, const V* a, const CsrView<V>& g, int above, V* value,
                  long long* failed)
{
    const offset_t blocks = (g.rows + RowClass<Most>::rows - 1) / RowClass<Most>::rows;
    launch(q, {blocks, RowClass<Most>::threads}, invert_rows_kernel<Most, V>, lower, a, g, above, value, failed);
}

}  // namespace

template <class V>
FirstBreakdown invert_rows(const CudaQueue& q, const PatternView& lower, const V* a, const CsrView<V>& g, V* value)
{
    static_assert(most_fsai_entries == 64);
    const offset_t longest = inspect::add_lengths(q, g.row_begin, g.rows, 0).longest;
    Buffer<long long> failed(q, 1);
    const long long none = breakdown_word(g.rows, Breakdown::none);
    upload(q, &none, failed.data(), 1);
    invert_class<8>(q, lower, a, g, 0, value, failed.data());
    if (longest > 8) invert_class<16>(q, lower, a, g, 8, value, failed.data());
    if (longest > 16) invert_class<32>(q, lower, a, g, 16, value, failed.data());
    if (longest > 32) invert_class<64>(q, lower, a, g, 32, value, failed.data());
    return breakdown_of(read_value(q, failed.data()));
}

template FirstBreakdown invert_rows(const CudaQueue&, const PatternView&, const float*, const CsrView<float>&, float*);
template FirstBreakdown invert_rows(const CudaQueue&, const PatternView&, const double*, const CsrView<double>&,
                                    double*);

}  // namespace tulle::inline TULLE_ABI::factor
