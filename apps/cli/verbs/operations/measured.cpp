// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "apps/cli/verbs/operations/measured.hpp"

#include <fmt/format.h>

#include <cmath>

#include "tulle/text.hpp"

namespace tulle::cli {

std::string check_text(const std::optional<Verdict>& verdict)
{
    if (!verdict) return "not checked";
    return verdict->good() ? fmt::format("ok ({:.2g} of the bound)", verdict->worst)
                           : fmt::format("WRONG in row {} (counted from 0)", grouped(verdict->entry));
}

Json measured_json(const Measured& r)
{
    Json check;
    if (r.verdict) {
        const double worst = r.verdict->worst;
        check = {{"ok", r.verdict->good()},
                 {"worst", std::isfinite(worst) ? Json(worst) : Json()},
                 {"entry", r.verdict->entry}};
    }
    return {{"backend", r.backend},
            {"policy", r.policy},
            {"description", r.description},
            {"plan_seconds", r.plan_seconds},
            {"plan_bytes", r.plan_bytes},
            {"seconds", {{"median", r.median}, {"best", r.best}}},
            {"check", check}};
}

}  // namespace tulle::cli
