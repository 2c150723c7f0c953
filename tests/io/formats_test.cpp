// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// All formats: what others wrote is read, what we write is read back bit for bit, what is damaged is noticed.
#include "io/formats.hpp"

#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>

#include "base/hash.hpp"
#include "io/compression/zip.hpp"
#include "io/files.hpp"
#include "io/formats/binary.hpp"
#include "support/battery.hpp"
#include "tulle/convert.hpp"
#include "tulle/text.hpp"
#include "tulle/validate.hpp"

namespace tulle::test {
namespace {

class Formats : public InFolder {};

TEST_F(Formats, SamplesOfOthersAreRead)
{
    for (const char* name : {"sample.mtx", "sample.mtx.gz", "sample.mtx.xz", "sample.tar.gz", "renamed.tar.gz",
                             "long_name.tar.gz", "csr.npz", "csc.npz", "coo.npz", "csr_float32.npz", "zip64.npz",
                             "sample.petsc", "sample_rhs.petsc", "sample64.petsc"}) {
        SCOPED_TRACE(name);
        try {
            EXPECT_EQ(entries_of(io::read<double>(Context::cpu(2), samples / name)), sample_entries);
        } catch (const NotBuilt& e) {
            std::cout << e.message() << "\n";
        }
    }
}

std::string bytes_of(const fs::path& file)
{
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

// sample.petsc and sample64.petsc were written by PETSc's MatView, configured with indices of 32 and of 64 bits.
TEST_F(Formats, PetscFilesAreThoseOfPetsc)
{
    const Context ctx = Context::cpu(1);
    io::FileInfo info;
    const Csr<double> a = io::read<double>(ctx, samples / "sample.petsc", {}, &info);
    EXPECT_EQ(info.format, "PETSc AIJ double");
    EXPECT_EQ(info.stored, 4);
    io::write(ctx, path("again.petsc"), a.view());
    EXPECT_EQ(bytes_of(path("again.petsc")), bytes_of(samples / "sample.petsc"));
    io::read<double>(ctx, samples / "sample64.petsc", {}, &info);
    EXPECT_EQ(info.format, "PETSc AIJ double, 64-bit indices");
    fs::copy_file(samples / "sample64.petsc", path("matrix.dat"));
    EXPECT_EQ(entries_of(io::read<double>(ctx, path("matrix.dat"))), sample_entries);
}

TEST_F(Formats, PetscFilesOfSinglePrecision)
{
    std::string bytes = bytes_of(samples / "sample.petsc").substr(0, 44);
    bytes += std::string("\x3f\xc0\0\0\xc0\0\0\0\x3e\x80\0\0\x40\x80\0\0", 16);
    io::FileInfo info;
    EXPECT_EQ(entries_of(io::read<double>(Context::cpu(1), file("single.petsc", bytes), {}, &info)), sample_entries);
    EXPECT_EQ(info.format, "PETSc AIJ float");
    bytes += bytes_of(samples / "sample_rhs.petsc").substr(76);
    EXPECT_EQ(entries_of(io::read<double>(Context::cpu(1), file("both.petsc", bytes))), sample_entries);
}

TEST_F(Formats, IntegersAndOldNamesInNpz)
{
    io::FileInfo info;
    const Csr<double> a = io::read<double>(Context::cpu(1), samples / "csr_int64.npz", {}, &info);
    EXPECT_EQ(entries_of(a), (Entries{{0, 1, 1}, {0, 3, -2}, {2, 0, 3}, {2, 2, 4}}));
    EXPECT_EQ(info.format, "SciPy CSR i8");
    EXPECT_EQ(info.field, "integer");
    EXPECT_EQ(info.stored, 4);
}

template <class V>
Csr<V> canonical(const HostCsr<V>& a)
{
    const Context ctx = Context::cpu(1);
    return sum_duplicates(ctx, a.view());
}

template <class V>
void expect_round_trips(const fs::path& folder, const HostCsr<V>& a)
{
    const Csr<V> expected = canonical(a);
    for (const char* name : {"a.mtx", "a.mtx.gz", "a.npz", "a.tulle", "a.petsc", "a.petsc.gz", "A.MTX"}) {
        SCOPED_TRACE(name);
        for (const int threads : {1, 4}) {
            const Context ctx = Context::cpu(threads);
            try {
                io::write(ctx, folder / name, a.view());
            } catch (const NotBuilt& e) {
                std::cout << e.message() << "\n";
                continue;
            }
            const Csr<V> b = io::read<V>(ctx, folder / name);
            EXPECT_TRUE(same_bits(expected.view(), b.view()));
            EXPECT_TRUE(b.sorted && b.unique);
            EXPECT_TRUE(validate(ctx, b.view()).ok());
        }
    }
}

TEST_F(Formats, TheBatteryComesBackBitForBit)
{
    for (const auto& [name, a] : battery<double>(Values::reals)) {
        SCOPED_TRACE(name);
        expect_round_trips(folder_, a);
    }
    for (const auto& [name, a] : battery<float>(Values::reals)) {
        SCOPED_TRACE(name);
        expect_round_trips(folder_, a);
    }
}

TEST_F(Formats, ExtremeNumbersComeBackBitForBit)
{
    using L = std::numeric_limits<double>;
    using F = std::numeric_limits<float>;
    const auto a = csr_of<double>(2, 9,
                                  {{0, 0, L::max()},
                                   {0, 1, L::min()},
                                   {0, 2, L::denorm_min()},
                                   {0, 3, -0.0},
                                   {0, 4, 0.1},
                                   {0, 5, 1.0 / 3},
                                   {1, 0, L::infinity()},
                                   {1, 7, -L::lowest()},
                                   {1, 8, 5e-320}});
    expect_round_trips(folder_, a);
    const auto b = csr_of<float>(1, 6,
                                 {{0, 0, F::max()},
                                  {0, 1, F::denorm_min()},
                                  {0, 2, -0.0f},
                                  {0, 3, 0.1f},
                                  {0, 4, -F::infinity()},
                                  {0, 5, 16777216.0f}});
    expect_round_trips(folder_, b);
    const auto n = csr_of<double>(1, 1, {{0, 0, L::quiet_NaN()}});
    for (const char* name : {"n.mtx", "n.npz", "n.tulle"}) {
        io::write(Context::cpu(1), path(name), n.view());
        EXPECT_TRUE(std::isnan(io::read<double>(Context::cpu(1), path(name)).value.data()[0])) << name;
    }
}

TEST_F(Formats, LongMatricesAreWrittenByManyThreads)
{
    const auto a = random_matrix<double>(400, 500, 0.5, Values::reals, 5);  // several pieces of entries
    for (const int threads : {1, 3, 8}) io::write(Context::cpu(threads), path(concat(threads, ".mtx")), a.view());
    EXPECT_EQ(contents_of(path("1.mtx")), contents_of(path("3.mtx")));
    EXPECT_EQ(contents_of(path("1.mtx")), contents_of(path("8.mtx")));
    EXPECT_TRUE(same_bits(a.view(), io::read<double>(Context::cpu(4), path("8.mtx"))));
}

// Writers fill a buffer and write it: texts of 16384 entries a thread four times, smtx and gzip 64 KiB. Here each does
// so three times at least, with one thread.
TEST_F(Formats, EveryBufferOfAWriterIsFilledMoreThanTwice)
{
    std::vector<std::tuple<index_t, index_t, double>> entries;
    for (index_t i = 0; i < 30000; ++i)
        for (index_t k = 0; k < 5; ++k)
            entries.emplace_back(i, 200 * k + static_cast<index_t>(below(hash_of(3, i, k), 200)),
                                 unit(hash_of(4, i, k)) - 0.5);
    const auto a = csr_of<double>(30000, 1000, entries);
    const Context ctx = Context::cpu(1);
    for (const char* name : {"a.mtx", "a.mtx.gz", "a.npz", "a.tulle", "a.petsc"}) {
        SCOPED_TRACE(name);
        try {
            io::write(ctx, path(name), a.view());
        } catch (const NotBuilt& e) {
            std::cout << e.message() << "\n";
            continue;
        }
        EXPECT_GT(fs::file_size(path(name)), 3u << 16);
        EXPECT_TRUE(same_bits(a.view(), io::read<double>(ctx, path(name))));
    }
    io::write(ctx, path("a.smtx"), a.view(), {.pattern = true});
    const HostCsr<double> b = host_of(ctx, io::read<double>(ctx, path("a.smtx")));
    EXPECT_EQ(b.row_begin, a.row_begin);
    EXPECT_EQ(b.col, a.col);
}

// zlib is given 16 MiB at a time, of what is written at once and of what is read.
TEST_F(Formats, GzipTakesSeveralSteps)
{
    const auto a = csr_of<double>(2, 2, {{0, 1, 2.5}, {1, 0, -3}});
    const Context ctx = Context::cpu(1);
    try {
        io::write(ctx, path("a.mtx.gz"), a.view(), {.comment = std::string(std::size_t{40} << 20, 'c')});
    } catch (const NotBuilt& e) {
        GTEST_SKIP() << e.message();
    }
    EXPECT_TRUE(same_bits(a.view(), io::read<double>(ctx, path("a.mtx.gz"))));
}

TEST_F(Formats, SmtxHoldsThePattern)
{
    const auto a = random_matrix<double>(30, 40, 0.1, Values::reals, 5);
    const Context ctx = Context::cpu(2);
    EXPECT_THROW(io::write(ctx, path("a.smtx"), a.view()), ValueError);
    io::write(ctx, path("a.smtx"), a.view(), {.pattern = true});
    const HostCsr<double> b = host_of(ctx, io::read<double>(ctx, path("a.smtx")));
    EXPECT_EQ(b.row_begin, a.row_begin);
    EXPECT_EQ(b.col, a.col);
    for (const auto& [i, j, v] : b.entries()) EXPECT_EQ(v, 1) << i << ", " << j;

    EXPECT_EQ(entries_of(io::read<double>(ctx, file("s.smtx", "2, 3, 4\n0 1 4 \n2 1 0 1\n"))),
              (Entries{{0, 2, 1}, {1, 0, 1}, {1, 1, 1}}))
        << "unsorted, and one column twice";
    EXPECT_EQ(io::read<double>(ctx, file("none.smtx", "2, 3, 0\r\n0 0 0\r\n\r\n")).nonzeros(), 0);
    EXPECT_EQ(io::read<double>(ctx, file("bare.smtx", "2 3 0\n0 0 0")).rows, 2);
}

TEST_F(Formats, WishesThatAFormatCannotFulfilAreRefused)
{
    const auto a = csr_of<double>(2, 2, {{0, 0, 1}});
    const Context ctx = Context::cpu(1);
    const auto message = [&](const char* name, const io::WriteOptions& options) {
        return message_of<Error>([&] { io::write(ctx, path(name), a.view(), options); });
    };
    EXPECT_EQ(message("a.npz", {.symmetric = true}),
              "a.npz: only Matrix Market files can hold one triangle of a symmetric matrix");
    EXPECT_EQ(message("a.tulle", {.pattern = true}),
              "a.tulle: .tulle files hold values, a pattern alone cannot be written");
    EXPECT_EQ(message("a.mtx.xz", {}), "a.mtx.xz: .mtx.xz is read, but not written");
    EXPECT_EQ(message("a.tar.gz", {}), "a.tar.gz: .tar.gz is read, but not written");
    EXPECT_EQ(message("a.csv", {}), "a.csv: the end of the name says no format that tulle writes");
    EXPECT_EQ(files_in_folder(), 0u);
}

TEST_F(Formats, WrongMatricesAreNotWritten)
{
    auto a = csr_of<double>(2, 2, {{0, 0, 1}, {1, 1, 2}});
    a.col[1] = 7;
    for (const char* name : {"a.mtx", "a.npz", "a.tulle"})
        EXPECT_THROW(io::write(Context::cpu(1), path(name), a.view()), ValueError) << name;
    EXPECT_EQ(files_in_folder(), 0u);
}

TEST_F(Formats, DoublesBecomeFloatsWhereTheyFit)
{
    const Context ctx = Context::cpu(1);
    for (const char* name : {"a.npz", "a.tulle"}) {
        io::write(ctx, path(name), csr_of<double>(1, 3, {{0, 0, 0.1}, {0, 2, 1e-60}}).view());
        EXPECT_EQ(io::read<float>(ctx, path(name)).value.data()[0], 0.1f);
        EXPECT_EQ(io::read<float>(ctx, path(name)).value.data()[1], 0.0f);
        io::write(ctx, path(name), csr_of<double>(1, 3, {{0, 0, 0.1}, {0, 2, 1e300}}).view());
        EXPECT_NE(message_of([&] { io::read<float>(ctx, path(name)); }).find("[1] = 1e+300 does not fit float"),
                  std::string::npos)
            << name;
        io::write(ctx, path(name), csr_of<float>(1, 3, {{0, 0, 0.1f}}).view());
        EXPECT_EQ(io::read<double>(ctx, path(name)).value.data()[0], double{0.1f});
    }
}

// Every single byte matters: header, offsets, columns, values, their checksums. Only the padding does not.
TEST_F(Formats, DamageToABinaryFileIsNoticed)
{
    const auto a = random_matrix<double>(9, 7, 0.3, Values::reals, 4);
    const Context ctx = Context::cpu(1);
    io::write(ctx, path("a.tulle"), a.view());
    const std::string good = contents_of(path("a.tulle"));
    const auto read_changed = [&](const std::string& bytes) {
        return message_of([&] { io::read<double>(ctx, file("b.tulle", bytes)); });
    };
    std::size_t unnoticed = 0;
    for (std::size_t at = 0; at < good.size(); ++at) {
        std::string bytes = good;
        bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
        unnoticed += read_changed(bytes) == "no error";
    }

    EXPECT_LT(unnoticed, 3u * 64u) << "padding before each of the three arrays";
    EXPECT_EQ(read_changed(good.substr(0, 50)), "b.tulle: byte 50: the file ends inside of its header of 96 bytes");
    EXPECT_EQ(read_changed(good.substr(0, good.size() - 1)),
              concat("b.tulle: byte ", good.size() - 1, ": the file has ", good.size() - 1, " bytes, its header says ",
                     good.size()));
    EXPECT_EQ(read_changed(good + "x"), concat("b.tulle: byte ", good.size() + 1, ": the file has ", good.size() + 1,
                                               " bytes, its header says ", good.size()));
    EXPECT_EQ(read_changed(""), "b.tulle: byte 0: the file ends inside of its header of 96 bytes");
    std::string magic = good, version = good, order = good, header = good, data = good;
    magic[1] = 't';
    version[8] = 2;
    std::swap(order[12], order[15]);
    header[24] = 3;
    data.back() = static_cast<char>(data.back() ^ 1);
    EXPECT_EQ(read_changed(magic), "b.tulle: byte 0: this is not a file of tulle's own format");
    EXPECT_EQ(read_changed(version), "b.tulle: byte 8: the file has version 2, this tulle reads version 1");
    EXPECT_EQ(read_changed(order), "b.tulle: byte 12: the file was written on a machine with another byte order");
    EXPECT_EQ(read_changed(header), "b.tulle: byte 88: the header is damaged: its checksum is wrong");
    EXPECT_EQ(read_changed(data), "b.tulle: byte 80: the data is damaged: its checksum is wrong");
}

// Somebody can put right checksums on a wrong file.
TEST_F(Formats, ABinaryFileThatLiesIsNotBelieved)
{
    const auto a = csr_of<double>(3, 4, {{0, 1, 1.5}, {2, 0, 2.5}});
    const Context ctx = Context::cpu(1);
    const CpuQueue q = ctx.host();
    io::write(ctx, path("a.tulle"), a.view());
    const std::string good = contents_of(path("a.tulle"));
    const auto message = [&](std::size_t at, std::int64_t number, std::size_t size) {
        std::string bytes = good;
        std::memcpy(bytes.data() + at, &number, size);
        const auto array = [&](std::size_t begin, std::size_t n) { return io::checksum(q, bytes.data() + begin, n); };
        const std::uint64_t data = hash_of(array(128, 32), array(192, 8), array(256, 16));
        std::memcpy(bytes.data() + 80, &data, 8);
        const std::uint64_t header = io::checksum(q, bytes.data(), 88);
        std::memcpy(bytes.data() + 88, &header, 8);
        return message_of([&] { io::read<double>(ctx, file("b.tulle", bytes)); });
    };
    EXPECT_EQ(message(24, 3, 8), "no error") << "the file as it was";
    EXPECT_EQ(message(24, -1, 8), "b.tulle: byte 24: the number of rows -1 is outside 0 … 2147483647");
    EXPECT_EQ(message(24, 2000000000, 8), "b.tulle: byte 48: the arrays do not stand where their sizes put them");
    EXPECT_EQ(message(32, std::int64_t{1} << 40, 8),
              "b.tulle: byte 32: the number of columns 1099511627776 is outside 0 … 2147483647");
    EXPECT_EQ(message(40, std::numeric_limits<std::int64_t>::max(), 8),
              "b.tulle: byte 40: 9223372036854775807 entries are not in a file of 272 bytes");
    EXPECT_EQ(message(16, 5, 4), "b.tulle: byte 16: unknown value type 5");
    EXPECT_EQ(message(20, 9, 4), "b.tulle: byte 20: unknown flags 9");
    EXPECT_EQ(message(48, 64, 8), "b.tulle: byte 48: the arrays do not stand where their sizes put them");
    EXPECT_EQ(message(128, 1, 8), "b.tulle: byte 128: row_begin begins with 1, not with 0");
    EXPECT_EQ(message(136, 0, 8), "no error") << "an entry moved to another row";
    EXPECT_EQ(message(136, 2, 8), "b.tulle: byte 144: row_begin[2] = 1 is below 2 before it");
    EXPECT_EQ(message(144, 0, 8), "b.tulle: byte 144: row_begin[2] = 0 is below 1 before it");
    EXPECT_EQ(message(152, 1, 8), "b.tulle: byte 152: row_begin ends with 1, but there are 2 entries");
    EXPECT_EQ(message(152, 3, 8), "b.tulle: byte 152: row_begin[3] = 3 is outside 0 … 2");
    EXPECT_EQ(message(196, 4, 4), "b.tulle: byte 196: col[1] = 4 is outside 0 … 3");
    EXPECT_EQ(message(192, -1, 4), "b.tulle: byte 192: col[0] = -1 is outside 0 … 3");
}

TEST_F(Formats, ChecksumsDoNotDependOnThreads)
{
    std::string bytes(5'000'003, 'x');
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(mix(i));
    const std::uint64_t one = io::checksum(CpuQueue(1), bytes.data(), bytes.size());
    EXPECT_EQ(io::checksum(CpuQueue(4), bytes.data(), bytes.size()), one);
    EXPECT_NE(io::checksum(CpuQueue(4), bytes.data(), bytes.size() - 1), one);
    bytes[4'000'000] = static_cast<char>(bytes[4'000'000] ^ 1);
    EXPECT_NE(io::checksum(CpuQueue(1), bytes.data(), bytes.size()), one);
    EXPECT_EQ(io::crc32(0, "123456789"), 0xCBF43926u) << "the check value of CRC-32/ISO-HDLC";
    EXPECT_EQ(io::crc32(io::crc32(0, "1234"), "56789"), 0xCBF43926u);
}

TEST_F(Formats, ProgressComesToItsEnd)
{
    const auto a = random_matrix<double>(300, 300, 0.5, Values::reals, 5);
    for (const char* name : {"a.mtx", "a.mtx.gz", "a.npz", "a.tulle"}) {
        SCOPED_TRACE(name);
        double last = 0;
        const auto follow = [&](double share) {
            EXPECT_GE(share, last - 1e-9);
            EXPECT_LE(share, 1.0);
            last = share;
        };
        try {
            io::write(Context::cpu(1), path(name), a.view(), {.progress = follow});
            EXPECT_EQ(last, 1.0);
            last = 0;
            io::read<double>(Context::cpu(1), path(name), {.progress = follow});
            EXPECT_EQ(last, 1.0);
        } catch (const NotBuilt& e) {
            std::cout << e.message() << "\n";
        }
    }
}

}  // namespace
}  // namespace tulle::test
