// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "apps/cli/picture/canvas.hpp"

#include <cairo-pdf.h>
#include <cairo-svg.h>
#include <cairo.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <utility>

#include "apps/cli/support/failure.hpp"
#include "apps/cli/support/json.hpp"
#include "tulle/text.hpp"

namespace tulle::cli::picture {

template <auto destroy>
struct Destroy {
    void operator()(auto* object) const { destroy(object); }
};
using Surface = std::unique_ptr<cairo_surface_t, Destroy<cairo_surface_destroy>>;
using Pen = std::unique_ptr<cairo_t, Destroy<cairo_destroy>>;

namespace {

constexpr double points_per_pixel = 72.0 / 96.0;  // of a PDF

cairo_status_t append(void* to, const unsigned char* bytes, unsigned int count)
{
    static_cast<std::string*>(to)->append(reinterpret_cast<const char*>(bytes), count);
    return CAIRO_STATUS_SUCCESS;
}

void check(cairo_status_t status)
{
    if (status == CAIRO_STATUS_NO_MEMORY) throw std::bad_alloc();
    if (status != CAIRO_STATUS_SUCCESS)
        throw Error(concat("Cairo could not draw the picture: ", cairo_status_to_string(status)));
}

// The same widths in every kind of file and at every size: nothing is rounded to pixels.
void choose_font(cairo_t* pen, double size, bool bold)
{
    cairo_select_font_face(pen, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
                           bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(pen, size);
    cairo_font_options_t* options = cairo_font_options_create();
    cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
    cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
    cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
    cairo_set_font_options(pen, options);
    cairo_font_options_destroy(options);
}

void choose_colour(cairo_t* pen, Colour c)
{
    cairo_set_source_rgb(pen, c.red / 255.0, c.green / 255.0, c.blue / 255.0);
}

double width_of(cairo_t* pen, const std::string& text)
{
    cairo_text_extents_t extents{};
    cairo_text_extents(pen, text.c_str(), &extents);
    return extents.x_advance;
}

Surface make_surface(std::string_view file, int width, int height, std::string* to)
{
    if (file.ends_with(".png")) return Surface(cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, height));
    if (file.ends_with(".pdf")) {
        Surface pdf(
            cairo_pdf_surface_create_for_stream(append, to, width * points_per_pixel, height * points_per_pixel));
        cairo_pdf_surface_set_metadata(pdf.get(), CAIRO_PDF_METADATA_CREATE_DATE,
                                       "");  // the same picture gives the same bytes
        return pdf;
    }
    Surface svg(cairo_svg_surface_create_for_stream(append, to, width, height));
    cairo_svg_surface_set_document_unit(svg.get(), CAIRO_SVG_UNIT_PX);
    return svg;
}

std::uint32_t packed(Colour c)
{
    return static_cast<std::uint32_t>(c.red) << 16 | static_cast<std::uint32_t>(c.green) << 8 | c.blue;
}

// One pixel for each cell.
Surface image_of(const Cells& map)
{
    Surface image(cairo_image_surface_create(CAIRO_FORMAT_RGB24, map.width, map.height));
    check(cairo_surface_status(image.get()));
    unsigned char* bytes = cairo_image_surface_get_data(image.get());
    const int stride = cairo_image_surface_get_stride(image.get());
    for (int y = 0; y < map.height; ++y)
        for (int x = 0; x < map.width; ++x)
            reinterpret_cast<std::uint32_t*>(bytes + std::ptrdiff_t{y} * stride)[x] =
                packed(colour_of_level(map.at(x, y)));
    cairo_surface_mark_dirty(image.get());
    return image;
}

}  // namespace

bool can_draw() { return true; }

void check_picture_name(std::string_view file)
{
    const bool known = file.ends_with(".png") || file.ends_with(".svg") || file.ends_with(".pdf");
    require<UsageError>(
        known, [&] { return concat("'", file, "' is neither .png nor .svg nor .pdf"); },
        "name the picture like matrix.png, matrix.svg or matrix.pdf");
}

double text_width(std::string_view text, double size, bool bold)
{
    const Surface surface(cairo_image_surface_create(CAIRO_FORMAT_A8, 1, 1));
    const Pen pen(cairo_create(surface.get()));
    choose_font(pen.get(), size, bold);
    return width_of(pen.get(), valid_utf8(std::string(text)));
}

struct Canvas::State {
    std::string bytes;  // of SVG and PDF, while they are drawn
    bool svg = false, png = false;
    Surface surface;
    Pen pen;
};

Canvas::Canvas(std::string_view file, int width, int height) : state_(std::make_unique<State>())
{
    check_picture_name(file);
    state_->svg = file.ends_with(".svg");
    state_->png = file.ends_with(".png");
    state_->surface = make_surface(file, width, height, &state_->bytes);
    check(cairo_surface_status(state_->surface.get()));
    state_->pen = Pen(cairo_create(state_->surface.get()));
    check(cairo_status(state_->pen.get()));
    if (!state_->svg && !state_->png) cairo_scale(state_->pen.get(), points_per_pixel, points_per_pixel);
    rectangle(0, 0, width, height, white);
}

Canvas::~Canvas() = default;

// Edges lie between pixels, so that nothing is blurred.
void Canvas::rectangle(double x, double y, double width, double height, Colour colour)
{
    cairo_t* pen = state_->pen.get();
    cairo_set_antialias(pen, CAIRO_ANTIALIAS_NONE);
    choose_colour(pen, colour);
    cairo_rectangle(pen, x, y, width, height);
    cairo_fill(pen);
}

// Upright and level lines are rectangles of whole pixels.
void Canvas::line(double x1, double y1, double x2, double y2, double thickness, Colour colour)
{
    const double wide = std::max(1.0, std::round(thickness)), half = wide / 2;
    if (x1 == x2) return rectangle(std::round(x1 - half), std::min(y1, y2), wide, std::abs(y2 - y1), colour);
    if (y1 == y2) return rectangle(std::min(x1, x2), std::round(y1 - half), std::abs(x2 - x1), wide, colour);
    cairo_t* pen = state_->pen.get();
    cairo_set_antialias(pen, CAIRO_ANTIALIAS_GRAY);
    choose_colour(pen, colour);
    cairo_set_line_width(pen, thickness);
    cairo_move_to(pen, x1, y1);
    cairo_line_to(pen, x2, y2);
    cairo_stroke(pen);
}

void Canvas::text(const Label& label)
{
    cairo_t* pen = state_->pen.get();
    choose_font(pen, label.size, label.bold);
    choose_colour(pen, label.colour);
    const std::string text = valid_utf8(label.text);  // Cairo draws nothing more once it was given other bytes
    const double width = label.anchor == Anchor::start ? 0 : width_of(pen, text);
    cairo_save(pen);
    cairo_translate(pen, label.x, label.y);
    if (label.upwards) cairo_rotate(pen, -std::acos(0.0));
    cairo_move_to(pen, label.anchor == Anchor::middle ? -width / 2 : -width, 0);
    cairo_show_text(pen, text.c_str());
    cairo_restore(pen);
}

// Many small cells are an image, which every kind of file holds in little space; few large ones are rectangles with a
// gap between them.
void Canvas::cells(double x, double y, const Cells& map)
{
    if (map.gap > 0) {
        const int margin = map.gap / 2;  // whole pixels
        for (int v = 0; v < map.height; ++v)
            for (int u = 0; u < map.width; ++u)
                if (map.at(u, v) != 0)
                    rectangle(x + u * map.across + margin, y + v * map.down + margin, map.across - map.gap,
                              map.down - map.gap, colour_of_level(map.at(u, v)));
        return;
    }
    const Surface image = image_of(map);
    cairo_t* pen = state_->pen.get();
    cairo_save(pen);
    cairo_translate(pen, x, y);
    cairo_scale(pen, map.across, map.down);
    cairo_set_source_surface(pen, image.get(), 0, 0);
    cairo_pattern_set_filter(cairo_get_source(pen), CAIRO_FILTER_NEAREST);
    cairo_paint(pen);
    cairo_restore(pen);
}

std::string Canvas::bytes()
{
    check(cairo_status(state_->pen.get()));
    state_->pen.reset();
    if (state_->png) check(cairo_surface_write_to_png_stream(state_->surface.get(), append, &state_->bytes));
    cairo_surface_finish(state_->surface.get());
    check(cairo_surface_status(state_->surface.get()));
    // Cairo does not tell a browser that the cells of a map shall keep their edges.
    constexpr std::string_view root = "<svg ";
    if (const auto at = state_->bytes.find(root); state_->svg && at != std::string::npos)
        state_->bytes.insert(at + root.size(), "style=\"image-rendering:pixelated\" ");
    return std::move(state_->bytes);
}

}  // namespace tulle::cli::picture
