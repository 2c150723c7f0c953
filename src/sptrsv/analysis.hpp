// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What is known of a pattern, and what is chosen from it. The analysis: the triangle in the order it is solved, the
// levels of its rows, its features, and nodes of merged rows. What is computed on the host and what on a GPU are two
// types, HostAnalysis and DeviceAnalysis; analysis/analyze.cpp decides which of them is made. The selection: the
// policy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "device/cuda_devices.hpp"
#include "model/perceptron.hpp"
#include "prim/sort.hpp"
#include "tulle/context.hpp"
#include "tulle/memory.hpp"
#include "tulle/sptrsv.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {

// --- The triangle (analysis/triangle.cpp, analysis/cuda/extract_triangle.cu) ---

// Rows of which the first is to be kept: the largest of them, turned, is the first, and none is zero.
constexpr index_t descending_key(index_t row) { return max_index - row; }

// Which entries a triangle has, in the order it is solved: row 0 depends on no other row, row i only on rows before it.
// An upper triangle is reversed (row i stands for row rows-1-i of op(A)), a transposed one is transposed.
struct Pattern {
    index_t rows = 0;
    bool reversed = false;
    Buffer<offset_t> row_begin = {};  // entries left of the diagonal
    Buffer<index_t> col = {};         // ascending inside each row

    offset_t nonzeros() const { return col.size(); }
    index_t row_of(index_t i) const { return reversed ? rows - 1 - i : i; }  // of op(A)
};

// Values stay with the caller; sources are positions in the caller's array of values.
struct Sources {
    Buffer<offset_t> source = {};    // of each entry
    Buffer<offset_t> diagonal = {};  // of each diagonal entry; empty where the diagonal is taken as one
};

// A triangle as the host extracts it.
struct Triangle : Pattern, Sources {};

// A triangle as a GPU extracts it.
struct DeviceTriangle : Pattern {
    Buffer<offset_t> row_source =
        {};  // of each row's first entry: those of the others follow, downwards where the triangle is reversed
    Buffer<offset_t> diagonal = {};        // as in Sources
    Buffer<index_t> first_dependent = {};  // of each row, its first dependent as a descending key; 0: none
};

// What is stored, by rows, and how it is to be read.
struct TriangleSource {
    index_t rows = 0;
    const offset_t* row_begin = nullptr;  // where it is looked at
    const index_t* col = nullptr;
    offset_t nonzeros = max_offset;  // entries; a GPU refuses offsets that do not end with them, if they are told
    bool transpose = false;          // the system's matrix is what is stored, transposed
    bool upper = false;              // triangle of the system's matrix that counts
    bool unit_diagonal = false;      // its diagonal is one, whatever is stored
    bool ignore_other_side = false;  // entries on the other side are left out instead of refused
};

// ValueError names the row and column where the diagonal is missing, an entry stands on the wrong side or a position is
// stored twice.
Triangle make_triangle(const CpuQueue& host, const TriangleSource& stored);

// From rows as they are stored, not transposed; none where the host has to say what is wrong, or to sort.
std::optional<DeviceTriangle> extract_triangle(const CudaQueue& q, const TriangleSource& stored);

// Memory on the host for one pass of one thread, or for a copy: the system hands out pages when they are first written
// to, which takes longer than writing them. Where there are many pages all threads ask for them. A byte of each page
// may become zero.
void touch(const CpuQueue& host, void* data, std::size_t bytes);

template <class T>
Buffer<T> touched(const CpuQueue& host, offset_t size)
{
    Buffer<T> room(host, size);
    touch(host, room.data(), room.bytes());
    return room;
}

// --- Levels, nodes and features on the host (analysis/graph.cpp) ---

inline constexpr int lanes = 32;           // of a warp
inline constexpr int most_rows = lanes;    // of a node
inline constexpr offset_t long_row = 256;  // rows with more entries stay alone: one would hold up 31 others

// The computation graph: rows are merged into nodes, a node depends on the nodes its rows depend on, and its level is
// one above the highest of those. Rows of a node ascend. Consecutive merges number nodes in the order of their rows,
// critical-path nodes and chains in the order of their first rows.
struct Graph {
    index_t nodes = 0, levels = 0;
    Buffer<index_t> node_of;         // of each row
    Buffer<index_t> level;           // of each node, from 1: first `nodes` entries
    Buffer<index_t> size;            // rows of each node, likewise; empty where each row is alone
    Buffer<std::uint16_t> position;  // of each row among its node's; empty likewise

