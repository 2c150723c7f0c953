// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// tulle bench: becomes the benchmark program, which is a program of its own because it links the libraries it measures
// against.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "apps/cli/support/failure.hpp"
#include "apps/cli/support/find_bench.hpp"
#include "apps/cli/verbs.hpp"
#include "tulle/text.hpp"

namespace tulle::cli {

std::string find_bench()
{
    std::error_code none;
    const std::filesystem::path here = std::filesystem::read_symlink("/proc/self/exe", none).parent_path();
    for (const char* place : {"tulle-bench", "../bench/tulle-bench", "../../bench/tulle-bench"})
        if (const auto program = (here / place).lexically_normal(); access(program.c_str(), X_OK) == 0)
            return program.string();
    return "";
}

void bench(const std::vector<std::string>& arguments)
{
    std::string program = find_bench();
    require<FileError>(!program.empty(), "the benchmarks were not built: there is no program tulle-bench beside tulle",
                       "configure with -DTULLE_BUILD_BENCH=ON and build the target tulle-bench");
    std::vector<std::string> words = arguments;
    std::vector<char*> argv{program.data()};
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    execv(program.c_str(), argv.data());
    throw FileError(concat(program, ": cannot be started: ", std::strerror(errno)));
}

}  // namespace tulle::cli
