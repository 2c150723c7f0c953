// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Multiplications, and rows whose pattern follows from the row before.
#include "prim/reduce.hpp"
#include "spgemm/adaptive/cpu/relations.hpp"
#include "spgemm/adaptive/cpu/workers.hpp"
#include "spgemm/deltasparse/deltasparse.hpp"

namespace tulle::inline TULLE_ABI::spgemm {
namespace {

// Rows that need not be sorted and have no more products than this on average are marked column by column; in longer
// ones masks, which find several columns at once, are faster (measured on an ARM Neoverse V1: 16 to 50 products each in
// mac_econ, mc2depi and scircuit, 1521 in qcd5_4).
constexpr offset_t marked_products = 512;

template <class V>
Buffer<unsigned char> find_relations(const CpuQueue& q, const CsrView<V>& m)
{
    Buffer<unsigned char> relations(q, m.rows);
#pragma omp parallel for num_threads(q.threads) schedule(dynamic, 1024)
    for (index_t i = 0; i < m.rows; ++i) relations.data()[i] = relation_of(m, i);
    return relations;
}

template <class V>
Buffer<unsigned char> find_relations_of_c(const CpuQueue& q, const CsrView<V>& a, const unsigned char* relations_b,
                                          bool same)
{
    Buffer<unsigned char> relations(q, a.rows);
#pragma omp parallel for num_threads(q.threads) schedule(dynamic, 1024)
    for (index_t i = 0; i < a.rows; ++i) {
        const Relation of_a = same ? static_cast<Relation>(relations_b[i]) : relation_of(a, i);
        relations.data()[i] = relation_of_product(a, relations_b, of_a, i);
    }
    return relations;
}

offset_t products_of_following(const CpuQueue& q, const offset_t* products, const Buffer<unsigned char>& relations)
{
    offset_t sum = 0;
#pragma omp parallel for num_threads(q.threads) schedule(static) reduction(+ : sum)
    for (offset_t i = 0; i < relations.size(); ++i) sum += relations.data()[i] != unrelated ? products[i] : 0;
    return sum;
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
    if (policy.use_runs && work.longest <= FewProducts<V>::most) work.sorted = true;  // by comparisons, at no price
    const bool marks = !work.sorted && work.products <= marked_products * a.rows;
    const Share share = Share::in_order(policy, work, b.cols);
    if (share.dense && work.longest > share.compared && !marks) find_masks(q, b, work);
    if (!policy.use_runs) return;
    work.runs_b = find_relations(q, b);
    const bool same = a.col == b.col && a.row_begin == b.row_begin && a.rows == b.rows;
    work.runs_a = find_relations_of_c(q, a, work.runs_b.data(), same);
    work.following = products_of_following(q, products.data(), work.runs_a);
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
