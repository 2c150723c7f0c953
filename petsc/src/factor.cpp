// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// -pc_factor_mat_solver_type tulle: PETSc computes the incomplete factors, tulle's SpTRSV solves with them.
//
// A factor of SeqAIJ has L, without its diagonal of ones, in row_begin[i] … row_begin[i+1]-1. U follows, last row
// first; a row of U ends with the inverse of its diagonal.
//
// ICC and Cholesky factors are SeqSBAIJ: A = U^T D U, where U has a diagonal of ones. A row has the entries of -U, then
// the inverse of its D.
#include <optional>
#include <vector>

#include "seqaij.hpp"
#include "tulle/sptrsv.hpp"

namespace tulle_petsc {
namespace {

using SolvePlan = tulle::sptrsv::Plan<double>;

struct HostCsr {
    std::vector<PetscInt> row_begin, col;
    std::vector<double> value;
    tulle::Csr32View<double> view() const
    {
        const auto rows = static_cast<PetscInt>(row_begin.size()) - 1;
        return {rows, rows, static_cast<tulle::offset_t>(col.size()), row_begin.data(), col.data(), value.data()};
    }
    void add(PetscInt j, double v)
    {
        col.push_back(j);
        value.push_back(v);
    }
    void end_row() { row_begin.push_back(static_cast<PetscInt>(col.size())); }
};

struct Factor {
    std::optional<SolvePlan> lower, upper;
    std::vector<double> work, again;
    IS rows = nullptr, cols = nullptr;  // orders; null where natural
    decltype(_MatOps::lufactornumeric) numeric = nullptr;
    decltype(_MatOps::ilufactorsymbolic) symbolic = nullptr;
    decltype(_MatOps::choleskyfactornumeric) cholesky_numeric = nullptr;
    decltype(_MatOps::iccfactorsymbolic) cholesky_symbolic = nullptr;
};

constexpr const char* key = "tulle_factor";

PetscErrorCode destroy_factor(void* data)
{
    auto* factor = static_cast<Factor*>(data);
    PetscFunctionBegin;
    PetscCall(ISDestroy(&factor->rows));
    PetscCall(ISDestroy(&factor->cols));
    delete factor;
    PetscFunctionReturn(0);
}

PetscErrorCode factor_of(Mat f, Factor*& factor)
{
    PetscContainer box = nullptr;
    PetscFunctionBegin;
    PetscCall(PetscObjectQuery(reinterpret_cast<PetscObject>(f), key, reinterpret_cast<PetscObject*>(&box)));
    PetscCheck(box, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "tulle: the factor was not made by MatGetFactor");
    PetscCall(PetscContainerGetPointer(box, reinterpret_cast<void**>(&factor)));
    PetscFunctionReturn(0);
}

HostCsr lower_of(PetscInt n, const PetscInt* row_begin, const PetscInt* col, const PetscScalar* value)
{
    HostCsr l{{0}, {}, {}};
    for (PetscInt i = 0; i < n; ++i) {
        for (PetscInt k = row_begin[i]; k < row_begin[i + 1]; ++k) l.add(col[k], value[k]);
        l.add(i, 1.0);
        l.end_row();
    }
    return l;
}

HostCsr upper_of(PetscInt n, const PetscInt* row_begin, const PetscInt* col, const PetscScalar* value)
{
    std::vector<PetscInt> begin(static_cast<std::size_t>(n)), diagonal(static_cast<std::size_t>(n));
    for (PetscInt i = n - 1, k = row_begin[n]; i >= 0; --i, ++k) {
        begin[static_cast<std::size_t>(i)] = k;
        while (col[k] != i) ++k;
        diagonal[static_cast<std::size_t>(i)] = k;
    }
    HostCsr u{{0}, {}, {}};
    for (PetscInt i = 0; i < n; ++i) {
        const PetscInt last = diagonal[static_cast<std::size_t>(i)];
        u.add(i, 1.0 / value[last]);
        for (PetscInt k = begin[static_cast<std::size_t>(i)]; k < last; ++k) u.add(col[k], value[k]);
        u.end_row();
    }
    return u;
}

// Of a symmetric factor: whether rows are stored as said above.
bool is_known_layout(PetscInt n, const PetscInt* row_begin, const PetscInt* col)
{
    for (PetscInt i = 0; i < n; ++i)
        if (row_begin[i] >= row_begin[i + 1] || col[row_begin[i + 1] - 1] != i) return false;
    return true;
}

// U, with its ones.
HostCsr unit_upper_of(PetscInt n, const PetscInt* row_begin, const PetscInt* col, const PetscScalar* value)
{
    HostCsr u{{0}, {}, {}};
    for (PetscInt i = 0; i < n; ++i) {
        u.add(i, 1.0);
        for (PetscInt k = row_begin[i]; k < row_begin[i + 1] - 1; ++k) u.add(col[k], -value[k]);
        u.end_row();
    }
    return u;
}

// U^T D by rows: columns ascend, the diagonal comes last.
HostCsr scaled_lower_of(PetscInt n, const PetscInt* row_begin, const PetscInt* col, const PetscScalar* value)
{
    HostCsr l{std::vector<PetscInt>(static_cast<std::size_t>(n) + 1, 0), {}, {}};
    for (PetscInt k = 0; k < row_begin[n]; ++k) ++l.row_begin[static_cast<std::size_t>(col[k]) + 1];
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) l.row_begin[i + 1] += l.row_begin[i];
    std::vector<PetscInt> next = l.row_begin;
    l.col.resize(static_cast<std::size_t>(row_begin[n]));
    l.value.resize(l.col.size());
    for (PetscInt i = 0; i < n; ++i) {
        const PetscInt last = row_begin[i + 1] - 1;
        for (PetscInt k = row_begin[i]; k <= last; ++k) {
            const auto to = static_cast<std::size_t>(next[static_cast<std::size_t>(col[k])]++);
            l.col[to] = i;
            l.value[to] = (k == last ? 1.0 : -value[k]) / value[last];
        }
    }
    return l;
}

void keep(std::optional<SolvePlan>& plan, const HostCsr& t, tulle::sptrsv::Uplo uplo)
{
    if (plan) return plan->update_values(t.view());
    plan.emplace(SolvePlan::make(context(), t.view(), {.uplo = uplo, .checked = false}));
    ++counts().plans;
}

// entry k of `from` at the place order[k] comes k-th, or the other way round
PetscErrorCode gather(IS order, const double* from, double* to, PetscInt n)
{
    const PetscInt* at = nullptr;
    PetscFunctionBegin;
    PetscCall(ISGetIndices(order, &at));
    for (PetscInt k = 0; k < n; ++k) to[k] = from[at[k]];
    PetscCall(ISRestoreIndices(order, &at));
    PetscFunctionReturn(0);
}
PetscErrorCode scatter(IS order, const double* from, double* to, PetscInt n)
{
    const PetscInt* at = nullptr;
    PetscFunctionBegin;
    PetscCall(ISGetIndices(order, &at));
    for (PetscInt k = 0; k < n; ++k) to[at[k]] = from[k];
    PetscCall(ISRestoreIndices(order, &at));
    PetscFunctionReturn(0);
}

// x = Q U^-1 L^-1 P b
PetscErrorCode solve_arrays(Factor& factor, const double* b, double* x, PetscInt n)
{
    PetscFunctionBegin;
    PetscCall(guarded([&]() -> PetscErrorCode {
        const auto size = static_cast<std::size_t>(n);
        factor.work.resize(size);
        factor.again.resize(factor.rows || factor.cols ? size : 0);
        const double* right = b;
        if (factor.rows) {
            PetscCall(gather(factor.rows, b, factor.again.data(), n));
            right = factor.again.data();
        }
        factor.lower->solve({right, size}, factor.work);
        factor.upper->solve(factor.work, {factor.cols ? factor.again.data() : x, size});
        if (factor.cols) PetscCall(scatter(factor.cols, factor.again.data(), x, n));
        return 0;
    }));
    ++counts().solves;
    PetscFunctionReturn(0);
}

PetscErrorCode solve(Mat f, Vec b, Vec x)
{
    Factor* factor = nullptr;
    const PetscScalar* from = nullptr;
    PetscScalar* to = nullptr;
    PetscFunctionBegin;
    PetscCall(factor_of(f, factor));
    PetscCall(VecGetArrayRead(b, &from));
    PetscCall(VecGetArrayWrite(x, &to));
    PetscCall(solve_arrays(*factor, from, to, f->rmap->n));
    PetscCall(VecRestoreArrayRead(b, &from));
    PetscCall(VecRestoreArrayWrite(x, &to));
    PetscFunctionReturn(0);
}

// Only solve() is ours; the transposed solves stay PETSc's. A factorization that failed stays as PETSc left it.
PetscErrorCode numeric(Mat f, Mat a, const MatFactorInfo* info)
{
    Factor* factor = nullptr;
    const PetscInt *row_begin = nullptr, *col = nullptr;
    PetscScalar* value = nullptr;
    PetscMemType where;
    PetscFunctionBegin;
    PetscCall(factor_of(f, factor));
    PetscCall((*factor->numeric)(f, a, info));
    if (f->factorerrortype != MAT_FACTOR_NOERROR) PetscFunctionReturn(0);
    PetscCall(MatSeqAIJGetCSRAndMemType(f, &row_begin, &col, &value, &where));
    PetscCall(guarded([&]() -> PetscErrorCode {
        const PetscInt n = f->rmap->n;
        keep(factor->lower, lower_of(n, row_begin, col, value), tulle::sptrsv::Uplo::lower);
        keep(factor->upper, upper_of(n, row_begin, col, value), tulle::sptrsv::Uplo::upper);
        return 0;
    }));
    f->ops->solve = solve;
    f->ops->lufactornumeric = numeric;
    PetscFunctionReturn(0);
}

PetscErrorCode keep_order(IS order, IS* kept)
{
    PetscBool natural = PETSC_TRUE;
    PetscFunctionBegin;
    PetscCall(ISDestroy(kept));
    if (order) PetscCall(ISIdentity(order, &natural));
    if (natural) PetscFunctionReturn(0);
    PetscCall(PetscObjectReference(reinterpret_cast<PetscObject>(order)));
    *kept = order;
    PetscFunctionReturn(0);
}

PetscErrorCode symbolic(Mat f, Mat a, IS rows, IS cols, const MatFactorInfo* info)
{
    Factor* factor = nullptr;
    PetscFunctionBegin;
    PetscCall(factor_of(f, factor));
    PetscCall((*factor->symbolic)(f, a, rows, cols, info));
    PetscCall(keep_order(rows, &factor->rows));
    PetscCall(keep_order(cols, &factor->cols));
    factor->lower.reset();
    factor->upper.reset();
    factor->numeric = f->ops->lufactornumeric;
    f->ops->lufactornumeric = numeric;
    PetscFunctionReturn(0);
}

// The same for ICC and Cholesky factors.
PetscErrorCode cholesky_numeric(Mat f, Mat a, const MatFactorInfo* info)
{
    Factor* factor = nullptr;
    PetscInt n = 0;
    const PetscInt *row_begin = nullptr, *col = nullptr;
    PetscScalar* value = nullptr;
    PetscBool done = PETSC_FALSE;
    PetscFunctionBegin;
    PetscCall(factor_of(f, factor));
    PetscCall((*factor->cholesky_numeric)(f, a, info));
    f->ops->choleskyfactornumeric = cholesky_numeric;
    if (f->factorerrortype != MAT_FACTOR_NOERROR) PetscFunctionReturn(0);
    PetscCall(MatGetRowIJ(f, 0, PETSC_FALSE, PETSC_TRUE, &n, &row_begin, &col, &done));
    PetscCall(MatSeqSBAIJGetArray(f, &value));
    PetscCall(guarded([&]() -> PetscErrorCode {
        if (!done || !is_known_layout(n, row_begin, col)) return 0;  // PETSc solves
        f->ops->solve = solve;
        keep(factor->lower, scaled_lower_of(n, row_begin, col, value), tulle::sptrsv::Uplo::lower);
        keep(factor->upper, unit_upper_of(n, row_begin, col, value), tulle::sptrsv::Uplo::upper);
        return 0;
    }));
    PetscCall(MatSeqSBAIJRestoreArray(f, &value));
    PetscCall(MatRestoreRowIJ(f, 0, PETSC_FALSE, PETSC_TRUE, &n, &row_begin, &col, &done));
    PetscFunctionReturn(0);
}

PetscErrorCode cholesky_symbolic(Mat f, Mat a, IS order, const MatFactorInfo* info)
{
    Factor* factor = nullptr;
    PetscFunctionBegin;
    PetscCall(factor_of(f, factor));
    PetscCall((*factor->cholesky_symbolic)(f, a, order, info));
    PetscCall(keep_order(order, &factor->rows));
    PetscCall(keep_order(order, &factor->cols));
    factor->lower.reset();
    factor->upper.reset();
    factor->cholesky_numeric = f->ops->choleskyfactornumeric;
    f->ops->choleskyfactornumeric = cholesky_numeric;
    PetscFunctionReturn(0);
}

// Puts our symbolic phase before PETSc's.
void replace_symbolic(Mat f, MatFactorType type, Factor& factor)
{
    if (type == MAT_FACTOR_ILU || type == MAT_FACTOR_LU) {
        auto& of_petsc = type == MAT_FACTOR_ILU ? f->ops->ilufactorsymbolic : f->ops->lufactorsymbolic;
        factor.symbolic = of_petsc;
        of_petsc = symbolic;
    } else {
        auto& of_petsc = type == MAT_FACTOR_ICC ? f->ops->iccfactorsymbolic : f->ops->choleskyfactorsymbolic;
        factor.cholesky_symbolic = of_petsc;
        of_petsc = cholesky_symbolic;
    }
}

PetscErrorCode solver_name(Mat, MatSolverType* type)
{
    *type = solver_type;
    return 0;
}

PetscErrorCode get_factor(Mat a, MatFactorType type, Mat* f)
{
    PetscContainer box = nullptr;
    Factor* factor = nullptr;
    PetscFunctionBegin;
    PetscCall(MatGetFactor(a, MATSOLVERPETSC, type, f));
    PetscCall(guarded([&]() -> PetscErrorCode {
        factor = new Factor;
        return 0;
    }));
    replace_symbolic(*f, type, *factor);
    const auto object = reinterpret_cast<PetscObject>(*f);
    PetscCall(PetscContainerCreate(PETSC_COMM_SELF, &box));
    PetscCall(PetscContainerSetPointer(box, factor));
    PetscCall(PetscContainerSetUserDestroy(box, destroy_factor));
    PetscCall(PetscObjectCompose(object, key, reinterpret_cast<PetscObject>(box)));
    PetscCall(PetscContainerDestroy(&box));
    PetscCall(PetscFree((*f)->solvertype));
    PetscCall(PetscStrallocpy(solver_type, &(*f)->solvertype));
    PetscCall(PetscObjectComposeFunction(object, "MatFactorGetSolverType_C", solver_name));
    PetscFunctionReturn(0);
}

}  // namespace

PetscErrorCode register_factors()
{
    PetscFunctionBegin;
    for (const MatFactorType factor : {MAT_FACTOR_ILU, MAT_FACTOR_LU, MAT_FACTOR_ICC, MAT_FACTOR_CHOLESKY})
        PetscCall(MatSolverTypeRegister(solver_type, MATSEQAIJ, factor, get_factor));  // and names that begin so
    PetscFunctionReturn(0);
}

}  // namespace tulle_petsc
