// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "seqaij.hpp"

#include <algorithm>
#include <vector>

namespace tulle_petsc {
namespace {

using tulle::Op;

// What SeqAIJ itself does, taken from the first matrix that becomes one of ours.
struct Base {
    decltype(_MatOps::assemblyend) assembly_end = nullptr;
    decltype(_MatOps::destroy) destroy = nullptr;
    decltype(_MatOps::mult) mult = nullptr;
    decltype(_MatOps::multadd) mult_add = nullptr;
    decltype(_MatOps::multtranspose) mult_transpose = nullptr;
    decltype(_MatOps::multtransposeadd) mult_transpose_add = nullptr;
    decltype(_MatOps::productsetfromoptions) product = nullptr;
    decltype(_MatOps::axpy) axpy = nullptr;
} base;

bool is_ours(Mat a)
{
    PetscBool same = PETSC_FALSE;
    return PetscObjectTypeCompare(reinterpret_cast<PetscObject>(a), seq_type, &same) == 0 && same && a->spptr;
}

// What there is, without a look at the rows.
PetscErrorCode look(Mat a, Seen& seen)
{
    const PetscInt *row_begin = nullptr, *col = nullptr;
    PetscScalar* value = nullptr;
    PetscMemType where;
    PetscFunctionBegin;
    PetscCall(MatSeqAIJGetCSRAndMemType(a, &row_begin, &col, &value, &where));
    PetscCall(MatGetNonzeroState(a, &seen.pattern.nonzeros));
    PetscCall(PetscObjectGetId(reinterpret_cast<PetscObject>(a), &seen.pattern.matrix));
    PetscCall(PetscObjectStateGet(reinterpret_cast<PetscObject>(a), &seen.values.state));
    seen.pattern.row_begin = row_begin;
    seen.pattern.col = col;
    seen.values.value = value;
    seen.values.assemblies = a->num_ass;
    seen.view = {.rows = a->rmap->n,
                 .cols = a->cmap->n,
                 .nonzeros = row_begin ? row_begin[a->rmap->n] : 0,
                 .row_begin = row_begin,
                 .col = col,
                 .value = value};
    PetscFunctionReturn(0);
}

void look_at_rows(const tulle::Csr32View<double>& a, bool& sorted, bool& unique)
{
    sorted = unique = true;
    for (PetscInt i = 0; i < a.rows && sorted; ++i)
        for (PetscInt k = a.row_begin[i] + 1; k < a.row_begin[i + 1]; ++k) {
            sorted &= a.col[k - 1] <= a.col[k];
            unique &= a.col[k - 1] != a.col[k];
        }
    if (sorted) return;
    std::vector<PetscInt> row;  // PETSc adds up what stands twice, but does not promise it for arrays of the user
    unique = true;
    for (PetscInt i = 0; i < a.rows && unique; ++i) {
        row.assign(a.col + a.row_begin[i], a.col + a.row_begin[i + 1]);
        std::sort(row.begin(), row.end());
        unique = std::adjacent_find(row.begin(), row.end()) == row.end();
    }
}

// y = beta y + op(A) x
PetscErrorCode multiply(Mat a, Vec x, Vec y, double beta, Op op)
{
    const PetscScalar* from = nullptr;
    PetscScalar* to = nullptr;
    PetscFunctionBegin;
    PetscCall(VecGetArrayRead(x, &from));
    PetscCall(beta == 0 ? VecGetArrayWrite(y, &to) : VecGetArray(y, &to));
    PetscCall(guarded([&]() -> PetscErrorCode {
        Seen seen;
        PetscCall(see(a, seen));
        SeqState& state = seq_state(a);
        auto& kept = op == Op::none ? state.forward : state.transposed;
        auto& plan = kept.fresh(seen, [&] {
            return tulle::spmv::Plan<double>::make(context(), seen.view, {.op = op, .checked = false});
        });
        plan.run(1.0, {from, static_cast<std::size_t>(plan.cols())}, beta, {to, static_cast<std::size_t>(plan.rows())});
        PetscCall(PetscLogFlops(2.0 * static_cast<double>(seen.view.nonzeros)));
        return 0;
    }));
    ++(op == Op::none ? counts().mult : counts().mult_transpose);
    PetscCall(VecRestoreArrayRead(x, &from));
    PetscCall(beta == 0 ? VecRestoreArrayWrite(y, &to) : VecRestoreArray(y, &to));
    PetscFunctionReturn(0);
}

// z = y + op(A) x; z may be y.
PetscErrorCode multiply_add(Mat a, Vec x, Vec y, Vec z, Op op)
{
    PetscFunctionBegin;
    if (y != z) PetscCall(VecCopy(y, z));
    PetscCall(multiply(a, x, z, 1.0, op));
    PetscFunctionReturn(0);
}

PetscErrorCode mult(Mat a, Vec x, Vec y) { return multiply(a, x, y, 0.0, Op::none); }
PetscErrorCode mult_add(Mat a, Vec x, Vec y, Vec z) { return multiply_add(a, x, y, z, Op::none); }
PetscErrorCode mult_transpose(Mat a, Vec x, Vec y) { return multiply(a, x, y, 0.0, Op::transpose); }
PetscErrorCode mult_transpose_add(Mat a, Vec x, Vec y, Vec z) { return multiply_add(a, x, y, z, Op::transpose); }

using View = tulle::Csr32View<double>;

bool has_order(const View& a) { return a.sorted && a.unique; }

// visit(entry of x, entry of y with its column) for all entries of x; false where y has no such entry. Columns ascend.
template <class Visit>
bool for_matches(const View& x, const View& y, Visit&& visit)
{
    for (PetscInt i = 0; i < x.rows; ++i) {
        PetscInt l = y.row_begin[i];
        const PetscInt end = y.row_begin[i + 1];
        for (PetscInt k = x.row_begin[i]; k < x.row_begin[i + 1]; ++k, ++l) {
            while (l < end && y.col[l] < x.col[k]) ++l;
            if (l == end || y.col[l] != x.col[k]) return false;
            visit(k, l);
        }
    }
    return true;
}

// Y += factor X where Y has all entries of X, whatever the caller says: multigrid smooths its prolongators so, and
// makes its graphs symmetric. SeqAIJ looks for the place of every entry by itself.
PetscErrorCode axpy(Mat to, PetscScalar factor, Mat from, MatStructure structure)
{
    Seen x, y;
    PetscScalar* value = nullptr;
    PetscFunctionBegin;
    PetscCall(guarded([&]() -> PetscErrorCode {
        PetscCall(see(from, x));
        PetscCall(see(to, y));
        return 0;
    }));
    const bool merges = structure != SAME_NONZERO_PATTERN && has_order(x.view) && has_order(y.view) &&
                        for_matches(x.view, y.view, [](PetscInt, PetscInt) {});
    if (!merges) {
        PetscCall((*base.axpy)(to, factor, from, structure));
        PetscFunctionReturn(0);
    }
    PetscCall(MatSeqAIJGetArray(to, &value));
    for_matches(x.view, y.view, [&](PetscInt k, PetscInt l) { value[l] += factor * x.view.value[k]; });
    PetscCall(MatSeqAIJRestoreArray(to, &value));
    PetscCall(PetscLogFlops(2.0 * static_cast<double>(x.view.nonzeros)));
    ++counts().sums;
    PetscFunctionReturn(0);
}

PetscErrorCode set_product(Mat c);

void replace_operations(Mat a)
{
    a->ops->mult = mult;
    a->ops->multadd = mult_add;
    a->ops->multtranspose = mult_transpose;
    a->ops->multtransposeadd = mult_transpose_add;
    a->ops->productsetfromoptions = set_product;
    a->ops->axpy = axpy;
}

// SeqAIJ sets pointers to other kernels here (inodes).
PetscErrorCode assembly_end(Mat a, MatAssemblyType type)
{
    PetscFunctionBegin;
    PetscCall((*base.assembly_end)(a, type));
    if (is_ours(a)) replace_operations(a);
    PetscFunctionReturn(0);
}

constexpr const char* composed[]{"MatConvert_seqaijtulle_seqaij_C", "MatProductSetFromOptions_seqaijtulle_seqdense_C",
                                 "MatProductSetFromOptions_seqaijtulle_seqaij_C",
                                 "MatProductSetFromOptions_seqaij_seqaijtulle_C", "MatConvert_seqaij_seqaijtulle_C"};

PetscErrorCode remove_state(Mat a)
{
    PetscFunctionBegin;
    delete static_cast<SeqState*>(a->spptr);
    a->spptr = nullptr;
    for (const char* name : composed)
        PetscCall(PetscObjectComposeFunction(reinterpret_cast<PetscObject>(a), name, nullptr));
    PetscFunctionReturn(0);
}

PetscErrorCode destroy(Mat a)
{
    PetscFunctionBegin;
    PetscCall(remove_state(a));
    PetscCall((*base.destroy)(a));
    PetscFunctionReturn(0);
}

PetscErrorCode convert_to_seqaij(Mat a, MatType, MatReuse reuse, Mat* to)
{
    PetscFunctionBegin;
    if (reuse == MAT_INITIAL_MATRIX) PetscCall(MatDuplicate(a, MAT_COPY_VALUES, to));
    Mat b = *to;
    PetscCall(remove_state(b));
    b->ops->assemblyend = base.assembly_end;
    b->ops->destroy = base.destroy;
    b->ops->mult = base.mult;
    b->ops->multadd = base.mult_add;
    b->ops->multtranspose = base.mult_transpose;
    b->ops->multtransposeadd = base.mult_transpose_add;
    b->ops->productsetfromoptions = base.product;
    b->ops->axpy = base.axpy;
    PetscCall(PetscObjectChangeTypeName(reinterpret_cast<PetscObject>(b), MATSEQAIJ));
    PetscFunctionReturn(0);
}

// Products that are not ours are SeqAIJ's. Ours are those that a program asks for (MatMatMult, MatPtAP): PETSc marks
// them, and their values are there in the symbolic phase. Of others (MatProductCreate, parts of PETSc's algorithms for
// MPIAIJ) that is not known, and the numeric phase here relies on object states to see new values.
PetscErrorCode set_product(Mat c)
{
    PetscFunctionBegin;
    if (c->product->api_user) PetscCall(set_seq_product(c));
    if (!c->ops->productsymbolic && base.product) PetscCall((*base.product)(c));
    PetscFunctionReturn(0);
}

void remember_base(Mat a)
{
    if (base.assembly_end) return;
    base = {a->ops->assemblyend,
            a->ops->destroy,
            a->ops->mult,
            a->ops->multadd,
            a->ops->multtranspose,
            a->ops->multtransposeadd,
            a->ops->productsetfromoptions,
            a->ops->axpy};
}

PetscErrorCode create(Mat a)
{
    PetscFunctionBegin;
    PetscCall(MatSetType(a, MATSEQAIJ));
    PetscCall(convert_to_seqaijtulle(a, seq_type, MAT_INPLACE_MATRIX, &a));
    PetscFunctionReturn(0);
}

}  // namespace

SeqState& seq_state(Mat a) { return *static_cast<SeqState*>(a->spptr); }

PetscErrorCode see(Mat a, Seen& seen)
{
    PetscFunctionBegin;
    PetscCall(look(a, seen));
    if (!is_ours(a)) {
        look_at_rows(seen.view, seen.view.sorted, seen.view.unique);
        PetscFunctionReturn(0);
    }
    SeqState& state = seq_state(a);
    if (!(state.known == seen.pattern)) {
        look_at_rows(seen.view, state.sorted, state.unique);
        state.known = seen.pattern;
    }
    seen.view.sorted = state.sorted;
    seen.view.unique = state.unique;
    PetscFunctionReturn(0);
}

PetscErrorCode fill_seqaij(Mat to, const tulle::Csr<double>& c)
{
    PetscScalar* value = nullptr;
    PetscFunctionBegin;
    PetscCall(guarded([&]() -> PetscErrorCode {
        PetscCheck(c.nonzeros() <= PETSC_MAX_INT, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
                   "the product has %lld nonzeros, more than PETSc's 32-bit integers count",
                   static_cast<long long>(c.nonzeros()));
        std::vector<PetscInt> length(static_cast<std::size_t>(c.rows));
        for (PetscInt i = 0; i < c.rows; ++i)
            length[static_cast<std::size_t>(i)] =
                static_cast<PetscInt>(c.row_begin.data()[i + 1] - c.row_begin.data()[i]);
        PetscCall(MatSeqAIJSetPreallocation(to, 0, length.data()));
        return 0;
    }));
    PetscCall(MatSeqAIJSetColumnIndices(to, const_cast<PetscInt*>(c.col.data())));
    PetscCall(MatSeqAIJGetArrayWrite(to, &value));
    PetscCall(PetscArraycpy(value, c.value.data(), static_cast<std::size_t>(c.nonzeros())));
    PetscCall(MatSeqAIJRestoreArrayWrite(to, &value));
    PetscCall(MatAssemblyBegin(to, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(to, MAT_FINAL_ASSEMBLY));
    Seen filled;
    PetscCall(look(to, filled));
    SeqState& state = seq_state(to);
    state.known = filled.pattern;
    state.sorted = c.sorted;
    state.unique = c.unique;
    PetscFunctionReturn(0);
}

PetscErrorCode convert_to_seqaijtulle(Mat a, MatType, MatReuse reuse, Mat* to)
{
    PetscFunctionBegin;
    PetscCheck(reuse != MAT_REUSE_MATRIX, PETSC_COMM_SELF, PETSC_ERR_SUP, "tulle: MAT_REUSE_MATRIX; use MatCopy");
    if (reuse == MAT_INITIAL_MATRIX) PetscCall(MatDuplicate(a, MAT_COPY_VALUES, to));
    Mat b = *to;
    if (is_ours(b)) PetscFunctionReturn(0);
    remember_base(b);
    PetscCall(guarded([&]() -> PetscErrorCode {
        b->spptr = new SeqState;
        return 0;
    }));
    replace_operations(b);
    b->ops->assemblyend = assembly_end;
    b->ops->destroy = destroy;
    const auto object = reinterpret_cast<PetscObject>(b);
    PetscCall(PetscObjectComposeFunction(object, composed[0], convert_to_seqaij));
    PetscCall(PetscObjectComposeFunction(object, composed[1], set_seq_dense_product));
    PetscCall(PetscObjectComposeFunction(object, composed[2], set_product));
    PetscCall(PetscObjectComposeFunction(object, composed[3], set_product));
    PetscCall(PetscObjectComposeFunction(object, composed[4], convert_to_seqaijtulle));  // MatSetType asks the target
    PetscCall(PetscObjectChangeTypeName(object, seq_type));
    PetscFunctionReturn(0);
}

PetscErrorCode register_seqaij()
{
    PetscFunctionBegin;
    PetscCall(MatRegister(seq_type, create));
    PetscCall(MatSeqAIJRegister(seq_type, convert_to_seqaijtulle));
    PetscFunctionReturn(0);
}

}  // namespace tulle_petsc
