// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Reading and writing matrices. The format follows from the file's name:
//
//     .mtx .mtx.gz .mtx.xz      Matrix Market (coordinate or array, any field, any symmetry; symmetric files are expanded)
//     .tar.gz .tgz              SuiteSparse archive: the matrix NAME/NAME.mtx inside; not written
//     .npz                      SciPy sparse CSR, CSC or COO; written as CSR
//     .smtx .smtx.gz .smtx.xz   Deep Learning Matrix Collection: pattern only
//     .tulle                    our binary: versioned, checksummed, mapped into memory
//
// Bad files get "file:line: what is wrong" (FormatError) and never cost more memory than their size justifies. A write that fails
// leaves neither a half file nor a damaged old one behind.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "tulle/base/api.hpp"
#include "tulle/base/progress.hpp"
#include "tulle/device/context.hpp"
#include "tulle/matrix/csr.hpp"

namespace tulle::io {

enum class Complex { refuse, real_part };

struct ReadOptions {
    Complex complex = Complex::refuse;
    bool pattern_values = true;               // give entries of a pattern file the value pattern_value(i, j); otherwise 1
    // Memory that a header may ask for beyond what the file's size justifies (64 bytes for each of its own, 1032 for unpacking): a file
    // of 60 bytes can claim 2^31 rows. Memory::unlimited believes every header.
    std::size_t unproven_bytes = std::size_t{128} << 20;
    Progress progress = {};
};

// What the file said of itself, beside the matrix.
struct FileInfo {
    std::string format;                       // "Matrix Market coordinate real symmetric", "SciPy CSR float64", …
    std::string field = "real";               // real, integer, complex, pattern
    std::string symmetry = "general";         // general, symmetric, skew-symmetric, hermitian
    offset_t stored = 0;                      // entries in the file, before a symmetric one is expanded
    std::string comment;                      // the file's comment lines
};

// Reads any of the formats into CSR on the host side of the context; rows sorted, entries at the same position added up.
template <class V>
TULLE_API Csr<V> read(const Context& ctx, const std::filesystem::path& file, const ReadOptions& options = {}, FileInfo* info = nullptr);

struct WriteOptions {
    std::string comment = {};                 // for formats that have comments
    bool symmetric = false;                   // Matrix Market: write the lower triangle of a symmetric matrix (checked)
    bool pattern = false;                     // Matrix Market: leave the values out
    Progress progress = {};
};

// Writes the matrix (arrays on the host) in the format the name asks for.
template <class V>
TULLE_API void write(const Context& ctx, const std::filesystem::path& file, const CsrView<V>& a, const WriteOptions& options = {});

// Throws what write() would throw for this name with these options (the format, the folder), before there is anything to write.
TULLE_API void check_write(const std::filesystem::path& file, const WriteOptions& options = {});

// The value tulle gives entry (i, j), zero-based, of a matrix without values: in [0.5, 1.5), a function of the position alone.
TULLE_API double pattern_value(index_t i, index_t j);

}  // namespace tulle::io
