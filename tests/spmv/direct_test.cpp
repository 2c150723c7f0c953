// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Products without a plan, of matrices that were looked through before.
#include "tulle/spmv_direct.hpp"

#include <gtest/gtest.h>

#include "support/backends.hpp"
#include "support/battery.hpp"
#include "support/guarded.hpp"
#include "support/oracle.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::spmv {
namespace {

using namespace tulle::test;

class SpmvDirectOn : public OnBackend {};

// A matrix in the memory of a context, with offsets of both widths.
template <class M>
struct BothWidths {
    Csr<M> csr;
    Buffer<std::int32_t> begin;

    BothWidths(const Context& c, const HostCsr<M>& a) : csr(to_device(c, a.view()))
    {
        const std::vector<std::int32_t> narrow(a.row_begin.begin(), a.row_begin.end());
        begin = to_device<std::int32_t>(c, std::span<const std::int32_t>(narrow));
    }

    std::vector<AnyCsr<M>> views() const
    {
        const CsrView<M> a = csr.view();
        return {a, Csr32View<M>{a.rows, a.cols, a.nonzeros, begin.data(), a.col, a.value, a.sorted, a.unique}};
    }
};

template <class V, class M>
void check_direct(const Context& c, const std::string& name, const HostCsr<M>& a, V alpha, V beta)
{
    const auto x = test_vector<V>(a.cols, Values::integers, 5), y = test_vector<V>(a.rows, Values::integers, 6);
    HostCsr<V> same{.rows = a.rows, .cols = a.cols, .row_begin = a.row_begin, .col = a.col, .value = {}};
    same.value.assign(a.value.begin(), a.value.end());
    const auto want = oracle_multiply(same, false, alpha, x, beta, y);
    const auto x_there = to_device<V>(c, std::span<const V>(x));
    const BothWidths<M> there(c, a);
    for (const auto& view : there.views()) {
        const Policy chosen = direct_policy(c, view);
        for (const Policy& policy : {chosen, Policy{Kernel::rows, 1}, Policy{Kernel::rows, 8}, Policy{Kernel::split}}) {
            SCOPED_TRACE(name + ", " + to_text(policy));
            Guarded<V> got(c, y);
            multiply_direct<V, M>(c, view, policy, alpha, x_there.span(), beta, got.span());
            EXPECT_TRUE(within_bound(got.take(), want));
        }
    }
}

TEST_P(SpmvDirectOn, EqualsTheOracle)
{
    for (const auto& [name, a] : battery<double>(Values::integers)) check_direct<double, double>(ctx(), name, a, 2, -1);
    for (const auto& [name, a] : battery<float>(Values::integers)) {
        check_direct<float, float>(ctx(), name, a, 1, 0);
        check_direct<double, float>(ctx(), name, a, 0, 3);
    }
}

TEST_P(SpmvDirectOn, WaitsForNothingAndAllocatesNothing)
{
    const auto c = ctx();
    if (c.backend() == Backend::cpu) GTEST_SKIP() << "work of a CPU is done when a call returns";
    const auto a =
        matrix_where<double>(300, 200, Values::integers, 4, [](index_t i, index_t j) { return (i + j) % 7 == 0; });
    const BothWidths<double> there(c, a);
    const auto x = to_device<double>(c, std::span<const double>(test_vector<double>(200, Values::integers, 5)));
    const auto y = to_device<double>(c, std::span<const double>(test_vector<double>(300, Values::integers, 6)));
    for (const auto& view : there.views()) {
        const Policy policy = direct_policy(c, view);
        ASSERT_EQ(policy.kernel, Kernel::rows);
        const auto before = c.memory().allocations();
        multiply_direct<double, double>(c, view, policy, 1.0, x.span(), 0.0, const_cast<Buffer<double>&>(y).span());
        EXPECT_EQ(c.memory().allocations(), before);
    }
    c.synchronize();
}

TEST_P(SpmvDirectOn, RefusesWhatIsMalformed)
{
    const auto c = ctx();
    auto a = matrix_where<double>(30, 20, Values::integers, 4, [](index_t i, index_t j) { return (i + j) % 7 == 0; });
    a.col[3] = 20;
    const auto wrong = to_device(c, a.view());
    EXPECT_THROW(direct_policy<double>(c, wrong.view()), ValueError);
    a.col[3] = -1;
    EXPECT_THROW(direct_policy<double>(c, view_of(to_device(c, a.view()))), ValueError);
}

// What was valid when it was looked through and is not any more: wrong numbers, but nothing outside the arrays is read.
TEST_P(SpmvDirectOn, LeavesOutWhatLeadsOutside)
{
    const auto c = ctx();
    if (c.backend() == Backend::cpu) GTEST_SKIP() << "a CPU trusts a matrix that is not checked";
    auto a = matrix_where<double>(4, 5, Values::integers, 4, [](index_t i, index_t j) { return i != j; });
    a.col[0] = 1 << 30, a.col[5] = -7;
    a.row_begin[1] = -3, a.row_begin[3] = offset_t{1} << 31;
    const BothWidths<double> there(c, a);
    const auto x = to_device<double>(c, std::span<const double>(std::vector<double>(5, 1.0)));
    for (const auto& view : there.views())
        for (const int lanes : {1, 4, 32}) {
            Guarded<double> y(c, std::vector<double>(4, 0.0));
            multiply_direct<double, double>(c, view, {Kernel::rows, lanes}, 1.0, x.span(), 0.0, y.span());
            EXPECT_EQ(y.take().size(), 4u);
        }
}

TEST_P(SpmvDirectOn, ChecksItsArguments)
{
    const auto c = ctx();
    const auto a =
        to_device(c, matrix_where<double>(4, 5, Values::integers, 4, [](index_t, index_t) { return true; }).view());
    auto x = to_device<double>(c, std::span<const double>(std::vector<double>(5, 1.0)));
    auto y = to_device<double>(c, std::span<const double>(std::vector<double>(4, 1.0)));
    const Policy rows{Kernel::rows, 1};
    const auto go = [&](const Policy& p, std::span<const double> from, std::span<double> to) {
        multiply_direct<double, double>(c, a.view(), p, 1.0, from, 0.0, to);
    };
    EXPECT_THROW(go(rows, x.span().first(4), y.span()), ShapeError);
    EXPECT_THROW(go(rows, x.span(), y.span().first(3)), ShapeError);
    EXPECT_THROW(go(rows, x.span(), x.span().first(4)), ValueError);
    EXPECT_THROW(go({Kernel::sell}, x.span(), y.span()), ValueError);
}

// An address is found to be in the memory of one device; on another it is as unknown as before, in any order.
TEST_P(SpmvDirectOn, TakesNoVectorOfAnotherDevice)
{
    if (GetParam() != cuda_name()) GTEST_SKIP() << "all memory of CPUs is the same";
    if (cuda_devices().size() < 2) GTEST_SKIP() << "one GPU";
    const auto host = matrix_where<double>(5, 5, Values::integers, 4, [](index_t, index_t) { return true; });
    const std::vector<double> ones(5, 1.0);
    struct Place {
        Context c;
        Csr<double> a;
        Buffer<double> x, y;
    };
    std::vector<Place> places;
    for (const int device : {0, 1}) {
        const auto c = Context::cuda(device);
        places.push_back({c, to_device(c, host.view()), to_device<double>(c, std::span<const double>(ones)),
                          to_device<double>(c, std::span<const double>(ones))});
    }
    // What is said of the vectors; nothing: they were multiplied.
    const auto said = [&](int where, int x, int y) {
        const auto& [c, a, own_x, own_y] = places[static_cast<std::size_t>(where)];
        try {
            multiply_direct<double, double>(c, a.view(), {Kernel::rows, 1}, 1.0,
                                            std::as_const(places[static_cast<std::size_t>(x)].x).span(), 0.0,
                                            places[static_cast<std::size_t>(y)].y.span());
            c.synchronize();
        } catch (const DeviceError& e) {
            return e.message().substr(0, e.message().find(" the memory of"));
        }
        return std::string();
    };
    for (const int device : {0, 1, 0, 1, 1}) {
        SCOPED_TRACE(device);
        EXPECT_EQ(said(device, 1 - device, device), "x is not in");
        EXPECT_EQ(said(device, device, 1 - device), "y is not in");
        EXPECT_EQ(said(device, device, device), "");
        EXPECT_EQ(said(device, device, device), "") << "known";
    }
}

TULLE_ON_BACKENDS(SpmvDirectOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI::spmv
