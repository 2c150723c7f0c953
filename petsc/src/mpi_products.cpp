// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// MatMatMult of an MPIAIJ with a dense matrix: rows of B that other ranks have are fetched by a star forest while the
// diagonal block is multiplied. B is copied row by row, as messages and kernels take it.
#include <memory>
#include <new>
#include <vector>

#include <petscsf.h>

#include "seqaij.hpp"

namespace tulle_petsc {
namespace {

// What stays with C.
struct DenseProduct {
    PetscSF ghosts_from = nullptr;
    MPI_Datatype row = MPI_DATATYPE_NULL;
    std::vector<PetscScalar> own, ghosts;  // rows of B
};

PetscErrorCode destroy_product(void* data)
{
    const std::unique_ptr<DenseProduct> product(static_cast<DenseProduct*>(data));
    PetscFunctionBegin;
    PetscCall(PetscSFDestroy(&product->ghosts_from));
    if (product->row != MPI_DATATYPE_NULL) PetscCallMPI(MPI_Type_free(&product->row));
    PetscFunctionReturn(0);
}

// C = block rows + beta C, with rows of B one after the other.
PetscErrorCode multiply_block(Mat block, const std::vector<PetscScalar>& rows, double beta,
                              const tulle::DenseView<double>& c)
{
    PetscFunctionBegin;
    PetscCall(guarded([&]() -> PetscErrorCode {
        Seen a;
        PetscCall(see(block, a));
        auto& plan = seq_state(block).dense_rows.fresh(a, [&] {
            return tulle::spmm::Plan<double>::make(context(), a.view, {.n = c.cols, .checked = false});
        });
        plan.run(1.0,
                 tulle::DenseView<const double>{a.view.cols, c.cols, c.cols, tulle::Layout::row_major, rows.data()},
                 beta, c);
        PetscCall(PetscLogFlops(2.0 * static_cast<double>(a.view.nonzeros) * c.cols));
        return 0;
    }));
    PetscFunctionReturn(0);
}

PetscErrorCode copy_rows(Mat b, std::vector<PetscScalar>& rows)
{
    const PetscScalar* from = nullptr;
    PetscInt leading = 0;
    const PetscInt n = b->cmap->N;
    PetscFunctionBegin;
    PetscCall(MatDenseGetLDA(b, &leading));
    PetscCall(MatDenseGetArrayRead(b, &from));
    for (PetscInt i = 0; i < b->rmap->n; ++i)
        for (PetscInt j = 0; j < n; ++j)
            rows[static_cast<std::size_t>(i) * static_cast<std::size_t>(n) + static_cast<std::size_t>(j)] =
                from[static_cast<std::size_t>(j) * static_cast<std::size_t>(leading) + static_cast<std::size_t>(i)];
    PetscCall(MatDenseRestoreArrayRead(b, &from));
    PetscFunctionReturn(0);
}

PetscErrorCode multiply_blocks(Mat c, DenseProduct& product, PetscScalar* to)
{
    Mat diagonal = nullptr, off_diagonal = nullptr;
    PetscInt leading = 0;
    PetscFunctionBegin;
    PetscCall(MatMPIAIJGetSeqAIJ(c->product->A, &diagonal, &off_diagonal, nullptr));
    PetscCall(MatDenseGetLDA(c, &leading));
    const tulle::DenseView<double> view{c->rmap->n, c->cmap->N, leading, tulle::Layout::col_major, to};
    PetscCall(
        PetscSFBcastBegin(product.ghosts_from, product.row, product.own.data(), product.ghosts.data(), MPI_REPLACE));
    PetscCall(multiply_block(diagonal, product.own, 0.0, view));
    PetscCall(
        PetscSFBcastEnd(product.ghosts_from, product.row, product.own.data(), product.ghosts.data(), MPI_REPLACE));
    PetscCall(multiply_block(off_diagonal, product.ghosts, 1.0, view));
    ++counts().dense;
    PetscFunctionReturn(0);
}

PetscErrorCode numeric(Mat c)
{
    auto& product = *static_cast<DenseProduct*>(c->product->data);
    PetscScalar* to = nullptr;
    PetscFunctionBegin;
    PetscCall(copy_rows(c->product->B, product.own));
    PetscCall(MatDenseGetArrayWrite(c, &to));
    PetscCall(multiply_blocks(c, product, to));
    PetscCall(MatDenseRestoreArrayWrite(c, &to));
    PetscCall(MatAssemblyBegin(c, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(c, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(0);
}

// Who has the rows of B that the off-diagonal block reads.
PetscErrorCode make_product(Mat a, Mat b, DenseProduct& product)
{
    Mat off_diagonal = nullptr;
    const PetscInt* ghosts = nullptr;
    PetscFunctionBegin;
    PetscCall(MatMPIAIJGetSeqAIJ(a, nullptr, &off_diagonal, &ghosts));
    const PetscInt count = off_diagonal->cmap->n, n = b->cmap->N;
    PetscCall(PetscSFCreate(PetscObjectComm(reinterpret_cast<PetscObject>(a)), &product.ghosts_from));
    PetscCall(PetscSFSetGraphLayout(product.ghosts_from, b->rmap, count, nullptr, PETSC_OWN_POINTER, ghosts));
    PetscCallMPI(MPI_Type_contiguous(n, MPIU_SCALAR, &product.row));
    PetscCallMPI(MPI_Type_commit(&product.row));
    PetscCall(guarded([&]() -> PetscErrorCode {
        product.own.resize(static_cast<std::size_t>(b->rmap->n) * static_cast<std::size_t>(n));
        product.ghosts.resize(static_cast<std::size_t>(count) * static_cast<std::size_t>(n));
        return 0;
    }));
    PetscFunctionReturn(0);
}

PetscErrorCode symbolic(Mat c)
{
    Mat_Product* p = c->product;
    PetscFunctionBegin;
    PetscCheck(p->A->cmap->rstart == p->B->rmap->rstart && p->A->cmap->rend == p->B->rmap->rend, PETSC_COMM_SELF,
               PETSC_ERR_ARG_SIZ, "columns of A are not distributed as the rows of B");
    PetscCall(MatSetSizes(c, p->A->rmap->n, p->B->cmap->n, p->A->rmap->N, p->B->cmap->N));
    PetscCall(MatSetBlockSizesFromMats(c, p->A, p->B));
    PetscCall(MatSetType(c, MATMPIDENSE));
    PetscCall(MatSetUp(c));
    auto* const product = new (std::nothrow) DenseProduct;
    PetscCheck(product, PETSC_COMM_SELF, PETSC_ERR_MEM, "tulle: no memory for a product");
    p->data = product;
    p->destroy = destroy_product;
    PetscCall(make_product(p->A, p->B, *product));
    c->ops->productnumeric = numeric;
    PetscFunctionReturn(0);
}

}  // namespace

PetscErrorCode set_mpi_dense_product(Mat c)
{
    PetscErrorCode (*of_mpiaij)(Mat) = nullptr;
    PetscFunctionBegin;
    if (c->product->type == MATPRODUCT_AB) {
        c->ops->productsymbolic = symbolic;
        PetscFunctionReturn(0);
    }
    PetscCall(PetscObjectQueryFunction(reinterpret_cast<PetscObject>(c->product->A),
                                       "MatProductSetFromOptions_mpiaij_mpidense_C", &of_mpiaij));
    if (of_mpiaij) PetscCall((*of_mpiaij)(c));
    PetscFunctionReturn(0);
}

}  // namespace tulle_petsc
