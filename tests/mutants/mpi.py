"""Mutations of tulle::mpi, each with the test that must catch it."""


def mutant(name, file, old, new, filter, test="mpi", build="sim-asan", **more):
    return {"name": name, "file": file, "old": old, "new": new, "test": test, "filter": filter, "build": build, **more}


BITS = "*HasTheBitsOfOneProcessInDouble/2"
SUMS = "BinnedSum.*"
BATCHES = "*FetchesTheNextBatchWithinTheBudget/1"
REASONS = "*SolvesEndForTheReasonsOfOneProcess/1"
GENERATED = "*MatricesAreGeneratedTogether/2"
GPU = "*HaveTheBitsOfOneGpuInDouble/2"
NCCL = "*OnNcclRanks.HaveTheBitsOfOneGpu/0"

MUTANTS = [
    mutant("mpi: ghosts above are read where ghosts below are", "src/mpi/halo.hpp", "return ghost < below ? ghost : ghost + own;", "return ghost;", BITS),
    mutant("mpi: rows before the run do not wait for the halo", "src/mpi/halo.cpp", "piece_of(ctx, a, 0, first, true)", "piece_of(ctx, a, 0, first, false)", BITS),
    mutant("mpi: the image of an entry is not sent", "src/mpi/read.cpp", "if (mirror != io::Mirror::none && i != j)", "if (mirror != io::Mirror::none && i > j + 1)", "*FilesAreReadTogether*"),
    mutant("mpi: a part begins inside a line", "src/io/formats/matrix_market_read.cpp", "return std::min(body.find('\\n', byte - 1), n - 1) + 1;", "return byte;", "*FilesAreReadTogether*"),
    mutant("mpi: a larger product is added to bins that are too small for it", "src/vector/binned_sum.hpp", "if (!(split_products(x, y, n, first_, part) <= std::ldexp(1.0, top_of(first_)))) return false;", "if (!(split_products(x, y, n, first_, part) >= 0)) return false;", SUMS),
    mutant("mpi: a bin is not moved when a larger number comes", "src/vector/binned_sum.hpp", "high_[at(k)] = k >= shift ? high_[at(k - shift)] : 0;", "high_[at(k)] = 0;", SUMS + ":" + BITS),
    mutant("mpi: ghosts above the own columns are not brought to the GPU", "src/mpi/halo.hpp", "extended_.data() + below + own, bytes(", "extended_.data() + below, bytes(", GPU, test="mpi_gpu"),
    mutant("mpi: messages begin before the GPU has packed them", "src/mpi/halo.hpp", "if (!staged_.empty()) download(q, packed_.data(), staged_.data(), packed_.size());", "if (staged_.size() == 1) synchronize(q);", GPU, test="mpi_gpu"),
    mutant("mpi: units below a bin are lost on a GPU", "src/vector/cuda/units_of_products.cu", "v -= sum - round[k];", "v = 0;", "*HasTheBitsOfTheCpu*", test="mpi_gpu"),
    mutant("mpi: signs after a breakdown follow from the local row", "src/solve/parts/part.cpp", "const offset_t row = first_row + static_cast<offset_t>(i);", "const auto row = static_cast<offset_t>(i);", REASONS),
    mutant("mpi: the next direction of BiCGStab forgets v", "src/solve/parts/methods.hpp", "system_.axpby(-scalars_.omega, v_.data(), 1, p_.data());", "system_.axpby(0, v_.data(), 1, p_.data());", BITS + ":" + REASONS),
    mutant("mpi: only the first of several dot products is summed", "src/mpi/dot.cpp", "for (std::size_t k = 0; k < sum.size(); ++k)\n            static", "for (std::size_t k = 0; k < 1; ++k)\n            static", BITS),
    mutant("mpi: two batches do not fit the budget together", "src/mpi/spgemm.cpp", "if (!keeps_patterns) cut_by(budget / 2);", "if (!keeps_patterns) cut_by(budget);", BATCHES),
    mutant("mpi: the next batch waits for the product", "src/mpi/spgemm.cpp", "if (round + 1 < rounds) next = start(round + 1);\n            const Csr<V> c = multiply(*batch, next.get());", "const Csr<V> c = multiply(*batch, next.get());\n            if (round + 1 < rounds) { held -= fetched_bytes(round); next = start(round + 1); held += fetched_bytes(round); }", BATCHES),
    mutant("mpi: a rank that answers is blamed", "src/mpi/messages.cpp", "if (note.number == number_) return true;", "if (note.number < 0) return true;", "*NamesWhomAllWaitForInTheEnd*"),
    mutant("mpi: device memory is sent before the GPU has packed it", "src/mpi/halo.hpp", "else if (!arrived_.empty() || way_ == Way::gpu_aware) synchronize(q);", "else if (!arrived_.empty()) synchronize(q);", "*DeviceMemoryInMessages*", test="mpi_gpu"),
    mutant("mpi: a self-test that fails counts as passed", "src/mpi/self_test.cpp", "return child ? wait_for_child(*child, seconds) : why;", "if (child) wait_for_child(*child, seconds); return child ? std::string() : why;", "*TellWhyDeviceMemoryCannotBeSent*", test="mpi_gpu"),
    mutant("mpi multigrid: columns of T are numbered from the first ghost", "src/mpi/amg_level.cpp", "return j + product.ghosts_below();", "return j;", "*MultigridNeedsTheIterations*/2"),
    mutant("mpi multigrid: every rank takes the first entries of the coarse level", "src/mpi/replicated.cpp", "std::as_const(z_).data() + own_, z.data()", "std::as_const(z_).data(), z.data()", "*MultigridIsSymmetric/1"),
    mutant("mpi multigrid: Gauss-Seidel on the ranks whose diagonal allows it", "src/mpi/amg_level.cpp", "cluster.largest(setup.rows.positive ? 0 : 1) == 0;", "setup.rows.positive || cluster.largest(setup.rows.positive ? 0 : 1) == 0;", "*MultigridOfLittle/1"),
    mutant("mpi: products beyond the last four vectors are not counted in the lowest bin", "src/vector/cpu/split_products.cpp", "static_cast<std::uint64_t>(i / Count)", "static_cast<std::uint64_t>(n / (4 * Count) * 4)", SUMS),
    mutant("mpi: records of ranks beyond the largest power of two are lost", "src/mpi/cluster.cpp", "if (beyond && !records.is_beyond()) combine(mine, beyond->received.data());", "", "*HasTheBitsOfOneProcessInDouble/3"),
    mutant("mpi multigrid: the restriction keeps its values", "src/mpi/amg_level.cpp", "        t.source->update_values();\n", "", "*MultigridTakesNewValues/1"),
    mutant("mpi multigrid: levels on every rank keep their values", "src/mpi/replicated.cpp", "amg::update_levels(ctx_, matrix_.view(), options_, first_, level_);", "", "*MultigridTakesNewValues/1"),
    mutant("mpi multigrid: a plan works on after values that it refused", "src/mpi/amg.cpp", "s.usable = false;", "s.usable = true;", "*MultigridTakesNewValues/1"),
    mutant("mpi multigrid: rotations are about the mean point of each rank", "src/mpi/amg.cpp", "x.of[c] += y.of[c];", "x.of[c] += 0 * y.of[c];", "*MultigridTakesRigidBodyModes/1"),
    mutant("mpi: new values of a transposed copy come in the order of the messages", "src/mpi/transposed.cpp", "to[place_[k]] = values.entry[k];", "to[k] = values.entry[k];", "*MultigridTakesNewValues/1"),
    mutant("mpi multigrid: vectors of the near null space stand where the first one's entries do", "src/mpi/replicated.cpp", "all.data() + own_ * vectors);", "all.data() + own_);", "*MultigridIsSymmetric/1"),
    mutant("mpi multigrid: entries in columns of other ranks need not be finite", "src/mpi/amg_level.cpp", "        if (!std::isfinite(sum)) problem[i] = 3;\n", "", "*MultigridOfLittle/1"),
    mutant("mpi: a part of a generated matrix begins with the values of row 0", "src/io/generators/generate.cpp", "value(static_cast<index_t>(p.first + i), row[k], row.size())", "value(static_cast<index_t>(i), row[k], row.size())", GENERATED),
    mutant("mpi: edges of other ranks' rows are counted", "src/io/generators/builder.hpp", "return row_of_all >= first && row_of_all < first + rows;", "return row_of_all >= first && row_of_all <= first + rows;", GENERATED),
    mutant("mpi: new numbers begin with those of the first rank", "src/mpi/repartition.cpp", "for (offset_t& f : first) f += cuts[rank_of(cluster)];", "for (offset_t& f : first) f += cuts[0];", "*RowsGoToThePartsOfTheCaller/2"),
    mutant("mpi: vectors come back in the order of the messages", "src/mpi/repartition.cpp", "host[static_cast<std::size_t>(s.asked.entry[k])] = got.entry[k];", "host[k] = got.entry[k];", "*RowsGoToThePartsOfTheCaller/2"),
    mutant("mpi multigrid: products are kept though no new values come", "src/mpi/amg_level.cpp", "if (new_values == NewValues::never) (part.reset(), ...);", "if (new_values == NewValues::never && damping < 0) (part.reset(), ...);", "*MultigridTakesNewValues/1"),
    mutant("mpi multigrid: bytes of the transfers are not counted", "src/mpi/amg_level.cpp", "(direct ? direct->bytes() : 0) + (next ? next->bytes() : 0);", "(direct ? direct->bytes() : 0);", "*MultigridTakesNewValues/1"),
    mutant("mpi: the patterns of the first batch are taken for all", "src/mpi/spgemm.cpp", "find_pattern(*batch, got->col) : patterns[static_cast<std::size_t>(round)];", "find_pattern(*batch, got->col) : patterns[0];", "*BatchesTakeNewValues/1"),
    mutant("mpi: rows of other ranks pass for sorted", "src/mpi/spgemm.cpp", "batch.b.sorted = batch.b.unique = all_sorted;", "batch.b.sorted = batch.b.unique = b.local().sorted && b.local().unique;", "*RowsMayBeInAnyOrderOnAnyOfThem/1", test="mpi_gpu"),
    mutant("mpi: the NaN of another rank is lost", "src/vector/binned_sum.hpp", "        nan_ += other.nan_;\n", "", SUMS + ":*AnyRankMayHaveWhatIsNotFinite/1"),
    mutant("mpi multigrid: nodes of the second level have as many unknowns as those of the first", "src/mpi/amg.cpp", "n == 0 ? options.unknowns_per_node : vectors", "options.unknowns_per_node", "*MultigridTakesRigidBodyModes/2"),
    mutant("mpi: every rank counts its own rows without entries", "src/mpi/solve.cpp", "return a.cluster().sum(empty);", "return empty;", REASONS),
    mutant("mpi: pieces of long messages begin within 2^31 bytes", "src/mpi/messages.cpp", "char* const begin = static_cast<char*>(data) + at;", "char* const begin = static_cast<char*>(data) + static_cast<int>(at);", "Messages.OfAnyLength*", seeds=[1]),
    mutant("mpi: entries of several vectors are packed from within 2^31 numbers", "src/mpi/cuda/pack.cu", "from[offset_t{index[t / width]} * width + t % width]", "from[static_cast<index_t>(offset_t{index[t / width]} * width) + t % width]", "*PackOn.EntriesAreFar*/cuda*", test="mpi_gpu", seeds=[1]),
    mutant("mpi: the record of the last rank is not combined", "src/mpi/cluster.cpp", "for (std::size_t r = 1; r <= others.size(); ++r) combine(mine, record_of(r));", "for (std::size_t r = 1; r < others.size(); ++r) combine(mine, record_of(r));", BITS),
    mutant("mpi: products twice as large as the first bin are added to it", "src/vector/binned_sum.hpp", "if (!(split_products(x, y, n, first_, part) <= std::ldexp(1.0, top_of(first_)))) return false;", "if (!(split_products(x, y, n, first_, part) <= std::ldexp(1.0, top_of(first_) + 1))) return false;", SUMS),
    mutant("mpi: the largest of a fourth of the products is not seen", "src/vector/cpu/split_products.cpp", "    s.add(w);\n", "    w.most = Numbers<Count>{};\n    s.add(w);\n", SUMS),
    mutant("mpi: nobody ends a library that waits for ever", "src/mpi/messages.cpp", "if (ended.wait_for(lock, std::chrono::duration<double>(limit), [&] { return done; })) return;", "if (ended.wait_for(lock, 100 * std::chrono::duration<double>(limit), [&] { return done; })) return;", "Cluster.EndsWhereAnotherLibraryDoesNot"),
    mutant("mpi: a rank without memory for a plan is alone with it", "src/mpi/spmv.cpp", "cluster.run_collective(\"spmm setup\", [&] {", "[](const auto& f) { f(); }([&] {", "*AnyAllocationMayFail/1"),
    mutant("mpi: NCCL sends entries that are not packed yet", "src/mpi/nccl.cpp", "        state.nccl->come_after(stream);\n", "", NCCL, test="mpi_nccl"),
    mutant("mpi: rows without ghosts wait for the messages of NCCL", "src/mpi/nccl.cpp", "set_mark(*mark_, state.nccl->stream());", "cuda::order_streams(state.nccl->device(), state.nccl->stream(), stream); set_mark(*mark_, state.nccl->stream());", "*ComputeRowsWithoutGhosts*/0", test="mpi_nccl"),
    mutant("mpi: nobody waits for the messages of NCCL", "src/mpi/nccl.cpp", "if (wait_for_mark(*state.nccl, *mark_, state.deadline)) return;", "return;", NCCL, test="mpi_nccl"),
]
