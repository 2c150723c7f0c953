// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Products over semirings on a GPU: a thread for every row of y, and for every position of the mask, which looks for
// its column in the rows of B by halving.
#include "graph/steps.hpp"
#include "prim/scan.hpp"
#include "vector/cuda/pass.cuh"

namespace tulle::inline TULLE_ABI::graph {

template <class V>
void multiply_rows(const CudaQueue& q, Semiring semiring, const CsrView<V>& a, const V* x, V* y)
{
    with_semiring<V>(semiring, [&](auto s) { vector::pass(q, a.rows, SemiringRow<decltype(s), V>{a, x, y}, {}); });
}

template <class V>
Csr<V> multiply_masked_entries(const CudaQueue& q, Semiring semiring, const CsrView<V>& a, const CsrView<V>& b,
                               const CsrView<V>& mask)
{
    Buffer<V> sum(q, mask.nonzeros);
    Buffer<index_t> has(q, mask.nonzeros);
    with_semiring<V>(semiring, [&](auto s) {
        using S = decltype(s);
        vector::pass(q, mask.nonzeros, MaskedEntry<S, V>{a, b, mask, sum.data(), has.data()}, {});
    });
    Buffer<offset_t> begin(q, offset_t{a.rows} + 1);
    vector::pass(q, a.rows, CountHeld{mask.row_begin, has.data(), begin.data()}, {});
    prim::exclusive_scan(q, begin.data(), begin.data(), a.rows);
    Csr<V> c = Csr<V>::make(q, a.rows, b.cols, read_value(q, begin.data() + a.rows));
    c.row_begin = std::move(begin);
    c.sorted = mask.sorted;
    vector::pass(q, a.rows, FillHeld<V>{mask, sum.data(), has.data(), c.row_begin.data(), c.col.data(), c.value.data()},
                 {});
    return c;
}

template void multiply_rows(const CudaQueue&, Semiring, const CsrView<float>&, const float*, float*);
template void multiply_rows(const CudaQueue&, Semiring, const CsrView<double>&, const double*, double*);
template Csr<float> multiply_masked_entries(const CudaQueue&, Semiring, const CsrView<float>&, const CsrView<float>&,
                                            const CsrView<float>&);
template Csr<double> multiply_masked_entries(const CudaQueue&, Semiring, const CsrView<double>&, const CsrView<double>&,
                                             const CsrView<double>&);

}  // namespace tulle::inline TULLE_ABI::graph
