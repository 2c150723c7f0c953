// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What lay_out_tasks does on the host, where the triangle is: rows are packed into tasks (pack_rows.cu), tasks measured (measure_tasks.cu), sizes added
// up (place_tasks.cu). The layout is the host's, bit for bit.
#include "tulle/sptrsv/cuda/lay_out.cuh"

namespace tulle::sptrsv {

TaskLayout lay_out_tasks(const CudaQueue& q, const Triangle& there, const Swept& swept, bool chains, index_t levels, const Packing& packing)
{
    const NodesView nodes = view_of(swept, chains);
    const Packed packed = pack_rows(q, there, nodes, levels, packing);
    const offset_t n = packed.tasks;
    const int room = lanes * packing.team;
    TaskLayout layout{.tasks = {}, .sizes = {}, .order = Buffer<index_t>(q, there.rows),
                      .task_level = Buffer<index_t>(q, n), .late = array_for<index_t>(q, chains ? n * room : 0), .late_step = room};
    Tasks& tasks = layout.tasks;
    tasks.rows = there.rows;
    tasks.levels = levels;
    tasks.team = packing.team;
    tasks.reversed = there.reversed;
    tasks.reordered = packing.reorder;
    tasks.task = Buffer<Task>(q, n);
    tasks.dense_first = Buffer<offset_t>(q, n + 1);
    enter_tasks(q, packed, nodes, layout);
    measure_tasks(q, there, nodes, layout);
    place_tasks(q, layout);
    return layout;
}

}  // namespace tulle::sptrsv
