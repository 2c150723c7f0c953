// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What reading tells beside the matrix: values that do not fit their type, with their place; duplicates; refusal where
// it is strict.
#include "io/files.hpp"
#include "tulle/text.hpp"

namespace tulle::test {
namespace {

class Reports : public InFolder {
protected:
    template <class V = double>
    io::FileInfo info_of(const std::string& name, const std::string& text, const io::ReadOptions& options = {},
                         int threads = 2) const
    {
        io::FileInfo info;
        matrix_ = io::read<V>(Context::cpu(threads), file(name, text), options, &info).nonzeros();
        return info;
    }
    mutable offset_t matrix_ = 0;  // nonzeros of the last one
};

bool is_at(const io::Occurrences& found, offset_t count, offset_t line, index_t row, index_t col)
{
    return found.count == count && found.line == line && found.row == row && found.col == col;
}

const std::string real = "%%MatrixMarket matrix coordinate real general\n% comment\n",
                  integer = "%%MatrixMarket matrix coordinate integer general\n";

TEST_F(Reports, ValuesThatBecomeZero)
{
    const io::FileInfo info = info_of("a.mtx", real + "3 3 4\n1 1 0\n2 3 1e-400\n3 1 -1D-500\n3 3 0.0e5\n");
    EXPECT_TRUE(is_at(info.underflowed, 2, 5, 1, 2)) << info.underflowed.count << " " << info.underflowed.line;
    EXPECT_EQ(info.rounded.count, 0);
    const auto all = io::warnings("a.mtx", info);
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].kind, "underflow");
    EXPECT_EQ(
        all[0].message,
        "a.mtx:5: 2 values are too small for their type and became zero (the first: row 2, column 3, counted from 1)");
    EXPECT_EQ(info_of<float>("a.mtx", real + "3 3 2\n1 1 1e-60\n2 3 1e-30\n").underflowed.count, 1);
}

TEST_F(Reports, WholeNumbersThatAreRounded)
{
    const std::string numbers = "4 4 6\n1 1 9007199254740992\n1 2 9007199254740993\n2 2 18014398509481984\n3 3 "
                                "-9007199254740993\n4 4 100000000000000000000\n4 3 100000000000000000001\n";
    for (const std::string& head : {integer, real}) {
        const offset_t line = head == integer ? 4 : 5;
        const io::FileInfo info = info_of("a.mtx", head + numbers);
        EXPECT_TRUE(is_at(info.rounded, 3, line, 0, 1)) << info.rounded.count << " " << info.rounded.line;
    }
    EXPECT_EQ(info_of("a.mtx", real + "1 1 1\n1 1 9007199254740993.5\n").rounded.count, 0)
        << "no whole number: rounding is what reals do";
    EXPECT_EQ(info_of<float>("a.mtx", integer + "1 1 1\n1 1 16777217\n").rounded.count, 1);
    EXPECT_EQ(info_of<float>("a.mtx", integer + "1 1 1\n1 1 16777218\n").rounded.count, 0);
}

TEST_F(Reports, TheFirstPlaceIsThatOfTheFileForAnyNumberOfThreads)
{
    std::string text = integer + "3000 3000 3000\n";
    for (int i = 1; i <= 3000; ++i)
        text += concat(i, " ", 3001 - i, " ", i % 1000 == 500 ? "9007199254740993" : "1", "\n");
    for (const int threads : {1, 2, 5})
        EXPECT_TRUE(is_at(info_of("a.mtx", text, {}, threads).rounded, 3, 502, 499, 2500)) << threads;
}

