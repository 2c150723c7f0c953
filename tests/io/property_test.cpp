// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Any matrix, written and read, is the same matrix; any text is either refused or a sound matrix.
#include "io/files.hpp"

#ifdef TULLE_HAVE_RAPIDCHECK
#include <rapidcheck.h>

#include "io/formats.hpp"
#include "io/formats/binary.hpp"
#include "io/formats/matrix_market.hpp"
#include "io/formats/npz.hpp"
#include "io/formats/petsc.hpp"
#include "tulle/convert.hpp"
#include "tulle/text.hpp"
#include "tulle/validate.hpp"

namespace tulle::test {
namespace {

template <class V>
HostCsr<V> any_matrix()
{
    const auto rows = *rc::gen::inRange<index_t>(0, 40), cols = *rc::gen::inRange<index_t>(0, 40);
    if (rows == 0 || cols == 0) return csr_of<V>(rows, cols, {});
    const auto entry =
        rc::gen::tuple(rc::gen::inRange<index_t>(0, rows), rc::gen::inRange<index_t>(0, cols), rc::gen::arbitrary<V>());
    return csr_of<V>(rows, cols, *rc::gen::container<std::vector<std::tuple<index_t, index_t, V>>>(entry));
}

// A file in memory.
struct Text : io::Sink {
    std::string bytes;
    void write(std::string_view more) override { bytes += more; }
};

template <class V>
Csr<V> read(const Context& ctx, const Text& text, const char* name)
{
    io::FileInfo info;
    return io::read_source<V>(ctx.host(), io::Source(name, text.bytes), io::format_of(name), {}, info);
}

template <class V, class Write>
void expect_round_trip(const char* name, Write&& write)
{
    const bool holds = rc::check(name, [&] {
        const HostCsr<V> a = any_matrix<V>();
        const Context ctx = Context::cpu(*rc::gen::inRange(1, 3));
        const Csr<V> expected = sum_duplicates(ctx, a.view());
        Text text;
        write(ctx.host(), text, a.view());
        RC_ASSERT(same_bits(expected.view(), read<V>(ctx, text, name)));
    });
    EXPECT_TRUE(holds) << name;
}

template <class V>
void expect_round_trips()
{
    expect_round_trip<V>("a.mtx", [](const CpuQueue& q, Text& to, const CsrView<V>& a) {
        io::write_matrix_market(q, to, a, {});
    });
    expect_round_trip<V>("a.npz",
                         [](const CpuQueue& q, Text& to, const CsrView<V>& a) { io::write_npz(q, to, a, {}); });
    expect_round_trip<V>("a.tulle",
                         [](const CpuQueue& q, Text& to, const CsrView<V>& a) { io::write_binary(q, to, a, {}); });
    expect_round_trip<V>("a.petsc",
                         [](const CpuQueue& q, Text& to, const CsrView<V>& a) { io::write_petsc(q, to, a, {}); });
}

TEST(Property, WhatIsWrittenIsRead)
{
    expect_round_trips<double>();
    expect_round_trips<float>();
}

// Texts near a Matrix Market file, read for any number of threads: the same verdict, and what is accepted is sound.
TEST(Property, AnyTextIsRefusedOrSound)
{
    const bool holds = rc::check([&] {
        const auto word = rc::gen::element<std::string>("1", "2", "3", "0", "-1", "1.5", "nan", "1,5", "x", "%", "\n",
                                                        "\n", "\n", "9223372036854775807", "1e999", "");
        std::string text = "%%MatrixMarket matrix coordinate real " +
                           *rc::gen::element<std::string>("general", "symmetric", "skew-symmetric") + "\n3 3 2\n";
        for (const std::string& w : *rc::gen::container<std::vector<std::string>>(word)) text += w + " ";
        const io::Format& format = io::format_of("a.mtx");
        const auto verdict = [&](int threads) {
            const Context ctx = Context::cpu(threads);
            io::FileInfo info;
            try {
                const Csr<double> a = io::read_source<double>(ctx.host(), io::Source("a.mtx", text), format, {}, info);
                const Findings found = validate(ctx, a.view());
                RC_ASSERT(found.ok() && found.sorted && found.unique);
                return concat("read ", a.nonzeros());
            } catch (const FormatError& e) {
                return std::string(e.what());
            }
        };
        RC_ASSERT(verdict(1) == verdict(4));
    });
    EXPECT_TRUE(holds);
}

}  // namespace
}  // namespace tulle::test
#endif
