// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Messages with a deadline, and who is to blame when it ends.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <utility>

#include "mpi/exchange.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::mpi {
namespace {

using Clock = std::chrono::steady_clock;

// Longest piece of a message; MPI counts bytes with an int.
constexpr std::size_t longest_piece = std::size_t{1} << 30;
// Parts of the deadline: when a waiting rank begins to answer, and how long an answer may take.
constexpr double answers_after = 0.05, grace = 0.25;
// Deadlines after which a rank is named although it answers: ranks wait for each other in a circle.
constexpr double circle = 3;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

}  // namespace

static void tell_end(const Cluster& cluster, std::string_view phase, std::string_view what)
{
    std::fprintf(stderr, "%s\n",
                 concat("tulle: rank ", cluster.rank(), " of ", cluster.ranks(), ", phase '", phase, "': ", what,
                        "; the job ends")
                     .c_str());
    std::fflush(stderr);
}

void end_job(const Cluster& cluster, std::string_view phase, std::string_view what)
{
    tell_end(cluster, phase, what);
    cluster.state().transport->abort(lost_rank_exit_code);
    std::_Exit(lost_rank_exit_code);
}

// A second thread ends the process: few MPIs may be called from it, but the launcher sees how the process ended.
void Cluster::run_with_deadline(std::string_view phase, const std::function<void()>& work) const
{
    const double limit = state_->deadline;
    if (limit <= 0) return work();
    std::mutex mutex;
    std::condition_variable ended;
    bool done = false;
    std::thread watch([&] {
        std::unique_lock lock(mutex);
        if (ended.wait_for(lock, std::chrono::duration<double>(limit), [&] { return done; })) return;
        tell_end(*this, phase, concat("has not ended in ", fixed(limit, 1), " s"));
        std::_Exit(lost_rank_exit_code);
    });
    const auto end_watch = [&] {
        {
            const std::lock_guard lock(mutex);
            done = true;
        }
        ended.notify_all();
        watch.join();
    };
    try {
        work();
    } catch (...) {
        end_watch();
        throw;
    }
    end_watch();
}

Questions::Questions(Transport& transport) : transport_(transport) {}

Questions::~Questions()
{
    for (const std::vector<Note>* notes : {&questions_, &answers_, &asked_, &answered_})
        for (const Note& note : *notes)
            if (note.request) transport_.release(note.request);
}

void Questions::prepare(std::vector<Note>& notes, int tag, bool sends)
{
    if (!notes.empty()) return;
    notes.resize(static_cast<std::size_t>(transport_.ranks()));
    for (int r = 0; r < transport_.ranks(); ++r) {
        Note& note = notes[static_cast<std::size_t>(r)];
        if (r == transport_.rank()) continue;
        note.request = sends ? transport_.send_init(&note.number, sizeof note.number, r, tag)
                             : transport_.receive_init(&note.number, sizeof note.number, r, tag);
        if (!sends) transport_.start(note.request);
        note.started = !sends;
    }
}

// One that is still on its way is not followed by another.
void Questions::send(Note& note, std::int32_t number)
{
    if (note.started && !transport_.test(note.request)) return;
    note.number = number;
    transport_.start(note.request);
    note.started = true;
}

// The next one may come as soon as this one has been read.
bool Questions::arrives(Note& note)
{
    if (note.started) note.started = !transport_.test(note.request);
    return !note.started;
}

void Questions::answer()
{
    prepare(asked_, tag_question, false);
    prepare(answers_, tag_answer, true);
    for (std::size_t r = 0; r < asked_.size(); ++r) {
        if (!asked_[r].request || !arrives(asked_[r])) continue;
        send(answers_[r], asked_[r].number);
        transport_.start(asked_[r].request);
        asked_[r].started = true;
    }
}

void Questions::ask(const std::vector<int>& peers)
{
    prepare(questions_, tag_question, true);
    prepare(answered_, tag_answer, false);
    ++number_;
    for (const int peer : peers) send(questions_[static_cast<std::size_t>(peer)], number_);
}

bool Questions::has_answered(int peer)
{
    Note& note = answered_[static_cast<std::size_t>(peer)];
    while (arrives(note)) {
        if (note.number == number_) return true;
        transport_.start(note.request);
        note.started = true;
    }
    return false;
}

ShortRecords::~ShortRecords()
{
    for (const PreparedMessage& one : direct_) transport_.release(one.request);
    if (beyond_) partners_.push_back(std::move(beyond_));
    for (const auto& partner : partners_)
        for (const auto* messages : {&partner->first, &partner->second})
            for (const PreparedMessage& one : *messages) transport_.release(one.request);
}

PreparedMessage ShortRecords::prepare(Partner& partner, int rank, bool sends) const
{
    constexpr int bytes = static_cast<int>(most_bytes);
    return {sends ? transport_.send_init(partner.sent.data(), bytes, rank, tag_collective)
                  : transport_.receive_init(partner.received.data(), bytes, rank, tag_collective),
            rank, bytes, sends};
}

void ShortRecords::prepare()
{
    if (std::exchange(ready_, true)) return;
    if (is_direct()) prepare_direct();
    else prepare_pairs();
}

void ShortRecords::prepare_direct()
{
    for (int r = 0; r < transport_.ranks(); ++r) {
        if (r == transport_.rank()) continue;
        Partner& partner = *partners_.emplace_back(std::make_unique<Partner>());
        for (const bool sends : {false, true}) direct_.push_back(prepare(partner, r, sends));
    }
}

