// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Matrices and vectors whose rows are distributed over the ranks of a Cluster, and what can be done with them: SpMV,
/// SpMM, SpGEMM, transposition, dot products. Krylov methods and multigrid: distributed_solve.hpp. Other orders of the
/// rows: repartition.hpp.
/// @code
/// auto A = tulle::mpi::DistCsr<double>::read(cluster, "A.mtx");
/// auto plan = tulle::mpi::SpmvPlan<double>::make(A);
/// tulle::mpi::DistVector<double> x(cluster, A.col_cuts()), y(cluster, A.row_cuts());
/// plan.run(x.local(), y.local());
/// const double d = tulle::mpi::dot(x, y);
/// @endcode
/// Every rank has consecutive rows; row_cuts() tells which. x is distributed by col_cuts(), for square matrices the
/// same. Results of products, transposes and dot() have the same bits for any number of ranks and any cuts. All
/// functions are collective unless they say "local".
///
/// The context of the cluster may be on a GPU; several ranks may share one. Matrices stay in host memory, and plans
/// keep copies on the GPU; vectors given to products, dot(), norm() and solve() are in its memory, as those of
/// DistVector. Messages are staged through page-locked host memory.
///
/// Plans look like those of one process, with two exceptions. They read the matrix itself again: update_values() takes
/// no argument, and SpgemmPlan, whose runs always read the values that A and B have then, has none. And they have no
/// features(), as no rank keeps statistics of the whole matrix; its sizes are those of DistCsr.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tulle/api.hpp"
#include "tulle/cluster.hpp"
#include "tulle/csr.hpp"
#include "tulle/io.hpp"
#include "tulle/outline.hpp"
#include "tulle/pimpl.hpp"
#include "tulle/spgemm.hpp"
#include "tulle/spmm.hpp"
#include "tulle/spmv.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI::mpi {

/// First rows of all ranks, and the number of rows at the end: rank r has cuts[r] … cuts[r+1]-1.
using Cuts = std::vector<global_t>;

/// Cuts that give every rank about as many of n as the others.
TULLE_API Cuts even_cuts(global_t n, int ranks);
/// Cuts by which all ranks have about as many rows and nonzeros together; cut at rows. Local.
/// @param row_begin rows + 1 offsets, from 0.
/// @param ranks number of ranks.
TULLE_API Cuts balanced_cuts(std::span<const offset_t> row_begin, int ranks);

/// A CSR matrix distributed by rows. Copies share the matrix.
///
/// Global numbers have 64 bits, local ones 32. Locally, columns are numbered in ascending order of their global number:
/// columns of other ranks below the own ones (ghosts), the own columns, ghosts above. So rows keep the order of their
/// entries.
/// @tparam V float or double.
template <class V>
class TULLE_API DistCsr {
    static_assert(detail::require_value<V>());

public:
    /// From the rows of each rank; ranks may have none.
    /// @param cluster the ranks.
    /// @param cols columns of the whole matrix, the same on all ranks.
    /// @param row_begin rows of this rank + 1 offsets, from 0; empty: no rows.
    /// @param col global column of each nonzero.
    /// @param value value of each nonzero.
    /// @param col_cuts how x is distributed, the same on all ranks; empty: as the rows if the matrix is square, else
    /// even_cuts().
    /// @throws ValueError if offsets fall, a column is out of range, or the cuts are wrong.
    /// @throws ShapeError if arrays have the wrong size; OutOfMemory.
    static DistCsr from_rows(const Cluster& cluster, global_t cols, std::span<const offset_t> row_begin,
                             std::span<const global_t> col, std::span<const V> value, const Cuts& col_cuts = {});
    /// From a matrix that one rank has.
    /// @param cluster the ranks.
    /// @param a the matrix, read on rank `root` only.
    /// @param root who has it.
    /// @param row_cuts how rows are distributed, read on rank `root` only; empty: balanced_cuts().
    /// @throws ValueError if the matrix or the cuts are not valid; OutOfMemory.
    static DistCsr scatter(const Cluster& cluster, const CsrView<V>& a, int root = 0, const Cuts& row_cuts = {});
    /// Reads a file of any format. Several ranks read .mtx, .tulle and .petsc files that are not compressed together:
    /// each a share of the bytes, which it must see under this name. Other files, and arrays of Matrix Market, are read
    /// by rank 0 and scattered. The checksum of a .tulle file's arrays is compared only where rank 0 reads it. Rows are
    /// distributed by balanced_cuts().
    /// @throws FileError on all ranks, as io::read() does; FormatError and OutOfMemory likewise.
    static DistCsr read(const Cluster& cluster, const std::filesystem::path& file, const io::ReadOptions& options = {});
    /// Generates a matrix: every rank makes its own rows, with the bits of io::generate(); twins are made by rank 0 and
    /// scattered. Rows are distributed by balanced_cuts().
    /// @throws ValueError if the text is wrong, on all ranks; OutOfMemory.
    static DistCsr generate(const Cluster& cluster, std::string_view sentence);

