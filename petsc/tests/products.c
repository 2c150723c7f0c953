/* tulle: sparse linear algebra on CPUs and GPUs
   SPDX-License-Identifier: BSD-3-Clause
   Every product of a matrix of -mat_type with the same of MATAIJ: vectors, transposes, dense and sparse matrices, PtAP; again with new values, with a new pattern,
   for copies and conversions. Prints "products agree" and exits with 0, or with PETSc's error. */
#include <petscmat.h>

static PetscErrorCode expect_near(Mat A, Mat B, const char *what)
{
  Mat D;
  PetscReal difference, norm;
  PetscInt rows, cols, rows_right, cols_right;
  PetscBool sparse;

  PetscFunctionBeginUser;
  PetscCall(MatGetBlockSizes(A, &rows, &cols)); /* MPIAIJ by "backend" has none */
  PetscCall(MatGetBlockSizes(B, &rows_right, &cols_right));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)B, &sparse, MATSEQAIJ, MATMPIAIJ, ""));
  PetscCheck(!sparse || (rows >= rows_right && cols >= cols_right), PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: blocks of %" PetscInt_FMT " x %" PetscInt_FMT ", not %" PetscInt_FMT " x %" PetscInt_FMT, what, rows, cols, rows_right, cols_right);
  PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &D));
  PetscCall(MatNorm(B, NORM_FROBENIUS, &norm));
  PetscCall(MatAXPY(D, -1.0, B, DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatNorm(D, NORM_FROBENIUS, &difference));
  PetscCheck(difference <= 1e-13 * norm, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: differs by %g of %g", what, (double)difference, (double)norm);
  PetscCall(MatDestroy(&D));
  PetscFunctionReturn(0);
}

static PetscErrorCode expect_near_vec(Vec x, Vec y, const char *what)
{
  PetscReal difference, norm;

  PetscFunctionBeginUser;
  PetscCall(VecNorm(y, NORM_2, &norm));
  PetscCall(VecAXPY(x, -1.0, y));
  PetscCall(VecNorm(x, NORM_2, &difference));
  PetscCheck(difference <= 1e-13 * norm, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: differs by %g of %g", what, (double)difference, (double)norm);
  PetscFunctionReturn(0);
}

/* rows x cols with some entries in every third row only, and one long row. */
static PetscErrorCode fill(Mat A, PetscInt rows, PetscInt cols, PetscInt per_row, PetscReal scale)
{
  PetscInt begin, end, i, k;

  PetscFunctionBeginUser;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (i = begin; i < end; i++)
    for (k = 0; k < (i == rows / 2 ? cols : i % 3 ? per_row : 0); k++) {
      const PetscInt col = i == rows / 2 ? k : (i * 7 + k * k * 5) % cols;
      PetscCall(MatSetValue(A, i, col, scale * (1.0 + i % 5 - 0.25 * k), INSERT_VALUES));
    }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

static PetscErrorCode make(MatType type, PetscInt rows, PetscInt cols, PetscInt per_row, Mat *A)
{
  PetscFunctionBeginUser;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, rows, cols));
  PetscCall(MatSetBlockSizes(*A, 3, cols == rows ? 3 : 2));
  PetscCall(MatSetType(*A, MATAIJ));
  if (!type) PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSeqAIJSetPreallocation(*A, cols, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*A, cols, NULL, cols, NULL));
  PetscCall(fill(*A, rows, cols, per_row, 1.0));
  PetscFunctionReturn(0);
}

