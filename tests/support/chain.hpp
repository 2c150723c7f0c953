// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Products one behind the other on a stream, each with the result of the one before: kernels that begin before the one
// ahead of them has ended (LaunchShape::early) must wait for it before they read B, and for new values of the matrix.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "matrix/convert_steps.hpp"
#include "support/host_matrix.hpp"
#include "tulle/csr.hpp"
#include "tulle/transfer.hpp"

namespace tulle::test {

// A applied so many times to a matrix of ones with n columns, by rows.
inline std::vector<double> applied(const HostCsr<double>& a, index_t n, int times)
{
    std::vector<double> x(static_cast<std::size_t>(a.cols * n), 1.0);
    for (int k = 0; k < times; ++k) {
        std::vector<double> y(x.size(), 0.0);
        for (index_t i = 0; i < a.rows; ++i)
            for (offset_t e = a.row_begin[static_cast<std::size_t>(i)];
                 e < a.row_begin[static_cast<std::size_t>(i) + 1]; ++e)
                for (index_t j = 0; j < n; ++j)
                    y[static_cast<std::size_t>(i * n + j)] +=
                        a.value[static_cast<std::size_t>(e)] *
                        x[static_cast<std::size_t>(a.col[static_cast<std::size_t>(e)] * n + j)];
        x = y;
    }
    return x;
}

// The same matrix with other values of the same pattern.
inline HostCsr<double> negated(HostCsr<double> a)
{
    for (double& value : a.value) value = -value;
    return a;
}

// A matrix whose pattern a caller's kernels write just ahead of a product: nonzero p is in column p, rows have none,
// one or two.
template <class V>
class WrittenAhead {
public:
    WrittenAhead(const Context& c, index_t size) : c_(c)
    {
        host_.rows = host_.cols = size;
        for (index_t i = 0; i < size; ++i) {
            for (int k = 0; k < i % 3; ++k) host_.col.push_back(static_cast<index_t>(host_.col.size()));
            host_.row_begin.push_back(std::ssize(host_.col));
            row_.resize(host_.col.size(), i);
        }
        for (const index_t p : host_.col) host_.value.push_back(static_cast<V>(static_cast<float>(p % 2 ? -1 : 1)));
        a_ = to_device(c, host_.view());
        std::vector<offset_t> every(host_.col.size() + 1);
        std::iota(every.begin(), every.end(), offset_t{0});
        every_ = to_device<offset_t>(c, std::span<const offset_t>(every));
        row_there_ = to_device<index_t>(c, std::span<const index_t>(row_));
    }

    const HostCsr<V>& host() const { return host_; }
    const std::vector<index_t>& rows() const { return row_; }
    CsrView<V> view() const { return a_.view(); }

    // Another pattern; waits.
    void spoil()
    {
        const std::vector<offset_t> none(host_.row_begin.size(), 0);
        const std::vector<index_t> first(host_.col.size(), 0);
        c_.run([&](const auto& q) {
            upload(q, none.data(), a_.row_begin.data(), std::ssize(none));
            upload(q, first.data(), a_.col.data(), std::ssize(first));
        });
    }
    // The right pattern, on its way. What a kernel must not read too early is what was written last.
    void write(bool columns_last)
    {
        c_.run([&](const auto& q) {
            const auto write_columns = [&] {
                matrix::expand_rows(q, every_.data(), static_cast<index_t>(a_.nonzeros()), a_.nonzeros(),
                                    a_.col.data());
            };
            if (!columns_last) write_columns();
            matrix::compress_rows(q, row_there_.data(), a_.nonzeros(), a_.rows, a_.row_begin.data());
            if (columns_last) write_columns();
        });
    }
    // Calls check(prepare) several times, as chance decides what begins early; prepare() writes the pattern and gives
    // it to the plan.
    template <class Plan, class Check>
    void give_to(Plan& plan, const Check& check)
    {
        for (int round = 0; round < 4; ++round) {
            spoil();
            check([&] {
                write(round % 2 == 0);
                plan.update_values(view());
            });
        }
    }

private:
    Context c_;
    HostCsr<V> host_;
    std::vector<index_t> row_;
    Csr<V> a_;
    Buffer<offset_t> every_;
    Buffer<index_t> row_there_;
};

}  // namespace tulle::test
