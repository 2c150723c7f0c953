// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The directory stands at the end of the file and is believed; of a member's own header only the lengths of its name
// and extra field are used. Numbers in zip files are little-endian. Every position is checked against the file before
// it is read.
#include "io/compression/zip.hpp"

#include <algorithm>
#include <limits>

#include "io/compression/unpack.hpp"
#include "io/limits.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::io {
namespace {

constexpr std::string_view local_mark{"PK\3\4", 4}, central_mark{"PK\1\2", 4}, end_mark{"PK\5\6", 4},
    end64_mark{"PK\6\6", 4}, locator_mark{"PK\6\7", 4};
constexpr std::size_t local_bytes = 30, central_bytes = 46, end_bytes = 22, end64_bytes = 56, locator_bytes = 20,
                      longest_comment = 65535;
constexpr std::uint64_t no_32 = 0xFFFFFFFF, no_16 = 0xFFFF;  // "see the zip64 field"
constexpr std::uint16_t stored = 0, deflated = 8, encrypted = 1, zip64_field = 1, version_zip64 = 45;

// The bytes of an archive, read with care.
class Bytes {
public:
    explicit Bytes(const Source& source) : source_(source) {}

    std::string_view part(std::uint64_t at, std::uint64_t n) const
    {
        const std::string_view all = source_.bytes();
        if (at > all.size() || n > all.size() - at)
            fail(std::min<std::uint64_t>(at, all.size()), "the archive ends too early");
        return all.substr(at, n);
    }
    template <class T>
    T number(std::uint64_t at) const
    {
        std::uint64_t value = 0;
        const std::string_view bytes = part(at, sizeof(T));
        for (std::size_t b = sizeof(T); b-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[b]);
        return static_cast<T>(value);
    }
    void expect(std::uint64_t at, std::string_view mark, const std::string& what) const
    {
        if (part(at, mark.size()) != mark) fail(at, concat("there should be ", what));
    }
    [[noreturn]] void fail(std::uint64_t at, const std::string& what) const
    {
        source_.fail(source_.bytes().data() + at, what);
    }

private:
    const Source& source_;
};

struct Directory {
    std::uint64_t members, at;
};

Directory find_directory(const Bytes& bytes, std::string_view all)
{
    const std::size_t reach = std::min(all.size(), end_bytes + longest_comment);
    const std::string_view tail = all.substr(all.size() - reach);
    const std::size_t found =
        tail.size() < end_bytes ? std::string_view::npos : tail.rfind(end_mark, tail.size() - end_bytes);
    if (found == std::string_view::npos) bytes.fail(0, "this is not a zip archive, or its end is missing");
    const std::uint64_t end = all.size() - reach + found;
    Directory directory{bytes.number<std::uint16_t>(end + 10), bytes.number<std::uint32_t>(end + 16)};
    if (directory.members != no_16 && directory.at != no_32) return directory;
    if (end < locator_bytes || bytes.part(end - locator_bytes, 4) != locator_mark) return directory;
    const std::uint64_t end64 = bytes.number<std::uint64_t>(end - locator_bytes + 8);
    bytes.part(end64, end64_bytes);
    bytes.expect(end64, end64_mark, "a zip64 directory");
    return {bytes.number<std::uint64_t>(end64 + 32), bytes.number<std::uint64_t>(end64 + 48)};
}

// Sizes that do not fit 32 bits stand in an extra field, in this order, only those that are needed.
void read_zip64(const Bytes& bytes, std::uint64_t at, std::uint64_t end, ZipMember& member)
{
    while (end - at >= 4) {
        const std::uint64_t id = bytes.number<std::uint16_t>(at), size = bytes.number<std::uint16_t>(at + 2);
        if (size > end - at - 4) bytes.fail(at, "an extra field is longer than all of them");
        if (id == zip64_field) {
            std::uint64_t from = at + 4;
            for (std::uint64_t* number : {&member.bytes, &member.packed_bytes, &member.header_at}) {
                if (*number != no_32) continue;
                if (from + 8 > at + 4 + size) bytes.fail(at, "a zip64 field is too short");
                *number = bytes.number<std::uint64_t>(from);
                from += 8;
            }
            return;
        }
        at += 4 + size;
    }
}

// Reads the directory entry at `at` and moves behind it.
ZipMember read_member(const Bytes& bytes, std::uint64_t& at)
{
    bytes.expect(at, central_mark, "a directory entry");
    const std::uint64_t name = bytes.number<std::uint16_t>(at + 28), extra = bytes.number<std::uint16_t>(at + 30),
                        comment = bytes.number<std::uint16_t>(at + 32);
    ZipMember member;
    member.flags = bytes.number<std::uint16_t>(at + 8);
    member.method = bytes.number<std::uint16_t>(at + 10);
    member.crc = bytes.number<std::uint32_t>(at + 16);
    member.packed_bytes = bytes.number<std::uint32_t>(at + 20);
    member.bytes = bytes.number<std::uint32_t>(at + 24);
    member.header_at = bytes.number<std::uint32_t>(at + 42);
    member.name = bytes.part(at + central_bytes, name);
    bytes.part(at + central_bytes, name + extra + comment);
    read_zip64(bytes, at + central_bytes + name, at + central_bytes + name + extra, member);
    at += central_bytes + name + extra + comment;
    return member;
}

template <class T>
std::string little(T number)
{
    std::string bytes;
    for (std::size_t b = 0; b < sizeof(T); ++b)
        bytes += static_cast<char>(static_cast<std::uint64_t>(number) >> (8 * b) & 255);
    return bytes;
}

std::string short_size(std::uint64_t size) { return little(static_cast<std::uint32_t>(std::min(size, no_32))); }

std::string zip64_sizes(const std::vector<std::uint64_t>& sizes)
{
    std::string field;
    for (const std::uint64_t size : sizes)
        if (size >= no_32) field += little(size);
    return field.empty() ? field : little(zip64_field) + little(static_cast<std::uint16_t>(field.size())) + field;
}

// What a member's own header and its directory entry have in common: from the version to the length of the extra field.
// The date is 1 January 1980, so that the same matrix gives the same file.
std::string common_part(const ZipMember& member, const std::string& extra)
{
    constexpr std::uint16_t first_day = 1 << 5 | 1;
    return little(version_zip64) + little(std::uint16_t{0}) + little(member.method) + little(std::uint16_t{0}) +
           little(first_day) + little(member.crc) + short_size(member.packed_bytes) + short_size(member.bytes) +
           little(static_cast<std::uint16_t>(member.name.size())) + little(static_cast<std::uint16_t>(extra.size()));
}

}  // namespace

