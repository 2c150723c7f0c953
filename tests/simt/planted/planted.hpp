// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A planted bug is a function that runs a small program, broken or correct, and says whether the result was right.
// Broken rules come out as exceptions or as a sanitizer's report.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "simt/run.hpp"

namespace tulle::test {

using Program = std::function<bool(bool broken)>;

// All of them, by name.
inline std::map<std::string, Program>& programs()
{
    static std::map<std::string, Program> all;
    return all;
}

struct Plant {
    Plant(const char* name, Program program) { programs()[name] = std::move(program); }
};

// Runs one of two kernels on one block or more, with an array of results that starts at zero, and gives the array.
template <class T, class... P, class... A>
std::vector<T> results_of(std::size_t count, LaunchShape shape, void (*kernel)(T*, P...), A... args)
{
    const CudaQueue q = cuda::open_queue(0);
    Buffer<T> out(q, static_cast<offset_t>(count));
    fill_zero(q, out.data(), out.size());
    launch(q, shape, kernel, out.data(), args...);
    std::vector<T> results(count);
    download(q, out.data(), results.data(), out.size());
    return results;
}

}  // namespace tulle::test
