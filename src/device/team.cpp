// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "tulle/team.hpp"

#include <algorithm>
#include <exception>
#include <thread>
#include <utility>

#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI {

Team::Team(std::vector<Context> members) : members_(std::move(members))
{
    require<ValueError>(!members_.empty(), "a team needs at least one member");
}

Team Team::cpu(int members, int threads_each)
{
    require<ValueError>(members > 0, [&] { return concat("a team needs at least one member, not ", members); });
    require<ValueError>(members <= most_threads(), [&] {
        return concat("a team can have ", most_threads(), " members on this machine, not ", members);
    });
    require<ValueError>(threads_each >= 0,
                        [&] { return concat("a member needs at least one thread, not ", threads_each); });
    const int threads = threads_each > 0 ? threads_each : std::max(1, available_threads() / members);
    std::vector<Context> all;
    for (int i = 0; i < members; ++i) all.push_back(Context::cpu(threads));
    return Team(std::move(all));
}

Team Team::cuda(const std::vector<int>& devices)
{
    std::vector<Context> all;
    for (const int device : devices) all.push_back(Context::cuda(device));
    return Team(std::move(all));
}

void Team::run(const std::function<void(int, const Context&)>& work) const
{
    std::vector<std::exception_ptr> failures(members_.size());
    {
        std::vector<std::jthread> threads;
        for (int member = 0; member < size(); ++member)
            threads.emplace_back([&, member] {
                try {
                    work(member, (*this)[member]);
                    (*this)[member].synchronize();
                } catch (...) {
                    failures[static_cast<std::size_t>(member)] = std::current_exception();
                }
            });
    }
    for (const auto& failure : failures)
        if (failure) std::rethrow_exception(failure);
}

}  // namespace tulle::inline TULLE_ABI
