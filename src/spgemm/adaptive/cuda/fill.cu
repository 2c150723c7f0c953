// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Columns and values of C, group after group.
#include "device/cuda/forked_streams.hpp"
#include "spgemm/adaptive/cuda/fill_steps.hpp"
#include "spgemm/adaptive/cuda/pieces.hpp"
#include "spgemm/adaptive/cuda/place_rows.hpp"
#include "spgemm/adaptive/cuda/rows.cuh"
#include "spgemm/adaptive/cuda/totals.hpp"
#include "spgemm/deltasparse/deltasparse.hpp"
#include "spgemm/nsparse/cuda/nsparse.hpp"

namespace tulle::inline TULLE_ABI::spgemm {
namespace {

// One thread per offset.
__global__ void shift_offsets_kernel(const offset_t* from, offset_t base, offset_t n, offset_t* to)
{
    const offset_t i = global_thread();
    if (i < n) to[i] = from[i] - base;
}

// Groups whose kernels look at facts stand in two parts of the list: those with ranks, and those with more than 512
// nonzeros a row.
struct ReadFacts {
    offset_t ranked, ranks, long_rows, longs;  // where each part begins, and its rows

    offset_t all() const { return ranks + longs; }
    offset_t place(offset_t in_list) const
    {
        return in_list < ranked + ranks ? in_list - ranked : ranks + in_list - long_rows;
    }
};

ReadFacts read_facts(const std::vector<RowGroup>& groups)
{
    const auto begin = [&](NumericKernel f) { return groups[static_cast<std::size_t>(f) - 1].begin; };
    const offset_t ranked = begin(NumericKernel::single_small), long_rows = begin(NumericKernel::hash1024);
    return {ranked, begin(NumericKernel::hash64) - ranked, long_rows,
            groups.back().begin + groups.back().rows - long_rows};
}

// One thread for every row whose facts are looked at.
__global__ void list_facts_kernel(const RowStats* facts, const index_t* list, ReadFacts r, RowStats* listed)
{
    const offset_t k = global_thread();
    if (k < r.ranks + r.longs) listed[k] = facts[list[k < r.ranks ? r.ranked + k : r.long_rows + (k - r.ranks)]];
}

const RowStats* facts_for(const Workspace& work, const RowGroup& group, NumericKernel filler)
{
    if (!work.facts_listed) return work.facts.data();
    return reads_facts(filler) ? work.facts.data() + read_facts(work.numeric).place(group.begin) : nullptr;
}

template <class V, class Work>
void each_group(const CudaQueue& q, const CsrView<V>& a, const CsrView<V>& b, bool side_by_side, const Workspace& work,
                const RowRange<V>& c, Work&& do_group)
{
    const FilledRuns runs = filled_runs(work);
    const std::vector<RowGroup> groups =
        merged(work.numeric, saves_launches(work) ? few_rows_of_small : few_rows,
               [](std::size_t g) { return has_larger_size(static_cast<NumericKernel>(g)); });
    cuda::ForkedStreams side(q, branches_for(groups, side_by_side && !saves_launches(work)));
    for (const std::size_t g : launch_order(groups)) {
        const RowGroup& group = groups[g - 1];
        const Task task{work.list.data() + group.begin,
                        group.rows,
                        facts_for(work, group, static_cast<NumericKernel>(g)),
                        runs.a,
                        runs.b,
                        work.facts_listed};
        do_group(FillArguments<V>{side.next(), a, b, task, c, work.pieces}, static_cast<NumericKernel>(g));
    }
}

}  // namespace

bool has_larger_size(NumericKernel f)
{
    return f == NumericKernel::lists4 || f == NumericKernel::short8 || f == NumericKernel::short16 ||
           f == NumericKernel::single_small || f == NumericKernel::run_tiny || f == NumericKernel::run_small ||
           f == NumericKernel::run_large || f == NumericKernel::hash64 || f == NumericKernel::hash128 ||
           f == NumericKernel::hash256;
}

template <class V>
void fill_merged(const FillArguments<V>& f, NumericKernel filler, bool columns)
{
    const bool few = filler == NumericKernel::lists4 || filler == NumericKernel::cut4;
    if (filler == NumericKernel::cut4 || filler == NumericKernel::cut8)
        fill_pieces(f, pieces_for(f.pieces, few), few ? few_lists : most_lists, columns);
    else fill_lists(f, few ? few_lists : most_lists, columns);
}

template <class V>
void fill_group(const FillArguments<V>& f, NumericKernel filler)
{
    switch (filler) {
    case NumericKernel::none: return;
    case NumericKernel::copy: return fill_copied(f);
    case NumericKernel::lists4:
    case NumericKernel::lists8:
    case NumericKernel::cut4:
    case NumericKernel::cut8: return fill_merged(f, filler, true);
    case NumericKernel::short8: return fill_short(f, 8);
    case NumericKernel::short16: return fill_short(f, 16);
    case NumericKernel::short32: return fill_short(f, 32);
    case NumericKernel::single_small:
    case NumericKernel::single_large:
    case NumericKernel::run_tiny:
    case NumericKernel::run_small:
    case NumericKernel::run_large:
    case NumericKernel::run_huge: return fill_ranked(f, filler, true);
    case NumericKernel::hash64:
    case NumericKernel::hash128:
    case NumericKernel::hash256:
    case NumericKernel::hash512:
    case NumericKernel::hash1024:
    case NumericKernel::hash2048:
    case NumericKernel::hash4096:
    case NumericKernel::hash8192: return fill_hashed(f, filler);
    case NumericKernel::dense: return fill_dense(f);
    }
}

template <class V>
offset_t group_rows(const CudaQueue& q, const CsrView<V>& a, const Policy& policy, Workspace& work, index_t first,
                    index_t rows, const offset_t* row_begin)
{
    if (policy.method == Method::nsparse) return nsparse::group_rows(q, work, first, rows, row_begin);
    if (policy.method == Method::deltasparse) return delta::group_rows(q, policy.rules, work, first, rows, row_begin);
    if (work.pieces.all > 0 && work.pieces.place.size() == 0)
        work.kinds.cut_above = never_cut;  // members of teams fill rows that others have counted
    return place_for_filling(q,
                             {first, rows, a.row_begin, work.facts.data(),
                              policy.use_runs ? work.runs_a.data() : nullptr, row_begin, sizeof(V), work.kinds},
                             work);
}

// Facts are worth a launch where C is less than this many times as large; the peak of others is C's (reasoned).
constexpr std::size_t facts_matter = 16;

void drop_facts(const CudaQueue& q, const Policy& policy, Workspace& work, std::size_t result_bytes)
{
    if (policy.method != Method::adaptive) return;
    const ReadFacts r = read_facts(work.numeric);
    if (r.all() > 0 && (r.all() * 4 > work.facts.size() || work.facts.bytes() * facts_matter < result_bytes)) return;
    Buffer<RowStats> listed;
    if (r.all() > 0) {
        listed = Buffer<RowStats>(q, r.all());
        launch(q, one_thread_each(r.all()), list_facts_kernel, work.facts.data(), work.list.data(), r, listed.data());
    }
    work.facts = std::move(listed);
    work.facts_listed = true;
}

template <class V>
void fill(const CudaQueue& q, const CsrView<V>& a, const CsrView<V>& b, const Policy& policy, Workspace& work,
          const RowRange<V>& c)
{
    if (policy.method == Method::nsparse) return nsparse::fill(q, a, b, policy.side_by_side, work, c);
    if (policy.method == Method::deltasparse) return delta::fill(q, a, b, policy.rules, work, c);
    each_group(q, a, b, policy.side_by_side, work, c, [&](const FillArguments<V>& f, NumericKernel filler) {
        if (!policy.columns_first || filler < NumericKernel::hash1024) return fill_group(f, filler);
        fill_columns(f, filler);
        refill_group(f, filler);
    });
}

template <class V>
void refill(const CudaQueue& q, const CsrView<V>& a, const CsrView<V>& b, const Policy& policy, Workspace& work,
            const RowRange<V>& c)
{
    if (policy.method != Method::adaptive) return fill(q, a, b, policy, work, c);
    each_group(q, a, b, policy.side_by_side, work, c,
               [](const FillArguments<V>& f, NumericKernel filler) { refill_group(f, filler); });
}

void shift_offsets(const CudaQueue& q, const offset_t* from, offset_t base, offset_t n, offset_t* to)
{
    launch(q, one_thread_each(n), shift_offsets_kernel, from, base, n, to);
}

std::size_t fill_bytes_for(const CudaQueue&, const Policy& policy, const Workspace& work, offset_t rows, index_t cols,
                           std::size_t value_bytes)
{
    return policy.method == Method::nsparse ? nsparse::fill_bytes(work, rows, cols, value_bytes) : 0;
}

template offset_t group_rows(const CudaQueue&, const CsrView<float>&, const Policy&, Workspace&, index_t, index_t,
                             const offset_t*);
template offset_t group_rows(const CudaQueue&, const CsrView<double>&, const Policy&, Workspace&, index_t, index_t,
                             const offset_t*);
template void fill_merged(const FillArguments<float>&, NumericKernel, bool);
template void fill_merged(const FillArguments<double>&, NumericKernel, bool);
template void fill_group(const FillArguments<float>&, NumericKernel);
template void fill_group(const FillArguments<double>&, NumericKernel);
template void refill(const CudaQueue&, const CsrView<float>&, const CsrView<float>&, const Policy&, Workspace&,
                     const RowRange<float>&);
template void refill(const CudaQueue&, const CsrView<double>&, const CsrView<double>&, const Policy&, Workspace&,
                     const RowRange<double>&);
template void fill(const CudaQueue&, const CsrView<float>&, const CsrView<float>&, const Policy&, Workspace&,
                   const RowRange<float>&);
template void fill(const CudaQueue&, const CsrView<double>&, const CsrView<double>&, const Policy&, Workspace&,
                   const RowRange<double>&);

}  // namespace tulle::inline TULLE_ABI::spgemm
