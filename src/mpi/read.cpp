// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Files that all ranks read together: each reads a part of the bytes and sends the entries to the ranks that have their
// rows.
//
//   open      every rank counts the entries of its part
//   read      its entries, in the order of the file; images of a stored triangle behind their entries
//   send      to the rank that has the row, by even cuts of the rows; entries arrive in the order of the file, so that
//             entries at the same position are added up as in one process
//   balance   rows move to the ranks that balanced_cuts() of the whole matrix gives them
#include <algorithm>
#include <memory>
#include <system_error>
#include <utility>

#include "io/part.hpp"
#include "mpi/balanced.hpp"
#include "mpi/halo.hpp"
#include "tulle/error.hpp"

namespace tulle::inline TULLE_ABI::mpi {
namespace {

template <class V>
struct OwnedEntry {
    index_t row, col;
    V value;
};

int owner_of(const Cuts& cuts, global_t row)
{
    return static_cast<int>(std::upper_bound(cuts.begin(), cuts.end(), row) - cuts.begin()) - 1;
}

// The entries and their images by the ranks that have their rows.
template <class V>
ByRank<OwnedEntry<V>> by_owner(const Coo<V>& part, io::Mirror mirror, const Cuts& cuts)
{
    const auto for_each = [&](const auto& visit) {
        for (offset_t k = 0; k < part.row.size(); ++k) {
            const index_t i = part.row.data()[k], j = part.col.data()[k];
            const V value = part.value.data()[k];
            visit(i, j, value);
            if (mirror != io::Mirror::none && i != j) visit(j, i, mirror == io::Mirror::negated ? -value : value);
        }
    };
    std::vector<offset_t> counts(cuts.size() - 1, 0);
    for_each([&](index_t i, index_t, V) { ++counts[static_cast<std::size_t>(owner_of(cuts, i))]; });
    ByRank<OwnedEntry<V>> send{begins_of(counts), {}};
    send.entry.resize(static_cast<std::size_t>(send.begin.back()));
    std::vector<offset_t> next = send.begin;
    for_each([&](index_t i, index_t j, V value) {
        send.entry[static_cast<std::size_t>(next[static_cast<std::size_t>(owner_of(cuts, i))]++)] = {i, j, value};
    });
    return send;
}

// Rows from `first` on, from entries in the order of the file.
template <class V>
Csr<V> rows_of(const CpuQueue& q, const std::vector<OwnedEntry<V>>& entries, global_t first, global_t last,
               index_t cols)
{
    Coo<V> coo = Coo<V>::make(q, static_cast<index_t>(last - first), cols, std::ssize(entries));
    for (std::size_t k = 0; k < entries.size(); ++k) {
        coo.row.data()[k] = static_cast<index_t>(entries[k].row - first);
        coo.col.data()[k] = entries[k].col;
        coo.value.data()[k] = entries[k].value;
    }
    io::Occurrences duplicates;
    return io::assemble(q, coo.view(), io::Mirror::none, duplicates);
}

template <class V>
void set_values(Csr<V>& rows, global_t first, const io::ReadOptions& options)
{
    for (index_t i = 0; i < rows.rows; ++i)
        for (offset_t k = rows.row_begin.data()[i]; k < rows.row_begin.data()[i + 1]; ++k) {
            const auto row = static_cast<index_t>(first + i);
            const index_t col = rows.col.data()[k];
            rows.value.data()[k] =
                options.random_values
                    ? static_cast<V>(io::pattern_value(std::max(row, col), std::min(row, col), *options.random_values))
                    : V(1);
        }
}

}  // namespace

template <class V>
std::optional<DistCsr<V>> read_in_parts(const Cluster& cluster, const std::filesystem::path& file,
                                        const io::ReadOptions& options)
{
    std::error_code unknown;  // whoever opens the file tells why
    const bool fits = io::has_parts(file, options) && std::filesystem::is_regular_file(file, unknown);
    if (cluster.largest(fits ? 0 : 1) != 0) return {};
    const CpuQueue q = cluster.context().host();
    std::unique_ptr<io::FilePart<V>> part;
    cluster.run_collective("reading",
                           [&] { part = io::open_part<V>(q, file, options, cluster.rank(), cluster.ranks()); });
    if (cluster.largest(part->can_be_read ? 0 : 1) != 0) return {};
    const std::vector<global_t> before = begins_of(all_gather(cluster, "reading", global_t{part->entries}));
    const auto me = static_cast<std::size_t>(cluster.rank());
    const Cuts have = even_cuts(part->rows, cluster.ranks());
    ByRank<OwnedEntry<V>> send;
    cluster.run_collective("reading",
                           [&] { send = by_owner(part->read(before[me], before.back()), part->mirror, have); });
    const std::vector<OwnedEntry<V>> got = exchange(cluster, "reading", send).entry;
    send = {};
    Csr<V> rows;
    cluster.run_collective("reading", [&] {
        rows = rows_of(q, got, have[me], have[me + 1], part->cols);
        if (!part->has_values) set_values(rows, have[me], options);
    });
    return distribute_balanced(cluster, "reading", rows, have);
}

template std::optional<DistCsr<float>> read_in_parts(const Cluster&, const std::filesystem::path&,
                                                     const io::ReadOptions&);
template std::optional<DistCsr<double>> read_in_parts(const Cluster&, const std::filesystem::path&,
                                                      const io::ReadOptions&);

}  // namespace tulle::inline TULLE_ABI::mpi
