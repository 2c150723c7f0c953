// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "io/source.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::io {
namespace {

constexpr std::size_t smallest_room = std::size_t{64} << 10;

[[noreturn]] void throw_reason(const std::string& name, std::string_view what)
{
    const int code = errno;
    throw FileError(concat(name, ": cannot be ", what, ": ", std::generic_category().message(code)), {}, code);
}

struct Descriptor {
    int number;
    explicit Descriptor(int n) : number(n) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor()
    {
        if (number >= 0) ::close(number);
    }
};

// A pipe or a file system that does not map.
Source read_stream(const CpuQueue& q, int from, const std::string& name)
{
    ByteBuffer all(q, smallest_room, Memory::unlimited);
    for (;;) {
        if (all.free_bytes() == 0) all.make_room();
        const ssize_t got = ::read(from, all.free_begin(), all.free_bytes());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) throw_reason(name, "read");
        if (got == 0) return std::move(all).finish(name);
        all.use(static_cast<std::size_t>(got));
    }
}

}  // namespace

Source Source::open(const CpuQueue& q, const std::filesystem::path& file)
{
    if (file == "-") return read_stream(q, STDIN_FILENO, "stdin");
    const std::string name = file.string();
    const Descriptor descriptor(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    if (descriptor.number < 0) throw_reason(name, "opened");
    struct stat facts {};
    if (::fstat(descriptor.number, &facts) != 0) throw_reason(name, "opened");
    if (S_ISDIR(facts.st_mode)) throw FileError(concat(name, ": is a directory, not a file"), {}, EISDIR);
    const auto bytes = static_cast<std::size_t>(std::max<off_t>(facts.st_size, 0));
    if (!S_ISREG(facts.st_mode) || bytes == 0) return read_stream(q, descriptor.number, name);

    void* map = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, descriptor.number, 0);
    if (map == MAP_FAILED) return read_stream(q, descriptor.number, name);
    Source source(name, std::string_view(static_cast<const char*>(map), bytes));
    source.map_ = std::shared_ptr<void>(map, [bytes](void* begin) { ::munmap(begin, bytes); });
    ::madvise(map, bytes, MADV_SEQUENTIAL);
    return source;
}

Source Source::part(std::string name, std::string_view bytes) &&
{
    name_ = std::move(name);
    bytes_ = bytes;
    return std::move(*this);
}

void Source::fail(const void* at, const std::string& what, const std::string& hint) const
{
    throw FormatError(concat(name_, ": byte ", static_cast<const char*>(at) - bytes_.data(), ": ", what), hint);
}

ByteBuffer::ByteBuffer(const CpuQueue& q, std::size_t expected, std::size_t limit)
    : q_(q),
      limit_(limit),
      data_(q, static_cast<offset_t>(std::min(std::max(expected, std::size_t{1}), std::max(limit, std::size_t{1}))))
{}

bool ByteBuffer::make_room()
{
    const std::size_t now = data_.bytes();
    if (now >= limit_) return false;
    const std::size_t more = std::max(smallest_room, now);
    Buffer<char> larger(q_, static_cast<offset_t>(now > limit_ - std::min(limit_, more) ? limit_ : now + more));
    copy(q_, data_.data(), larger.data(), static_cast<offset_t>(used_));
    data_ = std::move(larger);
    return true;
}

}  // namespace tulle::inline TULLE_ABI::io
