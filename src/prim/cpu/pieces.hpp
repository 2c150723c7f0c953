// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A range 0 … n-1 cut into consecutive pieces of equal size, worked on by the threads of a queue.
#pragma once

#include <algorithm>

#include "base/math.hpp"
#include "device/work_per_thread.hpp"
#include "tulle/memory.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI::prim {

struct Pieces {
    offset_t n, size, count;

    offset_t begin(offset_t p) const { return p * size; }
    offset_t end(offset_t p) const { return std::min(n, (p + 1) * size); }
};

// Pieces of a fixed size, whatever the number of threads: for sums that must not depend on it.
inline Pieces pieces_of(offset_t n, offset_t size) { return {n, size, ceil_div(n, size)}; }

// One piece for every thread, but none below `smallest`, where starting a thread would cost more than it saves; less
// where a queue takes less work to be worth a thread, as all queues of tests do.
inline Pieces piece_per_thread(const CpuQueue& q, offset_t n, offset_t smallest = offset_t{1} << 14)
{
    const offset_t work = std::min(q.work_per_thread, usual_work_per_thread),
                   least = std::max(offset_t{1}, smallest * work / usual_work_per_thread);
    return pieces_of(n, std::max(least, ceil_div(n, offset_t{q.threads})));
}

// Not inlined: the compiler may contract products and sums otherwise in every copy it makes, and the bits must not
// depend on the number of threads.
template <class F, class... A>
[[gnu::noinline]] void call_piece(F& work, A... arguments)
{
    work(arguments...);
}

// work(p, begin, end) for every piece p; it must not throw. One thread, and one piece, need no parallel region: even
// one of a single thread takes longer than a small product.
template <class F>
void each_piece(const CpuQueue& q, const Pieces& pieces, F&& work)
{
    if (q.threads == 1 || pieces.count <= 1) {
        for (offset_t p = 0; p < pieces.count; ++p) call_piece(work, p, pieces.begin(p), pieces.end(p));
        return;
    }
#pragma omp parallel for num_threads(q.threads) schedule(static)
    for (offset_t p = 0; p < pieces.count; ++p) call_piece(work, p, pieces.begin(p), pieces.end(p));
}

// work(t) for every thread t of the queue, likewise.
template <class F>
void each_thread(const CpuQueue& q, F&& work)
{
    if (q.threads == 1) return call_piece(work, 0);
#pragma omp parallel for num_threads(q.threads) schedule(static)
    for (int t = 0; t < q.threads; ++t) call_piece(work, t);
}

}  // namespace tulle::inline TULLE_ABI::prim
