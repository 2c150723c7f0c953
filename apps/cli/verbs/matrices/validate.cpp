// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// tulle validate: reads everything and checks it; exit code 1 with the first thing that is wrong.
//
// A reader refuses a malformed file itself (exit code 3): this verb judges the matrix that a well-formed file holds,
// and what a file of CSR arrays (.npz, .tulle) claims of itself.
#include <fmt/format.h>

#include "apps/cli/support/describe.hpp"
#include "apps/cli/support/failure.hpp"
#include "apps/cli/support/json.hpp"
#include "apps/cli/support/layout.hpp"
#include "apps/cli/support/progress.hpp"
#include "apps/cli/verbs.hpp"
#include "tulle/text.hpp"
#include "tulle/validate.hpp"

namespace tulle::cli {
namespace {

std::string duplicates_text(const io::FileInfo& file)
{
    if (file.duplicates.count == 0) return "no duplicates";
    return fmt::format("{} {} (first: {})", counted(file.duplicates.count, "duplicate", "duplicates"),
                       file.values == "stored" ? "added up" : "of a pattern left out", place_text(file.duplicates));
}

std::string first_fault(const Findings& found, const io::FileInfo& file, const ValidateOptions& options)
{
    if (!found.ok()) return found.problem;
    if (options.finite && found.not_finite > 0)
        return counted(found.not_finite, "value is", "values are") + " NaN or infinite";
    if (!options.matrix.strict) return "";
    if (file.duplicates.count > 0) return duplicates_text(file);
    const auto lost = io::warnings(options.matrix.text, file);
    return lost.empty() ? "" : lost.front().kind + " of values, " + place_text(lost.front().where);
}

Json to_json(const Findings& found, const io::FileInfo& file, const std::string& fault)
{
    return {{"ok", fault.empty()},
            {"problem", fault.empty() ? Json() : Json(fault)},
            {"row", found.row < 0 ? Json() : Json(found.row)},
            {"sorted", found.sorted},
            {"unique", found.unique && file.duplicates.count == 0},
            {"duplicates", cli::to_json(file.duplicates)},
            {"not_finite", found.not_finite}};
}

}  // namespace

void validate(const Session& session, const ValidateOptions& options)
{
    const Context ctx = session.host();
    Source source = options.matrix;
    source.strict = false;  // what is lost is a finding of this verb, not an error of the reader
    const Loaded<double> loaded = load<double>(session, ctx, source);
    const CsrView<double> a = loaded.matrix.view();
    const Findings found = tulle::validate(ctx, a);
    const std::string fault = first_fault(found, loaded.file, options), symmetry = symmetry_of(a, ctx.host().threads);
    if (session.settings.json) {
        Json result = about(options.matrix, a);
        result.update(to_json(found, loaded.file, fault));
        result["symmetry"] = symmetry;
        print(session, result);
    } else if (fault.empty()) {
        const std::string caveat =
            found.not_finite > 0
                ? fmt::format("; {} NaN or infinite", counted(found.not_finite, "value is", "values are"))
                : "";
        session.console.print(fmt::format("{}: sound; {}, {}, {}sorted, {}{}\n", options.matrix.text,
                                          shape_text(a.rows, a.cols), counted(a.nonzeros, "nonzero", "nonzeros"),
                                          symmetry == "general" ? "" : symmetry + ", ", duplicates_text(loaded.file),
                                          caveat));
    }
    require<CheckFailed>(fault.empty(), [&] { return concat(options.matrix.text, ": ", fault); });
}

}  // namespace tulle::cli
