// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A build without Cairo: whoever asks for a picture is told what is missing.
#include "apps/cli/picture/canvas.hpp"
#include "tulle/error.hpp"

namespace tulle::cli::picture {

struct Canvas::State {};

bool can_draw() { return false; }
void check_picture_name(std::string_view)
{
    throw NotBuilt("this build of tulle draws no pictures: Cairo was not found",
                   "install Cairo (Debian: libcairo2-dev), then configure and build again");
}
double text_width(std::string_view, double, bool) { return 0; }
Canvas::Canvas(std::string_view file, int, int) { check_picture_name(file); }
Canvas::~Canvas() = default;
void Canvas::rectangle(double, double, double, double, Colour) {}
void Canvas::line(double, double, double, double, double, Colour) {}
void Canvas::text(const Label&) {}
void Canvas::cells(double, double, const Cells&) {}
std::string Canvas::bytes() { return {}; }

}  // namespace tulle::cli::picture
