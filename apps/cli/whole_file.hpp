// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Files that are either written whole or not at all.
#pragma once

#include <string>
#include <string_view>

namespace tulle::cli {

// Under another name first, then moved into place; FileError with the reason, and an old file of that name stays as it was.
void write_whole_file(const std::string& file, std::string_view bytes);

// FileError where write_whole_file() could not write the file; leaves everything as it is. Asked before there is anything to write.
void check_writable(const std::string& file);

}  // namespace tulle::cli
