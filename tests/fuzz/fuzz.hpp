// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What the fuzz targets share. Any bytes at all must be refused with a FormatError or give a sound matrix; writing that
// matrix and reading it again must give the same bits; and memory must stay within what the size of the input
// justifies.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>

#include "io/formats.hpp"
#include "io/sink.hpp"
#include "tulle/error.hpp"
#include "tulle/validate.hpp"

namespace tulle::fuzz {

[[noreturn]] inline void give_up(const std::string& why)
{
    std::fprintf(stderr, "%s\n", why.c_str());
    std::abort();
}

inline void expect(bool good, const char* what)
{
    if (!good) give_up(what);
}

// Written bytes in memory.
struct Text : io::Sink {
    std::string bytes;
    void write(std::string_view more) override { bytes += more; }
};

inline const io::ReadOptions options{.complex = io::Complex::real_part, .unproven_bytes = std::size_t{1} << 20};

template <class V>
bool same_bits(const Csr<V>& a, const Csr<V>& b)
{
    const auto same = [](const auto& x, const auto& y) {
        return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.bytes()) == 0;
    };
    return a.rows == b.rows && a.cols == b.cols && same(a.row_begin, b.row_begin) && same(a.col, b.col) &&
           same(a.value, b.value);
}

// Text does not carry the payload of a NaN; one NaN is as good as another.
template <class V>
void make_nans_equal(Csr<V>& a)
{
    for (V& v : a.value.span())
        if (v != v) v = std::numeric_limits<V>::quiet_NaN();
}

template <class V>
Csr<V> read(const Context& ctx, std::string_view bytes, const char* name)
{
    io::FileInfo info;
    Csr<V> a = io::read_source<V>(ctx.host(), io::Source(name, bytes), io::format_of(name), options, info);
    const Findings found = validate(ctx, a.view());
    expect(found.ok() && found.sorted && found.unique, "accepted, but not sound");
    make_nans_equal(a);
    return a;
}

// Reads the bytes as a file called `name`; `write` writes a matrix as one called `written`.
template <class V, class Write>
void round_trip(std::string_view bytes, const char* name, const char* written, Write&& write)
{
    const Context ctx = Context::cpu(1);
    try {
        const Csr<V> a = read<V>(ctx, bytes, name);
        Text again;
        write(ctx.host(), again, a.view());
        expect(same_bits(a, read<V>(ctx, again.bytes, written)), "read, written and read again: not the same");
    } catch (const FormatError&) {
    } catch (const Error& e) {
        give_up(std::string("an error of the wrong kind: ") + e.what());
    }
    expect(ctx.memory().live_blocks() == 0, "memory leaked");
    expect(ctx.peak_bytes() <= 4096 * bytes.size() + (std::size_t{8} << 20), "more memory than the input justifies");
}

inline std::string_view as_text(const std::uint8_t* data, std::size_t size)
{
    return {reinterpret_cast<const char*>(data), size};
}

}  // namespace tulle::fuzz
