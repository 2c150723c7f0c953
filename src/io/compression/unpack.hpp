// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Compressed files. zlib and liblzma are optional: without them (deflate_missing.cpp, xz_missing.cpp) these functions
// say what to install.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "io/sink.hpp"
#include "io/source.hpp"
#include "tulle/context.hpp"

namespace tulle::inline TULLE_ABI::io {

// The unpacked bytes under the same name; FormatError where the data is damaged or unpacks to more than `limit` bytes.
Source unpack_gz(const CpuQueue& q, const Source& packed, std::size_t limit, const Progress& progress = {});
Source unpack_xz(const CpuQueue& q, const Source& packed, std::size_t limit, const Progress& progress = {});

// Bare deflate data (zip): `packed` is a part of the source and must fill `bytes` bytes exactly.
void inflate(const Source& source, std::string_view packed, char* to, std::size_t bytes);

// Compresses what is written to it and hands it on. `finish` must be called at the end.
class FilterSink : public Sink {
public:
    virtual void finish() = 0;
};
std::unique_ptr<FilterSink> make_gz_sink(Sink& to);

}  // namespace tulle::inline TULLE_ABI::io
