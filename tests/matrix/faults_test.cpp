// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Looking at a matrix and moving it while allocations fail.
#include <gtest/gtest.h>

#include "support/backends.hpp"
#include "support/battery.hpp"
#include "support/faults.hpp"
#include "tulle/convert.hpp"
#include "tulle/features.hpp"
#include "tulle/transfer.hpp"
#include "tulle/validate.hpp"

namespace tulle::inline TULLE_ABI {
namespace {

using namespace tulle::test;

class LookOn : public OnBackend {};

TEST_P(LookOn, FailedAllocationsLeaveNothingBehind)
{
    const auto c = ctx();
    const auto host = shuffled_with_duplicates(random_matrix<double>(30, 30, 0.2, Values::integers, 5), 7);
    const auto a = to_device(c, host.view());
    const Features want = features(c, a.view());
    expect_clean_failures(c, [&] { EXPECT_EQ(validate(c, a.view()).problem, ""); });
    expect_clean_failures(c, [&] {
        const Features got = features(c, a.view());
        EXPECT_EQ(got.lower_levels, want.lower_levels);
        EXPECT_EQ(got.pattern_symmetry, want.pattern_symmetry);
    });
    expect_clean_failures(c, [&] { (void)to_device(c, host.view()); });
    expect_clean_failures(c, [&] { (void)to_host(c, a.view()); });
}

TULLE_ON_BACKENDS(LookOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI
