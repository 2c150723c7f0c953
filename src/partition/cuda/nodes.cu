// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "partition/nodes.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>

#include "device/cuda/runtime.cuh"

namespace tulle::inline TULLE_ABI::partition::cuda {

#ifdef TULLE_SIM
int node_of(int) { return 0; }
#else
int node_of(int device)
{
    char bus[32] = {};
    if (cudaDeviceGetPCIBusId(bus, sizeof bus, device) != cudaSuccess) {
        (void)cudaGetLastError();
        return 0;
    }
    std::string name = bus;
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    int node = 0;
    std::ifstream("/sys/bus/pci/devices/" + name + "/numa_node") >> node;
    return std::max(0, node);  // -1: the machine has only one
}
#endif

}  // namespace tulle::inline TULLE_ABI::partition::cuda
