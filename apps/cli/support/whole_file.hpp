// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Files that are either written whole or not at all; "-" is standard output.
#pragma once

#include <string>
#include <string_view>

namespace tulle::cli {

// FileError with the reason, and an old file of that name stays as it was; pipes and devices are written to as they
// are.
void write_whole_file(const std::string& file, std::string_view bytes);

// FileError where write_whole_file() could not write the file; leaves everything as it is, and streams unopened. Asked
// before there is anything to write.
void check_writable(const std::string& file);

// UsageError where the name has the ending of another kind of file than is written (`own`: ".html"), or that of a
// packed one.
void check_ending(const std::string& file, std::string_view own, std::string_view hint);

// FileError where files cannot be written to this folder; it is made where it is not there.
void check_folder(const std::string& folder);

// Whether what is written to this file goes to standard output.
bool is_stdout(const std::string& file);

}  // namespace tulle::cli
