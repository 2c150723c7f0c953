// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The steps of ordering rows, once per queue where a GPU does them; columns ascend inside rows.
#pragma once

#include <cstdint>

#include "spmm/order/encoding.hpp"
#include "spmm/panel_counts.hpp"
#include "spmm/tiles.hpp"
#include "tulle/spmm.hpp"

namespace tulle::inline TULLE_ABI::spmm {

// ---- BSA

Encodings encode_rows(const CpuQueue& q, const Pattern& a, index_t tau);
Encodings encode_rows(const CudaQueue& q, const Pattern& a, index_t tau);

// key[r] = dispersion of row r.
void write_dispersions(const CpuQueue& q, const EncodingsView& e, Dispersion which, std::uint64_t* key);
void write_dispersions(const CudaQueue& q, const EncodingsView& e, Dispersion which, std::uint64_t* key);

// The greedy clusters of rows row[0] … row[n-1], none of them empty, in this order: cluster[i] is that of row[i], from
// 0. Returns how many.
index_t cluster_rows(const CpuQueue& q, const EncodingsView& e, const offset_t* row, index_t n, double alpha,
                     index_t* cluster);
// `spin_limit`: polls until a wait gives up, some ten seconds; DeviceError then.
index_t cluster_rows(const CudaQueue& q, const EncodingsView& e, const offset_t* row, index_t n, double alpha,
                     index_t* cluster, unsigned spin_limit = 1u << 25);

// ---- keys for sorting

void write_numbers(const CpuQueue& q, offset_t n, offset_t* to);  // 0, 1, 2, …
void write_numbers(const CudaQueue& q, offset_t n, offset_t* to);
void write_lengths(const CpuQueue& q, const Pattern& a, std::uint64_t* key);  // longest rows first
void write_lengths(const CudaQueue& q, const Pattern& a, std::uint64_t* key);
// key[i] = 1 + the column of row[i] that comes first in random order number `hash`, 0 for an empty row.
void write_minhashes(const CpuQueue& q, const Pattern& a, int hash, const offset_t* row, std::uint32_t* key);
void write_minhashes(const CudaQueue& q, const Pattern& a, int hash, const offset_t* row, std::uint32_t* key);
void write_clusters(const CpuQueue& q, const index_t* cluster, offset_t n, std::uint32_t* key);
void write_clusters(const CudaQueue& q, const index_t* cluster, offset_t n, std::uint32_t* key);
void take_rows(const CpuQueue& q, const offset_t* from, offset_t n, index_t* to);  // to narrower numbers
void take_rows(const CudaQueue& q, const offset_t* from, offset_t n, index_t* to);

// ---- counting

// Panels by their numbers, on the host; without numbers the first ones.
struct PanelList {
    index_t count = 0;
    const index_t* number = nullptr;

    index_t operator[](index_t k) const { return number != nullptr ? number[k] : k; }
};

// What these panels of `height` rows cost together, with rows in the order row[0], row[1], …
PanelCounts count_panels(const CpuQueue& q, const Pattern& a, const index_t* row, index_t height,
                         const PanelList& list);
PanelCounts count_panels(const CudaQueue& q, const Pattern& a, const index_t* row, index_t height,
                         const PanelList& list);

// ---- on the CPU only

void pack_rows(const CpuQueue& q, const Pattern& a, index_t panel, index_t* row);
// Rows row[0], row[1], … (null: as they are) in panels of tau: dense[k] = 1 where nonzero k lies in a dense tile of tau
// x tau, tiles[p] = how many panel p has.
void mark_tiles(const CpuQueue& q, const Pattern& a, const index_t* row, index_t tau, const TileRule& rule,
                unsigned char* dense, index_t* tiles);

}  // namespace tulle::inline TULLE_ABI::spmm
