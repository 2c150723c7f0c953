// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// SpTRSV: op(T) x = alpha b for a sparse triangle T, float and double, one or many right-hand sides.
/// @code
/// tulle::sptrsv::solve(ctx, L.view(), b.span(), x.span());                              // L x = b, once
///
/// auto plan = tulle::sptrsv::Plan<double>::make(ctx, L.view(), {.uplo = Uplo::lower});  // analyses the pattern once
/// plan.solve(b.span(), x.span());                                                       // allocates nothing
/// plan.update_values(L.view());                                                         // new values, same pattern
/// std::puts(plan.describe().c_str());
/// @endcode
/// Arrays are in the memory of the context (tulle/transfer.hpp copies them there). x may be b. As in the BLAS, alpha ==
/// 0 gives x = 0, and neither T nor b is read. Offsets of 32 bits (Csr32View, Csc32View) are widened while the plan is
/// made. A plan gives the same bits every time.
///
/// Names of AG-SpTRSV (Hu et al., TACO 21(4):70, doi:10.1145/3674911) and here: n_g subwarps, sw_rnnz share_above, n_w
/// warps, r_b and thresh rows and limit, rg_ Grouping, ws_ WarpSchedule, alpha_level alpha.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "tulle/api.hpp"
#include "tulle/context.hpp"
#include "tulle/csr.hpp"
#include "tulle/dense.hpp"
#include "tulle/outline.hpp"
#include "tulle/pimpl.hpp"
#include "tulle/types.hpp"

/// Sparse triangular solves. choose() selects a policy without looking at a device.
namespace tulle::inline TULLE_ABI::sptrsv {

/// The kernels.
enum class Kernel {
    serial,  ///< CPU: one row after the other
    levels,  ///< CPU: rows of a level, or nodes of them, divided among threads, which wait for those they need
    tasks,   ///< GPU: warps take tasks by ticket, an unknown is its own flag, nodes of rows are solved together
    groups,  ///< GPU: the template of AG-SpTRSV
};

/// How rows become nodes of the dependency graph.
enum class Merge {
    none,       ///< each row alone
    critical,   ///< a row joins the node of the parent that finishes last, if all other parents finish earlier
    fixed,      ///< `rows` consecutive rows
    average,    ///< `rows` consecutive rows whose mean length is at most `limit`, else single rows
    threshold,  ///< up to `rows` consecutive rows of at most `limit` entries; longer ones single
    chains,     ///< as critical, but only the first dependent of a node's last row may join: found on a GPU
};

/// Which multiprocessors work on a solve, and where they keep the unknowns.
enum class ExecutionScope {
    device,   ///< all multiprocessors; global memory
    block,    ///< one thread block; its shared memory
    cluster,  ///< the blocks of one thread-block cluster; their shared memory
};

/// Groups kernel: which nodes of a level a warp takes together.
enum class Grouping {
    sequential,  ///< consecutive nodes
    balance      ///< nodes with balanced work
};
/// Groups kernel: which warp takes a group.
enum class WarpSchedule {
    ticket,       ///< the next free warp
    round_robin,  ///< warps in turn
    balance,      ///< the warp with the least work
    locality      ///< the warp that solved what the group needs
};

/// A parameter without a limit.
inline constexpr int unlimited = -1;

/// The decision for a triangle: kernel and parameters.
struct Policy {
    Kernel kernel = Kernel::serial;  ///< the kernel
    Merge merge = Merge::none;       ///< how rows become nodes
    int rows = 1;                    ///< rows of the largest node, at most 32; levels: at most 4096
    int limit = 0;  ///< of Merge::average and Merge::threshold; levels: entries of a thread's share, 0: the default
    bool reorder = false;                       ///< unknowns in the order in which they are solved
    int warps_per_task = 1;                     ///< tasks: warps of the warp group that works on a task, 1 or 4
    int warps = 16;                             ///< warps on each multiprocessor
    int subwarps = 1;                           ///< groups: nodes that a warp works on concurrently
    int share_above = 0;                        ///< groups: mean row length above which lanes share a row; or unlimited
    Grouping grouping = Grouping::sequential;   ///< groups: which nodes of a level a warp takes together
    WarpSchedule order = WarpSchedule::ticket;  ///< groups: which warp takes them
    int alpha = unlimited;  ///< groups: levels with more than alpha times the resident warps get a kernel of their own
    /// Tasks: which multiprocessors work, with `warps` on each in any case.
    ExecutionScope execution_scope = ExecutionScope::device;
    int blocks = 16;  ///< tasks, ExecutionScope::cluster: blocks of the cluster

