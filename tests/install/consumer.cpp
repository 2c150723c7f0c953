// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What a user of the installed library does: make a matrix, multiply, write, read it back, and catch an error across
// the library's border.
#include <cstdio>
#include <filesystem>
#include <vector>

#include <tulle/tulle.hpp>

namespace {

// The 5-point stencil on a 10 x 10 grid times ones: 4 - (number of neighbours), 40 border edges in all.
double sum_of_product(const tulle::Context& ctx, const tulle::Csr<double>& a)
{
    const std::vector<double> x(static_cast<std::size_t>(a.cols), 1.0);
    std::vector<double> y(static_cast<std::size_t>(a.rows), -1.0);
    auto plan = tulle::spmv::Plan<double>::make(ctx, a.view());
    plan.run(x, y);
    double sum = 0;
    for (const double v : y) sum += v;
    return sum;
}

bool catches_the_right_error(const tulle::Context& ctx)
{
    try {
        (void)tulle::io::read<double>(ctx, "no-such-file.mtx");
    } catch (const tulle::FileError& error) {
        return !error.message().empty();
    }
    return false;
}

}  // namespace

int main()
{
    const auto ctx = tulle::Context::cpu(2);
    const auto a = tulle::io::generate<double>(ctx, "stencil5:10");
    tulle::io::write(ctx, "consumer.tulle", a.view());
    const auto again = tulle::io::read<double>(ctx, "consumer.tulle");
    std::filesystem::remove("consumer.tulle");
    const double sum = sum_of_product(ctx, again);
    const bool ok = sum == 40.0 && catches_the_right_error(ctx);
    std::printf("tulle %s, cuda %s: %d rows, sum %g: %s\n", tulle::build::version,
                tulle::build::has_cuda ? "yes" : "no", static_cast<int>(again.rows), sum, ok ? "ok" : "WRONG");
    return ok ? 0 : 1;
}
