// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Messages and collective operations over a Transport. All waits have the cluster's deadline; who waits too long ends
// the job with a message that names the phase and the silent rank.
//
// Collectives are made of point-to-point messages, so that it is known who did not answer. Reductions of short records:
// few ranks send them to all others and wait once; many exchange them in pairs, whose distance doubles. Others go up a
// binomial tree to rank 0 and the result comes down again.
//
// Whom to blame: a rank that waits for long answers questions. A rank whose deadline ends asks those it waits for. Who
// answers waits as well, and will name another one; who does not answer is named.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tulle/cluster.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI::mpi {

enum Tag : int {
    tag_collective = 1,
    tag_exchange = 2,
    tag_halo = 3,
    tag_columns = 4,
    tag_values = 5,
    tag_question = 6,
    tag_answer = 7,
    tag_trial = 8
};

// "Are you waiting too?" and the answers, between any two ranks. Questions are numbered, so that late answers count for
// nothing.
class Questions {
public:
    explicit Questions(Transport& transport);
    Questions(const Questions&) = delete;
    Questions& operator=(const Questions&) = delete;
    ~Questions();

    // Answers those who ask; from the first call on, questions are received.
    void answer();
    void ask(const std::vector<int>& peers);
    // Whether a rank has answered the last question.
    bool has_answered(int peer);

private:
    struct Note {
        Transport::Request request = nullptr;
        std::int32_t number = 0;
        bool started = false;
    };
    void prepare(std::vector<Note>& notes, int tag, bool sends);
    void send(Note& note, std::int32_t number);
    bool arrives(Note& note);

    Transport& transport_;
    std::vector<Note> questions_, answers_, asked_, answered_;  // of each rank: to send, to receive
    std::int32_t number_ = 0;
};

// A message that is sent or received again and again.
struct PreparedMessage {
    Transport::Request request;
    int peer;
    int bytes;
    bool sends;
    bool done = true;
};

// The messages of reductions of short records, prepared by the first one.
class ShortRecords {
public:
    static constexpr std::size_t most_bytes = 256;
    // Ranks that send to all others: a wait costs more than some messages, above all where ranks share a processor.
    static constexpr int most_direct = 4;

    // Another rank: what is sent to it and comes from it, and the messages, in the order in which they are used.
    struct Partner {
        alignas(std::max_align_t) std::array<char, most_bytes> sent{}, received{};
        std::vector<PreparedMessage> first = {}, second = {};
    };
    explicit ShortRecords(Transport& transport) : transport_(transport) {}
    ShortRecords(const ShortRecords&) = delete;
    ShortRecords& operator=(const ShortRecords&) = delete;
    ~ShortRecords();

    // Ranks beyond the largest power of two give their records to others first, and get the result at the end.
    bool is_beyond() const { return transport_.rank() >= paired(); }
    Partner* beyond() { return beyond_.get(); }  // such a rank, or the one that it uses
    // Of the exchanges in pairs, or all other ranks.
    std::span<const std::unique_ptr<Partner>> partners() { return partners_; }
    bool is_direct() const { return transport_.ranks() <= most_direct; }
    std::vector<PreparedMessage>& direct() { return direct_; }  // messages from and to all other ranks
    void prepare();

private:
    int paired() const { return static_cast<int>(std::bit_floor(static_cast<unsigned>(transport_.ranks()))); }
    PreparedMessage prepare(Partner& partner, int rank, bool sends) const;
    void prepare_direct();
    void prepare_pairs();

    Transport& transport_;
    std::unique_ptr<Partner> beyond_;
    std::vector<std::unique_ptr<Partner>> partners_;
    std::vector<PreparedMessage> direct_;
    bool ready_ = false;
};

// How the messages of a halo exchange travel.
enum class Way { host, staged, gpu_aware, nccl };

class NcclRanks;

struct Cluster::State {
    State(std::unique_ptr<Transport> by, const Context& context, double seconds);

    std::unique_ptr<Transport> transport;
    Context ctx, host;    // where the rank works; its CPU
    double deadline = 0;  // seconds; 0: none
    Questions questions;
    ShortRecords short_records;
    TransportChoice choice = {};
    Way way = Way::host;  // of long messages
    bool forced = false;  // by TULLE_TRANSPORT: of all messages
    std::shared_ptr<NcclRanks> nccl = {};
    Traffic sent = {};
};

// The number of this rank as an index.
inline std::size_t rank_of(const Cluster& cluster) { return static_cast<std::size_t>(cluster.rank()); }

// Finds out how messages travel, and puts it into the state. Collective on GPUs.
void choose_way(const Cluster& cluster);
// The way of an exchange whose longest message, of all ranks, has so many bytes.
Way way_of(const Cluster& cluster, Backend backend, std::size_t longest);
std::string_view to_text(Way way);

// A set of messages that are started and awaited together, as often as wanted. Longer messages than MPI can count are
// sent in pieces.
class Messages {
public:
    explicit Messages(const Cluster& cluster) : cluster_(cluster) {}
    // Messages that were prepared before; they go back to their owner at the end.
    Messages(const Cluster& cluster, std::vector<PreparedMessage>& owner)
        : cluster_(cluster),
          all_(std::move(owner)),
          owner_(&owner)
    {}
    Messages(Messages&& other) noexcept;
    Messages& operator=(Messages&&) = delete;
    ~Messages();