    /// Compares all fields.
    bool operator==(const Policy&) const = default;
};

/// Statistics of a triangle, diagonal included: the ten features of AG-SpTRSV, with their names there.
struct Features {
    index_t rows = 0;            ///< m: rows
    offset_t nonzeros = 0;       ///< nnz: nonzeros
    double row_mean = 0;         ///< rnnz: mean nonzeros of a row
    double row_longest = 0;      ///< rnnz_max: nonzeros of the longest row
    double row_variation = 0;    ///< rnnz_cov: coefficient of variation of the row lengths
    double level_mean = 0;       ///< lnnz: mean nonzeros of a level
    double level_longest = 0;    ///< lnnz_max: nonzeros of the largest level
    double level_variation = 0;  ///< lnnz_cov: coefficient of variation of the level sizes
    index_t levels = 0;          ///< layer_num: levels
    /// dep_dist: mean of 1 / (distance to the nearest row needed); 0 for rows that need none.
    double dependency_nearness = 0;
};

/// Size of the dependency graph after a merge.
struct MergeEstimate {
    Merge merge = Merge::none;  ///< the merge
    int rows = 1;               ///< rows of the largest node
    index_t levels = 0;         ///< levels of the merged graph
    offset_t tasks = 0;         ///< estimated number of tasks of warps or warp groups
};

/// What the hardware and the caller allow.
struct Limits {
    Backend backend = Backend::cpu;        ///< CPU or GPU
    int threads = 1;                       ///< threads of the CPU queue
    int multiprocessors = 132;             ///< of the GPU
    std::size_t block_bytes = 227 * 1024;  ///< shared memory that a block may have
    int cluster_blocks = 16;               ///< blocks of the largest thread-block cluster; 1: the GPU has none
    /// CPU: seconds until a thread sees that another one is done; far more where others use the processors.
    double sync_latency = 1e-6;
    /// choose() may take one block or cluster; off: they were measured to be slower (docs/design/sptrsv.md).
    bool execution_scopes = false;
};

/// A policy and the reason for it.
struct Choice {
    Policy policy;       ///< the decision
    double seconds = 0;  ///< predicted for a solve; 0: unknown
    std::string why;     ///< one sentence
};

/// Selects a policy. Pure: the same input gives the same choice.
/// @param features statistics of the triangle.
/// @param estimates on a GPU at least that of the graph without merging; on a CPU those of merges to be considered.
/// @param limits what the hardware and the caller allow.
/// @throws ValueError if `estimates` is empty and Limits::backend is a GPU.
TULLE_API Choice choose(const Features& features, const std::vector<MergeEstimate>& estimates, const Limits& limits);

/// Names of the ten features, as models use them.
TULLE_API const std::vector<std::string>& feature_names();
/// A feature by its name.
/// @throws ValueError if there is none of that name.
TULLE_API double feature(const Features& features, std::string_view name);

/// Predicted seconds of a solve on a GPU with 1 or 4 warps for a task, from costs measured on an H200
/// (docs/design/sptrsv.md).
TULLE_API double predict_seconds(const Features& features, const MergeEstimate& estimate, int warps_per_task);

/// Measures the synchronisation latency in seconds: how long threads of this process wait for each other now, under the
/// present load of the machine. Takes less than two milliseconds.
TULLE_API double measure_sync_latency(int threads);

/// Whether rows mostly depend on their neighbours, so that merging consecutive rows could pay off.
TULLE_API bool depends_on_neighbours(const Features& features);

/// Whether `expected_calls` solves could gain what finding critical-path nodes (Merge::critical) on the host costs.
TULLE_API bool critical_merge_pays(const Features& features, double expected_calls);
/// Whether `expected_calls` solves could gain what finding chains (Merge::chains) on the GPU costs.
TULLE_API bool chain_merge_pays(double expected_calls);

/// Whether `expected_calls` solves could gain what finding nodes on the host costs, compared with a plan made on the
/// GPU alone.
/// @param features statistics of the triangle.
/// @param levels levels of that plan.
/// @param seconds predicted for a solve with that plan.
/// @param expected_calls solves that will follow.
TULLE_API bool host_merge_pays(const Features& features, index_t levels, double seconds, double expected_calls);

/// Predicted seconds of a solve with a policy, also for one block or cluster, from the latency between dependent rows.
/// Measured solves take 1.5 to 4 times as long, so choose() does not take them unless Limits::execution_scopes is set.
TULLE_API double predict_seconds(const Features& features, const MergeEstimate& estimate, const Policy& policy);

/// Blocks that work on the tasks together; 1 for the whole GPU, whose blocks do not.
TULLE_API int blocks_of(const Policy& policy);

/// Unknowns that each block keeps in its shared memory, in units of 32 rows.
TULLE_API offset_t unknowns_of_a_block(const Policy& policy, index_t rows);

/// Whether the unknowns fit into the shared memory of the block or cluster of a policy.
TULLE_API bool fits(const Policy& policy, index_t rows, std::size_t value_bytes, const Limits& limits);

/// Warps that fit into a block with the registers they need.
/// @param warps_per_task warps that work on a task together.
/// @param merged whether nodes of several rows are solved.
constexpr int most_warps_in_block(int warps_per_task, bool merged)
{
    return !merged ? 16 : warps_per_task == 1 ? 8 : 12;
}

/// The largest number of levels with which the levels should be found on the GPU; with more, the host finds them and
/// lays out tasks as fast.
TULLE_API index_t most_levels_on_device(index_t rows, offset_t nonzeros);

/// Whether levels are so wide that finding nodes on the host takes much longer than finding chains on the GPU.
TULLE_API bool has_wide_levels(const Features& features);

/// Policies worth trying on a backend, the most promising first; those of one block or cluster may not fit a triangle.
TULLE_API std::vector<Policy> candidates(const Limits& limits);

/// The policies of AG-SpTRSV, its "schemes": all combinations of the tables of the paper.
TULLE_API std::vector<Policy> ag_sptrsv_policies();
/// Those of them that the paper keeps by experience, with tickets instead of the order of the hardware.
TULLE_API std::vector<Policy> ag_sptrsv_reduced_policies();

/// Checks a policy.
/// @throws ValueError (with the alternatives) if it cannot work with these limits.
TULLE_API void check_policy(const Policy& policy, const Limits& limits);
/// Whether a policy can work with these limits.
TULLE_API bool works(const Policy& policy, const Limits& limits);

/// A policy as text: "tasks, critical-path nodes of up to 32 rows, 8 warps in warp groups of 4".
TULLE_API std::string to_text(const Policy& policy);
/// A line that parse_policy() reads back: "kernel=tasks merge=critical rows=32 warps_per_task=4 warps=8"; defaults are
/// left out.
TULLE_API std::string to_line(const Policy& policy);
/// The policy of a line that to_line() wrote; nothing if it cannot be read.
TULLE_API std::optional<Policy> parse_policy(std::string_view line);

/// Name of a kernel.
TULLE_API std::string to_text(Kernel kernel);
/// Name of a merge.
TULLE_API std::string to_text(Merge merge);
/// Name of an execution scope.
TULLE_API std::string to_text(ExecutionScope execution_scope);

/// Predicted seconds of analysis and solve.
struct CostEstimate {
    double prepare = 0;  ///< once: the analysis, and the transfer of the matrix to the GPU
    double solve = 0;    ///< each solve, with the transfers of b and x

