// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// MatProduct of sequential matrices: AB, AtB, ABt and PtAP of sparse ones, AB and AtB with a dense B. The symbolic
// phase computes the values too, without a plan; the first numeric phase with other values makes the plans, which stay
// with the result.
#include <algorithm>
#include <memory>
#include <utility>

#include "seqaij.hpp"
#include "tulle/spgemm.hpp"

namespace tulle_petsc {
namespace {

using tulle::Csr;
using tulle::Op;
using SpgemmPlan = tulle::spgemm::Plan<double>;

// C = op(A) op(B), or C = Pt (A P) in two products.
struct SeqProduct {
    std::optional<SpgemmPlan> first, second;  // from the first numeric phase with other values on
    Csr<double> middle;                       // A P
    ValueStamp a, b;                          // the values that the symbolic phase saw
    bool fresh = true;                        // no numeric phase yet: C has the products of those values
};

PetscErrorCode destroy_product(void* data)
{
    delete static_cast<SeqProduct*>(data);
    return 0;
}

Op op_of_a(MatProductType type) { return type == MATPRODUCT_AtB ? Op::transpose : Op::none; }
Op op_of_b(MatProductType type) { return type == MATPRODUCT_ABt ? Op::transpose : Op::none; }

Csr<double> multiply_first(MatProductType type, const Seen& a, const Seen& b)
{
    Csr<double> c = tulle::spgemm::multiply(context(), a.view, b.view,
                                            {.op_a = op_of_a(type), .op_b = op_of_b(type), .checked = false});
    if (type != MATPRODUCT_PtAP) return c;
    return tulle::spgemm::multiply(context(), b.view, c.view(), {.op_a = Op::transpose, .checked = false});
}

SpgemmPlan make_plan(const tulle::AnyCsr<double>& a, const tulle::AnyCsr<double>& b, Op op_a, Op op_b)
{
    ++counts().plans;
    return SpgemmPlan::make(
        context(), a, b,
        {.op_a = op_a, .op_b = op_b, .checked = false, .refill = tulle::spgemm::NumericReuse::fastest});
}

// Plans, and A P of these values.
void make_plans(SeqProduct& product, MatProductType type, const Seen& a, const Seen& b)
{
    product.first.emplace(make_plan(a.view, b.view, op_of_a(type), op_of_b(type)));
    if (type != MATPRODUCT_PtAP) return;
    product.middle = product.first->run();
    product.second.emplace(make_plan(b.view, product.middle.view(), Op::transpose, Op::none));
}

// The same for plans that are there.
void update_plans(SeqProduct& product, const Seen& a, const Seen& b)
{
    product.first->update_values(a.view, b.view);
    if (!product.second) return;
    product.first->run(product.middle);
    product.second->update_values(b.view, product.middle.view());
}

// The values of C, whose columns PETSc has.
void multiply_again(SeqProduct& product, MatProductType type, const Seen& a, const Seen& b, const Seen& c, double* to)
{
    if (product.first) update_plans(product, a, b);
    else make_plans(product, type, a, b);
    const SpgemmPlan& last = product.second ? *product.second : *product.first;
    tulle::require<tulle::ShapeError>(last.nonzeros() == c.view.nonzeros, "C is not the product any more");
    last.run(c.view.col, to);
}

PetscErrorCode numeric(Mat c)
{
    auto& product = *static_cast<SeqProduct*>(c->product->data);
    PetscScalar* value = nullptr;
    PetscFunctionBegin;
    PetscCall(guarded([&]() -> PetscErrorCode {
        Seen a, b, now;
        PetscCall(see(c->product->A, a));
        PetscCall(see(c->product->B, b));
        if (std::exchange(product.fresh, false) && a.values == product.a && b.values == product.b) return 0;
        PetscCall(see(c, now));
        PetscCall(MatSeqAIJGetArrayWrite(c, &value));
        multiply_again(product, c->product->type, a, b, now, value);
        ++counts().numeric;
        PetscCall(MatSeqAIJRestoreArrayWrite(c, &value));
        return 0;
    }));
    PetscCall(MatAssemblyBegin(c, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(c, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(0);
}

PetscErrorCode set_shape(Mat c, PetscInt rows, PetscInt cols, MatType type)
{
    PetscFunctionBegin;
    PetscCall(MatSetSizes(c, rows, cols, rows, cols));
    PetscCall(MatSetType(c, type));
    PetscFunctionReturn(0);
}

// Pattern and values in one go: the values of A and B are there already, or are computed again by the numeric phase.
PetscErrorCode symbolic(Mat c)
{
    Mat_Product* p = c->product;
    PetscFunctionBegin;
    PetscCall(guarded([&]() -> PetscErrorCode {
        auto product = std::make_unique<SeqProduct>();
        Seen a, b;
        PetscCall(see(p->A, a));
        PetscCall(see(p->B, b));
        const Csr<double> result = multiply_first(p->type, a, b);
        product->a = a.values;
        product->b = b.values;
        ++counts().symbolic;
        PetscCall(set_shape(c, result.rows, result.cols, seq_type));
        PetscCall(set_block_sizes(c));
        PetscCall(fill_seqaij(c, result));
        p->data = product.release();
        p->destroy = destroy_product;
        return 0;
    }));
    c->ops->productnumeric = numeric;
    PetscFunctionReturn(0);
}

Op dense_op(Mat c) { return c->product->type == MATPRODUCT_AtB ? Op::transpose : Op::none; }

PetscErrorCode dense_view(Mat b, const PetscScalar* data, tulle::DenseView<const double>& view)
{
    PetscInt leading = 0;
    PetscFunctionBegin;
    PetscCall(MatDenseGetLDA(b, &leading));
    view = {b->rmap->n, b->cmap->n, leading, tulle::Layout::col_major, data};
    PetscFunctionReturn(0);
}

PetscErrorCode dense_multiply(Mat c, const PetscScalar* from, PetscScalar* to)
{
    Mat_Product* p = c->product;
    PetscFunctionBegin;
    PetscCall(guarded([&]() -> PetscErrorCode {
        Seen a;
        tulle::DenseView<const double> b, shape;
        PetscCall(see(p->A, a));
        PetscCall(dense_view(p->B, from, b));
        PetscCall(dense_view(c, to, shape));
        const Op op = dense_op(c);
        SeqState& state = seq_state(p->A);
        auto& plan = (op == Op::none ? state.dense : state.dense_transposed).fresh(a, [&] {
            return tulle::spmm::Plan<double>::make(
                context(), a.view, {.op = op, .n = b.cols, .b_layout = tulle::Layout::col_major, .checked = false});
        });
        plan.run(b, tulle::DenseView<double>{shape.rows, shape.cols, shape.leading, shape.layout, to});
        PetscCall(PetscLogFlops(2.0 * static_cast<double>(a.view.nonzeros) * b.cols));
        return 0;
    }));
    ++counts().dense;
    PetscFunctionReturn(0);
}

PetscErrorCode dense_numeric(Mat c)
{
    Mat b = c->product->B;
    const PetscScalar* from = nullptr;
    PetscScalar* to = nullptr;
    PetscFunctionBegin;
    PetscCall(MatDenseGetArrayRead(b, &from));
    PetscCall(MatDenseGetArrayWrite(c, &to));
    PetscCall(dense_multiply(c, from, to));
    PetscCall(MatDenseRestoreArrayRead(b, &from));
    PetscCall(MatDenseRestoreArrayWrite(c, &to));
    PetscCall(MatAssemblyBegin(c, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(c, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(0);
}

PetscErrorCode dense_symbolic(Mat c)
{
    const Mat_Product* p = c->product;
    PetscFunctionBegin;
    const PetscInt rows = dense_op(c) == Op::none ? p->A->rmap->n : p->A->cmap->n;
    PetscCall(set_shape(c, rows, p->B->cmap->n, MATSEQDENSE));
    PetscCall(MatSetUp(c));
    c->ops->productnumeric = dense_numeric;
    PetscFunctionReturn(0);
}

}  // namespace

PetscErrorCode set_block_sizes(Mat c)
{
    const Mat_Product* p = c->product;
    PetscInt rows_a = 1, cols_a = 1, rows_b = 1, cols_b = 1;
    PetscFunctionBegin;
    PetscCall(MatGetBlockSizes(p->A, &rows_a, &cols_a));
    PetscCall(MatGetBlockSizes(p->B, &rows_b, &cols_b));
    const PetscInt rows = p->type == MATPRODUCT_PtAP ? cols_b : p->type == MATPRODUCT_AtB ? cols_a : rows_a;
    PetscCall(MatSetBlockSizes(c, rows, p->type == MATPRODUCT_ABt ? rows_b : cols_b));
    PetscFunctionReturn(0);
}

PetscErrorCode set_seq_product(Mat c)
{
    PetscFunctionBegin;
    switch (c->product->type) {
    case MATPRODUCT_AB:
    case MATPRODUCT_AtB:
    case MATPRODUCT_ABt:
    case MATPRODUCT_PtAP: c->ops->productsymbolic = symbolic; break;
    default: break;
    }
    PetscFunctionReturn(0);
}

PetscErrorCode set_seq_dense_product(Mat c)
{
    PetscFunctionBegin;
    if (c->product->type == MATPRODUCT_AB || c->product->type == MATPRODUCT_AtB)
        c->ops->productsymbolic = dense_symbolic;
    PetscFunctionReturn(0);
}

}  // namespace tulle_petsc
