"""Mutations of what every call checks, of host memory, of alpha = 0 and of offsets of 32 bits."""
from mutants import mutant


def api(name, file, old, new, filter, **more):
    return mutant("safety: " + name, file, old, new, test="api", filter=filter, seeds=more.pop("seeds", [1]), **more)


def memory(name, old, new, filter):
    return mutant("safety: " + name, "src/device/host_memory.cpp", old, new, test="device", filter=filter, seeds=[1])


MUTANTS = [
    mutant("medium blocks: units are given twice", "src/device/medium_blocks.cpp", "    chunk.flip(at, count);\n", "", test="device", filter="MediumBlocks.AreApart*", seeds=[1]),
    mutant("medium blocks: chunks are never given back", "src/device/medium_blocks.cpp", "if (chunk->is_empty() && has_other_empty(chunk)) drop_chunk(chunk);", "if (false) drop_chunk(chunk);", test="device", filter="MediumBlocks.AreApart*", seeds=[1]),
    mutant("medium blocks: low bits of later words are passed over", "src/device/medium_blocks.cpp", "w < words; ++w, skip = 0)", "w < words; ++w)", test="device", filter="MediumBlocks.AreApartWherever*", seeds=[1]),
    mutant("a fork does not wait for locks", "src/device/fork_locks.cpp", "= pthread_atfork(lock_all, unlock_all, unlock_all);", "= false ? pthread_atfork(lock_all, unlock_all, unlock_all) : 0;", test="device", filter="MediumBlocks.AFork*", seeds=[1, 2, 3]),
    api("an array may be null", "src/matrix/outline.cpp", "if (a.data == nullptr) return concat(", "if (false) return concat(", "*MalformedOn.Csr/cuda*"),
    api("sizes may be negative", "src/matrix/outline.cpp", "if (size < 0) return", "if (size < -1) return", "*MalformedOn.Coo/cuda*"),
    api("arrays may be in other memory", "src/matrix/outline.cpp", "if (!cuda::is_device_pointer(a.data, q.device)) return", "if (false) return", "*ArraysInOtherMemory/cuda*"),
    api("offsets may end anywhere", "src/matrix/outline.cpp", "return offset[lines] == nonzeros ? std::string()", "return lines >= 0 ? std::string()", "*MalformedOn.Csc/cpu*"),
    api("a dense matrix may reach beyond 64 bits", "src/matrix/outline.cpp", "return too_large ? -1 : reach;", "return too_large ? 1 : reach;", "*MalformedOn.Dense/cpu*"),
    memory("blocks that are not touched yet are free", "untouched += untouched_bytes(data, bytes);", "untouched += 0 * untouched_bytes(data, bytes);", "HostMemory.*"),
    memory("only the innermost group has a limit", "if (path.empty() || path.find('/') == std::string::npos) return;", "return;", "HostMemory.*"),
    memory("file caches count as used", "minus(*used, caches)", "minus(*used, 0 * caches)", "HostMemory.*"),
    memory("small blocks are never looked at", "small_bytes.fetch_add(bytes) + bytes < large_block)", "small_bytes.fetch_add(bytes) + bytes > 0)", "HostMemory.CountsMany*"),
    api("a factor of zero reads what it overwrites", "src/prim/cuda/scale.cu", "factor == 0 ? Factor<T>(0) : factor * widen(number)", "factor * widen(number)", "*AlphaZeroOn.Spmv*/cuda*"),
    api("lines are scaled without their gaps", "src/prim/cuda/scale.cu", "all.data[k / all.length * all.leading + k % all.length]", "all.data[k]", "*AlphaZeroOn.Spmm/cuda*"),
    api("SpMV multiplies by an alpha of zero", "src/spmv/spmv.cpp", "if (v.alpha == V(0)) prim::scale", "if (false) prim::scale", "*AlphaZeroOn.Spmv*/cuda*"),
    api("a team multiplies by an alpha of zero", "src/spmv/team/team.cpp", "if (alpha == V(0)) return s.crew.run(", "if (false) return s.crew.run(", "*AlphaZeroOnTeam.Spmv/*"),
    api("SpTRSV solves with an alpha of zero", "src/sptrsv/sptrsv.cpp", "if (alpha == V(0)) return clear(s.ctx, x);", "", "*AlphaZeroOn.Sptrsv/cuda*"),
    api("the last offset is not widened", "src/matrix/cuda/widen_offsets.cu", "if (k < n) to[k] = from[k];", "if (k + 1 < n) to[k] = from[k];", "*Offsets32On.*/cuda*"),
]
