// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// op(T) x = alpha b for a sparse triangle T, float and double, one or many right-hand sides.
//
//     tulle::sptrsv::solve(ctx, L.view(), b.span(), x.span());                              // L x = b, once
//
//     auto plan = tulle::sptrsv::Plan<double>::make(ctx, L.view(), {.uplo = Uplo::lower});  // looks at the pattern
//                                                                                           // once
//     plan.solve(b.span(), x.span());                                                       // decides nothing,
//                                                                                           // allocates nothing
//     plan.update_values(L.view());                                                         // new numbers, same
//                                                                                           // pattern
//     std::puts(plan.describe().c_str());
//
// Arrays live where the context works (see matrix/move.hpp). x may be b. As in the BLAS, alpha == 0 gives x = 0, and
// neither T nor b is read. Offsets of 32 bits (matrix/csr32.hpp) are widened while the plan is made. A plan gives the
// same bits every time.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "tulle/api.hpp"
#include "tulle/context.hpp"
#include "tulle/csr.hpp"
#include "tulle/dense.hpp"
#include "tulle/types.hpp"

// What can be chosen for a triangular solve (a Policy), what is looked at (Features), and choose(), which decides
// without a device.
//
// Names of AG-SpTRSV (Hu et al., TACO 21(4):70, doi:10.1145/3674911) beside ours: n_g subwarps, sw_rnnz share_above,
// n_w warps, r_b and thresh rows and limit, rg_ Grouping, ws_ WarpSchedule, alpha_level alpha.

namespace tulle::inline TULLE_ABI::sptrsv {

enum class Kernel {
    serial,  // CPU: one row after the other
    levels,  // CPU: rows of a level, or clusters of them, dealt to threads, which wait for those they need
    tasks,   // GPU: our own: warps take tasks by ticket, a number is its own flag, clusters of rows are solved at once
    groups,  // GPU: the paper's template
};

// How rows become nodes of the computation graph.
enum class Merge {
    none,       // each row alone
    critical,   // a row joins the cluster of the parent that finishes last, if all other parents finish earlier
    fixed,      // `rows` consecutive rows
    average,    // `rows` consecutive rows whose mean length is at most `limit`, else single rows
    threshold,  // up to `rows` consecutive rows of at most `limit` entries; longer ones single
    chains,  // as critical, but only the first row that needs a cluster's last one may follow it: what a GPU can find
             // by itself
};

// Who works on the tasks of a solve, and where they keep the unknowns: the nearer, the shorter a hop, and the fewer
// read the matrix.
enum class ExecutionScope {
    device,   // all multiprocessors; global memory
    block,    // one block; its shared memory
    cluster,  // the blocks of one cluster; their shared memory
};

enum class Grouping { sequential, balance };
enum class WarpSchedule { ticket, round_robin, balance, locality };

inline constexpr int unlimited = -1;

struct Policy {
    Kernel kernel = Kernel::serial;
    Merge merge = Merge::none;
    int rows = 1;   // largest node, at most 32; levels: at most 4096
    int limit = 0;  // of Merge::average and Merge::threshold; levels: entries that make a thread's share, 0: as usual
    bool reorder = false;  // unknowns in the order they are solved, not in the matrix's
    int team = 1;          // tasks: warps that work on a task together, 1 or 4
    int warps = 16;        // that work on each multiprocessor
    int subwarps = 1;      // groups: nodes a warp works on side by side
    int share_above =
        0;  // groups: rows longer than this, on average, are shared by the lanes of a subwarp; or unlimited
    Grouping grouping = Grouping::sequential;   // groups: which nodes of a level a warp takes together
    WarpSchedule order = WarpSchedule::ticket;  // groups: which warp takes them
    int alpha = unlimited;  // groups: levels with more than alpha times the resident warps get a kernel of their own
    ExecutionScope execution_scope =
        ExecutionScope::device;  // tasks: who works on them, `warps` on each multiprocessor in any case
    int blocks = 16;             // tasks, ExecutionScope::cluster: blocks of the cluster

