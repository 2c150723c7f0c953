// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The entry point: PETSc loads the library (-dll_append) and calls PetscDLLibraryRegister_<name of the library>.
#include "plugin.hpp"

#include <optional>

namespace tulle_petsc {
namespace {

std::optional<tulle::Context> chosen;

PetscErrorCode set_context()
{
    PetscInt threads = 1;
    PetscFunctionBegin;
    PetscCall(PetscOptionsGetInt(nullptr, nullptr, "-tulle_threads", &threads, nullptr));
    PetscCall(guarded([&]() -> PetscErrorCode {
        chosen.emplace(tulle::Context::cpu(threads));
        return 0;
    }));
    PetscFunctionReturn(0);
}

// One line from every rank, in order; one name and number after the other, for programs that read it.
PetscErrorCode print_counts()
{
    const Counts& n = counts();
    PetscMPIInt rank = 0;
    PetscFunctionBegin;
    PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
    PetscCall(PetscSynchronizedPrintf(PETSC_COMM_WORLD,
                                      "tulle: rank %d plans %lld updates %lld mult %lld transpose %lld dense %lld "
                                      "symbolic %lld numeric %lld sums %lld solve %lld\n",
                                      rank, static_cast<long long>(n.plans), static_cast<long long>(n.value_updates),
                                      static_cast<long long>(n.mult), static_cast<long long>(n.mult_transpose),
                                      static_cast<long long>(n.dense), static_cast<long long>(n.symbolic),
                                      static_cast<long long>(n.numeric), static_cast<long long>(n.sums),
                                      static_cast<long long>(n.solves)));
    PetscCall(PetscSynchronizedFlush(PETSC_COMM_WORLD, PETSC_STDOUT));
    PetscFunctionReturn(0);
}

}  // namespace

Counts& counts()
{
    static Counts all;
    return all;
}

const tulle::Context& context() { return *chosen; }

}  // namespace tulle_petsc

extern "C" PETSC_VISIBILITY_PUBLIC PetscErrorCode PetscDLLibraryRegister_tulle_petsc(void)
{
    using namespace tulle_petsc;
    PetscBool view = PETSC_FALSE;
    PetscFunctionBegin;
    PetscCall(set_context());
    PetscCall(register_seqaij());
    PetscCall(register_mpiaij());
    PetscCall(register_factors());
    PetscCall(PetscOptionsGetBool(nullptr, nullptr, "-tulle_view", &view, nullptr));
    if (view) PetscCall(PetscRegisterFinalize(print_counts));
    PetscFunctionReturn(0);
}
