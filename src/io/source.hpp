// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The bytes of a file: mapped where it is a regular file, read where it is not, unpacked where it is compressed. A
// mapped file must not be cut short by somebody else while it is read.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::io {

class Source {
public:
    // "-" is standard input, called "stdin". FileError where the file cannot be opened or is a directory.
    static Source open(const CpuQueue& q, const std::filesystem::path& file);
    // Bytes that are in memory already: borrowed, or owned (the first `size` of `data`).
    Source(std::string name, std::string_view bytes) : name_(std::move(name)), bytes_(bytes) {}
    Source(std::string name, Buffer<char> data, std::size_t size)
        : name_(std::move(name)),
          data_(std::move(data)),
          bytes_(data_.data(), size)
    {}

    const std::string& name() const { return name_; }
    std::string_view bytes() const { return bytes_; }
    // Narrowed to a part of itself, such as a file in an archive.
    Source part(std::string name, std::string_view bytes) &&;

    // FormatError "name: byte 17: what", for binary formats; `at` points into the bytes.
    [[noreturn]] void fail(const void* at, const std::string& what, const std::string& hint = {}) const;

private:
    std::string name_;
    std::shared_ptr<void> map_;  // unmaps when the last part of it goes
    Buffer<char> data_;
    std::string_view bytes_;
};

// An array of bytes that grows, counted in the queue's memory. `limit` bytes are the most it may hold.
class ByteBuffer {
public:
    ByteBuffer(const CpuQueue& q, std::size_t expected, std::size_t limit);
    // Room for more, at least one byte; false when the limit is reached.
    bool make_room();
    char* free_begin() { return data_.data() + used_; }
    std::size_t free_bytes() const { return data_.bytes() - used_; }
    void use(std::size_t bytes) { used_ += bytes; }
    std::size_t used() const { return used_; }
    Source finish(std::string name) && { return {std::move(name), std::move(data_), used_}; }

private:
    CpuQueue q_;
    std::size_t limit_, used_ = 0;
    Buffer<char> data_;
};

}  // namespace tulle::inline TULLE_ABI::io
