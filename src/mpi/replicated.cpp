// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/replicated.hpp"

#include <algorithm>

#include "amg/cycle.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::mpi {
namespace {

// This rank's rows at their place in the whole matrix.
template <class V>
void fill_own_rows(const DistCsr<V>& a, offset_t first_row, offset_t first_nonzero, Csr<V>& whole)
{
    const CsrView<V> local = a.local();
    whole.row_begin.data()[0] = 0;
    for (index_t i = 0; i < local.rows; ++i)
        whole.row_begin.data()[first_row + i + 1] = first_nonzero + local.row_begin[i + 1];
    for (offset_t k = 0; k < local.nonzeros; ++k) {
        whole.col.data()[first_nonzero + k] = static_cast<index_t>(a.global_col(local.col[k]));
        whole.value.data()[first_nonzero + k] = local.value[k];
    }
}

}  // namespace

void add_everywhere(Messages& messages, const Cluster& cluster, void* all, const Cuts& cuts, std::size_t entry_bytes)
{
    const auto me = rank_of(cluster), ranks = static_cast<std::size_t>(cluster.ranks());
    const auto at = [&](std::size_t r) {
        return static_cast<char*>(all) + static_cast<std::size_t>(cuts[r]) * entry_bytes;
    };
    const auto bytes = [&](std::size_t r) { return static_cast<std::size_t>(cuts[r + 1] - cuts[r]) * entry_bytes; };
    for (std::size_t k = 1; k < ranks; ++k) {
        const std::size_t from = (me + ranks - k) % ranks, to = (me + k) % ranks;
        messages.add_receive(at(from), bytes(from), static_cast<int>(from), tag_exchange);
        messages.add_send(at(me), bytes(me), static_cast<int>(to), tag_exchange);
    }
}

template <class V>
Csr<V> replicate(const DistCsr<V>& a)
{
    constexpr auto phase = "coarse matrix";
    const Cluster& cluster = a.cluster();
    const CsrView<V> local = a.local();
    const Cuts nonzero_cuts = begins_of(all_gather(cluster, phase, local.nonzeros));
    const bool sorted = cluster.largest(local.sorted ? 0 : 1) == 0, unique = cluster.largest(local.unique ? 0 : 1) == 0;
    Csr<V> whole;
    cluster.run_collective(phase, [&] {
        whole = Csr<V>::make(cluster.context().host(), static_cast<index_t>(a.rows()), static_cast<index_t>(a.cols()),
                             nonzero_cuts.back());
        fill_own_rows(a, a.row_cuts()[rank_of(cluster)], nonzero_cuts[rank_of(cluster)], whole);
        whole.sorted = sorted;
        whole.unique = unique;
    });
    send_everywhere(cluster, phase, whole.row_begin.data() + 1, a.row_cuts());
    send_everywhere(cluster, phase, whole.col.data(), nonzero_cuts);
    send_everywhere(cluster, phase, whole.value.data(), nonzero_cuts);
    return whole;
}

template <class V>
Buffer<V> Replicated<V>::replicate_near_null(const DistCsr<V>& a, index_t vectors, const Buffer<V>& mine) const
{
    Cuts cuts = a.row_cuts();
    for (global_t& c : cuts) c *= vectors;
    Buffer<V> all;
    a.cluster().run_collective("coarse matrix", [&] {
        all = Buffer<V>(ctx_.host(), cuts.back());
        std::copy_n(mine.data(), mine.size(), all.data() + own_ * vectors);
    });
    send_everywhere(a.cluster(), "coarse matrix", all.data(), cuts);
    return all;
}

template <class V>
Replicated<V>::Replicated(const DistCsr<V>& a, const amg::Options& options, int first, index_t vectors,
                          const Buffer<V>& near_null)
    : ctx_(a.cluster().context()),
      options_(options),
      first_(first),
      own_(a.row_cuts()[rank_of(a.cluster())]),
      matrix_(replicate(a)),
      messages_(a.cluster())
{
    const Buffer<V> all = replicate_near_null(a, vectors, near_null);
    a.cluster().run_collective("coarse levels", [&] {
        if (ctx_.backend() != Backend::cpu) matrix_ = to_device(ctx_, matrix_.view());
        here_ = Buffer<V>(ctx_.host(), matrix_.rows);
        ctx_.run([&](const auto& q) {
            r_ = Buffer<V>(q, matrix_.rows);
            z_ = Buffer<V>(q, matrix_.rows);
        });
        level_ = amg::make_levels(ctx_, matrix_.view(), options, first, vectors, to_device(ctx_, all.span()));
        add_everywhere(messages_, a.cluster(), here_.data(), a.row_cuts(), sizeof(V));
    });
}

template <class V>
void Replicated<V>::update_values(const DistCsr<V>& a)
{
    constexpr auto phase = "coarse matrix";
    const CsrView<V> local = a.local();
    const Cuts cuts = begins_of(all_gather(a.cluster(), phase, local.nonzeros));
    Buffer<V> value;
    a.cluster().run_collective(phase, [&] {
        value = Buffer<V>(ctx_.host(), cuts.back());
        std::copy_n(local.value, local.nonzeros, value.data() + cuts[rank_of(a.cluster())]);
    });
    send_everywhere(a.cluster(), phase, value.data(), cuts);
    a.cluster().run_collective("coarse levels", [&] {
        ctx_.run([&](const auto& q) { upload(q, std::as_const(value).data(), matrix_.value.data(), value.size()); });
        amg::update_levels(ctx_, matrix_.view(), options_, first_, level_);
    });
}

template <class V>
void Replicated<V>::run(std::span<const V> r, std::span<V> z)
{
    ctx_.run([&](const auto& q) { download(q, r.data(), here_.data() + own_, std::ssize(r)); });
    messages_.start("coarse level");
    messages_.finish("coarse level");
    ctx_.run([&](const auto& q) { upload(q, std::as_const(here_).data(), r_.data(), here_.size()); });
    if (matrix_.rows > 0)
        amg::CycleOf<V, amg::LevelData<V>>{ctx_, options_, level_}.run(0, std::as_const(r_).span(), z_.span(), true);
    ctx_.run([&](const auto& q) { copy(q, std::as_const(z_).data() + own_, z.data(), std::ssize(z)); });
}

template <class V>
std::size_t Replicated<V>::bytes() const
{
    std::size_t sum = matrix_.bytes() + here_.bytes() + r_.bytes() + z_.bytes();
    for (const auto& l : level_) sum += l->bytes();
    return sum;
}

template class Replicated<float>;
template class Replicated<double>;

}  // namespace tulle::inline TULLE_ABI::mpi
