// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// C = op(A) op(B) for CSR matrices, float and double.
//
//     auto C = tulle::spgemm::multiply(ctx, A.view(), B.view());               // once
//
//     auto plan = tulle::spgemm::Plan<double>::make(ctx, A.view(), B.view());  // counts the nonzeros of C, keeps the
//                                                                              // row offsets
//     plan.nonzeros();                                                         // exact, before anything of that size
//                                                                              // is allocated
//     auto C = plan.run();                                                     // columns and values
//     plan.update_values(A2.view(), B2.view());                                // same patterns, new numbers
//     plan.run(C);                                                             // only C's values are computed again;
//                                                                              // fastest with
//                                                                              // {.refill = NumericReuse::fastest},
//                                                                              // which may cost memory
//
//     tulle::spgemm::for_each_chunk(ctx, A.view(), B.view(),
//                                   [](index_t first_row, tulle::Csr<double> rows) { … }, {.budget = 2_GiB});
//
// C has an entry wherever a product falls, also where the products cancel. Its rows are sorted, without duplicates, and
// the same bits every time: every entry is summed in the order of A's nonzeros (unless a policy is forced that adds in
// no fixed order; a deterministic context refuses it). A and B may be unsorted and have duplicates. Arrays live where
// the context works; offsets of 32 bits (matrix/csr32.hpp) are widened once.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>

#include "tulle/api.hpp"
#include "tulle/context.hpp"
#include "tulle/csr.hpp"
#include "tulle/csr32.hpp"
#include "tulle/spgemm_policy.hpp"

namespace tulle::inline TULLE_ABI::spgemm {

struct Options {
    Op op_a = Op::none, op_b = Op::none;
    std::optional<Policy> force = {};  // decides instead of choose()
    bool sorted = true;   // columns of C must ascend in every row; if not, in whatever order they come cheapest
    bool checked = true;  // validate the matrices first; sizes and null pointers are looked at in any case
    std::size_t budget = Memory::unlimited;  // for_each_chunk, and plans that keep something of products: bytes that
                                             // may be held at once beside A and B
    NumericReuse refill = NumericReuse::find_places;  // plans: whether memory may be spent on refills
    bool to_host = false;  // for_each_chunk: chunks come on the host, and where the context works they are gone by then
};

// What a plan takes, in bytes where the context works.
struct MemoryNeed {
    std::size_t result = 0;  // C
    std::size_t plan = 0;  // held by the plan: copies of op(A), op(B), offsets, lists of rows, what is kept for refills
    std::size_t refill = 0;     // of these, what NumericReuse::keep_places or keep_products takes
    std::size_t workspace = 0;  // held while run() works; a refill by what is kept needs none
};

// A product prepared for two matrices: the symbolic phase is done. It keeps the views: the caller's arrays must stay in
// place while the plan is used; after their values have changed, call update_values(). Not for use by two threads at
// once.
template <class V>
class TULLE_API Plan {
public:
    static Plan make(const Context& ctx, const AnyCsr<V>& a, const AnyCsr<V>& b, const Options& options = {});
    Plan(Plan&&) noexcept;
    Plan& operator=(Plan&&) noexcept;
    ~Plan();

    // C in memory of its own.
    Csr<V> run() const;
    // Computes the values of a C that run() gave again, in place; its columns are taken to be right. PlanMismatch if
    // its size is another one.
    void run(Csr<V>& c) const;

    // Same patterns, new numbers, perhaps at other addresses; no new analysis. PlanMismatch if shapes or nonzeros
    // differ.
    void update_values(const AnyCsr<V>& a, const AnyCsr<V>& b);

    index_t rows() const;  // of C
    index_t cols() const;
    offset_t products() const;  // multiplications
    offset_t nonzeros() const;  // of C, exact
    MemoryNeed memory() const;
    std::size_t bytes() const { return memory().plan; }
    const Policy& policy() const;
    std::string describe() const;  // what was chosen, why, the groups of rows, what it takes

    // A plan that is used once and thrown away; multiply() below is the convenient form.
    static Csr<V> once(const Context& ctx, const AnyCsr<V>& a, const AnyCsr<V>& b, const Options& options = {});
    // C by stretches of rows, each small enough for the budget; see for_each_chunk().
    using Sink = std::function<void(index_t first_row, Csr<V> rows)>;
    static void in_chunks(const Context& ctx, const AnyCsr<V>& a, const AnyCsr<V>& b, const Sink& sink,
                          const Options& options);

private:
    struct State;
    explicit Plan(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

// C = op(A) op(B), once.
template <class A, class B, class V = typename ValueOf<A>::type>
Csr<V> multiply(const Context& ctx, const A& a, const B& b, const Options& options = {})
{
    return Plan<V>::once(ctx, a, b, options);
}

// C by stretches of rows, in order: sink(first_row, rows) owns each. All of them together are C; no more than
// options.budget bytes are held at once beside A and B. OutOfMemory says how much the longest row needs where even that
// does not fit.
template <class A, class B, class V = typename ValueOf<A>::type>
void for_each_chunk(const Context& ctx, const A& a, const B& b,
                    const std::type_identity_t<typename Plan<V>::Sink>& sink, const Options& options = {})
{
    Plan<V>::in_chunks(ctx, a, b, sink, options);
}

}  // namespace tulle::inline TULLE_ABI::spgemm
