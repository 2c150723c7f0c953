// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// PETSc's binary format of an AIJ matrix, as MatView and MatLoad use it. All numbers are big-endian:
//
//     int                 1211216, which says that a matrix follows
//     int, int, int       rows, columns, nonzeros (-1: a dense matrix, which is not read)
//     int[rows]           nonzeros of each row
//     int[nonzeros]       columns
//     scalar[nonzeros]    values
//
// int has 32 bits, or 64 where PETSc was configured so: the first 4 bytes of the file tell. scalar is a double, a float
// or complex: only the size of the file tells. Other objects (a right-hand side) may follow and are not read.
#pragma once

#include "io/part.hpp"
#include "io/sink.hpp"
#include "io/source.hpp"
#include "tulle/io.hpp"

namespace tulle::inline TULLE_ABI::io {

// Do the first bytes say that a matrix follows?
bool is_petsc(std::string_view bytes);

template <class V>
Csr<V> read_petsc(const CpuQueue& q, const Source& source, const ReadOptions& options, FileInfo& info);
// A part of the rows, and later its entries: columns and values of `count` nonzeros from number `first` on.
FileRows petsc_rows(const CpuQueue& q, const Source& source, int part, int parts);
template <class V>
void petsc_entries(const CpuQueue& q, const Source& source, offset_t first, offset_t count, Coo<V>& to);
// Doubles; indices of 32 bits where the number of nonzeros fits.
template <class V>
void write_petsc(const CpuQueue& q, Sink& sink, const CsrView<V>& a, const WriteOptions& options);

}  // namespace tulle::inline TULLE_ABI::io
