// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "io/sink.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::io {
namespace {

namespace fs = std::filesystem;

// Names of files that are not finished, where a signal handler may read them at any time: no pointer that could be
// freed meanwhile.
struct Slot {
    std::atomic<bool> taken{false}, named{false};
    std::array<char, 4096> name{};
};
std::array<Slot, 16> unfinished;  // more at once are not removed by a handler
static_assert(std::atomic<bool>::is_always_lock_free);

int enter(const std::string& name)
{
    for (std::size_t s = 0; s < unfinished.size() && name.size() < unfinished[s].name.size(); ++s)
        if (!unfinished[s].taken.exchange(true)) {
            std::copy_n(name.c_str(), name.size() + 1, unfinished[s].name.begin());
            unfinished[s].named = true;
            return static_cast<int>(s);
        }
    return -1;
}

void leave(int slot)
{
    if (slot < 0) return;
    unfinished[static_cast<std::size_t>(slot)].named = false;
    unfinished[static_cast<std::size_t>(slot)].taken = false;
}

[[noreturn]] void cannot_write(const std::string& name, const std::string& hint)
{
    const int code = errno;
    throw FileError(concat(name, ": cannot be written: ", std::generic_category().message(code)), hint, code);
}

std::string name_beside(const fs::path& target)
{
    static std::atomic<unsigned> created = 0;
    return (target.parent_path() / concat(".", target.filename().string(), ".", ::getpid(), "-", created++)).string();
}

// make(name) for names in the folder of the target until one is free. It is listed as unfinished before it exists.
// False and errno else.
template <class F>
bool make_beside(const fs::path& target, std::string& name, int& slot, F&& make)
{
    for (int tries = 0; tries < 100; ++tries) {
        name = name_beside(target);
        slot = enter(name);
        if (make(name.c_str())) return true;
        const int fault = errno;
        leave(std::exchange(slot, -1));
        errno = fault;
        if (fault != EEXIST) break;
    }
    name.clear();
    return false;
}

std::string descriptor_path(int descriptor) { return concat("/proc/self/fd/", descriptor); }

// A file without a name in the folder of the target; -1 where there are none, or no way to give it a name.
int create_nameless(const fs::path& target)
{
    const fs::path folder = target.parent_path();
    const int descriptor = ::open(folder.empty() ? "." : folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    if (descriptor < 0 || ::access(descriptor_path(descriptor).c_str(), F_OK) == 0) return descriptor;
    ::close(descriptor);
    return -1;
}

void write_all(int descriptor, std::string_view bytes, const auto& fail)
{
    while (!bytes.empty()) {
        const ssize_t written = ::write(descriptor, bytes.data(), std::min(bytes.size(), std::size_t{1} << 30));
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) fail();
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
}

// Standard output, a pipe or a device. What was written stays written.
class Stream : public OutputFile {
public:
    explicit Stream(const fs::path& file) : name_(file == "-" ? "stdout" : file.string()), opened_(file != "-")
    {
        descriptor_ = opened_ ? ::open(file.c_str(), O_WRONLY | O_CLOEXEC) : STDOUT_FILENO;
        if (descriptor_ < 0) fail();
    }
    ~Stream() override
    {
        if (opened_ && descriptor_ >= 0) ::close(descriptor_);
    }
    void write(std::string_view bytes) override
    {
        write_all(descriptor_, bytes, [this] { fail(); });
    }
    void commit() override
    {
        if (opened_ && ::close(std::exchange(descriptor_, -1)) != 0) fail();
    }

private:
    [[noreturn]] void fail() const { cannot_write(name_, {}); }

    std::string name_;
    bool opened_;
    int descriptor_ = -1;
};

fs::path resolved(const fs::path& file)
{
    std::error_code ignored;
    const fs::path target = fs::is_symlink(file, ignored) ? fs::weakly_canonical(file, ignored) : file;
    return target.empty() ? file : target;
}

// Makes the new name itself last; file systems that cannot do this do not need it.
void sync_folder(const fs::path& folder)
{
    const int descriptor = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return;
    ::fsync(descriptor);
    ::close(descriptor);
}

}  // namespace

bool is_stream(const fs::path& file)
{
    std::error_code ignored;
    const auto kind = fs::status(file, ignored).type();
    return file == "-" || kind == fs::file_type::fifo || kind == fs::file_type::character ||
           kind == fs::file_type::socket;
}

std::unique_ptr<OutputFile> create_output(const fs::path& file)
{
    if (is_stream(file)) return std::make_unique<Stream>(file);
    return std::make_unique<AtomicFile>(file);
}

void remove_unfinished_files() noexcept
{
    for (const Slot& slot : unfinished)
        if (slot.named) ::unlink(slot.name.data());
}

AtomicFile::AtomicFile(const fs::path& file, Unfinished wish) : target_(resolved(file)), name_(file.string())
{
    std::error_code ignored;
    if (fs::is_directory(target_, ignored)) throw FileError(name_ + ": is a directory, not a file", {}, EISDIR);
    if (fs::exists(target_, ignored) && !fs::is_regular_file(target_, ignored))
        throw FileError(name_ + ": is not a regular file");
    create(wish);
    struct stat facts {};
    if (::stat(target_.c_str(), &facts) == 0)
        ::fchmod(descriptor_, facts.st_mode & 07777);  // the file that is replaced keeps its permissions
}

AtomicFile::~AtomicFile()
{
    if (descriptor_ < 0) return;
    ::close(descriptor_);
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
    leave(slot_);
}

void AtomicFile::create(Unfinished wish)
{
    if (wish == Unfinished::without_name) descriptor_ = create_nameless(target_);
    if (descriptor_ >= 0) return;
    const bool made = make_beside(target_, temporary_, slot_, [this](const char* name) {
        descriptor_ = ::open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        return descriptor_ >= 0;
    });
    if (!made) fail();
}

void AtomicFile::fail() const { cannot_write(name_, "the file is as it was before"); }

void AtomicFile::write(std::string_view bytes)
{
    write_all(descriptor_, bytes, [this] { fail(); });
}

// A file without a name gets the target's, or where that is taken another one, to be renamed: nothing replaces a file
// in one step but that.
void AtomicFile::link()
{
    const std::string self = descriptor_path(descriptor_);
    const auto link_as = [&](const char* name) {
        return ::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0;
    };
    if (link_as(target_.c_str())) return;
    if (errno != EEXIST || !make_beside(target_, temporary_, slot_, link_as)) fail();
}

void AtomicFile::commit()
{
    if (::fsync(descriptor_) != 0 && errno != EINVAL && errno != ENOTSUP) fail();
    if (temporary_.empty()) link();
    if (!temporary_.empty() && ::rename(temporary_.c_str(), target_.c_str()) != 0) fail();
    leave(std::exchange(slot_, -1));
    ::close(std::exchange(descriptor_, -1));
    sync_folder(target_.parent_path());
}

}  // namespace tulle::inline TULLE_ABI::io
