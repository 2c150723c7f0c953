// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Products that check columns on the way, with every number of lanes a machine has: rows of all lengths around those of
// a vector, and a fault at every place.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "spmv/cpu/checked_rows.hpp"
#include "spmv/cpu/merge_interval.hpp"
#include "support/oracle.hpp"

namespace tulle::inline TULLE_ABI::spmv {
namespace {

using namespace tulle::test;

constexpr index_t columns = 97;

// Rows of 0 to 36 nonzeros; every second one begins above the end of the one before, which is no fault.
template <class M>
HostCsr<M> rows_of_all_lengths()
{
    HostCsr<M> a{.rows = 37, .cols = columns, .row_begin = {0}, .col = {}, .value = {}};
    for (index_t i = 0; i < a.rows; ++i) {
        for (index_t k = 0; k < i; ++k) {
            a.col.push_back(i % 2 == 0 ? k : columns - i + k);
            a.value.push_back(static_cast<M>(i * 3 + k % 5 - 2));
        }
        a.row_begin.push_back(std::ssize(a.col));
    }
    return a;
}

template <class M>
struct NarrowOffsets {
    explicit NarrowOffsets(const HostCsr<M>& a) : begin(a.row_begin.begin(), a.row_begin.end())
    {
        const CsrView<M> v = a.view();
        view = {v.rows, v.cols, v.nonzeros, begin.data(), v.col, v.value, v.sorted, v.unique};
    }
    std::vector<std::int32_t> begin;
    Csr32View<M> view;
};

template <class V, class M>
class Products {
public:
    explicit Products(int lanes) : lanes_(lanes), x_(columns)
    {
        for (std::size_t j = 0; j < x_.size(); ++j) x_[j] = static_cast<V>(j % 7) - 3;
    }

    // y of offsets of 64 and of 32 bits, which agree in all; empty: refused.
    std::vector<V> checked(const HostCsr<M>& a) const
    {
        std::vector<V> wide = multiply(a.view()), narrow = multiply(NarrowOffsets<M>(a).view);
        EXPECT_EQ(wide, narrow);
        return wide;
    }

    std::vector<V> unchecked(const HostCsr<M>& a) const
    {
        std::vector<V> y(static_cast<std::size_t>(a.rows));
        const CsrView<M> v = a.view();
        multiply_interval(v, {}, prim::MergePoint{0, 0}, prim::MergePoint{v.rows, v.nonzeros}, lanes_,
                          Vectors<V>{V(2), x_.data(), V(0), y.data()});
        return y;
    }

private:
    template <class View>
    std::vector<V> multiply(const View& a) const
    {
        std::vector<V> y(static_cast<std::size_t>(a.rows));
        if (!multiply_checked(a, 0, a.rows, lanes_, Vectors<V>{V(2), x_.data(), V(0), y.data()})) return {};
        return y;
    }

    int lanes_;
    std::vector<V> x_;
};

template <class Types>
class CheckedRows : public testing::Test {};

template <class Sum, class Value>
struct TypesOf {
    using V = Sum;
    using M = Value;
};

using AllTypes = testing::Types<TypesOf<float, float>, TypesOf<double, double>, TypesOf<double, float>>;
TYPED_TEST_SUITE(CheckedRows, AllTypes);

TYPED_TEST(CheckedRows, HaveTheNumbersOfRowsThatAreNotChecked)
{
    const auto a = rows_of_all_lengths<typename TypeParam::M>();
    for (const int lanes : {1, 2, 8}) {
        const Products<typename TypeParam::V, typename TypeParam::M> products(lanes);
        EXPECT_EQ(products.checked(a), products.unchecked(a)) << lanes;
    }
}

TYPED_TEST(CheckedRows, RefuseAColumnOutOfRangeAnywhere)
{
    for (const int lanes : {1, 2, 8})
        for (const bool sorted : {true, false}) {
            const Products<typename TypeParam::V, typename TypeParam::M> products(lanes);
            auto a = rows_of_all_lengths<typename TypeParam::M>();
            a.sorted = a.unique = sorted;
            for (index_t& col : a.col)
                for (const index_t wrong :
                     {-1, columns, std::numeric_limits<index_t>::max(), std::numeric_limits<index_t>::min()}) {
                    const index_t right = std::exchange(col, wrong);
                    EXPECT_TRUE(products.checked(a).empty()) << lanes << " lanes, " << &col - a.col.data();
                    col = right;
                }
        }
}

TYPED_TEST(CheckedRows, RefuseColumnsThatDoNotAscendAnywhere)
{
    using M = typename TypeParam::M;
    for (const int lanes : {1, 2, 8}) {
        const Products<typename TypeParam::V, M> products(lanes);
        const auto good = rows_of_all_lengths<M>();
        for (index_t i = 2; i < good.rows; ++i)
            for (auto k = static_cast<std::size_t>(good.row_begin[static_cast<std::size_t>(i)] + 1);
                 k < static_cast<std::size_t>(good.row_begin[static_cast<std::size_t>(i) + 1]); ++k) {
                SCOPED_TRACE(concat(lanes, " lanes, row ", i, ", nonzero ", k));
                auto bad = good;
                bad.col[k] = bad.col[k - 1];
                EXPECT_TRUE(products.checked(bad).empty());
                bad.unique = false;
                EXPECT_EQ(products.checked(bad), products.unchecked(bad));
                bad.col[k - 1] = good.col[k];
                bad.col[k] = good.col[k - 1];
                EXPECT_TRUE(products.checked(bad).empty());
                bad.sorted = false;
                EXPECT_EQ(products.checked(bad), products.unchecked(bad));
            }
    }
}

TYPED_TEST(CheckedRows, RefuseOffsetsThatDescendOrLeaveTheMatrix)
{
    using M = typename TypeParam::M;
    const auto good = rows_of_all_lengths<M>();
    for (const int lanes : {1, 2, 8})
        for (std::size_t row = 1; row < 37; ++row)
            for (const offset_t wrong :
                 {offset_t{-1}, std::ssize(good.col) + 1, offset_t{std::numeric_limits<std::int32_t>::max()},
                  good.row_begin[row + 1] + 1}) {
                auto bad = good;
                bad.row_begin[row] = wrong;
                EXPECT_TRUE((Products<typename TypeParam::V, M>(lanes).checked(bad).empty()))
                    << lanes << " lanes, row " << row << ", offset " << wrong;
            }
}

TYPED_TEST(CheckedRows, RefuseNonzerosOfAMatrixWithoutColumns)
{
    auto a = rows_of_all_lengths<typename TypeParam::M>();
    a.cols = 0;
    for (const int lanes : {1, 2, 8})
        EXPECT_TRUE((Products<typename TypeParam::V, typename TypeParam::M>(lanes).checked(a).empty())) << lanes;
}

}  // namespace
}  // namespace tulle::inline TULLE_ABI::spmv