void ShortRecords::prepare_pairs()
{
    const int rank = transport_.rank(), other = is_beyond() ? rank - paired() : rank + paired();
    if (other < transport_.ranks()) {
        beyond_ = std::make_unique<Partner>();
        beyond_->first.push_back(prepare(*beyond_, other, is_beyond()));
        beyond_->second.push_back(prepare(*beyond_, other, !is_beyond()));
    }
    for (int step = 1; step < paired() && !is_beyond(); step *= 2) {
        Partner& partner = *partners_.emplace_back(std::make_unique<Partner>());
        for (const bool sends : {false, true}) partner.first.push_back(prepare(partner, rank ^ step, sends));
    }
}

Messages::Messages(Messages&& other) noexcept
    : cluster_(other.cluster_),
      all_(std::move(other.all_)),
      owner_(std::exchange(other.owner_, nullptr))
{
    other.all_.clear();
}

Messages::~Messages()
{
    if (owner_) {
        *owner_ = std::move(all_);
        return;
    }
    for (const PreparedMessage& one : all_) cluster_.state().transport->release(one.request);
}

void Messages::add(void* data, std::size_t bytes, int peer, int tag, bool sends)
{
    Transport& transport = *cluster_.state().transport;
    try {
        for (std::size_t at = 0; at < bytes; at += longest_piece) {
            const int piece = static_cast<int>(std::min(longest_piece, bytes - at));
            char* const begin = static_cast<char*>(data) + at;
            all_.push_back(
                {sends ? transport.send_init(begin, piece, peer, tag) : transport.receive_init(begin, piece, peer, tag),
                 peer, piece, sends});
        }
    } catch (const std::runtime_error& e) {
        end_job(cluster_, "preparing messages", e.what());
    }
}

void Messages::add_send(const void* data, std::size_t bytes, int to, int tag)
{
    add(const_cast<void*>(data), bytes, to, tag, true);
}

void Messages::add_receive(void* data, std::size_t bytes, int from, int tag) { add(data, bytes, from, tag, false); }

void Messages::start(std::string_view phase)
{
    Cluster::State& state = cluster_.state();
    try {
        for (PreparedMessage& one : all_) {
            state.transport->start(one.request);
            one.done = false;
            if (!one.sends) continue;
            ++state.sent.messages;
            state.sent.bytes += static_cast<std::uint64_t>(one.bytes);
        }
    } catch (const std::runtime_error& e) {
        end_job(cluster_, phase, e.what());
    }
}

bool Messages::test_all()
{
    bool done = true;
    for (PreparedMessage& one : all_) {
        if (!one.done) one.done = cluster_.state().transport->test(one.request);
        done = done && one.done;
    }
    return done;
}

// The same up to the first that is not done. MPI moves all messages whichever is asked for, and may give the processor
// away each time.
bool Messages::test_in_order()
{
    return std::all_of(all_.begin(), all_.end(), [&](PreparedMessage& one) {
        return one.done || (one.done = cluster_.state().transport->test(one.request));
    });
}

void Messages::progress(std::string_view phase)
{
    try {
        test_all();
    } catch (const std::runtime_error& e) {
        end_job(cluster_, phase, e.what());
    }
}

// Each rank once, those that should send first.
std::vector<int> Messages::awaited() const
{
    std::vector<int> peers;
    for (const bool sends : {false, true})
        for (const PreparedMessage& one : all_)
            if (!one.done && one.sends == sends && std::find(peers.begin(), peers.end(), one.peer) == peers.end())
                peers.push_back(one.peer);
    return peers;
}

void Messages::give_up(std::string_view phase, int peer, std::string_view how, double seconds)
{
    const bool receives = std::any_of(all_.begin(), all_.end(),
                                      [&](const PreparedMessage& m) { return !m.done && !m.sends && m.peer == peer; });
    end_job(cluster_, phase,
            concat("rank ", peer, receives ? " sends nothing" : " takes no message", " for ", fixed(seconds, 1), " s",
                   how));
}

void Messages::look_for_silence(std::string_view phase, double seconds, double& ask_at)
{
    Cluster::State& state = cluster_.state();
    const double limit = state.deadline;
    if (limit <= 0 || seconds < answers_after * limit) return;
    state.questions.answer();
    if (seconds < ask_at) return;
    const std::vector<int> peers = awaited();
    if (ask_at > limit) {
        const auto silent =
            std::find_if(peers.begin(), peers.end(), [&](int peer) { return !state.questions.has_answered(peer); });
        if (silent != peers.end()) give_up(phase, *silent, "", seconds);
        if (seconds > circle * limit) give_up(phase, peers.front(), " and waits itself", seconds);
    }
    state.questions.ask(peers);
    ask_at = seconds + grace * limit;
}

void Messages::finish(std::string_view phase)
{
    constexpr int spins = 256;  // before others may have the processor
    const Clock::time_point begin = Clock::now();
    double ask_at = cluster_.state().deadline;
    try {
        for (long round = 0; !(round < spins ? test_in_order() : test_all()); ++round) {
            if (round < spins) continue;
            const double waited = seconds_since(begin);
            look_for_silence(phase, waited, ask_at);
            if (waited < 2e-3) std::this_thread::yield();
            else std::this_thread::sleep_for(std::chrono::microseconds(50));
        }
    } catch (const std::runtime_error& e) {
        end_job(cluster_, phase, e.what());
    }
}

}  // namespace tulle::inline TULLE_ABI::mpi
