// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// One product y = A x as every contender gets it: the same arrays, in the memory of the same context.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "base/hash.hpp"
#include "tulle/csr.hpp"
#include "tulle/transfer.hpp"

namespace tulle::bench {

template <class V>
class SpmvProblem {
public:
    SpmvProblem(const Context& context, Csr<V> matrix)
        : ctx(context),
          host(std::move(matrix)),
          host_x(make_x(host.cols))
    {
        if (ctx.backend() == Backend::cuda) copy_ = to_device(ctx, host.view());
        a = ctx.backend() == Backend::cuda ? copy_.view() : host.view();
        x = to_device(ctx, std::span<const V>(host_x));
        y = ctx.run([&](const auto& q) { return Buffer<V>(q, host.rows); });
    }
    SpmvProblem(const SpmvProblem&) = delete;
    SpmvProblem& operator=(const SpmvProblem&) = delete;

    // The least that must be moved: values, columns, row offsets, x and y once each. Offsets count four bytes where
    // they fit, as the baselines store them; a contender that moves more gets no credit for it.
    std::size_t compulsory_bytes() const
    {
        const auto nonzeros = static_cast<std::size_t>(host.nonzeros()), rows = static_cast<std::size_t>(host.rows),
                   cols = static_cast<std::size_t>(host.cols);
        const std::size_t offset = host.nonzeros() <= max_index ? sizeof(index_t) : sizeof(offset_t);
        return nonzeros * (sizeof(V) + sizeof(index_t)) + (rows + 1) * offset + (rows + cols) * sizeof(V);
    }

    void poison_y()  // every byte 0xff is a NaN: whoever forgets a row is seen
    {
        ctx.run([&](const auto& q) { fill_bytes(q, y.data(), 0xff, y.bytes()); });
    }

    std::vector<double> download_y() const
    {
        const Buffer<V> here = to_host(ctx, y.span());
        return {here.data(), here.data() + here.size()};
    }

    Context ctx;
    Csr<V> host;
    std::vector<V> host_x;
    CsrView<V> a;    // where ctx works
    Buffer<V> x, y;  // where ctx works

private:
    static std::vector<V> make_x(index_t cols)
    {
        std::vector<V> values(static_cast<std::size_t>(cols));
        for (std::size_t j = 0; j < values.size(); ++j) values[j] = static_cast<V>(2 * unit(hash_of(11, j)) - 1);
        return values;
    }

    Csr<V> copy_;
};

}  // namespace tulle::bench