    bool operator==(const Policy&) const = default;
};

// The paper's ten features of a triangle, diagonal included.
struct Features {
    index_t rows = 0;                                               // m
    offset_t nonzeros = 0;                                          // nnz
    double row_mean = 0, row_longest = 0, row_variation = 0;        // rnnz, rnnz_max, rnnz_cov
    double level_mean = 0, level_longest = 0, level_variation = 0;  // lnnz, lnnz_max, lnnz_cov: nonzeros of a level
    index_t levels = 0;                                             // layer_num
    double dependency_nearness =
        0;  // dep_dist: mean of 1 / (distance to the nearest row needed), 0 for rows that need none
};

// What clustering would leave, beside the features.
struct MergeEstimate {
    Merge merge = Merge::none;
    int rows = 1;
    index_t levels = 0;  // of the merged graph
    offset_t tasks = 0;  // of warps or teams, about
};

struct Limits {
    Backend backend = Backend::cpu;
    int threads = 1;  // of the CPU queue
    int multiprocessors = 132;
    std::size_t block_bytes = 227 * 1024;  // of shared memory that a block may have
    int cluster_blocks = 16;               // that can run as a cluster; 1: the GPU has none
    double handover = 1e-6;  // seconds until a thread of the CPU sees that another one is done; far more where others
                             // use the processors
    bool execution_scopes =
        false;  // choose() may take one block or cluster; off: they were measured to be slower (docs/design/sptrsv.md)
};

struct Choice {
    Policy scheme;
    double seconds = 0;  // predicted for a solve
    std::string why;
};

// Pure: the same input gives the same choice. `estimates` has at least the graph without merging.
TULLE_API Choice choose(const Features& features, const std::vector<MergeEstimate>& estimates, const Limits& limits);

// The ten features by the names models ask for them with, and one of them; ValueError for another name.
TULLE_API const std::vector<std::string>& feature_names();
TULLE_API double feature(const Features& features, std::string_view name);

// Predicted time of a solve on a GPU with teams of 1 or 4 warps, from costs measured on an H200
// (docs/design/sptrsv.md).
TULLE_API double predict_seconds(const Features& features, const MergeEstimate& estimate, int team);

// How long threads of this process wait for each other now, with everything else that runs: some rounds of less than
// two milliseconds in all.
TULLE_API double measure_handover(int threads);

// Whether merging consecutive rows could be worth a look: rows mostly need their neighbours.
TULLE_API bool favours_neighbours(const Features& features);

// Whether so many solves could gain what looking for clusters costs: on the host, and for chains on the GPU.
TULLE_API bool clusters_pay(const Features& features, double expected_calls);
TULLE_API bool chains_pay(double expected_calls);

// Whether so many solves of `seconds` each could gain what clusters of the host cost, beside a plan that was made on
// the GPU alone.
TULLE_API bool host_merge_pays(const Features& features, index_t levels, double seconds, double expected_calls);

// … and by one block or one cluster, from the latency of hops; measured solves take 1.5 to 4 times as long, so choose()
// does not take them unless Limits::execution_scopes says so. Entries of the matrix, and clusters' matrices, come to
// few multiprocessors.
TULLE_API double predict_seconds(const Features& features, const MergeEstimate& estimate, const Policy& scheme);

// Blocks that work on the tasks together; 1 for the whole GPU, whose blocks do not.
TULLE_API int blocks_of(const Policy& scheme);

// Unknowns that each block keeps in its shared memory; rows stand in units of 32.
TULLE_API offset_t unknowns_of_a_block(const Policy& scheme, index_t rows);

// Whether unknowns of so many bytes fit into the shared memory of the scheme's block or cluster.
TULLE_API bool fits(const Policy& scheme, index_t rows, std::size_t value_bytes, const Limits& limits);

// WarpSchedule that fit into a block with the registers they need.
constexpr int most_warps_in_block(int team, bool clusters) { return !clusters ? 16 : team == 1 ? 8 : 12; }

// Up to how many levels a GPU should find by itself, where the host would need about as long to find them and to lay
// out tasks.
TULLE_API index_t most_levels_there(index_t rows, offset_t nonzeros);

// Whether levels are so wide that clusters of the host take much longer than chains of the GPU.
TULLE_API bool has_wide_levels(const Features& features);

// Schemes worth trying on a backend, the most promising first; those of one block or cluster may not fit a triangle.
TULLE_API std::vector<Policy> candidates(const Limits& limits);

// The paper's: every combination of its tables, and those left of it by experience, with tickets instead of the
// hardware's order.
TULLE_API std::vector<Policy> paper_schemes();
TULLE_API std::vector<Policy> reduced_schemes();

// ValueError with the alternatives if a scheme cannot work on this backend.
TULLE_API void check_policy(const Policy& scheme, const Limits& limits);
TULLE_API bool works(const Policy& scheme, const Limits& limits);

TULLE_API std::string to_text(const Policy& scheme);  // "tasks, critical clusters of up to 32 rows, 16 warps"
// A line that reads back as the same scheme: "kernel=tasks merge=critical rows=32 team=4 warps=8"; what is as usual is
// left out.
TULLE_API std::string to_line(const Policy& scheme);
TULLE_API std::optional<Policy> parse_scheme(std::string_view line);

TULLE_API std::string to_text(Kernel kernel);
TULLE_API std::string to_text(Merge merge);
TULLE_API std::string to_text(ExecutionScope execution_scope);

// Where a triangle whose numbers are on the host is solved soonest. A GPU analyses and solves wide triangles many times
// as fast, but the matrix travels once, b and x travel with every solve, and deep or tiny triangles leave it waiting
// for one level after the other.

// Seconds.
struct CostEstimate {
    double prepare = 0;  // once: the analysis, and the matrix to the GPU
    double solve = 0;    // each time, b and x there and back

