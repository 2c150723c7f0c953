// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// MATMPIAIJTULLE: an MPIAIJ whose two local blocks, diagonal and off-diagonal, are MATSEQAIJTULLE. PETSc exchanges the
// entries of x and calls the products of the blocks.
#include "seqaij.hpp"

namespace tulle_petsc {
namespace {

decltype(_MatOps::assemblyend) base_assembly_end = nullptr;
decltype(_MatOps::productsetfromoptions) base_product = nullptr;

constexpr const char* convert_name = "MatConvert_mpiaijtulle_mpiaij_C";
constexpr const char* convert_back_name = "MatConvert_mpiaij_mpiaijtulle_C";
constexpr const char* dense_name = "MatProductSetFromOptions_mpiaijtulle_mpidense_C";

PetscErrorCode convert_blocks(Mat a)
{
    Mat diagonal = nullptr, off_diagonal = nullptr;
    PetscFunctionBegin;
    PetscCall(MatMPIAIJGetSeqAIJ(a, &diagonal, &off_diagonal, nullptr));
    for (Mat* block : {&diagonal, &off_diagonal})
        if (*block) PetscCall(convert_to_seqaijtulle(*block, seq_type, MAT_INPLACE_MATRIX, block));
    PetscFunctionReturn(0);
}

PetscErrorCode assembly_end(Mat a, MatAssemblyType type)
{
    PetscFunctionBegin;
    PetscCall((*base_assembly_end)(a, type));
    PetscCall(convert_blocks(a));
    PetscFunctionReturn(0);
}

// MPIAIJ's algorithms. "backend" calls the products of the local blocks, which are tulle's, and forgets the block
// sizes.
PetscErrorCode set_product(Mat c)
{
    PetscBool backend = PETSC_FALSE;
    PetscFunctionBegin;
    PetscCall((*base_product)(c));
    PetscCall(PetscStrcmp(c->product->alg, "backend", &backend));
    if (backend && !c->preallocated) PetscCall(set_block_sizes(c));
    PetscFunctionReturn(0);
}

PetscErrorCode convert_to_mpiaij(Mat a, MatType, MatReuse reuse, Mat* to)
{
    PetscFunctionBegin;
    if (reuse == MAT_INITIAL_MATRIX) PetscCall(MatDuplicate(a, MAT_COPY_VALUES, to));
    Mat b = *to, blocks[2] = {nullptr, nullptr};
    PetscCall(MatMPIAIJGetSeqAIJ(b, &blocks[0], &blocks[1], nullptr));
    for (Mat& block : blocks)
        if (block) PetscCall(MatConvert(block, MATSEQAIJ, MAT_INPLACE_MATRIX, &block));
    b->ops->assemblyend = base_assembly_end;
    b->ops->productsetfromoptions = base_product;
    const auto object = reinterpret_cast<PetscObject>(b);
    PetscCall(PetscObjectComposeFunction(object, convert_name, nullptr));
    PetscCall(PetscObjectComposeFunction(object, convert_back_name, nullptr));
    PetscCall(PetscObjectComposeFunction(object, dense_name, nullptr));
    PetscCall(PetscObjectChangeTypeName(object, MATMPIAIJ));
    PetscFunctionReturn(0);
}

PetscErrorCode convert_to_mpiaijtulle(Mat a, MatType, MatReuse reuse, Mat* to);

PetscErrorCode compose_functions(Mat a)
{
    const auto object = reinterpret_cast<PetscObject>(a);
    PetscFunctionBegin;
    PetscCall(PetscObjectComposeFunction(object, convert_name, convert_to_mpiaij));
    PetscCall(PetscObjectComposeFunction(object, convert_back_name, convert_to_mpiaijtulle));
    PetscCall(PetscObjectComposeFunction(object, dense_name, set_mpi_dense_product));
    PetscFunctionReturn(0);
}

PetscErrorCode convert_to_mpiaijtulle(Mat a, MatType, MatReuse reuse, Mat* to)
{
    PetscFunctionBegin;
    PetscCheck(reuse != MAT_REUSE_MATRIX, PETSC_COMM_SELF, PETSC_ERR_SUP, "tulle: MAT_REUSE_MATRIX; use MatCopy");
    if (reuse == MAT_INITIAL_MATRIX) PetscCall(MatDuplicate(a, MAT_COPY_VALUES, to));
    Mat b = *to;
    if (b->ops->assemblyend != assembly_end) {
        base_assembly_end = b->ops->assemblyend;
        base_product = b->ops->productsetfromoptions;
        b->ops->assemblyend = assembly_end;
        b->ops->productsetfromoptions = set_product;
        PetscCall(compose_functions(b));
    }
    if (b->assembled) PetscCall(convert_blocks(b));
    PetscCall(PetscObjectChangeTypeName(reinterpret_cast<PetscObject>(b), mpi_type));
    PetscFunctionReturn(0);
}

PetscErrorCode create(Mat a)
{
    PetscFunctionBegin;
    PetscCall(MatSetType(a, MATMPIAIJ));
    PetscCall(convert_to_mpiaijtulle(a, mpi_type, MAT_INPLACE_MATRIX, &a));
    PetscFunctionReturn(0);
}

}  // namespace

PetscErrorCode register_mpiaij()
{
    PetscFunctionBegin;
    PetscCall(MatRegister(mpi_type, create));
    PetscCall(MatRegisterRootName(root_type, seq_type, mpi_type));
    PetscFunctionReturn(0);
}

}  // namespace tulle_petsc
