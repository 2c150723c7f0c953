// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The product of two sparse matrices: once; with a plan that knows the size of C beforehand and fills it again with new
// values; and under a budget, where C comes in ranges of rows. The same code uses a GPU where there is one.
#include <cstdio>

#include "tulle/tulle.hpp"

int main()
{
    using namespace tulle;
    const Context ctx = Context::best();  // cuda:0 if there is a usable GPU, else the CPU
    const Csr<double> on_host = io::generate<double>(ctx, "stencil7:30");
    const Csr<double> a = to_device(ctx, on_host.view());  // where ctx works

    const Csr<double> square = spgemm::multiply(ctx, a.view(), a.view());

    const auto plan = spgemm::Plan<double>::make(ctx, a.view(), a.view());
    std::puts(plan.describe().c_str());
    Csr<double> c = plan.run();
    plan.run(c);  // again, in place: only the values are computed

    // A quarter of what C needs at once; each range is ours to keep, write or throw away.
    const spgemm::MemoryNeed need = plan.memory();
    offset_t nonzeros = 0;
    int chunks = 0;
    spgemm::for_each_chunk(ctx, a.view(), a.view(),
                           [&](index_t, const Csr<double>& rows) {
                               nonzeros += rows.nonzeros();
                               ++chunks;
                           },
                           {.checked = false, .budget = need.plan + need.workspace + need.result / 4 + (1 << 20)});

    std::printf("C has %lld nonzeros, %lld in %d chunks\n", static_cast<long long>(c.nonzeros()),
                static_cast<long long>(nonzeros), chunks);
    return square.nonzeros() == plan.nonzeros() && nonzeros == plan.nonzeros() ? 0 : 1;
}
