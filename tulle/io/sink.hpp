// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Where written bytes go.
#pragma once

#include <filesystem>
#include <string_view>

namespace tulle::io {

class Sink {
public:
    Sink() = default;
    Sink(const Sink&) = delete;
    Sink& operator=(const Sink&) = delete;
    virtual ~Sink() = default;
    virtual void write(std::string_view bytes) = 0;              // FileError where it fails
};

// A file that appears whole or not at all: written under another name in the same folder, brought to the disk and renamed by commit().
// Without commit() nothing remains and a file that was there before stays as it was.
class AtomicFile : public Sink {
public:
    explicit AtomicFile(const std::filesystem::path& file);
    ~AtomicFile() override;
    void write(std::string_view bytes) override;
    void commit();

private:
    [[noreturn]] void fail() const;

    std::filesystem::path target_;                               // what a symbolic link points to, not the link
    std::string name_, temporary_;
    int descriptor_ = -1;
};

}  // namespace tulle::io
