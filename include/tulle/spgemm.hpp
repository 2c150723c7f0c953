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
#include <string_view>
#include <type_traits>
#include <vector>

#include "tulle/api.hpp"
#include "tulle/context.hpp"
#include "tulle/csr.hpp"
#include "tulle/types.hpp"

// What can be chosen for a sparse matrix-matrix product, and choose(), which decides without looking at a device.

namespace tulle::inline TULLE_ABI::spgemm {
namespace delta {  // DeltaSPARSE

// What can be forced, so that it can be measured (tulle-bench collect spgemm).
enum class Grouping {
    learned,  // as group_pays() says
    plain,    // all rows with the parameters of the longest
    grouped,
};

inline constexpr int dense_share_of = 10000, most_count_sorted = 1024;

struct Rules {
    Grouping grouping = Grouping::learned;
    // Rows of C with more than this share of the columns, in 1/10000, get the dense accumulator: 7.60 % (the paper's
    // section III.A). Fitted again on an H200, it stays: 0.972 of the best share tried for each matrix; 2, 5, 15 and 30
    // % give 0.943, 0.969, 0.969, 0.969 (docs/design/spgemm.md).
    int dense_share = 760;
    // Longer rows are written as they stand in the table and sorted by digits afterwards; up to here every entry counts
    // the smaller ones. (The paper found its threshold by experiment and does not name it; on an H200 512 takes 0.995
    // of the best for each matrix, 256 0.983, 1024 0.968.) At most most_count_sorted.
    int count_sorted = 512;

    bool operator==(const Rules&) const = default;
};

}  // namespace delta

enum class Method {
    adaptive,     // every row by the accumulator that suits it
    dense,        // CPU: an array as long as a row of C for each thread
    hash,         // CPU: a hash table for each thread
    nsparse,      // GPU: Nagasaka, Nukada, Matsuoka: two phases, seven groups of rows each, hash tables
    deltasparse,  // DeltaSPARSE: hash tables with room, arrays over ranges of columns for dense, long and badly hashed
                  // rows
};

struct Policy {
    Method method = Method::adaptive;
    bool use_runs = true;     // neighbouring rows of equal pattern are counted once, and on a GPU filled together
    delta::Rules rules = {};  // deltasparse
    int merge_lists =
        8;  // GPU, adaptive: rows from up to so many nonzeros of A (0, 4, 8) are merged by a thread each, …
    int cut_above = 1024;  // … in pieces where they have more products than this (measured: scircuit 392 µs, with 512
                           // 491, with 64 585)
    bool registers = true;      // GPU, adaptive: rows with few products in registers
    bool ranks = true;          // GPU, adaptive: rows whose columns lie close together by bitmaps and ranks
    bool columns_first = true;  // GPU, adaptive: columns of long rows first, then their values in parts
    bool side_by_side = true;   // GPU, adaptive and nsparse: groups of rows at the same time, not one after the other
    bool at_once = false;  // GPU, adaptive, each row for itself: small products with few launches and one wait; C has
                           // up to 65536 columns

    bool operator==(const Policy&) const = default;
};

// How a plan computes the values of a C that is there once more.
enum class NumericReuse {
    find_places,  // where a product falls is looked up again each time, in the columns of C; nothing is kept for it
    keep_places,  // the first run() notes the place of every product, two bytes each (four in rows of C with more than
                  // 65536 nonzeros; on a GPU neighbouring rows of equal pattern share them): a refill reads, multiplies
                  // and adds
    keep_products,  // the first run() lists the products of every entry of C, eight bytes each: a refill goes through
                    // the list. A has fewer than 2^31 nonzeros, B at most 2^32
    fastest,  // keep_products where products are few beside the entries of C, find_places elsewhere: see choose_reuse()
};

// What choose() looks at.
struct Features {
    index_t rows = 0, inner = 0, cols = 0;  // op(A) is rows x inner, op(B) inner x cols
    offset_t nonzeros_a = 0, nonzeros_b = 0;
};

struct Limits {
    Backend backend = Backend::cpu;
    int threads = 1;             // of the CPU queue
    bool deterministic = false;  // the same bits every time are asked for
};

struct Choice {
    Policy policy;
    std::string why;  // one sentence
};

// Pure: the same features and limits give the same choice.
TULLE_API Choice choose(const Features& features, const Limits& limits);

// Everything that could be done there, for tests, benchmarks and tuning.
TULLE_API std::vector<Policy> candidates(const Limits& limits);

// ValueError with the alternatives if a forced policy cannot work there.
TULLE_API void check_policy(const Policy& policy, const Limits& limits);

// Whether sums are taken in a fixed order there.
TULLE_API bool is_repeatable(const Policy& policy, Backend backend);

// ValueError if refills of that kind cannot be had for it: what is kept of products is a question of sums in a fixed
// order.
TULLE_API void check_reuse(NumericReuse refill, const Policy& policy, Backend backend);

// Whether products can be listed, a number of eight bytes each.
constexpr bool can_list(offset_t nonzeros_a, offset_t nonzeros_b)
{
    return nonzeros_a < offset_t{1} << 31 && nonzeros_b <= offset_t{1} << 32;
}

// Pure: what NumericReuse::fastest is for a C with so many nonzeros.
TULLE_API NumericReuse choose_reuse(const Features& features, offset_t products, offset_t nonzeros);

TULLE_API std::string to_text(NumericReuse refill);
TULLE_API NumericReuse parse_reuse(std::string_view text);

// Whether rows of C are sorted there although nobody asks for it.
TULLE_API bool always_sorts(const Policy& policy, Backend backend);

TULLE_API std::string to_text(Method method);
TULLE_API std::string to_text(
    const Policy& policy);  // "adaptive", "adaptive, each row for itself", "deltasparse, grouped"
TULLE_API Method parse_method(std::string_view name);  // ValueError lists the names

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
