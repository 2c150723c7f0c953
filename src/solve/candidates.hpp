// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Candidates: each is a method with a preconditioner; the first that can be made is set up.
#pragma once

#include <variant>

#include "tulle/error.hpp"
#include "tulle/solve.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::solve {

inline bool is_matched(const Choice& c)
{
    const auto* p = std::get_if<Incomplete>(&c.preconditioner);
    return p != nullptr && p->match;
}

// Calls set_up(s) for the current candidate of a PlanState, and for those after it while it fails.
template <class State, class SetUp>
void set_up_in_turn(State& s, const SetUp& set_up)
{
    bool singular = false;  // rows cannot be matched
    for (;; ++s.current) {
        if (singular && is_matched(s.choice()) && !s.is_last()) continue;
        try {
            return set_up(s);
        } catch (const ValueError& e) {
            if (!s.chosen || s.is_last()) throw;
            s.skipped += concat(s.skipped.empty() ? "" : "; ", to_text(s.choice().preconditioner),
                                " cannot be made: ", e.message());
        } catch (const OutOfMemory& e) {
            if (!s.chosen || s.is_last()) throw;
            s.skipped += concat(s.skipped.empty() ? "" : "; ", to_text(s.choice().preconditioner),
                                " does not fit: ", e.message());
        }
        singular = singular || is_matched(s.choice());
    }
}

}  // namespace tulle::inline TULLE_ABI::solve
