// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The steps of the product, once per queue. All kernels compute y = alpha op(A) x + beta y and never read y when beta
// is zero. V is the type of the vectors and of all sums, M that of the matrix: the same, float in double, or for
// rows and slices 16 bits in float.
#pragma once

#include <array>
#include <cstdint>

#include "prim/merge_path.hpp"
#include "tulle/blocked_ell.hpp"
#include "tulle/coo.hpp"
#include "tulle/csr.hpp"
#include "tulle/spmv.hpp"

namespace tulle::inline TULLE_ABI::spmv {

// dot(y, x) and dot(y, y) of the new y, made while y is written. `partial` and `arrived` are the plan's; no `result`,
// no dots.
template <class V>
struct Dots {
    V* partial = nullptr;  // two numbers of every block or thread
    int* arrived = nullptr;
    V* result = nullptr;  // the caller's: dot(y, x), dot(y, y)

    bool operator==(const Dots&) const = default;
};

template <class V>
struct Vectors {
    V alpha;
    const V* x;
    V beta;
    V* y;
    Dots<V> dots = {};
    bool early = false;  // what the plan has made is settled: a kernel may begin before the one ahead of it has ended

    bool operator==(const Vectors&) const = default;
};

// The new y_i from the sum of row i.
template <class V>
constexpr V scaled(V alpha, V sum, V beta, const V* y)
{
    return beta == V(0) ? alpha * sum : alpha * sum + beta * *y;
}

// A plan runs many times in a row, with threads that are awake: a smaller share of work than usual is worth one.
inline constexpr offset_t times_sooner = 6;

// ---- what kernels need beside the matrix, made with the plan ----

struct Narrow {  // rows: columns of 16 bits, offsets of 32; on a CPU of many rows the offsets alone
    Buffer<std::int32_t> row_begin;
    Buffer<std::uint16_t> col;  // from the first column of the row, or from zero where base is empty
    Buffer<index_t> base;

    std::size_t bytes() const { return row_begin.bytes() + col.bytes() + base.bytes(); }
};

struct RowWindow {  // rows, sorted, on a CPU: so many neighbouring rows, those of one length together
    static constexpr offset_t rows = 64;
    static constexpr std::size_t lengths = 10;                     // 0 to 8 nonzeros, and more
    std::array<std::uint8_t, lengths> count;                       // rows of each length
    std::array<std::uint8_t, static_cast<std::size_t>(rows)> row;  // from the first of the window
};

struct alignas(16) StreamBlock {
    offset_t begin;     // first nonzero; the next block's begin is the end
    index_t row;        // first row
    std::int32_t rows;  // whole rows; or, zero or below, a piece of one row: minus the number of pieces before it
};

template <class V>
struct Stream {
    Buffer<StreamBlock> block;       // one more than there are
    Buffer<std::int32_t> row_begin;  // offsets of 32 bits, where they fit
    Buffer<V> piece_sum;             // one a block, where a row is cut into pieces
    Buffer<int> arrived;

    std::size_t bytes() const { return block.bytes() + row_begin.bytes() + piece_sum.bytes() + arrived.bytes(); }
};

struct alignas(16) RowGroup {  // neighbouring rows with the same columns
    offset_t begin;            // first nonzero of the first row
    index_t row;
    std::int32_t length_and_rows;  // nonzeros of each row * 8 + rows

    constexpr std::int32_t length() const { return length_and_rows / 8; }
    constexpr int rows() const { return length_and_rows % 8; }
};

struct Groups {
    Buffer<RowGroup> group;
    int most = 0;  // rows in the largest: 2, 3 or 4

