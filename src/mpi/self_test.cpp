// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/self_test.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <tuple>

#include "tulle/error.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::mpi {
namespace {

using SelfTestClock = std::chrono::steady_clock;

// Short messages and long ones take different ways in MPI.
constexpr std::array<std::size_t, 3> trial_bytes{64, std::size_t{1} << 16, std::size_t{4} << 20};

// What launchers tell their processes; the child is a job of its own. Settings of the user stay.
bool is_of_launcher(std::string_view variable)
{
    for (const std::string_view kept :
         {"OMPI_MCA_btl", "OMPI_MCA_pml", "OMPI_MCA_mtl", "OMPI_MCA_mpi_", "OMPI_MCA_opal_"})
        if (variable.starts_with(kept)) return false;
    for (const std::string_view launcher :
         {"OMPI_", "PMIX_", "PMI_", "PRTE_", "ORTE_", "HYDRA_", "HYDI_", "MPI_LOCAL", "SLURM_"})
        if (variable.starts_with(launcher)) return true;
    return false;
}

std::vector<char*> child_environment()
{
    static std::string alone = "OMPI_MCA_ess_singleton_isolated=1";  // Open MPI needs no daemon for one process
    std::vector<char*> kept{alone.data()};
    for (char** variable = environ; *variable; ++variable)
        if (!is_of_launcher(*variable)) kept.push_back(*variable);
    kept.push_back(nullptr);
    return kept;
}

// Beside this program, or as the PATH has it.
std::string find_program(const std::string& program)
{
    std::error_code none;
    if (program.find('/') != program.npos) return program;
    const auto beside = std::filesystem::read_symlink("/proc/self/exe", none).parent_path() / program;
    return std::filesystem::exists(beside, none) ? beside.string() : program;
}

std::optional<pid_t> start_child(const std::string& program, int device, const std::string& library, std::string& why)
{
    std::array<std::string, 4> words{program, "mpi-self-test", concat(device), library};
    std::array<char*, 5> arguments{words[0].data(), words[1].data(), words[2].data(), words[3].data(), nullptr};
    std::vector<char*> environment = child_environment();
    posix_spawn_file_actions_t quiet;  // what a crash prints is not of interest
    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&quiet, 2, "/dev/null", O_WRONLY, 0);
    pid_t child = 0;
    const int error = posix_spawnp(&child, program.c_str(), &quiet, nullptr, arguments.data(), environment.data());
    posix_spawn_file_actions_destroy(&quiet);
    if (error == 0) return child;
    why = concat("the self-test cannot be run: ", program, ": ", std::strerror(error));
    return {};
}

std::string text_of(int status)
{
    if (WIFSIGNALED(status)) return concat("the self-test was ended by signal ", WTERMSIG(status));
    switch (static_cast<SelfTest>(WEXITSTATUS(status))) {
    case SelfTest::passed: return {};
    case SelfTest::wrong_data: return "the self-test received other data than it had sent";
    case SelfTest::other_library: return "the program of the self-test was built with another MPI";
    case SelfTest::failed: return "the self-test got an error from MPI or CUDA";
    }
    return concat("the self-test ended with exit code ", WEXITSTATUS(status));
}

std::string wait_for_child(pid_t child, double seconds)
{
    const auto begin = SelfTestClock::now();
    int status = 0;
    for (;;) {
        const pid_t ended = waitpid(child, &status, WNOHANG);
        if (ended == child) return text_of(status);
        if (ended < 0 && errno != EINTR) return "the result of the self-test was lost";
        if (std::chrono::duration<double>(SelfTestClock::now() - begin).count() > seconds) break;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return concat("the self-test did not end in ", fixed(seconds, 1), " s");
}

std::string run_child(const std::string& program, int device, const std::string& library, double seconds)
{
    std::string why;
    const std::optional<pid_t> child = start_child(find_program(program), device, library, why);
    return child ? wait_for_child(*child, seconds) : why;
}

// Released when it goes, whatever happened.
class OneMessage {
public:
    OneMessage(Transport& transport, Transport::Request request) : transport_(transport), request_(request) {}
    OneMessage(const OneMessage&) = delete;
    OneMessage& operator=(const OneMessage&) = delete;
    ~OneMessage() { transport_.release(request_); }
    void start() { transport_.start(request_); }
    bool test() { return done_ || (done_ = transport_.test(request_)); }

private:
    Transport& transport_;
    Transport::Request request_;
    bool done_ = false;
};

void wait_for_both(OneMessage& sent, OneMessage& received, int from, double seconds)
{
    const auto begin = SelfTestClock::now();
    for (;;) {
        const bool here = received.test(), gone = sent.test();
        if (here && gone) return;
        require<Error>(std::chrono::duration<double>(SelfTestClock::now() - begin).count() < seconds, [&] {
            return concat("device memory from rank ", from, " did not arrive in ", fixed(seconds, 1), " s");
        });
        std::this_thread::yield();
    }
}

template <class Queue>
void try_transfer_on(const Queue& q, Transport& transport, int to, int from, std::size_t bytes, double seconds)
{
    const auto mine = trial_numbers(transport.rank(), bytes), expected = trial_numbers(from, bytes);
    std::vector<unsigned char> got(bytes);
    Buffer<unsigned char> out(q.memory, plain_place(q), std::ssize(mine)),
        in(q.memory, plain_place(q), std::ssize(got));
    upload(q, mine.data(), out.data(), out.size());
    fill_bytes(q, in.data(), 0, bytes);
    synchronize(q);
    {
        const int count = static_cast<int>(bytes);
        OneMessage received(transport, transport.receive_init(in.data(), count, from, tag_trial));
        OneMessage sent(transport, transport.send_init(out.data(), count, to, tag_trial));
        received.start();
        sent.start();
        wait_for_both(sent, received, from, seconds);
    }
    download(q, in.data(), got.data(), in.size());
    require<ValueError>(got == expected,
                        [&] { return concat("other data came from rank ", from, " than it had sent"); });
}

}  // namespace

std::vector<unsigned char> trial_numbers(int rank, std::size_t bytes)
{
    std::vector<unsigned char> numbers(bytes);
    for (std::size_t i = 0; i < bytes; ++i)
        numbers[i] = static_cast<unsigned char>(1 + (i * 7 + i / 251 + static_cast<std::size_t>(rank) * 31) % 255);
    return numbers;
}

std::string why_not_gpu_aware(const std::string& program, int device, const std::string& library, double seconds)
{
    static std::mutex mutex;
    static std::map<std::tuple<std::string, int, std::string>, std::string> known;
    if (program.empty()) return "the transport takes host memory alone";
    const std::lock_guard lock(mutex);
    const auto [found, is_new] = known.try_emplace({program, device, library});
    if (is_new) found->second = run_child(program, device, library, seconds);
    return found->second;
}

void try_transfer(Transport& transport, const Context& ctx, int to, int from, double seconds)
{
    for (const std::size_t bytes : trial_bytes)
        ctx.run([&](const auto& q) { try_transfer_on(q, transport, to, from, bytes, seconds); });
}

SelfTest self_test(Transport& transport, int device, const std::string& library) noexcept
{
    constexpr double seconds = 10;
    try {
        if (!library.empty() && library != transport.name()) return SelfTest::other_library;
        try_transfer(transport, Context::cuda(device), transport.rank(), transport.rank(), seconds);
        return SelfTest::passed;
    } catch (const ValueError&) {
        return SelfTest::wrong_data;
    } catch (const std::exception&) {
        return SelfTest::failed;
    }
}

}  // namespace tulle::inline TULLE_ABI::mpi
