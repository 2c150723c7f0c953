// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "partition/nodes.hpp"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <fstream>

#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::partition {
namespace {

std::string first_line(const std::string& path)
{
    std::string line;
    std::getline(std::ifstream(path) >> std::ws, line);
    return line;
}

int number_at(const char*& at, const char* end)
{
    int number = -1;
    at = std::from_chars(at, end, number).ptr;
    return number;
}

int node_of_member([[maybe_unused]] const Context& ctx, int member, int members)
{
    if constexpr (build::has_cuda)
        if (ctx.backend() == Backend::cuda)
            return ctx.run([](const auto& q) {
                if constexpr (std::is_same_v<std::remove_cvref_t<decltype(q)>, CudaQueue>)
                    return cuda::node_of(q.device);
                else return 0;
            });
    return member * node_count() / members;
}

}  // namespace

std::vector<int> parse_list(const std::string& text)
{
    std::vector<int> all;
    const char *at = text.data(), *end = at + text.size();
    while (at < end) {
        const int first = number_at(at, end);
        int last = first;
        if (at < end && *at == '-') last = number_at(++at, end);
        if (first < 0 || last < first || (at < end && *at != ',')) return {};
        for (int number = first; number <= last; ++number) all.push_back(number);
        at += at < end;
    }
    return all;
}

int node_count()
{
    return std::max(1, static_cast<int>(parse_list(first_line("/sys/devices/system/node/online")).size()));
}

std::vector<int> nodes_of(const Team& team)
{
    std::vector<int> nodes;
    for (int member = 0; member < team.size(); ++member)
        nodes.push_back(node_of_member(team[member], member, team.size()));
    return nodes;
}

void stay_on_node(int node)
{
    if (node < 0) return;
    const std::vector<int> processors =
        parse_list(first_line(concat("/sys/devices/system/node/node", node, "/cpulist")));
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int processor : processors)
        if (processor < CPU_SETSIZE) CPU_SET(static_cast<std::size_t>(processor), &set);
    if (!processors.empty()) (void)sched_setaffinity(0, sizeof set, &set);
}

}  // namespace tulle::inline TULLE_ABI::partition
