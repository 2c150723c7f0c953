// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What is seen of a matrix before a method is chosen: one pass over its rows.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "base/plural.hpp"
#include "solve/state.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"
#include "tulle/trace.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::solve {
namespace {

// ValueError that names the first of so many rows with values that are not finite.
template <class V>
[[noreturn]] void refuse_values(const Context& ctx, const CsrView<V>& a, offset_t rows)
{
    const Csr<V> here = to_host(ctx, a);
    offset_t at = 0;
    while (at < here.nonzeros() && std::isfinite(here.value.data()[at])) ++at;
    const offset_t* begin = here.row_begin.data();
    const auto row = std::upper_bound(begin, begin + a.rows + 1, at) - begin - 1;
    throw ValueError(concat(rows, plural(rows, " row", " rows"), " of the matrix ", plural(rows, "has", "have"),
                            " values that are not finite, first row ", row, " (counted from 0)"),
                     "look at the matrix with tulle validate --finite");
}

// Counts as those of InspectRows: a matrix with sorted rows, each entry once, by one thread. Rows come in ascending
// order, so that the mirror images of the entries of column j are met one after the other: a position in each row
// takes the place of searches.
template <class V>
class InspectSorted {
public:
    InspectSorted(const CpuQueue& q, const CsrView<V>& a, double tolerance)
        : a_(a),
          tolerance_(tolerance),
          next_(q, a.rows)
    {
        std::copy_n(a.row_begin, a.rows, next_.data());
    }

    void run(double (&found)[5])
    {
        std::fill_n(found, 5, 0.0);
        for (index_t i = 0; i < a_.rows; ++i) {
            finite_ = true;
            diagonal_ = 0;
            for (offset_t k = a_.row_begin[i]; k < a_.row_begin[i + 1]; ++k) look(i, k, found[4]);
            found[0] += finite_ ? 0 : 1;
            found[1] += a_.row_begin[i] == a_.row_begin[i + 1] ? 1 : 0;
            found[2] += diagonal_ == 0 ? 1 : 0;
            found[3] += diagonal_ < 0 ? 1 : 0;
        }
    }

private:
    void look(index_t i, offset_t k, double& unlike)
    {
        const index_t j = a_.col[k];
        const double here = a_.value[k];
        if (!vector::is_finite(here)) finite_ = false;
        if (j == i) diagonal_ = here;
        const double there = j == i ? here : mirrored(i, j);
        const double most = std::abs(here) + std::abs(there);
        if (!(std::abs(here - there) <= tolerance_ * most)) unlike += 1;
    }
    // The entry (j, i); 0 if there is none.
    double mirrored(index_t i, index_t j)
    {
        offset_t& at = next_.data()[j];
        const offset_t end = a_.row_begin[j + 1];
        while (at < end && a_.col[at] < i) ++at;
        return at < end && a_.col[at] == i ? static_cast<double>(a_.value[at]) : 0.0;
    }

    CsrView<V> a_;
    double tolerance_, diagonal_ = 0;
    bool finite_ = true;
    Buffer<offset_t> next_;
};

// More threads search sooner than one goes through all rows.
constexpr int few_threads = 8;

template <class Queue, class V>
void count_rows(const Queue& q, const CsrView<V>& a, double (&found)[5])
{
    const double tolerance = sizeof(V) == 4 ? 1e-5 : 1e-10;
    if constexpr (std::is_same_v<Queue, CpuQueue>)
        if (a.sorted && a.unique && q.threads < few_threads) return InspectSorted<V>(q, a, tolerance).run(found);
    vector::PassBuffer buffer(q, a.rows);
    Buffer<double> result(q, 5);
    run_pass(q, a.rows, InspectRows<V>{a, tolerance, result.data()}, buffer.space());
    download(q, result.data(), found, 5);
}

}  // namespace

template <class V>
Features inspect(const Context& ctx, const CsrView<V>& a)
{
    const trace::Phase phase{"inspect"};
    double found[5];
    ctx.run([&](const auto& q) { count_rows(q, a, found); });
    if (found[0] > 0) refuse_values(ctx, a, static_cast<offset_t>(found[0]));
    return {.rows = a.rows,
            .nonzeros = a.nonzeros,
            .symmetric = found[4] == 0,
            .empty_rows = static_cast<offset_t>(found[1]),
            .missing_diagonal = static_cast<offset_t>(found[2]),
            .negative_diagonal = static_cast<offset_t>(found[3])};
}

template Features inspect(const Context&, const CsrView<float>&);
template Features inspect(const Context&, const CsrView<double>&);

}  // namespace tulle::inline TULLE_ABI::solve
