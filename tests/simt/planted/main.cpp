// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// simt_planted BUG broken|correct SEEDS: runs a planted bug under seeds 1, 2, ... until one shows it.
// Exit status: 0 every result right, 1 a wrong result, 2 a broken rule, 3 wrong usage; a sanitizer or a signal ends it
// with its own.
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>

#include "simt/planted/planted.hpp"

namespace tulle::test {
namespace {

int run_program(const Program& program, bool broken, std::uint64_t seeds)
{
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        const WithConfig with(with_seed(seed));
        try {
            if (program(broken)) continue;
            std::cout << "seed " << seed << ": wrong result\n";
            return 1;
        } catch (const std::exception& e) {
            std::cout << "seed " << seed << ": " << e.what() << "\n";
            return 2;
        }
    }
    std::cout << seeds << " seeds: every result right\n";
    return 0;
}

}  // namespace
}  // namespace tulle::test

int main(int argc, char** argv)
{
    using namespace tulle::test;
    const std::string name = argc > 1 ? argv[1] : "", variant = argc > 2 ? argv[2] : "";
    const int seeds = argc > 3 ? std::atoi(argv[3]) : 0;
    if (!programs().contains(name) || (variant != "broken" && variant != "correct") || seeds < 1) {
        std::cerr << "usage: simt_planted BUG broken|correct SEEDS\n";
        for (const auto& [bug, program] : programs()) std::cerr << "  " << bug << "\n";
        return 3;
    }
    return run_program(programs().at(name), variant == "broken", static_cast<std::uint64_t>(seeds));
}