    std::size_t bytes() const { return group.bytes(); }
};

// Slices of 32 rows, one lane each; the k-th entries of the rows of a slice are a column of it. On a CPU a column may
// be a diagonal of the slice instead, which some of its rows do not have.
struct alignas(8) SellColumn {
    index_t base;      // smallest matrix column in it, or of lane 0 where the lanes follow each other
    std::uint32_t at;  // where its distances begin, in units of 32 bytes, or 1 + where its lanes are told, * 4 + kind
};
enum class SellKind : std::uint32_t {
    follow,
    bytes1,
    bytes2,
    bytes4
};  // base + lane; base + distances of so many bytes

template <class M>
struct Sell {
    Buffer<offset_t> slice_begin;  // in columns
    Buffer<SellColumn> column;
    Buffer<std::uint8_t> distance;
    Buffer<M> value;              // 32 a column
    Buffer<float> exact;          // the same on a GPU instead, where all values are floats, until there are new ones
    Buffer<index_t> row;          // of every lane, where rows were sorted by length; -1: none
    Buffer<std::int32_t> length;  // of every lane; only on a CPU, where a slice has rows of different lengths
    Buffer<std::uint32_t> lanes;  // those with an entry, a bit each, of columns that are diagonals

    std::size_t bytes() const
    {
        return slice_begin.bytes() + column.bytes() + distance.bytes() + value.bytes() + exact.bytes() + row.bytes() +
               length.bytes() + lanes.bytes();
    }
};

template <class V, class M = V>
struct Workspace {
    Buffer<prim::MergePoint> point;  // split: where each piece begins; rows: each thread's part
    double* part_seconds = nullptr;  // rows on a CPU: how long each thread takes for its part; null: nobody asks
    Buffer<V> carry;                 // split: what each piece has of the row it could not finish
    Buffer<V> private_sums;          // kernels that scatter on the CPU: one y per thread
    Narrow narrow;
    Buffer<RowWindow> window;     // rows, sorted
    bool parts_in_order = false;  // rows, sorted: only where one thread has all of them
    Stream<V> stream;
    Groups groups;
    Sell<M> sell;
    Buffer<V> dot_partial;
    Buffer<int> dot_arrived;

