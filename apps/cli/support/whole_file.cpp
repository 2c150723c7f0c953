// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "apps/cli/support/whole_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <system_error>

#include "apps/cli/support/failure.hpp"
#include "io/sink.hpp"
#include "tulle/text.hpp"

namespace tulle::cli {

void write_whole_file(const std::string& file, std::string_view bytes)
{
    const std::unique_ptr<io::OutputFile> out = io::create_output(file);
    out->write(bytes);
    out->commit();
}

void check_writable(const std::string& file)
{
    if (!io::is_stream(file))
        io::create_output(file);  // gone again, as nothing is committed; to open a pipe would disturb its reader
}

void check_ending(const std::string& file, std::string_view own, std::string_view hint)
{
    constexpr std::array<std::string_view, 22> endings{".mtx",   ".gz",  ".xz",  ".bz2",  ".zip",  ".tgz",
                                                       ".npz",   ".npy", ".mat", ".h5",   ".smtx", ".tulle",
                                                       ".petsc", ".csv", ".tsv", ".json", ".xml",  ".html",
                                                       ".png",   ".svg", ".pdf", ".jpg"};
    std::string ending = std::filesystem::path(file).extension().string();
    for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    require<UsageError>(
        ending == own || std::find(endings.begin(), endings.end(), ending) == endings.end(),
        [&] { return concat(file, ": what is written here is not ", ending); }, hint);
}

void check_folder(const std::string& folder)
{
    std::error_code fault;
    std::filesystem::create_directories(folder, fault);
    if (!fault && !std::filesystem::is_directory(folder, fault))
        fault = std::make_error_code(std::errc::not_a_directory);
    if (!fault && ::access(folder.c_str(), W_OK) != 0) fault = std::error_code(errno, std::generic_category());
    require<FileError>(!fault, [&] { return concat(folder, ": cannot be used as a folder: ", fault.message()); });
}

bool is_stdout(const std::string& file)
{
    struct stat named {
    }, out{};
    if (file == "-") return true;
    const bool both = !file.empty() && ::stat(file.c_str(), &named) == 0 && ::fstat(STDOUT_FILENO, &out) == 0;
    return both && io::is_stream(file) && named.st_dev == out.st_dev && named.st_ino == out.st_ino;  // /dev/stdout
}

}  // namespace tulle::cli