TEST_F(Reports, WhatSixteenBitsLose)
{
    const std::string text = real + "3 3 5\n1 1 70000\n2 2 1e-9\n3 3 65504\n1 2 40000\n1 2 40000\n";
    const io::FileInfo info = info_of<float>("a.mtx", text, {.narrow = io::Narrow::f16});
    EXPECT_TRUE(is_at(info.overflowed, 2, 4, 0, 0)) << "one value, and one sum of two " << info.overflowed.count;
    EXPECT_TRUE(is_at(info.underflowed, 1, 5, 1, 1));
    EXPECT_EQ(info_of<float>("a.mtx", text).overflowed.count, 0);
    EXPECT_EQ(info_of<float>("a.mtx", text, {.narrow = io::Narrow::bf16}).overflowed.count, 0);
    EXPECT_EQ(
        info_of<float>("a.mtx", integer + "1 2 2\n1 1 2049\n1 2 2048\n", {.narrow = io::Narrow::f16}).rounded.count, 1);
    const io::FileInfo mirrored =
        info_of<float>("a.mtx", "%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n1 1 1\n3 2 -70000\n",
                       {.narrow = io::Narrow::f16});
    EXPECT_TRUE(is_at(mirrored.overflowed, 2, 4, 1, 2)) << "the entry and its mirror image";
}

TEST_F(Reports, BinaryFilesNameRowAndColumn)
{
    const Context ctx = Context::cpu(2);
    const std::vector<double> values{1, 1e-300, 70000, 2};
    const std::vector<offset_t> begin{0, 1, 3, 4};
    const std::vector<index_t> col{0, 0, 2, 1};
    for (const char* name : {"a.npz", "a.tulle"}) {
        SCOPED_TRACE(name);
        io::write(ctx, path(name),
                  CsrView<double>{.rows = 3,
                                  .cols = 3,
                                  .nonzeros = 4,
                                  .row_begin = begin.data(),
                                  .col = col.data(),
                                  .value = values.data()});
        io::FileInfo info;
        io::read<float>(ctx, path(name), {.narrow = io::Narrow::f16}, &info);
        EXPECT_TRUE(is_at(info.underflowed, 1, 0, 1, 0));
        EXPECT_TRUE(is_at(info.overflowed, 1, 0, 1, 2));
        EXPECT_EQ(io::warnings("f", info)[0].message,
                  "f: 1 value is too large for its type and became infinite (row 2, column 3, counted from 1)");
        EXPECT_THROW(io::read<float>(ctx, path(name), {.strict = true}), FormatError);
    }
}

TEST_F(Reports, StrictReadersRefuse)
{
    const auto message = [&](const std::string& text, io::ReadOptions options) {
        options.strict = true;
        return message_of([&] { io::read<float>(Context::cpu(1), file("a.mtx", text), options); });
    };
    EXPECT_EQ(message(real + "1 1 1\n1 1 1e-400\n", {}),
              "a.mtx:4: 1 value is too small for its type and became zero (row 1, column 1, counted from 1)");
    EXPECT_EQ(
        message(integer + "1 1 1\n1 1 16777217\n", {}),
        "a.mtx:3: 1 whole number has more digits than its type and was rounded (row 1, column 1, counted from 1)");
    EXPECT_EQ(message(real + "1 1 1\n1 1 7e4\n", {.narrow = io::Narrow::f16}),
              "a.mtx:4: 1 value is too large for its type and became infinite (row 1, column 1, counted from 1)");
    EXPECT_EQ(message(real + "1 1 1\n1 1 7e4\n", {}), "no error");
}

TEST_F(Reports, DuplicatesWithTheLineOfTheSecond)
{
    const io::FileInfo info = info_of("a.mtx", real + "3 3 6\n3 3 1\n2 1 1\n1 1 1\n2 1 2\n3 3 1\n2 1 1\n");
    EXPECT_EQ(matrix_, 3);
    EXPECT_TRUE(is_at(info.duplicates, 3, 7, 1, 0)) << info.duplicates.count << " " << info.duplicates.line;
    const io::FileInfo mirrored =
        info_of("a.mtx", "%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n3 2 1\n1 1 1\n3 2 1\n");
    EXPECT_TRUE(is_at(mirrored.duplicates, 1, 5, 2, 1)) << "stored entries count, not their mirror images";
    EXPECT_EQ(info_of("a.mtx", real + "2 2 2\n1 1 1\n2 1 1\n").duplicates.count, 0);
    EXPECT_TRUE(is_at(info_of("a.smtx", "2, 3, 4\n0 1 4\n2 1 0 1\n").duplicates, 1, 0, 1, 1));
}

}  // namespace
}  // namespace tulle::test