    /// The transposed matrix, distributed by col_cuts(); columns ascend in its rows.
    DistCsr transpose() const;
    /// The whole matrix on rank `root`; other ranks get an empty one.
    /// @throws ValueError if it has more rows or columns than a Csr can have.
    Csr<V> gather(int root = 0) const;

    /// The ranks. Local.
    const Cluster& cluster() const;
    /// Rows of the whole matrix. Local.
    global_t rows() const { return row_cuts().back(); }
    /// Columns of the whole matrix. Local.
    global_t cols() const { return col_cuts().back(); }
    /// Nonzeros of the whole matrix. Local.
    global_t nonzeros() const;
    /// How rows are distributed. Local.
    const Cuts& row_cuts() const;
    /// How columns, and so x, are distributed. Local.
    const Cuts& col_cuts() const;
    /// The rows of this rank with local column numbers. Local.
    CsrView<V> local() const;
    /// The values of this rank, to be changed; then call update_values() of the plans. Local.
    std::span<V> values();
    /// Global numbers of the columns of other ranks that the local rows use, ascending. Local.
    std::span<const global_t> ghosts() const;
    /// How many ghosts are below the own columns. Local.
    index_t ghosts_below() const;
    /// Global number of a local column. Local.
    global_t global_col(index_t local) const;
    /// Bytes of the rows of this rank, and of what it knows of ghosts. Local.
    std::size_t bytes() const;
    /// Columns that this rank sends to others for a product, each counted once for every receiver. Local.
    offset_t halo_sent() const;

    struct State;
    /// Used inside the library.
    const std::shared_ptr<State>& state() const { return state_; }
    /// Used inside the library.
    explicit DistCsr(std::shared_ptr<State> state) : state_(std::move(state)) {}

private:
    std::shared_ptr<State> state_;
};

/// A vector distributed by cuts, in the memory of the cluster's context.
/// @tparam V float or double.
template <class V>
class TULLE_API DistVector {
    static_assert(detail::require_value<V>());

public:
    /// Zeros.
    /// @param cluster the ranks.
    /// @param cuts who has which entries, the same on all ranks.
    DistVector(const Cluster& cluster, const Cuts& cuts);

    /// The ranks. Local.
    const Cluster& cluster() const { return cluster_; }
    /// Who has which entries. Local.
    const Cuts& cuts() const { return cuts_; }
    /// Entries of the whole vector. Local.
    global_t size() const { return cuts_.back(); }
    /// Number of the first entry of this rank. Local.
    global_t first() const { return cuts_[static_cast<std::size_t>(cluster_.rank())]; }
    /// The entries of this rank, in the memory of the context. Local.
    std::span<V> local() { return entry_.span(); }
    /// The entries of this rank. Local.
    std::span<const V> local() const { return entry_.span(); }
    /// Takes the entries of this rank from the host; waits. Local.
    /// @throws ShapeError if there are more or fewer.
    void upload(std::span<const V> host);
    /// A copy of the entries of this rank on the host; waits. Local.
    std::vector<V> download() const;
    /// The whole vector on rank `root`; other ranks get an empty one.
    std::vector<V> gather(int root = 0) const;

private:
    Cluster cluster_;
    Cuts cuts_;
    Buffer<V> entry_;
};

