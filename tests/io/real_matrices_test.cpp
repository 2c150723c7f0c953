// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Real matrices, where there are some: a folder with INDEX.csv, TULLE_MATRICES or `matrices` in the source tree.
#include <fstream>
#include <sstream>

#include "io/files.hpp"
#include "tulle/validate.hpp"

namespace tulle::test {
namespace {

fs::path matrices()
{
    if (const char* named = std::getenv("TULLE_MATRICES")) return named;
    return fs::path(TULLE_TEST_SOURCE).parent_path().parent_path() / "matrices";
}

// A line of comma-separated fields, some of them in quotes.
std::vector<std::string> fields_of(const std::string& line)
{
    std::vector<std::string> fields(1);
    bool quoted = false;
    for (const char c : line) {
        if (c == '"') quoted = !quoted;
        else if (c == ',' && !quoted) fields.emplace_back();
        else fields.back() += c;
    }
    return fields;
}

TEST(RealMatrices, HaveTheSizesTheIndexSays)
{
    std::ifstream index(matrices() / "INDEX.csv");
    if (!index)
        GTEST_SKIP() << "there is no " << (matrices() / "INDEX.csv").string()
                     << ": put real matrices and their index there, or set TULLE_MATRICES to their folder";
    int files = 0;
    std::string line;
    std::getline(index, line);
    while (std::getline(index, line)) {
        const std::vector<std::string> fields = fields_of(line);
        const fs::path file = matrices() / fields.at(11);
        if (!fs::exists(file) || fs::file_size(file) > 30'000) continue;  // small ones are enough here
        SCOPED_TRACE(file.string());
        io::FileInfo info;
        const Context ctx = Context::cpu(2);
        try {
            const Csr<double> a = io::read<double>(ctx, file, {.complex = io::Complex::real_part}, &info);
            EXPECT_EQ(std::to_string(a.rows), fields.at(2));
            EXPECT_EQ(std::to_string(a.cols), fields.at(3));
            EXPECT_EQ(std::to_string(a.nonzeros()), fields.at(4));
            EXPECT_EQ(info.symmetry, fields.at(5));
            EXPECT_EQ(info.field, fields.at(6));
            EXPECT_TRUE(validate(ctx, a.view()).ok());
            ++files;
        } catch (const NotBuilt& e) {
            GTEST_SKIP() << e.message();
        }
    }
    EXPECT_GT(files, 10);
}

}  // namespace
}  // namespace tulle::test
