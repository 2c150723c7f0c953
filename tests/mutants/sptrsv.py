"""Mutations of the triangular solve, each with the test that must catch it."""

SPTRSV = "tulle/sptrsv/"


def mutant(name, file, old, new, filter, build="sim", **more):
    return {"name": name, "file": file if file.startswith("tulle/") else SPTRSV + file, "old": old, "new": new, "test": "sptrsv", "filter": filter, "build": build, **more}


UPDATE = "*UpdatesValuesAsANewPlanWould/cuda*:*SolvesInPlace/cuda*"
NAN = "*LetsNotANumberThrough/cuda*"
INVERSE = "*SolvesClustersWithoutAnInverse/cuda*"
MANY = "*SolvesForManyRightHandSides/cuda*"
REGIME = "*SolvesInOneBlockOrCluster/cuda*"
TASKS = "SptrsvTasks.*"
GRAPH = "SptrsvGraph.*"
FAULTY = "*TakesNoFaultyTriangle/cuda*"
LEVELS = "*LevelsAndFeaturesAreThoseOfTheHost/cuda*:*FeaturesOfManyRows/cuda*"
FILLED = "*ClustersAreFilledWithTheirInverses/cuda*"
SAME = "*AreThoseOfTheHost/cuda*"
MANY_TASKS = "*AreThoseOfTheHostWhereTheyAreMany/cuda*"

