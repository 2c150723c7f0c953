// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Selections, of a matrix and of a product that is never whole.
#include "graph/select.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "graph/arguments.hpp"
#include "graph/steps.hpp"
#include "prim/scan.hpp"
#include "spgemm/steps.hpp"
#include "tulle/convert.hpp"
#include "tulle/spgemm.hpp"

namespace tulle::inline TULLE_ABI::graph {
namespace {

void require_selection(const Select& s)
{
    require<ValueError>(s.threshold >= 0 && s.most_per_row >= 0 && s.recover >= 0,
                        "threshold, most_per_row and recover of a selection must not be negative");
    require<ValueError>(s.negligible >= 0, "negligible of a selection must not be negative");
    require<ValueError>(s.recover_share >= 0 && s.recover_share <= 1,
                        [&] { return concat("recover_share must be in 0 … 1, and is ", s.recover_share); });
}

template <class Queue, class V>
Csr<V> select_on(const Queue& q, const CsrView<V>& a, const Rule<V>& rule)
{
    Buffer<KeyOf<V>> cutoff(q, a.rows);
    Buffer<offset_t> begin(q, offset_t{a.rows} + 1);
    count_selected(q, a, rule, cutoff.data(), begin.data());
    prim::exclusive_scan(q, begin.data(), begin.data(), a.rows);
    const offset_t nonzeros = read_value(q, begin.data() + a.rows);
    Csr<V> c{.rows = a.rows,
             .cols = a.cols,
             .row_begin = std::move(begin),
             .col = Buffer<index_t>(q, nonzeros),
             .value = Buffer<V>(q, nonzeros),
             .sorted = a.sorted,
             .unique = a.unique};
    fill_selected(q, a, rule, cutoff.data(), c.row_begin.data(), c.col.data(), c.value.data());
    return c;
}

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

// By ranges of rows, each selected from before the next is computed: half of the budget for those, half for what stays.
template <class V>
Csr<V> multiply_select_in_chunks(const Context& ctx, const CsrView<V>& a, const CsrView<V>& b, const Select& selection,
                                 std::size_t budget)
{
    return ctx.run([&](const auto& q) {
        const std::size_t most = budget > 0 ? budget : bytes_to_use(q);
        std::vector<Csr<V>> parts;
        {
            Reserve reserve(q, most / 2);
            const auto keep = [&](index_t first, Csr<V> rows) {
                Rule<V> rule = rule_of<V>(selection);
                rule.first_row = first;
                parts.push_back(reserve.use([&] { return select_on(q, rows.view(), rule); }));
            };
            spgemm::for_each_chunk(ctx, a, b, keep, {.checked = false, .budget = most / 2});
        }
        return stack(q, std::move(parts), a.rows, b.cols);
    });
}

}  // namespace

template <class V>
Csr<V> select(const Context& ctx, const CsrView<V>& a, const Select& selection)
{
    require_matrix(ctx, a);
    require_selection(selection);
    const Context some = ctx.for_work(a.nonzeros + a.rows);
    return some.run([&](const auto& q) { return select_on(q, a, rule_of<V>(selection)); });
}

template <class V>
Csr<V> multiply_select(const Context& ctx, Semiring semiring, const CsrView<V>& a, const CsrView<V>& b,
                       const Select& selection, std::size_t budget)
{
    require_product(ctx, a, b);
    require_selection(selection);
    if (ctx.backend() == Backend::cpu)
        return multiply_select_rows(ctx.for_work(a.nonzeros + b.nonzeros).host(), semiring, a, b, rule_of<V>(selection),
                                    selection.negligible);
    require<NotBuilt>(
        semiring == Semiring::plus_times,
        [&] { return concat("a product with a selection over ", to_text(semiring), " runs on the CPU only"); },
        "use Context::cpu() and matrices in host memory, or plus_times");
    return multiply_select_in_chunks(ctx, a, b, selection, budget);
}

template TULLE_API Csr<float> select(const Context&, const CsrView<float>&, const Select&);
template TULLE_API Csr<double> select(const Context&, const CsrView<double>&, const Select&);
template TULLE_API Csr<float> multiply_select(const Context&, Semiring, const CsrView<float>&, const CsrView<float>&,
                                              const Select&, std::size_t);
template TULLE_API Csr<double> multiply_select(const Context&, Semiring, const CsrView<double>&, const CsrView<double>&,
                                               const Select&, std::size_t);

}  // namespace tulle::inline TULLE_ABI::graph