    index_t level_of(index_t row) const { return level.data()[node_of.data()[row]]; }
};

Graph merge(const CpuQueue& host, const Pattern& t, Merge how, int rows = 1, int limit = 0);

// Each row alone, from the level of each.
Graph rows_alone(const CpuQueue& host, Buffer<index_t> level);

// The ten features; `graph` is the one without merging.
Features features_of(const Pattern& t, const Graph& graph);

// … from whole numbers that can be added up in any order: over all rows, and the entries of each level, diagonals
// included.
inline constexpr unsigned long long near_unit = 1ull << 32;
struct RowSums {
    unsigned long long squares, dependency_nearness;  // dependency_nearness in parts of near_unit, each rounded down
    unsigned long long longest, levels;
};
Features features_from(index_t rows, offset_t nonzeros, const RowSums& sums,
                       const std::vector<unsigned long long>& of_level);

// Things in the order of their bins, ascending inside each: bin b holds item[begin[b]] … item[begin[b+1]-1].
struct Bins {
    Buffer<index_t> begin, item;
};
Bins sort_into(const CpuQueue& host, const index_t* bin, index_t items, index_t bins);

// The rows of each node.
Bins rows_of_nodes(const CpuQueue& host, const Graph& graph);

// --- Levels, nodes and features on a GPU (analysis/cuda/sweep.cu) ---

// A sweep on a GPU keeps what it finds of a row in one word: level alone, level of its chain, first row of that, place
// in it. Room for so many levels.
inline constexpr index_t most_rows_swept = index_t{1} << 27;
inline constexpr int place_bits = 5;
constexpr int row_bits_swept(index_t rows) { return prim::bits_for(static_cast<std::uint64_t>(rows)); }
constexpr int level_bits_swept(index_t rows)
{
    const int room = (64 - place_bits - row_bits_swept(rows)) / 2;
    return room < 30 ? room : 30;
}
constexpr index_t most_levels_swept(index_t rows) { return (index_t{1} << level_bits_swept(rows)) - 1; }

// Levels of all rows, and Merge::chains of up to `most` rows, found where the triangle is: a word for each row
// (NodeWord), and behind them room for what a survey counts. A triangle of more levels than `deepest` is given
// up.
struct LevelAnalysis {
    int most = 0;
    index_t rows = 0;
    Buffer<unsigned long long> words;
};
LevelAnalysis sweep(const CudaQueue& q, const DeviceTriangle& there, int most, index_t deepest);
void write_levels(const CudaQueue& q, const LevelAnalysis& swept, index_t* level);  // of each row alone

// The same from a graph that was merged on the host into nodes of up to 32 rows, or rows alone; there is nothing to
// survey.
constexpr bool can_take_nodes(index_t rows, index_t levels)
{
    return rows < most_rows_swept && levels <= most_levels_swept(rows);
}
LevelAnalysis upload_nodes(const CudaQueue& q, const CpuQueue& host, const Graph& graph);

// What a sweep finds of a row, in one word, and nodes as kernels see them: chains, or rows alone.
//
// From the top: level of the chain, its first row, place in it, level of the row alone. The latest of a chain is the
// largest; 0: not known yet. The fewer rows there are, the more levels there is room for.
using NodeWord = unsigned long long;
inline constexpr NodeWord most_place = (1ull << place_bits) - 1;  // nobody can follow
static_assert(most_rows == most_place + 1);

struct Split {
    int level_bits, first_bits;

    explicit Split(index_t rows) : level_bits(level_bits_swept(rows)), first_bits(row_bits_swept(rows)) {}
    constexpr int chain_bits() const { return level_bits + place_bits; }  // below those that tell chains apart
    constexpr NodeWord first_mask() const { return (1ull << first_bits) - 1; }
    constexpr unsigned place_mask() const { return static_cast<unsigned>((1ull << (first_bits + place_bits)) - 1); }

    // place: first row of the chain and place in it.
    constexpr NodeWord standing_of(unsigned chain_level, unsigned place, unsigned level) const
    {
        return (((NodeWord{chain_level} << (first_bits + place_bits)) | place) << level_bits) | level;
    }
    constexpr NodeWord level_of(NodeWord s) const { return s & ((1ull << level_bits) - 1); }
    constexpr NodeWord place_of(NodeWord s) const { return (s >> level_bits) & most_place; }
    constexpr index_t first_of(NodeWord s) const { return static_cast<index_t>((s >> chain_bits()) & first_mask()); }
    constexpr NodeWord chain_level_of(NodeWord s) const { return s >> chain_bits() >> first_bits; }
};

