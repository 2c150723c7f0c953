// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A part of a file, for several processes that read it together. Each opens the file, finds its part and counts the
// entries there; once it knows how many are in the parts before, it reads its own.
#pragma once

#include <filesystem>
#include <memory>

#include "io/assemble.hpp"
#include "io/share.hpp"
#include "tulle/coo.hpp"
#include "tulle/io.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::io {

// Consecutive rows of a binary file: how many entries they have.
struct FileRows {
    index_t rows, cols;  // of the file
    offset_t nonzeros;   // of the file, as its header says
    offset_t first;      // row
    Buffer<offset_t> length;
};

template <class V>
class FilePart {
public:
    FilePart() = default;
    FilePart(const FilePart&) = delete;
    FilePart& operator=(const FilePart&) = delete;
    virtual ~FilePart() = default;

    index_t rows = 0, cols = 0;    // of the file
    offset_t entries = 0;          // of the part, as stored
    Mirror mirror = Mirror::none;  // what an entry says of the other triangle
    bool has_values = true;        // otherwise the options say what they are
    bool can_be_read = true;       // false: only as a whole (arrays)

    // The entries in the order of the file, once: `before` are in the parts before, `all` in all of them. FormatError
    // as io::read().
    virtual Coo<V> read(offset_t before, offset_t all) = 0;
};

// Whether the name and the options speak of a file that can be read in parts: uncompressed .mtx, .tulle and .petsc.
bool has_parts(const std::filesystem::path& file, const ReadOptions& options);

// FileError and FormatError as io::read().
template <class V>
std::unique_ptr<FilePart<V>> open_part(const CpuQueue& q, const std::filesystem::path& file, const ReadOptions& options,
                                       int part, int parts);

}  // namespace tulle::inline TULLE_ABI::io
