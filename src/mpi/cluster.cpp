// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The cluster: collective operations and the agreement on faults.
#include "tulle/cluster.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "mpi/exchange.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::mpi {
namespace {

constexpr double longest_deadline = 1e9;  // seconds; a clock of 64 bits counts nine times as many

// One beyond any job is none.
double finite_deadline(double seconds) { return seconds < longest_deadline ? seconds : 0; }

double deadline_of(const ClusterOptions& options)
{
    const char* text = std::getenv("TULLE_MPI_DEADLINE");
    if (!text) return finite_deadline(options.deadline);
    char* end = nullptr;
    const double seconds = std::strtod(text, &end);
    require<ValueError>(
        end != text && *end == '\0' && seconds >= 0, [&] { return concat("TULLE_MPI_DEADLINE is '", text, "'"); },
        "give seconds, or 0 for no deadline");
    return finite_deadline(seconds);
}

// What was thrown, in a form that can be sent.
enum class Kind : int { none, error, shape, value, file, format, not_built, device, mismatch, memory };

struct Fault {
    Kind kind = Kind::none;
    std::size_t needed = 0, available = 0;
    std::string message, hint;
};

Kind kind_of(const Error& e)
{
    if (dynamic_cast<const ShapeError*>(&e)) return Kind::shape;
    if (dynamic_cast<const ValueError*>(&e)) return Kind::value;
    if (dynamic_cast<const FormatError*>(&e)) return Kind::format;
    if (dynamic_cast<const FileError*>(&e)) return Kind::file;
    if (dynamic_cast<const NotBuilt*>(&e)) return Kind::not_built;
    if (dynamic_cast<const DeviceError*>(&e)) return Kind::device;
    if (dynamic_cast<const PlanMismatch*>(&e)) return Kind::mismatch;
    return Kind::error;
}

Fault fault_of(const std::function<void()>& work)
{
    try {
        work();
        return {};
    } catch (const OutOfMemory& e) {
        return {Kind::memory, e.needed(), e.available(), e.message(), e.hint()};
    } catch (const Error& e) {
        return {kind_of(e), 0, 0, e.message(), e.hint()};
    } catch (const std::bad_alloc&) {
        return {Kind::memory, 0, 0, "the machine has no more memory", {}};
    } catch (const std::exception& e) {
        return {Kind::error, 0, 0, e.what(), {}};
    }
}

[[noreturn]] void throw_fault(const Fault& fault, int rank)
{
    const std::string what = concat("rank ", rank, ": ", fault.message);
    switch (fault.kind) {
    case Kind::shape: throw ShapeError(what, fault.hint);
    case Kind::value: throw ValueError(what, fault.hint);
    case Kind::file: throw FileError(what, fault.hint);
    case Kind::format: throw FormatError(what, fault.hint);
    case Kind::not_built: throw NotBuilt(what, fault.hint);
    case Kind::device: throw DeviceError(what, fault.hint);
    case Kind::mismatch: throw PlanMismatch(what, fault.hint);
    case Kind::memory: throw OutOfMemory(what, fault.needed, fault.available, fault.hint);
    case Kind::none:
    case Kind::error: break;
    }
    throw Error(what, fault.hint);
}

// The fault of one rank, on all ranks.
Fault share_fault(const Cluster& cluster, std::string_view phase, Fault fault, int from)
{
    struct Header {
        Kind kind;
        std::size_t needed, available, message, hint;
    };
    Header header{fault.kind, fault.needed, fault.available, fault.message.size(), fault.hint.size()};
    broadcast_bytes(cluster, phase, &header, sizeof header, from);
    fault.message.resize(header.message);
    fault.hint.resize(header.hint);
    if (header.message > 0) broadcast_bytes(cluster, phase, fault.message.data(), header.message, from);
    if (header.hint > 0) broadcast_bytes(cluster, phase, fault.hint.data(), header.hint, from);
    return {header.kind, header.needed, header.available, fault.message, fault.hint};
}

using Combine = std::function<void(void*, const void*)>;

// All ranks send their records to all others, and combine them in the order of the ranks.
void reduce_direct(const Cluster& cluster, std::string_view phase, void* mine, std::size_t bytes,
                   const Combine& combine)
{
    ShortRecords& records = cluster.state().short_records;
    for (const auto& partner : records.partners()) std::memcpy(partner->sent.data(), mine, bytes);
    Messages all(cluster, records.direct());
    all.start(phase);
    all.finish(phase);
    const auto others = records.partners();
    const auto record_of = [&](std::size_t r) -> const char* {
        const std::size_t me = rank_of(cluster);
        return r == me ? others[0]->sent.data() : others[r < me ? r : r - 1]->received.data();
    };
    std::memcpy(mine, record_of(0), bytes);
    for (std::size_t r = 1; r <= others.size(); ++r) combine(mine, record_of(r));
}

// Both ranks of a pair add the other's record to their own, so the operation must give the same bits whichever comes
// first.
void reduce_in_pairs(const Cluster& cluster, std::string_view phase, void* mine, std::size_t bytes,
                     const Combine& combine)
{
    ShortRecords& records = cluster.state().short_records;
    const auto run = [&](ShortRecords::Partner& partner, std::vector<PreparedMessage>& messages) {
        std::memcpy(partner.sent.data(), mine, bytes);
        Messages both(cluster, messages);
        both.start(phase);
        both.finish(phase);
    };
    ShortRecords::Partner* const beyond = records.beyond();
    if (beyond) run(*beyond, beyond->first);
    if (beyond && !records.is_beyond()) combine(mine, beyond->received.data());
    for (const auto& partner : records.partners()) {
        run(*partner, partner->first);
        combine(mine, partner->received.data());
    }
    if (beyond) run(*beyond, beyond->second);
    if (records.is_beyond()) std::memcpy(mine, beyond->received.data(), bytes);
}

// As reduce_bytes().
void reduce_short(const Cluster& cluster, std::string_view phase, void* mine, std::size_t bytes, const Combine& combine)
{
    if (cluster.ranks() == 1) return;
    ShortRecords& records = cluster.state().short_records;
    try {
        records.prepare();
    } catch (const std::runtime_error& e) {
        end_job(cluster, "preparing messages", e.what());
    }
    const auto reduce = records.is_direct() ? reduce_direct : reduce_in_pairs;
    reduce(cluster, phase, mine, bytes, combine);
}

}  // namespace

