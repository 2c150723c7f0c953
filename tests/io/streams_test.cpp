// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Files that are none: pipes, names without a format, texts with a byte order mark; and files that a signal finds
// unfinished.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "io/files.hpp"
#include "io/sink.hpp"
#include "support/battery.hpp"

namespace tulle::test {
namespace {

class Streams : public InFolder {
protected:
    const HostCsr<double> a_ = random_matrix<double>(40, 30, 0.1, Values::reals, 3);
    const Context ctx_ = Context::cpu(2);
};

TEST_F(Streams, ContentsTellTheFormatWhereTheNameDoesNot)
{
    for (const char* ending : {"mtx", "mtx.gz", "npz", "tulle"}) {
        SCOPED_TRACE(ending);
        try {
            io::write(ctx_, path("data"), a_.view(), {.format = ending});
            EXPECT_TRUE(same_bits(a_.view(), io::read<double>(ctx_, path("data"))));
            EXPECT_TRUE(same_bits(a_.view(), io::read<double>(ctx_, path("data"), {.format = ending})));
        } catch (const NotBuilt& e) {
            std::cout << e.message() << "\n";
        }
    }
    EXPECT_EQ(io::read<double>(ctx_, file("pattern", "2, 3, 1\n0 1 1\n2\n")).nonzeros(), 1);
    EXPECT_THROW(io::read<double>(ctx_, path("pattern"), {.format = "mtx"}), FormatError);
    EXPECT_THROW(io::read<double>(ctx_, path("pattern"), {.format = "csv"}), ValueError);
    EXPECT_THROW(io::write(ctx_, path("no-format"), a_.view()), FileError);
}

TEST_F(Streams, ArchivesAreRecognised)
{
    for (const auto& entry : fs::directory_iterator(samples)) {
        if (!entry.path().string().ends_with(".tar.gz") && !entry.path().string().ends_with(".mtx.xz")) continue;
        SCOPED_TRACE(entry.path());
        try {
            fs::copy_file(entry.path(), path("data"), fs::copy_options::overwrite_existing);
            EXPECT_TRUE(same_bits(view_of(io::read<double>(ctx_, entry.path())), io::read<double>(ctx_, path("data"))));
        } catch (const NotBuilt& e) {
            std::cout << e.message() << "\n";
        }
    }
}

TEST_F(Streams, PipesAreWrittenAndRead)
{
    for (const char* format : {"", "npz", "tulle"}) {
        ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
        std::thread writer([&] { io::write(Context::cpu(1), path("pipe"), a_.view(), {.format = format}); });
        const Csr<double> b = io::read<double>(ctx_, path("pipe"));
        writer.join();
        EXPECT_TRUE(same_bits(a_.view(), b.view())) << format;
        EXPECT_TRUE(fs::is_fifo(path("pipe"))) << "it was replaced by a file";
        fs::remove(path("pipe"));
    }
}

TEST_F(Streams, AByteOrderMarkIsSkipped)
{
    const std::string mark = "\xef\xbb\xbf", text = "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 2.5\n";
    for (const char* name : {"a.mtx", "data"})
        EXPECT_EQ(entries_of(io::read<double>(ctx_, file(name, mark + text))), (Entries{{0, 0, 2.5}}));
    EXPECT_EQ(io::read<double>(ctx_, file("a.smtx", mark + "2, 3, 1\n0 1 1\n2\n")).nonzeros(), 1);
    EXPECT_EQ(message_of([&] { io::read<double>(ctx_, file("a.mtx", "\xff\xfe%\0%\0")); }),
              "a.mtx:1: the text is UTF-16, and numbers are read from UTF-8 or ASCII");
}

// A child that dies of the signal while a file is half written.
void die_while_writing(const fs::path& file, io::AtomicFile::Unfinished how, int signal)
{
    const pid_t child = ::fork();
    if (child == 0) {
        std::signal(signal, [](int) {
            io::remove_unfinished_files();
            ::_exit(0);
        });
        io::AtomicFile out(file, how);
        out.write("half");
        std::raise(signal);
        ::_exit(1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

TEST_F(Streams, ASignalLeavesNothingUnfinished)
{
    file("a.mtx", "old");
    for (const auto how : {io::AtomicFile::Unfinished::without_name, io::AtomicFile::Unfinished::under_another_name})
        for (const int signal : {SIGINT, SIGTERM, SIGHUP}) die_while_writing(path("a.mtx"), how, signal);
    EXPECT_EQ(files_in_folder(), 1u);
    EXPECT_EQ(contents_of(path("a.mtx")), "old");
}

TEST_F(Streams, FilesThatAreFinishedLeaveRoomInTheListOfOthers)
{
    for (int i = 0; i < 40; ++i) {
        io::AtomicFile out(path("a.mtx"), io::AtomicFile::Unfinished::under_another_name);
        out.write("whole");
        if (i % 2 == 0) out.commit();
    }
    die_while_writing(path("a.mtx"), io::AtomicFile::Unfinished::under_another_name, SIGTERM);
    EXPECT_EQ(files_in_folder(), 1u);
}

TEST_F(Streams, FilesAreReplacedEitherWay)
{
    for (const auto how : {io::AtomicFile::Unfinished::without_name, io::AtomicFile::Unfinished::under_another_name})
        for (const char* text : {"first", "second"}) {
            io::AtomicFile out(path("a.mtx"), how);
            out.write(text);
            out.commit();
            EXPECT_EQ(contents_of(path("a.mtx")), text);
            EXPECT_EQ(files_in_folder(), 1u);
            io::remove_unfinished_files();
            EXPECT_TRUE(fs::exists(path("a.mtx"))) << "finished files are not removed";
        }
}

}  // namespace
}  // namespace tulle::test
