// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Facts of every row of C, and how many rows each counting kernel will get.
#include <optional>

#include "device/cuda/pinned_readback.hpp"
#include "spgemm/adaptive/cuda/find_runs.hpp"
#include "spgemm/adaptive/cuda/rows.cuh"
#include "spgemm/adaptive/cuda/totals.hpp"
#include "spgemm/deltasparse/deltasparse.hpp"
#include "spgemm/nsparse/cuda/nsparse.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::spgemm {
namespace {

constexpr int threads = 256;
// Nonzeros of A that a slice of lanes looks at by itself, one after the other; longer rows are a whole warp's.
template <int Lanes>
constexpr offset_t slice_limit = Lanes == 1 ? 16 : 8 * Lanes;

struct Sum {
    offset_t products = 0, pattern = 0, pieces = 0;
    index_t first = max_index, last = -1;
};

struct Operands {
    const offset_t* a_begin;
    const index_t* a_col;
    const offset_t* b_begin;
    const index_t* b_col;
    const Span* span;  // null: the columns are looked at
    const unsigned char* runs_b;
};

__device__ void add_nonzero(const Operands& m, offset_t begin, offset_t k, Sum& sum)
{
    const index_t j = m.a_col[k];
    const offset_t from = m.b_begin[j], length = m.b_begin[j + 1] - from;
    sum.products += length;
    sum.pieces += pieces_in(length);
    if (!repeats(m.a_col, begin, k, m.runs_b)) sum.pattern += length;
    const Span s = m.span ? m.span[j] : length > 0 ? Span{m.b_col[from], m.b_col[from + length - 1]} : no_columns;
    sum.first = min(sum.first, s.first);
    sum.last = max(sum.last, s.last);
}

// Over the `lanes` lanes of this slice; every lane gets it. A whole warp has instructions for sums of 32 bits.
__device__ Sum slice_total(Sum sum, int lanes)
{
    if (lanes == 32 && !__any_sync(all_lanes, sum.products >= offset_t{1} << 26)) {
        return {__reduce_add_sync(all_lanes, static_cast<unsigned>(sum.products)),
                __reduce_add_sync(all_lanes, static_cast<unsigned>(sum.pattern)),
                __reduce_add_sync(all_lanes, static_cast<unsigned>(sum.pieces)),
                __reduce_min_sync(all_lanes, sum.first), __reduce_max_sync(all_lanes, sum.last)};
    }
    for (int distance = lanes / 2; distance > 0; distance /= 2) {
        sum.products += __shfl_xor_sync(all_lanes, sum.products, distance);
        sum.pattern += __shfl_xor_sync(all_lanes, sum.pattern, distance);
        sum.pieces += __shfl_xor_sync(all_lanes, sum.pieces, distance);
        sum.first = min(sum.first, __shfl_xor_sync(all_lanes, sum.first, distance));
        sum.last = max(sum.last, __shfl_xor_sync(all_lanes, sum.last, distance));
    }
    return sum;
}

__device__ std::uint32_t saturated(offset_t n)
{
    return n < offset_t{0xffffffff} ? static_cast<std::uint32_t>(n) : 0xffffffffu;
}

__device__ RowStats facts_from(const Sum& s)
{
    return {saturated(s.products), saturated(s.pattern), s.last < 0 ? 0 : s.first,
            s.last < 0 ? 0 : s.last - s.first + 1};
}

// All products and the most of one row, once per block. Every thread of the block must come; it waits for all of them.
__device__ void add_to_totals(offset_t products, int rows, offset_t* warp_products, offset_t* warp_longest,
                              Totals* totals)
{
    offset_t all = products * rows, most = products;
    if (!__any_sync(all_lanes, all >= offset_t{1} << 26)) {  // nearly always: one instruction each
        all = __reduce_add_sync(all_lanes, static_cast<unsigned>(all));
        most = __reduce_max_sync(all_lanes, static_cast<unsigned>(most));
    } else {
        for (int distance = 16; distance > 0; distance /= 2) {
            all += __shfl_xor_sync(all_lanes, all, distance);
            most = max(most, __shfl_xor_sync(all_lanes, most, distance));
        }
    }
    if (threadIdx.x % 32 == 0) {
        warp_products[threadIdx.x / 32] = all;
        warp_longest[threadIdx.x / 32] = most;
    }
    __syncthreads();
    if (threadIdx.x > 0) return;
    all = most = 0;
    for (int w = 0; w < threads / 32; ++w) {
        all += warp_products[w];
        most = max(most, warp_longest[w]);
    }
    atomicAdd(&totals->products, static_cast<unsigned long long>(all));
    atomicMax(&totals->longest, static_cast<unsigned long long>(most));
}

// A slice of lanes per row, the whole warp for very long ones; rows that equal their predecessor get its facts.
//   grid: ceil(rows * Lanes / 256)
//   facts: every row written once
//   runs_a: the same, where like_a is given
//   totals: added to
//   told: the totals, by the last block to come, where it is given
template <int Lanes>
__global__ void __launch_bounds__(threads)
    find_facts_kernel(Operands m, offset_t rows, const unsigned char* like_a, unsigned char* runs_a, RowStats* facts,
                      Totals* totals, KernelSet kinds, Totals* told)
{
    TULLE_SHARED(unsigned, histogram, counters);
    TULLE_SHARED(unsigned long long, pieces, 2);
    TULLE_SHARED(offset_t, warp_products, threads / 32);
    TULLE_SHARED(offset_t, warp_longest, threads / 32);
    TULLE_SHARED(int, before, 1);
    if (threadIdx.x < counters) histogram[threadIdx.x] = 0;
    if (threadIdx.x < 2) pieces[threadIdx.x] = 0;
    __syncthreads();
    const offset_t row = global_thread() / Lanes;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const RunByte run = row >= rows ? RunByte{false, 0, 0}
                        : like_a    ? run_byte(like_a, rows, row)
                                    : RunByte{false, 0, 1};
    if (like_a && row < rows && lane % Lanes == 0) runs_a[row] = pack(run);
    const bool works = row < rows && run.place == 0;
    const offset_t begin = works ? m.a_begin[row] : 0, length = works ? m.a_begin[row + 1] - begin : 0;
    const bool is_long = length > slice_limit<Lanes>;

    Sum sum;
    if (!is_long) {
#pragma unroll 4
        for (offset_t k = lane % Lanes; k < length; k += Lanes) add_nonzero(m, begin, begin + k, sum);
    }
    if (__any_sync(all_lanes, works)) sum = slice_total(sum, Lanes);
    for (unsigned left = __ballot_sync(all_lanes, is_long && lane % Lanes == 0); left != 0; left &= left - 1) {
        const int owner = __ffs(static_cast<int>(left)) - 1;
        const offset_t from = __shfl_sync(all_lanes, begin, owner), count = __shfl_sync(all_lanes, length, owner);
        Sum part;
#pragma unroll 4
        for (offset_t k = lane; k < count; k += 32) add_nonzero(m, from, from + k, part);
        part = slice_total(part, 32);
        if (lane / Lanes == owner / Lanes) sum = part;
    }
    if (works && lane % Lanes == 0) {
        const RowStats f = facts_from(sum);
        for (int r = 0; r < run.length; ++r) facts[row + r] = f;
        const SymbolicKernel counter = counter_for(f, length, run, kinds);
        atomicAdd(histogram + static_cast<int>(counter), 1u);
        if (counter == SymbolicKernel::cut4 || counter == SymbolicKernel::cut8)
            atomicAdd(pieces + (counter == SymbolicKernel::cut8 ? 1 : 0), static_cast<unsigned long long>(sum.pieces));
    }
    add_to_totals(works && lane % Lanes == 0 ? sum.products : 0, run.length, warp_products, warp_longest, totals);
    if (threadIdx.x < counters && histogram[threadIdx.x] > 0)
        atomicAdd(&totals->rows[threadIdx.x], histogram[threadIdx.x]);
    if (threadIdx.x < 2 && pieces[threadIdx.x] > 0) atomicAdd(&totals->pieces[threadIdx.x], pieces[threadIdx.x]);
    if (!told) return;
    __syncthreads();
    if (threadIdx.x == 0) *before = arrive(&totals->blocks);
    __syncthreads();
    if (*before == static_cast<int>(gridDim.x) - 1) tell(totals, totals->cursor, told);
}

}  // namespace

