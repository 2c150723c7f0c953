// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include "tulle/base/error.hpp"
#include "tulle/base/text.hpp"
#include "tulle/io/sink.hpp"

namespace tulle::io {
namespace {

namespace fs = std::filesystem;

// A new file in the folder of the target, under a name that nobody has; its permissions are those of any new file. -1 and errno else.
int create_beside(const fs::path& target, std::string& name)
{
    static std::atomic<unsigned> created = 0;
    for (int tries = 0; tries < 100; ++tries) {
        name = (target.parent_path() / concat(".", target.filename().string(), ".", ::getpid(), "-", created++)).string();
        const int descriptor = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (descriptor >= 0 || errno != EEXIST) return descriptor;
    }
    return -1;
}

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

AtomicFile::AtomicFile(const fs::path& file) : target_(resolved(file)), name_(file.string())
{
    std::error_code ignored;
    if (fs::is_directory(target_, ignored)) throw FileError(name_ + ": is a directory, not a file");
    if (fs::exists(target_, ignored) && !fs::is_regular_file(target_, ignored)) throw FileError(name_ + ": is not a regular file");
    descriptor_ = create_beside(target_, temporary_);
    if (descriptor_ < 0) fail();
    struct stat facts{};
    if (::stat(target_.c_str(), &facts) == 0) ::fchmod(descriptor_, facts.st_mode & 07777);     // the file that is replaced keeps its permissions
}

AtomicFile::~AtomicFile()
{
    if (descriptor_ < 0) return;
    ::close(descriptor_);
    ::unlink(temporary_.c_str());
}

void AtomicFile::fail() const
{
    throw FileError(concat(name_, ": cannot be written: ", std::generic_category().message(errno)), "the file is as it was before");
}

void AtomicFile::write(std::string_view bytes)
{
    while (!bytes.empty()) {
        const ssize_t written = ::write(descriptor_, bytes.data(), std::min(bytes.size(), std::size_t{1} << 30));
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) fail();
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
}

void AtomicFile::commit()
{
    if (::fsync(descriptor_) != 0 && errno != EINVAL && errno != ENOTSUP) fail();
    if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail();
    ::close(std::exchange(descriptor_, -1));
    sync_folder(target_.parent_path());
}

}  // namespace tulle::io
