// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Tells draws.hpp of every launch: the simulator has a place to listen, for CUDA the linker puts these functions in
// front of the runtime's (--wrap, tests/support/CMakeLists.txt).
#include "support/draws.hpp"

#ifdef TULLE_SIM
#include <map>
#include <string>
#include <utility>

#include "simt/fault.hpp"
#include "simt/observer.hpp"

namespace tulle::test {
namespace {

// Names are looked up in the program's file.
const std::string& known_name(const simt::Launch& launch)
{
    static std::map<std::pair<const void*, std::string>, std::string> names;
    std::string& name = names[{launch.kernel, launch.task}];
    if (name.empty()) name = simt::name_of(launch);
    return name;
}

const bool listens = [] {
    if (Draws::get().is_listening())
        simt::observe_launches(  // one launch at a time: the runtime has locked itself
            [](const simt::Launch& launch) { Draws::get().note_launch(known_name(launch), launch.blocks); });
    return true;
}();

}  // namespace
}  // namespace tulle::test
#else
#include <cuda_runtime_api.h>

#include <cstddef>

namespace {

void note(const void* kernel, const dim3& grid)
{
    if (!tulle::test::Draws::get().is_listening()) return;
    const char* name = nullptr;
    if (cudaFuncGetName(&name, kernel) == cudaSuccess) tulle::test::Draws::get().note_launch(name, grid.x);
}

}  // namespace

extern "C" {
cudaError_t __real_cudaLaunchKernel(const void*, dim3, dim3, void**, std::size_t, cudaStream_t);
cudaError_t __wrap_cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                                    cudaStream_t stream)
{
    note(kernel, grid);
    return __real_cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}

cudaError_t __real_cudaLaunchKernelExC(const cudaLaunchConfig_t*, const void*, void**);
cudaError_t __wrap_cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* kernel, void** arguments)
{
    note(kernel, config->gridDim);
    return __real_cudaLaunchKernelExC(config, kernel, arguments);
}

#if CUDART_VERSION >= 13000  // what <<<>>> calls since then
cudaError_t __real___cudaLaunchKernel(cudaKernel_t, dim3, dim3, void**, std::size_t, cudaStream_t);
cudaError_t __wrap___cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                                      cudaStream_t stream)
{
    note(reinterpret_cast<const void*>(kernel), grid);
    return __real___cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}
#endif
}
#endif
