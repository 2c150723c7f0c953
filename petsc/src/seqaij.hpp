// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// MATSEQAIJTULLE: a SeqAIJ whose products are plans of tulle. The plans hang on Mat::spptr, are made when they are
// first needed, again when the pattern has changed, and read the values again when those have changed.
#pragma once

#include <optional>

#include "plugin.hpp"
#include "tulle/spmm.hpp"
#include "tulle/spmv.hpp"

namespace tulle_petsc {

// The state of a matrix: two that are equal have the same pattern (values).
struct PatternStamp {
    PetscObjectState nonzeros = -1;
    PetscObjectId matrix = 0;
    const PetscInt *row_begin = nullptr, *col = nullptr;
    bool operator==(const PatternStamp&) const = default;
};
struct ValueStamp {
    PetscObjectState state = -1;
    const PetscScalar* value = nullptr;
    PetscInt assemblies = -1;
    bool operator==(const ValueStamp&) const = default;
};

// A matrix of PETSc's as tulle sees it; PETSc keeps the arrays.
struct Seen {
    tulle::Csr32View<double> view;
    PatternStamp pattern;
    ValueStamp values;
};

// Any SeqAIJ. `sorted` and `unique` of the view are found out by reading the pattern.
PetscErrorCode see(Mat a, Seen& seen);

// Takes over a new matrix of type SeqAIJ: its rows are those of c. Columns and values are copied into PETSc's arrays.
PetscErrorCode fill_seqaij(Mat to, const tulle::Csr<double>& c);

// A plan with what it was made for.
template <class Plan>
class Kept {
public:
    // The plan for the matrix as it is now.
    template <class Make>
    Plan& fresh(const Seen& seen, Make&& make)
    {
        if (!plan_ || !(seen.pattern == pattern_)) {
            plan_.reset();
            plan_.emplace(make());
            ++counts().plans;
        } else if (!(seen.values == values_)) {
            plan_->update_values(seen.view);
            ++counts().value_updates;
        }
        pattern_ = seen.pattern;
        values_ = seen.values;
        return *plan_;
    }

private:
    std::optional<Plan> plan_;
    PatternStamp pattern_;
    ValueStamp values_;
};

// What hangs on Mat::spptr.
struct SeqState {
    Kept<tulle::spmv::Plan<double>> forward, transposed;
    Kept<tulle::spmm::Plan<double>> dense, dense_transposed, dense_rows;  // the last: B row by row
    PatternStamp known;  // the pattern for which `sorted` and `unique` hold
    bool sorted = true, unique = true;
};
SeqState& seq_state(Mat a);

PetscErrorCode convert_to_seqaijtulle(Mat a, MatType type, MatReuse reuse, Mat* to);

}  // namespace tulle_petsc