static PetscErrorCode compare_vectors(Mat A, Mat B)
{
  Vec x, y, z, u, v, w;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecDuplicate(y, &z));
  PetscCall(MatCreateVecs(A, &u, &v));
  PetscCall(VecDuplicate(u, &w));
  PetscCall(VecSetRandom(x, NULL));
  PetscCall(VecSetRandom(v, NULL));
  PetscCall(MatMult(A, x, y));
  PetscCall(MatMult(B, x, z));
  PetscCall(expect_near_vec(y, z, "MatMult"));
  PetscCall(MatMultAdd(A, x, v, y));
  PetscCall(MatMultAdd(B, x, v, z));
  PetscCall(expect_near_vec(y, z, "MatMultAdd"));
  PetscCall(VecCopy(v, y));
  PetscCall(MatMultAdd(A, x, y, y));
  PetscCall(expect_near_vec(y, z, "MatMultAdd in place"));
  PetscCall(MatMultTranspose(A, v, u));
  PetscCall(MatMultTranspose(B, v, w));
  PetscCall(expect_near_vec(u, w, "MatMultTranspose"));
  PetscCall(MatMultTransposeAdd(A, v, x, u));
  PetscCall(MatMultTransposeAdd(B, v, x, w));
  PetscCall(expect_near_vec(u, w, "MatMultTransposeAdd"));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&v));
  PetscCall(VecDestroy(&w));
  PetscFunctionReturn(0);
}

