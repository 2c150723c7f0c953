// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Row by row with a running softmax: some scores at a time are computed, turned into weights relative to the largest
// score so far, and added to the row of H, which is scaled down where a larger score has come. A row belongs to one
// thread.
#include <algorithm>
#include <cmath>
#include <limits>

#include "prim/cpu/pieces.hpp"
#include "prim/merge_path.hpp"
#include "sddmm/cpu/row_dots.hpp"

namespace tulle::inline TULLE_ABI::sddmm {
namespace {

constexpr offset_t scores_at_once = 128;

// What a row has added up so far.
template <class S>
struct Running {
    S largest = -std::numeric_limits<S>::infinity();  // score
    S total = 0;                                      // of the weights
    S sum[most_attended];                             // weights times rows of V
};

// sum += weight * row of V.
template <class V, class C>
void add_weighted(const Attention<V, C>& o, index_t col, Sum<V> weight, Sum<V>* sum)
{
    using S = Sum<V>;
    constexpr int count = 16 / sizeof(S);
    const V* v = o.v.data + col * o.v.row;
    index_t j = 0;
    for (; o.v.col == 1 && j + count <= o.width; j += count) {
        const auto added = simd::load<count>(sum + j) + weight * simd::load<count>(v + j);
        __builtin_memcpy(sum + j, &added, sizeof(added));
    }
    for (; j < o.width; ++j) sum[j] += weight * static_cast<S>(v[j * o.v.col]);
}

// Adds the nonzeros whose scores are given.
template <class V, class C>
void add_scores(const Attention<V, C>& o, const index_t* col, offset_t n, const Sum<V>* score, Running<Sum<V>>& r)
{
    using S = Sum<V>;
    S largest = r.largest;
    for (offset_t i = 0; i < n; ++i) largest = score[i] > largest ? score[i] : largest;
    const S base = largest == -std::numeric_limits<S>::infinity() ? S(0) : largest;
    const S scale = std::exp(r.largest - base);
    if (scale != 1) {
        r.total *= scale;
        for (index_t j = 0; j < o.width; ++j) r.sum[j] *= scale;
    }
    for (offset_t i = 0; i < n; ++i) {
        const S weight = std::exp(score[i] - base);
        r.total += weight;
        add_weighted(o, col[i], weight, r.sum);
    }
    r.largest = largest;
}

template <class V, class C>
void attend_row(const CsrView<V>& a, offset_t row, const Attention<V, C>& o, Running<Sum<V>>& r)
{
    using S = Sum<V>;
    constexpr int count = 16 / sizeof(S);
    const offset_t end = a.row_begin[row + 1];
    r.largest = -std::numeric_limits<S>::infinity();
    r.total = 0;
    std::fill_n(r.sum, o.width, S(0));
    S score[scores_at_once];
    for (offset_t p = a.row_begin[row]; p < end; p += scores_at_once) {
        const offset_t stop = std::min(end, p + scores_at_once);
        walk_dots<count, V>(o.q, o.k, row, a.col, p, stop, o.depth, [&](offset_t at, S dot) {
            score[at - p] = o.value ? o.alpha * (dot * static_cast<S>(o.value[at])) : o.alpha * dot;
        });
        add_scores(o, a.col + p, stop - p, score, r);
    }
    const bool empty = a.row_begin[row] == end;
    for (index_t j = 0; j < o.width; ++j)
        o.h.data[row * o.h.row + j * o.h.col] = static_cast<C>(empty ? S(0) : r.sum[j] / r.total);
}

}  // namespace

template <class V, class C>
void attend(const CpuQueue& q, const CsrView<V>& a, bool, const Attention<V, C>& o)
{
    const offset_t steps = prim::steps_per_part(a.rows, a.nonzeros, q.threads), all = a.rows + a.nonzeros;
    const auto row_at = [&](offset_t part) {
        return prim::merge_point(a.row_begin, a.rows, a.nonzeros, std::min(all, part * steps)).row;
    };
    prim::each_thread(q, [&](int t) {
        Running<Sum<V>> running;
        for (offset_t row = row_at(t), end = row_at(t + 1); row < end; ++row) attend_row(a, row, o, running);
    });
}

template void attend(const CpuQueue&, const CsrView<double>&, bool, const Attention<double, double>&);
template void attend(const CpuQueue&, const CsrView<float>&, bool, const Attention<float, float>&);
template void attend(const CpuQueue&, const CsrView<Float16>&, bool, const Attention<Float16, Float16>&);
template void attend(const CpuQueue&, const CsrView<Float16>&, bool, const Attention<Float16, float>&);
template void attend(const CpuQueue&, const CsrView<Bfloat16>&, bool, const Attention<Bfloat16, Bfloat16>&);
template void attend(const CpuQueue&, const CsrView<Bfloat16>&, bool, const Attention<Bfloat16, float>&);

}  // namespace tulle::inline TULLE_ABI::sddmm
