// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Which tiles are dense enough for tensor cores: by a fixed density, as in the paper, or by what they cost. Pure
// functions of counts.
#pragma once

#include <array>

#include "spmm/order/choose.hpp"
#include "spmm/tiles.hpp"
#include "tulle/api.hpp"

namespace tulle::inline TULLE_ABI::spmm {

// Tiles with more than delta * 32 * 32 nonzeros. ValueError where delta is no density.
TULLE_API TileRule fixed_density(double delta);

// A tile is worth what its nonzeros would cost in the rest; it costs the fetching of its rows of B, its product and its
// own numbers. A panel with tiles reads and writes its rows of C once more: where all its tiles together do not gain
// that, it has none. So delta is chosen panel by panel.
TULLE_API TileRule cheapest_density(const CostModel& model, index_t n, std::size_t value_bytes);

// Predicted seconds of both products. `panels`: those with a dense tile.
TULLE_API double tiles_seconds(const CostModel& model, index_t rows, offset_t tiles, offset_t panels, offset_t rest,
                               index_t n, std::size_t value_bytes);

// What Effort::search tries beside the cheapest: as wide a sweep as the authors' scripts make, in fewer steps.
inline constexpr std::array searched_densities{0.02, 0.05, 0.1, 0.2, 0.4};

}  // namespace tulle::inline TULLE_ABI::spmm
