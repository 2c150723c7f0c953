// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// SpGEMM: C = op(A) op(B) for CSR matrices, float and double.
/// @code
/// auto C = tulle::spgemm::multiply(ctx, A.view(), B.view());               // once
///
/// auto plan = tulle::spgemm::Plan<double>::make(ctx, A.view(), B.view());  // counts the nonzeros of C
/// plan.nonzeros();                                                         // exact, before C is allocated
/// auto C = plan.run();                                                     // columns and values
/// plan.update_values(A2.view(), B2.view());                                // same patterns, new values
/// plan.run(C);                                                             // computes only the values of C again;
///                                                                          // Options::refill makes it faster
///
/// tulle::spgemm::for_each_chunk(ctx, A.view(), B.view(),
///                               [](index_t first_row, tulle::Csr<double> rows) { … }, {.budget = 2_GiB});
/// @endcode
/// C has an entry wherever there is a product, also where the products cancel. Its rows are sorted, without duplicates,
/// and the same bits every time: every entry is summed in the order of A's nonzeros (unless a policy is forced that
/// adds in no fixed order; a deterministic context refuses it). A and B may be unsorted and have duplicates. Arrays are
/// in the memory of the context; offsets of 32 bits (Csr32View) are widened once.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tulle/api.hpp"
#include "tulle/context.hpp"
#include "tulle/csr.hpp"
#include "tulle/outline.hpp"
#include "tulle/pimpl.hpp"
#include "tulle/types.hpp"

/// Products of two sparse matrices. choose() selects a method without looking at a device.
namespace tulle::inline TULLE_ABI::spgemm {
/// Parameters of the method DeltaSPARSE.
namespace delta {

/// Whether rows are grouped by size; can be forced, so that it can be measured (tulle-bench collect spgemm).
enum class Grouping {
    learned,  ///< as a model says
    plain,    ///< all rows with the parameters of the longest
    grouped,  ///< rows of similar size together
};

inline constexpr int dense_share_of = 10000;    ///< unit of Rules::dense_share: 1/10000
inline constexpr int most_count_sorted = 1024;  ///< largest Rules::count_sorted

/// Thresholds of DeltaSPARSE.
struct Rules {
    Grouping grouping = Grouping::learned;  ///< whether rows are grouped
    /// Rows of C with more than this fraction of the columns, in 1/10000, get the dense accumulator: 7.60 % (section
    /// III.A of the paper). Fitted again on an H200, it stays: 0.972 of the best fraction tried for each matrix; 2, 5,
    /// 15 and 30 % give 0.943, 0.969, 0.969, 0.969 (docs/experiments/spgemm.md).
    int dense_share = 760;
    /// Longer rows are written in the order of the table and sorted by digits afterwards; up to this length every entry
    /// counts the smaller ones. The paper found its threshold by experiment and does not name it; on an H200 512 takes
    /// 0.995 of the best for each matrix, 256 0.983, 1024 0.968. At most most_count_sorted.
    int count_sorted = 512;

