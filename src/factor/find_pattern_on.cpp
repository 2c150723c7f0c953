// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The pattern of a factorisation in the memory of a context: on a GPU found there where that is possible, else on the
// host.
#include "factor/steps.hpp"
#include "tulle/trace.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::factor {
namespace {

template <class Queue>
Pattern upload_pattern(const Queue& q, const Pattern& here)
{
    const auto there = [&]<class T>(const Buffer<T>& b) {
        return b.empty() ? Buffer<T>() : to_queue(q, b.data(), b.size());
    };
    Pattern p{.rows = here.rows, .row_begin = there(here.row_begin), .col = {}, .diagonal = {}, .source = {}};
    p.col = Buffer<index_t>(q, here.col.size());
    upload(q, here.col.data(), p.col.data(), here.col.size());
    p.diagonal = there(here.diagonal);
    p.source = there(here.source);
    return p;
}

template <class V>
Pattern pattern_on(const CpuQueue& q, const Context&, const CsrView<V>& a, const Options& options)
{
    return find_pattern(q, a, options);
}

template <class V>
Pattern pattern_on(const CudaQueue& q, const Context& ctx, const CsrView<V>& a, const Options& options)
{
    const bool lower = options.kind == Kind::ic0;
    if (lower || options.kind == Kind::ilu0)
        if (auto there = find_pattern_there(q, a.row_begin, a.col, a.rows, a.nonzeros, lower)) return std::move(*there);
    const Csr<V> here = to_host(ctx, a);
    return upload_pattern(q, find_pattern(ctx.host(), here.view(), options));
}

}  // namespace

template <class V>
Pattern find_pattern_on(const Context& ctx, const CsrView<V>& a, const Options& options)
{
    const trace::Phase phase{"pattern"};
    return ctx.run([&](const auto& q) { return pattern_on(q, ctx, a, options); });
}

template Pattern find_pattern_on(const Context&, const CsrView<float>&, const Options&);
template Pattern find_pattern_on(const Context&, const CsrView<double>&, const Options&);

}  // namespace tulle::inline TULLE_ABI::factor
