// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// tulle validate: reads everything and checks it; exit code 1 with the first thing that is wrong.
//
// A reader refuses a malformed file itself (exit code 3): this verb judges the matrix that a well-formed file holds, and what a file
// of CSR arrays (.npz, .tulle) claims of itself.
#include <fmt/format.h>

#include "apps/cli/describe.hpp"
#include "apps/cli/failure.hpp"
#include "apps/cli/json.hpp"
#include "apps/cli/layout.hpp"
#include "apps/cli/progress.hpp"
#include "apps/cli/verbs.hpp"
#include "tulle/base/text.hpp"
#include "tulle/matrix/validate.hpp"

namespace tulle::cli {
namespace {

std::string first_fault(const Findings& found, bool finite)
{
    if (!found.ok()) return found.problem;
    if (finite && found.not_finite > 0) return counted(found.not_finite, "value is", "values are") + " NaN or infinite";
    return "";
}

Json to_json(const Findings& found, const std::string& fault)
{
    return {{"ok", fault.empty()},
            {"problem", fault.empty() ? Json() : Json(fault)},
            {"row", found.row < 0 ? Json() : Json(found.row)},
            {"sorted", found.sorted},
            {"unique", found.unique},
            {"not_finite", found.not_finite}};
}

}  // namespace

void validate(const Session& session, const ValidateOptions& options)
{
    const Context ctx = session.host();
    const Loaded<double> loaded = load<double>(session, ctx, options.matrix);
    const CsrView<double> a = loaded.matrix.view();
    const Findings found = tulle::validate(ctx, a);
    const std::string fault = first_fault(found, options.finite);
    if (session.settings.json) {
        Json result = {{"matrix", options.matrix.text}};
        result.update(to_json(found, fault));
        print(session, result);
    } else if (fault.empty()) {
        const std::string caveat = found.not_finite > 0 ? fmt::format("; {} NaN or infinite", counted(found.not_finite, "value is", "values are")) : "";
        session.console.print(fmt::format("{}: sound; {}, {} nonzeros, sorted, no duplicates{}\n", options.matrix.text, shape_text(a.rows, a.cols),
                                          grouped(a.nonzeros), caveat));
    }
    require<CheckFailed>(fault.empty(), [&] { return concat(options.matrix.text, ": ", fault); });
}

}  // namespace tulle::cli