    double total(double calls) const { return prepare + calls * solve; }
};

struct Placement {
    Backend backend = Backend::cpu;
    CostEstimate cpu, gpu;  // gpu: zero where there is none
    std::string why;
};

// What will be solved, and how often.
struct Work {
    double calls = 1;
    index_t right_hand_sides = 1;
    std::size_t value_bytes = 8;
};

// Pure. `estimates` as for choose().
TULLE_API Placement place(const Features& features, const std::vector<MergeEstimate>& estimates, const Limits& cpu,
                          const Limits& gpu, const Work& work);

// The most that clusters could gain on a GPU: where it is not enough, nobody needs to look for them.
TULLE_API std::vector<MergeEstimate> best_estimates(const Features& features);

template <class V>
using AnyView = std::variant<CsrView<V>, CscView<V>, Csr32View<V>, Csc32View<V>>;

enum class Uplo { lower, upper };
enum class OtherSide {
    refuse,
    ignore
};  // entries of the other triangle: ignore solves with one triangle of a general matrix
enum class Analysis { host, device };  // where a GPU's plan is made: triangle, levels, tasks; the host ignores it

struct Options {
    Uplo uplo = Uplo::lower;  // which triangle of the matrix is T, before op
    Op op = Op::none;
    bool unit_diagonal = false;  // the diagonal is one, whatever is stored
    OtherSide other_side = OtherSide::refuse;
    index_t right_hand_sides = 1;  // at once; more than one is prepared for, any number can be solved for
    double expected_calls =
        100;  // solves that will follow, as many as an iterative solver takes: few are not worth much analysis
    Effort effort = Effort::model;
    double seconds = 1;                // a search starts no new scheme after this long
    std::optional<Policy> force = {};  // decides instead
    bool checked = true;               // validate the matrix first; sizes and null pointers are looked at in any case
    std::string cache = {};  // folder that remembers what a search found for a pattern on a device; empty: none
    Analysis analysis = Analysis::device;
    std::string model = {};  // file of a perceptron (src/model) that chooses instead of those built in; empty: those;
                             // "none": rules alone choose
};

// A solve prepared for one pattern. It keeps copies of all it needs: the caller's matrix may go. Not for use by two
// threads at once.
template <class V>
class TULLE_API Plan {
public:
    // ValueError names the row whose diagonal is missing or zero, the entry on the wrong side, or the position that is
    // stored twice.
    static Plan make(const Context& ctx, const AnyView<V>& a, const Options& options = {});
    Plan(Plan&&) noexcept;
    Plan& operator=(Plan&&) noexcept;
    ~Plan();

