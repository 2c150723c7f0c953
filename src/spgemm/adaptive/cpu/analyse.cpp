// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Multiplications, and runs of rows with equal columns.
#include "prim/reduce.hpp"
#include "spgemm/adaptive/cpu/workers.hpp"
#include "spgemm/adaptive/runs.hpp"
#include "spgemm/deltasparse/deltasparse.hpp"

namespace tulle::inline TULLE_ABI::spgemm {
namespace {

// Rows that need not be sorted and have no more products than this on average are marked column by column; in longer
// ones masks, which find several columns at once, are faster (measured on an ARM Neoverse V1: 16 to 50 products each in
// mac_econ, mc2depi and scircuit, 1521 in qcd5_4).
constexpr offset_t marked_products = 512;

template <class V>
Buffer<unsigned char> find_runs(const CpuQueue& q, const CsrView<V>& a)
{
    Buffer<unsigned char> like(q, a.rows), runs(q, a.rows);
#pragma omp parallel for num_threads(q.threads) schedule(dynamic, 1024)
    for (index_t i = 0; i < a.rows; ++i) like.data()[i] = equals_predecessor(a.row_begin, a.col, i) ? 1 : 0;
#pragma omp parallel for num_threads(q.threads) schedule(dynamic, 1024)
    for (index_t i = 0; i < a.rows; ++i) runs.data()[i] = pack(run_byte(like.data(), a.rows, i));
    return runs;
}

}  // namespace

template <class V>
void count_products(const CpuQueue& q, const CsrView<V>& a, const CsrView<V>& b, offset_t* products)
{
#pragma omp parallel for num_threads(q.threads) schedule(dynamic, 1024)
    for (index_t i = 0; i < a.rows; ++i) products[i] = products_of(a, b, i);
}

template <class V>
void analyse(const CpuQueue& q, const CsrView<V>& a, const CsrView<V>& b, const Policy& policy, Workspace& work)
{
    if (policy.method == Method::deltasparse) return delta::analyse(q, a, b, policy.rules, work);
    Buffer<offset_t> products(q, a.rows);
    count_products(q, a, b, products.data());
    work.products = prim::sum(q, products.data(), a.rows);
    work.longest = prim::maximum(q, products.data(), a.rows, offset_t{0});
    const bool marks = !work.sorted && work.products <= marked_products * a.rows;
    if (Share::in_order(policy, work, b.cols).dense && !marks) find_masks(q, b, work);
    if (!policy.use_runs) return;
    work.runs_a = find_runs(q, a);
    work.same_runs = a.col == b.col && a.row_begin == b.row_begin && a.rows == b.rows;
    if (!work.same_runs) work.runs_b = find_runs(q, b);
}

void shift_offsets(const CpuQueue& q, const offset_t* from, offset_t base, offset_t n, offset_t* to)
{
#pragma omp parallel for num_threads(q.threads) schedule(static)
    for (offset_t i = 0; i < n; ++i) to[i] = from[i] - base;
}

template void count_products(const CpuQueue&, const CsrView<float>&, const CsrView<float>&, offset_t*);
template void count_products(const CpuQueue&, const CsrView<double>&, const CsrView<double>&, offset_t*);
template void analyse(const CpuQueue&, const CsrView<float>&, const CsrView<float>&, const Policy&, Workspace&);
template void analyse(const CpuQueue&, const CsrView<double>&, const CsrView<double>&, const Policy&, Workspace&);

}  // namespace tulle::inline TULLE_ABI::spgemm
