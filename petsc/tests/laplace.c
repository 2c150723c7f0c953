/* tulle: sparse linear algebra on CPUs and GPUs
   SPDX-License-Identifier: BSD-3-Clause
   A PETSc program that knows nothing of tulle: a Laplacian with convection on a grid of 2 or 3 dimensions, solved twice by the KSP of the options, the second time
   with other values in the same pattern. Prints iterations, residual and solution with few digits, so that two runs can be compared. */
#include <petscksp.h>

typedef struct {
  PetscInt dim, n;
  PetscReal wind, shift;
} Problem;

static PetscErrorCode fill(Mat A, const Problem *p)
{
  PetscInt begin, end, row;

  PetscFunctionBeginUser;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (row = begin; row < end; row++) {
    PetscInt stride = 1, d, cols[7], count = 0;
    PetscScalar vals[7];
    for (d = 0; d < p->dim; d++, stride *= p->n) {
      const PetscInt at = row / stride % p->n;
      if (at > 0) { cols[count] = row - stride; vals[count++] = -1.0 - p->wind; }
      if (at < p->n - 1) { cols[count] = row + stride; vals[count++] = -1.0 + p->wind; }
    }
    cols[count] = row; vals[count++] = 2.0 * p->dim + p->shift;
    PetscCall(MatSetValues(A, 1, &row, count, cols, vals, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  Problem p = {2, 24, 0.0, 0.0};
  PetscInt rows = 1, d, its, round, bands = 0;
  Mat A;
  Vec x, b;
  KSP ksp;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-dim", &p.dim, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &p.n, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-wind", &p.wind, NULL));
  for (d = 0; d < p.dim; d++) rows *= p.n;
  bands = 2 * p.dim + 1;
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, rows, rows));
  PetscCall(MatSetFromOptions(A));
  PetscCall(MatSeqAIJSetPreallocation(A, bands, NULL));
  PetscCall(MatMPIAIJSetPreallocation(A, bands, NULL, bands, NULL));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  for (round = 0; round < 2; round++) {
    PetscReal norm, entry;
    MatType type;
    p.shift = 0.25 * round;
    PetscCall(fill(A, &p));
    PetscCall(VecSet(b, 1.0));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetIterationNumber(ksp, &its));
    PetscCall(VecNorm(x, NORM_2, &norm));
    PetscCall(VecMax(x, NULL, &entry));
    PetscCall(MatGetType(A, &type));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "round %" PetscInt_FMT ": %" PetscInt_FMT " iterations, |x| %.6e, max %.6e\n", round, its, (double)norm, (double)entry));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFinalize());
  return 0;
}
