// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "apps/cli/store.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <type_traits>

#include "apps/cli/describe.hpp"
#include "apps/cli/json.hpp"
#include "apps/cli/layout.hpp"
#include "apps/cli/progress.hpp"
#include "tulle/base/text.hpp"

namespace tulle::cli {

template <class V>
void store(const Session& session, const Context& ctx, const std::string& file, const CsrView<V>& a, io::WriteOptions how)
{
    double seconds = 0;
    {
        Activity work(session.console, concat("writing ", file));
        how.progress = work.progress();
        io::write(ctx, file, a, how);
        seconds = work.seconds();
    }
    const auto bytes = std::filesystem::file_size(file);
    session.console.say(fmt::format("wrote {} in {}", file, seconds_text(seconds)));
    if (session.settings.json) {
        const char* type = std::is_same_v<V, float> ? "f32" : "f64";
        return print(session, {{"file", file}, {"rows", a.rows}, {"cols", a.cols}, {"nonzeros", a.nonzeros}, {"type", type}, {"bytes", bytes}, {"seconds", seconds}});
    }
    session.console.print(fmt::format("{}: {}, {} nonzeros, {}\n", file, shape_text(a.rows, a.cols), grouped(a.nonzeros), human_bytes(bytes)));
}

template void store(const Session&, const Context&, const std::string&, const CsrView<float>&, io::WriteOptions);
template void store(const Session&, const Context&, const std::string&, const CsrView<double>&, io::WriteOptions);

}  // namespace tulle::cli
