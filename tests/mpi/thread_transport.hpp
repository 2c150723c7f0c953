// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Ranks as threads of one process, for tests without MPI.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "tulle/cluster.hpp"

namespace tulle::testing {

// What Transport::abort() throws here.
struct JobEnded {
    int code;
};

// The mailboxes of all ranks.
class World {
public:
    explicit World(int ranks) : ranks_(ranks) {}
    int ranks() const { return ranks_; }
    void put(int from, int to, int tag, std::vector<char> data)
    {
        {
            const std::lock_guard lock(mutex_);
            mail_[{from, to, tag}].push_back(std::move(data));
        }
        arrived_.notify_all();
    }
    // Waits a little for a message: with more ranks than cores, those that ask again and again take the time of others.
    bool take(int from, int to, int tag, std::vector<char>& data)
    {
        std::unique_lock lock(mutex_);
        auto& box = mail_[{from, to, tag}];
        arrived_.wait_for(lock, std::chrono::microseconds(100), [&] { return code_ != 0 || !box.empty(); });
        if (code_ != 0) throw JobEnded{code_};
        if (box.empty()) return false;
        data = std::move(box.front());
        box.pop_front();
        return true;
    }
    void end(int code)
    {
        {
            const std::lock_guard lock(mutex_);
            code_ = code;
        }
        arrived_.notify_all();
    }

private:
    int ranks_, code_ = 0;
    std::mutex mutex_;
    std::condition_variable arrived_;
    std::map<std::tuple<int, int, int>, std::deque<std::vector<char>>> mail_;
};

// What the rank of this thread has sent, by tag.
inline std::map<int, mpi::Traffic>& sent_by_tag()
{
    static thread_local std::map<int, mpi::Traffic> sent;
    return sent;
}

// The program that judges whether threads can be given device memory, as the simulated GPU has it; empty: they cannot.
inline std::string& self_test_of_threads()
{
    static std::string program;
    return program;
}

class ThreadTransport final : public mpi::Transport {
public:
    ThreadTransport(std::shared_ptr<World> world, int rank) : world_(std::move(world)), rank_(rank) {}
    int rank() const override { return rank_; }
    int ranks() const override { return world_->ranks(); }
    std::string name() const override { return "threads"; }
    Request send_init(const void* data, int bytes, int to, int tag) override
    {
        return new Message{const_cast<void*>(data), bytes, to, tag, true};
    }
    Request receive_init(void* data, int bytes, int from, int tag) override
    {
        return new Message{data, bytes, from, tag, false};
    }
    void start(Request request) override
    {
        const Message& m = of(request);
        const char* const data = static_cast<const char*>(m.data);
        if (!m.sends) return;
        ++sent_by_tag()[m.tag].messages;
        sent_by_tag()[m.tag].bytes += static_cast<std::uint64_t>(m.bytes);
        world_->put(rank_, m.peer, m.tag, std::vector<char>(data, data + m.bytes));
    }
    bool test(Request request) override
    {
        const Message& m = of(request);
        std::vector<char> data;
        if (m.sends) return true;
        if (!world_->take(m.peer, rank_, m.tag, data)) return false;
        if (static_cast<int>(data.size()) != m.bytes) throw std::runtime_error("wrong size");
        std::memcpy(m.data, data.data(), data.size());
        return true;
    }
    void release(Request request) noexcept override { delete &of(request); }
    std::string self_test_program() const override { return self_test_of_threads(); }
    [[noreturn]] void abort(int code) override
    {
        world_->end(code);
        throw JobEnded{code};
    }

private:
    struct Message {
        void* data;
        int bytes, peer, tag;
        bool sends;
    };
    static Message& of(Request request) { return *static_cast<Message*>(request); }

    std::shared_ptr<World> world_;
    int rank_;
};

// Runs f(cluster) on so many ranks, each a thread; what a rank throws is thrown again after all have ended, the lowest
// rank first. context(r) is where rank r works.
template <class F, class MakeContext>
void on_ranks(int ranks, const F& f, const mpi::ClusterOptions& options, const MakeContext& context)
{
    const auto world = std::make_shared<World>(ranks);
    std::vector<std::exception_ptr> thrown(static_cast<std::size_t>(ranks));
    std::vector<std::thread> threads;
    for (int r = 0; r < ranks; ++r)
        threads.emplace_back([&, r] {
            try {
                f(mpi::Cluster(std::make_unique<ThreadTransport>(world, r), context(r), options));
            } catch (...) {
                thrown[static_cast<std::size_t>(r)] = std::current_exception();
            }
        });
    for (std::thread& t : threads) t.join();
    for (const std::exception_ptr& e : thrown)
        if (e) std::rethrow_exception(e);
}

template <class F>
void on_ranks(int ranks, const F& f, const mpi::ClusterOptions& options = {.deadline = 60})
{
    on_ranks(ranks, f, options, [](int) { return Context::cpu(1); });
}

// A cluster of this process alone.
inline mpi::Cluster alone(const Context& ctx = Context::cpu(1))
{
    return mpi::Cluster(std::make_unique<ThreadTransport>(std::make_shared<World>(1), 0), ctx);
}

}  // namespace tulle::testing
