/* tulle: sparse linear algebra on CPUs and GPUs
   SPDX-License-Identifier: BSD-3-Clause
   Times of MatMult, MatMatMult (A A; again with MAT_REUSE_MATRIX, the first time and later), MatPtAP (again) and the setup of GAMG with a matrix in PETSc's binary format (-f FILE):
   the shortest CPU times of -rounds, in milliseconds, the slowest rank counts. petsc/tests/compare runs it with and without the plugin. */
#include <petscksp.h>
#include <time.h>

static PetscInt rounds = 5;

static PetscErrorCode print_time(const char *what, PetscLogDouble seconds)
{
  PetscLogDouble slowest = seconds;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Allreduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s %.4f\n", what, 1e3 * slowest));
  PetscFunctionReturn(0);
}

static double cpu_seconds(void)
{
  struct timespec now;

  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#define BEST(what, count, before, call) \
  do { \
    PetscLogDouble best = 1e30, begin, end; \
    PetscInt round, k; \
    for (round = 0; round < rounds; round++) { \
      before; \
      PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD)); \
      begin = cpu_seconds(); \
      for (k = 0; k < count; k++) call; \
      end = cpu_seconds(); \
      if ((end - begin) / count < best) best = (end - begin) / count; \
    } \
    PetscCall(print_time(what, best)); \
  } while (0)

/* Piecewise constant: rows 4 i … 4 i + 3 of A are row i of the coarse matrix. */
static PetscErrorCode aggregates(Mat A, Mat *P)
{
  PetscInt n, begin, end, local, i;

  PetscFunctionBeginUser;
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  local = end - begin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, P));
  PetscCall(MatSetSizes(*P, local, (local + 3) / 4, n, PETSC_DETERMINE));
  PetscCall(MatSetFromOptions(*P));
  PetscCall(MatSeqAIJSetPreallocation(*P, 1, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*P, 1, NULL, 0, NULL));
  PetscCall(MatGetOwnershipRangeColumn(*P, &n, NULL));
  for (i = 0; i < local; i++) PetscCall(MatSetValue(*P, begin + i, n + i / 4, 0.5, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(*P, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*P, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

static PetscErrorCode setup_gamg(Mat A)
{
  PC pc;

  PetscFunctionBeginUser;
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetType(pc, PCGAMG));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(PCSetUp(pc));
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(0);
}

static PetscErrorCode new_product(Mat A, Mat P, PetscBool ptap)
{
  Mat C;

  PetscFunctionBeginUser;
  if (ptap) PetscCall(MatPtAP(A, P, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C));
  else PetscCall(MatMatMult(A, A, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C));
  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(0);
}

/* C once, and another A: the next product is the first repetition, which may prepare others. */
static PetscErrorCode before_first_again(Mat A, Mat P, PetscBool ptap, Mat *C)
{
  PetscFunctionBeginUser;
  PetscCall(MatDestroy(C));
  if (ptap) PetscCall(MatPtAP(A, P, MAT_INITIAL_MATRIX, PETSC_DEFAULT, C));
  else PetscCall(MatMatMult(A, A, MAT_INITIAL_MATRIX, PETSC_DEFAULT, C));
  PetscCall(MatScale(A, -1.0));
  PetscFunctionReturn(0);
}

static PetscErrorCode same_product(Mat A, Mat P, PetscBool ptap, Mat C)
{
  PetscFunctionBeginUser;
  if (ptap) PetscCall(MatPtAP(A, P, MAT_REUSE_MATRIX, PETSC_DEFAULT, &C));
  else PetscCall(MatMatMult(A, A, MAT_REUSE_MATRIX, PETSC_DEFAULT, &C));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  char file[PETSC_MAX_PATH_LEN] = "";
  PetscBool gamg = PETSC_TRUE;
  PetscViewer viewer;
  Mat A, P, C;
  Vec x, y;
  PetscScalar trace;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-f", file, sizeof(file), NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-rounds", &rounds, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-gamg", &gamg, NULL));
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, file, FILE_MODE_READ, &viewer));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetFromOptions(A));
  PetscCall(MatLoad(A, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecSet(x, 1.0));
  PetscCall(MatMult(A, x, y));
  BEST("MatMult", 20, (void)0, PetscCall(MatMult(A, x, y)));
  BEST("MatMatMult", 1, (void)0, PetscCall(new_product(A, NULL, PETSC_FALSE)));
  C = NULL;
  BEST("MatMatMult_first_again", 1, PetscCall(before_first_again(A, NULL, PETSC_FALSE, &C)), PetscCall(same_product(A, NULL, PETSC_FALSE, C)));
  BEST("MatMatMult_again", 1, PetscCall(MatScale(A, -1.0)), PetscCall(same_product(A, NULL, PETSC_FALSE, C)));
  PetscCall(MatDestroy(&C));
  PetscCall(aggregates(A, &P));
  BEST("MatPtAP", 1, (void)0, PetscCall(new_product(A, P, PETSC_TRUE)));
  BEST("MatPtAP_first_again", 1, PetscCall(before_first_again(A, P, PETSC_TRUE, &C)), PetscCall(same_product(A, P, PETSC_TRUE, C)));
  BEST("MatPtAP_again", 1, PetscCall(MatScale(A, -1.0)), PetscCall(same_product(A, P, PETSC_TRUE, C)));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&P));
  PetscCall(MatGetDiagonal(A, y));
  PetscCall(VecSum(y, &trace));
  if (PetscRealPart(trace) < 0) PetscCall(MatScale(A, -1.0));
  if (gamg) BEST("GAMG_setup", 1, (void)0, PetscCall(setup_gamg(A)));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFinalize());
  return 0;
}
