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

// A 2 x 2 matrix of 16-bit values times ones: 1 + 2 + 3. The shared library shows plans of its own value types too.
double sum_of_dense_product(const tulle::Context& ctx)
{
    const std::vector<tulle::offset_t> row_begin{0, 2, 3};
    const std::vector<tulle::index_t> col{0, 1, 1};
    const std::vector<tulle::Float16> value{tulle::Float16(1), tulle::Float16(2), tulle::Float16(3)};
    const tulle::CsrView<tulle::Float16> a{2, 2, 3, row_begin.data(), col.data(), value.data()};
    const std::vector<tulle::Float16> b(2, tulle::Float16(1));
    std::vector<float> c(2, -1.0f);
    const auto plan = tulle::spmm::Plan<tulle::Float16, float>::make(ctx, a);
    plan.run(1.0f, {2, 1, 1, tulle::Layout::row_major, b.data()}, 0.0f, {2, 1, 1, tulle::Layout::row_major, c.data()});
    return c[0] + c[1];
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
    const bool ok = sum == 40.0 && sum_of_dense_product(ctx) == 6.0 && catches_the_right_error(ctx);
    std::printf("tulle %s, cuda %s: %d rows, sum %g: %s\n", tulle::build::version,
                tulle::build::has_cuda ? "yes" : "no", static_cast<int>(again.rows), sum, ok ? "ok" : "WRONG");
    return ok ? 0 : 1;
}
