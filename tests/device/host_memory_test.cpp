// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What the machine cannot give is refused with both numbers before anything is touched: limits are read from files that
// the tests write, and set for a child process.
#include "device/host_memory.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "simt/sanitizers.hpp"
#include "tulle/context.hpp"
#include "tulle/error.hpp"
#include "tulle/memory.hpp"
#include "tulle/version.hpp"

namespace tulle::inline TULLE_ABI {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

// A machine in a folder.
class HostMemory : public ::testing::Test {
protected:
    void SetUp() override
    {
        std::string pattern = (std::filesystem::temp_directory_path() / "tulle_limits_XXXXXX").string();
        ASSERT_NE(mkdtemp(pattern.data()), nullptr);
        folder_ = pattern;
        host::read_limits_below(folder_.string());
    }
    void TearDown() override
    {
        host::read_limits_below("");
        std::filesystem::remove_all(folder_);
    }

    void write(const std::string& path, const std::string& text) const
    {
        const auto file = folder_ / path;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << text;
    }
    void memory(std::size_t available, std::size_t swap = 0) const
    {
        write("proc/meminfo", concat("MemTotal:       99999999 kB\nMemFree:        1 kB\nMemAvailable:   ",
                                     available >> 10, " kB\nSwapFree:       ", swap >> 10, " kB\n"));
    }
    // Without what is left to others.
    static std::size_t usable(std::size_t bytes) { return bytes - bytes / 32; }

    static OutOfMemory refusal(offset_t bytes)
    {
        try {
            const Buffer<char> b(CpuQueue(1), bytes);
        } catch (const OutOfMemory& e) {
            return e;
        }
        ADD_FAILURE() << bytes << " bytes were given";
        return OutOfMemory("", 0, 0);
    }

