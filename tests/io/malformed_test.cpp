// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Files that are wrong: one file for every way to be wrong in corpus/, and what is said of it in corpus/expected.txt.
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <map>
#include <set>

#include "io/files.hpp"
#include "tulle/text.hpp"

namespace tulle::test {
namespace {

// "truncated.mtx:5: the file ends …" by file name. A star at the end stands for words that are zlib's or liblzma's.
std::map<std::string, std::string> expected_messages()
{
    std::map<std::string, std::string> expected;
    std::ifstream list(corpus / "expected.txt");
    for (std::string line; std::getline(list, line);) expected[line.substr(0, line.find(':'))] = line;
    return expected;
}

std::string read_message(const fs::path& file, int threads)
{
    return message_of([&] { io::read<double>(Context::cpu(threads), file); });
}

bool matches(const std::string& message, const std::string& expected)
{
    return expected.ends_with('*') ? message.starts_with(expected.substr(0, expected.size() - 1)) : message == expected;
}

TEST(Malformed, EveryFileOfTheCorpusGetsItsMessage)
{
    const auto expected = expected_messages();
    std::set<std::string> seen;
    for (const auto& entry : fs::directory_iterator(corpus)) {
        const std::string name = entry.path().filename().string();
        if (name == "expected.txt") continue;
        SCOPED_TRACE(name);
        seen.insert(name);
        ASSERT_TRUE(expected.contains(name)) << "no line in expected.txt";
        try {
            for (const int threads : {1, 4}) {
                const std::string message = read_message(entry.path(), threads);
                EXPECT_TRUE(matches(message, expected.at(name))) << message << "\nexpected: " << expected.at(name);
            }
            EXPECT_EQ(message_of([&] { io::read<float>(Context::cpu(2), entry.path()); }).substr(0, name.size()), name);
        } catch (const NotBuilt& e) {
            std::cout << e.message() << "\n";  // a build without zlib or liblzma
        }
    }
    EXPECT_EQ(seen.size(), expected.size()) << "expected.txt speaks of files that are not there";
    EXPECT_GE(seen.size(), 100u);
}

TEST(Malformed, NoFileCostsMoreMemoryThanItsSizeJustifies)
{
    for (const auto& entry : fs::directory_iterator(corpus)) {
        const std::string name = entry.path().filename().string();
        if (name == "expected.txt") continue;
        const Context ctx = Context::cpu(2);
        try {
            io::read<double>(ctx, entry.path());
            ADD_FAILURE() << name << " was read";
        } catch (const Error&) {}
        EXPECT_LT(ctx.peak_bytes(), 256 * 1024 + 64 * fs::file_size(entry.path())) << name;
        EXPECT_EQ(ctx.memory().live_blocks(), 0) << name;
    }
}

class MalformedFile : public InFolder {};

TEST_F(MalformedFile, HeadersMayClaimWhatABudgetAllows)
{
    const fs::path wide =
        file("wide.mtx", "%%MatrixMarket matrix coordinate real general\n20000000 3 1\n20000000 1 1.5\n");
    EXPECT_EQ(message_of([&] { io::read<double>(Context::cpu(1), wide); }),
              "wide.mtx:2: 20000000 rows in a file of 74 bytes are more than its size justifies");
    Context small = Context::cpu(1);
    small.budget(64_MiB);
    EXPECT_THROW(io::read<double>(small, wide, {.unproven_bytes = Memory::unlimited}), OutOfMemory);
    EXPECT_EQ(small.memory().live_blocks(), 0);
    const Csr<double> a = io::read<double>(Context::cpu(1), wide, {.unproven_bytes = Memory::unlimited});
    EXPECT_EQ(a.rows, 20000000);
    EXPECT_EQ(a.nonzeros(), 1);
}

TEST_F(MalformedFile, CompressedFilesUnpackWithinReason)
{
    const fs::path packed = samples / "sample.mtx.gz";
    try {
        io::read<double>(Context::cpu(1), packed);
    } catch (const NotBuilt& e) {
        GTEST_SKIP() << e.message();
    }
    Context small = Context::cpu(1);
    small.budget(100);
    EXPECT_THROW(io::read<double>(small, packed), OutOfMemory);
}

// Long enough for many pieces; the first fault by line counts, whoever finds one first.
TEST_F(MalformedFile, TheFirstFaultOfALargeFileIsReportedForAnyNumberOfThreads)
{
    const int lines = 20000;
    const auto text = [&](std::vector<int> bad) {
        std::string all = concat("%%MatrixMarket matrix coordinate real general\n100 100 ", lines, "\n");
        for (int k = 0; k < lines; ++k) {
            if (k % 1000 == 0) all += "% a comment\n\n";
            const bool wrong = std::find(bad.begin(), bad.end(), k) != bad.end();
            all += concat(1 + k % 100, " ", wrong ? 0 : 1 + k / 100 % 100, " ", k, ".5\n");
        }
        return all;
    };
    for (const std::vector<int>& bad : {std::vector<int>{19999}, {12345, 19999}, {0, 5}, {7777, 7778, 12000}}) {
        const fs::path large = file("large.mtx", text(bad));
        const int line = 3 + bad.front() + 2 * (bad.front() / 1000 + 1);
        const std::string expected = concat("large.mtx:", line, ": column 0, but columns count from 1");
        for (const int threads : {1, 2, 4, 7}) EXPECT_EQ(read_message(large, threads), expected) << threads;
    }
    const std::string whole = text({});
    const fs::path cut = file("cut.mtx", whole.substr(0, whole.find("\n", 200000) + 1));
    EXPECT_EQ(read_message(cut, 1), read_message(cut, 4));
    EXPECT_NE(read_message(cut, 4).find("the file ends after "), std::string::npos);
}

TEST_F(MalformedFile, FilesThatCannotBeOpened)
{
    const auto message = [&](const fs::path& name) {
        return message_of<FileError>([&] { io::read<double>(Context::cpu(1), name); });
    };
    const auto code = [&](const fs::path& name) {
        try {
            io::read<double>(Context::cpu(1), name);
        } catch (const FileError& e) {
            return e.code();
        }
        return -1;
    };
    EXPECT_EQ(message(path("missing.mtx")), "missing.mtx: cannot be opened: No such file or directory");
    EXPECT_EQ(code(path("missing.mtx")), ENOENT);
    fs::create_directory(path("folder.mtx"));
    EXPECT_EQ(message(path("folder.mtx")), "folder.mtx: is a directory, not a file");
    EXPECT_EQ(code(path("folder.mtx")), EISDIR);
    EXPECT_EQ(code(file("empty.mtx", "")), 0);
    fs::create_symlink(path("circle.mtx"), path("circle.mtx"));
    EXPECT_EQ(message(path("circle.mtx")), "circle.mtx: cannot be opened: Too many levels of symbolic links");
    EXPECT_EQ(message(file("matrix.txt", "1 2 3")),
              "matrix.txt: neither its name nor its first bytes say which format it has");
    EXPECT_EQ(message(file("mtx", "")), "mtx: the file is empty");
    try {
        io::read<double>(Context::cpu(1), path("matrix.txt"));
    } catch (const FileError& e) {
        EXPECT_EQ(e.hint(),
                  "name the format; known are .mtx .mtx.gz .mtx.xz .tar.gz .tgz .npz .smtx .smtx.gz .smtx.xz .tulle "
                  ".petsc .petsc.gz");
    }
}

TEST_F(MalformedFile, FilesThatMayNotBeRead)
{
    if (::geteuid() == 0) GTEST_SKIP() << "root may read every file";
    const fs::path closed = file("closed.mtx", "x");
    fs::permissions(closed, fs::perms::none);
    EXPECT_EQ(message_of<FileError>([&] { io::read<double>(Context::cpu(1), closed); }),
              "closed.mtx: cannot be opened: Permission denied");
}

TEST(Malformed, AnErrorLeavesTheInfoAlone)
{
    io::FileInfo info;
    info.format = "untouched";
    EXPECT_THROW(io::read<double>(Context::cpu(1), corpus / "value_word.mtx", {}, &info), FormatError);
    EXPECT_EQ(info.format, "untouched");
}

}  // namespace
}  // namespace tulle::test
