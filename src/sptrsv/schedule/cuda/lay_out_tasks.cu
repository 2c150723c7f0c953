// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Tasks are laid out where the triangle is: rows are packed into tasks (pack_rows.cu), tasks measured
// (measure_tasks.cu), sizes added up (place_tasks.cu), as make_tasks does on the host.
#include "sptrsv/schedule/cuda/lay_out.cuh"

namespace tulle::inline TULLE_ABI::sptrsv {

TaskLayout lay_out_tasks(const CudaQueue& q, const Triangle& there, const LevelAnalysis& swept, bool chains,
                         index_t levels, const Packing& packing)
{
    const NodesView nodes = view_of(swept, chains);
    TaskLayout layout{.tasks = no_tasks_yet(there, levels, packing),
                      .sizes = {},
                      .order = {},
                      .place = {},
                      .level = {},
                      .apart = {},
                      .task_level = {},
                      .late = {}};
    const Packed packed = pack_rows(q, there, nodes, levels, packing, layout);
    const offset_t n = packed.tasks;
    layout.task_level = Buffer<index_t>(q, n);
    layout.late = array_for<index_t>(q, chains ? n * (lanes * packing.team) : 0);
    layout.tasks.task = Buffer<Task>(q, n);
    layout.tasks.dense_first = Buffer<offset_t>(q, n + 1);
    enter_tasks(q, packed, nodes, layout);
    measure_tasks(q, there, layout);
    place_tasks(q, layout);
    return layout;
}

}  // namespace tulle::inline TULLE_ABI::sptrsv