    std::filesystem::path folder_;
};

TEST_F(HostMemory, IsWhatTheMachineHas)
{
    memory(1000 * mib);
    EXPECT_EQ(host::available().bytes, usable(1000 * mib));
    EXPECT_EQ(host::available().limit, "physical memory");
    memory(1000 * mib, 500 * mib);
    EXPECT_EQ(host::available().bytes, usable(1500 * mib));
    EXPECT_EQ(host::available().limit, "physical memory and swap");
}

TEST_F(HostMemory, IsRefusedWithBothNumbers)
{
    memory(200 * mib);
    const OutOfMemory e = refusal(static_cast<offset_t>(300 * mib));
    EXPECT_EQ(e.needed(), 300 * mib);
    EXPECT_EQ(e.available(), usable(200 * mib));
    EXPECT_EQ(e.message(), "out of memory on host memory: 300.0 MiB needed, 193.8 MiB available (physical memory)");
    EXPECT_FALSE(e.hint().empty());
    const CpuQueue q(1);
    EXPECT_NO_THROW(Buffer<char>(q, static_cast<offset_t>(150 * mib)));
    EXPECT_THROW(Buffer<char>(q, static_cast<offset_t>(300 * mib)), OutOfMemory);
    EXPECT_EQ(q.memory->live_blocks(), 0);
    EXPECT_EQ(q.memory->live(Space::host), 0u) << "what was refused is not counted";
    EXPECT_THROW(host::require_room("C", 300 * mib), OutOfMemory);
    EXPECT_NO_THROW(host::require_room("C", 150 * mib));
}

// A block that was not touched yet is not in what the kernel says.
TEST_F(HostMemory, CountsWhatIsNotTouchedYet)
{
    memory(400 * mib);
    const CpuQueue q(1);
    Buffer<char> first(q, static_cast<offset_t>(240 * mib));
    const OutOfMemory e = refusal(static_cast<offset_t>(240 * mib));
    EXPECT_LT(e.available(), 170 * mib);
    EXPECT_GT(e.available(), 150 * mib);
    EXPECT_NE(e.message().find("that are allocated but not yet used"), std::string::npos) << e.message();
    std::memset(first.data(), 1, 120 * mib);
    EXPECT_NEAR(static_cast<double>(host::available().bytes), static_cast<double>(usable(280 * mib)), 8.0 * mib)
        << "half of it is touched, and the file says what it said";
    std::memset(first.data(), 1, 240 * mib);
    EXPECT_NO_THROW(Buffer<char>(q, static_cast<offset_t>(240 * mib)));
    first = {};
    EXPECT_EQ(host::available().bytes, usable(400 * mib)) << "nothing is held";
}

// Blocks below the size that is looked at do not slip through in a crowd.
TEST_F(HostMemory, CountsManySmallBlocks)
{
    memory(8 * mib);
    const CpuQueue q(1);
    std::vector<Buffer<char>> all;
    const auto take = [&] {
        for (int k = 0; k < 100; ++k) all.emplace_back(q, static_cast<offset_t>(9 * mib));
    };
    EXPECT_THROW(take(), OutOfMemory);
    EXPECT_LT(all.size(), 10u);
}

TEST_F(HostMemory, LooksAtGroupsOfVersion2)
{
    memory(10000 * mib);
    write("proc/self/cgroup", "0::/a/b\n");
    write("sys/fs/cgroup/a/b/memory.max", "max\n");
    write("sys/fs/cgroup/a/b/memory.current", "1\n");
    EXPECT_EQ(host::available().bytes, usable(10000 * mib)) << "no limit";
    write("sys/fs/cgroup/a/memory.max", concat(1000 * mib, "\n"));
    write("sys/fs/cgroup/a/memory.current", concat(900 * mib, "\n"));
    EXPECT_EQ(host::available().bytes, usable(100 * mib)) << "of the group above";
    EXPECT_EQ(host::available().limit, "the memory limit of cgroup /a");
    write("sys/fs/cgroup/a/memory.stat",
          concat("anon 5\nactive_file ", 30 * mib, "\ninactive_file ", 20 * mib, "\nslab 7\n"));
    EXPECT_EQ(host::available().bytes, usable(150 * mib)) << "file caches can be dropped";
    write("sys/fs/cgroup/a/b/memory.max", concat(50 * mib, "\n"));
    EXPECT_EQ(host::available().limit, "the memory limit of cgroup /a/b");
    EXPECT_EQ(refusal(static_cast<offset_t>(100 * mib)).needed(), 100 * mib);
    write("sys/fs/cgroup/a/b/memory.current", concat(60 * mib, "\n"));
    EXPECT_EQ(host::available().bytes, 0u) << "more is used than allowed";
}

TEST_F(HostMemory, LooksAtGroupsOfVersion1)
{
    memory(10000 * mib);
    write("proc/self/cgroup", "9:name=systemd:/\n4:cpu,memory:/job\n3:cpuset:/\n");
    write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    write("sys/fs/cgroup/memory/memory.usage_in_bytes", "5\n");
    write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", concat(300 * mib, "\n"));
    write("sys/fs/cgroup/memory/job/memory.usage_in_bytes", concat(200 * mib, "\n"));
    write("sys/fs/cgroup/memory/job/memory.stat", concat("inactive_file 1\nactive_file 2\ntotal_inactive_file ",
                                                         40 * mib, "\ntotal_active_file ", 10 * mib, "\n"));
    EXPECT_EQ(host::available().bytes, usable(150 * mib));
    EXPECT_EQ(host::available().limit, "the memory limit of cgroup /job");
    EXPECT_NE(refusal(static_cast<offset_t>(200 * mib)).message().find("cgroup /job"), std::string::npos);
}

TEST_F(HostMemory, IsNotLimitedByFilesThatAreMissingOrDamaged)
{
    EXPECT_NO_THROW(Buffer<char>(CpuQueue(1), static_cast<offset_t>(100 * mib)));
    write("proc/meminfo", "MemAvailable:   many kB\n");
    write("proc/self/cgroup", "\n:\nnonsense\n0::\n0::relative\n4:memory:/../..\n");
    write("sys/fs/cgroup/memory.max", "\n");
    EXPECT_NO_THROW(Buffer<char>(CpuQueue(1), static_cast<offset_t>(100 * mib)));
}

TEST_F(HostMemory, IsSharedByManyThreads)
{
    memory(400 * mib);
    std::vector<Buffer<char>> got(8);
    {
        std::vector<std::jthread> threads;
        for (Buffer<char>& mine : got)
            threads.emplace_back([&mine] {
                try {
                    mine = Buffer<char>(CpuQueue(1), static_cast<offset_t>(100 * mib));
                } catch (const OutOfMemory&) {}
            });
    }
    int given = 0;
    for (const Buffer<char>& b : got) given += b.empty() ? 0 : 1;
    EXPECT_EQ(given, 3) << "none of them is touched";
}

// The real machine: what it has is refused beyond, in a process that may have less.
int in_child(const std::function<bool()>& work)
{
    const pid_t child = fork();
    if (child == 0) {
        try {
            _exit(work() ? 0 : 1);
        } catch (...) {
            _exit(2);
        }
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

bool is_refused_below(int resource, const char* limit)
{
    const rlimit least{1200 * mib, 1200 * mib};
    if (setrlimit(static_cast<__rlimit_resource>(resource), &least) != 0) return false;
    const CpuQueue q(1);
    const Buffer<char> some(q, static_cast<offset_t>(100 * mib));
    try {
        const Buffer<char> more(q, static_cast<offset_t>(1150 * mib));
    } catch (const OutOfMemory& e) {
        return e.available() < e.needed() && e.message().find(limit) != std::string::npos;
    }
    return false;
}

TEST(HostMemoryOfAChild, IsBoundedByItsLimits)
{
    if (build::has_cuda && !build::simulated && why_no_cuda().empty())
        GTEST_SKIP() << "CUDA's driver maps more than any limit";
    if (simt::under_asan || simt::under_tsan) GTEST_SKIP() << "sanitizers map more than any limit";
    EXPECT_EQ(in_child([] { return is_refused_below(RLIMIT_AS, "ulimit -v"); }), 0);
    EXPECT_EQ(in_child([] { return is_refused_below(RLIMIT_DATA, "ulimit -d"); }), 0);
}

TEST(HostMemoryOfAChild, IsRefusedAndNotKilled)
{
    if (simt::under_asan || simt::under_tsan) GTEST_SKIP() << "sanitizers touch memory of their own for every block";
    const std::size_t all = host::available().bytes;
    EXPECT_EQ(in_child([=] {
                  const CpuQueue q(1);
                  std::vector<Buffer<char>> held;
                  try {
                      for (int k = 0; k < 5; ++k)
                          held.emplace_back(q, static_cast<offset_t>(
                                                   all / 4));  // none touched: the kernel would give them all
                  } catch (const OutOfMemory& e) {
                      return held.size() >= 2 && e.needed() > e.available();
                  }
                  return false;
              }),
              0);
}

}  // namespace
}  // namespace tulle::inline TULLE_ABI
