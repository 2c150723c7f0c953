// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The halo of a distributed matrix: which entries of x a rank needs from others (ghosts) and which it gives them.
//
// x is extended to [ghosts below | own | ghosts above], in the order of global numbers. Ghosts of one owner are
// consecutive, so they are received where they are read.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "mpi/exchange.hpp"
#include "mpi/nccl.hpp"
#include "mpi/self_test.hpp"
#include "mpi/steps.hpp"
#include "tulle/distributed.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::mpi {

template <class T>
std::size_t bytes_of(const std::vector<T>& v)
{
    return v.size() * sizeof(T);
}

struct Halo {
    struct Part {
        int rank;
        offset_t begin, end;
    };
    index_t below = 0, own = 0, above = 0;
    std::vector<Part> receive;  // ranges of ghosts
    std::vector<Part> send;     // ranges of `pack`
    std::vector<index_t> pack;  // own entries in the order in which they are sent
    offset_t longest = 0;       // entries of the longest message of all ranks

    index_t extended() const { return below + own + above; }
    std::size_t bytes() const { return bytes_of(receive) + bytes_of(send) + bytes_of(pack); }
    offset_t place(offset_t ghost) const { return ghost < below ? ghost : ghost + own; }
    Traffic traffic(std::size_t entry_bytes) const
    {
        return {send.size(), static_cast<std::uint64_t>(pack.size()) * entry_bytes};
    }
};

// Asks the owners of the ghosts. Collective.
Halo make_halo(const Cluster& cluster, const std::vector<global_t>& ghosts, const Cuts& cuts);

template <class V>
struct DistCsr<V>::State {
    Cluster cluster;
    Cuts row_cuts, col_cuts;
    Csr<V> local;
    std::vector<global_t> ghosts;
    Halo halo;
    global_t nonzeros = 0;
};

// A distributed matrix of local rows whose columns are numbered [ghosts below | own | ghosts above]. Collective.
template <class V>
DistCsr<V> distribute(const Cluster& cluster, Csr<V> local, std::vector<global_t> ghosts, const Cuts& row_cuts,
                      const Cuts& col_cuts);

// A file that all ranks read together, each a part of its bytes (read.cpp); nothing where it can only be read as a
// whole. Collective.
template <class V>
std::optional<DistCsr<V>> read_in_parts(const Cluster& cluster, const std::filesystem::path& file,
                                        const io::ReadOptions& options);

// The extended x in the memory of a context, with `width` numbers for every column, and the messages that fill its
// ghosts. On a GPU, messages travel through page-locked host memory (staged), or by MPI or NCCL from and to the memory
// of the GPU.
template <class V>
class HaloExchange {
public:
    HaloExchange(const Context& ctx, const Cluster& cluster, const Halo& halo, index_t width)
        : ctx_(ctx),
          halo_(halo),
          width_(width),
          way_(way_of(cluster, ctx.backend(), static_cast<std::size_t>(halo.longest * width) * sizeof(V))),
          messages_(cluster)
    {
        V* const received = ctx.run([&](const auto& q) { return allocate(q); });
        V* const sent = staged_.empty() ? packed_.data() : staged_.data();
        if (way_ == Way::nccl) nccl_ = std::make_unique<NcclMessages>(cluster);
        const auto bytes = [&](const Halo::Part& part) {
            return static_cast<std::size_t>((part.end - part.begin) * width) * sizeof(V);
        };
        for (const Halo::Part& part : halo.receive) {
            V* const to = received + (way_ == Way::staged ? part.begin : halo.place(part.begin)) * width;
            if (nccl_) nccl_->add_receive(to, bytes(part), part.rank);
            else messages_.add_receive(to, bytes(part), part.rank, tag_halo);
        }
        for (const Halo::Part& part : halo.send) {
            const V* const from = sent + part.begin * width;
            if (nccl_) nccl_->add_send(from, bytes(part), part.rank);
            else messages_.add_send(from, bytes(part), part.rank, tag_halo);
        }
    }
    HaloExchange(const HaloExchange&) = delete;
    HaloExchange& operator=(const HaloExchange&) = delete;
    ~HaloExchange()
    {
        try {
            if (!arrived_.empty()) ctx_.synchronize();  // page-locked memory is released at once
        } catch (const Error&) {                        // told by whoever waits next
        }
    }

    Way way() const { return way_; }
    std::size_t bytes() const
    {
        return extended_.bytes() + packed_.bytes() + index_.bytes() + staged_.bytes() + arrived_.bytes();
    }
    std::span<V> own()
    {
        return extended_.span().subspan(static_cast<std::size_t>(offset_t{halo_.below} * width_),
                                        static_cast<std::size_t>(offset_t{halo_.own} * width_));
    }
    std::span<const V> extended() const { return extended_.span(); }

