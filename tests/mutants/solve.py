"""Mutations of passes over vectors and of the solvers, each with the test that must catch it."""


def mutant(name, file, old, new, filter, test="solve", build="sim", **more):
    return {"name": name, "file": file, "old": old, "new": new, "test": test, "filter": filter, "build": build, **more}


DOTS = "*DotsOfEverySize/c*"
BAD = "*BadInputHasANamedReason/cpu*"
ALL = "*EveryMethodWithEveryPreconditioner/c*:*EnergyNorm*/c*"
LOOKS = "*LooksOfTheHostDoNotMatter/c*"

MUTANTS = [
    mutant("pass: the counter of blocks is not set back", "src/vector/cuda/pass.cuh", "            *space.arrived = 0;  // for the next pass\n", "", DOTS, test="vector"),
    mutant("pass of a CPU: the rest of a piece left out", "src/vector/cpu/pass.hpp", "for (int lane = 0; i < end; ++i, ++lane) add(i, lane);", "", DOTS, test="vector"),
    mutant("cg: curvature of any sign", "src/solve/ops/cg.hpp", "return curvature > 0 && is_finite(alpha);", "return is_finite(alpha);", "*NegativeDefiniteUnderCgIsTold/c*"),
    mutant("cg: x is updated after a halt", "src/solve/ops/cg.hpp", "        return status->performed != 0;", "        return true;", LOOKS + ":" + BAD + ":" + ALL),
    mutant("solve: convergence as the method tells it", "src/solve/solve.cpp", "if (true_ <= report_.target) return finish(Reason::converged);", "if (report_.restarts > 0 || true_ <= report_.target) return finish(Reason::converged);", BAD + ":" + ALL),
    mutant("gmres: orthogonalised against all but the last", "src/solve/ops/gmres.hpp", "for (int k = 0; k < count; ++k) next -= s.dots[k]", "for (int k = 0; k < count - 1; ++k) next -= s.dots[k]", LOOKS + ":" + ALL),
    mutant("block Jacobi: pivots are not sought", "src/solve/ops/setup.hpp", "if (size(i) > size(pivot)) pivot = i;", "", "*BlocksThatSwapRowsAreInverted/c*"),
    mutant("lanczos: the vector before the last is forgotten", "src/vector/ops.hpp", "(before > 0 ? before * u[i] : 0)", "0.0", "*LanczosEndsWithTheSpectrum/c*", test="vector"),
    mutant("amg in float: residuals are not scaled", "src/solve/preconditioner.cpp", "std::isnormal(norm) ? std::ldexp(1.0, -std::ilogb(norm)) : 1", "1", "*MultigridInFloatForAnyScale*/c*"),
    mutant("plan: solves after an update of values that failed", "src/solve/solve.cpp", "    s.usable = false;\n", "", "*AFailedUpdateOfValues*/c*"),
]