    /// Compares all fields.
    bool operator==(const Rules&) const = default;
};

}  // namespace delta

/// The methods.
enum class Method {
    adaptive,     ///< every row with the accumulator that suits it
    dense,        ///< CPU: an array as long as a row of C for each thread
    hash,         ///< CPU: a hash table for each thread
    nsparse,      ///< GPU: Nagasaka, Nukada, Matsuoka: two phases, seven row groups each, hash tables
    deltasparse,  ///< GPU: DeltaSPARSE: hash tables, and arrays over column ranges for dense, long, badly hashed rows
};

/// The decision for a product: method and parameters.
struct Policy {
    Method method = Method::adaptive;  ///< the method
    bool use_runs = true;     ///< consecutive rows of equal pattern are counted once, and on a GPU filled together
    delta::Rules rules = {};  ///< deltasparse: thresholds
    int merge_lists = 8;      ///< GPU, adaptive: rows with up to so many nonzeros of A (0, 4, 8) are merged by a thread
    /// GPU, adaptive: rows with more products than this are merged in pieces (scircuit: 392 µs; 491 with 512, 585 with
    /// 64).
    int cut_above = 1024;
    bool registers = true;      ///< GPU, adaptive: rows with few products in registers
    bool ranks = true;          ///< GPU, adaptive: rows with close columns by bitmaps and ranks
    bool columns_first = true;  ///< GPU, adaptive: columns of long rows first, then their values in parts
    bool side_by_side = true;   ///< GPU, adaptive and nsparse: row groups concurrently, not one after the other
    /// GPU, adaptive, each row for itself: small products with few launches and one wait; C has up to 65536 columns.
    bool at_once = false;
    /// GPU, adaptive: multiply() computes C in one kernel and gathers its rows in another; C has up to 8192 columns
    /// and 2^23 positions, otherwise, and for plans, the other fields count.
    bool one_kernel = false;