    std::size_t bytes() const
    {
        return point.bytes() + carry.bytes() + private_sums.bytes() + narrow.bytes() + window.bytes() + stream.bytes() +
               groups.bytes() + sell.bytes() + dot_partial.bytes() + dot_arrived.bytes();
    }
};

// ---- looking ----

// One pass over the offsets and, if `whole`, one over the columns. Nothing outside the arrays is read, whatever they
// hold.
struct Survey {
    RowFeatures row;
    bool sound = true;  // offsets ascend; columns in range and as sorted and unique as the view claims (if `whole`)
};
template <class M>
Survey survey(const CpuQueue& q, const CsrView<M>& a, bool whole);
template <class M>
Survey survey(const CudaQueue& q, const CsrView<M>& a, bool whole);
// The same with no more of the rows than their lengths, for a product done once.
template <class M>
Survey glance(const CpuQueue& q, const CsrView<M>& a, bool whole);
template <class M>
Survey glance(const CudaQueue& q, const CsrView<M>& a, bool whole)
{
    return survey(q, a, whole);
}
// The same of some rows only; every row that is long beside a thread's share of the nonzeros is among them. On a CPU
// offsets are not checked, and may have 32 bits.
template <class View>
Survey sample(const CpuQueue& q, const View& a);
template <class M>
Survey sample(const CudaQueue& q, const CsrView<M>& a)
{
    return survey(q, a, false);
}

// ---- kernels that read op(A) by rows ----

// Nanoseconds for each row and nonzero of kernels on parts of this matrix: the row kernels with RowCosts::lanes, and
// with one sum and the rows sorted; slices with vector instructions. `never` where a machine has not got one, and
// everywhere if the matrix is too small for a trial or trials are forbidden (TULLE_CALIBRATE=off). `whole`: smaller
// ones are tried, too, as a whole.
struct KernelTrial {
    std::array<double, RowCosts::lanes.size()> rows{RowCosts::never, RowCosts::never, RowCosts::never, RowCosts::never};
    double sell = RowCosts::never;
    int sell_lanes = 8;                    // of the faster ones
    double sorted_rows = RowCosts::never;  // one sum, rows sorted
};
enum class Slices { none, in_order, sorted };  // which slices a trial makes
template <class V, class M>
KernelTrial try_kernels(const CpuQueue& q, const CsrView<M>& a, Slices slices, bool whole);
// How many times as fast the part of one of the queue's threads is with its rows sorted, where the matrix is small, its
// first part being tried; elsewhere more than it is worth to ask.
template <class V, class M>
double gain_of_sorted_part(const CpuQueue& q, const CsrView<M>& a);

// The lanes of the row kernel for rows like these: typical ones, unless others are measured to be clearly cheaper.
int lanes_on_cpu(const RowFeatures& row, const RowCosts& costs);

// Slices that may be worth a trial: sorted where rows of one slice differ in length.
Slices slices_to_try(const RowFeatures& row);

// What a trial recommends: the row kernel chosen without it, unless another, or slices, were clearly faster.
Policy policy_after_trial(const KernelTrial& tried, const Policy& chosen, Slices slices);

inline constexpr index_t columns_of_16_bits = 65536;
void narrow_offsets(const CudaQueue& q, const offset_t* from, std::int32_t* to, offset_t n);  // where they fit
template <class M>
Narrow make_narrow(const CpuQueue& q, const CsrView<M>& a);
template <class M>
Narrow make_narrow(const CudaQueue& q, const CsrView<M>& a);
// The offsets alone; they must fit.
template <class M>
Narrow make_short_offsets(const CpuQueue& q, const CsrView<M>& a);
// Where the part of each thread begins; nothing on a GPU, or for one thread.
template <class M>
Buffer<prim::MergePoint> make_parts(const CpuQueue& q, const CsrView<M>& a);
template <class M>
Buffer<prim::MergePoint> make_parts(const CudaQueue&, const CsrView<M>&)
{
    return {};
}
// Rows and nonzeros of the largest of these parts; zero on a GPU.
template <class M>
offset_t largest_part(const CpuQueue& q, const CsrView<M>& a);
template <class M>
offset_t largest_part(const CudaQueue&, const CsrView<M>&)
{
    return 0;
}
// Rows in windows by length, for one sum each; on a CPU only.
template <class M>
Buffer<RowWindow> make_windows(const CpuQueue& q, const CsrView<M>& a);
template <class M>
Buffer<RowWindow> make_windows(const CudaQueue&, const CsrView<M>&)
{
    return {};
}
// On a CPU with `work.point` from make_parts, or without: then every thread looks for its part; with windows where
// there are some.
template <class V, class M>
void multiply_rows(const CpuQueue& q, const CsrView<M>& a, int lanes, const Workspace<V, M>& work, const Vectors<V>& v);
template <class V, class M>
void multiply_rows(const CudaQueue& q, const CsrView<M>& a, int lanes, const Narrow& narrow, const Vectors<V>& v);
template <class V, class M>
void multiply_rows(const CudaQueue& q, const CsrView<M>& a, int lanes, const Workspace<V, M>& work, const Vectors<V>& v)
{
    multiply_rows(q, a, lanes, work.narrow, v);
}

// Only on a CPU, for a product done once: columns are checked just before they are multiplied. False where they are not
// sound; other rows of y are written by then. The offsets must be sound.
template <class V, class View>
bool multiply_rows_checked(const CpuQueue& q, const View& a, int lanes, const Vectors<V>& v);

template <class M>
Groups make_groups(const CpuQueue& q, const CsrView<M>& a);
template <class M>
Groups make_groups(const CudaQueue& q, const CsrView<M>& a);
template <class V, class M>
void multiply_groups(const CpuQueue& q, const CsrView<M>& a, int lanes, const Groups& groups, const Vectors<V>& v);
template <class V, class M>
void multiply_groups(const CudaQueue& q, const CsrView<M>& a, int lanes, const Groups& groups, const Vectors<V>& v);

// How much of the merge path one piece of the split kernel takes: rows ended plus nonzeros. On a CPU 200 KB of matrix
// in double, well above the cost of starting a piece.
inline constexpr offset_t cpu_piece_steps = offset_t{1} << 14;
offset_t steps_per_piece(const CpuQueue& q);
offset_t steps_per_piece(const CudaQueue& q);
template <class V, class M>
void multiply_split(const CpuQueue& q, const CsrView<M>& a, int lanes, const Workspace<V, M>& work,
                    const Vectors<V>& v);
template <class V, class M>
void multiply_split(const CudaQueue& q, const CsrView<M>& a, const Workspace<V, M>& work, const Vectors<V>& v);

// Only on a GPU: stream.
template <class V, class M>
Stream<V> make_stream(const CudaQueue& q, const CsrView<M>& a, offset_t longest);
template <class V, class M>
void multiply_stream(const CudaQueue& q, const CsrView<M>& a, const Stream<V>& stream, const Vectors<V>& v);

// Slices; fill_sell takes the values once more from the caller's arrays.
template <class M>
Sell<M> make_sell(const CpuQueue& q, const CsrView<M>& a, bool sort, offset_t padded);  // padded: as the survey counted
template <class M>
Sell<M> make_sell(const CudaQueue& q, const CsrView<M>& a, bool sort, offset_t padded);
template <class M>
void fill_sell(const CpuQueue& q, const CsrView<M>& a, Sell<M>& sell);
template <class M>
void fill_sell(const CudaQueue& q, const CsrView<M>& a, Sell<M>& sell);
template <class V, class M>
void multiply_sell(const CpuQueue& q, const CsrView<M>& a, int lanes, const Sell<M>& sell, const Vectors<V>& v);
template <class V, class M>
void multiply_sell(const CudaQueue& q, const CsrView<M>& a, int lanes, const Sell<M>& sell, const Vectors<V>& v);

// dot(y, x) and dot(y, y) after the fact, for kernels that cannot make them on the way.
template <class V>
void add_up_dots(const CpuQueue& q, index_t n, const Vectors<V>& v);
template <class V>
void add_up_dots(const CudaQueue& q, index_t n, const Vectors<V>& v);
// Pairs of partial sums that any kernel makes of a matrix with so many rows: one a block of 256 threads, at most 32
// lanes a row.
inline constexpr offset_t rows_per_dot_pair = 8;
constexpr offset_t dot_pairs(index_t rows) { return offset_t{rows} / rows_per_dot_pair + 1; }

// ---- kernels that scatter ----

// Room for `outputs` sums of each thread where the backend wants it.
template <class V>
Buffer<V> make_private_sums(const CpuQueue& q, index_t outputs);
template <class V>
Buffer<V> make_private_sums(const CudaQueue& q, index_t outputs);

// `a` is op(A) transposed, stored by rows: column i of op(A) is row i of a.
template <class V, class M>
void multiply_scatter(const CpuQueue& q, const CsrView<M>& a, const Workspace<V, M>& work, const Vectors<V>& v);
template <class V, class M>
void multiply_scatter(const CudaQueue& q, const CsrView<M>& a, const Workspace<V, M>& work, const Vectors<V>& v);

template <class V, class M>
void multiply_entries(const CpuQueue& q, const CooView<M>& a, const Workspace<V, M>& work, const Vectors<V>& v);
template <class V, class M>
void multiply_entries(const CudaQueue& q, const CooView<M>& a, const Workspace<V, M>& work, const Vectors<V>& v);

template <class V, class M>
void multiply_blocks(const CpuQueue& q, const BlockedEllView<M>& a, const Vectors<V>& v);
template <class V, class M>
void multiply_blocks(const CudaQueue& q, const BlockedEllView<M>& a, const Vectors<V>& v);
template <class V, class M>
void multiply_blocks_transposed(const CpuQueue& q, const BlockedEllView<M>& a, const Workspace<V, M>& work,
                                const Vectors<V>& v);
template <class V, class M>
void multiply_blocks_transposed(const CudaQueue& q, const BlockedEllView<M>& a, const Workspace<V, M>& work,
                                const Vectors<V>& v);

}  // namespace tulle::inline TULLE_ABI::spmv
