// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// xz through liblzma.
#include <lzma.h>

#include <algorithm>

#include "io/compression/unpack.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::io {
namespace {

constexpr std::size_t xz_step = std::size_t{16} << 20;                // how often progress is told
constexpr std::uint64_t dictionary_limit = std::uint64_t{256} << 20;  // xz -9 needs 65 MiB

struct Stream {
    lzma_stream state = LZMA_STREAM_INIT;
    Stream() = default;
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    ~Stream() { lzma_end(&state); }
};

const char* what_is_wrong(lzma_ret status)
{
    switch (status) {
    case LZMA_FORMAT_ERROR: return "this is not xz data";
    case LZMA_OPTIONS_ERROR: return "the xz data uses features that liblzma does not know";
    case LZMA_MEMLIMIT_ERROR: return "unpacking the xz data needs a dictionary of more than 256 MiB";
    case LZMA_BUF_ERROR: return "the compressed data ends too early";
    default: return "the compressed data is wrong";
    }
}

}  // namespace

Source unpack_xz(const CpuQueue& q, const Source& packed, std::size_t limit, const Progress& progress)
{
    const std::string_view bytes = packed.bytes();
    Stream stream;
    lzma_stream& s = stream.state;
    if (lzma_stream_decoder(&s, dictionary_limit, LZMA_CONCATENATED) != LZMA_OK) throw std::bad_alloc();
    ByteBuffer all(q, bytes.size() * 4, limit);
    s.next_in = reinterpret_cast<const std::uint8_t*>(bytes.data());
    s.avail_in = bytes.size();
    for (lzma_ret status = LZMA_OK; status != LZMA_STREAM_END;) {
        const char* here = bytes.data() + (bytes.size() - s.avail_in);
        if (all.free_bytes() == 0 && !all.make_room())
            packed.fail(here,
                        concat("the file unpacks to more than ", limit, " bytes, which its size does not justify"));
        const std::size_t room = std::min(all.free_bytes(), xz_step);
        s.next_out = reinterpret_cast<std::uint8_t*>(all.free_begin());
        s.avail_out = room;
        status = lzma_code(&s, LZMA_FINISH);
        all.use(room - s.avail_out);
        if (status == LZMA_MEM_ERROR) throw std::bad_alloc();
        if (status != LZMA_OK && status != LZMA_STREAM_END)
            packed.fail(bytes.data() + (bytes.size() - s.avail_in), what_is_wrong(status));
        if (progress) progress(1.0 - static_cast<double>(s.avail_in) / static_cast<double>(bytes.size()));
    }
    return std::move(all).finish(packed.name());
}

}  // namespace tulle::inline TULLE_ABI::io
