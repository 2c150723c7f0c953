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
    static constexpr index_t rows = 300, k = 8;
};

constexpr int calls = 3;

template <class V>
DenseView<const V> view(const Buffer<V>& b, index_t rows, index_t k)
{
    return {rows, k, k, Layout::row_major, b.data()};
}

// call(from, to) for each link; `waits`: nothing begins before all of it has ended.
template <class V, class Call>
std::vector<V> chain(const Context& c, std::size_t size, bool waits, Call&& call)
{
    std::vector<V> first(size);
    for (std::size_t i = 0; i < first.size(); ++i) first[i] = static_cast<V>(static_cast<double>(i % 5) - 2);
    std::vector<Buffer<V>> x;
    for (int link = 0; link <= calls; ++link) x.push_back(to_device<V>(c, std::span<const V>(first)));
    for (std::size_t link = 0; link < calls; ++link) {
        call(x[link], x[link + 1]);
        if (waits) c.synchronize();
    }
    return host_vector(c, x.back());
}

template <class V>
HostCsr<V> with_k_nonzeros_a_row(index_t rows, index_t k)
{
    HostCsr<V> a;
    a.rows = a.cols = rows;
    for (index_t i = 0; i < rows; ++i) {
        for (index_t e = 0; e < k; ++e) {
            a.col.push_back(i % 7 + e * (rows / k));
            a.value.push_back(1);
        }
        a.row_begin.push_back(std::ssize(a.col));
    }
    return a;
}

// A row of A has k nonzeros: what is sampled is a matrix like X.
template <class V>
void check_chain(const Context& c, index_t rows, index_t k)
{
    const auto size = static_cast<std::size_t>(rows) * static_cast<std::size_t>(k);
    const Csr<V> a = to_device(c, with_k_nonzeros_a_row<V>(rows, k).view());
    const auto y = to_device<V>(c, std::span<const V>(std::vector<V>(size, V(0.5))));
    for (const Policy& policy : candidates(c.backend())) {
        SCOPED_TRACE(to_text(policy));
        auto plan = Plan<V>::make(c, a.view(), {.k = k, .force = policy});
        const auto sample = [&](const Buffer<V>& from, Buffer<V>& to) {
            plan.run(view(from, rows, k), view(y, rows, k), to.span());
        };
        const auto attend = [&](const Buffer<V>& from, Buffer<V>& to) {
            plan.attend(V(0.5), view(from, rows, k), view(from, rows, k), view(from, rows, k),
                        DenseView<V>{rows, k, k, Layout::row_major, to.data()});
        };
        const auto sampled = chain<V>(c, size, true, sample), attended = chain<V>(c, size, true, attend);
        EXPECT_EQ(chain<V>(c, size, false, sample), sampled);
        EXPECT_EQ(chain<V>(c, size, false, attend), attended);
        plan.update_values(a.view());
        EXPECT_EQ(chain<V>(c, size, false, sample), sampled);
    }
}

TEST_P(SddmmChainOn, EveryPolicySeesWhatIsAhead)
{
    check_chain<double>(ctx(), rows, k);
    check_chain<float>(ctx(), rows, 24);  // enough columns for tensor cores
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
    const auto of_x = view(x, rows, k);
    auto h = to_device<double>(c, std::span<const double>(numbers));
    for (const Policy& policy : candidates(c.backend())) {
        SCOPED_TRACE(to_text(policy));
        auto plan = Plan<double>::make(c, a.view(), {.k = k, .force = policy});
        const auto attend = [&] {
            plan.attend(1e-3, of_x, of_x, of_x, DenseView<double>{rows, k, k, Layout::row_major, h.data()});
            return host_vector(c, h);
        };
        const std::vector<double> attended = attend();
        a.give_to(plan, [&](const auto& prepare) {
            prepare();
            plan.run(of_x, of_x, out.span());
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
