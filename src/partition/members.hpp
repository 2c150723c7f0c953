// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Small questions that every plan for a team asks.
#pragma once

#include "tulle/error.hpp"
#include "tulle/team.hpp"
#include "tulle/text.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI::partition {

// Where a matrix on the host is looked at. Threads are for large ones: waiting for each other they cost more than a
// small one does.
inline Context host_for(offset_t nonzeros)
{
    constexpr offset_t small = offset_t{1} << 16;
    return Context::cpu(nonzeros < small ? 1 : 0);
}

// One member that wants the same bits every time wants them of all.
inline bool is_deterministic(const Team& team)
{
    for (int member = 0; member < team.size(); ++member)
        if (team[member].is_deterministic()) return true;
    return false;
}

inline void require_member(int member, int members)
{
    require<ValueError>(member >= 0 && member < members,
                        [&] { return concat("there is no member ", member, " in a team of ", members); });
}

}  // namespace tulle::inline TULLE_ABI::partition