    // Takes x (nothing to do where it is own()) and puts what others need where messages begin; waits, except for NCCL.
    void pack_entries(std::span<const V> x)
    {
        ctx_.run([&](const auto& q) {
            if (x.data() != own().data()) copy(q, x.data(), own().data(), std::ssize(x));
            pack(q, own().data(), index(), std::ssize(halo_.pack), width_, packed_.data());
            if (!staged_.empty()) download(q, packed_.data(), staged_.data(), packed_.size());
            else if (!arrived_.empty() || way_ == Way::gpu_aware) synchronize(q);  // ghosts have been read
        });
    }
    void send()
    {
        if (nccl_) nccl_->start("halo exchange", ctx_.run([](const auto& q) { return q.place().stream; }));
        else messages_.start("halo exchange");
    }
    void start(std::span<const V> x)
    {
        pack_entries(x);
        send();
    }
    // Waits for messages; where they are staged, ghosts are then on their way in the order of the stream.
    void finish()
    {
        if (nccl_) return nccl_->finish("halo exchange");
        messages_.finish("halo exchange");
        if constexpr (build::has_cuda)
            if (!arrived_.empty()) ctx_.run([&](const auto& q) { unstage(q); });
    }

private:
    const index_t* index() const { return halo_.pack.empty() || !index_.empty() ? index_.data() : halo_.pack.data(); }

    // Returns where ghosts are received.
    V* allocate(const CpuQueue& q)
    {
        extended_ = Buffer<V>(q, offset_t{halo_.extended()} * width_);
        packed_ = Buffer<V>(q, std::ssize(halo_.pack) * width_);
        return extended_.data();
    }
    V* allocate(const CudaQueue& q)
    {
        const Place place = way_ == Way::staged ? q.place() : plain_place(q);
        extended_ = Buffer<V>(q.memory, place, offset_t{halo_.extended()} * width_);
        packed_ = Buffer<V>(q.memory, place, std::ssize(halo_.pack) * width_);
        index_ = to_queue(q, halo_.pack.data(), std::ssize(halo_.pack));
        if (way_ != Way::staged) return extended_.data();
        const Place pinned{Space::pinned, q.device, nullptr};
        staged_ = Buffer<V>(q.memory, pinned, packed_.size());
        arrived_ = Buffer<V>(q.memory, pinned, (offset_t{halo_.below} + halo_.above) * width_);
        return arrived_.data();
    }

    void unstage(const CpuQueue&) {}
    void unstage(const CudaQueue& q)
    {
        const offset_t below = offset_t{halo_.below} * width_, own = offset_t{halo_.own} * width_;
        const auto bytes = [](offset_t n) { return static_cast<std::size_t>(n) * sizeof(V); };
        upload_pinned(q, arrived_.data(), extended_.data(), bytes(below));
        upload_pinned(q, arrived_.data() + below, extended_.data() + below + own, bytes(arrived_.size() - below));
    }

    Context ctx_;
    const Halo& halo_;
    index_t width_;
    Way way_;
    Buffer<V> extended_, packed_;
    Buffer<index_t> index_;       // on a GPU: halo_.pack
    Buffer<V> staged_, arrived_;  // where messages are staged: page-locked; what is sent and received
    Messages messages_;
    std::unique_ptr<NcclMessages> nccl_;
};

// Consecutive local rows.
template <class V>
struct RowPiece {
    index_t first = 0;
    Buffer<offset_t> row_begin;
    CsrView<V> view;
    bool needs_halo = true;
    std::optional<Csr<V>> on_gpu = {};  // a copy, where the context is on a GPU

    // What plans multiply with.
    CsrView<V> operand() const { return on_gpu ? on_gpu->view() : view; }
    std::size_t bytes() const { return row_begin.bytes() + (on_gpu ? on_gpu->bytes() : 0); }
};
// Brings the rows to the GPU; again: their values.
template <class V>
void upload_rows(const Context& ctx, const CsrView<V>& rows, std::optional<Csr<V>>& on_gpu);
template <class V>
RowPiece<V> piece_of(const Context& ctx, const CsrView<V>& a, index_t first, index_t last, bool needs_halo);
// Local rows in up to three pieces: the longest run of rows without ghosts, and what is before and after it.
template <class V>
std::vector<RowPiece<V>> cut_rows(const Context& ctx, const CsrView<V>& a, const Halo& halo);

}  // namespace tulle::inline TULLE_ABI::mpi
