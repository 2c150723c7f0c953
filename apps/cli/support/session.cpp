// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "apps/cli/support/session.hpp"

#include <utility>

#include "tulle/context.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"

namespace tulle::cli {

std::vector<Context> Session::contexts(const std::string& backend) const
{
    const std::string no_cuda = backend == "cpu" ? "" : why_no_cuda();
    require<DeviceError>(
        backend != "cuda" || no_cuda.empty(), [&] { return concat("cuda cannot be used: ", no_cuda); },
        "use --backend cpu; tulle doctor tells more");
    if (!no_cuda.empty() && !std::exchange(*told_no_cuda, true)) console.say("cuda is left out: " + no_cuda);
    std::vector<Context> all;
    if (backend != "cuda") all.push_back(host());
    if (backend != "cpu" && no_cuda.empty()) all.push_back(cuda());
    return all;
}

}  // namespace tulle::cli
