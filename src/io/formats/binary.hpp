// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// tulle's own format, made to be mapped: a header and the three CSR arrays, each at a multiple of 64 bytes.
//
//     bytes   what                                       bytes   what
//      0-7    89 'T' 'U' 'L' 'L' 'E' 0D 0A               40-47   nonzeros
//      8-11   version, 1                                 48-55   where row_begin stands, 64-bit offsets
//     12-15   byte order, 0x01020304 as written          56-63   where col stands, 32-bit columns
//     16-19   value type: 4 float, 8 double              64-71   where value stands
//     20-23   1 sorted, 2 unique, added                  72-79   bytes of the whole file
//     24-31   rows                                       80-87   checksum of the three arrays
//     32-39   columns                                    88-95   checksum of bytes 0-87
//
// Numbers are in the byte order of the machine that wrote them; the others refuse the file.
#pragma once

#include "io/part.hpp"
#include "io/sink.hpp"
#include "io/source.hpp"
#include "tulle/io.hpp"

namespace tulle::inline TULLE_ABI::io {

template <class V>
Csr<V> read_binary(const CpuQueue& q, const Source& source, const ReadOptions& options, FileInfo& info);
// A part of the rows, and later its entries: columns and values of `count` nonzeros from number `first` on. The
// checksum of the arrays belongs to the whole file and is not compared.
FileRows binary_rows(const CpuQueue& q, const Source& source, int part, int parts);
template <class V>
void binary_entries(const CpuQueue& q, const Source& source, offset_t first, offset_t count, Coo<V>& to);
template <class V>
void write_binary(const CpuQueue& q, Sink& sink, const CsrView<V>& a, const WriteOptions& options);

// A checksum of bytes, the same for any number of threads: 1 MiB blocks are hashed side by side and then in order.
std::uint64_t checksum(const CpuQueue& q, const void* data, std::size_t bytes);

}  // namespace tulle::inline TULLE_ABI::io
