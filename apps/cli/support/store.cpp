// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "apps/cli/support/store.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>
#include <type_traits>

#include "apps/cli/support/describe.hpp"
#include "apps/cli/support/failure.hpp"
#include "apps/cli/support/json.hpp"
#include "apps/cli/support/layout.hpp"
#include "apps/cli/support/progress.hpp"
#include "io/formats.hpp"
#include "io/sink.hpp"
#include "tulle/text.hpp"

namespace tulle::cli {

void check_store(const std::string& file, const io::WriteOptions& how)
{
    require<UsageError>(
        !how.format.empty() || io::is_stream(file) || io::find_format(file),
        [&] { return concat(file, ": the end of the name says no format that tulle writes"); },
        io::known_endings(std::filesystem::path(file).extension().string(), io::Endings::written));
    io::check_write(file, how);
}

template <class V>
Json store(const Session& session, const Context& ctx, const std::string& file, const CsrView<V>& a,
           io::WriteOptions how)
{
    double seconds = 0;
    {
        Activity work(session.console, concat("writing ", file));
        how.progress = work.progress();
        io::write(ctx, file, a, how);
        seconds = work.seconds();
    }
    std::error_code none;
    const auto size = io::is_stream(file) ? 0 : std::filesystem::file_size(file, none);
    const Json bytes = io::is_stream(file) ? Json() : Json(size);
    session.console.say(fmt::format("wrote {} in {}", file, seconds_text(seconds)));
    if (!session.settings.json)
        session.console.print(fmt::format("{}: {}, {}{}\n", file, shape_text(a.rows, a.cols),
                                          counted(a.nonzeros, "nonzero", "nonzeros"),
                                          bytes.is_null() ? "" : ", " + human_bytes(size)));
    const char* type = std::is_same_v<V, float> ? "f32" : "f64";
    return {{"file", file}, {"rows", a.rows}, {"cols", a.cols},    {"nonzeros", a.nonzeros},
            {"type", type}, {"bytes", bytes}, {"seconds", seconds}};
}

template Json store(const Session&, const Context&, const std::string&, const CsrView<float>&, io::WriteOptions);
template Json store(const Session&, const Context&, const std::string&, const CsrView<double>&, io::WriteOptions);

}  // namespace tulle::cli