    /// Seconds of the analysis and so many solves.
    double total(double calls) const { return prepare + calls * solve; }
};

/// The backend on which a triangle in host memory is solved in the shortest time.
struct Placement {
    Backend backend = Backend::cpu;  ///< the decision
    CostEstimate cpu;                ///< cost on the CPU
    CostEstimate gpu;                ///< cost on the GPU; zero where there is none
    std::string why;                 ///< one sentence
};

/// What will be solved, and how often.
struct Work {
    double calls = 1;              ///< number of solves
    index_t right_hand_sides = 1;  ///< right-hand sides of each
    std::size_t value_bytes = 8;   ///< bytes of a value
};

/// Selects the CPU or the GPU for a triangle whose values are on the host. A GPU analyses and solves wide triangles
/// many times as fast, but the matrix is copied once, b and x with every solve, and deep or small triangles leave it
/// waiting for one level after the other. Pure.
/// @param features statistics of the triangle.
/// @param estimates as for choose().
/// @param cpu limits of the CPU.
/// @param gpu limits of the GPU.
/// @param work what will be solved.
TULLE_API Placement place(const Features& features, const std::vector<MergeEstimate>& estimates, const Limits& cpu,
                          const Limits& gpu, const Work& work);

/// Estimates for the best conceivable merge. If place() prefers the CPU even with these, nodes need not be computed.
TULLE_API std::vector<MergeEstimate> best_estimates(const Features& features);

/// A matrix in any format that SpTRSV takes.
template <class V>
using AnyView = std::variant<CsrView<V>, CscView<V>, Csr32View<V>, Csc32View<V>>;

/// Which triangle of the matrix is T.
enum class Uplo {
    lower,  ///< the lower triangle
    upper   ///< the upper triangle
};
/// Entries of the other triangle.
enum class OtherSide {
    refuse,  ///< ValueError
    ignore   ///< not read: a solve with one triangle of a general matrix
};
/// Where the plan of a GPU is made: triangle, levels, tasks. CPU plans ignore it.
enum class Analysis {
    host,   ///< on the host
    device  ///< on the GPU
};

/// How accurate solves on a GPU are. Several rows that depend on each other may be solved with the inverse of their
/// block, which is faster than substitution but loses digits where numbers cancel. CPUs, the kernel `groups` and single
/// rows always substitute.
enum class Accuracy {
    fast,         ///< inverses wherever their entries do not grow beyond a bound
    tested,       ///< as fast, but substitution in blocks that lose digits in a trial solve with these values
    substitution  ///< no inverses: the componentwise backward error of substitution for every right-hand side
};

/// Options of Plan::make() and solve().
struct Options {
    Uplo uplo = Uplo::lower;                   ///< which triangle of the matrix is T, before op
    Op op = Op::none;                          ///< op(T): T or T transposed
    bool unit_diagonal = false;                ///< the diagonal is one, whatever is stored
    OtherSide other_side = OtherSide::refuse;  ///< entries of the other triangle
    index_t right_hand_sides = 1;              ///< right-hand sides expected, for which a GPU's policy is chosen; any
                                               ///< number can be solved
    double expected_calls = 100;               ///< solves that will follow: few are not worth much analysis
    Accuracy accuracy = Accuracy::tested;      ///< where blocks are solved with inverses
    Effort effort = Effort::model;             ///< policy predicted, or found by timing candidates
    double seconds = 1;                        ///< a search starts no new candidate after so many seconds
    std::optional<Policy> force = {};          ///< used instead of choose()
    bool checked = true;                   ///< validate the matrix first; sizes and null pointers are always checked
    std::string cache = {};                ///< folder with results of searches by pattern and device; empty: none
    Analysis analysis = Analysis::device;  ///< where the plan of a GPU is made
    /// File of a perceptron (src/model) that chooses instead of the built-in ones; empty: those; "none": rules alone.
    std::string model = {};
};

/// A triangular solve prepared for one pattern.
///
/// A plan keeps copies of all it needs: the caller's matrix may be released. One thread at a time may use a plan.
/// @tparam V value type of matrix and vectors: float or double.
template <class V>
class TULLE_API Plan {
    static_assert(detail::require_value<V>());

public:
    /// Analyses the triangle, selects a policy, and prepares what its kernel needs; waits.
    /// @param ctx where the arrays are and the work is done; the plan keeps a copy.
    /// @param a the matrix, in the memory of the context; copied.
    /// @param options see Options.
    /// @throws ShapeError if the matrix is not square.
    /// @throws ValueError if the matrix is not valid, a diagonal entry is missing or zero, an entry is in the other
    /// triangle or stored twice (it names the row), or Options::force cannot work.
    /// @throws OutOfMemory if the budget or the device does not allow what the plan keeps.
    /// @throws FileError if Options::model cannot be read.
    /// @throws FormatError if Options::model cannot be read.
    static Plan make(const Context& ctx, const AnyView<V>& a, const Options& options = {});