    /// Compares all fields.
    bool operator==(const Policy&) const = default;
};

/// How a plan computes the values of an existing C again (numeric reuse).
enum class NumericReuse {
    /// The place of every product is looked up again, in the columns of C; nothing is kept.
    find_places,
    /// The first run() notes the place of every product, two bytes each (four in rows of C with more than 65536
    /// nonzeros; on a GPU consecutive rows of equal pattern share them): reuse reads, multiplies and adds.
    keep_places,
    /// The first run() lists the products of every entry of C, eight bytes each. A has fewer than 2^31 nonzeros, B at
    /// most 2^32.
    keep_products,
    /// What is kept is decided when C is counted: on a GPU keep_products, on a CPU keep_places, where products are few
    /// compared with the entries of C and memory allows it, else find_places: see choose_reuse().
    fastest,
};

/// Statistics of a product: what choose() depends on. op(A) is rows x inner, op(B) is inner x cols.
struct Features {
    index_t rows = 0;         ///< rows of op(A)
    index_t inner = 0;        ///< columns of op(A), rows of op(B)
    index_t cols = 0;         ///< columns of op(B)
    offset_t nonzeros_a = 0;  ///< nonzeros of A
    offset_t nonzeros_b = 0;  ///< nonzeros of B
};

/// What the hardware and the caller allow.
struct Limits {
    Backend backend = Backend::cpu;  ///< CPU or GPU
    int threads = 1;                 ///< threads of the CPU queue
    bool deterministic = false;      ///< the same bits every time are asked for
};

/// A policy and the reason for it.
struct Choice {
    Policy policy;    ///< the decision
    std::string why;  ///< one sentence
};

/// Selects a policy. Pure: the same features and limits give the same choice.
TULLE_API Choice choose(const Features& features, const Limits& limits);

/// All policies that work with these limits, for tests, benchmarks and tuning.
TULLE_API std::vector<Policy> candidates(const Limits& limits);

/// Checks a forced policy.
/// @throws ValueError (with the alternatives) if the policy cannot work with these limits.
TULLE_API void check_policy(const Policy& policy, const Limits& limits);

/// Whether a policy adds in a fixed order on a backend.
TULLE_API bool is_repeatable(const Policy& policy, Backend backend);

/// Checks whether a kind of reuse is possible with a policy: what is kept of products needs sums in a fixed order.
/// @throws ValueError if it is not.
TULLE_API void check_reuse(NumericReuse refill, const Policy& policy, Backend backend);

/// Whether NumericReuse::keep_products is possible: products are listed with eight bytes each.
constexpr bool can_list(offset_t nonzeros_a, offset_t nonzeros_b)
{
    return nonzeros_a < offset_t{1} << 31 && nonzeros_b <= offset_t{1} << 32;
}

/// What NumericReuse::fastest means for a C with so many nonzeros, and products of which something would be kept: on a
/// CPU, rows whose pattern follows from the row before share it. Pure.
TULLE_API NumericReuse choose_reuse(const Features& features, offset_t products, offset_t nonzeros, Backend backend);

/// Name of a kind of reuse.
TULLE_API std::string to_text(NumericReuse refill);
/// The kind of reuse of that name.
/// @throws ValueError (with the names) if there is none.
TULLE_API NumericReuse parse_reuse(std::string_view text);

/// Whether a policy sorts rows of C on a backend even if Options::sorted is off.
TULLE_API bool always_sorts(const Policy& policy, Backend backend);

/// Name of a method.
TULLE_API std::string to_text(Method method);
/// A policy as text: "adaptive", "adaptive, each row for itself", "deltasparse, grouped".
TULLE_API std::string to_text(const Policy& policy);
/// The method of that name.
/// @throws ValueError (with the names) if there is none.
TULLE_API Method parse_method(std::string_view name);

/// Options of Plan::make(), multiply() and for_each_chunk().
struct Options {
    Op op_a = Op::none;                ///< op(A): A or A transposed
    Op op_b = Op::none;                ///< op(B): B or B transposed
    std::optional<Policy> force = {};  ///< used instead of choose()
    bool sorted = true;                ///< columns of C ascend in every row; if not, they come in the cheapest order
    bool checked = true;               ///< validate the matrices first; sizes and null pointers are always checked
    /// for_each_chunk(), and plans that keep something of products: bytes that may be held at once beside A and B.
    std::size_t budget = Memory::unlimited;
    NumericReuse refill = NumericReuse::find_places;  ///< plans: what is kept for Plan::run(Csr<V>&)
    bool to_host = false;  ///< for_each_chunk(): chunks are on the host; nothing of them stays on the device
};

/// What a plan takes, in bytes in the memory of the context.
struct MemoryNeed {
    std::size_t result = 0;     ///< C
    std::size_t plan = 0;       ///< held by the plan: copies of op(A), op(B), offsets, lists of rows, reuse data
    std::size_t refill = 0;     ///< part of `plan`: what NumericReuse::keep_places or keep_products takes
    std::size_t workspace = 0;  ///< held during run(); numeric reuse with kept data needs none
};

/// An SpGEMM prepared for two matrices: the symbolic phase is done.
///
/// A plan keeps the views: the caller's arrays must stay in place while the plan is used. After their values have
/// changed, call update_values(). One thread at a time may use a plan.
/// @tparam V value type of all matrices: float or double.
template <class V>
class TULLE_API Plan {
    static_assert(detail::require_value<V>());

public:
    /// Analyses the matrices, selects a policy, and counts the nonzeros of C; waits.
    /// @param ctx where the arrays are and the work is done; the plan keeps a copy.
    /// @param a the matrix A, in the memory of the context; kept as a view.
    /// @param b the matrix B, in the memory of the context; kept as a view.
    /// @param options see Options.
    /// @throws ShapeError if the columns of op(A) are not as many as the rows of op(B).
    /// @throws ValueError if a matrix is not valid, or Options::force or Options::refill cannot work.
    /// @throws OutOfMemory if the budget or the device does not allow what the plan keeps.
    static Plan make(const Context& ctx, const AnyCsr<V>& a, const AnyCsr<V>& b, const Options& options = {});

    /// Computes C in new memory of the context. On a GPU the last kernels may still run on return, in the order of the
    /// stream.
    /// @throws OutOfMemory if C or the workspace does not fit.
    Csr<V> run() const;
    /// Computes the values of a C that run() gave again, in place; its columns are not checked. On a GPU as run().
    /// @throws PlanMismatch if C has another size.
    void run(Csr<V>& c) const;
    /// The same for a C in arrays of the caller's: its values alone.
    /// @param col the nonzeros() columns of C, as run() gives them, in the memory of the context; not checked.
    /// @param value where its values go, in the memory of the context.
    /// @throws ValueError if C has nonzeros and an array is missing.
    void run(const index_t* col, V* value) const;

