// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Which kernel, and why. Thresholds are measured on an H200 (docs/design/spmm.md) where they say so, otherwise
// reasoned.
#include "tulle/spmm.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/enumerators.hpp"
#include "base/math.hpp"
#include "base/suggest.hpp"
#include "spmm/arguments.hpp"
#include "spmm/panels.hpp"
#include "spmm/row_costs.hpp"
#include "spmm/tile_choice.hpp"
#include "spmm/tiles.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::spmm {
namespace {

constexpr std::array kernel_names{"rows", "panels", "dense", "tiles"};
constexpr std::array lane_counts{2, 8, 32, 128};
constexpr std::array pieces{0, 32, 48, 64};
constexpr std::array orders{OrderKind::natural, OrderKind::degree, OrderKind::minhash, OrderKind::pack, OrderKind::bsa};
constexpr std::array widths{widest_panel, 64, narrowest_panel};
constexpr std::array dense_widths{64, narrowest_panel};
constexpr std::array most_parts{8, 4, 2, 1};
constexpr std::array parts_of_clusters{8, 2};
constexpr int most_clusters = 64;
constexpr offset_t panels_of(const Features& t) { return ceil_div(offset_t{t.rows}, offset_t{panel_rows}); }

// Measured on an H200 (docs/design/spmm.md): a panel must save so many fetches of B rows to be faster; fewer in f16
// where B is too large to stay in the L2 cache beside everything else. tf32 moves twice the bytes and fills tiles half
// as deep.
constexpr double much_reuse = 4.5, some_reuse = 1.7;
constexpr offset_t large_operand = offset_t{20} << 20;
constexpr double least_reuse(const Features& t)
{
    const bool large = offset_t{t.cols} * t.n * static_cast<offset_t>(t.value_bytes) > large_operand;
    return t.value_bytes == 2 && large ? some_reuse : much_reuse;
}
// A panel that needs so many of all rows of B may as well take them all, without lists, if rows one by one take longer;
// where all is done in a few microseconds, far fewer (measured).
constexpr offset_t few_places = offset_t{1} << 22;
constexpr double least_share = 0.6, least_share_of_few = 0.3;
// Reasoned: a row with so large a share of the columns that panels list is nearly all there is in its panel, and others
// wait for that. With few panels any row of a full block has such a share.
constexpr double most_of_a_row = 1.0 / 3;
constexpr offset_t few_panels = 8;
// Measured: chunks of columns that are worth a block of a dense matrix, two stages of its kernel. In full precision,
// where a stage takes longer, any are worth one of four blocks, and fewer one of eight (472 columns: 2.9 us, not 3.4).
constexpr offset_t least_chunks = 16, least_chunks_in_full = 7;
// … and from so many columns on eight blocks where there is room for four (512 x 2048: 15.5 us, not 17.7).
constexpr index_t many_columns = 2048;
constexpr offset_t chunks_of_part(const Features& t, int parts)
{
    return t.tensor ? least_chunks : parts > 4 ? least_chunks_in_full : 1;
}
// A small matrix of short rows is done before a panel's stages have begun to come in.
constexpr offset_t short_row = 48;
// Reasoned: so many columns in B, below which a tensor core computes mostly padding; measured in full precision, where
// 8 columns take as long as 32, and rows may take longer.
constexpr index_t least_columns(const Features& t) { return t.tensor ? 16 : 8; }
// Measured: so many blocks keep a multiprocessor busy.
constexpr offset_t least_blocks = 5;
// Panels are packed on the host, which takes as long as so many multiplications.
constexpr double calls_to_pack = 50;

bool on_gpu(const Limits& limits) { return limits.backend == Backend::cuda; }

bool can_be_dense(const Features& t, const Limits& limits) { return on_gpu(limits) && t.unique; }
bool can_be_panels(const Features& t, const Limits& limits) { return can_be_dense(t, limits) && t.tensor; }

double reuse(const Features& t)
{
    return t.cost.pairs > 0 ? static_cast<double>(t.nonzeros) / static_cast<double>(t.cost.pairs) : 0;
}

double share_of_columns(const Features& t)
{
    const double all = static_cast<double>(panels_of(t)) * t.cols;
    return all > 0 ? static_cast<double>(t.cost.pairs) / all : 0;
}

bool has_few_places(const Features& t) { return offset_t{t.rows} * t.cols <= few_places; }

bool has_row_of_its_own(const Features& t)
{
    return panels_of(t) > few_panels &&
           static_cast<double>(t.longest) > most_of_a_row * static_cast<double>(t.cost.pairs);
}

bool is_small(const Features& t, const Limits& limits)
{
    return t.longest <= 2 * short_row && t.nonzeros < short_row * t.rows && panels_of(t) <= limits.multiprocessors;
}

// Warps of the row kernel that a multiprocessor holds, by the registers of a thread (64, 72 and 80), and, reasoned,
// nonzeros of a row below which it waits for its own beginning more than for B.
constexpr offset_t resident_warps(const Features& t) { return t.value_bytes == 2 ? 32 : t.value_bytes == 4 ? 28 : 24; }
constexpr offset_t few_nonzeros = 8;
// Measured: what is longer gains nothing (f16, 48: Fashion, email-Enron, webbase-1M and scircuit; the others, 64:
// email-Enron).
constexpr int longest_piece(const Features& t) { return t.value_bytes == 2 ? 48 : 64; }

// Measured on an H200 with 123 real matrices, f32 and f16 (docs/experiments/spmm.md): a longest row of so many
// nonzeros, or so many times what a slice of a warp has to do, is not too long for one.
constexpr offset_t not_long = 56;
constexpr double times_the_share = 2.4;
// And so many rows, or lines, of a multiprocessor are few enough for a warp each where B is narrow.
constexpr offset_t few_rows = 24, few_lines = 20;

// The shortest lines, of rows and nonzeros, that are all walked at once (Fashion, f16, 128 columns on an H200: 11.8 us
// by lines of 48, which are; 13.4 by 32, which are not; 12.9 by 64), or the longest; 0 where no row is long, and rows
// have some nonzeros or are few.
int piece_for(const Features& t, const Limits& limits)
{
    const int lanes = lanes_of_columns(t.n);
    const offset_t slices = limits.multiprocessors * resident_warps(t) * (32 / lanes),
                   tiles = ceil_div(std::max(t.n, index_t{1}), index_t{columns_per_lane} * lanes);
    const offset_t share = (t.nonzeros + t.rows) * tiles / slices;
    int piece = pieces[1];
    for (const int longer : pieces)
        if (piece < share && longer <= longest_piece(t)) piece = std::max(piece, longer);
    const double longest = static_cast<double>(std::max(t.longest, offset_t{0}));
    const bool even = longest <= std::max(static_cast<double>(not_long), times_the_share * static_cast<double>(share)),
               fills_rows = t.nonzeros >= few_nonzeros * t.rows || share < piece || t.longest <= pieces[1];
    return even && fills_rows ? 0 : piece;
}

// The lanes of a row or line: those that its columns fill, or a warp where there are too few to fill all warps.
int lanes_of_rows(const Features& t, const Limits& limits, int piece)
{
    const int lanes = lanes_of_columns(t.n);
    const bool few = piece == 0 ? t.rows <= few_rows * limits.multiprocessors
                                : (t.nonzeros + t.rows) / piece <= few_lines * limits.multiprocessors;
    return lanes == lane_counts[1] && few ? 32 : lanes;
}

// Lanes and piece.
struct RowShape {
    int lanes, piece;
};
double time_of(const Features& t, const Limits& limits, const RowShape& shape)
{
    return time_of_rows(t, limits, shape.lanes, shape.piece);
}

// Reasoned: rows for several slices where there are few blocks, or enough nonzeros to keep all slices busy.
constexpr offset_t few_blocks = 32, nonzeros_of_slice = 16;
// Lines are only timed where they cut the longest row.
bool can_be_shape(const Features& t, const Limits& limits, const RowShape& shape)
{
    const int width = lanes_of_columns(t.n);
    if (shape.lanes < width) return false;
    if (shape.piece > 0) return shape.lanes <= 32 && shape.piece < t.longest && shape.piece <= longest_piece(t);
    return shape.lanes == width ||
           blocks_of_rows(t, t.rows, shape.lanes, width) <= static_cast<double>(few_blocks * limits.multiprocessors) ||
           t.nonzeros >= nonzeros_of_slice * (shape.lanes / width) * t.rows;
}

// By the thresholds above, unless another shape is predicted to take so much less time: by tools/fit_spmm.py; doubles
// gain more from shared rows than is predicted, where these have been timed.
constexpr double worth_changing = 0.9, worth_in_doubles = 0.97;
constexpr index_t widest_timed = 32;
RowShape shape_of_rows(const Features& t, const Limits& limits)
{
    const int piece = piece_for(t, limits);
    RowShape best{lanes_of_rows(t, limits, piece), piece};
    const bool narrow_doubles = t.value_bytes == 8 && t.n <= widest_timed;
    double least = (narrow_doubles ? worth_in_doubles : worth_changing) * time_of(t, limits, best);
    for (const int lanes : lane_counts)
        for (const int other : pieces) {
            const RowShape shape{lanes, other};
            const double time = time_of(t, limits, shape);
            if (!can_be_shape(t, limits, shape) || time >= least) continue;
            best = shape;
            least = time;
        }
    return best;
}

// Row by row, as the rest beside tiles.
Policy rows_for(Kernel kernel, OrderKind order, int width, const Features& t, const Limits& limits)
{
    if (!on_gpu(limits)) return {kernel, 1, order, width};
    const RowShape shape = shape_of_rows(t, limits);
    return {kernel, shape.lanes, order, width, 1, shape.piece};
}

// The widest that B fills and that leaves every multiprocessor some blocks: wide ones read a tile once for more
// columns.
int width_for(const Features& t, const Limits& limits)
{
    for (const int width : widths)
        if (width == widths.back() ||
            (t.n > width / 2 && panels_of(t) * ceil_div(t.n, index_t{width}) >= least_blocks * limits.multiprocessors))
            return width;
    return widths.back();
}

// As many parts as multiprocessors have room for one block each, if they are long enough; wide blocks where there are
// many, because they read A less often.
Policy dense_in_parts(const Features& t, const Limits& limits)
{
    const auto blocks = [&](int width) { return panels_of(t) * ceil_div(std::max(t.n, index_t{1}), index_t{width}); };
    const offset_t chunks =
        ceil_div(offset_t{t.cols} * static_cast<offset_t>(t.value_bytes), offset_t{chunk_columns<std::uint8_t>});
    const int width =
        t.n > narrowest_panel && blocks(narrowest_panel) >= 4 * limits.multiprocessors ? 64 : narrowest_panel;
    const offset_t room = limits.multiprocessors / std::max(offset_t{1}, blocks(width));
    const auto has_room = [&](int parts) {
        const bool twice = !t.tensor && parts == most_parts.front() && t.cols >= many_columns;
        return parts <= room * (twice ? 2 : 1);
    };
    int parts = 1;
    while (limits.clusters && parts < most_parts.front() && has_room(2 * parts) &&
           chunks >= 2 * parts * chunks_of_part(t, 2 * parts))
        parts *= 2;
    return {Kernel::dense, 1, OrderKind::natural, width, parts};
}

// Microseconds of the dense kernel on an H200, fitted by `tools/fit_spmm.py --dense --fit` to
// bench/results/spmm-h200-dense.jsonl.gz; blocks of 64 columns of 16-bit numbers, and what their parts cost, by hand to
// spmm-h200-weights-policies.jsonl.gz, which came later.
struct DenseCosts {
    double start, least;                      // of the kernel; of any run
    double of_32, of_64;                      // a column of the matrix beside 64 rows, by the columns of C of a block
    double two_blocks;                        // of a multiprocessor at once take so many times as long as one
    double crowded_fours, crowded_eights;     // blocks of clusters of four and eight that fill the GPU, likewise
    double meeting, a_cluster;                // sums that several clusters leave in memory, and the sums of each
    double parts_of_32 = 0, parts_of_64 = 0;  // sums of several blocks, where they are not in the others already
};
constexpr DenseCosts costs_f16{1.45, 1.8, 0.0039, 0.0047, 1.76, 1.95, 2, 0.83, 0.286, 0.45, 1},
    costs_tf32{2.45, 2.45, 0.008, 0.0129, 1.9, 1.7, 1.75, 1.27, 0.075},
    costs_f32{2.04, 2.8, 0.0131, 0.0232, 1.87, 1.75, 1.8, 0.86, 0.1},
    costs_f64{2.57, 2.8, 0.0176, 0.0341, 1.54, 1.38, 1.55, 1.44, 0.068};
constexpr const DenseCosts& dense_costs(const Features& t)
{
    if (t.tensor) return t.value_bytes == 2 ? costs_f16 : costs_tf32;
    return t.value_bytes == 8 ? costs_f64 : costs_f32;
}

// Blocks of a policy of the dense kernel.
offset_t dense_blocks(const Features& t, const Policy& p)
{
    return panels_of(t) * ceil_div(std::max(t.n, index_t{1}), index_t{p.width}) * p.parts * p.clusters;
}

constexpr double time_of_joining(const DenseCosts& costs, const Policy& p)
{
    if (p.clusters == 1) return 0;
    return costs.meeting + costs.a_cluster * p.clusters * std::max(1.0, 4.0 / p.parts) * p.width / narrowest_panel;
}

// Microseconds of a policy of the dense kernel. Clusters of four and eight do not fit all
// multiprocessors: where they should fill them, some have two blocks.
double time_of_split(const Features& t, const Limits& limits, const Policy& p)
{
    constexpr double filled = 0.85;
    const DenseCosts& costs = dense_costs(t);
    const offset_t blocks = dense_blocks(t, p), rounds = ceil_div(blocks, offset_t{limits.multiprocessors});
    const bool is_crowded = p.parts >= 4 && static_cast<double>(blocks) > filled * limits.multiprocessors;
    const double crowded = !is_crowded    ? 1
                           : p.parts == 4 ? costs.crowded_fours
                                          : costs.crowded_eights,
                 columns = (p.width == narrowest_panel ? costs.of_32 : costs.of_64) * t.cols / (p.parts * p.clusters),
                 together = costs.two_blocks * static_cast<double>(rounds / 2) + static_cast<double>(rounds % 2);
    const double of_parts = p.parts == 1 ? 0 : p.width == narrowest_panel ? costs.parts_of_32 : costs.parts_of_64;
    return std::max(costs.least, costs.start + columns * crowded * together) + of_parts + time_of_joining(costs, p);
}

// Clusters that a dense panel can be shared by: each block has some columns.
bool can_be_clusters(const Features& t, int parts, int clusters)
{
    return offset_t{parts} * clusters * chunk_columns<std::uint16_t> <= t.cols;
}

// All policies of several clusters.
std::vector<Policy> dense_in_clusters(const Features& t, const Limits& limits)
{
    std::vector<Policy> all;
    for (const int with : parts_of_clusters) {
        const int parts = limits.clusters ? with : 1;
        for (const int width : dense_widths)
            for (int clusters = 2; clusters <= most_clusters && can_be_clusters(t, parts, clusters); clusters *= 2)
                all.push_back({Kernel::dense, 1, OrderKind::natural, width, parts, 0, clusters});
        if (!limits.clusters) break;
    }
    return all;
}

// All policies of the dense kernel.
std::vector<Policy> all_dense(const Features& t, const Limits& limits)
{
    std::vector<Policy> all;
    for (const int width : dense_widths)
        for (const int parts : most_parts)
            if (parts == 1 || limits.clusters) all.push_back({Kernel::dense, 1, OrderKind::natural, width, parts});
    for (const Policy& p : dense_in_clusters(t, limits)) all.push_back(p);
    return all;
}

// Whether the time of a policy of the dense kernel is known well enough. Measured: blocks of 64 columns are not the
// fastest for doubles, and clusters of four and eight only where each block has a multiprocessor. With 16 bits long
// parts, wide blocks in one or two; where all multiprocessors have two blocks they take up to 1.4 times as long as
// predicted, and where a few have two they do not.
bool is_timed(const Features& t, const Limits& limits, const Policy& p)
{
    const offset_t blocks = dense_blocks(t, p);
    const bool narrow = p.width == narrowest_panel, two_bytes = t.value_bytes == 2;
    if (!narrow && (t.value_bytes == 8 || (two_bytes && p.parts > 2))) return false;
    if (two_bytes && t.cols < offset_t{p.parts} * p.clusters * least_chunks * chunk_columns<std::uint16_t>)
        return false;
    const double blocks_each = two_bytes ? 1.25 : 4;  // of a multiprocessor, at most
    if (p.parts < 4) return static_cast<double>(blocks) <= blocks_each * limits.multiprocessors;
    return blocks <= limits.multiprocessors && (p.parts == 4 || narrow);
}

// Another one than dense_in_parts() where it is predicted to take so much less time.
constexpr double worth_another = 0.95;
Policy dense_for(const Features& t, const Limits& limits)
{
    Policy best = dense_in_parts(t, limits);
    double least = worth_another * time_of_split(t, limits, best);
    for (const Policy& p : all_dense(t, limits)) {
        const double time = is_timed(t, limits, p) ? time_of_split(t, limits, p) : least;
        if (time >= least) continue;
        best = p;
        least = time;
    }
    return best;
}

// Whether a matrix can be multiplied in full precision by the dense kernel: rows of B must be whole pieces.
bool can_be_full(const Features& t, const Limits& limits)
{
    return (t.value_bytes < 8 || limits.double_tensor) &&
           static_cast<std::size_t>(t.n) * t.value_bytes % sizeof(Piece) == 0;
}

// Whether the dense kernel is worth its memory and faster than rows, if panels use such a share of the rows of B.
bool wants_dense(const Features& t, const Limits& limits, double share)
{
    return (t.tensor || can_be_full(t, limits)) && share >= (has_few_places(t) ? least_share_of_few : least_share) &&
           time_of_split(t, limits, dense_for(t, limits)) < time_of(t, limits, shape_of_rows(t, limits));
}

// The most that share_of_columns() can be.
double most_share(const Features& t)
{
    return static_cast<double>(t.nonzeros) / std::max(1.0, static_cast<double>(panels_of(t)) * t.cols);
}

}  // namespace

