// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// tulle spy --levels: how many rows of the lower triangle can be solved at the same time, level after level, before and
// after merging rows.
#include <fmt/format.h>

#include <algorithm>

#include "apps/cli/picture/plot.hpp"
#include "apps/cli/picture/widths.hpp"
#include "apps/cli/support/failure.hpp"
#include "apps/cli/support/json.hpp"
#include "apps/cli/support/layout.hpp"
#include "apps/cli/support/progress.hpp"
#include "apps/cli/verbs.hpp"
#include "tulle/sptrsv.hpp"
#include "tulle/text.hpp"

namespace tulle::cli {
namespace {

std::string panel_title(std::string_view what, const std::vector<offset_t>& rows)
{
    const offset_t widest = rows.empty() ? 0 : *std::max_element(rows.begin(), rows.end());
    return fmt::format("{}: {}, the widest has {}", what, counted(std::ssize(rows), "level", "levels"),
                       counted(widest, "row", "rows"));
}

}  // namespace

void spy_levels(const Session& session, const SpyOptions& options)
{
    require<UsageError>(
        options.size >= 64 && options.size <= 8192,
        [&] { return concat("a picture of ", options.size, " pixels is out of range"); }, "use 64 to 8192");
    picture::check_picture(options.to, options.format);
    const Context ctx = session.host();
    const Loaded<double> loaded = load<double>(session, ctx, options.matrix);
    const sptrsv::LevelWidths widths =
        sptrsv::level_widths<double>(ctx, loaded.matrix.view(),
                                     {.unit_diagonal = true, .other_side = sptrsv::OtherSide::ignore});
    const auto before = std::ssize(widths.unmerged), after = std::ssize(widths.merged);
    {
        const Activity work(session.console, concat("drawing ", options.to));
        picture::write_widths(
            options.to,
            {.title = options.title.empty() ? concat(options.matrix.name(), ", lower triangle") : options.title,
             .panels = {{panel_title("single rows", widths.unmerged), widths.unmerged},
                        {panel_title("critical-path nodes of up to 32 rows", widths.merged), widths.merged}},
             .size = options.size,
             .format = options.format,
             .legend = !options.no_legend});
    }
    if (session.settings.json) {
        Json result = about(options.matrix, loaded.matrix.view());
        result.update({{"file", options.to}, {"levels", before}, {"levels_clustered", after}});
        return print(session, result);
    }
    session.console.print(fmt::format("{}: {} in {}, {} after merging rows\n", options.to,
                                      counted(loaded.matrix.rows, "row", "rows"), counted(before, "level", "levels"),
                                      grouped(after)));
}

}  // namespace tulle::cli
