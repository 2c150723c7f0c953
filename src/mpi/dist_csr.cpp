// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Distributed matrices and vectors: made of local rows or of a matrix on one rank; gathered again.
#include <algorithm>
#include <numeric>
#include <utility>

#include "io/generators/part.hpp"
#include "io/share.hpp"
#include "mpi/balanced.hpp"
#include "mpi/halo.hpp"
#include "mpi/transposed.hpp"
#include "tulle/distributed.hpp"
#include "tulle/error.hpp"
#include "tulle/generate.hpp"
#include "tulle/text.hpp"
#include "tulle/validate.hpp"

namespace tulle::inline TULLE_ABI::mpi {
namespace {

// The rows of one rank with global columns.
template <class V>
struct LocalRows {
    std::span<const offset_t> row_begin;
    std::span<const global_t> col;
    std::span<const V> value;

    index_t rows() const { return row_begin.empty() ? 0 : static_cast<index_t>(row_begin.size() - 1); }
};

template <class V>
void check_rows(const LocalRows<V>& a, global_t cols)
{
    require(a.row_begin.size() <= static_cast<std::size_t>(max_index), "a rank has more than 2^31 - 2 rows",
            "use more ranks");
    const offset_t nonzeros = a.row_begin.empty() ? 0 : a.row_begin.back();
    require<ValueError>(a.row_begin.empty() || a.row_begin.front() == 0, "row_begin does not start at 0");
    require<ValueError>(std::is_sorted(a.row_begin.begin(), a.row_begin.end()), "row_begin falls");
    require(std::ssize(a.col) == nonzeros && std::ssize(a.value) == nonzeros, [&] {
        return concat("row_begin ends at ", nonzeros, ", but there are ", a.col.size(), " columns and ", a.value.size(),
                      " values");
    });
    for (std::size_t k = 0; k < a.col.size(); ++k)
        require<ValueError>(a.col[k] >= 0 && a.col[k] < cols, [&] {
            return concat("nonzero ", k, " of this rank has column ", a.col[k], ", but the matrix has ", cols,
                          " columns");
        });
}

void check_cuts(const Cuts& cuts, int ranks, global_t n)
{
    require<ValueError>(std::ssize(cuts) == ranks + 1 && cuts.front() == 0 && cuts.back() == n &&
                            std::is_sorted(cuts.begin(), cuts.end()),
                        [&] { return concat("cuts must ascend from 0 to ", n, " and have ", ranks + 1, " entries"); });
    for (std::size_t r = 0; r + 1 < cuts.size(); ++r)
        require<ValueError>(cuts[r + 1] - cuts[r] < max_index, "a rank has more than 2^31 - 2 rows or columns",
                            "use more ranks");
}

std::vector<global_t> find_ghosts(std::span<const global_t> col, global_t first, global_t last)
{
    std::vector<global_t> ghosts;
    std::copy_if(col.begin(), col.end(), std::back_inserter(ghosts),
                 [&](global_t j) { return j < first || j >= last; });
    std::sort(ghosts.begin(), ghosts.end());
    ghosts.erase(std::unique(ghosts.begin(), ghosts.end()), ghosts.end());
    return ghosts;
}

// Whether columns ascend in every row, and strictly.
template <class V>
std::pair<bool, bool> order_of(const Csr<V>& a)
{
    bool sorted = true, strict = true;
    for (index_t i = 0; i < a.rows; ++i)
        for (offset_t k = a.row_begin.data()[i] + 1; k < a.row_begin.data()[i + 1]; ++k) {
            sorted = sorted && a.col.data()[k - 1] <= a.col.data()[k];
            strict = strict && a.col.data()[k - 1] < a.col.data()[k];
        }
    return {sorted, strict};
}

// The rows with local column numbers.
template <class V>
Csr<V> renumber(const Context& ctx, const LocalRows<V>& a, const std::vector<global_t>& ghosts, global_t first,
                global_t last)
{
    const offset_t extended = (last - first) + std::ssize(ghosts);
    require<ValueError>(
        extended < max_index, [&] { return concat("a rank uses ", extended, " columns"); }, "use more ranks");
    Csr<V> local = Csr<V>::make(ctx.host(), a.rows(), static_cast<index_t>(extended), std::ssize(a.col));
    const auto low = std::lower_bound(ghosts.begin(), ghosts.end(), first) - ghosts.begin();
    local.row_begin.data()[0] = 0;
    std::copy(a.row_begin.begin(), a.row_begin.end(), local.row_begin.data());
    std::copy(a.value.begin(), a.value.end(), local.value.data());
    for (std::size_t k = 0; k < a.col.size(); ++k) {
        const global_t j = a.col[k];
        offset_t to = j - first + low;
        if (j < first || j >= last) {
            to = std::lower_bound(ghosts.begin(), ghosts.end(), j) - ghosts.begin();
            if (j >= last) to += last - first;
        }
        local.col.data()[k] = static_cast<index_t>(to);
    }
    std::tie(local.sorted, local.unique) = order_of(local);
    if (!local.sorted) local.unique = false;
    return local;
}

template <class V>
DistCsr<V> assemble(const Cluster& cluster, const LocalRows<V>& a, const Cuts& row_cuts, const Cuts& col_cuts)
{
    const global_t first = col_cuts[rank_of(cluster)], last = col_cuts[rank_of(cluster) + 1];
    std::vector<global_t> ghosts;
    Csr<V> local;
    cluster.run_collective("distribution", [&] {
        check_cuts(col_cuts, cluster.ranks(), col_cuts.back());
        check_rows(a, col_cuts.back());
        ghosts = find_ghosts(a.col, first, last);
        local = renumber(cluster.context(), a, ghosts, first, last);
    });
    return distribute(cluster, std::move(local), std::move(ghosts), row_cuts, col_cuts);
}

Cuts cuts_of_counts(const std::vector<global_t>& counts)
{
    Cuts cuts(counts.size() + 1, 0);
    std::partial_sum(counts.begin(), counts.end(), cuts.begin() + 1);
    return cuts;
}

Cuts default_col_cuts(global_t cols, const Cuts& row_cuts)
{
    return row_cuts.back() == cols ? row_cuts : even_cuts(cols, static_cast<int>(row_cuts.size()) - 1);
}

// Ranges of an array on `root` that go to all ranks; the other ranks send nothing.
template <class T>
std::vector<T> deal(const Cluster& cluster, const T* array, const Cuts& cuts, int root)
{
    const auto me = rank_of(cluster), from = static_cast<std::size_t>(root);
    const std::vector<offset_t> nothing(cuts.size(), 0);
    std::vector<offset_t> receive(cuts.size(), 0);
    const offset_t mine = cuts[me + 1] - cuts[me];
    std::fill(receive.begin() + root + 1, receive.end(), mine);
    std::vector<T> got;
    cluster.run_collective("scatter", [&] { got.resize(static_cast<std::size_t>(mine)); });
    exchange_bytes(cluster, "scatter", reinterpret_cast<const char*>(array), me == from ? cuts : nothing,
                   reinterpret_cast<char*>(got.data()), receive, sizeof(T));
    return got;
}

// The other way round: all ranks' arrays one after the other on `root`.
template <class T>
std::vector<T> collect(const Cluster& cluster, std::span<const T> mine, const Cuts& cuts, int root)
{
    const auto me = rank_of(cluster), to = static_cast<std::size_t>(root);
    const std::vector<offset_t> nothing(cuts.size(), 0);
    std::vector<offset_t> send(cuts.size(), 0);
    std::fill(send.begin() + root + 1, send.end(), std::ssize(mine));
    std::vector<T> all;
    cluster.run_collective("gather", [&] { all.resize(me == to ? static_cast<std::size_t>(cuts.back()) : 0); });
    exchange_bytes(cluster, "gather", reinterpret_cast<const char*>(mine.data()), send,
                   reinterpret_cast<char*>(all.data()), me == to ? cuts : nothing, sizeof(T));
    return all;
}

// Every rank makes its share of the rows.
template <class V>
DistCsr<V> generate_in_parts(const Cluster& cluster, std::string_view sentence)
{
    io::RowsOfPart<V> mine;
    cluster.run_collective("generating", [&] {
        mine = io::generate_part<V>(cluster.context().host(), sentence, cluster.rank(), cluster.ranks());
    });
    Cuts have;
    for (int r = 0; r <= cluster.ranks(); ++r) have.push_back(io::share_of(mine.all_rows, r, cluster.ranks()));
    return distribute_balanced(cluster, "generating", mine.rows, have);
}

}  // namespace

template <class V>
DistCsr<V> distribute(const Cluster& cluster, Csr<V> local, std::vector<global_t> ghosts, const Cuts& row_cuts,
                      const Cuts& col_cuts)
{
    using State = typename DistCsr<V>::State;
    std::shared_ptr<State> state(new State{cluster, row_cuts, col_cuts, std::move(local), std::move(ghosts), {}, 0});
    state->halo = make_halo(cluster, state->ghosts, col_cuts);
    state->nonzeros = cluster.sum(state->local.nonzeros());
    return DistCsr<V>(std::move(state));
}

template <class V>
DistCsr<V> DistCsr<V>::from_rows(const Cluster& cluster, global_t cols, std::span<const offset_t> row_begin,
                                 std::span<const global_t> col, std::span<const V> value, const Cuts& col_cuts)
{
    const LocalRows<V> rows{row_begin, col, value};
    cluster.run_collective("distribution", [&] {
        require<ValueError>(cols >= 0, [&] { return concat("a matrix cannot have ", cols, " columns"); });
        if (!col_cuts.empty()) check_cuts(col_cuts, cluster.ranks(), cols);
        check_rows(rows, cols);
    });
    const Cuts row_cuts = cuts_of_counts(all_gather(cluster, "distribution", static_cast<global_t>(rows.rows())));
    return assemble(cluster, rows, row_cuts, col_cuts.empty() ? default_col_cuts(cols, row_cuts) : col_cuts);
}

template <class V>
DistCsr<V> DistCsr<V>::scatter(const Cluster& cluster, const CsrView<V>& a, int root, const Cuts& row_cuts)
{
    const bool here = cluster.rank() == root;
    Cuts cuts(static_cast<std::size_t>(cluster.ranks()) + 1, 0), nonzero_cuts = cuts;
    cluster.run_collective("scatter", [&] {
        require<ValueError>(root >= 0 && root < cluster.ranks(), [&] { return concat("there is no rank ", root); });
        if (!here) return;
        check(cluster.state().host, a);
        if (!row_cuts.empty()) check_cuts(row_cuts, cluster.ranks(), a.rows);
        cuts = row_cuts.empty() ? balanced_cuts({a.row_begin, static_cast<std::size_t>(a.rows) + 1}, cluster.ranks())
                                : row_cuts;
        for (std::size_t r = 0; r < cuts.size(); ++r) nonzero_cuts[r] = a.row_begin[cuts[r]];
    });
    global_t cols = a.cols;
    broadcast_bytes(cluster, "scatter", &cols, sizeof cols, root);
    broadcast_bytes(cluster, "scatter", cuts.data(), cuts.size() * sizeof(global_t), root);
    broadcast_bytes(cluster, "scatter", nonzero_cuts.data(), cuts.size() * sizeof(global_t), root);
    const std::vector<offset_t> ends = deal(cluster, here ? a.row_begin + 1 : nullptr, cuts, root);
    const std::vector<index_t> narrow = deal(cluster, here ? a.col : nullptr, nonzero_cuts, root);
    const std::vector<V> value = deal(cluster, here ? a.value : nullptr, nonzero_cuts, root);
    std::vector<offset_t> row_begin;
    std::vector<global_t> col;
    cluster.run_collective("scatter", [&] {
        row_begin.assign(ends.size() + 1, 0);
        for (std::size_t i = 0; i < ends.size(); ++i) row_begin[i + 1] = ends[i] - nonzero_cuts[rank_of(cluster)];
        col.assign(narrow.begin(), narrow.end());
    });
    return assemble(cluster, LocalRows<V>{row_begin, col, value}, cuts, default_col_cuts(cols, cuts));
}

template <class V>
DistCsr<V> DistCsr<V>::read(const Cluster& cluster, const std::filesystem::path& file, const io::ReadOptions& options)
{
    if (cluster.ranks() > 1)
        if (auto parts = read_in_parts<V>(cluster, file, options)) return *parts;
    Csr<V> whole;
    cluster.run_collective("reading", [&] {
        if (cluster.rank() == 0) whole = io::read<V>(cluster.state().host, file, options);
    });
    return scatter(cluster, whole.view());
}

template <class V>
DistCsr<V> DistCsr<V>::generate(const Cluster& cluster, std::string_view sentence)
{
    bool in_parts = false;
    cluster.run_collective("generating", [&] { in_parts = io::generates_parts(sentence); });
    if (in_parts) return generate_in_parts<V>(cluster, sentence);
    Csr<V> whole;
    cluster.run_collective("generating", [&] {
        if (cluster.rank() == 0) whole = io::generate<V>(cluster.state().host, sentence);
    });
    return scatter(cluster, whole.view());
}

template <class V>
DistCsr<V> DistCsr<V>::transpose() const
{
    return Transposed<V>(*this).matrix();
}

template <class V>
Csr<V> DistCsr<V>::gather(int root) const
{
    const State& s = *state_;
    cluster().run_collective("gather", [&] {
        require<ValueError>(root >= 0 && root < cluster().ranks(), [&] { return concat("there is no rank ", root); });
        require<ValueError>(rows() < max_index && cols() < max_index,
                            [&] { return concat("a matrix of ", rows(), " x ", cols(), " does not fit on one rank"); });
    });
    const Cuts nonzero_cuts = cuts_of_counts(all_gather(cluster(), "gather", global_t{s.local.nonzeros()}));
    std::vector<offset_t> ends;
    std::vector<index_t> columns;
    cluster().run_collective("gather", [&] {
        for (index_t i = 0; i < s.local.rows; ++i)
            ends.push_back(s.local.row_begin.data()[i + 1] + nonzero_cuts[rank_of(cluster())]);
        for (offset_t k = 0; k < s.local.nonzeros(); ++k)
            columns.push_back(static_cast<index_t>(global_col(s.local.col.data()[k])));
    });
    const auto all_ends = collect<offset_t>(cluster(), ends, row_cuts(), root);
    const auto all_cols = collect<index_t>(cluster(), columns, nonzero_cuts, root);
    const auto all_values = collect<V>(cluster(), s.local.value.span(), nonzero_cuts, root);
    const bool sorted = cluster().largest(s.local.sorted ? 0 : 1) == 0;
    const bool unique = cluster().largest(s.local.unique ? 0 : 1) == 0;
    Csr<V> whole;
    cluster().run_collective("gather", [&] {
        const bool here = cluster().rank() == root;
        whole = Csr<V>::make(cluster().context().host(), here ? static_cast<index_t>(rows()) : 0,
                             here ? static_cast<index_t>(cols()) : 0, std::ssize(all_cols));
        whole.row_begin.data()[0] = 0;
        std::copy(all_ends.begin(), all_ends.end(), whole.row_begin.data() + 1);
        std::copy(all_cols.begin(), all_cols.end(), whole.col.data());
        std::copy(all_values.begin(), all_values.end(), whole.value.data());
        whole.sorted = sorted;
        whole.unique = unique;
    });
    return whole;
}

template <class V>
const Cluster& DistCsr<V>::cluster() const
{
    return state_->cluster;
}
template <class V>
global_t DistCsr<V>::nonzeros() const
{
    return state_->nonzeros;
}
template <class V>
const Cuts& DistCsr<V>::row_cuts() const
{
    return state_->row_cuts;
}
template <class V>
const Cuts& DistCsr<V>::col_cuts() const
{
    return state_->col_cuts;
}
template <class V>
CsrView<V> DistCsr<V>::local() const
{
    return state_->local.view();
}
template <class V>
std::span<V> DistCsr<V>::values()
{
    return state_->local.value.span();
}
template <class V>
std::span<const global_t> DistCsr<V>::ghosts() const
{
    return state_->ghosts;
}
template <class V>
index_t DistCsr<V>::ghosts_below() const
{
    return state_->halo.below;
}
template <class V>
global_t DistCsr<V>::global_col(index_t local) const
{
    const Halo& halo = state_->halo;
    if (local < halo.below) return state_->ghosts[static_cast<std::size_t>(local)];
    if (local < halo.below + halo.own) return col_cuts()[rank_of(cluster())] + local - halo.below;
    return state_->ghosts[static_cast<std::size_t>(local - halo.own)];
}
template <class V>
std::size_t DistCsr<V>::bytes() const
{
    return state_->local.bytes() + bytes_of(state_->ghosts) + state_->halo.bytes();
}
template <class V>
offset_t DistCsr<V>::halo_sent() const
{
    return std::ssize(state_->halo.pack);
}

template <class V>
DistVector<V>::DistVector(const Cluster& cluster, const Cuts& cuts) : cluster_(cluster),
                                                                      cuts_(cuts)
{
    cluster.run_collective("vector", [&] {
        check_cuts(cuts, cluster.ranks(), cuts.empty() ? 0 : cuts.back());
        cluster.context().run([&](const auto& q) {
            entry_ = Buffer<V>(q, cuts[rank_of(cluster) + 1] - cuts[rank_of(cluster)]);
            fill_zero(q, entry_.data(), entry_.size());
        });
    });
}

template <class V>
void DistVector<V>::upload(std::span<const V> host)
{
    require(std::ssize(host) == entry_.size(),
            [&] { return concat("this rank has ", entry_.size(), " entries, not ", host.size()); });
    cluster_.context().run([&](const auto& q) { tulle::upload(q, host.data(), entry_.data(), entry_.size()); });
}

template <class V>
std::vector<V> DistVector<V>::download() const
{
    std::vector<V> host(static_cast<std::size_t>(entry_.size()));
    cluster_.context().run([&](const auto& q) { tulle::download(q, entry_.data(), host.data(), entry_.size()); });
    return host;
}

template <class V>
std::vector<V> DistVector<V>::gather(int root) const
{
    return collect<V>(cluster_, download(), cuts_, root);
}

template DistCsr<float> distribute(const Cluster&, Csr<float>, std::vector<global_t>, const Cuts&, const Cuts&);
template DistCsr<double> distribute(const Cluster&, Csr<double>, std::vector<global_t>, const Cuts&, const Cuts&);
template class DistCsr<float>;
template class DistCsr<double>;
template class DistVector<float>;
template class DistVector<double>;

}  // namespace tulle::inline TULLE_ABI::mpi