    void add_send(const void* data, std::size_t bytes, int to, int tag);
    void add_receive(void* data, std::size_t bytes, int from, int tag);
    void start(std::string_view phase);
    // Lets messages progress without waiting.
    void progress(std::string_view phase);
    void finish(std::string_view phase);
    bool empty() const { return all_.empty(); }

private:
    void add(void* data, std::size_t bytes, int peer, int tag, bool sends);
    bool test_all();
    bool test_in_order();
    std::vector<int> awaited() const;
    void look_for_silence(std::string_view phase, double seconds, double& ask_at);
    [[noreturn]] void give_up(std::string_view phase, int peer, std::string_view how, double seconds);

    Cluster cluster_;
    std::vector<PreparedMessage> all_;
    std::vector<PreparedMessage>* owner_ = nullptr;
};

// Ends the job: a message failed or did not come.
[[noreturn]] void end_job(const Cluster& cluster, std::string_view phase, std::string_view what);

// Combines the records of all ranks; all get the result. combine(mine, other) must be associative and commutative.
void reduce_bytes(const Cluster& cluster, std::string_view phase, void* mine, std::size_t bytes,
                  const std::function<void(void*, const void*)>& combine);
template <class T, class Combine>
T reduce(const Cluster& cluster, std::string_view phase, T mine, const Combine& combine)
{
    static_assert(std::is_trivially_copyable_v<T>);
    reduce_bytes(cluster, phase, &mine, sizeof(T), [&](void* to, const void* from) {
        T& sum = *static_cast<T*>(to);
        sum = combine(sum, *static_cast<const T*>(from));
    });
    return mine;
}

void broadcast_bytes(const Cluster& cluster, std::string_view phase, void* data, std::size_t bytes, int root);

// The records of all ranks in their order, on all ranks.
void gather_bytes(const Cluster& cluster, std::string_view phase, const void* mine, std::size_t bytes, void* all);
template <class T>
std::vector<T> all_gather(const Cluster& cluster, std::string_view phase, const T& mine)
{
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<T> all(static_cast<std::size_t>(cluster.ranks()));
    gather_bytes(cluster, phase, &mine, sizeof(T), all.data());
    return all;
}

// What one rank sends to each of the others: for rank r the entries begin[r] … begin[r+1]-1.
template <class T>
struct ByRank {
    std::vector<offset_t> begin;
    std::vector<T> entry;

    std::span<const T> of(int rank) const
    {
        const auto r = static_cast<std::size_t>(rank);
        return {entry.data() + begin[r], static_cast<std::size_t>(begin[r + 1] - begin[r])};
    }
};

// How many entries each rank will send to this one.
std::vector<offset_t> exchange_counts(const Cluster& cluster, std::string_view phase,
                                      const std::vector<offset_t>& counts);
// The messages of an exchange with all other ranks; begin counts entries. What a rank has for itself is not sent.
void add_exchange(Messages& messages, const Cluster& cluster, const char* send, const std::vector<offset_t>& send_begin,
                  char* receive, const std::vector<offset_t>& receive_begin, std::size_t entry_bytes, int tag);
void exchange_bytes(const Cluster& cluster, std::string_view phase, const char* send,
                    const std::vector<offset_t>& send_begin, char* receive, const std::vector<offset_t>& receive_begin,
                    std::size_t entry_bytes);

inline std::vector<offset_t> counts_of(const std::vector<offset_t>& begin)
{
    std::vector<offset_t> counts(begin.size() - 1);
    for (std::size_t r = 0; r < counts.size(); ++r) counts[r] = begin[r + 1] - begin[r];
    return counts;
}

inline std::vector<offset_t> begins_of(const std::vector<offset_t>& counts)
{
    std::vector<offset_t> begin(counts.size() + 1, 0);
    for (std::size_t r = 0; r < counts.size(); ++r) begin[r + 1] = begin[r] + counts[r];
    return begin;
}

// Entries for ranks that know how many come: `begin` of what is received is given.
template <class T>
ByRank<T> exchange(const Cluster& cluster, std::string_view phase, const ByRank<T>& send, std::vector<offset_t> begin)
{
    static_assert(std::is_trivially_copyable_v<T>);
    ByRank<T> got{std::move(begin), {}};
    cluster.run_collective(phase, [&] { got.entry.resize(static_cast<std::size_t>(got.begin.back())); });
    exchange_bytes(cluster, phase, reinterpret_cast<const char*>(send.entry.data()), send.begin,
                   reinterpret_cast<char*>(got.entry.data()), got.begin, sizeof(T));
    return got;
}
template <class T>
ByRank<T> exchange(const Cluster& cluster, std::string_view phase, const ByRank<T>& send)
{
    return exchange(cluster, phase, send, begins_of(exchange_counts(cluster, phase, counts_of(send.begin))));
}

}  // namespace tulle::inline TULLE_ABI::mpi
