// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Columns near 2^31 in tiny matrices, and dense operands whose lines are 2^32 bytes apart: SDDMM and attention.
//
//     where                            holds              switches at        seen by
//     Strided (steps.hpp)              i * row + j * col  2^31 entries       LinesFourGibibytesApart
//     rows of nonzeros (sddmm.cpp)     31 bits            2^31 rows          ColumnsUpTo31Bits
//     columns of V (attend.cu, weigh.cu)  teams and runs  32, 128, 512       attention_test.cpp
#include <set>

#include "sddmm/sampled_case.hpp"
#include "support/backends.hpp"
#include "support/reserved.hpp"

namespace tulle::inline TULLE_ABI::sddmm {
namespace {

using namespace test;
using tulle::test::ReservedDense;
using tulle::test::RoomToReserve;

class SddmmLimitsOn : public tulle::test::OnBackend {};

double entry(index_t i, index_t j, int which) { return 1 + (i % 5 + 3 * j + which) % 4; }

// A dense matrix in reserved memory, of which only the rows that are needed are written.
template <class V>
struct FarDense {
    FarDense(const Context& c, index_t rows, index_t cols, Layout layout, offset_t leading,
             const std::set<index_t>& needed, int which)
        : m(c, rows, cols, layout, std::max<offset_t>(leading, layout == Layout::row_major ? cols : rows))
    {
        for (const index_t i : needed)
            for (index_t j = 0; j < cols; ++j) m.put(i, j, static_cast<V>(entry(i, j, which)));
    }
    DenseView<V> view() const { return m.view(); }

    ReservedDense<V> m;
};

double dot_at(index_t i, index_t j, index_t k)
{
    double sum = 0;
    for (index_t t = 0; t < k; ++t) sum += entry(i, t, 0) * entry(j, t, 1);
    return sum;
}

template <class V>
struct Far {
    Far(const Context& c, const HostCsr<V>& a, index_t k, Layout layout, offset_t leading)
        : needed_rows(rows_of(a)),
          needed_cols(a.col.begin(), a.col.end()),
          x(c, a.rows, k, layout, leading, needed_rows, 0),
          y(c, a.cols, k, layout, leading, needed_cols, 1)
    {}
    static std::set<index_t> rows_of(const HostCsr<V>& a)
    {
        std::set<index_t> all;
        for (index_t i = 0; i < a.rows; ++i) all.insert(i);
        return all;
    }

    std::set<index_t> needed_rows, needed_cols;
    FarDense<V> x, y;
};

// c = 2 X Y^T at the positions of A - c, where c was 1: exact.
template <class V>
void check_sampled(const Context& c, const HostCsr<V>& a, index_t k, Layout layout, offset_t leading)
{
    const Far<V> far(c, a, k, layout, leading);
    const Csr<V> there = to_device(c, a.view());
    for (const Policy& policy : candidates(c.backend())) {
        SCOPED_TRACE(to_text(policy));
        auto to = to_device<V>(c, std::vector<V>(a.col.size(), V(1)));
        multiply(c, there.view(), Sum<V>(2), far.x.view(), far.y.view(), Sum<V>(-1), to.span(), {.force = policy});
        const auto got = host_vector(c, to);
        std::size_t p = 0;
        for (const auto& [i, j, v] : a.entries())
            ASSERT_EQ(static_cast<double>(got[p++]), 2 * dot_at(i, j, k) - 1) << i << ", " << j;
    }
}

// Attention with alpha = 0.1: the row of H is the mean of rows of V with the weights exp(0.1 dot).
void check_attended(const Context& c, const HostCsr<double>& a, index_t k, index_t width, Layout layout,
                    offset_t leading, const Policy& policy)
{
    const Far<double> far(c, a, k, layout, leading);
    const FarDense<double> v(c, a.cols, width, layout, leading, far.needed_cols, 2);
    FarDense<double> h(c, a.rows, width, layout, leading, far.needed_rows, 3);
    const Csr<double> there = to_device(c, a.view());
    const Options options{.attended = width, .force = policy};
    Plan<double>::make(c, there.view(), options).attend(0.1, far.x.view(), far.y.view(), v.view(), h.view());
    const auto entries = a.entries();
    for (index_t i = 0; i < a.rows; ++i)
        for (index_t w = 0; w < width; ++w) {
            double sum = 0, total = 0;
            for (const auto& [r, j, value] : entries) {
                const double weight = r == i ? std::exp(0.1 * (dot_at(i, j, k) - 60)) : 0.0;
                sum += weight * entry(j, w, 2);
                total += weight;
            }
            ASSERT_NEAR(h.m.get(i, w), total > 0 ? sum / total : 0.0, 1e-13) << i << ", " << w;
        }
}

TEST_P(SddmmLimitsOn, ColumnsUpTo31Bits)
{
    const RoomToReserve room;
    const auto c = ctx();
    if (const std::string why = tulle::test::why_not_reserved(c, std::size_t{80} << 30); !why.empty())
        GTEST_SKIP() << why;
    for (const auto& [name, a] : tulle::test::hypersparse<double>()) {
        if (!is_drawn(name, 2)) continue;
        SCOPED_TRACE(name);
        check_sampled(c, a, 3, Layout::row_major, 3);
        check_sampled(c, in_type<float>(a), 4, Layout::row_major, 4);
        for (const Policy& way : ways_to_attend(c.backend())) check_attended(c, a, 2, 3, Layout::row_major, 4, way);
    }
}

// Few rows and columns, lines 2^32 bytes apart, a little less and a little more; k with and without whole packs.
TEST_P(SddmmLimitsOn, LinesFourGibibytesApart)
{
    const RoomToReserve room;
    const auto c = ctx();
    if (const std::string why = tulle::test::why_not_reserved(c, std::size_t{120} << 30); !why.empty())
        GTEST_SKIP() << why;
    const auto a = tulle::test::matrix_of_columns<double>(9, 8, 3, [](index_t i) {
        return i == 4   ? std::vector{0, 1, 2, 3, 4, 5, 6, 7}
               : i == 2 ? std::vector<index_t>{}
                        : std::vector{i % 3, 3 + i % 5};
    });
    constexpr offset_t limit = (offset_t{1} << 32) / 8;
    for (const Layout layout : {Layout::row_major, Layout::col_major})
        for (const offset_t leading : {limit - 8, limit, limit + 1})
            for (const index_t k : {4, 7}) {
                SCOPED_TRACE("leading " + std::to_string(leading) + ", k " + std::to_string(k));
                check_sampled(c, a, k, layout, leading);
                for (const Policy& way : ways_to_attend(c.backend())) check_attended(c, a, k, 5, layout, leading, way);
            }
    for (const offset_t more : {0, 1})  // enough columns for tensor cores, aligned or not
        check_sampled(c, in_type<float>(a), 24, Layout::row_major, 2 * limit + more);
}

TULLE_ON_BACKENDS(SddmmLimitsOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI::sddmm
