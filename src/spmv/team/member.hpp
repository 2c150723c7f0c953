// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What a plan for a team consists of: the matrix by lines on the host, and for every member its part, its vectors, and
// what it gets from others. Made by arrange.cpp, build.cpp and prepare.cpp, used by team.cpp.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "partition/halo.hpp"
#include "partition/signal.hpp"
#include "partition/thread_pool.hpp"
#include "partition/transfers.hpp"
#include "prim/search.hpp"
#include "tulle/partition.hpp"
#include "tulle/spmv_team.hpp"

namespace tulle::inline TULLE_ABI::spmv::team {

using partition::ColumnRange;
using partition::Part;

// PartitionableView once its offsets have 64 bits.
template <class V>
using WideView = std::variant<CsrView<V>, CscView<V>, CooView<V>>;

// Which way op(A) is cut: lines are rows, or columns, or it has no lines (coordinates in no order).
enum class Axis { rows, columns, none };

template <class V>
struct Lines {
    index_t lines = 0, others = 0;
    offset_t nonzeros = 0;
    const offset_t* begin = nullptr;  // of every line; null for coordinates
    const index_t* line = nullptr;    // of every entry, where begin is null; ascending unless there are no lines
    const index_t* other = nullptr;   // the column of every entry (the row, where lines are columns)
    const V* value = nullptr;
    bool sorted = true, unique = true;
};

// op(A) as it is dealt out: the caller's arrays, or a copy by rows.
template <class V>
struct Arranged {
    Axis axis = Axis::rows;
    index_t rows = 0, cols = 0;  // of op(A)
    Lines<V> lines;
    Csr<V> copy;
    Buffer<offset_t> source;  // for every value of the copy where it stands in the caller's array
    // Deterministic only: rows longer than `segment` cut into several lines, so that no border between members ever
    // decides what is added to what. row_line[i] is the first line of row i; empty: no row is that long.
    bool fixed = false;
    int lanes = 0;
    Buffer<offset_t> line_begin, row_line;

    bool folds() const { return !row_line.empty(); }
};

// `columns`: matrices stored by column are cut by columns; otherwise they are copied by rows.
template <class V>
Arranged<V> arrange(const Context& host, const WideView<V>& a, bool columns, bool deterministic);

// The same with other numbers.
template <class V>
void arrange_values(const Context& host, const WideView<V>& a, Arranged<V>& arranged);

// Lines of a part with a pointer of their own, multiplied in one go.
template <class V>
struct Piece {
    index_t first = 0, last = 0;  // lines, counted in the part
    offset_t begin = 0, end = 0;  // nonzeros, counted in the part
    bool waits = false;           // needs entries of x that come from others
    bool head = false;            // the rest of a row that another member owns
    const offset_t* pointer = nullptr;
    std::optional<Plan<V>> plan = {};  // none where the order is fixed
};

// Entries of x from another member: out of its packed ones, or straight out of its x.
struct Pull {
    int from = 0;
    bool packed = false;
    offset_t source = 0, target = 0, n = 0;
};

template <class V>
struct Member {
    Context ctx, side;  // where it works; another queue of the same device, for what comes from others
    Part part;
    ColumnRange own_x = {}, own_y = {};  // the slices it owns
    offset_t own_at = 0;                 // where its slice begins in x
    ColumnRange given = {};              // what the host gives it of x in run(), …
    offset_t given_at = 0;               // … and where that goes

    bool borrows = false;     // columns and values are the host's own arrays, …
    bool renumbered = false;  // … or the columns our own, in the numbers of our x
    Buffer<offset_t> pointer = {}, piece_pointer = {};
    Buffer<index_t> line = {}, other = {};
    Buffer<V> value = {};
    const index_t* others = nullptr;
    const V* values = nullptr;
    std::vector<Piece<V>> pieces = {};
    offset_t halo = 0, halo_below = 0;  // entries of x from others; those before its own slice
    offset_t interior = 0;

    Buffer<V> x = {}, y = {};
    Buffer<index_t> send_at = {};  // what others need of our slice, one after the other
    Buffer<V> send = {};
    std::vector<Pull> pulls = {};
    std::vector<int> pulled_by = {};

    Buffer<V> head = {}, heads = {};  // ours of another's last row; others' of ours
    std::vector<int> heads_from = {};
    Buffer<V> sums = {};  // of lines, where they are folded to rows
    Buffer<offset_t> first_line = {};
    offset_t head_lines = 0;
    Buffer<V> partial = {}, others_partial = {};  // lines are columns: our whole y, and our slice of everybody else's

    partition::Signal ready = {}, arrived = {}, done = {}, settled = {};

    std::size_t bytes() const;
};

// What was decided, and why.
struct Decision {
    bool paper = false, gather = false;
    Overlap overlap = Overlap::automatic;
    double imbalance = 1;
    ExchangeFeatures features = {};
    std::string why;
};

// What a member knows of its part before the exchange is decided.
struct Look {
    std::optional<partition::Outside> outside = {};
    Buffer<offset_t> pointer = {};       // on the host
    Buffer<unsigned char> reaches = {};  // rows with columns outside
};

template <class V>
void look(Member<V>& m, const Arranged<V>& a, Look& seen);
template <class V>
void decide(const Arranged<V>& a, const TeamOptions& options, const std::vector<Look>& looks, Decision& decision);
template <class V>
void prepare(Member<V>& m, const Arranged<V>& a, Look& seen, const Decision& decision, int members);
template <class V>
void connect(partition::ThreadPool& crew, const Arranged<V>& a, const Decision& decision, std::vector<Look>& looks,
             std::vector<Member<V>>& members);

template <class V>
std::vector<Member<V>> build(const Team& team, partition::ThreadPool& crew, const Arranged<V>& a,
                             const TeamOptions& options, const std::vector<int>& nodes, Decision& decision);

// Gives a member the values of its part again, from the host.
template <class V>
void bring_values(Member<V>& m, const Arranged<V>& a);

}  // namespace tulle::inline TULLE_ABI::spmv::team
