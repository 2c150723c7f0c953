// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The parts operations are made of, one at a time: scan, sort, transpose, cutting rows, and reading a Matrix Market
// file.
//   tulle-microbench --benchmark_filter=scan
#include <benchmark/benchmark.h>

#include <filesystem>
#include <vector>

#include "base/hash.hpp"
#include "prim/scan.hpp"
#include "prim/sort.hpp"
#include "spgemm/team/split_rows.hpp"
#include "tulle/convert.hpp"
#include "tulle/generate.hpp"
#include "tulle/io.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI {
namespace {

void count_bytes(benchmark::State& state, std::size_t bytes)
{
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes));
}

void scan(benchmark::State& state)
{
    const CpuQueue q;
    const offset_t n = state.range(0);
    Buffer<offset_t> count(q, n + 1), begin(q, n + 1);
    for (offset_t i = 0; i < n; ++i) count.data()[i] = i % 7;
    for (auto _ : state) prim::exclusive_scan(q, count.data(), begin.data(), n);
    count_bytes(state, count.bytes() + begin.bytes());
}

void sort_pairs(benchmark::State& state)
{
    const CpuQueue q;
    const offset_t n = state.range(0);
    Buffer<std::uint64_t> key(q, n);
    Buffer<offset_t> payload(q, n);
    for (auto _ : state) {
        state.PauseTiming();
        for (offset_t i = 0; i < n; ++i) {
            key.data()[i] = hash_of(3, i) >> 24;
            payload.data()[i] = i;
        }
        state.ResumeTiming();
        prim::sort_pairs(q, key.data(), payload.data(), n, 40);
    }
    count_bytes(state, key.bytes() + payload.bytes());
}

void transpose_stencil(benchmark::State& state)
{
    const Context ctx = Context::cpu();
    const Csr<double> a = io::generate<double>(ctx, concat("stencil7:", state.range(0)));
    for (auto _ : state) benchmark::DoNotOptimize(transpose(ctx, a.view()).nonzeros());
    count_bytes(state, 2 * a.bytes());
}

// Eight parts of rows with uneven weights: a binary search for each part, or every row looked at (DeltaSPARSE).
void cut(benchmark::State& state, spgemm::CutMethod how)
{
    const CpuQueue q;
    const offset_t rows = state.range(0);
    Buffer<offset_t> prefix(q, rows + 1);
    for (offset_t i = 0; i < rows; ++i) prefix.data()[i] = static_cast<offset_t>(hash_of(5, i) % 1000);
    prim::exclusive_scan(q, prefix.data(), prefix.data(), rows);
    for (auto _ : state) benchmark::DoNotOptimize(spgemm::cut_rows(q, prefix.data(), rows, 8, how).size());
}

// A file in the temporary folder while it lives.
class TemporaryFile {
public:
    explicit TemporaryFile(const char* name) : path_(std::filesystem::temp_directory_path() / name) {}
    ~TemporaryFile()
    {
        std::error_code ignored;
        std::filesystem::remove(path_, ignored);
    }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;
    const std::filesystem::path& path() const { return path_; }

private:
    std::filesystem::path path_;
};

void read_matrix_market(benchmark::State& state)
{
    const Context ctx = Context::cpu();
    const TemporaryFile file("tulle-microbench.mtx");
    const Csr<double> a = io::generate<double>(ctx, concat("stencil7:", state.range(0)));
    io::write(ctx, file.path(), a.view());
    for (auto _ : state) benchmark::DoNotOptimize(io::read<double>(ctx, file.path()).nonzeros());
    count_bytes(state, std::filesystem::file_size(file.path()));
}

BENCHMARK(scan)->Arg(1 << 12)->Arg(1 << 18)->Arg(1 << 24)->UseRealTime();
BENCHMARK(sort_pairs)->Arg(1 << 12)->Arg(1 << 18)->Arg(1 << 22)->UseRealTime();
BENCHMARK(transpose_stencil)->Arg(20)->Arg(60)->Arg(100)->UseRealTime();
BENCHMARK_CAPTURE(cut, search, spgemm::CutMethod::search)->Arg(1 << 14)->Arg(1 << 20)->UseRealTime();
BENCHMARK_CAPTURE(cut, scan, spgemm::CutMethod::scan)->Arg(1 << 14)->Arg(1 << 20)->UseRealTime();
BENCHMARK(read_matrix_market)->Arg(20)->Arg(60)->UseRealTime();

}  // namespace
}  // namespace tulle::inline TULLE_ABI

BENCHMARK_MAIN();
