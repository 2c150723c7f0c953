// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The fillers of the adaptive method, one function for each kind.
#pragma once

#include "spgemm/adaptive/groups.hpp"

namespace tulle::inline TULLE_ABI::spgemm {

struct Task;
struct Pieces;

// Whether a few rows of a group may join the next one, see merged().
bool has_larger_size(NumericKernel f);

// The runs that filling works with: null where each row is filled for itself.
struct FilledRuns {
    const unsigned char *a, *b;
};

inline FilledRuns filled_runs(const Workspace& work)
{
    const unsigned char* runs_a = work.fills_runs ? work.runs_a.data() : nullptr;
    return {runs_a, work.fills_runs && !work.same_runs ? work.runs_b.data() : runs_a};
}

template <class V>
struct FillArguments {
    const CudaQueue& q;
    CsrView<V> a, b;
    const Task& task;
    RowRange<V> c;
    const Pieces& pieces;
};

template <class V>
void fill_group(const FillArguments<V>& f, NumericKernel filler);  // columns and values
template <class V>
void refill_group(const FillArguments<V>& f, NumericKernel filler);  // values, the columns being there

template <class V>
void fill_merged(const FillArguments<V>& f, NumericKernel filler,
                 bool columns);  // lists, of whole rows or pieces; columns where wanted
template <class V>
void fill_copied(const FillArguments<V>& f);
template <class V>
void fill_short(const FillArguments<V>& f, int lanes);
template <class V>
void fill_ranked(const FillArguments<V>& f, NumericKernel size, bool columns);
template <class V>
void fill_hashed(const FillArguments<V>& f, NumericKernel size);
template <class V>
void fill_columns(const FillArguments<V>& f,
                  NumericKernel size);  // columns of rows that have a block each; values are refill_group's
template <class V>
void fill_wide_columns(const FillArguments<V>& f);  // the same of the longest
template <class V>
void fill_dense(const FillArguments<V>& f);

}  // namespace tulle::inline TULLE_ABI::spgemm