struct NodesView {
    Split split;
    const NodeWord* standing;
    const index_t* size;  // null: rows alone

    constexpr index_t level_of(index_t row) const
    {
        return static_cast<index_t>(size ? split.chain_level_of(standing[row]) : split.level_of(standing[row]));
    }
    constexpr index_t first_of(index_t row) const { return size ? split.first_of(standing[row]) : row; }
    constexpr index_t rows_of(index_t first) const { return size && size[first] > 0 ? size[first] : 1; }
    constexpr index_t place_of(index_t row) const
    {
        return first_of(row) == row ? 0 : static_cast<index_t>(split.place_of(standing[row]));
    }
};

// The arrays of a sweep, and those in which what it found is counted: one after the other, so that they are asked for
// and cleared at once.
inline constexpr offset_t counts_head = 8, counts_of_level = 2;  // words of a survey: its sums, and of each level
template <class Word>                                            // may be const
struct SweptArrays {
    using Small = std::conditional_t<std::is_const_v<Word>, const index_t, index_t>;
    Word* standing;
    Small* size;               // rows of each chain, by its first row; 0 where that is alone
    Small *ticket, *too_deep;  // too_deep 1: given up
    Word* counts;

    SweptArrays(Word* words, index_t rows)
        : standing(words),
          size(reinterpret_cast<Small*>(words + rows)),
          ticket(size + rows),
          too_deep(ticket + 1),
          counts(words + swept_words(rows))
    {}
    static offset_t swept_words(index_t rows) { return offset_t{rows} + (offset_t{rows} + 3) / 2; }
    static offset_t all_words(index_t rows, index_t levels)
    {
        return swept_words(rows) + counts_head + counts_of_level * levels;
    }
};
inline SweptArrays<const NodeWord> arrays_of(const LevelAnalysis& swept) { return {swept.words.data(), swept.rows}; }
inline SweptArrays<NodeWord> arrays_of(LevelAnalysis& swept) { return {swept.words.data(), swept.rows}; }

inline NodesView nodes_of(const LevelAnalysis& swept, bool chains)
{
    const auto arrays = arrays_of(swept);
    return {Split(swept.rows), arrays.standing, chains ? arrays.size : nullptr};
}

// What a sweep found, added up; none if it was given up.
struct Widths {
    std::vector<offset_t> nodes, rows;  // of each level, the first level first
};
struct Surveyed {
    Features features;
    Widths alone, chained;  // of rows alone, and of chains
};
std::optional<Surveyed> survey(const CudaQueue& q, const DeviceTriangle& there,
                               LevelAnalysis& swept);  // once for each sweep

inline int multiprocessors(const CudaQueue& q) { return cuda::device_limits(q.device).multiprocessors; }

// --- The whole analysis (analysis/analyze.cpp) ---

struct MergedGraph {
    Merge merge;
    int rows;  // of a node, at most
    Graph graph;
};

// The analysis on the host. One that was made there has sources and levels. Of a triangle that a GPU extracted the host
// has copies: of the pattern, and of the rest when it is first needed.
struct HostAnalysis {
    Pattern pattern;
    std::optional<Sources> sources = {};
    std::optional<Graph> levels = {};      // of each row alone
    std::vector<MergedGraph> merged = {};  // those that were evaluated
};

// The analysis on a GPU.
struct DeviceAnalysis {
    DeviceTriangle triangle;
    std::optional<LevelAnalysis> nodes =
        {};                    // levels and chains; none where the host was expected to find levels sooner
    index_t chain_levels = 0;  // levels that chains leave
};

// What is known of a pattern, whatever the policy. There is a host analysis, a device analysis, or, after something of
// the latter was needed on the host, both.
struct AnalysisState {
    index_t rows = 0;
    bool unit_diagonal = false;
    Features features = {};
    bool wide = false;  // levels are so wide that a GPU should make the plan by itself
    std::vector<MergeEstimate> estimates = {};
    std::optional<HostAnalysis> host = {};
    std::optional<DeviceAnalysis> device = {};
};

// Parts of the analysis on the host, copied from the device now if they are not there yet.
const Pattern& pattern_on_host(const Context& ctx, AnalysisState& known);
const Sources& sources_on_host(const Context& ctx, AnalysisState& known);
const Graph& levels_on_host(const Context& ctx, AnalysisState& known);

