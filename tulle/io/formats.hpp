// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Which format a file has, by the end of its name.
#pragma once

#include <filesystem>
#include <string>

#include "tulle/io/io.hpp"
#include "tulle/io/source.hpp"

namespace tulle::io {

enum class Contents { matrix_market, npz, smtx, binary };
enum class Packing { none, gz, xz, tar_gz };

struct Format {
    const char* ending;       // ".mtx.gz"
    Contents contents;
    Packing packing;
    bool writable;
};

// FileError with the list of endings where the name has none of them.
const Format& format_of(const std::filesystem::path& file);

// Reads a file's bytes in a format known beforehand.
template <class V> Csr<V> read_source(const CpuQueue& q, Source source, const Format& format, const ReadOptions& options, FileInfo& info);

}  // namespace tulle::io
