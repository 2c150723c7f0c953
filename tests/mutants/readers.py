"""Mutations of what readers report and of files that are not finished."""
from mutants import mutant



def io(name, file, old, new, filter, **more):
    return mutant("io: " + name, file, old, new, test="io", filter=filter, seeds=[1], **more)


MUTANTS = [
    io("patterns get random values unasked", "src/io/assemble.cpp", "return random ? static_cast<V>(pattern_value", "return !random ? static_cast<V>(pattern_value", "*EntriesOfPatternsAreOne*"),
    io("random values are not symmetric", "src/io/assemble.cpp", "pattern_value(std::max(i, j), std::min(i, j), seed)", "pattern_value(i, j, seed)", "*RandomValuesOfPatterns*"),
    io("mirror images count as duplicates", "src/io/assemble.cpp", "return !slots.is_image(slot[k]) && slots.col", "return slots.col", "*DuplicatesWithTheLine*"),
    io("one bit too many is exact", "src/io/text.hpp", "std::countr_zero(magnitude) <= std::numeric_limits<V>::digits", "std::countr_zero(magnitude) <= std::numeric_limits<V>::digits + 1", "*WholeNumbersThatAreRounded*"),
    io("the last piece's place is told first", "src/io/formats/matrix_market_read.cpp", "if (all.count == 0) all = part;", "if (part.count > 0) all = part;", "*TheFirstPlaceIsThatOfTheFile*"),
    io("overflow is not looked for in sums", "src/io/formats/matrix_market_read.cpp", "    report_narrowing(q, a, options, info);\n", "", "*WhatSixteenBitsLose*"),
    io("a file under another name is not listed", "src/io/atomic_file.cpp", "            unfinished[s].named = true;\n", "", "*ASignalLeavesNothing*"),
    io("finished files stay listed", "src/io/atomic_file.cpp", "    leave(std::exchange(slot_, -1));\n    ::close", "    ::close", "*LeaveRoomInTheList*"),
    io("names in tar archives have any length", "src/io/compression/tar.cpp", "if (size > longest_name)", "if (false)", "*EveryFileOfTheCorpus*"),
    io("xz dictionaries have any size", "src/io/compression/xz.cpp", "lzma_stream_decoder(&s, dictionary_limit,", "lzma_stream_decoder(&s, UINT64_MAX,", "*EveryFileOfTheCorpus*"),
    io("members of zip archives may claim any size", "src/io/compression/zip.cpp", "if (member.bytes / deflate_ratio > member.packed_bytes)", "if (false)", "*EveryFileOfTheCorpus*"),
    io("the banner's case counts", "src/io/text.cpp", "return to_lower(x) == to_lower(y);", "return x == y;", "*ToleratesWhatIsHarmless*"),
    io("the byte order mark stays", "src/io/text.cpp", "text.bytes.remove_prefix(3);", "text.bytes.remove_prefix(0);", "*AByteOrderMark*"),
    io("PETSc: the lengths of rows need not add up", "src/io/formats/petsc.cpp", "if (sum != nonzeros)", "if (false)", "*EveryFileOfTheCorpus*"),
    io("PETSc: anything may follow the values", "src/io/formats/petsc.cpp", "return next >= first_class && next <= last_class;", "return next >= first_class || next <= last_class;", "*EveryFileOfTheCorpus*"),
    io("PETSc: values are doubles", "src/io/formats/petsc.cpp", "if (ends_at(rest, bytes, h.index_bytes)) return type;", "if (ends_at(rest, bytes, h.index_bytes)) return Number::f8;", "*PetscFilesOfSingle*"),
    io("PETSc: the columns may be cut", "src/io/formats/petsc.cpp", "if (h.values_at() > bytes.size())", "if (h.columns_at() > bytes.size())", "*EveryFileOfTheCorpus*"),
]