/* A + s B where A has all entries of B, where it has not, and where they are the same. */
static PetscErrorCode compare_sums(PetscInt n)
{
  const PetscInt per_row[] = {9, 5};
  Mat ours[2], theirs[2];
  PetscInt k;

  PetscFunctionBeginUser;
  for (k = 0; k < 2; k++) {
    PetscCall(make(NULL, n, n, per_row[k], &ours[k]));
    PetscCall(make(MATAIJ, n, n, per_row[k], &theirs[k]));
  }
  for (k = 0; k < 2; k++) {
    PetscCall(MatAXPY(ours[0], -0.375, ours[1], SUBSET_NONZERO_PATTERN));
    PetscCall(MatAXPY(theirs[0], -0.375, theirs[1], SUBSET_NONZERO_PATTERN));
    PetscCall(expect_near(ours[0], theirs[0], "MatAXPY, a part of the pattern"));
    PetscCall(MatAYPX(ours[0], 0.5, ours[1], SUBSET_NONZERO_PATTERN));
    PetscCall(MatAYPX(theirs[0], 0.5, theirs[1], SUBSET_NONZERO_PATTERN));
    PetscCall(expect_near(ours[0], theirs[0], "MatAYPX, a part of the pattern"));
  }
  PetscCall(MatAXPY(ours[0], 2.0, ours[0], SUBSET_NONZERO_PATTERN));
  PetscCall(MatAXPY(theirs[0], 2.0, theirs[0], SUBSET_NONZERO_PATTERN));
  PetscCall(expect_near(ours[0], theirs[0], "MatAXPY, the same matrix"));
  PetscCall(MatAXPY(ours[1], 3.0, ours[0], DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatAXPY(theirs[1], 3.0, theirs[0], DIFFERENT_NONZERO_PATTERN));
  PetscCall(expect_near(ours[1], theirs[1], "MatAXPY, more than the pattern"));
  PetscCall(MatAXPY(ours[1], -1.0, ours[0], UNKNOWN_NONZERO_PATTERN));
  PetscCall(MatAXPY(theirs[1], -1.0, theirs[0], UNKNOWN_NONZERO_PATTERN));
  PetscCall(expect_near(ours[1], theirs[1], "MatAXPY, the same pattern"));
  for (k = 0; k < 2; k++) {
    PetscCall(MatDestroy(&ours[k]));
    PetscCall(MatDestroy(&theirs[k]));
  }
  PetscFunctionReturn(0);
}

typedef struct {
  Mat ab, atb, ptap, dense, dense_t; /* ours */
} Products;

static PetscErrorCode compare_products(Mat A, Mat B, Mat P, Mat Q, Mat X, Mat Y, MatReuse reuse, Products *p)
{
  Mat C;

  PetscFunctionBeginUser;
  PetscCall(MatMatMult(A, P, reuse, PETSC_DEFAULT, &p->ab));
  PetscCall(MatMatMult(B, Q, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C));
  PetscCall(expect_near(p->ab, C, "MatMatMult"));
  PetscCall(MatDestroy(&C));
  PetscCall(MatTransposeMatMult(P, A, reuse, PETSC_DEFAULT, &p->atb));
  PetscCall(MatTransposeMatMult(Q, B, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C));
  PetscCall(expect_near(p->atb, C, "MatTransposeMatMult"));
  PetscCall(MatDestroy(&C));
  PetscCall(MatPtAP(A, P, reuse, PETSC_DEFAULT, &p->ptap));
  PetscCall(MatPtAP(B, Q, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C));
  PetscCall(expect_near(p->ptap, C, "MatPtAP"));
  PetscCall(MatDestroy(&C));
  PetscCall(MatMatMult(P, X, reuse, PETSC_DEFAULT, &p->dense));
  PetscCall(MatMatMult(Q, X, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C));
  PetscCall(expect_near(p->dense, C, "MatMatMult dense"));
  PetscCall(MatDestroy(&C));
  PetscCall(MatTransposeMatMult(P, Y, reuse, PETSC_DEFAULT, &p->dense_t));
  PetscCall(MatTransposeMatMult(Q, Y, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C));
  PetscCall(expect_near(p->dense_t, C, "MatTransposeMatMult dense"));
  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(0);
}

/* The rows are distributed as the rows or columns of A. */
static PetscErrorCode make_dense(Mat A, PetscBool columns, PetscInt cols, Mat *X)
{
  PetscInt rows_here, cols_here;

  PetscFunctionBeginUser;
  PetscCall(MatGetLocalSize(A, &rows_here, &cols_here));
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, columns ? cols_here : rows_here, PETSC_DECIDE, PETSC_DETERMINE, cols, NULL, X));
  PetscCall(MatSetRandom(*X, NULL));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  const PetscInt n = 60, m = 22;
  Mat A, B, P, Q, X, Y, copy;
  Products p = {NULL, NULL, NULL, NULL, NULL};
  PetscInt k;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(make(NULL, n, n, 5, &A));
  PetscCall(make(MATAIJ, n, n, 5, &B));
  PetscCall(make(NULL, n, m, 2, &P));
  PetscCall(make(MATAIJ, n, m, 2, &Q));
  PetscCall(make_dense(P, PETSC_TRUE, 6, &X));
  PetscCall(make_dense(P, PETSC_FALSE, 3, &Y));
  for (k = 0; k < 3; k++) { /* new values each time */
    PetscCall(compare_vectors(A, B));
    PetscCall(compare_vectors(P, Q));
    PetscCall(compare_products(A, B, P, Q, X, Y, k ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX, &p));
    PetscCall(MatZeroEntries(p.ab)); /* computed again, whatever C holds */
    PetscCall(compare_products(A, B, P, Q, X, Y, MAT_REUSE_MATRIX, &p));
    PetscCall(k ? MatScale(A, 1.5) : fill(A, n, n, 5, 2.0));
    PetscCall(k ? MatScale(B, 1.5) : fill(B, n, n, 5, 2.0));
    if (k) PetscCall(MatDiagonalScale(P, NULL, NULL));
  }
  PetscCall(compare_sums(n));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &copy));
  PetscCall(compare_vectors(copy, B));
  PetscCall(MatZeroEntries(A));
  PetscCall(compare_vectors(copy, B));
  PetscCall(MatDestroy(&copy));
  PetscCall(fill(A, n, n, 9, 1.0)); /* a new pattern */
  PetscCall(MatZeroEntries(B));
  PetscCall(fill(B, n, n, 9, 1.0));
  PetscCall(compare_vectors(A, B));
  PetscCall(MatConvert(A, MATAIJ, MAT_INPLACE_MATRIX, &A));
  PetscCall(compare_vectors(A, B));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&P));
  PetscCall(MatDestroy(&Q));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&Y));
  PetscCall(MatDestroy(&p.ab));
  PetscCall(MatDestroy(&p.atb));
  PetscCall(MatDestroy(&p.ptap));
  PetscCall(MatDestroy(&p.dense));
  PetscCall(MatDestroy(&p.dense_t));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "products agree\n"));
  PetscCall(PetscFinalize());
  return 0;
}
