/* tulle: sparse linear algebra on CPUs and GPUs
   SPDX-License-Identifier: BSD-3-Clause
   Solves A x = 1 with the KSP and PC of the options; A is in PETSc's binary format (-f FILE). Prints the reason, the iterations, the
   relative residual of x, computed anew, and the processor seconds of setup and solve. bench/robustness/compare and time run it. */
#include <petscksp.h>
#include <time.h>

int main(int argc, char **argv)
{
  Mat                A;
  Vec                b, x, r;
  KSP                ksp;
  PetscViewer        file;
  KSPConvergedReason reason;
  PetscInt           iterations;
  PetscReal          norm, residual;
  clock_t            begin;
  double             seconds;
  char               name[4096];

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-f", name, sizeof(name), NULL));
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, name, FILE_MODE_READ, &file));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetType(A, MATAIJ));
  PetscCall(MatLoad(A, file));
  PetscCall(PetscViewerDestroy(&file));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(VecSet(b, 1.0));
  begin = clock();
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));
  seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, &iterations));
  PetscCall(VecNorm(b, NORM_2, &norm));
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAYPX(r, -1.0, b));
  PetscCall(VecNorm(r, NORM_2, &residual));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s %d %g %g\n", KSPConvergedReasons[reason], (int)iterations, (double)(residual / norm), seconds));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&r));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFinalize());
  return 0;
}
