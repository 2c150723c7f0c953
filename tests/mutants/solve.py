"""Mutations of passes over vectors and of the solvers, each with the test that must catch it."""


def mutant(name, file, old, new, filter, test="solve", build="sim", **more):
    return {"name": name, "file": file, "old": old, "new": new, "test": test, "filter": filter, "build": build, **more}


DOTS = "*DotsOfEverySize/c*"
BAD = "*BadInputHasANamedReason/cpu*"
ALL = "*EveryMethodWithEveryPreconditioner/c*:*EnergyNorm*/c*"
LOOKS = "*LooksOfTheHostDoNotMatter/c*"

BLOCK = "*BlockOn*/c*"
TEAM = "*SolveOnTeam*/cpu"
CANDIDATES = "*GoesOnWithTheNextCandidate*/cpu*:*RowsInAnyOrder*/cpu*:*SaysWhy*/cpu*:Solve.Chooses*"

MUTANTS = [
    mutant("nest: cycles with any smoother pass for symmetric", "src/solve/policy.cpp", "(is_symmetric_smoother(*smoother) && is_symmetric(*smoother))", "is_symmetric(*smoother)", filter="*NestedOn.BadNests*/cpu1", seeds=[1]),
    mutant("solve on a team: the sums of the last member are left out", "src/solve/team/system.cpp", "member < part.size(); ++member) sums[k].add", "member + 1 < part.size(); ++member) sums[k].add", TEAM),
    mutant("solve on a team: y is not there for r = b - A x", "src/solve/team/system.cpp", "if (beta != V(0)) p.copy_vector(y[member], product.y(member).data());", "", TEAM),
    mutant("solve on a team: a block keeps the columns of the whole", "src/solve/parts/part.cpp", "block.col.data()[next] = a.col[k] - rows_.diagonal;", "block.col.data()[next] = i;", TEAM),
    mutant("solve on a team: blocks keep their old values", "src/solve/parts/part.cpp", "product_->update_values(block_.view());\n    preconditioner->update_values(block_.view());", "", TEAM),
    mutant("block cg: columns after their halt go on", "src/solve/ops/block_cg.hpp", "columns.on[c] = status[c].performed != 0;", "columns.on[c] = true;", BLOCK),
    mutant("block cg: a column has the step of the first", "src/solve/ops/block_cg.hpp", "alpha[c] = s[c].rho / curvature[c];", "alpha[c] = s[0].rho / curvature[0];", BLOCK),
    mutant("block cg: columns that are not there are read", "src/solve/ops/block_cg.hpp", "c < count ? from.at(i, first + c) : V(0);", "from.at(i, first);", BLOCK),
    mutant("block cg: the residual that the method tells decides", "src/solve/columns.cpp", "if (c.residual <= c.target) r.reason", "if (true) r.reason", BLOCK),
    mutant("solve: the setup of multigrid is not priced", "src/solve/loop.hpp", "(cost > 0 && done >= s_.choice().next_look", "(false && done >= s_.choice().next_look", "Solve.MultigridTakesOver*"),
    mutant("solve: multigrid takes over before the look", "src/solve/loop.hpp", "done >= s_.choice().next_look &&", "", "Solve.MultigridTakesOver*"),
    mutant("solve: entries right of the diagonal need no mirror image", "src/solve/inspect.cpp", "if (a_.value[at] != V(0)) symmetric_ = false;", ";", "Solve.FeaturesDoNotDepend*"),
    mutant("split cg: estimates decide", "src/solve/methods/split_cg.cpp", "estimate > near_target * status().target) return estimate;", "true) return estimate;", "SolveSsor.Tells*"),
    mutant("split cg: x keeps what it is owed", "src/solve/methods/split_cg.cpp", "system_.axpby(owed_, t_.data(), 1, ordered_x());", "", "SolveSsor.TakesAsMany*"),
    mutant("split cg: curvature of any sign", "src/solve/methods/split_cg.cpp", "curvature > 0 && is_finite(curvature)", "is_finite(curvature)", "SolveSsor.Indefinite*"),
    mutant("split cg: an order is not undone", "src/solve/methods/split_cg.cpp", "        split_.add(own_x_.data(), x_);\n", "", "SolveSsor.TakesAsMany*"),
    mutant("solve: fill-in inside the pattern counts as outside", "src/solve/inspect.cpp", "latest_.data()[j] == i ? 0 : square;", "latest_.data()[j] == k ? 0 : square;", "SolveSsor.FillInIs*"),
    mutant("solve: sweeps wherever there is fill-in", "src/solve/policy.cpp", "f.fill_in >= least_fill_in &&", "f.fill_in > 0 &&", "SolveSsor.ComesFirst*"),
    mutant("solve: the diagonal is a coupling", "src/solve/inspect.cpp", "sum += j == i ? 0 : v * v", "sum += v * v", "SolveSsor.FillInIs*"),
    mutant("solve: the spread counts the diagonal", "src/solve/inspect.cpp", "entries += distance > 0 ? 1 : 0;", "++entries;", "Solve.FactorsOfScattered*"),
    mutant("solve: a price for a preconditioner of the caller", "src/solve/policy.cpp", "c.next_cost = 0;", "", "Solve.PricesTheSetup*"),
    mutant("solve: fill-in of any size", "src/factor/pattern.cpp", "room == 0 || static_cast<double>(p.col.size()) <= room", "true", "Solve.FillInHasALimit"),
    mutant("solve: no candidate after the first", "src/solve/loop.hpp", "return next_ < s_.candidates.size();", "return false;", CANDIDATES),
    mutant("solve: a later solve begins with the first candidate", "src/solve/loop.hpp", "s.failed = !report.converged();", "s.failed = true;", CANDIDATES),
    mutant("solve: candidates forget the preconditioner of the recipe", "src/solve/policy.cpp", "        c.preconditioner = p;\n        c.next_cost", "        c.next_cost", CANDIDATES),
    mutant("solve: any x is a least-squares solution", "src/solve/loop.hpp", "!is_least_squares(s_, true_)) return;", "is_least_squares(s_, true_)) return;", CANDIDATES),
    mutant("pass: the counter of blocks is not set back", "src/vector/cuda/pass.cuh", "            *space.arrived = 0;  // for the next pass\n", "", DOTS, test="vector"),
    mutant("pass of a CPU: the rest of a piece left out", "src/vector/cpu/pass.hpp", "for (int lane = 0; i < end; ++i, ++lane) add(i, lane);", "", DOTS, test="vector"),
    mutant("cg: curvature of any sign", "src/solve/ops/cg.hpp", "return curvature > 0 && is_finite(curvature) && is_finite(alpha);", "return is_finite(curvature) && is_finite(alpha);", "*NegativeDefiniteUnderCgIsTold/c*"),
    mutant("cg without a preconditioner: curvature of any sign", "src/solve/ops/cg.hpp", "return dots[0] > 0 && is_finite(alpha) && in_range;", "return is_finite(alpha) && in_range;", "*NegativeDefiniteUnderCgIsTold/c*"),
    mutant("cg without a preconditioner: x never gets what it is owed", "src/solve/ops/cg.hpp", "static_cast<V>(loaded.x + owed * loaded.before)", "loaded.x", "*StepsOfMore*/cpu*:*EnergyNorm*/cpu*", seeds=[1]),
    mutant("cg without a preconditioner: the prediction is the next rho", "src/solve/ops/cg.hpp", "*s = {.rho = sum[0],", "*s = {.rho = beta * s->rho,", "*StepsOfMore*/cpu*", seeds=[1]),
    mutant("cg without a preconditioner: the last step is not made up for", "src/solve/methods/cg.cpp", "if (!wide_) system_.pass(CgSettle<double>{", "if (false) system_.pass(CgSettle<double>{", "*EnergyNorm*/c*", seeds=[1]),
    mutant("cg without a preconditioner: a square that overflows ends the solve", "src/solve/methods/cg.cpp", "        wide_ = std::make_unique<Cg<double>>(system_);\n        return true;", "        return false;", "*CgForMatricesFarFromOne/cpu*", seeds=[1]),
    mutant("cg without a preconditioner: a square below the range is taken", "src/solve/ops/cg.hpp", "is_finite(predicted) && dots[1] > least_square;", "is_finite(predicted);", "*CgForMatricesFarFromOne/cpu*", seeds=[1]),
    mutant("nested: smoothers are not damped", "src/amg/levels.cpp", "return 4.0 / 3.0 / (radius_safety * largest);", "return 1;", "*PreconditionersSmooth*/cpu*", seeds=[0, 1, 2]),
    mutant("nested: a smoother keeps its old values", "src/amg/levels.cpp", "if (l->given) l->given->update_values(l->a);", "if (l->given) continue;", "*NewValuesGoThrough*/cpu*", seeds=[0, 1, 2]),
    mutant("nested: fixed steps go back to the best x", "src/solve/loop.hpp", "limit && makes_fixed_steps(s_.recipe)", "false", "*FixedStepsAreALinear*/cpu*", seeds=[0, 1, 2]),
    mutant("nested: fixed steps stop where the residual grows", "src/solve/inner.cpp", "if (makes_fixed_steps(recipe)) {", "if (false) {", "*FixedStepsAreALinear*/cpu*", seeds=[0, 1, 2]),
    mutant("nested: a smoother inside itself counts as none", "src/solve/checks.cpp", "    check_depth(depth);\n    require<ValueError>(!r.method", "    require<ValueError>(!r.method", "*BadNestsAreRefused/cpu*", seeds=[1]),
    mutant("nested: any depth", "src/solve/checks.cpp", "depth <= most_nested,", "depth >= 0,", "*BadNestsAreRefused/cpu*", seeds=[1]),
    mutant("nested: an inner solver counts as a linear operator", "src/solve/policy.cpp", "nested->empty() || !makes_fixed_steps(nested->recipe());", "false;", "*BadNestsAreRefused/cpu*", seeds=[1]),
    mutant("cg: x is updated after a halt", "src/solve/ops/cg.hpp", "        return status->performed != 0;", "        return true;", LOOKS + ":" + BAD + ":" + ALL),
    mutant("solve: convergence as the method tells it", "src/solve/loop.hpp", "if (true_ <= report_.target) return finish(Reason::converged);", "if (report_.restarts > 0 || true_ <= report_.target) return finish(Reason::converged);", BAD + ":" + ALL),
    mutant("gmres: orthogonalised against all but the last", "src/solve/ops/gmres.hpp", "for (int k = 0; k < count; ++k) next -= s.dots[k]", "for (int k = 0; k < count - 1; ++k) next -= s.dots[k]", LOOKS + ":" + ALL),
    mutant("block Jacobi: pivots are not sought", "src/solve/ops/setup.hpp", "if (size(i) > size(pivot)) pivot = i;", "", "*BlocksThatSwapRowsAreInverted/c*"),
    mutant("lanczos: the vector before the last is forgotten", "src/vector/ops.hpp", "(before > 0 ? before * u[i] : 0)", "0.0", "*LanczosEndsWithTheSpectrum/c*", test="vector"),
    mutant("amg in float: residuals are not scaled", "src/solve/preconditioner.cpp", "const double to_one = power_to_one(norm), scale", "const double to_one = 1, scale", "*MultigridInFloatForAnyScale*/c*"),
    mutant("plan: solves after an update of values that failed", "src/solve/solve.cpp", "    s.usable = false;\n", "", "*AFailedUpdateOfValues*/c*"),
    # second rounds, large strides, combinations of options
    mutant("pass: what does not fit the first round of a grid is left out", "src/vector/cuda/pass.cuh", "for (; first < n; first += round) some_entries", "if (first < n) some_entries", "*PassesOfMoreEntries*/cuda*", seeds=[1]),
    mutant("pass: a pass from the end begins one round too early", "src/vector/cuda/pass.cuh", "while (first + round < n) first += round;", "while (first + 2 * round < n) first += round;", "*PassesOfMoreEntries*/cuda*", seeds=[1]),
    mutant("status: norms of half the room", "src/solve/status.hpp", "s->history[s->iterations % most_unseen] = norm;", "s->history[s->iterations % (most_unseen / 2)] = norm;", "*LooksAroundTheRoom*/cpu*", seeds=[1]),
    mutant("gmres: dot products of two passes at most", "src/solve/methods/gmres.cpp", "first < count; first += tulle::vector::most_sums", "first < count && first < 16; first += tulle::vector::most_sums", "*GmresWithMore*/cpu*", seeds=[1]),
    mutant("block cg: leading dimensions are those of dense arrays", "src/solve/ops/block_cg.hpp", "return {d.data, rows ? d.leading : 1, rows ? 1 : d.leading};", "return {d.data, rows ? d.cols : 1, rows ? 1 : d.rows};", "*LeadingDimensions*/cpu*", seeds=[1]),
    mutant("block cg: strides in 32 bits", "src/solve/ops/block_cg.hpp", "return data[i * row_step + j * column_step];", "return data[static_cast<index_t>(i * row_step + j * column_step)];", "*RightHandSides30BitsApart/cpu*", seeds=[1]),
    mutant("several right-hand sides: a first guess is not loaded", "src/solve/columns.cpp", "if (begun || recipe_.guess) load_column", "if (begun) load_column", "*LeadingDimensions*/cpu*", seeds=[1]),
    mutant("block Jacobi: the last block has no rows of the identity", "src/solve/ops/setup.hpp", "first + i >= a.rows && i == j ? V(1) : V(0)", "false ? V(1) : V(0)", "*BlocksOfEverySize/cpu*", seeds=[1]),
    mutant("bicgstab: a wrong dot with preconditioners in float", "src/solve/methods/bicgstab.cpp", "vector::dot(q, system_.rows(), s,", "vector::dot(q, system_.rows(), sizeof(V) == 4 ? z : s,", "*FloatTakesAbout*/cpu*", seeds=[3, 4, 5]),
    mutant("minres: preconditioned norms are recorded", "src/solve/ops/minres.hpp", "0, 0, 0, 0, status->norm / beta};", "0, 0, 0, 0, 1.0};", "*ScaleOfTheSystem*/cpu*", seeds=[3, 4, 5]),
    mutant("several right-hand sides: a column that goes on has all iterations again", "src/solve/columns.cpp", "            s_.recipe.stop.iterations -= std::min(done, s_.recipe.stop.iterations);\n", "", "*TheLimitOfIterations*/cpu*", seeds=[1]),
    mutant("refinement: nodes of one unknown inside", "src/solve/methods/refinement.cpp", ".unknowns_per_node = recipe.unknowns_per_node,\n", ".unknowns_per_node = 1,\n", "Solve.RefinementTakes*", seeds=[1]),
    mutant("refinement: the matrix in float keeps the scale of its first values", "src/solve/methods/refinement.cpp", "        matrix_scale_ = power_to_one(system_.ctx, a);\n", "", "*RefinementTakesNewValuesOfAnotherScale/cpu*", seeds=[1]),
    mutant("several right-hand sides: the limit of a column stays", "src/solve/columns.cpp", "                s.recipe.stop.iterations = iterations;\n", "", "*ALaterSolveHasAllIterationsAgain/cpu*", seeds=[1]),
    mutant("loop: the last x after a limit, whatever the method", "src/solve/loop.hpp", "limit && !minimises_residual(report_.method) ? 10 : 1", "limit ? 10 : 1", BAD, seeds=[1]),
    mutant("refinement: the inner solver keeps its values", "src/solve/methods/refinement.cpp", "        inner_.update_values(matrix_.convert(a, matrix_scale_));\n", "", "*NewValuesAreThose*/cpu*", seeds=[3, 4, 5]),
    mutant("chebyshev: bounds of the first values", "src/solve/methods/chebyshev.cpp", "void update_values(const CsrView<V>&) override { find_bounds(); }", "void update_values(const CsrView<V>&) override {}", "*NewValuesAreThose*/cpu*", seeds=[3, 4, 5]),
    mutant("amg in float: new values keep the scale of the first", "src/solve/preconditioner.cpp", "        matrix_scale_ = power_to_one(diagonal_range(ctx_, a).most);\n        plan_", "        plan_", "*NewValuesOfAnotherScale/cpu*", seeds=[1]),
    # CUDA graphs
    mutant("blocks: graphs outlive new values", "src/solve/solve.cpp", "    s.blocks.forget();\n", "", "*NewValuesAndOtherVectors/cuda*", seeds=[1]),
    mutant("blocks: the host stays behind a replay", "src/solve/blocks.cpp", "    body.set_place(block.after);\n    return true;", "    if (block.graph.empty()) body.set_place(block.after);\n    return true;", "*BlocksThatCannot*/cuda*", seeds=[1]),
    mutant("blocks: a capture that fails leaves the host where it was", "src/solve/blocks.cpp", "        why_not_ = e.what();\n    }\n    body.set_place(block.after);", "        why_not_ = e.what();\n        return;\n    }\n    body.set_place(block.after);", "*BlocksThatCannot*/cuda*", seeds=[1]),
    mutant("plan: its stream does not wait for the caller's", "src/solve/solve.cpp", "{ ctx_.start_after(callers_); }", "{}", "*WorkIsInOrder*/cuda*", seeds=[1, 2, 3]),
    mutant("loop: a second look sees norms again", "src/solve/loop.hpp", "for (; seen_ < status.iterations; ++seen_)", "for (seen_ = 0; seen_ < status.iterations; ++seen_)", "*LooksAroundTheRoom*/cpu*", seeds=[1]),
]
