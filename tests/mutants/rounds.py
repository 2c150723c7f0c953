"""Second rounds of loops, and results that lie elsewhere than they used to."""
from mutants import mutant

MUTANTS = [
    mutant("scan of few numbers: a warp goes round once", "src/prim/cuda/scan_few.cu", "k - lane < last; k += 32 * at_once", "k - lane < min(last, first + 32 * at_once); k += 32 * at_once",
           test="prim", filter="*ScanOn.SecondRounds*/cuda*", seeds=[1]),
    mutant("scan of few numbers: the second round begins as the first", "src/prim/cuda/scan_few.cu", "            before += __shfl_sync(all_lanes, sum, 31);",
           "            before += e + 1 < at_once || k >= first + 32 * at_once ? __shfl_sync(all_lanes, sum, 31) : 0 * __shfl_sync(all_lanes, sum, 31);", test="prim", filter="*ScanOn.SecondRounds*/cuda*", seeds=[1]),
    mutant("dots: the last block adds a sum for each thread", "src/spmv/cuda/dots.cuh", "b < gridDim.x; b += Threads", "b < min(gridDim.x, unsigned{Threads}); b += Threads", filter="*SpmvRoundsOn.Dots*/cuda*", seeds=[1]),
    mutant("stream: the last block adds a piece for each thread", "src/spmv/cuda/multiply_stream.cu", "p < pieces; p += threads_per_block", "p < min(pieces, threads_per_block); p += threads_per_block",
           filter="*SpmvRoundsOn.Pieces*/cuda*", seeds=[1]),
    mutant("BSA: blocks of a row beyond the lanes do not join", "src/spmm/cuda/cluster_rows.cu", "k < p.e.blocks[row]; k += lanes", "k < min(p.e.blocks[row], lanes); k += lanes", test="spmm_order", filter="*OrderOn.RowsOfMoreBlocks*/cuda*", seeds=[1]),
    mutant("BSA: counters beyond the lanes are not cleared", "src/spmm/cuda/cluster_rows.cu", "b < p.e.all_blocks; b += lanes) x.count[b] = 0;", "b < min(p.e.all_blocks, lanes); b += lanes) x.count[b] = 0;",
           test="spmm_order", filter="*OrderOn.RowsOfMoreBlocks*/cuda*", seeds=[1, 2, 3]),
    mutant("smtx: what was written stays in the buffer", "src/io/formats/smtx.cpp", "        text.clear();", "        text.erase(0, write_at_once - 1);", test="io", filter="Formats.EveryBuffer*", seeds=[1]),
    mutant("gzip: a full buffer is the last", "src/io/compression/deflate.cpp", "} while (stream_.avail_out == 0);", "} while (false);", test="io", filter="Formats.EveryBuffer*:Formats.Gzip*", seeds=[1]),
    mutant("gzip: the first step of what is written is all", "src/io/compression/deflate.cpp", "bytes.remove_prefix(std::min(bytes.size(), zlib_step))", "bytes.remove_prefix(bytes.size())", test="io", filter="Formats.Gzip*", seeds=[1]),
    mutant("pipes: room grows once", "src/io/source.cpp", "if (all.free_bytes() == 0) all.make_room();", "if (static bool grown = false; all.free_bytes() == 0 && !std::exchange(grown, true)) all.make_room();", test="io",
           filter="IoFaults.LongPipes*", seeds=[1]),
    mutant("sort: payloads stay in the second arrays", "src/prim/cuda/radix_sort.hpp", "    if (sorted.payload != payload) copy(q, sorted.payload, payload, n);\n", "", test="prim", filter="*SortOn*/cuda*", seeds=[1]),
    mutant("SpTRSV: sorted pairs are read where they were before", "src/sptrsv/schedule/cuda/lay_out_tasks.cu", "const Sorted sorted = sorted_by(packed, nodes, rows);", "const Sorted sorted{arrays.key, arrays.row, rows, nodes};",
           test="sptrsv", filter="*DeviceTasksOn*/cuda*"),
    mutant("fsai on a CPU: the first row of a later piece is left out", "src/factor/cpu/invert_rows.cpp", "for (offset_t i = begin; i < end; ++i)", "for (offset_t i = begin + (begin > 0 ? 1 : 0); i < end; ++i)", test="factor", filter="*FsaiOn*/cpu", seeds=[1, 2, 3]),
]
