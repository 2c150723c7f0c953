// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What the tests of readers and writers share: a folder that goes away, files in it, messages of errors, matrices
// compared by bits.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "support/host_matrix.hpp"
#include "tulle/error.hpp"
#include "tulle/io.hpp"

namespace tulle::test {

namespace fs = std::filesystem;

inline const fs::path corpus = fs::path(TULLE_TEST_SOURCE) / "corpus";    // files that are wrong
inline const fs::path samples = fs::path(TULLE_TEST_SOURCE) / "samples";  // files that are right

class InFolder : public ::testing::Test {
protected:
    InFolder()
    {
        std::string name = (fs::temp_directory_path() / "tulle_io.XXXXXX").string();
        folder_ = ::mkdtemp(name.data());
    }
    ~InFolder() override
    {
        std::error_code ignored;
        fs::remove_all(folder_, ignored);
    }
    fs::path path(const std::string& name) const { return folder_ / name; }
    fs::path file(const std::string& name, std::string_view contents) const
    {
        std::ofstream(path(name), std::ios::binary) << contents;
        return path(name);
    }
    std::size_t files_in_folder() const
    {
        return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
    }

    fs::path folder_;
};

inline std::string contents_of(const fs::path& file)
{
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

// The message of the E that f throws, without the folder of the file it speaks of.
template <class E = FormatError, class F>
std::string message_of(F&& f)
{
    try {
        f();
    } catch (const E& e) {
        const std::string& message = e.message();
        const std::size_t end = message.find(": ");
        const std::size_t slash = message.rfind('/', end);
        // an archive's member has slashes of its own: "folder/A.tar.gz:A/A.mtx:3: …"
        const std::size_t member = message.find(".tar.gz:");
        const std::size_t from = member != std::string::npos && member < end ? message.rfind('/', member) : slash;
        return from == std::string::npos ? message : message.substr(from + 1);
    }
    return "no error";
}

template <class V>
bool same_bits(const CsrView<V>& a, const CsrView<V>& b)
{
    const auto same = [](const auto* x, const auto* y, offset_t n) {
        return n == 0 || std::memcmp(x, y, static_cast<std::size_t>(n) * sizeof(*x)) == 0;
    };
    return a.rows == b.rows && a.cols == b.cols && a.nonzeros == b.nonzeros &&
           same(a.row_begin, b.row_begin, offset_t{a.rows} + 1) && same(a.col, b.col, a.nonzeros) &&
           same(a.value, b.value, a.nonzeros);
}

template <class V>
bool same_bits(const CsrView<V>& a, const Csr<V>& b)
{
    return same_bits(a, b.view());
}

using Entries = std::vector<std::tuple<index_t, index_t, double>>;

inline Entries entries_of(const Csr<double>& a) { return host_of(Context::cpu(1), a.view()).entries(); }

// The matrix that most sample files hold.
inline const Entries sample_entries{{0, 1, 1.5}, {0, 3, -2.0}, {2, 0, 0.25}, {2, 2, 4.0}};

}  // namespace tulle::test