ZipReader::ZipReader(const Source& archive) : archive_(&archive)
{
    const Bytes bytes(archive);
    auto [count, at] = find_directory(bytes, archive.bytes());
    if (count > archive.bytes().size() / central_bytes) bytes.fail(0, concat("the archive claims ", count, " members"));
    for (std::uint64_t m = 0; m < count; ++m) members_.push_back(read_member(bytes, at));
}

const ZipMember* ZipReader::find(std::string_view name) const
{
    const auto found =
        std::find_if(members_.begin(), members_.end(), [&](const ZipMember& m) { return m.name == name; });
    return found == members_.end() ? nullptr : &*found;
}

Source ZipReader::open(const CpuQueue& q, const ZipMember& member) const
{
    const Bytes bytes(*archive_);
    bytes.part(member.header_at, local_bytes);
    bytes.expect(member.header_at, local_mark, "the header of " + member.name);
    const std::uint64_t skip = local_bytes + bytes.number<std::uint16_t>(member.header_at + 26) +
                               bytes.number<std::uint16_t>(member.header_at + 28);
    const std::string_view packed = bytes.part(member.header_at + skip, member.packed_bytes);
    const std::string name = archive_->name() + ":" + member.name;
    const auto fail = [&](const std::string& what) { bytes.fail(member.header_at, member.name + what); };
    if (member.flags & encrypted) fail(" is encrypted");
    if (member.method != stored && member.method != deflated)
        fail(concat(" is compressed by method ", member.method, ", only deflate is known"));
    if (member.method == stored && member.bytes != member.packed_bytes)
        fail(concat(" is stored in ", member.packed_bytes, " bytes, but has ", member.bytes));
    if (member.bytes / deflate_ratio > member.packed_bytes)
        fail(concat(" cannot unpack from ", member.packed_bytes, " to ", member.bytes, " bytes"));

    Source contents(name, packed);
    if (member.method == deflated) {
        Buffer<char> unpacked(q, static_cast<offset_t>(member.bytes));
        inflate(*archive_, packed, unpacked.data(), member.bytes);
        contents = Source(name, std::move(unpacked), member.bytes);
    }
    if (crc32(0, contents.bytes()) != member.crc) fail(" is damaged: its checksum is wrong");
    return contents;
}

void ZipWriter::put(std::string_view bytes)
{
    sink_.write(bytes);
    at_ += bytes.size();
}

void ZipWriter::add(const std::string& name, const std::vector<std::string_view>& pieces)
{
    ZipMember member;
    member.name = name;
    member.header_at = at_;
    for (const std::string_view piece : pieces) {
        member.bytes += piece.size();
        member.crc = crc32(member.crc, piece);
    }
    member.packed_bytes = member.bytes;
    const std::string extra = zip64_sizes({member.bytes, member.packed_bytes});
    put(concat(local_mark, common_part(member, extra), name, extra));
    for (const std::string_view piece : pieces) put(piece);
    members_.push_back(std::move(member));
}

void ZipWriter::finish()
{
    const std::uint64_t begin = at_;
    for (const ZipMember& member : members_) {
        const std::string extra = zip64_sizes({member.bytes, member.packed_bytes, member.header_at});
        put(concat(central_mark, little(version_zip64), common_part(member, extra), std::string(10, '\0'),
                   short_size(member.header_at), member.name, extra));
    }
    const std::uint64_t end = at_, count = members_.size();
    const auto count_16 = little(static_cast<std::uint16_t>(count));
    if (end >= no_32) {
        put(concat(end64_mark, little(std::uint64_t{end64_bytes - 12}), little(version_zip64), little(version_zip64),
                   little(std::uint64_t{0}), little(count), little(count), little(end - begin), little(begin)));
        put(concat(locator_mark, little(std::uint32_t{0}), little(end), little(std::uint32_t{1})));
    }
    put(concat(end_mark, little(std::uint32_t{0}), count_16, count_16, short_size(end - begin), short_size(begin),
               little(std::uint16_t{0})));
}

}  // namespace tulle::inline TULLE_ABI::io
