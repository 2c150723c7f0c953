// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <clocale>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <thread>

#include "base/constant.hpp"
#include "base/hash.hpp"
#include "base/math.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"
#include "tulle/trace.hpp"

namespace tulle::inline TULLE_ABI {
namespace {

TEST(Error, CarriesWhatAndHint)
{
    const ShapeError error("x has 3 entries", "give it 4");
    EXPECT_STREQ(error.what(), "x has 3 entries\n  hint: give it 4");
    EXPECT_EQ(error.message(), "x has 3 entries");
    EXPECT_EQ(error.hint(), "give it 4");
    EXPECT_STREQ(ValueError("plain").what(), "plain");
}

TEST(Error, RequireThrowsTheKindAskedFor)
{
    EXPECT_NO_THROW(require(true, "never"));
    EXPECT_THROW(require(false, "shape"), ShapeError);
    EXPECT_THROW(require<ValueError>(false, [] { return std::string("lazy"); }), ValueError);
    bool built = false;
    require(true, [&] {
        built = true;
        return std::string();
    });
    EXPECT_FALSE(built) << "messages are put together only when needed";
}

TEST(Error, FormatErrorsAreFileErrors) { EXPECT_THROW(throw FormatError("A.mtx:3: bad"), FileError); }

TEST(Error, OutOfMemoryTellsTheNumbers)
{
    const OutOfMemory error("too much", 100, 60);
    EXPECT_EQ(error.needed(), 100u);
    EXPECT_EQ(error.available(), 60u);
}

TEST(Text, Concatenates) { EXPECT_EQ(concat("row ", 7, ": ", 0.5, " ", std::int64_t{-3}), "row 7: 0.5 -3"); }

TEST(Text, ConcatenatesNumbersAndTextsOfAllTypes)
{
    const std::string owned = "b";
    const char* const pointer = "c";
    EXPECT_EQ(concat("a", owned, pointer, std::string_view("de", 1)), "abcd");
    EXPECT_EQ(concat(std::numeric_limits<std::int64_t>::min(), ' ' - 33, " ",
                     std::numeric_limits<std::uint64_t>::max()),
              "-9223372036854775808-1 18446744073709551615");
    EXPECT_EQ(concat(std::uint8_t{200}, std::int16_t{-5}, true, " ", 0.25f, 1e300), "200-51 0.251e+300");
    EXPECT_EQ(concat(""), "");
}

TEST(Text, IsTheSameInEveryLocale)
{
    const std::string before = std::setlocale(LC_ALL, nullptr);
    if (!std::setlocale(LC_ALL, "de_DE.UTF-8")) GTEST_SKIP() << "no German locale here";
    EXPECT_EQ(concat(0.5), "0.5");
    EXPECT_EQ(human_bytes(1536), "1.5 KiB");
    std::setlocale(LC_ALL, before.c_str());
}

TEST(Text, GroupsDigits)
{
    EXPECT_EQ(grouped(0), "0");
    EXPECT_EQ(grouped(999), "999");
    EXPECT_EQ(grouped(1402553118), "1 402 553 118");
    EXPECT_EQ(grouped(-1234), "-1 234");
    EXPECT_EQ(grouped(-123), "-123");
}

TEST(Text, KeepsSomeDecimals)
{
    EXPECT_EQ(fixed(7.0249, 1), "7.0");
    EXPECT_EQ(fixed(-0.5, 0), "-0");
    EXPECT_EQ(fixed(1e300, 0).size(), 301u);
}

TEST(Text, NamesBytes)
{
    EXPECT_EQ(human_bytes(0), "0 B");
    EXPECT_EQ(human_bytes(1023), "1023 B");
    EXPECT_EQ(human_bytes(std::size_t{11} << 30), "11.0 GiB");
}

TEST(Text, ReadsBytes)
{
    EXPECT_EQ(parse_bytes("1024"), 1024u);
    EXPECT_EQ(parse_bytes("8GiB"), std::size_t{8} << 30);
    EXPECT_EQ(parse_bytes("1.5 MB"), 1500000u);
    EXPECT_EQ(parse_bytes("2k"), 2048u);
    for (const char* bad : {"", "GiB", "8 XB", "-1", "1e300GiB", "8GiBs"})
        EXPECT_THROW(parse_bytes(bad), ValueError) << bad;
}

TEST(Math, DividesAndRoundsUp)
{
    EXPECT_EQ(ceil_div(0, 8), 0);
    EXPECT_EQ(ceil_div(9, 8), 2);
    EXPECT_EQ(ceil_div(max_index, 2), 1 << 30);
    EXPECT_EQ(round_up(9, 8), 16);
    EXPECT_EQ(power_of_two_from(0), 1);
    EXPECT_EQ(power_of_two_from(33), 64);
    EXPECT_TRUE(is_power_of_two(64));
    EXPECT_FALSE(is_power_of_two(0));
    EXPECT_EQ(checked_product(1 << 20, 1 << 20, "bytes"), offset_t{1} << 40);
    EXPECT_THROW(checked_product(max_offset, 2, "bytes"), ValueError);
}

TEST(Constant, ReachesOnlyWhatWasCompiled)
{
    int seen = 0;
    with_constant<1, 2, 4>(2, [&](auto n) { seen = n(); });
    EXPECT_EQ(seen, 2);
    EXPECT_THROW((with_constant<1, 2, 4>(3, [](auto) {})), ValueError);
    int sum = 0;
    for_each_index<4>([&](auto i) { sum += static_cast<int>(i()); });
    EXPECT_EQ(sum, 6);
}

// Known values: every machine must give these, because generated matrices depend on them.
TEST(Hash, IsTheSameEverywhere)
{
    EXPECT_EQ(mix(0), 0xE220A8397B1DCDAFu);
    EXPECT_EQ(hash_of(7), mix(7));
    EXPECT_EQ(hash_of(7, 1, 2), mix(mix(mix(7) ^ 1) ^ 2));
    EXPECT_EQ(below(~std::uint64_t{0}, 10), 9u);
    EXPECT_EQ(below(0, 10), 0u);
    EXPECT_LT(unit(~std::uint64_t{0}), 1.0);
}

TEST(Trace, RecordsPhasesOfItsThread)
{
    {
        const trace::Phase nobody_listens{"before"};
    }
    int settled = 0;
    trace::Recorder recorder([&] { ++settled; });
    {
        const trace::Phase outer{"outer"};
        {
            const trace::Phase inner{"inner"};
        }
        std::thread([] { const trace::Phase elsewhere{"elsewhere"}; }).join();
    }
    ASSERT_EQ(recorder.phases().size(), 2u);
    EXPECT_EQ(recorder.phases()[0].name, "outer");
    EXPECT_EQ(recorder.phases()[1].name, "inner");
    EXPECT_EQ(recorder.phases()[1].depth, 1);
    EXPECT_GE(recorder.phases()[0].seconds, recorder.phases()[1].seconds);
    EXPECT_EQ(settled, 4);
}

int range_depth = 0, range_pushes = 0;

TEST(Trace, TellsTheProfiler)
{
    trace::set_ranges({[](const char*) {
                           ++range_depth;
                           ++range_pushes;
                       },
                       [] { --range_depth; }});
    {
        const trace::Phase phase{"a"};
        EXPECT_EQ(range_depth, 1);
    }
    trace::set_ranges({});
    {
        const trace::Phase phase{"b"};
    }
    EXPECT_EQ(range_depth, 0);
    EXPECT_EQ(range_pushes, 1);
}

}  // namespace
}  // namespace tulle::inline TULLE_ABI