void reduce_bytes(const Cluster& cluster, std::string_view phase, void* mine, std::size_t bytes,
                  const std::function<void(void*, const void*)>& combine)
{
    if (bytes <= ShortRecords::most_bytes) return reduce_short(cluster, phase, mine, bytes, combine);
    std::vector<std::max_align_t> space(bytes / sizeof(std::max_align_t) + 1);
    const int rank = cluster.rank(), ranks = cluster.ranks();
    for (int step = 1; step < ranks; step *= 2) {
        Messages message(cluster);
        if (rank & step) {
            message.add_send(mine, bytes, rank - step, tag_collective);
            message.start(phase);
            message.finish(phase);
            break;
        }
        if (rank + step >= ranks) continue;
        message.add_receive(space.data(), bytes, rank + step, tag_collective);
        message.start(phase);
        message.finish(phase);
        combine(mine, space.data());
    }
    broadcast_bytes(cluster, phase, mine, bytes, 0);
}

void broadcast_bytes(const Cluster& cluster, std::string_view phase, void* data, std::size_t bytes, int root)
{
    const int ranks = cluster.ranks(), me = (cluster.rank() - root + ranks) % ranks;
    const auto real = [&](int relative) { return (relative + root) % ranks; };
    int top = 1;
    while (top < ranks) top *= 2;
    if (me > 0) {
        Messages message(cluster);
        message.add_receive(data, bytes, real(me & (me - 1)), tag_collective);
        message.start(phase);
        message.finish(phase);
    }
    Messages down(cluster);
    const int lowest = me > 0 ? me & -me : top;
    for (int step = lowest / 2; step > 0; step /= 2)
        if (me + step < ranks) down.add_send(data, bytes, real(me + step), tag_collective);
    down.start(phase);
    down.finish(phase);
}

void gather_bytes(const Cluster& cluster, std::string_view phase, const void* mine, std::size_t bytes, void* all)
{
    // Up the tree a rank has collected the records of itself and of the ranks behind it.
    char* const to = static_cast<char*>(all);
    const auto rank = static_cast<std::size_t>(cluster.rank()), ranks = static_cast<std::size_t>(cluster.ranks());
    std::memcpy(to + rank * bytes, mine, bytes);
    for (std::size_t step = 1; step < ranks; step *= 2) {
        Messages message(cluster);
        const bool sends = rank & step;
        const std::size_t first = sends ? rank : rank + step;
        if (first >= ranks) continue;
        const std::size_t count = std::min(step, ranks - first);
        const int peer = static_cast<int>(sends ? rank - step : rank + step);
        if (sends) message.add_send(to + first * bytes, count * bytes, peer, tag_collective);
        else message.add_receive(to + first * bytes, count * bytes, peer, tag_collective);
        message.start(phase);
        message.finish(phase);
        if (sends) break;
    }
    broadcast_bytes(cluster, phase, all, ranks * bytes, 0);
}