/// Seconds of the phases of a product on this rank, one after the other.
struct PhaseTimes {
    double pack = 0;      ///< takes x and collects what other ranks need; on a GPU, to page-locked host memory
    double exchange = 0;  ///< messages; on a GPU, ghosts to the GPU as well
    double product = 0;   ///< all rows
};

/// Options of SpmvPlan.
struct SpmvOptions {
    Op op = Op::none;  ///< transpose: the plan keeps a transposed copy
    /// Lanes of the row kernel (spmv::Policy::lanes); empty: chosen from the whole matrix, on CPUs as a deterministic
    /// context of one thread does.
    std::optional<int> lanes = {};
};

/// y = alpha op(A) x + beta y for a distributed matrix. Entries of x from other ranks arrive by persistent requests
/// while the longest run of rows that need none of them is computed.
/// @tparam V float or double.
template <class V>
class TULLE_API SpmvPlan {
    static_assert(detail::require_value<V>());

public:
    /// Prepares the product; keeps the matrix.
    /// @throws ValueError if the lanes are not 1, 2, 4 or 8, on GPUs 16 or 32; OutOfMemory.
    static SpmvPlan make(const DistCsr<V>& a, const SpmvOptions& options = {});

    /// y = alpha op(A) x + beta y; alpha and beta are the same on all ranks.
    /// @param alpha 0: neither A nor x is read.
    /// @param x the local part; if it is x() of this plan, it is not copied.
    /// @param beta 0: y is not read.
    /// @param y the local part.
    /// @throws ShapeError if sizes do not fit; only on the ranks concerned.
    void run(V alpha, std::span<const V> x, V beta, std::span<V> y);
    /// y = op(A) x.
    void run(std::span<const V> x, std::span<V> y) { run(V(1), x, V(0), y); }
    /// y = op(A) x with a wait after every phase, so that nothing overlaps.
    PhaseTimes run_timed(std::span<const V> x, std::span<V> y);
    /// The local part of x where the plan reads it. Local.
    std::span<V> x();
    /// Takes the new values of the matrix.
    void update_values();

    /// The policy of all ranks: one process with this policy gives the same bits. Local.
    const spmv::Policy& policy() const;
    /// Messages and bytes that this rank sends in one product. Local.
    Traffic sent_per_run() const;
    /// Bytes that the plan holds on this rank beside the matrix. Local.
    std::size_t bytes() const;
    /// Rows of this rank that are computed while messages travel. Local.
    index_t overlapped_rows() const;
    /// Transport, policy, halo and overlap of this rank, in several lines. Local.
    std::string describe() const;

private:
    struct State;
    explicit SpmvPlan(detail::Pimpl<State> state) : state_(std::move(state)) {}
    detail::Pimpl<State> state_;
};

/// C = alpha op(A) B + beta C for a distributed A, and dense B and C distributed by rows, row-major.
/// @tparam V float or double.
template <class V>
class TULLE_API SpmmPlan {
    static_assert(detail::require_value<V>());

public:
    /// Prepares the product; keeps the matrix.
    /// @param a the matrix.
    /// @param n columns of B and C.
    /// @param op transpose: the plan keeps a transposed copy.
    /// @throws ValueError if n is not positive; OutOfMemory.
    static SpmmPlan make(const DistCsr<V>& a, index_t n, Op op = Op::none);

    /// C = alpha op(A) B + beta C; alpha and beta are the same on all ranks.
    /// @param alpha 0: neither A nor B is read.
    /// @param b the local rows, row after row; if it is b() of this plan, it is not copied.
    /// @param beta 0: C is not read.
    /// @param c the local rows, row after row.
    /// @throws ShapeError if sizes do not fit; only on the ranks concerned.
    void run(V alpha, std::span<const V> b, V beta, std::span<V> c);
    /// C = op(A) B; as above.
    void run(std::span<const V> b, std::span<V> c) { run(V(1), b, V(0), c); }
    /// C = op(A) B with a wait after every phase, so that nothing overlaps.
    PhaseTimes run_timed(std::span<const V> b, std::span<V> c);
    /// The policy of all ranks: one process with this policy gives the same bits. Local.
    const spmm::Policy& policy() const;
    /// The local rows of B where the plan reads them. Local.
    std::span<V> b();
    /// Takes the new values of the matrix.
    void update_values();
    /// Messages and bytes that this rank sends in one product. Local.
    Traffic sent_per_run() const;
    /// Bytes that the plan holds on this rank beside the matrix. Local.
    std::size_t bytes() const;
    /// Transport, policy and halo of this rank, in several lines. Local.
    std::string describe() const;

private:
    struct State;
    explicit SpmmPlan(detail::Pimpl<State> state) : state_(std::move(state)) {}
    detail::Pimpl<State> state_;
};

