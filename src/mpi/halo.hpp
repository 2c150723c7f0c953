// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The halo of a distributed matrix: which entries of x a rank needs from others (ghosts) and which it gives them.
//
// x is extended to [ghosts below | own | ghosts above], in the order of global numbers. Ghosts of one owner are
// consecutive, so they are received where they are read.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "mpi/exchange.hpp"
#include "tulle/distributed.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::mpi {

struct Halo {
    struct Part {
        int rank;
        offset_t begin, end;
    };
    index_t below = 0, own = 0, above = 0;
    std::vector<Part> receive;  // ranges of ghosts
    std::vector<Part> send;     // ranges of `pack`
    std::vector<index_t> pack;  // own entries in the order in which they are sent

    index_t extended() const { return below + own + above; }
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

// The extended x, with `width` numbers for every column, and the messages that fill its ghosts.
template <class V>
class HaloExchange {
public:
    HaloExchange(const Cluster& cluster, const Halo& halo, index_t width)
        : halo_(halo),
          width_(width),
          extended_(cluster.context().host(), offset_t{halo.extended()} * width),
          packed_(cluster.context().host(), std::ssize(halo.pack) * width),
          messages_(cluster)
    {
        const auto bytes = [&](const Halo::Part& part) {
            return static_cast<std::size_t>((part.end - part.begin) * width) * sizeof(V);
        };
        for (const Halo::Part& part : halo.receive)
            messages_.add_receive(extended_.data() + halo.place(part.begin) * width, bytes(part), part.rank, tag_halo);
        for (const Halo::Part& part : halo.send)
            messages_.add_send(packed_.data() + part.begin * width, bytes(part), part.rank, tag_halo);
    }

    std::span<V> own()
    {
        return extended_.span().subspan(static_cast<std::size_t>(offset_t{halo_.below} * width_),
                                        static_cast<std::size_t>(offset_t{halo_.own} * width_));
    }
    std::span<const V> extended() const { return extended_.span(); }

    // Takes x (nothing to do where it is own()) and begins to send it.
    void start(const CpuQueue& q, std::span<const V> x)
    {
        if (x.data() != own().data()) copy(q, x.data(), own().data(), std::ssize(x));
        const V* const from = own().data();
        const offset_t n = std::ssize(halo_.pack);
        for (offset_t k = 0; k < n; ++k)
            for (index_t j = 0; j < width_; ++j)
                packed_.data()[k * width_ + j] = from[offset_t{halo_.pack[static_cast<std::size_t>(k)]} * width_ + j];
        messages_.start("halo exchange");
    }
    void finish() { messages_.finish("halo exchange"); }

private:
    const Halo& halo_;
    index_t width_;
    Buffer<V> extended_, packed_;
    Messages messages_;
};

// Consecutive local rows.
template <class V>
struct RowPiece {
    index_t first = 0;
    Buffer<offset_t> row_begin;
    CsrView<V> view;
    bool needs_halo = true;
};
template <class V>
RowPiece<V> piece_of(const Context& ctx, const CsrView<V>& a, index_t first, index_t last, bool needs_halo);
// Local rows in up to three pieces: the longest run of rows without ghosts, and what is before and after it.
template <class V>
std::vector<RowPiece<V>> cut_rows(const Context& ctx, const CsrView<V>& a, const Halo& halo);

}  // namespace tulle::inline TULLE_ABI::mpi
