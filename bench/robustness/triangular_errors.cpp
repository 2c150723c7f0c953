// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Componentwise backward errors of triangular solves with ILU(0) factors, on the first GPU, for each sptrsv::Accuracy:
// the largest |T x - b| over |T| |x| + |b| for b = 1, two random b, and x = 1.
//
//     cmake --preset sim -DTULLE_BUILD_BENCH=ON && ninja -C build/sim triangular_errors
//     build/sim/bin/triangular_errors A.mtx ...
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <span>
#include <vector>

#include "base/hash.hpp"
#include "tulle/tulle.hpp"

namespace tulle::bench {
namespace {

// One triangle of the factors, on the host: entry(row, column, value) for all of it, with its diagonal.
struct Factor {
    CsrView<double> both;
    bool upper;

    template <class Entry>
    void for_each(Entry&& entry) const
    {
        for (index_t i = 0; i < both.rows; ++i) {
            if (!upper) entry(i, i, 1.0);
            for (offset_t e = both.row_begin[i]; e < both.row_begin[i + 1]; ++e)
                if (upper ? both.col[e] >= i : both.col[e] < i) entry(i, both.col[e], both.value[e]);
        }
    }
};

using Vector = std::vector<double>;

Vector random_vector(index_t rows, int seed)
{
    Vector b;
    for (index_t i = 0; i < rows; ++i) b.push_back(2 * unit(hash_of(static_cast<std::uint64_t>(seed), i)) - 1);
    return b;
}

std::vector<Vector> right_hand_sides(const Factor& t)
{
    const index_t rows = t.both.rows;
    Vector sums(static_cast<std::size_t>(rows), 0);
    t.for_each([&](index_t i, index_t, double v) { sums[static_cast<std::size_t>(i)] += v; });
    return {Vector(static_cast<std::size_t>(rows), 1), random_vector(rows, 7), random_vector(rows, 8), sums};
}

double backward_error(const Factor& t, const Vector& b, const double* x)
{
    std::vector<long double> residual(b.begin(), b.end()), size;
    for (const double v : b) size.push_back(std::abs(v));
    t.for_each([&](index_t i, index_t j, double v) {
        const long double product = static_cast<long double>(v) * x[j];
        residual[static_cast<std::size_t>(i)] -= product;
        size[static_cast<std::size_t>(i)] += std::abs(product);
    });
    long double worst = 0;
    for (std::size_t i = 0; i < size.size(); ++i)
        if (size[i] > 0) worst = std::max(worst, std::abs(residual[i]) / size[i]);
    return static_cast<double>(worst);
}

double worst_error(const Context& gpu, const Factor& t, const CsrView<double>& there, sptrsv::Accuracy accuracy)
{
    const auto plan = sptrsv::Plan<double>::make(gpu, there,
                                                 {.uplo = t.upper ? sptrsv::Uplo::upper : sptrsv::Uplo::lower,
                                                  .unit_diagonal = !t.upper,
                                                  .other_side = sptrsv::OtherSide::ignore,
                                                  .accuracy = accuracy});
    double worst = 0;
    for (const Vector& b : right_hand_sides(t)) {
        const Buffer<double> right = to_device(gpu, std::span<const double>(b));
        Buffer<double> x = to_device(gpu, std::span<const double>(b));
        plan.solve(right.span(), x.span());
        plan.wait();
        worst = std::max(worst, backward_error(t, b, to_host(gpu, std::span<const double>(x.span())).data()));
    }
    return worst;
}

void print_errors(const char* file)
{
    using sptrsv::Accuracy;
    const Context host = Context::cpu(1), gpu = Context::cuda(0);
    const Csr<double> a = io::read<double>(host, file);
    const auto factors =
        factor::Plan<double>::make(host, a.view(),
                                   {.missing_diagonal = factor::MissingDiagonal::add, .expected_calls = 1});
    const Csr<double> there = to_device(gpu, factors.factors());
    for (const bool upper : {false, true}) {
        const Factor t{factors.factors(), upper};
        std::printf("%s %s: fast %.0e, tested %.0e, substitution %.0e\n", file, upper ? "U" : "L",
                    worst_error(gpu, t, there.view(), Accuracy::fast),
                    worst_error(gpu, t, there.view(), Accuracy::tested),
                    worst_error(gpu, t, there.view(), Accuracy::substitution));
    }
}

}  // namespace
}  // namespace tulle::bench

int main(int count, char** files)
{
    for (int k = 1; k < count; ++k) try {
            tulle::bench::print_errors(files[k]);
        } catch (const std::exception& e) {
            std::printf("%s: %s\n", files[k], e.what());
        }
}