MUTANTS = [
    mutant("sptrsv flags: a user's NaN may look as if it were not there yet", "tulle/device/cuda/value_flag.cuh",
           "return word == armed<V> ? ordinary_nan<V> : word;", "return word;", NAN),
    mutant("sptrsv flags: the next solve is not armed", "cuda/unknowns.cuh", "        other[u] = armed<V>;", "        other[u] = word;", MANY),
    mutant("sptrsv tickets: every launch uses the same half", "cuda/waiting.cuh", "return {s.unknown + (tickets.odd() ? s.half : 0),", "return {s.unknown,", UPDATE),
    mutant("sptrsv tickets: one ticket of a launch is not counted", "cuda/waiting.cuh", "static_cast<unsigned long long>(tasks) + s.takers, leader", "static_cast<unsigned long long>(tasks) + s.takers - 1, leader", MANY),
    mutant("sptrsv tasks: zeros of an inverse count as entries", "cuda/solve_tasks.cu", "return sum - sum == V(0) ? sum : add<N, true>(vector);", "return sum;", NAN),
    mutant("sptrsv tasks: sums of a team's last warp left out", "cuda/solve_tasks.cu", "for (int w = 1; w < Team; ++w)", "for (int w = 1; w < Team - 1; ++w)", INVERSE),
    mutant("sptrsv tasks: substitution skips the first unknown", "cuda/solve_tasks.cu", "for (int j = 0; j < width; ++j) {\n        const V x = __shfl_sync", "for (int j = 1; j < width; ++j) {\n        const V x = __shfl_sync", INVERSE),
    mutant("sptrsv regimes: unknowns of a block are not armed", "cuda/solve_tasks.cu", "words[u] = armed<V>;", "words[u] = 0;", REGIME),
    mutant("sptrsv regimes: teams of a block meet at one barrier", "cuda/solve_tasks.cu", "R == Regime::device ? 0 : team + 1", "R == Regime::device ? 0 : 1", REGIME),
    mutant("sptrsv regimes: a block leaves while others ask for its unknowns", "cuda/solve_tasks.cu", "        meet_regime<R>();                                  // a block's", "        // a block's", REGIME),
    mutant("sptrsv regimes: two blocks' unknowns at one place", "cuda/unknowns.cuh", "& ((1 << shift) - 1)", "& ((1 << shift) - 2)", REGIME),
    mutant("sptrsv regimes: a cluster's blocks have no room for the last unknowns", "policy.cpp", "round_up(offset_t{rows}, offset_t{32} * blocks_of(s)) / blocks_of(s)", "round_up(offset_t{rows}, offset_t{32}) / blocks_of(s)", REGIME),
    mutant("sptrsv fill: inverses however inaccurate", "cuda/fill_tasks.cu", "!(growth <= limit)", "!(growth <= limit * V(1e30))", INVERSE),
    mutant("sptrsv many: the last entries of a long row left out", "cuda/solve_many.cu", "const bool there = has_side && k + n < rows.begin[i + 1];", "const bool there = has_side && k + n < rows.begin[i + 1] && n < 7;", MANY),
    mutant("sptrsv graph: a row joins a cluster although another is as late", "graph.cpp", "if (latest.level == 0 || !latest.alone || is_long", "if (latest.level == 0 || is_long", GRAPH),
    mutant("sptrsv layout: late entries beside each other", "tasks.cpp", "apart++ * task.width + i, k);", "apart++ + i, k);", TASKS),
    mutant("sptrsv levels: a thread does not wait for others", "schedule.cpp", "if (static_cast<int>(u) != thread && needed[u] > known[u]) {", "if (static_cast<int>(u) != thread && needed[u] > known[u] + 1) {", "SptrsvThreads.*"),
    mutant("sptrsv clusters of the CPU: shared by two threads", "schedule.cpp", "cuts.push_back(line.units[static_cast<std::size_t>(n) + 1]);", "cuts.push_back(std::max(cuts.back(), line.units[static_cast<std::size_t>(n) + 1] - 1));", "SptrsvThreads.*"),
    mutant("sptrsv clusters of the CPU: rows in the order of nodes, not levels", "schedule.cpp", "const index_t node = by_level.item.data()[n];", "const index_t node = n;", "SptrsvThreads.*"),
    mutant("sptrsv place: the way to the GPU and back is free", "place.cpp", "return copy_start + bytes / copy_bandwidth;", "return 0 * bytes;", "SptrsvPlace.*"),
    mutant("sptrsv place: analysis is not counted", "place.hpp", "return prepare + calls * solve;", "return calls * solve;", "SptrsvPlace.*"),
    mutant("sptrsv place: the dearer side is taken", "place.cpp", "if (there < here)", "if (there > here)", "SptrsvPlace.*"),
    mutant("sptrsv triangle: a missing diagonal is not seen", "triangle.cpp", "require<ValueError>(t.diagonal.data()[i] >= 0,", "require<ValueError>(t.diagonal.data()[i] >= -1,", "*NamesTheRowOfAMissingOrZeroDiagonal/cpu*"),
    mutant("model: a tree goes the other way at the limit itself", "tulle/model/tree.cpp", "<= node.limit ?", "< node.limit ?", "Tree.*", test="model"),
    mutant("model: a node may be the child of two nodes", "tulle/model/tree.cpp", "if (is_child[at]) lines.fail", "if (false) lines.fail", "Tree.*", test="model"),
    mutant("model: the last layer is cut off below zero too", "tulle/model/perceptron.cpp", "if (&layer != &layers_.back())", "if (true)", "Perceptron.*", test="model"),
    mutant("model: products of equal features left out", "tulle/model/perceptron.cpp", "for (std::size_t j = i; j < x.size(); ++j)", "for (std::size_t j = i + 1; j < x.size(); ++j)", "Perceptron.*", test="model"),
    mutant("sptrsv cache: a file under another's name is believed", "cache.cpp", 'if (after(lines, "pattern") != hex(key.pattern))', 'if (after(lines, "pattern").empty())', "SptrsvCache.*"),
    mutant("sptrsv cache: foreign files are overwritten", "cache.cpp", "if (is_foreign(file)) return", "if (false) return", "SptrsvCache.*"),
    mutant("sptrsv features: the nearest row needed is taken to be the first", "graph.cpp", "t.col.data()[t.row_begin.data()[i + 1] - 1]", "t.col.data()[t.row_begin.data()[i]]", "SptrsvFeatures.*"),
    mutant("sptrsv select: the learned model's choice may be for another backend", "select.cpp", "scheme && works(*scheme, limits) && ", "scheme && ", "SptrsvLearned.*"),
    mutant("sptrsv analysis: late columns beyond the room count as dense", "cuda/write_tasks.cu", "return j < 0 ? -1 : r.task.width + j;", "return r.task.width + j;", "*DeviceTasks*"),
    mutant("sptrsv analysis: entries of one level in any order", "cuda/write_tasks.cu", "rank += level[m] <= mine ? 1 : 0;", "rank += level[m] < mine ? 1 : 0;", "*DeviceTasks*"),
    mutant("sptrsv analysis: an entry belongs to the row before", "cuda/task_entries.cuh", "before, row + step) <= e)", "before, row + step) < e)", "*DeviceTasks*"),
    mutant("sptrsv analysis: entries of a row are counted for the next too", "cuda/task_entries.cuh", "(1u << high) - 1;", "(2u << high) - 1;", "*DeviceTasks*"),
    mutant("sptrsv analysis: rows written together count what is apart of none before", "cuda/write_tasks.cu", "r.task.cluster != 0 ? apart : __shfl_sync", "r.task.cluster != 0 ? 0 : __shfl_sync", "*DeviceTasks*"),
    mutant("sptrsv analysis: late entries of a row alone apart, however many", "cuda/measure_tasks.cu", "m.room() == width || apart > most", "m.room() == width || apart > lanes", "*DeviceTasks*"),
    mutant("sptrsv analysis: clusters of the host lose their sizes", "cuda/take_nodes.cu", "graph.size.data()[node] : 0;", "1 : 0;", "*DeviceTasks*"),
    mutant("sptrsv analysis: an upper triangle is not turned round", "cuda/take_triangle.cu", "step = s.upper ? -1 : 1;", "step = 1;", "*DeviceTasks*"),
    mutant("sptrsv sweep: a row is known before all it needs", "cuda/sweep.cu", "return next < outside || asked != 0;", "return next < outside;", LEVELS),
    mutant("sptrsv sweep: a row does not wait for those of its warp", "cuda/sweep.cu", "unsigned open = w.inside | (", "unsigned open = (", LEVELS),
    mutant("sptrsv sweep: any row of a warp may follow", "cuda/sweep.cu", "needs ? level : 0}, (w.leads >> k & 1) != 0);", "needs ? level : 0}, true);", SAME),
    mutant("sptrsv sweep: any row may follow one of another warp", "cuda/sweep.cu", "|= first[n] == turned(w.row) ? 1u << n : 0;", "|= 1u << n;", SAME),
    mutant("sptrsv graph: several nodes of the highest level are taken for one", "graph.cpp", "(turned ^ node_bits) == largest}", "(turned ^ node_bits) >> 32 == largest >> 32}", GRAPH),
    mutant("sptrsv graph: a row may join a long one", "graph.cpp", "size[node] = is_long ? rows + 1 : size[node] + 1;", "size[node] = size[node] + 1;", GRAPH),
    mutant("sptrsv taking: a column that stands twice is not seen", "cuda/take_triangle.cu", "s.col[k - 1] >= col", "s.col[k - 1] > col", FAULTY),
    mutant("sptrsv taking: the other side is not seen", "cuda/take_triangle.cu", "(!is_inside && col != row && !s.ignore_other_side)", "false", FAULTY),
    mutant("sptrsv taking: a missing diagonal is not seen", "cuda/take_triangle.cu", "if (any_wrong || !any_diagonal)", "if (any_wrong)", FAULTY),
    mutant("sptrsv taking: entries of an upper row are counted for its mirror", "cuda/take_triangle.cu", "    count[i] = inside;", "    count[row] = inside;", "*DeviceTasks*"),
    mutant("sptrsv survey: lanes without a row spoil what a warp adds up", "cuda/survey.cu", "level == first || level == 0", "true", LEVELS),
    mutant("sptrsv survey: the nearest row needed is taken to be the first", "cuda/survey.cu", "i - col[end - 1]", "i - col[begin]", LEVELS),
    mutant("sptrsv survey: the diagonal is no entry", "cuda/survey.cu", "static_cast<unsigned long long>(end - begin) + 1 : 0", "static_cast<unsigned long long>(end - begin) : 0", LEVELS),
    mutant("sptrsv survey: the longest row of a lane, not of its warp", "cuda/survey.cu", "longest = slice_max<lanes>(found.longest)", "longest = found.longest", LEVELS),
    mutant("sptrsv analysis: rows of a task at one place", "cuda/pack_rows.cu", "to.place[row] = static_cast<index_t>(at);", "to.place[row] = 0;", "*DeviceTasks*"),
    mutant("sptrsv analysis: rows have the level of another task", "cuda/pack_rows.cu", "to.level[row] = s.level(at);", "to.level[row] = s.level(at / 2);", "*DeviceTasks*"),
    mutant("sptrsv fill: a row of the inverse does not reach the next", "cuda/fill_tasks.cu", "for (int i = k + 1; i < Width; ++i) z[i]", "for (int i = k + 2; i < Width; ++i) z[i]", FILLED),
    mutant("sptrsv fill: late columns beyond the first 32 left as the first", "cuda/fill_tasks.cu", "gather_columns(entries, task, Width + first, lane, m.scale, m.columns);", "gather_columns(entries, task, Width, lane, m.scale, m.columns);", FILLED),
    mutant("sptrsv fill: a matrix begins with what the last one left", "cuda/fill_tasks.cu", "to[k * column_step + lane] = V(0);", "to[k * column_step + lane] += V(0);", FILLED),
    mutant("sptrsv fill: what is kept is multiplied all the same", "cuda/fill_tasks.cu", "*m.keep != 0, lane, columns", "false, lane, columns", FILLED),
    mutant("sptrsv fill: a team does not wait for the inverse", "cuda/fill_tasks.cu", "    meet<Team>();\n", "    meet<1>();\n", FILLED),
    mutant("sptrsv analysis: chains left on the GPU are those of any size", "prepare.cpp", "&& scheme.rows == known.swept.most", "", "*WhatWasLeftThereIsFetched/cuda*"),
    mutant("sptrsv analysis: levels left on the GPU are not fetched", "prepare.cpp", "if (needs_more || (scheme.merge == Merge::none", "if ((scheme.merge == Merge::none", "*WhatWasLeftThereIsFetched/cuda*"),
    mutant("sptrsv sweep: a row joins a chain although another is as late", "cuda/sweep.cu", "latest.leads && latest.alone && (", "latest.leads && (", SAME),
    mutant("sptrsv sweep: a chain is one row too long", "cuda/sweep.cu", "is_long ? 0 : s.most - 1;", "is_long ? 0 : s.most;", SAME),
    mutant("sptrsv sweep: a level more than asked for", "cuda/sweep.cu", "if (word.level > s.deepest)", "if (word.level > s.deepest + 1)", LEVELS),
    mutant("sptrsv sweep: an entry that is missing makes room", "cuda/sweep.cu", "w.asked &= word[n] != 0 ? ~(1u << n) : ~0u;", "w.asked &= ~(1u << n);", LEVELS),
    mutant("sptrsv sweep: rows in line although one waits for another warp", "cuda/sweep.cu", "&& __any_sync(whole_warp, w.waits_outside()) == 0) return", ") return", "*DeviceTasks*"),
    mutant("sptrsv chains: any row may follow", "graph.cpp", "|| (chains && first.data()[last.data()[node]] != i)", "", GRAPH),
    mutant("sptrsv layout on the GPU: a node begins where its last row stands", "cuda/pack_rows.cu", "(at - 1 - s.place(at - 1) - begin)", "(at - 1 - begin)", SAME),
    mutant("sptrsv layout on the GPU: late columns one by one do not go on", "cuda/measure_tasks.cu", "(is_first || key > before)", "(is_first || key >= before)", "*AreThoseOfTheHostForLongRows/cuda*"),
    mutant("sptrsv layout on the GPU: the last late column counts as early", "cuda/measure_tasks.cu", "late_key(below, col) <= last", "late_key(below, col) < last", "*AreThoseOfTheHostForLongRows/cuda*"),
    mutant("sptrsv layout on the GPU: sizes of warps before are not added", "cuda/place_tasks.cu", "if (other == warp) before.add(all);", "", MANY_TASKS),
    mutant("sptrsv layout on the GPU: sizes of the block before are not added", "cuda/place_tasks.cu", "other < blockIdx.x; other", "other + 1 < blockIdx.x; other", MANY_TASKS),
    mutant("sptrsv layout on the GPU: keys that stand side by side are written over before they are read", "cuda/measure_tasks.cu",
           "        __syncwarp(whole_warp);                            // all have read what some of them now write over\n", "", "*AreThoseOfTheHostForLongRows/cuda*", build="sim-tsan"),
    mutant("sptrsv analysis: rows apart count what stands in them as before them", "cuda/measure_tasks.cu", "cluster ? running - apart : apart;", "cluster ? running : apart;", "*DeviceTasks*"),
    mutant("sptrsv analysis: the first warp's share of a large task is written by all", "cuda/share_tasks.cuh", "shared ? warp : 0, shared", "0, shared", "*DeviceTasks*"),
    mutant("sptrsv analysis: a long row without its last part", "cuda/write_tasks.cu", "end = list.total * (member + 1) / members;", "end = list.total * (member + 1) / (members + 1);", "*AreThoseOfTheHostForLongRows/cuda*"),
    mutant("sptrsv fill: warps that share a task begin at one place", "cuda/fill_tasks.cu", "(task.step + member * at_once) * lanes + lane", "task.step * lanes + lane", "*Sptrsv*cuda*"),
    mutant("sptrsv survey: a block forgets the last of its levels", "cuda/survey.cu", "k < levels * words_of_level; k += threads) {", "k < (levels - 1) * words_of_level; k += threads) {", LEVELS + ":*FeaturesOfManyRows/cuda*"),
    mutant("sptrsv analysis: places behind a row's entries are left as they were", "cuda/write_tasks.cu", "for (offset_t e = early; e < room; ++e) put_nothing", "for (offset_t e = early + 1; e < room; ++e) put_nothing", "*DeviceTasks*"),
    mutant("sptrsv survey: rows of one level add what others gave away", "cuda/survey.cu", "__ballot_sync(whole_warp, place % 2 == 0);", "__ballot_sync(whole_warp, place % 2 == 1);", LEVELS),
    mutant("sptrsv sweep: the last row that needs one is taken to be the first", "cuda/take_triangle.cu", "if (known[n] < mine) atomicMax", "if (known[n] == 0) atomicMax", SAME),
    mutant("sptrsv select: what is good enough is overruled by what is better", "select.cpp", "if (most_like >= good_enough || most", "if (most", "SptrsvLearned.*"),
    mutant("sptrsv taking: columns beyond the matrix are not seen", "cuda/take_triangle.cu", "wrong || col < 0 || col >= s.rows || ", "wrong || ", FAULTY),
    mutant("sptrsv taking: offsets may end anywhere", "cuda/take_triangle.cu", "end <= s.nonzeros && ends &&", "end <= s.nonzeros &&", FAULTY),
    mutant("sptrsv layout: most late columns are taken to be all", "tasks.cpp", "late.all = unique - begin <= room;", "late.all = true;", "SptrsvTasks.*:*DeviceTasks*"),
    mutant("sptrsv layout: lower levels take the room of higher ones", "tasks.cpp", "left{std::min(room, higher), room - std::min(room, higher)};", "left{room - std::min(room, higher), std::min(room, higher)};", "SptrsvTasks.*:*DeviceTasks*"),
]
