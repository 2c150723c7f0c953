// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Verbs that become other programs: tulle bench, because that program links the libraries it measures against, and
// operations under mpirun, because tulle is not linked with MPI.
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "apps/cli/support/failure.hpp"
#include "apps/cli/support/programs.hpp"
#include "apps/cli/verbs.hpp"
#include "tulle/text.hpp"

namespace tulle::cli {

namespace {

// What a launcher of MPI says: Open MPI, then those of PMI (MPICH, Slurm).
int number_in_environment(const char* open_mpi, const char* pmi, int otherwise)
{
    const char* text = std::getenv(open_mpi);
    if (!text) text = std::getenv(pmi);
    return text ? std::atoi(text) : otherwise;
}

}  // namespace

std::string find_program(const std::string& name)
{
    std::error_code none;
    const std::filesystem::path here = std::filesystem::read_symlink("/proc/self/exe", none).parent_path();
    for (const char* place : {"", "../bench", "../../bench"})
        if (const auto program = (here / place / name).lexically_normal(); access(program.c_str(), X_OK) == 0)
            return program.string();
    return "";
}

void become(std::string program, std::vector<std::string> arguments)
{
    std::vector<char*> argv{program.data()};
    for (std::string& word : arguments) argv.push_back(word.data());
    argv.push_back(nullptr);
    execv(program.c_str(), argv.data());
    throw FileError(concat(program, ": cannot be started: ", std::strerror(errno)));
}

void bench(const std::vector<std::string>& arguments)
{
    const bool cluster = !arguments.empty() && arguments[0] == "cluster";
    const std::string program = find_program(cluster ? "tulle-bench-cluster" : "tulle-bench");
    require<FileError>(!program.empty() || !cluster,
                       "the comparison with PETSc was not built: there is no program tulle-bench-cluster beside tulle",
                       "install PETSc and MPI (libpetsc-real-dev) and build the target tulle-bench-cluster");
    require<FileError>(!program.empty(), "the benchmarks were not built: there is no program tulle-bench beside tulle",
                       "configure with -DTULLE_BUILD_BENCH=ON and build the target tulle-bench");
    become(program, {arguments.begin() + (cluster ? 1 : 0), arguments.end()});
}

std::optional<OnRanks> on_ranks(const std::vector<std::string>& words)
{
    const int ranks = number_in_environment("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", 1);
    const std::size_t operation = !words.empty() && words[0] == "run" ? 1 : 0;
    if (ranks < 2 || words.size() <= operation) return {};
    const std::string& name = words[operation];
    const bool product = operation == 1 && (name == "spmv" || name == "spmm" || name == "spgemm");
    if (!product && name != "solve") return {};
    return OnRanks{find_program("tulle-mpi"),
                   {words.begin() + static_cast<std::ptrdiff_t>(operation), words.end()},
                   ranks,
                   number_in_environment("OMPI_COMM_WORLD_RANK", "PMI_RANK", 0)};
}

void run_on_ranks(const OnRanks& job)
{
    if (!job.program.empty()) become(job.program, job.arguments);
    if (job.rank > 0) std::_Exit(static_cast<int>(ExitCode::file));  // one rank tells it
    throw FileError(concat("this is one of ", job.ranks, " ranks, but there is no program tulle-mpi beside tulle"),
                    "build the target tulle-mpi, or run tulle without mpirun");
}

}  // namespace tulle::cli