// AnyView once its offsets have 64 bits.
template <class V>
using WideView = std::variant<CsrView<V>, CscView<V>>;

template <class V>
CsrView<V> as_rows(const WideView<V>& a)
{
    if (const auto* csc = std::get_if<CscView<V>>(&a)) return transposed(*csc);
    return std::get<CsrView<V>>(a);
}

template <class V>
void require_square(const WideView<V>& a);

// The triangle, its levels and features.
template <class V>
AnalysisState analyze_pattern(const Context& ctx, const WideView<V>& a, const Options& options);

// Whether a CPU's threads would wait longer for each other than they work, and nodes of several rows are worth finding.
bool merges_pay_on_cpu(const Features& features, const Limits& limits, double expected_calls);

// The graphs a GPU policy could work on, beside the one without merging: chains, or those that are found on the host.
void look_at_chains(const Context& ctx, const Limits& limits, double expected_calls, AnalysisState& known);
void evaluate_merges(const Context& ctx, const Limits& limits, double expected_calls, AnalysisState& known);

// --- Selection: the cache (select/cache.cpp) ---
//
// What a search found, remembered in a folder: a small file for each pattern, device and type. Files appear whole or
// not at all, so any number of processes may share a folder. A file that cannot be understood is never trusted, one
// that is not ours never replaced; nothing here throws because of files.

template <class V>
inline constexpr const char* type_name = sizeof(V) == 4 ? "f32" : "f64";

// The same for the same pattern in the order it is solved, whatever the number of threads.
std::uint64_t fingerprint(const CpuQueue& host, const Pattern& t, bool unit_diagonal);

struct CacheKey {
    std::uint64_t pattern = 0;
    std::string device, type;  // "NVIDIA H200", "f64"
};

struct Remembered {
    std::optional<Policy> policy = {};
    double seconds = 0;     // of a solve, as measured then
    std::string note = {};  // why a file was ignored
};
Remembered recall(const std::string& folder, const CacheKey& key, const Limits& limits);

// Returns why nothing could be written, or an empty text.
std::string remember(const std::string& folder, const CacheKey& key, const Policy& scheme, double seconds);

// Where the file of a key is.
std::string cache_file(const std::string& folder, const CacheKey& key);

// --- Selection: the choice (select/select.cpp), the paper's Select stage (section 4.5) ---

struct Selection {
    Choice choice;
    bool settled = false;   // by the caller, or by an earlier search: nothing is left to try
    CacheKey key = {};      // where a search's result is to be remembered
    std::string note = {};  // about the cache
};

// What this pattern is remembered by where the context works.
CacheKey key_of(const Context& ctx, AnalysisState& known, std::string_view type);

// The caller's scheme, else one remembered, else the model's, else the predicted best. `known` gets the estimates where
// they are needed.
Selection select(const Context& ctx, const Options& options, const Limits& limits, std::string_view type,
                 AnalysisState& known);

// Pure. Several right-hand sides on a GPU: rows alone, or nodes of one of the estimates by warp groups.
Choice choose_many(const Features& features, const std::vector<MergeEstimate>& estimates, const Limits& limits,
                   index_t sides);

// A perceptron whose outputs are lines of schemes.
struct Learned {
    explicit Learned(model::Perceptron perceptron);
    model::Perceptron model;
    std::vector<std::optional<Policy>> schemes;  // none for a line that is not understood
};

// Pure. The scheme that a model thinks best, of those that work within the limits; none if there is no such.
std::optional<Choice> choose_learned(const Features& features, const Learned& learned, const Limits& limits);

// Pure. What was predicted, unless a model thinks it is not good enough and another is, whose nodes were looked at.
Choice overrule(const Choice& predicted, const Features& features, const Learned& learned, const Limits& limits,
                const std::vector<MergeEstimate>& looked_at);

// --- Selection: the search (select/search.cpp) ---

template <class V>
struct Prepared;  // steps.hpp

// Sees a scheme with the seconds of its preparation and of a solve, and may take it.
template <class V>
using TrialCallback = std::function<void(Prepared<V>& p, double prepare_seconds, double solve_seconds)>;

// Tries schemes until options.seconds are over, the first in any case; those whose unknowns do not fit are left out.
template <class V>
void try_each(const Context& ctx, const WideView<V>& a, const Options& options, AnalysisState& known,
              const std::vector<Policy>& schemes, const Progress& progress,
              const std::type_identity_t<TrialCallback<V>>& f);

}  // namespace tulle::inline TULLE_ABI::sptrsv
