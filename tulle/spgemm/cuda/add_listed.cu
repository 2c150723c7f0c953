// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The values of C from the list of its products. A warp has listed_step products, 32 at a time; the sum of an entry goes from lane to lane, from each product to the
// next one, so that it is the same sum as everywhere. The warp in which an entry begins goes on to its end.
#include "tulle/spgemm/cuda/rows.cuh"
#include "tulle/spgemm/listed.hpp"

namespace tulle::spgemm {
namespace {

constexpr int threads = 256;
constexpr int at_once = 4;                       // products of a lane on their way

// A product of every lane; those behind the end of the list are entries of their own that nobody writes.
template <class V>
struct Step {
    offset_t product;
    V a, b;
    bool exists;

    __device__ static Step at(const offset_t* product, offset_t k, offset_t products, const V* a, const V* b)
    {
        if (k >= products) return {as_last(0), V(0), V(0), false};
        const offset_t p = product[k];
        return {p, a[of_a(p)], b[of_b(p)], true};
    }
};

// What a warp knows between two steps; the same in all lanes.
template <class V>
struct Running {
    offset_t entry;                              // of the next product
    V sum;                                       // of the products before it that are the same entry's
    bool open;                                   // there are some
    bool foreign;                                // they began with another warp
};

// Writes the entries that end in this step: all, or only the one that has begun before it.
template <class V>
__device__ void add_step(const Step<V>& s, Running<V>& r, bool all, V* value)
{
    const int lane = team_rank<32>();
    const unsigned lasts = __ballot_sync(all_lanes, is_last(s.product)), below = lasts & ((1u << lane) - 1);
    const int ended = __popc(below), turn = lane - (32 - __clz(static_cast<int>(below)));         // entries before this lane's in the step, products before in its entry
    V sum = fused(s.a, s.b, lane == 0 && r.open ? r.sum : V(-0.0));
    const int turns = __reduce_max_sync(all_lanes, turn);
    for (int t = 1; t <= turns; ++t) {
        const V before = __shfl_up_sync(all_lanes, sum, 1);
        if (turn == t) sum = fused(s.a, s.b, before);
    }
    const bool mine = ended > 0 ? all : !r.foreign;
    if (is_last(s.product) && s.exists && mine) value[r.entry + ended] = sum;
    r.entry += __popc(lasts);
    r.sum = __shfl_sync(all_lanes, sum, 31);
    r.open = lasts >> 31 == 0;
    r.foreign = r.foreign && lasts == 0;
}

// A warp per listed_step products.      grid: ceil(products / listed_step * 32 / 256)      value: every entry of C once
template <class V>
__global__ void __launch_bounds__(threads) add_listed_kernel(const offset_t* product, offset_t products, const offset_t* begin, const V* a, const V* b, V* value)
{
    const offset_t first = team_number<32>() * listed_step, last = min(first + listed_step, products);
    if (first >= products) return;                                       // a whole warp
    const int lane = team_rank<32>();
    const bool inside = first > 0 && !is_last(product[first - 1]);
    Running<V> r{begin[first / listed_step], V(-0.0), inside, inside};
    for (offset_t k = first; k < last; k += 32 * at_once) {
        Step<V> step[at_once];
#pragma unroll
        for (int e = 0; e < at_once; ++e) step[e] = Step<V>::at(product, k + 32 * e + lane, products, a, b);
#pragma unroll
        for (int e = 0; e < at_once; ++e) add_step(step[e], r, true, value);
    }
    for (offset_t k = first + listed_step; r.open && !r.foreign; k += 32) {
        const Step<V> step = Step<V>::at(product, k + lane, products, a, b);
        const bool ends = __any_sync(all_lanes, is_last(step.product));
        add_step(step, r, false, value);
        r.open = !ends;
    }
}

}  // namespace

template <class V>
void add_listed(const CudaQueue& q, const CsrView<V>& a, const CsrView<V>& b, const ProductList& list, const Stretch<V>& c)
{
    launch(q, one_thread_each(list.begin.size() * 32, threads), add_listed_kernel<V>, list.product.data(), list.product.size(), list.begin.data(), a.value, b.value, c.value);
}

template void add_listed(const CudaQueue&, const CsrView<float>&, const CsrView<float>&, const ProductList&, const Stretch<float>&);
template void add_listed(const CudaQueue&, const CsrView<double>&, const CsrView<double>&, const ProductList&, const Stretch<double>&);

}  // namespace tulle::spgemm
