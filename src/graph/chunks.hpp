// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Products by ranges of rows, of which a part stays before the next range is computed: half of a budget holds the
// range, the other half what stays. SpGEMM gives the pattern of every range, and over plus_times the values.
#pragma once

#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

#include "graph/steps.hpp"
#include "spgemm/steps.hpp"
#include "tulle/convert.hpp"
#include "tulle/error.hpp"
#include "tulle/spgemm.hpp"

namespace tulle::inline TULLE_ABI::graph {

// The rows of all parts, one below the other.
template <class Queue, class V>
Csr<V> stack(const Queue& q, std::vector<Csr<V>> parts, index_t rows, index_t cols)
{
    if (parts.size() == 1) return std::move(parts.front());
    offset_t nonzeros = 0, row = 0;
    for (const Csr<V>& part : parts) nonzeros += part.nonzeros();
    Csr<V> c = Csr<V>::make(q, rows, cols, nonzeros);
    fill_zero(q, c.row_begin.data(), 1);
    nonzeros = 0;
    for (const Csr<V>& part : parts) {
        spgemm::shift_offsets(q, part.row_begin.data(), -nonzeros, offset_t{part.rows} + 1, c.row_begin.data() + row);
        copy(q, part.col.data(), c.col.data() + nonzeros, part.nonzeros());
        copy(q, part.value.data(), c.value.data() + nonzeros, part.nonzeros());
        nonzeros += part.nonzeros();
        row += part.rows;
    }
    return c;
}

// Bytes set aside for rows that stay, so that chunks leave them room.
template <class Queue>
class Reserve {
public:
    Reserve(const Queue& q, std::size_t bytes) : q_(q), left_(bytes) { take(); }

    // What work() gives, with the room open to it and then smaller by the result.
    template <class Work>
    auto use(Work&& work)
    {
        held_ = {};
        auto result = work();
        require_left(result.bytes());
        left_ -= result.bytes();
        take();
        return result;
    }

private:
    void take() { held_ = Buffer<char>(q_, static_cast<offset_t>(left_)); }
    void require_left(std::size_t bytes) const
    {
        if (bytes > left_)
            throw OutOfMemory("what stays of the product does not fit half of the budget", bytes, left_,
                              "raise the budget, or keep less of every row");
    }

    const Queue& q_;
    std::size_t left_;
    Buffer<char> held_;
};

// Half of what is free, and of what the budget of the context leaves.
template <class Queue>
std::size_t bytes_to_use(const Queue& q)
{
    const Space space = q.place().space;
    const std::size_t budget = q.memory->budget(space), live = q.memory->live(space);
    return std::min(free_bytes(q.place()), budget > live ? budget - live : 0) / 2;
}

// A B over a semiring by ranges of rows.
template <class V>
class SemiringChunks {
public:
    SemiringChunks(const Context& ctx, Semiring semiring, const CsrView<V>& a, const CsrView<V>& b)
        : ctx_(ctx),
          semiring_(semiring),
          a_(a),
          sorted_(is_plain() || b.sorted ? Csr<V>{} : sort_rows(ctx, b)),
          b_(is_plain() || b.sorted ? b : sorted_.view())
    {}

    // The rows that keep(queue, first row, rows of A B over plus_times) gives, one below the other; budget 0: half of
    // what is free.
    template <class Keep>
    Csr<V> multiply(std::size_t budget, Keep&& keep) const
    {
        return ctx_.run([&](const auto& q) {
            const std::size_t most = budget > 0 ? budget : bytes_to_use(q);
            std::vector<Csr<V>> parts;
            {
                Reserve reserve(q, most / 2);
                const auto add = [&](index_t first, Csr<V> rows) {
                    parts.push_back(reserve.use([&] { return keep(q, first, std::move(rows)); }));
                };
                // Values over another semiring take room beside the pattern, and flags that tell of products.
                spgemm::for_each_chunk(ctx_, a_, b_, add,
                                       {.checked = false, .budget = most / 2 / (is_plain() ? 1 : 3)});
            }
            return stack(q, std::move(parts), a_.rows, b_.cols);
        });
    }
    // The values over the semiring at the positions of a range from row `first` on.
    template <class Queue>
    Csr<V> values(const Queue& q, index_t first, Csr<V> rows) const
    {
        if constexpr (std::is_same_v<Queue, CudaQueue>)
            if (!is_plain()) {
                CsrView<V> of_a = a_;
                of_a.rows = rows.rows;
                of_a.row_begin += first;
                return multiply_masked_entries(q, semiring_, of_a, b_, std::as_const(rows).view());
            }
        return rows;
    }

private:
    bool is_plain() const { return semiring_ == Semiring::plus_times; }

    const Context& ctx_;
    Semiring semiring_;
    CsrView<V> a_;
    Csr<V> sorted_;  // copy of B, if needed: columns are looked for by halving
    CsrView<V> b_;
};

}  // namespace tulle::inline TULLE_ABI::graph
