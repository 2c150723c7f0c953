// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "tulle/outline.hpp"

#include <type_traits>

#include "device/cuda_devices.hpp"
#include "tulle/context.hpp"

namespace tulle::inline TULLE_ABI {
namespace matrix {
namespace {

// An array that is missing, or that this queue cannot read.
template <class Queue>
std::string array_problem(const Queue& q, const Outline::Array& a)
{
    if (a.size == 0) return {};
    if (a.data == nullptr)
        return concat(a.name, " is null, but must have ", a.size, a.size == 1 ? " entry" : " entries");
    if constexpr (std::is_same_v<Queue, CudaQueue>) {
        if (!cuda::is_device_pointer(a.data, q.device))
            return concat(a.name, " is not in the memory of GPU ", q.device);
    }
    (void)q;
    return {};
}

template <class Queue>
std::string problem_of(const Queue& q, const Outline& o)
{
    for (const auto& [what, size] : o.sizes)
        if (size < 0) return concat("a matrix cannot have ", size, " ", what);
    if (!o.problem.empty()) return o.problem;
    for (const Outline::Array& a : o.arrays)
        if (const std::string problem = array_problem(q, a); !problem.empty()) return problem;
    return {};
}

template <class O>
std::string ends_problem(const char* name, const O* offset, offset_t lines, offset_t nonzeros)
{
    if (offset == nullptr) return {};
    if (offset[0] != 0) return concat(name, " starts at ", offset[0], ", not at 0");
    return offset[lines] == nonzeros
               ? std::string()
               : concat(name, " ends at ", offset[lines], ", but there are ", nonzeros, " nonzeros");
}

}  // namespace

std::string outline_problem(const CpuQueue& q, const Outline& o) { return problem_of(q, o); }

std::string outline_problem([[maybe_unused]] const CudaQueue& q, [[maybe_unused]] const Outline& o)
{
    if constexpr (build::has_cuda) return problem_of(q, o);
    return {};
}

void check_outline(const Context& ctx, const Outline& o)
{
    ctx.run([&](const auto& q) { require_outline(q, o); });
    if (ctx.backend() != Backend::cpu) return;
    const offset_t lines = o.sizes[0].size, nonzeros = o.sizes[2].size;
    const char* name = o.arrays[0].name;
    const std::string ends =
        o.narrow ? ends_problem(name, o.narrow, lines, nonzeros) : ends_problem(name, o.wide, lines, nonzeros);
    require<ValueError>(ends.empty(), ends);
}

offset_t count_reach(index_t rows, index_t cols, offset_t leading, Layout layout, std::size_t value_bytes)
{
    if (rows == 0 || cols == 0) return 0;
    const offset_t lines = layout == Layout::row_major ? rows : cols,
                   length = layout == Layout::row_major ? cols : rows;
    offset_t reach = 0, bytes = 0;
    const bool too_large = __builtin_mul_overflow(lines - 1, leading, &reach) ||
                           __builtin_add_overflow(reach, length, &reach) ||
                           __builtin_mul_overflow(reach, static_cast<offset_t>(value_bytes), &bytes);
    return too_large ? -1 : reach;
}

}  // namespace matrix
}  // namespace tulle::inline TULLE_ABI
