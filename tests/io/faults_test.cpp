// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// When something fails midway: memory at every allocation, the disk, the caller's own progress. Nothing may leak, no
// half file may remain, and an old file must stay as it was.
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <stdexcept>

#include "io/files.hpp"
#include "support/battery.hpp"

namespace tulle::test {
namespace {

class IoFaults : public InFolder {
protected:
    HostCsr<double> a_ = random_matrix<double>(60, 50, 0.2, Values::reals, 3);
    HostCsr<double> unsorted_ = shuffled_with_duplicates(random_matrix<double>(40, 30, 0.2, Values::integers, 18), 99);
};

// Calls f with the n-th allocation failing, n = 0, 1, … until it succeeds; returns how many failed.
template <class F, class After>
int fail_every_allocation(Context& ctx, Memory::Fail how, F&& f, After&& after)
{
    for (int n = 0; n < 1000; ++n) {
        ctx.memory().fail_at(n, how);
        try {
            f();
            ctx.memory().fail_at(-1);
            return n;
        } catch (const OutOfMemory&) {
            ctx.memory().fail_at(-1);
            EXPECT_EQ(ctx.memory().live_blocks(), 0) << "allocation " << n;
            after();
        }
    }
    ADD_FAILURE() << "never succeeded";
    return 0;
}

TEST_F(IoFaults, ReadingSurvivesEveryFailingAllocation)
{
    std::vector<fs::path> files{samples / "sample.mtx.xz", samples / "sample.tar.gz", samples / "coo.npz",
                                samples / "csc.npz"};
    for (const char* name : {"a.mtx", "a.npz", "a.tulle", "a.mtx.gz"}) {
        try {
            io::write(Context::cpu(1), path(name), unsorted_.view());
            files.push_back(path(name));
        } catch (const NotBuilt&) {}
    }
    io::write(Context::cpu(1), path("a.smtx"), unsorted_.view(), {.pattern = true});
    files.push_back(path("a.smtx"));
    files.push_back(file("s.mtx", "%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n2 1 1\n2 1 2\n1 1 3\n"));
    for (const fs::path& file : files)
        for (const Memory::Fail how : {Memory::Fail::once, Memory::Fail::for_ever}) {
            SCOPED_TRACE(file.filename().string());
            Context ctx = Context::cpu(2);
            try {
                const int failed = fail_every_allocation(
                    ctx, how, [&] { io::read<double>(ctx, file); }, [] {});
                EXPECT_GE(failed, 3);
                EXPECT_EQ(ctx.memory().live_blocks(), 0);
            } catch (const NotBuilt& e) {
                std::cout << e.message() << "\n";
            }
        }
}

TEST_F(IoFaults, WritingSurvivesEveryFailingAllocation)
{
    for (const char* name : {"a.mtx", "a.npz"}) {
        SCOPED_TRACE(name);
        file(name, "what was there before");
        Context ctx = Context::cpu(2);
        const int failed = fail_every_allocation(
            ctx, Memory::Fail::once, [&] { io::write(ctx, path(name), a_.view()); },
            [&] { EXPECT_EQ(contents_of(path(name)), "what was there before"); });
        EXPECT_GE(failed, 1);
        EXPECT_TRUE(same_bits(a_.view(), io::read<double>(ctx, path(name))));
    }
    EXPECT_EQ(files_in_folder(), 2u);
}

// No file of this process may grow beyond `bytes` while this lives: the disk is full.
class FullDisk {
public:
    explicit FullDisk(rlim_t bytes) : signal_(std::signal(SIGXFSZ, SIG_IGN))
    {
        ::getrlimit(RLIMIT_FSIZE, &before_);
        const rlimit small{bytes, before_.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &small);
    }
    ~FullDisk()
    {
        ::setrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, signal_);
    }

private:
    rlimit before_{};
    void (*signal_)(int);
};

TEST_F(IoFaults, AFullDiskLeavesTheOldFile)
{
    for (const char* name : {"a.mtx", "a.mtx.gz", "a.npz", "a.tulle", "a.smtx"}) {
        SCOPED_TRACE(name);
        file(name, "old");
        std::string message;
        try {
            const FullDisk full(700);
            message = message_of<FileError>(
                [&] { io::write(Context::cpu(1), path(name), a_.view(), {.pattern = std::string(name) == "a.smtx"}); });
        } catch (const NotBuilt& e) {
            std::cout << e.message() << "\n";
            continue;
        }
        EXPECT_EQ(message, std::string(name) + ": cannot be written: File too large");
        EXPECT_EQ(contents_of(path(name)), "old");
    }
    EXPECT_EQ(files_in_folder(), 5u) << "temporary files remain";
}

TEST_F(IoFaults, ProgressMayEndAWriteAndARead)
{
    struct Enough {};
    EXPECT_THROW(io::write(Context::cpu(2), path("a.mtx"), a_.view(), {.progress = [](double) { throw Enough{}; }}),
                 Enough);
    EXPECT_EQ(files_in_folder(), 0u);
    io::write(Context::cpu(2), path("a.mtx"), a_.view());
    const Context ctx = Context::cpu(3);
    EXPECT_THROW(io::read<double>(ctx, path("a.mtx"), {.progress = [](double) { throw Enough{}; }}), Enough);
    EXPECT_EQ(ctx.memory().live_blocks(), 0);
}

TEST_F(IoFaults, TargetsThatCannotBeWritten)
{
    const auto message = [&](const fs::path& target) {
        return message_of<FileError>([&] { io::write(Context::cpu(1), target, a_.view()); });
    };
    EXPECT_EQ(message(path("nowhere") / "a.mtx"), "a.mtx: cannot be written: No such file or directory");
    fs::create_directory(path("folder.mtx"));
    EXPECT_EQ(message(path("folder.mtx")), "folder.mtx: is a directory, not a file");
    if (fs::exists("/dev/full")) {
        EXPECT_EQ(message("/dev/full"), "full: cannot be written: No space left on device");
    }
}

TEST_F(IoFaults, LinksAndPermissionsSurviveAWrite)
{
    file("real.mtx", "old");
    fs::permissions(path("real.mtx"), fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read);
    fs::create_symlink("real.mtx", path("link.mtx"));
    io::write(Context::cpu(1), path("link.mtx"), a_.view());
    EXPECT_TRUE(fs::is_symlink(path("link.mtx")));
    EXPECT_TRUE(same_bits(a_.view(), io::read<double>(Context::cpu(1), path("real.mtx"))));
    EXPECT_EQ(fs::status(path("real.mtx")).permissions(),
              fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read);
    io::write(Context::cpu(1), path("new.mtx"), a_.view());
    const mode_t mask = ::umask(0);
    ::umask(mask);
    EXPECT_EQ(static_cast<mode_t>(fs::status(path("new.mtx")).permissions()), 0666 & ~mask);
}

TEST_F(IoFaults, PipesAreRead)
{
    ASSERT_EQ(::mkfifo(path("pipe.mtx").c_str(), 0600), 0);
    const std::string text = contents_of(samples / "sample.mtx");
    const pid_t child = ::fork();
    if (child == 0) {
        std::ofstream(path("pipe.mtx")) << text;
        ::_exit(0);
    }
    EXPECT_EQ(entries_of(io::read<double>(Context::cpu(1), path("pipe.mtx"))), sample_entries);
}

// Room for 64 KiB, which doubles when it is full: here three times.
TEST_F(IoFaults, LongPipesAreRead)
{
    const auto a = random_matrix<double>(200, 300, 0.5, Values::reals, 6);
    io::write(Context::cpu(1), path("a.mtx"), a.view());
    const std::string text = contents_of(path("a.mtx"));
    ASSERT_GT(text.size(), 5u << 16);
    ASSERT_EQ(::mkfifo(path("pipe.mtx").c_str(), 0600), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        std::ofstream(path("pipe.mtx")) << text;
        ::_exit(0);
    }
    EXPECT_TRUE(same_bits(a.view(), io::read<double>(Context::cpu(1), path("pipe.mtx"))));
}

}  // namespace
}  // namespace tulle::test
