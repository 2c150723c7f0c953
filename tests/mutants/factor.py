"""Mutations of incomplete factorisations and AMG, each with the test that must catch it."""


def mutant(name, file, old, new, filter, test="factor", build="sim", **more):
    return {"name": name, "file": file, "old": old, "new": new, "test": test, "filter": filter, "build": build, **more}


REPRODUCES = "*ReproducesTheMatrixOnThePattern/c*:*GivesTheSameFactorsAsOneThread/c*"
ROW = "*NamesTheRowThatCannotBeFactorised/c*:*RetriesWithAShiftAndReportsIt/c*"
UPDATE = "*UpdatesValuesAsANewPlanWould/c*"
SYMMETRIC = "*IsSymmetricAndPositiveDefinite/c*:*PreconditionsCg/c*"

ARRANGE = "Arrange.*:*ArrangeOn*/c*"
COMBINED = "*FactorCombinationsOn*/c*"

FSAI = "*FsaiOn*/c*"

MUTANTS = [
    mutant("fsai: the last column of a row is not eliminated", "src/factor/fsai_row.hpp", "for (int j = 0; j < k; ++j) sum -=", "for (int j = 0; j < k - 1; ++j) sum -=", FSAI),
    mutant("fsai: pivots of any sign", "src/factor/fsai_row.hpp", "return pivot > least ? Breakdown::none : Breakdown::negative;", "return Breakdown::none;", FSAI),
    mutant("fsai: long rows are outside of every class", "src/factor/cuda/invert_rows.cu", "if (longest > 32) invert_class", "if (longest > 64) invert_class", FSAI),
    mutant("fsai: the transpose keeps its values", "src/factor/fsai.cpp", "std::as_const(source_).data(), source_.size(),", "std::as_const(source_).data(), 0,", FSAI),
    mutant("fsai: the lightest entries of long rows are kept", "src/factor/fsai.cpp", "a.weight > b.weight : a.col", "a.weight < b.weight : a.col", FSAI),
    mutant("matching: duals of columns are not renewed", "src/factor/matching.hpp", "v_.data()[j] -= shortest - distance_.data()[j];", "", "Arrange.*"),
    mutant("matching: zeros are entries", "src/factor/matching.hpp", "if (cost_.data()[k] < infinite) work", "work", "*StructurallySingular*/c*"),
    mutant("order: neighbours in one direction only", "src/partition/neighbours.hpp", "        list.data()[begin[j + 1]++] = i;\n", "        list.data()[begin[j + 1]++] = j;\n", "Arrange.Cuthill*"),
    mutant("order: every pattern counts as symmetric", "src/factor/orders.cpp", "if (at == a.row_begin[j + 1] || a.col[at] != i) return false;", "if (at < 0) return false;", "Arrange.TheOrder*"),
    mutant("colours: neighbours after a row do not count", "src/factor/orders.cpp", "if (j < i) seen.data()[colour.data()[j]] = i;", "if (j < i - 1) seen.data()[colour.data()[j]] = i;", "Orders.Colours*"),
    mutant("dissection: places in place of rows", "src/partition/metis.cpp", "for (const Index i : row) order", "for (const Index i : place) order", "Orders.NestedDissectionHas*"),
    mutant("prices: stored entries count as left out", "src/factor/price_orders.cpp", " || find(i, j) != nullptr) continue;", ") continue;", "Orders.FillIn*"),
    mutant("prices: no margin", "src/factor/price_orders.cpp", "margin * costs[best].total(calls)", "costs[best].total(calls)", "Orders.TheNatural*"),
    mutant("gather: the last entry left out", "src/factor/cuda/gather.cu", "if (i < n) to[i]", "if (i < n - 1) to[i]", ARRANGE),
    mutant("factor update: the arranged matrix keeps its values", "src/factor/factor.cpp", "gather(q, s.arranged->from_matrix, a.value, s.arranged->value.data()); });", "static_cast<void>(q); });", ARRANGE),
    mutant("factor lu: a warp does not wait for the rows it needs", "src/factor/cuda/factorize.cu", "while (load_acquire(done) == 0) {}", "load_acquire(done);", REPRODUCES),
    mutant("factor lu: the last entry of the other row left out", "src/factor/cuda/factorize.cu", "t < p.row_begin[other + 1]; t += 32", "t < p.row_begin[other + 1] - 1; t += 32", REPRODUCES),
    mutant("factor lu of the CPU: what other rows have left counts", "src/factor/cpu/factorize.cpp", "++k) work[p.col[k]] = value[k];", "++k) work[p.col[k]] += value[k];", REPRODUCES),
    mutant("factor relaxed: fill-in is added to the diagonal with the other sign", "src/factor/cpu/factorize.cpp", "work[i] -= relax * outside;", "work[i] += relax * outside;", "Factor.Relaxed*"),
    mutant("factor relaxed: what the row before has counts as inside", "src/factor/cpu/factorize.cpp", "inside[p.col[k]] = 0;", "inside[p.col[k]] *= 1;", "Factor.Relaxed*"),
    mutant("factor sweeps: the odd entry of a padded row stands beside the nearest", "src/sptrsv/solve/cpu/sweep.hpp", "n > 4 && n % 2 == 1 && k > 0 ? k + 1 : k", "n > 4 && n % 2 == 1 && k > 1 ? k + 1 : k", "Factor.OneThread*"),
    mutant("factor cholesky: products are added", "src/factor/cpu/factorize.cpp", "(value[k] - gathered_dot(", "(value[k] + gathered_dot(", "*ReproducesTheMatrixOnThePattern/cpu*"),
    mutant("factor cholesky of the CPU: entries of other rows count", "src/factor/cpu/factorize.cpp", "work[p.col[k]] = 0;", "work[p.col[k]] += 0;", "*ReproducesTheMatrixOnThePattern/cpu*"),
    mutant("factor sweeps: the transpose is divided by the other diagonal", "src/factor/cpu/sweeps.cpp", "value[k] * reciprocal_.data()[row];", "value[k] * reciprocal_.data()[i];", "Factor.OneThread*"),
    mutant("factor sweeps: 16 bits for all columns", "src/factor/cpu/sweeps.cpp", "return rows <= offset_t{std::numeric_limits<std::uint16_t>::max()} + 1;", "return rows >= 0;", "Factor.OneThread*"),
    mutant("ssor: the lower triangle is not divided by the diagonal", "src/factor/cpu/sweeps.cpp", "scale = form_ == SweepForm::lu ? V(1) : reciprocal;", "scale = form_ != SweepForm::cholesky ? V(1) : reciprocal;", "Ssor.AppliesBoth*"),
    mutant("ssor: the upper sweep divides once more", "src/factor/cpu/sweeps.cpp", "if (form_ == SweepForm::split) solve_upper", "if (form_ != SweepForm::split) solve_upper", "Ssor.AppliesBoth*"),
    mutant("ssor: the diagonal counts as the weight does not say", "src/factor/cpu/sweeps.cpp", "beside = weight_ - V(2)", "beside = V(-1)", "Ssor.StepsOf*"),
    mutant("ssor: x does not get what it is owed", "src/factor/cpu/sweeps.cpp", "v.x[i] += o * v.t[i];", "", "Ssor.StepsOf*"),
    mutant("ssor: sums without the rest of a piece", "src/factor/cpu/sweeps.cpp", "for (; i < end; ++i) sum[0] += f(i);", "", "Ssor.StepsOf*"),
    mutant("ssor update: rows in no order keep their values", "src/factor/ssor.cpp", "if (!value_.empty()) load_values", "if (!value_.empty() && !sweeps_) load_values", "Ssor.TakesNewValues*"),
    mutant("ssor: a missing diagonal entry is taken for the next", "src/factor/ssor.cpp", "k < end && a.col[k] == i ? k : max_offset;", "k < end ? k : max_offset;", "Ssor.Refuses*"),
    mutant("factor update: sweeps keep their values", "src/factor/factor.cpp", "s.sweeps->fill(view_of(s.pattern), s.value.data());", "", "*UpdatesValuesAsANewPlanWould/cpu*"),
    mutant("factor pattern: columns stored twice are taken", "src/factor/cuda/find_pattern.cu", "ascending && j > last", "ascending && j >= last", ROW),
    mutant("factor pattern: the diagonal of a lower triangle left out", "src/factor/cuda/find_pattern.cu", "(lower ? found + 1 : end)", "(lower ? found : end)", REPRODUCES),
    mutant("factor: a negative pivot is taken", "src/factor/shifted.hpp", "if (cholesky && pivot <= V(0)) return Breakdown::negative;", "", ROW),
    mutant("factor: a zero pivot is taken", "src/factor/shifted.hpp", "return pivot == V(0) ? Breakdown::zero_pivot", "return false ? Breakdown::zero_pivot", ROW),
    mutant("factor: shifts go towards zero", "src/factor/shifted.hpp", "? diagonal - step : diagonal + step", "? diagonal + step : diagonal - step", ROW),
    mutant("factor iluk: levels are not added", "src/factor/pattern.cpp", "row.known(k) + p.known[t] + 1;", "row.known(k) + 1;", "*FullFillIn*/c*:*LevelsOfFillIn*"),
    mutant("factor update: the second triangle keeps its values", "src/factor/factor.cpp", "s.second->update_values(s.factors());", "", UPDATE),
    mutant("amg: roots within distance one only", "src/amg/rows.hpp", "const Word other = around[strong.col[k]];", "const Word other = around[i];", "Amg.Roots*", test="amg"),
    mutant("amg: a root beside an undecided one", "src/amg/rows.hpp", "if (most == word[i]) word[i] = with_state(word[i], in);", "if (most >= word[i]) word[i] = with_state(word[i], in);", "Amg.Roots*", test="amg"),
    mutant("amg: the prolongator is not orthonormal", "src/amg/rows.hpp", "entry(n, c) -= part * entry(n, d);", "entry(n, c) -= part;", "*TentativeProlongator*/c*", test="amg"),
    mutant("amg: the smoother after is not that before", "src/amg/cycle.hpp", "        smooth(l, r, z, false, 1, true);", "        smooth(l, r, z, false, 2, true);", SYMMETRIC, test="amg"),
    mutant("amg: Gauss-Seidel forwards after the correction too", "src/amg/cycle.hpp", "        smooth(l, r, z, false, 1, true);", "        smooth(l, r, z, false, 1);", SYMMETRIC, test="amg"),
    mutant("amg update: triangles keep their values", "src/amg/setup.cpp", "(*plan)->update_values(level.a);", "static_cast<void>(0);", UPDATE, test="amg"),
    mutant("amg: triangular solves with zeros on the diagonal", "src/amg/setup.cpp", "    if (!level.positive) {", "    if (false) {", "*GaussSeidelWhereACoarse*/c*", test="amg"),
    mutant("amg update: the restriction keeps its values", "src/amg/setup.cpp", "t.source.size(), t.restriction.value.data());", "0, t.restriction.value.data());", UPDATE, test="amg"),
    mutant("amg update: the coarsest inverse is kept", "src/amg/levels.cpp", "        last.direct->update_values(last.solution.view());\n", "", UPDATE, test="amg"),
    mutant("amg: a diagonal that is not positive is taken", "src/amg/rows.hpp", "own > V(0) ? 0 : 2;", "0;", "*RefusesWhatItCannotUse/c*", test="amg"),
    # second rounds, combinations of options, equal magnitudes
    mutant("factor lu: entries that are not finite beyond a warp are taken", "src/factor/cuda/factorize.cu", "for (offset_t k = p.row_begin[i] + lane; k < p.row_begin[i + 1]; k += 32) residue", "for (offset_t k = p.row_begin[i] + lane; k < p.row_begin[i + 1] && k < p.row_begin[i] + 32; k += 32) residue", COMBINED),
    mutant("factor: the largest of a row is that of its first lane", "src/factor/cuda/load_values.cu", "largest = slice_max<32>(largest);", "", COMBINED),
    mutant("factor: the last breakdown is named", "src/factor/cuda/factorize.cu", "atomicMin(shared.failed, breakdown_word(i, why));", "*shared.failed = breakdown_word(i, why);", COMBINED),
    mutant("factor pattern: unsorted rows of a lower triangle", "src/factor/pattern.cpp", "for (offset_t k = a.begin[i]; k < place; ++k) put(a.col[k], a.position(k));", "for (offset_t k = a.begin[i]; k < place; ++k) put(a.col[k], lower ? k : a.position(k));", COMBINED),
    mutant("factor pattern: a missing diagonal of iluk is another entry", "src/factor/pattern.cpp", "        insert(rows_, i, -1);\n", "        insert(rows_, i, a.begin[i]);\n", COMBINED),
    mutant("factor ilut: of equal magnitudes the larger columns stay", "src/factor/pattern.cpp", "(x.size == y.size && x.col < y.col);", "(x.size == y.size && x.col > y.col);", "FactorPattern.*"),
    mutant("amg in 16 bits: P and R of different types", "src/amg/levels.cpp", "if ((t.down->full() == nullptr) == (t.up->full() == nullptr)) return;", "return;", "*CyclesOf16BitsAreSymmetric*/c*", test="amg"),
    mutant("amg in 16 bits: the product in float is kept for every smoother", "src/amg/levels.cpp", "        if (!l->given->keeps_product()) l->full.reset();\n", "", "*ASmootherKeepsTheProduct*/cpu", test="amg"),
    mutant("amg: a residual that a smoother of degree one has not left", "src/amg/cycle.hpp", "(options.degree > 1 || !from_zero);", "true;", "*EveryCombinationIsSymmetric/c*", test="amg"),
    mutant("amg: the last of equal neighbours is joined", "src/amg/rows.hpp", "!(weight[k] > most)) continue;", "!(weight[k] >= most)) continue;", "Amg.TheFirst*", test="amg"),
    mutant("amg update: offsets of a refused matrix are kept", "src/amg/amg.cpp", "    matrix::require_same_size({rows(), rows(), s.level[0]->a.nonzeros}, matrix::size_of(a));\n    if (!fresh.empty()) s.wide = std::move(fresh);\n", "    if (!fresh.empty()) s.wide = std::move(fresh);\n    matrix::require_same_size({rows(), rows(), s.level[0]->a.nonzeros}, matrix::size_of(a));\n", "*Offsets32On.PlansThatSolve/cpu1", test="api"),
    # nodes, rigid motions, classical coarsening, the K-cycle
    mutant("amg nodes: unknowns of a node are apart", "src/amg/nodes.hpp", "of_row[i] = of_node[i / unknowns];", "of_row[i] = of_node[i % unknowns];", "*NodesAreAggregated*/c*", test="amg"),
    mutant("amg nodes: a node is its own neighbour", "src/amg/nodes.hpp", "if (next != node) visit", "visit", "Amg.NeighboursOfANode*", test="amg"),
    mutant("amg: the first column of the inverse of the coarsest matrix is that of the second", "src/amg/coarse.cpp", "if (j + c < n) x[c][j + c] = 1;", "if (j + c < n) x[c][j + (c > 0 ? c : 1)] = 1;", SYMMETRIC, test="amg"),
    mutant("amg nodes: rows that are not sorted are taken as they are", "src/amg/setup.cpp", "by_nodes && !level.a.sorted ?", "false ?", "*NodesAreAggregated*/c*", test="amg"),
    mutant("amg: rotations change lengths", "src/amg/rigid_body.cpp", "= -place(i, turn.b);", "= place(i, turn.b);", "Amg.RigidBodyModesCost*", test="amg"),
    mutant("amg classical: coarse points beside each other", "src/amg/classical.hpp", "is_largest(needs, i) && is_largest(dependents, i);", "true;", "*ClassicalInterpolation*/c*", test="amg"),
    mutant("amg classical: nothing comes back", "src/amg/classical.hpp", "back += below != V(0) ? through[k] * v : v;", "back += v;", "*ClassicalInterpolation*/c*", test="amg"),
    mutant("amg classical: truncated rows keep what is left", "src/amg/classical.hpp", "? whole / kept", "? V(1)", "*ClassicalInterpolation*/c*", test="amg"),
    mutant("amg classical: the last of equal entries are kept", "src/amg/classical.hpp", "(x == y && k > other)", "(x == y && k < other)", "Amg.Truncation*", test="amg"),
    mutant("amg classical update: the product keeps its values", "src/amg/classical.cpp", "    multiply(ctx, t.smooth,", "    if (fresh) multiply(ctx, t.smooth,", UPDATE, test="amg"),
    mutant("amg K-cycle: the residual after the first step grows", "src/amg/krylov.hpp", "r[i] -= static_cast<V>(dots.first())", "r[i] += static_cast<V>(dots.first())", "*KCycleReduces*/c*", test="amg"),
    mutant("fsai: a row of one entry too many", "src/factor/fsai.cpp", "if (row.size() + 1 > most_fsai_entries)", "if (row.size() > most_fsai_entries)", "*FsaiOn.Rows*/cpu*"),
    mutant("factor iluk: levels of fill-in in 7 bits", "src/factor/pattern.cpp", "row.known(k) + p.known[t] + 1;", "row.known(k) + static_cast<signed char>(p.known[t]) + 1;", "*LevelsOfFillIn*"),
    mutant("factor iluk: levels of fill-in in 16 bits", "src/factor/pattern.cpp", "row.known(k) + p.known[t] + 1;", "row.known(k) + static_cast<unsigned short>(p.known[t]) + 1;", "*LevelsOfFillIn*"),
    mutant("amg chebyshev: later visits take r for the residual", "src/amg/cycle.hpp", "if (from_zero && k == 1) ctx.run", "if (k == 1) ctx.run", "*PreconditionsCg/c*:" + UPDATE, test="amg"),
    mutant("amg K-cycle: on the first coarse level alone", "src/amg/cycle.hpp", "if (options.cycle == Cycle::k && coarse.next) run_krylov(n + 1);", "if (options.cycle == Cycle::k && coarse.next && n == 0) run_krylov(n + 1);", "Amg.KCyclesOfMany*", test="amg"),
    mutant("amg: a level that is smoothed alone is not swept back", "src/amg/cycle.hpp", "        if (l.lower) smooth(l, r, z, false, coarse_sweeps, true);\n", "", "*SmoothedAlone*/c*", test="amg"),
    mutant("amg classical: one round of choosing points", "src/amg/classical.cpp", "} while (prim::maximum(q, open.data(), n, index_t{0}) > 0);", "} while (prim::maximum(q, open.data(), n, index_t{0}) > 1);", "*ClassicalInterpolation*/c*", test="amg"),
    mutant("amg: a near null space keeps its scale", "src/amg/near_null.hpp", "std::scalbn(from[k], -exponent)", "std::scalbn(from[k], 0 * exponent)", "*NearNullSpacesOfAnyScale/c*", test="amg"),
    mutant("amg: a near null space that is not finite", "src/amg/near_null.hpp", "std::isfinite(v), [&] {", "true || std::isfinite(v), [&] {", "*NearNullSpacesOfAnyScale/c*", test="amg"),
    mutant("elasticity is not symmetric", "src/io/generators/elasticity.cpp", "l.slope(q[k], p[k])", "l.slope(p[k], q[k])", "Generate.Elasticity*", test="generate"),
]
