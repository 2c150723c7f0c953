// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// tulle report: everything about a matrix in one HTML file that needs no network. The page (report/page.html) draws
// what stands in it as JSON.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>

#include "apps/cli/report/collect.hpp"
#include "apps/cli/report/operations.hpp"
#include "apps/cli/support/describe.hpp"
#include "apps/cli/support/layout.hpp"
#include "apps/cli/support/machine.hpp"
#include "apps/cli/support/progress.hpp"
#include "apps/cli/support/whole_file.hpp"
#include "apps/cli/verbs.hpp"
#include "cli/report_page.hpp"
#include "tulle/text.hpp"
#include "tulle/version.hpp"

namespace tulle::cli {
namespace {

void warn(Json& warnings, bool really, const std::string& text)
{
    if (really) warnings.push_back(text);
}

std::string today()
{
    return fmt::format("{:%Y-%m-%d}", std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now()));
}

// What a user should know before using the matrix.
Json warnings_of(const Portrait& portrait, const io::FileInfo& file, const Json& values)
{
    const Features& f = portrait.features;
    const auto number = [&](const char* key) { return values[key].get<offset_t>(); };
    const bool spread =
        !values["least"].is_null() && values["most"].get<double>() > 1e12 * values["least"].get<double>();
    Json list = Json::array();
    warn(list, f.row.nonzeros == 0, "The matrix has no entries.");
    warn(list, f.row.empty_rows > 0 && f.row.nonzeros > 0,
         fmt::format("{} without an entry: a square matrix with one is singular.",
                     counted(f.row.empty_rows, "row", "rows")));
    warn(list, f.empty_cols > 0 && f.row.nonzeros > 0,
         fmt::format("{} without an entry.", counted(f.empty_cols, "column", "columns")));
    warn(list, f.row.rows == f.row.cols && f.diagonal < f.row.rows,
         fmt::format("{} of the diagonal empty: Jacobi and triangular solves divide by it.",
                     counted(f.row.rows - f.diagonal, "place", "places")));
    warn(list, file.duplicates.count > 0,
         fmt::format("{} stored more than once; they were added up.",
                     counted(file.duplicates.count, "entry", "entries")));
    warn(list, number("zeros") > 0,
         fmt::format("{} with the value 0 stored.", counted(number("zeros"), "entry", "entries")));
    warn(list, number("not_finite") > 0,
         fmt::format("{} NaN or infinite.", counted(number("not_finite"), "value is", "values are")));
    warn(list, spread, "The values spread over more than twelve decades: sums lose small ones, scale rows or columns.");
    warn(list, number("too_large_for_f16") > 0,
         fmt::format("{} too large for f16.", counted(number("too_large_for_f16"), "value is", "values are")));
    warn(list, number("too_small_for_f16") > 0,
         fmt::format("{} 0 in f16.", counted(number("too_small_for_f16"), "value becomes", "values become")));
    warn(list, number("too_large_for_f32") > 0,
         fmt::format("{} too large for f32.", counted(number("too_large_for_f32"), "value is", "values are")));
    return list;
}

Json report_on(const Session& session, const Source& source, bool run, double bandwidth)
{
    const Context ctx = session.host();
    const Loaded<double> loaded = load<double>(session, ctx, source);
    const CsrView<double> a = loaded.matrix.view();
    const Portrait portrait = portray(session, ctx, a);
    const Activity work(session.console, concat("collecting facts about ", source.name()));
    Json result = {{"name", source.name()}};
    result.update(to_json(portrait));
    result["file"] = to_json(loaded.file);
    result["density_map"] = sections::density(a, ctx.host().threads);
    result["column_lengths"] = sections::column_lengths(a);
    result["values"] = sections::values(a);
    result["components"] = sections::components(a);
    result["levels"] = sections::levels(ctx, a);
    result["parts"] = sections::parts(ctx, a);
    result["warnings"] = warnings_of(portrait, loaded.file, result["values"]);
    const Features& f = portrait.features;
    result["operations"] = Json::array();
    for (const Context& where : session.contexts("all")) {
        const bool here = where.backend() == Backend::cpu;
        const double speed = here ? bandwidth : copy_bandwidth(where);
        for (Json& entry : sections::operations(where, a,
                                                {.run = run,
                                                .bandwidth = speed,
                                                .products = f.products,
                                                .full_diagonal = f.row.rows == f.row.cols && f.diagonal == f.row.rows}))
            result["operations"].push_back(entry);
    }
    return result;
}

// The page with its data. No name or comment of a file can end the script: "<" is written as \u003c.
std::string page_with(const Json& data)
{
    std::string text = data.dump(-1, ' ', true, Json::error_handler_t::replace), page = report_page;
    for (std::size_t at = 0; (at = text.find('<', at)) != std::string::npos;) text.replace(at, 1, "\\u003c");
    const std::string place = "{/* data */}";
    return page.replace(page.find(place), place.size(), text);
}

}  // namespace

void report(const Session& session, const ReportOptions& options)
{
    check_ending(options.to, ".html", "the report is a page: name it like report.html");
    check_writable(options.to);
    if (!options.compare.text.empty()) check_exists(options.compare);
    const Machine here = inspect_machine();
    const double bandwidth = [&] {
        const Activity work(session.console, "measuring memory");
        return read_bandwidth(session.host(), std::size_t{options.run ? 512u : 128u} << 20);
    }();
    Json matrices = Json::array({report_on(session, options.matrix, options.run, bandwidth)});
    if (!options.compare.text.empty()) {
        const Source second = options.matrix.with_text(options.compare.text);
        matrices.push_back(report_on(session, second, options.run, bandwidth));
    }
    const std::string page = page_with({{"version", build::version},
                                        {"cpu", here.cpu},
                                        {"threads", session.host().host().threads},
                                        {"bandwidth", bandwidth},
                                        {"date", today()},
                                        {"matrices", matrices}});
    write_whole_file(options.to, page);
    if (session.settings.json)
        return print(session, {{"matrix", options.matrix.text},
                               {"rows", matrices[0]["rows"]},
                               {"cols", matrices[0]["cols"]},
                               {"nonzeros", matrices[0]["nonzeros"]},
                               {"file", options.to},
                               {"bytes", page.size()},
                               {"warnings", matrices[0]["warnings"]}});
    session.console.print(fmt::format("{}: {}, {}\n", options.to, human_bytes(page.size()),
                                      counted(std::ssize(matrices[0]["warnings"]), "warning", "warnings")));
}

}  // namespace tulle::cli
