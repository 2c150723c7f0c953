// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A canvas of shapes, written as SVG. Needs nothing but this file.
#pragma once

#include <memory>

#include "apps/cli/picture/canvas.hpp"

namespace tulle::cli::picture {

std::unique_ptr<Canvas> make_vector(int width, int height);

}  // namespace tulle::cli::picture
