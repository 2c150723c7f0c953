// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The fillers of the adaptive method, one function for each kind.
#pragma once

#include "tulle/spgemm/groups.hpp"

namespace tulle::spgemm {

struct Task;

template <class V>
struct FillArguments {
    const CudaQueue& q;
    CsrView<V> a, b;
    const Task& task;
    Stretch<V> c;
};

template <class V> void fill_copied(const FillArguments<V>& f);
template <class V> void fill_short(const FillArguments<V>& f, int lanes);
template <class V> void fill_ranked(const FillArguments<V>& f, bool runs, int bytes);
template <class V> void fill_hashed(const FillArguments<V>& f, Filler size);
template <class V> void fill_dense(const FillArguments<V>& f);

}  // namespace tulle::spgemm
