// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What the files of the plugin share: the settings, the counters, and the way from tulle's exceptions to PETSc's
// errors.
#pragma once

#include <petsc/private/matimpl.h>
#include <petscmat.h>

#include <exception>
#include <type_traits>

#include "tulle/context.hpp"
#include "tulle/csr.hpp"
#include "tulle/error.hpp"

#if defined(PETSC_USE_64BIT_INDICES) || defined(PETSC_USE_COMPLEX) || !defined(PETSC_USE_REAL_DOUBLE)
#error "tulle's plugin needs a PETSc with 32-bit indices and real scalars in double precision"
#endif

namespace tulle_petsc {

inline constexpr const char* seq_type = "seqaijtulle";
inline constexpr const char* mpi_type = "mpiaijtulle";
inline constexpr const char* root_type = "aijtulle";
inline constexpr const char* solver_type = "tulle";

// How often the kernels of tulle ran in this process; printed by -tulle_view when PETSc ends.
struct Counts {
    PetscInt64 plans = 0, value_updates = 0;
    PetscInt64 mult = 0, mult_transpose = 0, dense = 0;
    PetscInt64 symbolic = 0, numeric = 0, sums = 0;
    PetscInt64 solves = 0;
};
Counts& counts();

// The CPU with as many threads as -tulle_threads says, one where it says nothing: a rank is a core.
const tulle::Context& context();

// Calls f(), which returns a PetscErrorCode. No exception leaves it: the text of tulle's becomes a PETSc error.
template <class F>
PetscErrorCode guarded(F&& f) noexcept
{
    const auto fail = [](PetscErrorCode code, const char* text) {
        return PetscError(PETSC_COMM_SELF, __LINE__, "tulle_petsc", __FILE__, code, PETSC_ERROR_INITIAL, "tulle: %s",
                          text);
    };
    try {
        return f();
    } catch (const tulle::OutOfMemory& e) {
        return fail(PETSC_ERR_MEM, e.what());
    } catch (const std::bad_alloc& e) {
        return fail(PETSC_ERR_MEM, e.what());
    } catch (const tulle::ShapeError& e) {
        return fail(PETSC_ERR_ARG_SIZ, e.what());
    } catch (const tulle::ValueError& e) {
        return fail(PETSC_ERR_ARG_OUTOFRANGE, e.what());
    } catch (const std::exception& e) {
        return fail(PETSC_ERR_LIB, e.what());
    }
}

// Registration, one function for each file.
PetscErrorCode register_seqaij();
PetscErrorCode register_mpiaij();
PetscErrorCode register_factors();

// Products of sequential matrices.
PetscErrorCode set_seq_product(Mat c);
PetscErrorCode set_seq_dense_product(Mat c);
// Of an MPIAIJ with a dense matrix.
PetscErrorCode set_mpi_dense_product(Mat c);
// The block sizes of C from those of the factors, for all types: multigrid for systems of equations reads them.
PetscErrorCode set_block_sizes(Mat c);

}  // namespace tulle_petsc