Policy policy_of(Kernel kernel, const Features& t, const Limits& limits)
{
    if (kernel == Kernel::panels) return {Kernel::panels, 1, t.order, width_for(t, limits)};
    if (kernel == Kernel::dense) return dense_for(t, limits);
    if (kernel == Kernel::tiles) return rows_for(Kernel::tiles, t.order, tile_side, t, limits);
    return rows_for(Kernel::rows, OrderKind::natural, 0, t, limits);
}

bool wants_cost(const Features& t, const Limits& limits)
{
    return can_be_dense(t, limits) && t.n >= least_columns(t) && t.expected_calls >= calls_to_pack && t.nonzeros > 0 &&
           (t.tensor || wants_dense(t, limits, most_share(t)));
}

Choice choose(const Features& t, const Limits& limits)
{
    const Policy rows = policy_of(Kernel::rows, t, limits);
    if (!on_gpu(limits)) return {rows, "a CPU multiplies row by row"};
    if (!t.unique) return {rows, "positions stored twice do not fit tiles"};
    if (t.n < least_columns(t)) return {rows, concat("B has ", t.n, " columns, too few for tensor cores")};
    if (t.expected_calls < calls_to_pack) return {rows, "used too seldom to pack panels"};
    if (wants_dense(t, limits, share_of_columns(t)))
        return {dense_for(t, limits),
                concat("a panel needs ", fixed(100 * share_of_columns(t), 0), " % of the rows of B")};
    if (!t.tensor) return {rows, "products in full precision are for tensor cores only if a matrix is nearly dense"};
    const std::string share = concat("a row of B serves ", fixed(reuse(t), 2), " nonzeros of a panel");
    if (reuse(t) < least_reuse(t)) return {rows, concat(share, ", too few")};
    if (has_row_of_its_own(t)) return {rows, concat("a row has ", t.longest, " nonzeros, nearly all of its panel")};
    if (is_small(t, limits)) return {rows, "so few and short rows are done at once"};
    return {policy_of(Kernel::panels, t, limits), share};
}

