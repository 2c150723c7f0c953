// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What --json prints: one object, two spaces deep, numbers as numbers.
#pragma once

#include <nlohmann/json.hpp>

#include "apps/cli/support/session.hpp"
#include "apps/cli/support/source.hpp"
#include "tulle/features.hpp"

namespace tulle::cli {

using Json = nlohmann::ordered_json;

// How the result of a verb about one matrix begins; the same keys in all of them.
template <class V>
Json about(const Source& matrix, const CsrView<V>& a)
{
    return {{"matrix", matrix.text}, {"rows", a.rows}, {"cols", a.cols}, {"nonzeros", a.nonzeros}};
}

// Names of files and comments may hold any bytes: what is not UTF-8 is replaced.
inline std::string valid_utf8(const std::string& text)
{
    return Json::parse(Json(text).dump(-1, ' ', false, Json::error_handler_t::replace)).get<std::string>();
}

inline Json to_json(const io::Occurrences& found)  // null: never
{
    if (found.count == 0) return {};
    return {{"count", found.count},
            {"line", found.line > 0 ? Json(found.line) : Json()},
            {"row", found.row},
            {"col", found.col},
            {"counted_from", 0}};
}

inline Json to_json(const io::Warning& warning)
{
    Json json{{"kind", warning.kind}, {"message", warning.message}};
    json.update(to_json(warning.where));
    return json;
}

// A result that is an object also tells what was lost while files were read ("warnings").
inline void print(const Session& session, Json result)
{
    if (result.is_object() && !session.warnings->empty()) {
        result["warnings"] = Json::array();
        for (const io::Warning& warning : *session.warnings) result["warnings"].push_back(to_json(warning));
    }
    // A file's comment may hold any bytes; what is not UTF-8 is replaced rather than fatal.
    session.console.print(result.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace tulle::cli
