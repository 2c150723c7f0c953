// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The nodes of a graph that was merged on the host, as a sweep leaves them on the GPU: tasks are then laid out there.
#include "sptrsv/analysis/cuda/nodes.cuh"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {

LevelAnalysis upload_nodes(const CudaQueue& q, const CpuQueue& host, const Graph& graph)
{
    const auto rows = static_cast<index_t>(graph.node_of.size());
    require<ValueError>(can_take_nodes(rows, graph.levels), "so many rows or levels are not laid out on a GPU");
    const Split split(rows);
    Buffer<NodeWord> words(host, SweptArrays<NodeWord>::swept_words(rows));
    const SweptArrays<NodeWord> arrays(words.data(), rows);
    Buffer<index_t> first(host, graph.nodes);
    for (index_t i = 0; i < rows; ++i) {
        const index_t node = graph.node_of.data()[i], place = graph.position.empty() ? 0 : graph.position.data()[i];
        const auto level = static_cast<unsigned>(graph.level.data()[node]);
        if (place == 0) first.data()[node] = i;
        arrays.standing[i] =
            split.standing_of(level,
                              (static_cast<unsigned>(first.data()[node]) << place_bits) | static_cast<unsigned>(place),
                              level);
        arrays.size[i] = place == 0 && !graph.size.empty() ? graph.size.data()[node] : 0;
    }
    LevelAnalysis swept{.most = most_rows, .rows = rows, .words = Buffer<NodeWord>(q, words.size())};
    upload(q, std::as_const(words).data(), swept.words.data(),
           offset_t{rows} + (rows + 1) / 2);  // what else a sweep needs, nobody reads
    return swept;
}

}  // namespace tulle::inline TULLE_ABI::sptrsv
