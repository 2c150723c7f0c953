// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/halo.hpp"

#include <algorithm>

#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::mpi {
namespace {

// Where the ghosts of each owner begin.
std::vector<offset_t> by_owner(const std::vector<global_t>& ghosts, const Cuts& cuts)
{
    std::vector<offset_t> begin(cuts.size());
    for (std::size_t r = 0; r < cuts.size(); ++r)
        begin[r] = std::lower_bound(ghosts.begin(), ghosts.end(), cuts[r]) - ghosts.begin();
    return begin;
}

std::vector<Halo::Part> parts_of(const std::vector<offset_t>& begin)
{
    std::vector<Halo::Part> parts;
    for (std::size_t r = 0; r + 1 < begin.size(); ++r)
        if (begin[r] < begin[r + 1]) parts.push_back({static_cast<int>(r), begin[r], begin[r + 1]});
    return parts;
}

template <class V>
bool row_needs_halo(const CsrView<V>& a, index_t row, const Halo& halo)
{
    return std::any_of(a.col + a.row_begin[row], a.col + a.row_begin[row + 1],
                       [&](index_t j) { return j < halo.below || j >= halo.below + halo.own; });
}

// The longest run of rows that need no ghosts.
template <class V>
std::pair<index_t, index_t> longest_run(const CsrView<V>& a, const Halo& halo)
{
    std::pair<index_t, index_t> best{0, 0};
    index_t first = 0;
    for (index_t i = 0; i < a.rows; ++i) {
        if (row_needs_halo(a, i, halo)) first = i + 1;
        else if (i + 1 - first > best.second - best.first) best = {first, i + 1};
    }
    return best;
}

}  // namespace

Halo make_halo(const Cluster& cluster, const std::vector<global_t>& ghosts, const Cuts& cuts)
{
    const auto me = static_cast<std::size_t>(cluster.rank());
    const ByRank<global_t> wanted{by_owner(ghosts, cuts), ghosts};
    const ByRank<global_t> asked = exchange(cluster, "halo setup", wanted);
    Halo halo;
    halo.below = static_cast<index_t>(wanted.begin[me]);
    halo.own = static_cast<index_t>(cuts[me + 1] - cuts[me]);
    halo.above = static_cast<index_t>(std::ssize(ghosts) - wanted.begin[me]);
    halo.receive = parts_of(wanted.begin);
    halo.send = parts_of(asked.begin);
    halo.pack.reserve(asked.entry.size());
    for (const global_t j : asked.entry) halo.pack.push_back(static_cast<index_t>(j - cuts[me]));
    for (const Halo::Part& part : halo.send) halo.longest = std::max(halo.longest, part.end - part.begin);
    halo.longest = cluster.largest(halo.longest);
    return halo;
}

template <class V>
RowPiece<V> piece_of(const Context& ctx, const CsrView<V>& a, index_t first, index_t last, bool needs_halo)
{
    const offset_t begin = a.row_begin[first], nonzeros = a.row_begin[last] - begin;
    RowPiece<V> piece{first, Buffer<offset_t>(ctx.host(), offset_t{last} - first + 1), {}, needs_halo};
    for (index_t i = first; i <= last; ++i) piece.row_begin.data()[i - first] = a.row_begin[i] - begin;
    piece.view = {last - first,  a.cols,          nonzeros, piece.row_begin.data(),
                  a.col + begin, a.value + begin, a.sorted, a.unique};
    return piece;
}

template <class V>
std::vector<RowPiece<V>> cut_rows(const Context& ctx, const CsrView<V>& a, const Halo& halo)
{
    const auto [first, last] = longest_run(a, halo);
    std::vector<RowPiece<V>> pieces;
    if (last > first) pieces.push_back(piece_of(ctx, a, first, last, false));
    if (first > 0) pieces.push_back(piece_of(ctx, a, 0, first, true));
    if (last < a.rows && last > first) pieces.push_back(piece_of(ctx, a, last, a.rows, true));
    if (last == first && a.rows > 0 && first == 0) pieces.push_back(piece_of(ctx, a, 0, a.rows, true));
    return pieces;
}

template <class V>
void upload_rows(const Context& ctx, const CsrView<V>& rows, std::optional<Csr<V>>& on_gpu)
{
    if (ctx.backend() == Backend::cpu) return;
    if (!on_gpu) on_gpu = to_device(ctx, rows);
    else ctx.run([&](const auto& q) { upload(q, rows.value, on_gpu->value.data(), rows.nonzeros); });
}

template void upload_rows(const Context&, const CsrView<float>&, std::optional<Csr<float>>&);
template void upload_rows(const Context&, const CsrView<double>&, std::optional<Csr<double>>&);
template RowPiece<float> piece_of(const Context&, const CsrView<float>&, index_t, index_t, bool);
template RowPiece<double> piece_of(const Context&, const CsrView<double>&, index_t, index_t, bool);
template std::vector<RowPiece<float>> cut_rows(const Context&, const CsrView<float>&, const Halo&);
template std::vector<RowPiece<double>> cut_rows(const Context&, const CsrView<double>&, const Halo&);

}  // namespace tulle::inline TULLE_ABI::mpi