    /// New values, perhaps at other addresses, for the same patterns; no new analysis. The patterns are not compared.
    /// @param a the matrix A with the new values; kept as a view.
    /// @param b the matrix B with the new values; kept as a view.
    /// @throws PlanMismatch if shapes or numbers of nonzeros differ.
    /// @throws ValueError if an array is missing or in other memory.
    void update_values(const AnyCsr<V>& a, const AnyCsr<V>& b);

    /// Rows of C.
    index_t rows() const;
    /// Columns of C.
    index_t cols() const;
    /// Number of multiplications.
    offset_t products() const;
    /// Nonzeros of C, exact.
    offset_t nonzeros() const;
    /// Bytes of C, of the plan and of the workspace.
    MemoryNeed memory() const;
    /// Bytes held by the plan in addition to the caller's matrices.
    std::size_t bytes() const { return memory().plan; }
    /// The policy in use.
    const Policy& policy() const;
    /// The statistics that choose() was given.
    const Features& features() const;
    /// The policy, the reason, the row groups and the memory, in several lines.
    std::string describe() const;

    /// One product with a plan that is not kept; multiply() is the convenient form.
    /// @throws ValueError as make() and run().
    /// @throws ShapeError as make() and run().
    /// @throws OutOfMemory as make() and run().
    static Csr<V> once(const Context& ctx, const AnyCsr<V>& a, const AnyCsr<V>& b, const Options& options = {});
    /// Receives rows of C: the number of the first, and a matrix of them that it owns.
    using Sink = std::function<void(index_t first_row, Csr<V> rows)>;
    /// C by ranges of rows, each small enough for the budget; for_each_chunk() is the convenient form.
    static void in_chunks(const Context& ctx, const AnyCsr<V>& a, const AnyCsr<V>& b, const Sink& sink,
                          const Options& options);

private:
    struct State;
    explicit Plan(detail::Pimpl<State> state) : state_(std::move(state)) {}
    detail::Pimpl<State> state_;
};

/// C = op(A) op(B), once, in new memory of the context. On a GPU the last kernels may still run on return.
/// @param ctx where the arrays are and the work is done.
/// @param a a view of A: CsrView or Csr32View.
/// @param b a view of B, of the same value type.
/// @param options see Options.
/// @throws ValueError as Plan::make() and Plan::run().
/// @throws ShapeError as Plan::make() and Plan::run().
/// @throws OutOfMemory as Plan::make() and Plan::run().
template <class A, class B, class V = typename ValueOf<A>::type>
Csr<V> multiply(const Context& ctx, const A& a, const B& b, const Options& options = {})
{
    if constexpr (detail::check_factors<A, B, V>()) return Plan<V>::once(ctx, a, b, options);
    else return {};
}

/// C by ranges of rows, in order: sink(first_row, rows) gets each. Together they are C; no more than Options::budget
/// bytes are held at once beside A and B.
/// @param ctx where the arrays are and the work is done.
/// @param a a view of A: CsrView or Csr32View.
/// @param b a view of B, of the same value type.
/// @param sink called in the calling thread; owns the rows, in the memory of the context or with Options::to_host on
/// the host.
/// @param options see Options.
/// @throws OutOfMemory if one row does not fit the budget, before any is given; it says how much the row needs.
/// @throws ValueError as Plan::make(); what `sink` throws.
/// @throws ShapeError as Plan::make(); what `sink` throws.
template <class A, class B, class V = typename ValueOf<A>::type>
void for_each_chunk(const Context& ctx, const A& a, const B& b,
                    const std::type_identity_t<typename Plan<V>::Sink>& sink, const Options& options = {})
{
    if constexpr (detail::check_factors<A, B, V>()) Plan<V>::in_chunks(ctx, a, b, sink, options);
}

}  // namespace tulle::inline TULLE_ABI::spgemm
