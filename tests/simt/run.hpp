// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// For tests of the simulator: a configuration that lasts for a scope.
#pragma once

#include <cstdint>

#include "simt/config.hpp"
#include "simt/device_array.hpp"

namespace tulle::test {

// The configuration of this run, with another seed.
inline simt::Config with_seed(std::uint64_t seed)
{
    simt::Config config = simt::config();
    config.seed = seed;
    return config;
}

// Another configuration while it lives.
class WithConfig {
public:
    explicit WithConfig(const simt::Config& config) : before_(simt::config()) { simt::configure(config); }
    ~WithConfig() { simt::configure(before_); }
    WithConfig(const WithConfig&) = delete;
    WithConfig& operator=(const WithConfig&) = delete;

private:
    simt::Config before_;
};

}  // namespace tulle::test
