// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Arrays as they stand in binary files: numbers of a type known only when reading, at any alignment. They become ours only through a
// check of every number; what is wrong is reported with its byte.
#pragma once

#include <string>

#include "tulle/device/buffer.hpp"
#include "tulle/io/source.hpp"

namespace tulle::io {

enum class Number { b1, i1, i2, i4, i8, u1, u2, u4, u8, f4, f8 };

std::size_t size_of(Number type);
bool is_integer(Number type);

struct RawArray {
    const Source* source;     // for messages; data lies in its bytes
    std::string name;
    Number type;
    const char* data;
    offset_t size;
};

// Whole numbers from low to high. T is index_t or offset_t.
template <class T> Buffer<T> take_integers(const CpuQueue& q, const RawArray& from, offset_t low, offset_t high);

// Numbers as V; where V is narrower they are rounded, but finite ones must stay finite.
template <class V> Buffer<V> take_values(const CpuQueue& q, const RawArray& from);

// Row (column) offsets: the first is 0, none is below the one before it, the last is `nonzeros`.
Buffer<offset_t> take_offsets(const CpuQueue& q, const RawArray& from, offset_t nonzeros);

}  // namespace tulle::io
