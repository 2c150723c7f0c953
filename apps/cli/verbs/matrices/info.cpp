// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// tulle info: what a person wants to know of a matrix.
#include <fmt/format.h>

#include "apps/cli/support/describe.hpp"
#include "apps/cli/support/json.hpp"
#include "apps/cli/support/layout.hpp"
#include "apps/cli/support/progress.hpp"
#include "apps/cli/verbs.hpp"
#include "tulle/generate.hpp"

namespace tulle::cli {

void info(const Session& session, const InfoOptions& options)
{
    const Context ctx = session.host();
    const Loaded<double> loaded = load<double>(session, ctx, options.matrix);
    const Portrait portrait = portray(session, ctx, loaded.matrix.view());
    if (session.settings.json) {
        Json result = {{"matrix", options.matrix.text}, {"name", options.matrix.name()}};
        result.update(to_json(portrait));
        result["file"] = to_json(loaded.file);
        result["seconds"] = {{"load", loaded.seconds}, {"features", portrait.seconds}};
        return print(session, result);
    }
    Facts facts = facts_of(portrait);
    facts.title = options.matrix.name();
    add_file_facts(facts, loaded.file);
    session.console.print(facts.text(session.console) + "\n" + row_length_bars(session.console, portrait.features.row));
}

}  // namespace tulle::cli
