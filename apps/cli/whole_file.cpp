// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "apps/cli/whole_file.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "tulle/base/error.hpp"
#include "tulle/base/text.hpp"

namespace tulle::cli {
namespace {

[[noreturn]] void refuse(const std::string& file, int fault) { throw FileError(concat(file, ": cannot be written: ", std::strerror(fault))); }

void write_bytes(const std::string& to, std::string_view bytes, const std::string& file)
{
    std::FILE* out = std::fopen(to.c_str(), "wb");
    if (!out) refuse(file, errno);
    const bool written = std::fwrite(bytes.data(), 1, bytes.size(), out) == bytes.size();
    const int fault = errno;
    if (std::fclose(out) == 0 && written) return;
    const int reason = written ? errno : fault;
    std::error_code none;
    if (to != file) std::filesystem::remove(to, none);
    refuse(file, reason);
}

// A device or a pipe; a folder is refused.
bool is_special(const std::string& file)
{
    std::error_code none;
    const auto kind = std::filesystem::status(file, none).type();
    if (kind == std::filesystem::file_type::directory) refuse(file, EISDIR);
    return kind != std::filesystem::file_type::not_found && kind != std::filesystem::file_type::regular;
}

std::string name_beside(const std::string& file) { return concat(file, ".", static_cast<long>(getpid()), ".part"); }

}  // namespace

void check_writable(const std::string& file)
{
    if (is_special(file)) return;
    const std::string unfinished = name_beside(file);
    write_bytes(unfinished, "", file);
    std::error_code none;
    std::filesystem::remove(unfinished, none);
}

void write_whole_file(const std::string& file, std::string_view bytes)
{
    std::error_code none;
    if (is_special(file)) return write_bytes(file, bytes, file);      // a device or a pipe cannot be replaced
    const std::string unfinished = name_beside(file);
    write_bytes(unfinished, bytes, file);
    if (std::rename(unfinished.c_str(), file.c_str()) != 0) {
        const int fault = errno;
        std::filesystem::remove(unfinished, none);
        refuse(file, fault);
    }
}

}  // namespace tulle::cli
