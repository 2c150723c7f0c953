// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Which format a file has: by the end of its name, by a name that the caller gives, or by its first bytes.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "io/source.hpp"
#include "tulle/io.hpp"

namespace tulle::inline TULLE_ABI::io {

enum class Contents { matrix_market, npz, smtx, binary, petsc };
enum class Packing { none, gz, xz, tar_gz };

struct Format {
    const char* ending;  // ".mtx.gz"
    Contents contents;
    Packing packing;
    bool writable;
};

// Null where the name has none of the endings.
TULLE_API const Format* find_format(const std::filesystem::path& file);
// FileError with the list of endings where the name has none of them.
const Format& format_of(const std::filesystem::path& file);
// The format called "mtx.gz" or ".mtx.gz"; ValueError with the list where there is none.
const Format& format_named(const std::string& name);

// The format in which a file is written: called `format`, else by its name, else text for a stream. FileError with the
// list of endings that are written where the name has none of them.
const Format& format_to_write(const std::filesystem::path& file, const std::string& format);

// "did you mean '.mtx'? known are .mtx .mtx.gz …", for an ending that is none of them.
enum class Endings { read, written };
TULLE_API std::string known_endings(std::string_view meant = {}, Endings which = Endings::read);

// What the first bytes say: the packing (tar_gz is seen only once the file is unpacked), a tar archive, the contents.
Packing packing_of(std::string_view bytes);
bool is_tar(std::string_view bytes);
std::optional<Contents> contents_of(std::string_view bytes);

// Reads a file's bytes in a format known beforehand.
template <class V>
Csr<V> read_source(const CpuQueue& q, Source source, const Format& format, const ReadOptions& options, FileInfo& info);

}  // namespace tulle::inline TULLE_ABI::io
