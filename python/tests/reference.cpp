// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What the Python tests compare with, bit for bit, and what the overhead of a call from Python is measured against: the
// same plans in C++.
//
//     reference spmv|spmm|solve|spgemm f64|f32 MATRIX IN OUT [COLUMNS]
//         IN and OUT: numbers as they are in memory; spgemm: OUT is C as .tulle
//     reference time MATRIX
//         nanoseconds of one plan.run() of SpMV in double, the best of many
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "tulle/tulle.hpp"

namespace {

using namespace tulle;

template <class V>
std::vector<V> load(const std::string& file)
{
    std::ifstream in(file, std::ios::binary | std::ios::ate);
    std::vector<V> all(static_cast<std::size_t>(in.tellg()) / sizeof(V));
    in.seekg(0).read(reinterpret_cast<char*>(all.data()), static_cast<std::streamsize>(all.size() * sizeof(V)));
    return all;
}

template <class V>
void store(const std::string& file, const std::vector<V>& all)
{
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<const char*>(all.data()), static_cast<std::streamsize>(all.size() * sizeof(V)));
}

template <class V>
std::vector<V> compute(const std::string& operation, const Context& ctx, const Csr<V>& a, const std::vector<V>& in,
                       index_t columns)
{
    std::vector<V> out(static_cast<std::size_t>(a.rows) * static_cast<std::size_t>(columns));
    if (operation == "spmv") {
        spmv::Plan<V>::make(ctx, a.view()).run(in, out);
    } else if (operation == "solve") {
        sptrsv::Plan<V>::make(ctx, a.view()).solve(in, out);
    } else {
        const DenseView<const V> b{a.cols, columns, columns, Layout::row_major, in.data()};
        spmm::Plan<V>::make(ctx, a.view(), {.n = columns})
            .run(b, DenseView<V>{a.rows, columns, columns, Layout::row_major, out.data()});
    }
    return out;
}

template <class V>
void run(const std::vector<std::string>& arg)
{
    Context ctx = Context::cpu();
    ctx.deterministic();  // two processes that measure may choose differently (docs/determinism.md)
    const Csr<V> a = io::read<V>(ctx, arg[2]);
    if (arg[0] == "spgemm") {
        const Csr<V> c = spgemm::Plan<V>::make(ctx, a.view(), a.view()).run();
        io::write(ctx, arg[4], c.view());
    } else {
        store(arg[4], compute(arg[0], ctx, a, load<V>(arg[3]), arg.size() > 5 ? std::stoi(arg[5]) : 1));
    }
}

void time_spmv(const std::string& file)
{
    const Context ctx = Context::cpu();
    const Csr<double> a = io::read<double>(ctx, file);
    const auto plan = spmv::Plan<double>::make(ctx, a.view());
    const std::vector<double> x(static_cast<std::size_t>(a.cols), 1.0);
    std::vector<double> y(static_cast<std::size_t>(a.rows));
    double best = 1e9;
    for (int round = 0; round < 200; ++round) {
        constexpr int calls = 200;
        const auto begin = std::chrono::steady_clock::now();
        for (int i = 0; i < calls; ++i) plan.run(x, y);
        best =
            std::min(best, std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count() /
                               calls);
    }
    std::printf("%.1f\n", best);
}

}  // namespace

int main(int count, char** values)
try {
    const std::vector<std::string> arg(values + 1, values + count);
    if (arg.size() == 2 && arg[0] == "time") time_spmv(arg[1]);
    else if (arg.size() >= 5) arg[1] == "f32" ? run<float>(arg) : run<double>(arg);
    else return 2;
    return 0;
} catch (const std::exception& e) {
    std::cerr << e.what() << '\n';
    return 1;
}
