// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// gzip and bare deflate through zlib.
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "io/compression/unpack.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::io {
namespace {

constexpr int gzip_window = 15 + 16, bare_window = -15;
constexpr std::size_t zlib_step = std::size_t{16} << 20;  // zlib counts in 32 bits; also how often progress is told

std::string message(const z_stream& stream) { return stream.msg ? stream.msg : "damaged"; }

// A stream that unpacks `bytes`, a part of `source`.
class Inflater {
public:
    Inflater(const Source& source, std::string_view bytes, int window) : source_(source), bytes_(bytes)
    {
        if (inflateInit2(&stream_, window) != Z_OK) throw std::bad_alloc();
    }
    ~Inflater() { inflateEnd(&stream_); }
    Inflater(const Inflater&) = delete;
    Inflater& operator=(const Inflater&) = delete;

    // Fills up to `room` bytes; returns how many. `done()` tells whether a stream came to its end.
    std::size_t fill(char* to, std::size_t room)
    {
        const auto wanted = static_cast<uInt>(std::min(room, zlib_step));
        const auto given = static_cast<uInt>(std::min(bytes_.size() - used_, zlib_step));
        stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(here()));
        stream_.avail_in = given;
        stream_.next_out = reinterpret_cast<Bytef*>(to);
        stream_.avail_out = wanted;
        const int status = ::inflate(&stream_, Z_NO_FLUSH);
        used_ += given - stream_.avail_in;
        if (status == Z_MEM_ERROR) throw std::bad_alloc();
        if (status == Z_BUF_ERROR && used_ == bytes_.size()) source_.fail(here(), "the compressed data ends too early");
        if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
            source_.fail(here(), "the compressed data is wrong: " + message(stream_));
        done_ = status == Z_STREAM_END;
        return wanted - stream_.avail_out;
    }

    // gzip files may stand one behind the other; zeros at the end are padding.
    bool next_member()
    {
        const std::string_view rest = bytes_.substr(used_);
        if (rest.find_first_not_of('\0') == std::string_view::npos) return false;
        if (!rest.starts_with("\x1f\x8b"))
            source_.fail(here(), "something that is not gzip follows the compressed data");
        inflateReset(&stream_);
        done_ = false;
        return true;
    }

    bool done() const { return done_; }
    const char* here() const { return bytes_.data() + used_; }
    double share() const
    {
        return static_cast<double>(used_) / static_cast<double>(std::max(bytes_.size(), std::size_t{1}));
    }

private:
    const Source& source_;
    std::string_view bytes_;
    std::size_t used_ = 0;
    bool done_ = false;
    z_stream stream_{};
};

// The last four bytes of a gzip file say how much it unpacks to, if it is a single one below 4 GiB; believed within
// reason.
std::size_t expected_bytes(std::string_view packed)
{
    std::array<unsigned char, 4> last{};
    if (packed.size() >= 18) std::memcpy(last.data(), packed.data() + packed.size() - 4, 4);
    const std::size_t said =
        last[0] | (std::size_t{last[1]} << 8) | (std::size_t{last[2]} << 16) | (std::size_t{last[3]} << 24);
    return std::clamp(said + 1, packed.size(), packed.size() * 16 + 1);
}

class GzSink : public FilterSink {
public:
    explicit GzSink(Sink& to) : to_(to)
    {
        if (deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, gzip_window, 8, Z_DEFAULT_STRATEGY) != Z_OK)
            throw std::bad_alloc();
    }
    ~GzSink() override { deflateEnd(&stream_); }

    void write(std::string_view bytes) override
    {
        for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), zlib_step)))
            deflate_some(bytes.substr(0, zlib_step), Z_NO_FLUSH);
    }
    void finish() override { deflate_some({}, Z_FINISH); }

private:
    void deflate_some(std::string_view bytes, int flush)
    {
        stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
        stream_.avail_in = static_cast<uInt>(bytes.size());
        do {
            stream_.next_out = reinterpret_cast<Bytef*>(room_.data());
            stream_.avail_out = static_cast<uInt>(room_.size());
            ::deflate(&stream_, flush);
            to_.write({room_.data(), room_.size() - stream_.avail_out});
        } while (stream_.avail_out == 0);
    }

    Sink& to_;
    z_stream stream_{};
    std::array<char, 1 << 16> room_{};
};

}  // namespace

Source unpack_gz(const CpuQueue& q, const Source& packed, std::size_t limit, const Progress& progress)
{
    ByteBuffer all(q, expected_bytes(packed.bytes()), limit);
    Inflater from(packed, packed.bytes(), gzip_window);
    do {
        while (!from.done()) {
            if (all.free_bytes() == 0 && !all.make_room())
                packed.fail(from.here(),
                            concat("the file unpacks to more than ", limit, " bytes, which its size does not justify"));
            all.use(from.fill(all.free_begin(), all.free_bytes()));
            if (progress) progress(from.share());
        }
    } while (from.next_member());
    return std::move(all).finish(packed.name());
}

void inflate(const Source& source, std::string_view packed, char* to, std::size_t bytes)
{
    Inflater from(source, packed, bare_window);
    std::size_t filled = 0;
    std::array<char, 1> beyond{};  // so that a stream that is one byte too long is noticed
    while (!from.done()) {
        const bool full = filled == bytes;
        const std::size_t got = from.fill(full ? beyond.data() : to + filled, full ? 1 : bytes - filled);
        if (full && got > 0)
            source.fail(from.here(), concat("the compressed data is longer than the ", bytes, " bytes announced"));
        filled += got;
    }
    if (filled != bytes)
        source.fail(from.here(), concat("the compressed data holds ", filled, " of ", bytes, " bytes announced"));
}

std::unique_ptr<FilterSink> make_gz_sink(Sink& to) { return std::make_unique<GzSink>(to); }

}  // namespace tulle::inline TULLE_ABI::io