template <class V>
void analyse(const CudaQueue& q, const CsrView<V>& a, const CsrView<V>& b, const Policy& policy, Workspace& work)
{
    if (policy.method == Method::nsparse) return nsparse::analyse(q, a, b, work);
    if (policy.method == Method::deltasparse) return delta::analyse(q, a, b, policy.rules, work);
    work.facts = Buffer<RowStats>(q, a.rows);
    work.list = Buffer<index_t>(q, a.rows);
    work.same_runs = a.col == b.col && a.row_begin == b.row_begin && a.rows == b.rows;
    const bool at_once = policy.at_once && b.cols <= most_columns_at_once;
    work.kinds = {.lists = b.cols <= most_list_columns ? policy.merge_lists : 0,
                  .cut_above = policy.use_runs || at_once ? never_cut : static_cast<std::uint32_t>(policy.cut_above),
                  .registers = policy.registers,
                  .ranks = policy.ranks,
                  .at_once = at_once,
                  .hubs = policy.columns_first && a.nonzeros <= product_with_hubs};
    Buffer<Span> span;
    Buffer<unsigned char> like_a;
    if (policy.use_runs) {
        span = Buffer<Span>(q, b.rows);
        like_a = Buffer<unsigned char>(q, a.rows);
        work.runs_a = Buffer<unsigned char>(q, a.rows);
        if (!work.same_runs) {
            work.runs_b = Buffer<unsigned char>(q, b.rows);
            look_at_rows(q, a, like_a.data(), nullptr);
        }
        look_at_rows(q, b, work.same_runs ? like_a.data() : work.runs_b.data(), span.data());
    }
    work.totals = Buffer<BothTotals>(q, 1);
    fill_zero(q, work.totals.data(), 1);
    work.totals_are_zero = true;
    const Operands m{a.row_begin,
                     a.col,
                     b.row_begin,
                     b.col,
                     policy.use_runs ? span.data() : nullptr,
                     !policy.use_runs ? nullptr
                     : work.same_runs ? like_a.data()
                                      : work.runs_b.data()};
    const offset_t mean = a.rows > 0 ? a.nonzeros / a.rows : 0;
    std::optional<cuda::PinnedReadback<Totals>> box;  // small products are not waited for: group_rows() will tell
    if (!at_once) box.emplace(q);
    const auto run = [&](auto kernel, int lanes) {
        launch(q, one_thread_each(std::max(offset_t{a.rows}, offset_t{1}) * lanes, threads), kernel, m,
               offset_t{a.rows}, policy.use_runs ? like_a.data() : nullptr, work.runs_a.data(), work.facts.data(),
               &work.totals.data()->counting, work.kinds, box ? box->there() : nullptr);
    };
    if (!policy.use_runs && mean <= 8 && !at_once)
        run(find_facts_kernel<1>, 1);  // with runs, several lanes share the look at the neighbours
    else if (mean <= 6 && !at_once) run(find_facts_kernel<4>, 4);
    else if (mean <= 24) run(find_facts_kernel<8>, 8);
    else run(find_facts_kernel<32>, 32);
    if (box) note_counting(box->wait(), work);
}

template void analyse(const CudaQueue&, const CsrView<float>&, const CsrView<float>&, const Policy&, Workspace&);
template void analyse(const CudaQueue&, const CsrView<double>&, const CsrView<double>&, const Policy&, Workspace&);

}  // namespace tulle::inline TULLE_ABI::spgemm
