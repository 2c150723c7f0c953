// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Matrix Market files that are right: every field with every symmetry, what is tolerated, and numbers to the last bit.
#include <clocale>
#include <cmath>
#include <limits>

#include "io/files.hpp"
#include "support/battery.hpp"
#include "tulle/text.hpp"

namespace tulle::test {
namespace {

class MatrixMarket : public InFolder {
protected:
    Csr<double> read(std::string_view text, io::ReadOptions options = {}, io::FileInfo* info = nullptr,
                     int threads = 2) const
    {
        return io::read<double>(Context::cpu(threads), file("a.mtx", text), options, info);
    }
    Entries entries(std::string_view text, const io::ReadOptions& options = {}) const
    {
        return entries_of(read(text, options));
    }
};

struct Kind {
    std::string banner, body;
    Entries entries;
};

// 3 by 3 with what the lower triangle holds; skew-symmetric has no diagonal.
const Kind kinds[] = {
    {"coordinate real general", "3 3 3\n1 2 1.5\n3 1 -2\n2 2 4e-1\n", {{0, 1, 1.5}, {1, 1, 0.4}, {2, 0, -2}}},
    {"coordinate real symmetric",
     "3 3 3\n2 1 1.5\n3 1 -2\n2 2 4\n",
     {{0, 1, 1.5}, {0, 2, -2}, {1, 0, 1.5}, {1, 1, 4}, {2, 0, -2}}},
    {"coordinate real skew-symmetric", "3 3 2\n2 1 1.5\n3 1 -2\n", {{0, 1, -1.5}, {0, 2, 2}, {1, 0, 1.5}, {2, 0, -2}}},
    {"coordinate integer general", "3 3 2\n1 2 -7\n3 1 +9\n", {{0, 1, -7}, {2, 0, 9}}},
    {"coordinate integer symmetric", "3 3 2\n2 1 5\n3 3 6\n", {{0, 1, 5}, {1, 0, 5}, {2, 2, 6}}},
    {"coordinate integer skew-symmetric", "3 3 1\n3 2 5\n", {{1, 2, -5}, {2, 1, 5}}},
    {"coordinate complex general", "3 3 2\n1 2 1.5 9\n3 1 -2 8\n", {{0, 1, 1.5}, {2, 0, -2}}},
    {"coordinate complex symmetric", "3 3 2\n2 1 1.5 9\n3 3 -2 8\n", {{0, 1, 1.5}, {1, 0, 1.5}, {2, 2, -2}}},
    {"coordinate complex skew-symmetric", "3 3 1\n2 1 1.5 9\n", {{0, 1, -1.5}, {1, 0, 1.5}}},
    {"coordinate complex hermitian", "3 3 2\n2 1 1.5 9\n3 3 -2 0\n", {{0, 1, 1.5}, {1, 0, 1.5}, {2, 2, -2}}},
    {"coordinate pattern general", "3 3 2\n1 2\n3 1\n", {{0, 1, 1}, {2, 0, 1}}},
    {"coordinate pattern symmetric", "3 3 2\n2 1\n3 3\n", {{0, 1, 1}, {1, 0, 1}, {2, 2, 1}}},
    {"array real general", "2 3\n1\n0\n3\n4\n5\n6.5\n", {{0, 0, 1}, {0, 1, 3}, {0, 2, 5}, {1, 1, 4}, {1, 2, 6.5}}},
    {"array real symmetric",
     "3 3\n1\n2\n0\n4\n5\n6\n",
     {{0, 0, 1}, {0, 1, 2}, {1, 0, 2}, {1, 1, 4}, {1, 2, 5}, {2, 1, 5}, {2, 2, 6}}},
    {"array real skew-symmetric",
     "3 3\n1\n2\n3\n",
     {{0, 1, -1}, {0, 2, -2}, {1, 0, 1}, {1, 2, -3}, {2, 0, 2}, {2, 1, 3}}},
    {"array integer general", "1 2\n3\n4\n", {{0, 0, 3}, {0, 1, 4}}},
    {"array integer symmetric", "2 2\n3\n4\n5\n", {{0, 0, 3}, {0, 1, 4}, {1, 0, 4}, {1, 1, 5}}},
    {"array integer skew-symmetric", "2 2\n7\n", {{0, 1, -7}, {1, 0, 7}}},
    {"array complex general", "1 2\n3 1\n4 2\n", {{0, 0, 3}, {0, 1, 4}}},
    {"array complex symmetric", "2 2\n3 1\n4 1\n5 1\n", {{0, 0, 3}, {0, 1, 4}, {1, 0, 4}, {1, 1, 5}}},
    {"array complex skew-symmetric", "2 2\n7 1\n", {{0, 1, -7}, {1, 0, 7}}},
    {"array complex hermitian", "2 2\n3 0\n4 1\n5 0\n", {{0, 0, 3}, {0, 1, 4}, {1, 0, 4}, {1, 1, 5}}},
};

TEST_F(MatrixMarket, EveryFieldWithEverySymmetry)
{
    for (const Kind& kind : kinds) {
        SCOPED_TRACE(kind.banner);
        io::FileInfo info;
        const Csr<double> a =
            read("%%MatrixMarket matrix " + kind.banner + "\n" + kind.body, {.complex = io::Complex::real_part}, &info);
        EXPECT_EQ(entries_of(a), kind.entries);
        EXPECT_TRUE(a.sorted && a.unique);
        EXPECT_EQ(a.row_begin.size(), a.rows + 1);
        EXPECT_EQ(a.col.size(), a.value.size());
        EXPECT_EQ(info.format, "Matrix Market " + kind.banner);
        EXPECT_EQ(kind.banner, kind.banner.substr(0, kind.banner.find(' ')) + " " + info.field + " " + info.symmetry);
        std::string shouted = kind.banner;
        for (char& c : shouted) c = static_cast<char>(std::toupper(c));
        EXPECT_EQ(entries("%%MATRIXMARKET MATRIX " + shouted + "\n" + kind.body, {.complex = io::Complex::real_part}),
                  kind.entries);
    }
}

TEST_F(MatrixMarket, ComplexNeedsBothParts)
{
    EXPECT_EQ(message_of([&] {
                  read("%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 5\n",
                       {.complex = io::Complex::real_part});
              }),
              "a.mtx:3: the value is missing");
}

TEST_F(MatrixMarket, EntriesOfPatternsAreOne)
{
    io::FileInfo info;
    const Csr<double> a = read("%%MatrixMarket matrix coordinate pattern symmetric\n3 3 3\n2 1\n3 3\n2 1\n", {}, &info);
    EXPECT_EQ(entries_of(a), (Entries{{0, 1, 1}, {1, 0, 1}, {2, 2, 1}}));
    EXPECT_EQ(info.values, "ones");
    read("%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 5\n", {.random_values = 3}, &info);
    EXPECT_EQ(info.values, "stored");
}

TEST_F(MatrixMarket, RandomValuesOfPatternsAreSymmetricAndFollowTheSeed)
{
    io::FileInfo info;
    const std::string text = "%%MatrixMarket matrix coordinate pattern general\n3 3 4\n1 2\n2 1\n3 1\n3 3\n";
    const Entries seven = entries_of(read(text, {.random_values = 7}, &info)),
                  again = entries_of(read(text, {.random_values = 7})),
                  eight = entries_of(read(text, {.random_values = 8}));
    EXPECT_EQ(info.values, "random:7");
    EXPECT_EQ(seven, again);
    EXPECT_NE(seven, eight);
    EXPECT_EQ(std::get<2>(seven[0]), std::get<2>(seven[1])) << "(1, 2) and (2, 1)";
    EXPECT_NE(std::get<2>(seven[2]), std::get<2>(seven[3]));
    EXPECT_EQ(seven[0], (std::tuple<index_t, index_t, double>{0, 1, io::pattern_value(1, 0, 7)}));
    for (const auto& [i, j, v] : seven) EXPECT_TRUE(v >= 0.5 && v < 1.5);
}

TEST_F(MatrixMarket, TellsWhatTheFileSaid)
{
    io::FileInfo info;
    read("%%MatrixMarket matrix coordinate real symmetric\n% by hand\n%\n%% twice\n2 2 2\n1 1 1\n2 1 1\n", {}, &info);
    EXPECT_EQ(info.comment, "by hand\ntwice\n");
    EXPECT_EQ(info.stored, 2);
    EXPECT_EQ(info.symmetry, "symmetric");
}

TEST_F(MatrixMarket, ToleratesWhatIsHarmless)
{
    const std::string banner = "%%MatrixMarket matrix coordinate real general\n";
    const Entries two{{0, 1, 1.5}, {1, 0, 2.0}};
    const std::string plain = banner + "2 2 2\n1 2 1.5\n2 1 2\n";
    EXPECT_EQ(entries(plain), two);
    std::string crlf = plain;
    for (std::size_t at = 0; (at = crlf.find('\n', at)) != std::string::npos; at += 2) crlf.insert(at, 1, '\r');
    EXPECT_EQ(entries(crlf), two);
    EXPECT_EQ(entries(plain.substr(0, plain.size() - 1)), two) << "no line end at the end";
    EXPECT_EQ(entries(plain + "\n\n  \n% the end\n"), two);
    EXPECT_EQ(entries(banner + "\n% here\n\n  2\t2   2  \n% in the middle\n\n  1 \t 2  1.5 \n   % indented\n2 1 2\n"),
              two);
    EXPECT_EQ(entries("%%matrixmarket   matrix\tCoordinate REAL general  \n2 2 2\n1 2 +1.5\n2 1 2.0D0\n"), two);
    EXPECT_EQ(entries(banner + "+2 2 2\n+1 2 1.5\n2 +1 2\n"), two);
}

TEST_F(MatrixMarket, AddsEntriesAtTheSamePositionInTheOrderOfTheFile)
{
    const std::string banner = "%%MatrixMarket matrix coordinate real general\n";
    EXPECT_EQ(entries(banner + "2 2 4\n1 1 1e100\n2 2 1\n1 1 1\n1 1 -1e100\n"),
              (Entries{{0, 0, (1e100 + 1) - 1e100}, {1, 1, 1}}));
    EXPECT_EQ(entries(banner + "2 2 4\n1 1 1e100\n2 2 1\n1 1 -1e100\n1 1 1\n"), (Entries{{0, 0, 1}, {1, 1, 1}}));
    EXPECT_EQ(entries(banner + "1 1 2\n1 1 0\n1 1 0\n"), (Entries{{0, 0, 0}})) << "explicit zeros stay";
    EXPECT_EQ(entries("%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n2 1 1\n2 1 2\n1 1 3\n"),
              (Entries{{0, 0, 3}, {0, 1, 3}, {1, 0, 3}}));
}

double value_of(const Csr<double>& a) { return a.value.data()[0]; }

TEST_F(MatrixMarket, NumbersToTheLastBit)
{
    const auto value = [&](const std::string& number) {
        return value_of(read("%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 " + number + "\n"));
    };
    EXPECT_EQ(value("0.1"), 0.1);
    EXPECT_EQ(value("4.9e-324"), std::numeric_limits<double>::denorm_min());
    EXPECT_EQ(value("1.7976931348623157e308"), std::numeric_limits<double>::max());
    EXPECT_EQ(value("9007199254740993"), 9007199254740992.0);
    EXPECT_EQ(value("123456789012345678901234567890.5e-10"), 12345678901234567890.12345678905);
    EXPECT_EQ(value("0.000" + std::string(400, '0') + "1e404"), 1.0);
    EXPECT_EQ(value("1e-400"), 0.0);
    EXPECT_EQ(value("0e999999999999999999999"), 0.0);
    EXPECT_TRUE(std::signbit(value("-1e-99999")));
    EXPECT_TRUE(std::signbit(value("-0")));
    EXPECT_TRUE(std::isnan(value("nan")) && std::isnan(value("NaN")));
    EXPECT_EQ(value("inf"), std::numeric_limits<double>::infinity());
    EXPECT_EQ(value("-Infinity"), -std::numeric_limits<double>::infinity());
    EXPECT_EQ(value("1.5D+03"), 1500.0);
    EXPECT_EQ(message_of([&] { value(std::string(400, '1')); }),
              "a.mtx:3: the value '11111111111111111111111111111111…' does not fit double");
    EXPECT_EQ(message_of([&] { value("1e99999999999999999999"); }),
              "a.mtx:3: the value '1e99999999999999999999' does not fit double");
    EXPECT_EQ(message_of([&] { value("1e9223372036854775807"); }),
              "a.mtx:3: the value '1e9223372036854775807' does not fit double");
    EXPECT_EQ(message_of([&] { value("+-1"); }), "a.mtx:3: '+-1' is not a number");
    EXPECT_EQ(value_of(read("%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 123456789012345678901\n")),
              123456789012345678901.0);
}

TEST_F(MatrixMarket, FloatsAreRoundedOnce)
{
    const auto value = [&](const std::string& number) {
        return io::read<float>(Context::cpu(1),
                               file("f.mtx",
                                    "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 " + number + "\n"))
            .value.data()[0];
    };
    EXPECT_EQ(value("0.1"), 0.1f);
    EXPECT_EQ(value("1.00000017881393432617187499"), 0x1.000002p0f);  // through double this would become 0x1.000004p0
    EXPECT_EQ(value("1e-60"), 0.0f);
    EXPECT_EQ(message_of([&] { value("1e39"); }), "f.mtx:3: the value '1e39' does not fit float");
}

TEST_F(MatrixMarket, DecimalsDoNotDependOnTheLocale)
{
    const std::string before = std::setlocale(LC_ALL, nullptr);
    if (!std::setlocale(LC_ALL, "de_DE.UTF-8") && !std::setlocale(LC_ALL, "de_DE.utf8"))
        GTEST_SKIP() << "no German locale here";
    EXPECT_EQ(entries("%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1.5\n"), (Entries{{0, 0, 1.5}}));
    const Csr<double> a = read("%%MatrixMarket matrix coordinate real general\n1234 1 1\n1234 1 1234.5\n");
    io::write(Context::cpu(1), path("b.mtx"), a.view());
    std::setlocale(LC_ALL, before.c_str());
    EXPECT_EQ(contents_of(path("b.mtx")), "%%MatrixMarket matrix coordinate real general\n1234 1 1\n1234 1 1234.5\n");
}

TEST_F(MatrixMarket, LargeArraysFindTheirPositionsFromEveryPiece)
{
    const index_t n = 150;
    for (const std::string symmetry : {"general", "symmetric", "skew-symmetric"}) {
        SCOPED_TRACE(symmetry);
        std::string text = concat("%%MatrixMarket matrix array real ", symmetry, "\n", n, " ", n, "\n");
        for (index_t j = 0; j < n; ++j)
            for (index_t i = symmetry == "general" ? 0 : symmetry == "symmetric" ? j : j + 1; i < n; ++i)
                text += concat(i * 1000 + j + 1, "\n");
        const Csr<double> a = read(text, {}, nullptr, 4);
        ASSERT_EQ(a.nonzeros(), symmetry == "skew-symmetric" ? n * (n - 1) : n * n);
        for (const auto& [i, j, v] : entries_of(a)) {
            const double stored = symmetry == "general" || i >= j ? i * 1000 + j + 1 : j * 1000 + i + 1;
            ASSERT_EQ(v, symmetry == "skew-symmetric" && i < j ? -stored : stored) << i << " " << j;
        }
    }
}

TEST_F(MatrixMarket, ManyThreadsReadTheSameBits)
{
    std::string text = "%%MatrixMarket matrix coordinate real general\n300 200 30000\n";
    for (index_t k = 0; k < 30000; ++k)
        text +=
            concat(1 + below(hash_of(1, k), 300), " ", 1 + below(hash_of(2, k), 200), " ", unit(hash_of(3, k)), "\n");
    const Csr<double> one = read(text, {}, nullptr, 1);
    EXPECT_LT(one.nonzeros(), 30000) << "there should be entries to add up";
    for (const int threads : {2, 3, 4, 8})
        EXPECT_TRUE(same_bits(one.view(), read(text, {}, nullptr, threads))) << threads;
}

TEST_F(MatrixMarket, WritesSymmetricMatricesAsOneTriangle)
{
    const auto a = csr_of<double>(3, 3, {{0, 0, 1}, {0, 2, 2.5}, {1, 1, 3}, {2, 0, 2.5}});
    const Context ctx = Context::cpu(2);
    io::write(ctx, path("s.mtx"), a.view(), {.comment = "one\ntwo", .symmetric = true});
    EXPECT_EQ(contents_of(path("s.mtx")),
              "%%MatrixMarket matrix coordinate real symmetric\n% one\n% two\n3 3 3\n1 1 1\n2 2 3\n3 1 2.5\n");
    EXPECT_TRUE(same_bits(a.view(), io::read<double>(ctx, path("s.mtx"))));
    io::write(ctx, path("p.mtx"), a.view(), {.symmetric = true, .pattern = true});
    EXPECT_EQ(contents_of(path("p.mtx")), "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 3\n1 1\n2 2\n3 1\n");

    const auto lower = csr_of<double>(3, 3, {{0, 0, 1}, {2, 0, 2.5}});
    const auto upper = csr_of<double>(3, 3, {{0, 2, 1}});
    const auto unequal = csr_of<double>(3, 3, {{0, 2, 1}, {2, 0, 2}});
    const auto wide = csr_of<double>(2, 3, {{0, 0, 1}});
    EXPECT_EQ(message_of<ValueError>([&] { io::write(ctx, path("x.mtx"), lower.view(), {.symmetric = true}); }),
              "the matrix is not symmetric: row 2 (counted from 0) has an entry without its equal on the other side");
    EXPECT_THROW(io::write(ctx, path("x.mtx"), upper.view(), {.symmetric = true}), ValueError);
    EXPECT_THROW(io::write(ctx, path("x.mtx"), unequal.view(), {.symmetric = true}), ValueError);
    EXPECT_THROW(io::write(ctx, path("x.mtx"), wide.view(), {.symmetric = true}), ShapeError);
    EXPECT_FALSE(fs::exists(path("x.mtx")));
}

}  // namespace
}  // namespace tulle::test
