// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// SDDMM and attention one behind the other on a stream, each with the result of the one before, in every policy:
// kernels that begin before the one ahead of them has ended must wait for it before they read X or Q.
#include "support/chain.hpp"

#include "support/backends.hpp"
#include "support/battery.hpp"
#include "tulle/sddmm.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::sddmm {
namespace {

using namespace tulle::test;

class SddmmChainOn : public OnBackend {
protected:
    static constexpr index_t rows = 300, k = 8;  // a row of A has k nonzeros: what is sampled is a matrix like X
    static constexpr int calls = 3;

    // call(from, to) for each link; `waits`: nothing begins before all of it has ended.
    template <class Call>
    std::vector<double> chain(const Context& c, bool waits, Call&& call)
    {
        std::vector<double> first(rows * k);
        for (std::size_t i = 0; i < first.size(); ++i) first[i] = static_cast<double>(i % 5) - 2;
        std::vector<Buffer<double>> x;
        for (int link = 0; link <= calls; ++link) x.push_back(to_device<double>(c, std::span<const double>(first)));
        for (std::size_t link = 0; link < calls; ++link) {
            call(x[link], x[link + 1]);
            if (waits) c.synchronize();
        }
        return host_vector(c, x.back());
    }
    static DenseView<const double> view(const Buffer<double>& b) { return {rows, k, k, Layout::row_major, b.data()}; }
};

HostCsr<double> with_k_nonzeros_a_row(index_t rows, index_t k)
{
    HostCsr<double> a;
    a.rows = a.cols = rows;
    for (index_t i = 0; i < rows; ++i) {
        for (index_t e = 0; e < k; ++e) {
            a.col.push_back(i % 7 + e * 37);
            a.value.push_back(1);
        }
        a.row_begin.push_back(std::ssize(a.col));
    }
    return a;
}

TEST_P(SddmmChainOn, EveryPolicySeesWhatIsAhead)
{
    const Context c = ctx();
    const Csr<double> a = to_device(c, with_k_nonzeros_a_row(rows, k).view());
    const auto y = to_device<double>(c, std::span<const double>(std::vector<double>(rows * k, 0.5)));
    for (const Policy& policy : candidates(c.backend())) {
        SCOPED_TRACE(to_text(policy));
        auto plan = Plan<double>::make(c, a.view(), {.k = k, .force = policy});
        const auto sample = [&](const Buffer<double>& from, Buffer<double>& to) {
            plan.run(view(from), view(y), to.span());
        };
        const auto attend = [&](const Buffer<double>& from, Buffer<double>& to) {
            plan.attend(0.5, view(from), view(from), view(from),
                        DenseView<double>{rows, k, k, Layout::row_major, to.data()});
        };
        const std::vector<double> sampled = chain(c, true, sample), attended = chain(c, true, attend);
        EXPECT_EQ(chain(c, false, sample), sampled);
        EXPECT_EQ(chain(c, false, attend), attended);
        plan.update_values(a.view());
        EXPECT_EQ(chain(c, false, sample), sampled);
    }
}

TEST_P(SddmmChainOn, EveryPolicySeesAPatternThatIsWrittenAhead)
{
    const Context c = ctx();
    WrittenAhead<double> a(c, rows);
    std::vector<double> numbers(rows * k), expected;
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(i / k);
    for (std::size_t p = 0; p < a.rows().size(); ++p)
        expected.push_back(static_cast<double>(k) * a.rows()[p] * static_cast<double>(p));
    const auto x = to_device<double>(c, std::span<const double>(numbers));
    auto out = to_device<double>(c, std::span<const double>(std::vector<double>(expected.size())));
    auto h = to_device<double>(c, std::span<const double>(numbers));
    for (const Policy& policy : candidates(c.backend())) {
        SCOPED_TRACE(to_text(policy));
        auto plan = Plan<double>::make(c, a.view(), {.k = k, .force = policy});
        const auto attend = [&] {
            plan.attend(1e-3, view(x), view(x), view(x), DenseView<double>{rows, k, k, Layout::row_major, h.data()});
            return host_vector(c, h);
        };
        const std::vector<double> attended = attend();
        a.give_to(plan, [&](const auto& prepare) {
            prepare();
            plan.run(view(x), view(x), out.span());
            EXPECT_EQ(host_vector(c, out), expected);
        });
        a.give_to(plan, [&](const auto& prepare) {
            prepare();
            EXPECT_EQ(attend(), attended);
        });
    }
}

TULLE_ON_BACKENDS(SddmmChainOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI::sddmm
