// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Arrays as they stand in binary files: numbers of a type known only when reading, at any alignment. They become ours
// only through a check of every number; what is wrong is reported with its byte.
#pragma once

#include <atomic>
#include <bit>
#include <limits>
#include <string>

#include "io/source.hpp"
#include "tulle/coo.hpp"
#include "tulle/io.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::io {

enum class Number { b1, i1, i2, i4, i8, u1, u2, u4, u8, f4, f8 };

std::size_t size_of(Number type);
bool is_integer(Number type);

struct RawArray {
    const Source* source;  // for messages; data lies in its bytes
    std::string name;
    Number type;
    const char* data;
    offset_t size;
    std::endian order = std::endian::native;
};

// Whole numbers from low to high. T is index_t or offset_t.
template <class T>
Buffer<T> take_integers(const CpuQueue& q, const RawArray& from, offset_t low, offset_t high);

// Numbers of an array that V does not hold: how many, and the first.
struct ArrayLoss {
    std::atomic<offset_t> count{0}, first{std::numeric_limits<offset_t>::max()};
    void add(offset_t k);  // from any thread
};
struct ArrayLosses {
    ArrayLoss underflowed, rounded;
};

// Numbers as V; where V is narrower they are rounded, but finite ones must stay finite.
template <class V>
Buffer<V> take_values(const CpuQueue& q, const RawArray& from, ArrayLosses& lost);

// Tells the file's report which rows and columns the losses stand at. Arrays in the order of the file.
template <class V>
void report_losses(const Csr<V>& a, const ArrayLosses& lost, FileInfo& info);
template <class V>
void report_losses(const CooView<V>& a, const ArrayLosses& lost, FileInfo& info);

// Row (column) offsets: the first is 0, none is below the one before it, the last is `nonzeros`.
Buffer<offset_t> take_offsets(const CpuQueue& q, const RawArray& from, offset_t nonzeros);

}  // namespace tulle::inline TULLE_ABI::io