std::vector<offset_t> exchange_counts(const Cluster& cluster, std::string_view phase,
                                      const std::vector<offset_t>& counts)
{
    std::vector<offset_t> got(counts.size());
    std::vector<offset_t> one_each(counts.size() + 1);
    for (std::size_t r = 0; r < one_each.size(); ++r) one_each[r] = static_cast<offset_t>(r);
    exchange_bytes(cluster, phase, reinterpret_cast<const char*>(counts.data()), one_each,
                   reinterpret_cast<char*>(got.data()), one_each, sizeof(offset_t));
    return got;
}

namespace {

// Bytes of the entries of a rank, and of those before it.
std::size_t bytes_of(const std::vector<offset_t>& begin, std::size_t rank, std::size_t entry_bytes)
{
    return static_cast<std::size_t>(begin[rank + 1] - begin[rank]) * entry_bytes;
}
std::size_t bytes_before(const std::vector<offset_t>& begin, std::size_t rank, std::size_t entry_bytes)
{
    return static_cast<std::size_t>(begin[rank]) * entry_bytes;
}

}  // namespace

void add_exchange(Messages& messages, const Cluster& cluster, const char* send, const std::vector<offset_t>& send_begin,
                  char* receive, const std::vector<offset_t>& receive_begin, std::size_t entry_bytes, int tag)
{
    const auto me = static_cast<std::size_t>(cluster.rank()), ranks = static_cast<std::size_t>(cluster.ranks());
    for (std::size_t k = 1; k < ranks; ++k) {
        const std::size_t from = (me + ranks - k) % ranks, to = (me + k) % ranks;
        messages.add_receive(receive + bytes_before(receive_begin, from, entry_bytes),
                             bytes_of(receive_begin, from, entry_bytes), static_cast<int>(from), tag);
        messages.add_send(send + bytes_before(send_begin, to, entry_bytes), bytes_of(send_begin, to, entry_bytes),
                          static_cast<int>(to), tag);
    }
}

void exchange_bytes(const Cluster& cluster, std::string_view phase, const char* send,
                    const std::vector<offset_t>& send_begin, char* receive, const std::vector<offset_t>& receive_begin,
                    std::size_t entry_bytes)
{
    const auto me = static_cast<std::size_t>(cluster.rank());
    Messages messages(cluster);
    add_exchange(messages, cluster, send, send_begin, receive, receive_begin, entry_bytes, tag_exchange);
    messages.start(phase);
    if (const std::size_t own = bytes_of(send_begin, me, entry_bytes); own > 0)
        std::memcpy(receive + bytes_before(receive_begin, me, entry_bytes),
                    send + bytes_before(send_begin, me, entry_bytes), own);
    messages.finish(phase);
}

Cluster::State::State(std::unique_ptr<Transport> by, const Context& context, double seconds)
    : transport(std::move(by)),
      ctx(context),
      host(context.backend() == Backend::cpu ? context : Context::cpu(1)),
      deadline(seconds),
      questions(*transport),
      short_records(*transport)
{}

Cluster::Cluster(std::unique_ptr<Transport> transport, const Context& ctx, const ClusterOptions& options)
    : state_(std::make_shared<State>(std::move(transport), ctx, deadline_of(options)))
{
    choose_way(*this);
}

int Cluster::rank() const { return state_->transport->rank(); }
int Cluster::ranks() const { return state_->transport->ranks(); }
const Context& Cluster::context() const { return state_->ctx; }
Traffic Cluster::sent() const { return state_->sent; }
const TransportChoice& Cluster::transport() const { return state_->choice; }

std::string Cluster::describe() const
{
    const bool cpu = context().backend() == Backend::cpu;
    return concat(ranks(), ranks() == 1 ? " rank" : " ranks", " on ", state_->transport->name(),
                  cpu ? "" : concat(" and ", context().name()), ", transport ", transport().name, " (", transport().why,
                  "), ", state_->deadline > 0 ? concat("deadline ", fixed(state_->deadline, 1), " s") : "no deadline");
}

void Cluster::run_collective(std::string_view phase, const std::function<void()>& work) const
{
    const Fault mine = fault_of(work);
    const int first =
        reduce(*this, phase, mine.kind == Kind::none ? ranks() : rank(), [](int a, int b) { return std::min(a, b); });
    if (first < ranks()) throw_fault(share_fault(*this, phase, mine, first), first);
}

global_t Cluster::sum(global_t mine) const
{
    return reduce(*this, "sum", mine, [](global_t a, global_t b) { return a + b; });
}

global_t Cluster::largest(global_t mine) const
{
    return reduce(*this, "largest", mine, [](global_t a, global_t b) { return std::max(a, b); });
}

}  // namespace tulle::inline TULLE_ABI::mpi
