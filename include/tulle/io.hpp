// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Reading and writing matrices. The format follows from the file's name:
//
//     .mtx .mtx.gz .mtx.xz      Matrix Market (coordinate or array, any field, any symmetry; symmetric files are
//                               expanded)
//     .tar.gz .tgz              SuiteSparse archive: the matrix NAME/NAME.mtx inside; not written
//     .npz                      SciPy sparse CSR, CSC or COO; written as CSR
//     .smtx .smtx.gz .smtx.xz   Deep Learning Matrix Collection: pattern only
//     .tulle                    our binary: versioned, checksummed, mapped into memory
//
// "-" is standard input or output. Where the name says no format (stdin, a pipe), a reader goes by the contents and a
// writer to a pipe, a device or stdout writes Matrix Market; ReadOptions::format and WriteOptions::format name it.
//
// Bad files get "file:line: what is wrong" (FormatError) and never cost more memory than their size justifies. A write
// that fails leaves neither a half file nor a damaged old one behind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tulle/api.hpp"
#include "tulle/context.hpp"
#include "tulle/csr.hpp"

namespace tulle::inline TULLE_ABI::io {

enum class Complex { refuse, real_part };
enum class Narrow { no, f16, bf16 };

struct ReadOptions {
    Complex complex = Complex::refuse;
    // Entries of a file without values (a Matrix Market pattern, .smtx) are 1. With a seed they are random, uniform in
    // [0.5, 1.5), a function of the seed and the position, and the same at (i, j) and (j, i): a symmetric pattern stays
    // symmetric.
    std::optional<std::uint64_t> random_values = {};
    std::string format = {};     // "mtx", "mtx.gz", "npz", …; empty: by the name, else by the contents
    Narrow narrow = Narrow::no;  // the caller will convert the values to 16 bits: report what that loses, too
    bool strict = false;         // FormatError where warnings() would have something to say
    // Memory that a header may ask for beyond what the file's size justifies (64 bytes for each of its own, 1032 for
    // unpacking): a file of 60 bytes can claim 2^31 rows. Memory::unlimited believes every header.
    std::size_t unproven_bytes = std::size_t{128} << 20;
    Progress progress = {};
};

// Something in a file: how often, and where first. Rows and columns count from 0; lines from 1, and are 0 in files that
// have none.
struct Found {
    offset_t count = 0;
    offset_t line = 0;
    index_t row = -1, col = -1;
};

// What the file said of itself, beside the matrix, and what was noticed while it was read.
struct FileInfo {
    std::string format;                // "Matrix Market coordinate real symmetric", "SciPy CSR float64", …
    std::string field = "real";        // real, integer, complex, pattern
    std::string symmetry = "general";  // general, symmetric, skew-symmetric, hermitian
    offset_t stored = 0;               // entries in the file, before a symmetric one is expanded
    std::size_t bytes = 0;             // of the file
    std::string comment = {};          // the file's comment lines
    std::string values = "stored";     // where values come from: stored, ones, random:SEED
    Found duplicates = {};             // entries at the position of an earlier one, which were added to it
    Found overflowed = {};             // finite values that are infinite in ReadOptions::narrow
    Found underflowed = {};            // values other than zero that became zero
    Found rounded = {};                // whole numbers that the value type does not hold exactly
};

// Reads any of the formats into CSR on the host side of the context; rows sorted, entries at the same position added
// up.
template <class V>
TULLE_API Csr<V> read(const Context& ctx, const std::filesystem::path& file, const ReadOptions& options = {},
                      FileInfo* info = nullptr);

// What reading changed in the values: they do not fit their type. Duplicates are none: adding them up is what read()
// promises.
struct Warning {
    std::string kind;     // overflow, underflow, rounding
    std::string message;  // a sentence with file, line, row and column
    Found where;
};
TULLE_API std::vector<Warning> warnings(const std::string& file, const FileInfo& info);

struct WriteOptions {
    std::string comment = {};  // for formats that have comments
    bool symmetric = false;    // Matrix Market: write the lower triangle of a symmetric matrix (checked)
    bool pattern = false;      // Matrix Market: leave the values out
    std::string format = {};   // "mtx", "mtx.gz", "npz", …; empty: by the name
    Progress progress = {};
};

// Writes the matrix (arrays on the host) in the format the name asks for.
template <class V>
TULLE_API void write(const Context& ctx, const std::filesystem::path& file, const CsrView<V>& a,
                     const WriteOptions& options = {});

// Throws what write() would throw for this name with these options (the format, the folder), before there is anything
// to write. Streams are not opened.
TULLE_API void check_write(const std::filesystem::path& file, const WriteOptions& options = {});

// The value of entry (i, j), zero-based, of generated matrices: in [0.5, 1.5), a function of seed and position alone.
TULLE_API double pattern_value(index_t i, index_t j, std::uint64_t seed = 7);

}  // namespace tulle::inline TULLE_ABI::io
