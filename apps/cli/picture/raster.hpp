// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A canvas of pixels, written as PNG. Only there when libpng was found.
#pragma once

#include <memory>

#include "apps/cli/picture/canvas.hpp"

namespace tulle::cli::picture {

std::unique_ptr<Canvas> make_raster(int width, int height);

}  // namespace tulle::cli::picture
