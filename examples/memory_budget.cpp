// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A budget is a promise: tulle never holds more, and when something does not fit it says by how much before doing any
// work.
#include <cstdio>

#include "tulle/tulle.hpp"

int main()
{
    using tulle::operator""_MiB;
    tulle::Context ctx = tulle::Context::cpu();
    ctx.budget(16_MiB);
    try {
        tulle::io::generate<double>(ctx, "stencil7:100");
        return 1;  // about 87 MiB cannot have fitted
    } catch (const tulle::OutOfMemory& error) {
        std::printf("%s\n", error.what());
    }

    const auto smaller = tulle::io::generate<double>(ctx, "stencil7:40");
    std::printf("\nstencil7:40 takes %s; the most held at once was %s\n", tulle::human_bytes(smaller.bytes()).c_str(),
                tulle::human_bytes(ctx.peak_bytes()).c_str());
    return ctx.peak_bytes() <= 16_MiB ? 0 : 1;
}