    /// Solves op(T) x = alpha b. On a GPU the work is queued on the stream of the context and the call returns at once;
    /// wait() reports failures.
    /// @param alpha 0: x = 0, and neither T nor b is read.
    /// @param b rows() entries in the memory of the context.
    /// @param x rows() entries in the memory of the context; may be b, but not overlap it otherwise.
    /// @throws ShapeError if b or x has the wrong size.
    /// @throws ValueError if b and x overlap or are null, or the last update_values() failed; DeviceError if they are
    /// in other memory.
    void solve(V alpha, std::span<const V> b, std::span<V> x) const;
    /// Solves op(T) x = b; as above.
    void solve(std::span<const V> b, std::span<V> x) const { solve(V(1), b, x); }
    /// Solves op(T) X = alpha B for several right-hand sides, a column for each; as above.
    void solve(V alpha, const DenseView<const V>& b, const DenseView<V>& x) const;

    /// New values for the same pattern; no new analysis. The pattern is not compared.
    /// @param a the matrix with the new values, in the memory of the context; copied.
    /// @throws PlanMismatch if format, shape or number of nonzeros differ.
    /// @throws ValueError if a diagonal entry is zero: the plan cannot solve until it gets values without; or if an
    /// array is missing or in other memory.
    void update_values(const AnyView<V>& a);

