// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Where written bytes go.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "tulle/api.hpp"

namespace tulle::inline TULLE_ABI::io {

class Sink {
public:
    Sink() = default;
    Sink(const Sink&) = delete;
    Sink& operator=(const Sink&) = delete;
    virtual ~Sink() = default;
    virtual void write(std::string_view bytes) = 0;  // FileError where it fails
};

// Something that is finished by commit().
class OutputFile : public Sink {
public:
    virtual void commit() = 0;
};

// "-" (standard output), or a pipe or device that is there: written to as it is, not replaced.
TULLE_API bool is_stream(const std::filesystem::path& file);
// An AtomicFile, or a stream where is_stream() says so.
TULLE_API std::unique_ptr<OutputFile> create_output(const std::filesystem::path& file);

// A file that appears whole or not at all: written without a name (O_TMPFILE), or under another name in the same folder
// where the file system knows no files without one; brought to the disk and given its name by commit(). Without
// commit() nothing remains and a file that was there before stays as it was; also when the process is killed, except
// for a file under another name.
class AtomicFile : public OutputFile {
public:
    enum class Unfinished { without_name, under_another_name };

    explicit AtomicFile(const std::filesystem::path& file, Unfinished wish = Unfinished::without_name);
    ~AtomicFile() override;
    void write(std::string_view bytes) override;
    void commit() override;

private:
    [[noreturn]] void fail() const;
    void create(Unfinished wish);
    void link();

    std::filesystem::path target_;  // what a symbolic link points to, not the link
    std::string name_, temporary_;  // temporary_ is empty for a file without a name
    int descriptor_ = -1;
    int slot_ = -1;  // of the list that remove_unfinished_files() goes through
};

// Removes the files under another name that this process has not finished. For signal handlers: async-signal-safe.
TULLE_API void remove_unfinished_files() noexcept;

}  // namespace tulle::inline TULLE_ABI::io
