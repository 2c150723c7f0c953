// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Dense tiles on a CPU, in plain loops: a row of a panel at a time, some columns of C in a small array, only places
// that are stored.
#include <algorithm>
#include <array>

#include "spmm/steps.hpp"

namespace tulle::inline TULLE_ABI::spmm {
namespace {

constexpr index_t columns_at_once = 64;
template <class V>
using Sums = std::array<Sum<V>, static_cast<std::size_t>(columns_at_once)>;

// Row r of a panel whose first tile is `first`, for columns [j, j + count) of B.
template <class V>
void add_row(const TilesView<V>& t, offset_t first, int r, const Operands<V, Sum<V>>& o, index_t j, index_t count,
             Sums<V>& sum)
{
    for (offset_t tile = first; tile < first + t.width && t.block_col[tile] >= 0; ++tile)
        for (int c = 0; c < tile_side; ++c) {
            if (!(t.present[tile * tile_side + r] >> c & 1u)) continue;
            const auto value = static_cast<Sum<V>>(t.value[tile * tile_places + place_in_tile<V>(r, c)]);
            const V* b = o.b + (t.block_col[tile] * offset_t{tile_side} + c) * o.b_row + j * o.b_col;
            for (index_t i = 0; i < count; ++i)
                sum[static_cast<std::size_t>(i)] += value * static_cast<Sum<V>>(b[i * o.b_col]);
        }
}

}  // namespace

template <class V, class C>
void multiply_tiles(const CpuQueue& q, const Tiles<V>& tiles, const Operands<V, C>& o)
{
    const TilesView<V> t = tiles.view();
#pragma omp parallel for num_threads(q.threads) schedule(dynamic, 4)
    for (index_t p = 0; p < t.panels; ++p) {
        if (t.width == 0 || t.block_col[offset_t{p} * t.width] < 0) continue;
        const index_t begin = (t.first_panel + p) * tile_side, end = std::min(t.rows, begin + tile_side);
        for (index_t position = begin; position < end; ++position)
            for (index_t j = 0; j < o.n; j += columns_at_once) {
                const index_t count = std::min(columns_at_once, o.n - j);
                Sums<V> sum{};
                add_row<V>(t, offset_t{p} * t.width, position - begin, o, j, count, sum);
                const RowFactor<V, C> scaled(o, t.row[position]);
                Sum<V>* c = o.c + t.row[position] * o.c_row + j * o.c_col;
                for (index_t i = 0; i < count; ++i)
                    c[i * o.c_col] += o.alpha * scaled(sum[static_cast<std::size_t>(i)]);
            }
    }
}

template <class V, class C>
void round_sums(const CpuQueue& q, index_t rows, const Sum<V>* sum, const Operands<V, C>& o)
{
#pragma omp parallel for num_threads(q.threads) schedule(static)
    for (index_t i = 0; i < rows; ++i)
        for (index_t j = 0; j < o.n; ++j) {
            C* to = o.c + i * o.c_row + j * o.c_col;
            const Sum<V> here = sum[offset_t{i} * o.n + j];
            *to = static_cast<C>(o.beta == 0 ? here : here + o.beta * static_cast<Sum<V>>(*to));
        }
}

template void multiply_tiles(const CpuQueue&, const Tiles<double>&, const Operands<double, double>&);
template void multiply_tiles(const CpuQueue&, const Tiles<float>&, const Operands<float, float>&);
template void multiply_tiles(const CpuQueue&, const Tiles<Float16>&, const Operands<Float16, float>&);
template void multiply_tiles(const CpuQueue&, const Tiles<Bfloat16>&, const Operands<Bfloat16, float>&);
template void multiply_tiles(const CpuQueue&, const Tiles<Float16>&, const Operands<Float16, Scaled<float>>&);
template void multiply_tiles(const CpuQueue&, const Tiles<Bfloat16>&, const Operands<Bfloat16, Scaled<float>>&);
template void round_sums(const CpuQueue&, index_t, const float*, const Operands<Float16, Float16>&);
template void round_sums(const CpuQueue&, index_t, const float*, const Operands<Bfloat16, Bfloat16>&);

}  // namespace tulle::inline TULLE_ABI::spmm
