// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// From a file to another format: what a person wants to know of the matrix, its transpose, and a copy that SciPy can
// load.
//
//     read_and_convert [matrix.mtx]
#include <cstdio>
#include <filesystem>

#include "tulle/tulle.hpp"

int main(int count, char** words)
try {
    const tulle::Context ctx = tulle::Context::cpu();
    const auto folder = std::filesystem::temp_directory_path();
    std::filesystem::path file = folder / "tulle_example.mtx";
    if (count > 1) {
        file = words[1];
    } else {
        const tulle::Csr<double> made = tulle::io::generate<double>(ctx, "uniform:1000,1000,8");
        tulle::io::write(ctx, file, made.view(), {.comment = "made by an example"});
    }

    tulle::io::FileInfo said;
    const tulle::Csr<double> a = tulle::io::read<double>(ctx, file, {}, &said);
    const tulle::Features f = tulle::features(ctx, a.view());
    std::printf("%s: %s\n", file.c_str(), said.format.c_str());
    std::printf("%d x %d, %lld nonzeros, longest row %lld, pattern symmetry %.3f\n", f.row.rows, f.row.cols,
                static_cast<long long>(f.row.nonzeros), static_cast<long long>(f.row.longest), f.pattern_symmetry);

    const tulle::Csr<double> transposed = tulle::transpose(ctx, a.view());
    const std::filesystem::path copy = folder / "tulle_example_transposed.npz";
    tulle::io::write(ctx, copy, transposed.view());
    const tulle::Csr<double> again = tulle::io::read<double>(ctx, copy);
    std::printf("the transpose is in %s\n", copy.c_str());
    return again.rows == a.cols && again.nonzeros() == a.nonzeros() ? 0 : 1;
} catch (const tulle::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());  // what is wrong, where, and what to do
    return 1;
}
