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
    mutant("sptrsv graph: a row joins a cluster although another is as late", "graph.cpp", "if (node < 0 || !latest.alone || is_long", "if (node < 0 || is_long", GRAPH),
    mutant("sptrsv layout: late entries beside each other", "tasks.cpp", "j * task.width + i, k);", "j + i, k);", TASKS),
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
    mutant("sptrsv select: the learned model's choice may be for another backend", "select.cpp", "if (!scheme || !works(*scheme, limits) || ", "if (!scheme || ", "SptrsvLearned.*"),
    mutant("sptrsv analysis: late columns beyond the room count as dense", "cuda/write_tasks.cu", "return j < 0 ? -1 : r.task.width + j;", "return r.task.width + j;", "*DeviceTasks*"),
    mutant("sptrsv analysis: entries of one level in any order", "cuda/write_tasks.cu", "| static_cast<unsigned long long>(k + lane);", "| static_cast<unsigned long long>(r.count - k - lane);", "*DeviceTasks*"),
    mutant("sptrsv analysis: an upper triangle is not turned round", "cuda/write_tasks.cu", "step = reversed ? -1 : 1;", "step = 1;", "*DeviceTasks*"),
    mutant("sptrsv levels on the GPU: a level is known before all it needs", "tulle/matrix/cuda/find_levels.cu", "while (known == 0) known = load_relaxed(level);", "if (known == 0) known = load_relaxed(level);", "*LevelsAreThoseOfTheHost/cuda*"),
    mutant("sptrsv levels on the GPU: an upper triangle from the first row", "tulle/matrix/cuda/find_levels.cu", "upper ? col[k] <= row : col[k] >= row", "upper ? col[k] >= row : col[k] >= row", "*LevelsAreThoseOfTheHost/cuda*"),
    mutant("sptrsv levels on the GPU: an upper triangle's levels are not turned round", "look.cpp", "if (upper) std::reverse(", "if (false) std::reverse(", "*LevelsAreThoseOfTheHost/cuda*"),
    mutant("sptrsv layout: most late columns are taken to be all", "tasks.cpp", "late.all = unique - begin <= room;", "late.all = true;", "SptrsvTasks.*:*DeviceTasks*"),
]
