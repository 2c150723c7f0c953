// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "apps/cli/support/whole_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <memory>

#include "io/sink.hpp"

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

bool is_stdout(const std::string& file)
{
    struct stat named {
    }, out{};
    if (file == "-") return true;
    const bool both = !file.empty() && ::stat(file.c_str(), &named) == 0 && ::fstat(STDOUT_FILENO, &out) == 0;
    return both && io::is_stream(file) && named.st_dev == out.st_dev && named.st_ino == out.st_ino;  // /dev/stdout
}

}  // namespace tulle::cli
