// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// tulle convert: from any format that can be read (or generated) to any that can be written.
#include <fmt/format.h>

#include <filesystem>

#include "apps/cli/support/describe.hpp"
#include "apps/cli/support/json.hpp"
#include "apps/cli/support/layout.hpp"
#include "apps/cli/support/progress.hpp"
#include "apps/cli/support/store.hpp"
#include "apps/cli/verbs.hpp"

namespace tulle::cli {
namespace {

template <class V>
void convert_as(const Session& session, const ConvertOptions& options)
{
    const io::WriteOptions how{.comment = options.comment,
                               .symmetric = options.symmetric,
                               .pattern = options.pattern,
                               .format = options.format};
    check_store(options.to, how);
    const Context ctx = session.host();
    const Loaded<V> loaded = load<V>(session, ctx, options.matrix);
    Json result{{"matrix", options.matrix.text}};
    result.update(store(session, ctx, options.to, loaded.matrix.view(), how));
    if (loaded.file.values != "stored") result["values"] = loaded.file.values;
    if (session.settings.json) print(session, result);
}

}  // namespace

void convert(const Session& session, const ConvertOptions& options)
{
    options.type == "f32" ? convert_as<float>(session, options) : convert_as<double>(session, options);
}

}  // namespace tulle::cli
