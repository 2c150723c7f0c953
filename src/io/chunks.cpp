// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "io/chunks.hpp"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>

#include "base/math.hpp"

namespace tulle::inline TULLE_ABI::io {
namespace {

constexpr std::size_t smallest_chunk = std::size_t{4} << 10, largest_chunk = std::size_t{4} << 20;
constexpr std::size_t chunks_per_thread = 8;

// The failure of the lowest piece so far.
class FirstFailure {
public:
    explicit FirstFailure(offset_t none) : piece_(none) {}
    bool before(offset_t piece) const { return piece_.load(std::memory_order_relaxed) < piece; }
    void keep(offset_t piece)
    {
        const std::lock_guard lock(mutex_);
        if (piece >= piece_) return;
        piece_ = piece;
        failure_ = std::current_exception();
    }
    void rethrow() const
    {
        if (failure_) std::rethrow_exception(failure_);
    }

private:
    std::atomic<offset_t> piece_;
    std::mutex mutex_;
    std::exception_ptr failure_;
};

}  // namespace

std::vector<std::string_view> cut_at_lines(const CpuQueue& q, std::string_view text)
{
    const std::size_t wanted = ceil_div(text.size(), static_cast<std::size_t>(q.threads) * chunks_per_thread);
    const std::size_t size = std::clamp(wanted, smallest_chunk, largest_chunk);
    std::vector<std::string_view> chunks;
    while (!text.empty()) {
        const std::size_t line_end = text.size() > size ? text.find('\n', size - 1) : std::string_view::npos;
        const std::size_t cut = line_end == std::string_view::npos ? text.size() : line_end + 1;
        chunks.push_back(text.substr(0, cut));
        text.remove_prefix(cut);
    }
    return chunks;
}

void for_each_chunk(const CpuQueue& q, offset_t n, const Progress& progress, const std::function<void(offset_t)>& work)
{
    FirstFailure failure(n);
    std::atomic<offset_t> done = 0;
#pragma omp parallel for num_threads(q.threads) schedule(dynamic) if (n > 1)
    for (offset_t c = 0; c < n; ++c) {
        if (failure.before(c)) continue;
        offset_t piece = c;
        try {
            work(c);
            const offset_t so_far = ++done;
            piece = -1;  // a progress that throws ends everything
            if (progress && omp_get_thread_num() == 0) progress(static_cast<double>(so_far) / static_cast<double>(n));
        } catch (...) {
            failure.keep(piece);
        }
    }
    failure.rethrow();
}

Progress part_of(const Progress& whole, double begin, double end)
{
    if (!whole) return {};
    return [&whole, begin, end](double share) { whole(begin + share * (end - begin)); };
}

}  // namespace tulle::inline TULLE_ABI::io
