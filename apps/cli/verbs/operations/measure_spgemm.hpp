// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// One product of two sparse matrices on one backend: done once for its result, then timed, at once or in chunks. For
// run, plan, explain and demo.
#pragma once

#include <string>

#include "apps/cli/verbs/operations/measured.hpp"
#include "apps/cli/verbs/operations/spgemm.hpp"

namespace tulle::cli {

// Both factors on the host.
template <class V>
struct Factors {
    CsrView<V> a, b;
    bool square = false;                     // B is A
    Loaded<V> loaded_a = {}, loaded_b = {};  // what the views look at, unless it is the caller's

    CsrView<V> first() const { return a; }
    CsrView<V> second() const { return square ? a : b; }
};

template <class V>
Factors<V> load_factors(const Session& session, const Context& host, const SpgemmOptions& options);

spgemm::Options options_of(const SpgemmOptions& options, const Context& ctx);

template <class V>
struct ProductResult : Measured {  // times are those of whole calls after the first; the plan is one for new values
    Csr<V> c = {};                 // on the host
    offset_t products = 0;
    int chunks = 1;
    double first = 0, refill = 0;
    std::size_t peak = 0;  // bytes, of all CPU queues of a team together, or the GPU that holds most
};

template <class V>
ProductResult<V> measure_product(const Context& host, const Context& ctx, const Factors<V>& factors,
                                 const SpgemmOptions& options);

// C x beside op(A) (op(B) x), with the bound that any order of summation keeps; columns must ascend.
template <class V>
Verdict check_product(const Context& host, const Factors<V>& factors, const SpgemmOptions& options, const Csr<V>& c);

// "C = A^T B, A = ..."
std::string equation(const SpgemmOptions& options);

template <class V>
Json to_json(const ProductResult<V>& result);

// How results of spgemm begin: A as in all verbs, and B.
template <class V>
Json about(const SpgemmOptions& o, const Factors<V>& f)
{
    Json json = about(o.a, f.first());
    json["matrix_b"] = f.square ? o.a.text : o.b.text;
    return json;
}

}  // namespace tulle::cli
