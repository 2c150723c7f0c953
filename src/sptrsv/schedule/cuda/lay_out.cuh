// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The steps of lay_out_tasks on a GPU: pack, measure, place.
#pragma once

#include "prim/sort.hpp"
#include "sptrsv/analysis/cuda/nodes.cuh"

namespace tulle::inline TULLE_ABI::sptrsv {

// Rows by level, kind and node, and with which of them a task begins. The layout gets room for what is known of rows,
// while the GPU counts tasks.
struct Packed {
    offset_t tasks = 0;
    Buffer<offset_t> of_rows = {};  // what the next two point into, unless what is sorted has room of its own
    const offset_t* task_before =
        nullptr;  // of each row in that order the tasks that began before it, and at the end all of them
    prim::SortedPairs<std::uint32_t> sorted = {};
};
Packed pack_rows(const CudaQueue& q, const Triangle& there, const NodesView& nodes, index_t levels,
                 const Packing& packing, TaskLayout& layout);  // waits

// What is known of tasks so far: their first rows and kinds, the order of rows, the place and the level of each.
void enter_tasks(const CudaQueue& q, const Packed& packed, const NodesView& nodes, TaskLayout& layout);

// Sizes and late columns of each task; dense_first gets its entries inside matrices.
void measure_tasks(const CudaQueue& q, const Triangle& there, TaskLayout& layout);

// Sizes become offsets; what they add up to.
void place_tasks(const CudaQueue& q, TaskLayout& layout);  // waits

}  // namespace tulle::inline TULLE_ABI::sptrsv