    /// Waits for the solves queued on the stream.
    /// @throws DeviceError (with the row) if a solve gave up waiting; unknowns that were not solved are then NaN.
    void wait() const;

    /// The policy in use.
    const Policy& policy() const;
    /// Statistics of the triangle.
    const Features& features() const;
    /// Levels that are solved one after the other with this policy.
    index_t levels() const;
    /// The policy, the reason and the cost, in several lines.
    std::string describe() const;
    /// Bytes held by the plan in the memory of the context.
    std::size_t bytes() const;
    /// Rows of the triangle.
    index_t rows() const;

private:
    struct State;
    explicit Plan(detail::Pimpl<State> state) : state_(std::move(state)) {}
    detail::Pimpl<State> state_;
};

/// A context and the reason for it.
struct ContextChoice {
    Context ctx;          ///< the context to make the plan in
    Placement placement;  ///< the costs and the reason
};
/// The context in which Options::expected_calls solves with a triangle in host memory, its analysis included, take the
/// shortest time; the CPU without a usable GPU. The triangle is analysed again by Plan::make().
/// @code
/// const auto [ctx, placement] = tulle::sptrsv::best_context<double>(L.view());                // L on the host
/// const auto there = to_device(ctx, L.view());
/// @endcode
/// @tparam V float or double.
/// @param on_host the matrix, on the host.
/// @param options as for Plan::make().
/// @param threads threads of the CPU context; 0: all.
/// @param device number of the GPU.
/// @throws ShapeError if the matrix is not square; ValueError if it is not valid or `threads` is out of range.
/// @throws DeviceError if there is no such GPU.
template <class V>
TULLE_API ContextChoice best_context(const AnyView<V>& on_host, const Options& options = {}, int threads = 0,
                                     int device = 0);

/// What policies can use where a context works; for candidates() and check_policy().
TULLE_API Limits limits_of(const Context& ctx);

/// Times of one policy.
struct Trial {
    Policy policy;           ///< the policy
    index_t levels;          ///< levels that are solved one after the other
    double prepare_seconds;  ///< time of the preparation
    double solve_seconds;    ///< time of a solve
};
/// Times policies on a matrix, within Options::seconds in all, for tuning; the fastest is stored in Options::cache.
/// @tparam V float or double.
/// @param ctx where the arrays are and the work is done.
/// @param a the matrix, in the memory of the context.
/// @param options as for Plan::make().
/// @param policies the policies.
/// @param progress called with the fraction done; may be empty.
/// @return the trials, the fastest solve first.
/// @throws ShapeError as Plan::make(), and if a policy cannot work there.
/// @throws ValueError as Plan::make(), and if a policy cannot work there.
template <class V>
TULLE_API std::vector<Trial> try_policies(const Context& ctx, const AnyView<V>& a, const Options& options,
                                          const std::vector<Policy>& policies, const Progress& progress = {});

/// Rows in each level, the first level first.
struct LevelWidths {
    std::vector<offset_t> unmerged;  ///< without merging
    std::vector<offset_t> merged;    ///< with critical-path nodes (Merge::critical) of up to 32 rows
};
/// The level sets of a triangle; the result is on the host, and the call waits.
/// @throws ShapeError as Plan::make().
/// @throws ValueError as Plan::make().
template <class V>
TULLE_API LevelWidths level_widths(const Context& ctx, const AnyView<V>& a, const Options& options = {});

/// Solves op(T) x = alpha b, once; waits. For several solves with a triangle make a Plan.
/// @param ctx where the arrays are and the work is done.
/// @param a a view of the matrix: CsrView, CscView, Csr32View or Csc32View.
/// @param alpha 0: x = 0.
/// @param b vector of the value type of the matrix; a span, or what converts to it.
/// @param x vector of the value type of the matrix; may be b.
/// @param options see Options; expected_calls is 1.
/// @throws ValueError as Plan::make(), Plan::solve() and Plan::wait().
/// @throws ShapeError as Plan::make(), Plan::solve() and Plan::wait().
/// @throws OutOfMemory as Plan::make(), Plan::solve() and Plan::wait().
/// @throws DeviceError as Plan::make(), Plan::solve() and Plan::wait().
template <class View, class V = typename ValueOf<View>::type>
void solve(const Context& ctx, const View& a, std::type_identity_t<V> alpha, std::type_identity_t<std::span<const V>> b,
           std::type_identity_t<std::span<V>> x, const Options& options = {})
{
    if constexpr (detail::check_matrix<View, V, AnyView<V>>()) {
        Options once = options;
        once.expected_calls = 1;
        const auto plan = Plan<V>::make(ctx, a, once);
        plan.solve(alpha, b, x);
        plan.wait();
    }
}

/// Solves op(T) x = b, once; as above.
template <class View, class V = typename ValueOf<View>::type>
void solve(const Context& ctx, const View& a, std::type_identity_t<std::span<const V>> b,
           std::type_identity_t<std::span<V>> x, const Options& options = {})
{
    solve(ctx, a, V(1), b, x, options);
}

/// @cond
// Wrong arguments: these overloads say what is wrong.
template <class View, class X, class Y>
requires(!detail::TakesVectors<View, X, Y>) void solve(const Context&, const View&, X&&, Y&&, const Options& = {})
{
    detail::explain_vectors<View, X, Y>();
}
template <class View, class X, class Y>
requires(!detail::TakesVectors<View, X, Y>) void solve(const Context&, const View&, double, X&&, Y&&,
                                                       const Options& = {})
{
    detail::explain_vectors<View, X, Y>();
}
/// @endcond

}  // namespace tulle::inline TULLE_ABI::sptrsv
