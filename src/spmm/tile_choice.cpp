// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "spmm/tile_choice.hpp"

#include "tulle/error.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::spmm {
namespace {

struct Seconds {
    double tile, panel, nonzero;
};

Seconds seconds_of(const CostModel& model, index_t n, std::size_t value_bytes)
{
    const double columns = static_cast<double>(n), bytes = static_cast<double>(value_bytes);
    constexpr double places = tile_places, side = tile_side, small_tiles = places / (16 * 8);
    return {model.per_byte * side * columns * bytes + model.per_tile_column * small_tiles * columns +
                model.per_memory_byte * places * bytes,
            2 * model.per_panel_column * side / panel_rows * columns,
            model.per_nonzero_column * columns};  // sums are read and written
}

}  // namespace

TileRule fixed_density(double delta)
{
    require<ValueError>(
        delta >= 0 && delta <= 1, [&] { return concat("delta = ", delta, " is no density"); }, "0 to 1");
    return {.least = delta * tile_places, .gain = 0};
}

TileRule cheapest_density(const CostModel& model, index_t n, std::size_t value_bytes)
{
    const Seconds s = seconds_of(model, n > 0 ? n : 1, value_bytes);
    return {.least = s.tile / s.nonzero, .gain = s.panel / s.nonzero};
}

double tiles_seconds(const CostModel& model, index_t rows, offset_t tiles, offset_t panels, offset_t rest, index_t n,
                     std::size_t value_bytes)
{
    const Seconds s = seconds_of(model, n, value_bytes);
    return model.start + s.tile * static_cast<double>(tiles) + s.panel * static_cast<double>(panels) +
           rows_seconds(model, rows, rest, n);
}

}  // namespace tulle::inline TULLE_ABI::spmm