std::vector<Policy> candidates(const Features& t, const Limits& limits)
{
    std::vector<Policy> all;
    if (!on_gpu(limits)) all.push_back(policy_of(Kernel::rows, t, limits));
    else
        for (const int lanes : lane_counts)
            for (const int piece : pieces)
                if (piece == 0 || lanes <= 32) all.push_back({Kernel::rows, lanes, OrderKind::natural, 0, 1, piece});
    if (can_be_dense(t, limits))
        for (const Policy& p : all_dense(t, limits)) all.push_back(p);
    if (can_be_panels(t, limits))
        for (const OrderKind order : orders)
            for (const int width : widths) all.push_back({Kernel::panels, 1, order, width});
    if (t.unique && (t.tensor || !on_gpu(limits)))
        for (const OrderKind order : orders) all.push_back(rows_for(Kernel::tiles, order, tile_side, t, limits));
    return all;
}

void check_options(const Options& o, std::size_t value_bytes)
{
    require_enumerator(o.op, Op::transpose, "op");
    require_enumerator(o.b_layout, Layout::col_major, "b_layout");
    require_enumerator(o.math, Math::tf32, "math");
    require_enumerator(o.effort, Effort::search, "effort");
    if (o.order) require_enumerator(*o.order, OrderKind::bsa, "order");
    require<ValueError>(o.n >= 0, [&] { return concat("B cannot have ", o.n, " columns"); });
    require<ValueError>(o.math == Math::exact || value_bytes != 8, "tf32 is for float, not for double");
    require_not_negative(o.expected_calls, "expected_calls");
    if (o.delta) fixed_density(*o.delta);  // refuses what is no density
    require_not_negative(o.piece.value_or(0), "piece");
    require_not_negative(o.lanes.value_or(0), "lanes");
    require<ValueError>(o.piece || !o.lanes, "lanes are given without a length of segments",
                        "give the length of segments too (piece); 0: whole rows");
}