/// Options of SpgemmPlan.
struct SpgemmOptions {
    /// Bytes of rows of B from other ranks that a rank holds at once. Where all do not fit, rows of A are multiplied in
    /// batches, with the rows for the next batch on their way: two batches fit. A batch has at least one row of A,
    /// whatever it needs.
    std::size_t budget = Memory::unlimited;
};

/// C = A B for distributed matrices: rows of B are fetched from their owners in batches.
///
/// There is no update_values(): every run() reads the values that A and B have then (DistCsr::values()). There is no
/// policy() either, as every rank chooses one for each of its batches.
/// @tparam V float or double.
template <class V>
class TULLE_API SpgemmPlan {
    static_assert(detail::require_value<V>());

public:
    /// Finds out who needs which rows of B; keeps both matrices.
    /// @throws ShapeError if columns of A are not as many and distributed as the rows of B; OutOfMemory.
    static SpgemmPlan make(const DistCsr<V>& a, const DistCsr<V>& b, const SpgemmOptions& options = {});

    /// Computes C, distributed as the rows of A and the columns of B.
    DistCsr<V> run();
    /// Computes the values of a C that run() gave again, after values of A and B have changed. If all ranks had one
    /// batch, patterns and the symbolic phase are kept and only values are fetched. With several, only values are
    /// fetched where the budget has room for the patterns, four bytes an entry; the symbolic phase is done again.
    /// @throws PlanMismatch if C has another size; only on the ranks concerned.
    void run(DistCsr<V>& c);

    /// Batches of this rank. Local.
    int batches() const;
    /// Bytes of rows of B that the largest batch of this rank fetches. Local.
    std::size_t largest_batch() const;
    /// The most bytes of rows of B from other ranks that this rank has held at once: a batch in use, the next one on
    /// its way, and patterns that are kept. Local.
    std::size_t most_held() const;
    /// Messages and bytes of rows of B that this rank sends in the next run(). Local.
    Traffic sent_per_run() const;
    /// Bytes that the plan holds on this rank beside both matrices and C, between two runs. Local.
    std::size_t bytes() const;
    /// Transport, batches and rows of B of this rank, in several lines. Local.
    std::string describe() const;

private:
    struct State;
    explicit SpgemmPlan(detail::Pimpl<State> state) : state_(std::move(state)) {}
    detail::Pimpl<State> state_;
};

/// The sum of x_i y_i over all entries, each product rounded once, then summed in bins whose contents do not depend on
/// the order: the same bits for any cuts (Demmel, Nguyen). More accurate than a plain sum.
template <class V>
TULLE_API double dot(const Cluster& cluster, std::span<const V> x, std::span<const V> y);
/// The same for distributed vectors with the same cuts.
/// @throws ShapeError if the cuts differ.
template <class V>
double dot(const DistVector<V>& x, const DistVector<V>& y)
{
    require(x.cuts() == y.cuts(), "x and y are distributed differently", "use the same cuts for both");
    return dot<V>(x.cluster(), x.local(), y.local());
}
/// The Euclidean norm; reproducible as dot().
template <class V>
TULLE_API double norm(const Cluster& cluster, std::span<const V> x);
/// The Euclidean norm; reproducible as dot().
template <class V>
double norm(const DistVector<V>& x)
{
    return norm<V>(x.cluster(), x.local());
}

}  // namespace tulle::inline TULLE_ABI::mpi
