// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Arrays that nobody may read or write beside, not even by a batch that reaches over an end without using what it finds
// there. On a CPU they end (or begin) at a page without access; in the simulated GPU between red zones, which
// AddressSanitizer watches; on a real GPU compute-sanitizer's memcheck does. `skip` entries before the first make the
// array aligned to nothing but its type.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <span>
#include <vector>

#include "base/math.hpp"
#include "simt/sanitizers.hpp"
#include "support/host_matrix.hpp"
#include "tulle/context.hpp"
#include "tulle/memory.hpp"

namespace tulle::test {

enum class Edge { end, begin };  // which end of the array lies at the page without access, on a CPU

template <class V>
class Exact {
public:
    Exact(const Context& ctx, const std::vector<V>& contents, Edge edge = Edge::end, std::size_t skip = 0)
        : ctx_(ctx),
          size_(contents.size())
    {
        if (ctx.backend() == Backend::cpu) map(contents, edge);
        else place(contents, skip);
    }
    Exact(const Exact&) = delete;
    Exact& operator=(const Exact&) = delete;
    ~Exact()
    {
        if (pages_) munmap(pages_, mapped_);
        else simt::unpoison(there_.data(), before_first());
    }

    V* data() const { return data_; }
    std::span<V> span() const { return {data_, size_}; }
    std::vector<V> take() const
    {
        std::vector<V> all(size_);
        ctx_.run([&](const auto& q) {
            download(q, static_cast<const V*>(data_), all.data(), static_cast<offset_t>(size_));
        });
        return all;
    }

private:
    void map(const std::vector<V>& contents, Edge edge)
    {
        const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        const std::size_t bytes = size_ * sizeof(V), room = round_up(std::max(bytes, std::size_t{1}), page);
        mapped_ = room + 2 * page;
        void* const pages = mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (pages == MAP_FAILED || mprotect(static_cast<char*>(pages) + page, room, PROT_READ | PROT_WRITE) != 0)
            throw std::bad_alloc();
        pages_ = static_cast<char*>(pages);
        data_ = reinterpret_cast<V*>(pages_ + page + (edge == Edge::end ? room - bytes : 0));
        std::copy(contents.begin(), contents.end(), data_);
    }
    void place(const std::vector<V>& contents, std::size_t skip)
    {
        skip_ = skip;
        ctx_.run([&](const auto& q) {
            there_ = Buffer<V>(q, static_cast<offset_t>(size_ + skip));
            upload(q, contents.data(), there_.data() + skip, static_cast<offset_t>(size_));
        });
        data_ = there_.data() + skip;
        simt::poison(there_.data(), before_first());
    }
    // Bytes before the first entry that AddressSanitizer can watch: whole words of eight.
    std::size_t before_first() const { return build::simulated ? skip_ * sizeof(V) / 8 * 8 : 0; }

    Context ctx_;
    std::size_t size_, skip_ = 0, mapped_ = 0;
    char* pages_ = nullptr;
    Buffer<V> there_;
    V* data_ = nullptr;
};

template <class V>
struct ExactCsr {
    ExactCsr(const Context& ctx, const HostCsr<V>& a, Edge edge = Edge::end, std::size_t skip = 0)
        : of(a.view()),
          row_begin(ctx, a.row_begin, edge, skip),
          col(ctx, a.col, edge, skip),
          value(ctx, a.value, edge, skip)
    {}
    CsrView<V> view() const
    {
        return {of.rows, of.cols, of.nonzeros, row_begin.data(), col.data(), value.data(), of.sorted, of.unique};
    }

    CsrView<V> of;
    Exact<offset_t> row_begin;
    Exact<index_t> col;
    Exact<V> value;
};

// Sizes one less than, equal to and one more than every batch that kernels load at once.
inline std::vector<index_t> sizes_around_batches(index_t most)
{
    std::vector<index_t> all{1, 2, 3};
    for (index_t batch = 4; batch <= most; batch *= 2) all.insert(all.end(), {batch, batch + 1});
    for (index_t batch = 8; batch <= most; batch *= 2) all.push_back(batch - 1);
    std::sort(all.begin(), all.end());
    return all;
}

// A matrix whose rows have so many entries each, the last of them in the last column: its arrays, and vectors as long
// as it is wide, end with a row's end.
template <class V>
HostCsr<V> matrix_of_lengths(const std::vector<index_t>& lengths, index_t cols, std::uint64_t seed)
{
    HostCsr<V> a{.rows = static_cast<index_t>(lengths.size()), .cols = cols, .row_begin = {0}, .col = {}, .value = {}};
    for (index_t i = 0; i < a.rows; ++i) {
        const index_t length = lengths[static_cast<std::size_t>(i)];
        for (index_t k = 0; k < length; ++k) {
            a.col.push_back(cols - length + k);
            a.value.push_back(static_cast<V>(1 + static_cast<int>(below(hash_of(seed, i, k), 4))));
        }
        a.row_begin.push_back(std::ssize(a.col));
    }
    return a;
}

// Lengths of rows around a batch: such a row alone, between short ones, after an empty one, and many of them.
inline std::vector<std::vector<index_t>> rows_around(index_t n)
{
    return {{n}, {1, n, 1}, {0, n, 0}, {n, n, n, n, n, std::min(n, 2)}};
}

}  // namespace tulle::test