    // On CUDA the work is put on the context's stream; the call returns at once.
    void solve(V alpha, std::span<const V> b, std::span<V> x) const;
    void solve(std::span<const V> b, std::span<V> x) const { solve(V(1), b, x); }
    void solve(V alpha, const DenseView<const V>& b, const DenseView<V>& x) const;  // a column for each right-hand side

    // Same pattern, new numbers; no new analysis. PlanMismatch if format, shape or nonzeros differ. After a zero on the
    // diagonal was refused here, the plan solves again only once it has been given values it can use.
    void update_values(const AnyView<V>& a);

    // Waits for the solves put on the stream. DeviceError, with the row, if one gave up waiting; its x is then NaN
    // where it was not solved.
    void wait() const;

    const Policy& scheme() const;
    const Features& features() const;
    index_t levels() const;        // one after the other, with this scheme
    std::string describe() const;  // what was chosen, why, what it costs
    std::size_t bytes() const;     // held where the context works
    index_t rows() const;

private:
    struct State;
    explicit Plan(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

// Where a triangle on the host is solved soonest, `options.expected_calls` times: a context and the reason. Without a
// usable GPU: the CPU. The triangle is looked at once more by Plan::make.
//
//     const auto [ctx, placement] = tulle::sptrsv::best_context<double>(L.view());                // L on the host
//     const auto there = to_device(ctx, L.view());
struct Best {
    Context ctx;
    Placement placement;
};
template <class V>
TULLE_API Best best_context(const AnyView<V>& on_host, const Options& options = {}, int threads = 0, int device = 0);

// What schemes can count on where a context works; for candidates() and check_policy().
TULLE_API Limits limits_of(const Context& ctx);

// How long schemes take on a matrix, each tried within `seconds` in all; the fastest first, and remembered in
// Options::cache. For tuning; `progress` may be empty.
struct Trial {
    Policy scheme;
    index_t levels;
    double prepare_seconds, solve_seconds;
};
template <class V>
TULLE_API std::vector<Trial> try_policies(const Context& ctx, const AnyView<V>& a, const Options& options,
                                          const std::vector<Policy>& schemes, const Progress& progress = {});

// Rows in each level, the first level first: each row alone, and in critical clusters of up to 32 rows. To look at a
// triangle; on the host.
struct LevelWidths {
    std::vector<offset_t> alone, clustered;
};
template <class V>
TULLE_API LevelWidths level_widths(const Context& ctx, const AnyView<V>& a, const Options& options = {});

// Once, without a plan to keep.
template <class View, class V = typename ValueOf<View>::type>
void solve(const Context& ctx, const View& a, std::type_identity_t<V> alpha, std::type_identity_t<std::span<const V>> b,
           std::type_identity_t<std::span<V>> x, const Options& options = {})
{
    Options once = options;
    once.expected_calls = 1;
    const auto plan = Plan<V>::make(ctx, a, once);
    plan.solve(alpha, b, x);
    plan.wait();
}

template <class View, class V = typename ValueOf<View>::type>
void solve(const Context& ctx, const View& a, std::type_identity_t<std::span<const V>> b,
           std::type_identity_t<std::span<V>> x, const Options& options = {})
{
    solve(ctx, a, V(1), b, x, options);
}

}  // namespace tulle::inline TULLE_ABI::sptrsv
