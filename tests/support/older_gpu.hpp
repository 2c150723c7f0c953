// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The GPU as one of another compute capability while this lives: what that does not have is hidden on a real GPU
// (TULLE_GPU_COMPUTE), and refused by the simulated one as well.
#pragma once

#include <cstdlib>
#include <string>

#ifdef TULLE_SIM
#include "simt/config.hpp"
#endif

namespace tulle::test {

class OlderGpu {
public:
    explicit OlderGpu(int compute)
    {
        setenv("TULLE_GPU_COMPUTE", std::to_string(compute).c_str(), 1);
#ifdef TULLE_SIM
        simt::Config config = simt::config();
        before_ = config.compute;
        config.compute = compute;
        simt::configure(config);
#endif
    }
    ~OlderGpu()
    {
        unsetenv("TULLE_GPU_COMPUTE");
#ifdef TULLE_SIM
        simt::Config config = simt::config();
        config.compute = before_;
        simt::configure(config);
#endif
    }
    OlderGpu(const OlderGpu&) = delete;
    OlderGpu& operator=(const OlderGpu&) = delete;

private:
    [[maybe_unused]] int before_ = 0;
};

}  // namespace tulle::test