void check_policy(const Policy& policy, const Features& t, const Limits& limits)
{
    const auto all = candidates(t, limits);
    Policy asked = policy;
    const auto is_one_of = [](const auto& some, int value) {
        return std::find(some.begin(), some.end(), value) != some.end();
    };
    if (on_gpu(limits) && policy.kernel == Kernel::tiles && is_one_of(pieces, policy.piece) &&
        is_one_of(lane_counts, policy.lanes) && (policy.piece == 0 || policy.lanes <= 32)) {  // any will do
        const Policy usual = policy_of(Kernel::tiles, t, limits);
        asked.piece = usual.piece;
        asked.lanes = usual.lanes;
    }
    if (std::find(all.begin(), all.end(), asked) != all.end()) return;
    std::string possible;
    for (const Policy& p : all) possible += (possible.empty() ? "" : "; ") + to_text(p);
    throw ValueError(concat("the policy '", to_text(policy), "' cannot multiply this matrix",
                            !t.unique ? ", which stores positions twice," : "",
                            on_gpu(limits) ? " on a GPU" : " on a CPU", t.tensor ? "" : " in full precision"),
                     concat("possible here: ", possible));
}

std::string to_text(Kernel kernel) { return name_in(kernel_names, kernel); }

std::string to_text(const Policy& p)
{
    if (p.kernel == Kernel::panels) return concat("panels of ", p.width, ", ", to_text(p.order), " order");
    if (p.kernel == Kernel::dense)
        return concat("dense, ", p.width, " columns, ", p.parts, p.parts == 1 ? " part" : " parts",
                      p.clusters > 1 ? concat(", ", p.clusters, " clusters") : "");
    if (p.kernel == Kernel::tiles) return concat("tiles of ", p.width, " and rest, ", to_text(p.order), " order");
    return p.lanes == 1 ? "rows"
                        : concat("rows, ", p.lanes, " lanes", p.piece > 0 ? concat(", lines of ", p.piece) : "");
}

Kernel parse_kernel(std::string_view name)
{
    const auto found = std::find(kernel_names.begin(), kernel_names.end(), name);
    require<ValueError>(
        found != kernel_names.end(), [&] { return concat("there is no SpMM kernel '", name, "'"); },
        one_of_hint(name, kernel_names));
    return static_cast<Kernel>(found - kernel_names.begin());
}

}  // namespace tulle::inline TULLE_ABI::spmm
