// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// zip archives as numpy writes them: members stored or deflated, zip64 where sizes ask for it, no encryption (PKWARE
// APPNOTE 6.3).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/sink.hpp"
#include "io/source.hpp"

namespace tulle::inline TULLE_ABI::io {

struct ZipMember {
    std::string name;
    std::uint64_t packed_bytes = 0, bytes = 0, header_at = 0;
    std::uint32_t crc = 0;
    std::uint16_t method = 0, flags = 0;
};

class ZipReader {
public:
    explicit ZipReader(const Source& archive);
    const std::vector<ZipMember>& members() const { return members_; }
    const ZipMember* find(std::string_view name) const;  // null where there is none
    // Its contents, called "archive:member"; FormatError where they are damaged or claim to be larger than deflate can
    // make them.
    Source open(const CpuQueue& q, const ZipMember& member) const;

private:
    const Source* archive_;
    std::vector<ZipMember> members_;
};

// Writes members one behind the other without compression, and the directory at the end.
class ZipWriter {
public:
    explicit ZipWriter(Sink& sink) : sink_(sink) {}
    // The contents are the pieces together.
    void add(const std::string& name, const std::vector<std::string_view>& pieces);
    void finish();

private:
    void put(std::string_view bytes);

    Sink& sink_;
    std::uint64_t at_ = 0;
    std::vector<ZipMember> members_;
};

// The checksum of zip and gzip, continued from an earlier piece.
std::uint32_t crc32(std::uint32_t before, std::string_view bytes);

}  // namespace tulle::inline TULLE_ABI::io
