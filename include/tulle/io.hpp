// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Reading and writing matrices. The format follows from the file name:
///
/// - .mtx .mtx.gz .mtx.xz: Matrix Market, coordinate or array, any field, any symmetry; symmetric files are expanded
/// - .tar.gz .tgz: SuiteSparse archive, the matrix NAME/NAME.mtx inside; not written
/// - .npz: SciPy sparse CSR, CSC or COO; written as CSR
/// - .smtx .smtx.gz .smtx.xz: Deep Learning Matrix Collection, pattern only
/// - .tulle: binary format of tulle, versioned, with checksums, mapped into memory
/// - .petsc .petsc.gz: PETSc's binary format, AIJ matrices; read with indices of 32 or 64 bits, values in single or
///   double precision (the first matrix of the file)
///
/// "-" is standard input or output. Where the name gives no format (standard input, a pipe), the reader goes by the
/// contents, and output to a pipe, a device or standard output is Matrix Market; ReadOptions::format and
/// WriteOptions::format name it explicitly.
///
/// Bad files give "file:line: what is wrong" (FormatError) and never cost more memory than their size justifies. A
/// failed write leaves neither an incomplete file nor a damaged old one.
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

/// Reading, writing and generating matrices.
namespace tulle::inline TULLE_ABI::io {

/// What to do with complex values.
enum class Complex {
    refuse,    ///< FormatError
    real_part  ///< keep the real part
};

/// 16-bit type to which the caller will convert the values.
enum class Narrow {
    no,   ///< none
    f16,  ///< Float16
    bf16  ///< Bfloat16
};

/// Options of read().
struct ReadOptions {
    Complex complex = Complex::refuse;  ///< complex values
    /// Entries of a file without values (a Matrix Market pattern, .smtx) are 1. With a seed they are random, uniform in
    /// [0.5, 1.5), a function of the seed and the position, and the same at (i, j) and (j, i): a symmetric pattern
    /// stays symmetric.
    std::optional<std::uint64_t> random_values = {};
    std::string format = {};     ///< "mtx", "mtx.gz", "npz", …; empty: by the name, else by the contents
    Narrow narrow = Narrow::no;  ///< also report what a conversion of the values to 16 bits loses
    bool strict = false;         ///< FormatError where warnings() would not be empty
    /// Bytes that a header may ask for beyond what the size of the file justifies (64 bytes for each byte of the file,
    /// 1032 for decompression): a file of 60 bytes can claim 2^31 rows. Memory::unlimited trusts every header.
    std::size_t unproven_bytes = std::size_t{128} << 20;
    Progress progress = {};  ///< called with the fraction done; may be empty
};

/// How often something occurs in a file, and where first.
struct Occurrences {
    offset_t count = 0;  ///< how often
    offset_t line = 0;   ///< line of the first, from 1; 0 in files without lines
    index_t row = -1;    ///< row of the first, from 0
    index_t col = -1;    ///< column of the first, from 0
};

/// What a file says of itself, and what was noticed while it was read.
struct FileInfo {
    std::string format;                ///< "Matrix Market coordinate real symmetric", "SciPy CSR float64", …
    std::string field = "real";        ///< real, integer, complex, pattern
    std::string symmetry = "general";  ///< general, symmetric, skew-symmetric, hermitian
    offset_t stored = 0;               ///< entries in the file, before a symmetric one is expanded
    std::size_t bytes = 0;             ///< size of the file
    std::string comment = {};          ///< comment lines of the file
    std::string values = "stored";     ///< where the values come from: stored, ones, random:SEED
    Occurrences duplicates = {};       ///< entries at the position of an earlier one, to which they were added
    Occurrences overflowed = {};       ///< finite values that are infinite in ReadOptions::narrow
    Occurrences underflowed = {};      ///< values other than zero that became zero
    Occurrences rounded = {};          ///< whole numbers that the value type does not hold exactly
};

/// Reads a matrix of any format into CSR; rows are sorted, entries at the same position added up.
/// @tparam V float or double.
/// @param ctx its host threads do the work; the arrays are on the host, counted in its memory.
/// @param file name of the file; "-" is standard input.
/// @param options see ReadOptions.
/// @param info where given, receives what the file says of itself.
/// @throws FileError if the file cannot be opened or read.
/// @throws FormatError if its contents are wrong, or with ReadOptions::strict if values do not fit.
/// @throws ValueError if ReadOptions::format is unknown.
/// @throws OutOfMemory if the matrix does not fit the budget or the machine.
/// @throws NotBuilt if the file is compressed in a way that this build cannot read.
template <class V>
TULLE_API Csr<V> read(const Context& ctx, const std::filesystem::path& file, const ReadOptions& options = {},
                      FileInfo* info = nullptr);

/// A change of the values by read(): they do not fit their type.
struct Warning {
    std::string kind;     ///< overflow, underflow, rounding
    std::string message;  ///< a sentence with file, line, row and column
    Occurrences where;    ///< how often, and where first
};

/// What reading changed in the values. Duplicates give no warning: read() adds them up.
/// @param file name for the messages.
/// @param info as written by read().
TULLE_API std::vector<Warning> warnings(const std::string& file, const FileInfo& info);

/// Options of write().
struct WriteOptions {
    std::string comment = {};  ///< for formats that have comments
    bool symmetric = false;    ///< Matrix Market: write the lower triangle of a symmetric matrix (checked)
    bool pattern = false;      ///< Matrix Market, .smtx: leave the values out
    std::string format = {};   ///< "mtx", "mtx.gz", "npz", …; empty: by the name
    Progress progress = {};    ///< called with the fraction done; may be empty
};

/// Writes a matrix in the format that the name asks for.
/// @param ctx its host threads do the work.
/// @param file name of the file; "-" is standard output.
/// @param a the matrix, on the host; float or double.
/// @param options see WriteOptions.
/// @throws FileError if the file cannot be written, or the name gives no format that can be written.
/// @throws ValueError if the format cannot hold what the options ask for, or the matrix is not valid or not symmetric.
/// @throws NotBuilt if the file is compressed in a way that this build cannot write.
template <class V>
TULLE_API void write(const Context& ctx, const std::filesystem::path& file, const CsrView<V>& a,
                     const WriteOptions& options = {});

/// Throws what write() would throw for this name with these options (format, folder), before there is anything to
/// write. Streams are not opened.
TULLE_API void check_write(const std::filesystem::path& file, const WriteOptions& options = {});

/// The value of entry (i, j), from 0, of generated matrices: in [0.5, 1.5), a function of seed and position alone.
TULLE_API double pattern_value(index_t i, index_t j, std::uint64_t seed = 7);

}  // namespace tulle::inline TULLE_ABI::io
