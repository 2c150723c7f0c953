// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The values of C from the list of its products. A warp has listed_step products. It brings the numbers of 128 of them
// to shared memory, where the lanes add up an entry each, in the order of the list, so that it is the same sum as
// everywhere. The warp in which an entry begins goes on to its end.
#include "spgemm/adaptive/cuda/rows.cuh"
#include "spgemm/reuse/listed.hpp"

namespace tulle::inline TULLE_ABI::spgemm {
namespace {

constexpr int threads = 256, warps = threads / 32;
constexpr int at_once = 4;  // products of a lane on their way
constexpr int batch = 32 * at_once;

template <class V>
struct List {
    const offset_t* product;
    offset_t products;
    const V *a, *b;
};

// A warp's share of shared memory.
template <class V>
struct Batch {
    V *a, *b;            // (batch) numbers of every product
    std::uint8_t* last;  // (batch) the last product of every entry that ends here

    static constexpr int bytes = batch * (2 * sizeof(V) + 1);

    __device__ static Batch at(unsigned char* memory)
    {
        V* const a = reinterpret_cast<V*>(memory);
        return {a, a + batch, reinterpret_cast<std::uint8_t*>(a + 2 * batch)};
    }
};

// What a warp knows between two batches; the same in all lanes.
template <class V>
struct Running {
    offset_t entry;  // of the next product
    V sum;      // of the products before it that are the same entry's; -0.0 changes no sum, not even the sign of zero
    bool open;  // there are some
    bool foreign;  // they began with another warp
};

// Products k … k + 32 Lines - 1 of the list; returns how many entries end among them.
template <int Lines, class V>
__device__ int load_batch(const List<V>& list, offset_t k, const Batch<V>& t)
{
    const int lane = team_rank<32>();
    offset_t product[Lines];
    int ended = 0;
#pragma unroll
    for (int e = 0; e < Lines; ++e)
        product[e] = k + 32 * e + lane < list.products ? list.product[k + 32 * e + lane] : 0;
#pragma unroll
    for (int e = 0; e < Lines; ++e) {
        t.a[32 * e + lane] = list.a[of_a(product[e])];
        t.b[32 * e + lane] = list.b[of_b(product[e])];
        const unsigned lasts = __ballot_sync(all_lanes, is_last(product[e]));
        if (is_last(product[e]))
            t.last[ended + __popc(lasts & ((1u << lane) - 1))] = static_cast<std::uint8_t>(32 * e + lane);
        ended += __popc(lasts);
    }
    __syncwarp();
    return ended;
}

// Adds the next 32 Lines products; writes the entries that end among them: all, or only the one that has begun before.
template <int Lines, class V>
__device__ void add_batch(const List<V>& list, offset_t k, bool all, const Batch<V>& t, Running<V>& r, V* value)
{
    const int lane = team_rank<32>(), ended = load_batch<Lines>(list, k, t);
    V sum = V(-0.0);
    for (int e = lane; e <= ended; e += 32) {  // the entry behind the last that ends goes on in the next batch
        const int first = e == 0 ? 0 : t.last[e - 1] + 1, last = e < ended ? t.last[e] : 32 * Lines - 1;
        sum = e == 0 ? r.sum : V(-0.0);
        for (int p = first; p <= last; ++p) sum = fused(t.a[p], t.b[p], sum);
        if (e < ended && (e == 0 ? !r.foreign : all)) value[r.entry + e] = sum;
    }
    r.open = ended == 0 || t.last[ended - 1] < 32 * Lines - 1;
    r.sum = __shfl_sync(all_lanes, sum, ended % 32);
    r.entry += ended;
    r.foreign = r.foreign && ended == 0;
    __syncwarp();
}

// A warp per listed_step products.      grid: ceil(products / listed_step * 32 / 256)      value: every entry of C once
template <class V>
__global__ void __launch_bounds__(threads) add_listed_kernel(List<V> list, const offset_t* begin, V* value)
{
    TULLE_SHARED(double, memory, warps* Batch<V>::bytes / sizeof(double));
    const offset_t first = team_number<32>() * listed_step, last = min(first + listed_step, list.products);
    if (first >= list.products) return;  // a whole warp
    const Batch<V> t =
        Batch<V>::at(reinterpret_cast<unsigned char*>(memory) + static_cast<int>(threadIdx.x) / 32 * Batch<V>::bytes);
    const bool inside = first > 0 && !is_last(list.product[first - 1]);
    Running<V> r{begin[first / listed_step], V(-0.0), inside, inside};
    for (offset_t k = first; k < last; k += batch) add_batch<at_once>(list, k, true, t, r, value);
    for (offset_t k = first + listed_step; r.open && !r.foreign && k < list.products; k += 32) {
        const offset_t entry = r.entry;
        add_batch<1>(list, k, false, t, r, value);
        r.open = r.entry == entry;
    }
}

}  // namespace

template <class V>
void add_listed(const CudaQueue& q, const CsrView<V>& a, const CsrView<V>& b, const ProductList& list,
                const RowRange<V>& c)
{
    launch(q, one_thread_each(list.begin.size() * 32, threads), add_listed_kernel<V>,
           List<V>{list.product.data(), list.product.size(), a.value, b.value}, list.begin.data(), c.value);
}

template void add_listed(const CudaQueue&, const CsrView<float>&, const CsrView<float>&, const ProductList&,
                         const RowRange<float>&);
template void add_listed(const CudaQueue&, const CsrView<double>&, const CsrView<double>&, const ProductList&,
                         const RowRange<double>&);

}  // namespace tulle::inline TULLE_ABI::spgemm
