// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// One product, y = A x, with arrays of your own: a view tells tulle where they are, nothing is copied on the CPU.
#include <cstdio>
#include <vector>

#include "tulle/tulle.hpp"

int main()
{
    // The matrix [ 4 -1  0 ]
    //            [-1  4 -1 ]   in compressed sparse rows.
    //            [ 0 -1  4 ]
    const std::vector<tulle::offset_t> row_begin{0, 2, 5, 7};
    const std::vector<tulle::index_t> col{0, 1, 0, 1, 2, 1, 2};
    const std::vector<double> value{4, -1, -1, 4, -1, -1, 4};
    const tulle::CsrView<double> a{
        .rows = 3, .cols = 3, .nonzeros = 7, .row_begin = row_begin.data(), .col = col.data(), .value = value.data()};

    const std::vector<double> x{1, 2, 3};
    std::vector<double> y(3);
    tulle::spmv::multiply(tulle::Context::cpu(), a, x, y);

    std::printf("y = %g %g %g\n", y[0], y[1], y[2]);
    return y == std::vector<double>{2, 4, 10} ? 0 : 1;
}
