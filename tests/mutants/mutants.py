"""One-line mutations of real code, each with the test that must catch it. `seeds` are those of the simulated GPU's scheduler, `needs` what a
processor has to have for the mutated code to run."""



def mutant(name, file, old, new, test="spmv", filter="*SpmvOn*cuda*", build="sim", **more):
    return {"name": name, "file": file, "old": old, "new": new, "test": test, "filter": filter, "build": build, **more}


LONG = "*SplitsLongRows/cuda*"
ACROSS = "*SplitsRowsAcrossWarps/cuda*"

MUTANTS = [
    mutant("split: no barrier before the products are read", "src/spmv/cuda/multiply_split.cu",
           "    load(a, v.x, piece);\n    __syncthreads();", "    load(a, v.x, piece);", filter=LONG),
    mutant("split: no barrier before rows are written", "src/spmv/cuda/multiply_split.cu", "    __syncthreads();\n    return rest;", "    return rest;", filter=ACROSS),
    mutant("split: a row ends one nonzero late", "src/spmv/cuda/multiply_split.cu",
           "at.nonzero >= piece.row_end[at.row]", "at.nonzero > piece.row_end[at.row]", filter=LONG),
    mutant("split: last row of a piece not written", "src/spmv/cuda/multiply_split.cu", "i < rows; i += threads_per_block) {\n        V* y", "i < rows - 1; i += threads_per_block) {\n        V* y", filter=LONG),
    mutant("split: carries added once per piece", "src/spmv/cuda/multiply_split.cu", "(first > 0 && point[first].row == row)", "false", filter=LONG),
    mutant("split: carry without alpha", "src/spmv/cuda/multiply_split.cu", "y[row] += alpha * sum;", "y[row] += sum;", filter=LONG),
    mutant("split: wrong warp carries the rest", "src/spmv/cuda/multiply_split.cu", "if (warp_row[w] < piece.rows)", "if (warp_row[w] <= piece.rows)", filter=LONG),
    mutant("rows: one row too many", "src/spmv/cuda/multiply_rows.cu", "if (here && lane == 0)", "if (row <= a.rows && lane == 0)", filter="*NewValuesReachEveryKernel/cuda*"),
    mutant("rows: tail of a row dropped", "src/spmv/cuda/multiply_rows.cu", "end = here ? a.row_begin[row + 1] : O(0);", "end = here ? a.row_begin[row + 1] - (a.row_begin[row + 1] % 33 == 32) : O(0);", filter="*NewValuesReachEveryKernel/cuda*"),
    mutant("rows: sum over half of the slice", "src/device/cuda/kernel.cuh", "for (int distance = Lanes / 2; distance > 0; distance /= 2) value += ", "for (int distance = Lanes / 4; distance > 0; distance /= 2) value += ", filter="*NewValuesReachEveryKernel/cuda*"),
    mutant("all: beta of zero reads y", "src/spmv/steps.hpp", "return beta == V(0) ? alpha * sum : alpha * sum + beta * *y;", "return alpha * sum + beta * *y;", filter="*PaddingDoesNotSpreadNan/cuda*"),
    mutant("scatter: beta of zero reads y", "src/spmv/cuda/multiply_scatter.cu", "y[i] = beta == V(0) ? V(0) : beta * y[i];", "y[i] = beta * y[i];", filter="*ChoosesSomethingThatWorks*/cuda*"),
    mutant("entries: runs of a row joined over another row", "src/spmv/cuda/multiply_scatter.cu", "if (lane - distance >= run_begin) sum += other;", "if (lane >= distance) sum += other;", filter="*ChoosesSomethingThatWorks*/cuda*"),
    mutant("blocks: last column of a row of blocks left out", "src/spmv/cuda/multiply_blocks.cu", "k < offset_t{a.width} * a.block;", "k < offset_t{a.width} * a.block - 1;", filter="*UpdatesValuesOfBlocks/cuda*"),
    mutant("merge path: a row belongs to the next piece", "src/prim/merge_path.hpp", "if (row_begin[middle + 1] + middle + 1 <= steps)", "if (row_begin[middle + 1] + middle + 1 < steps)", test="prim", filter="*Merge*"),
    mutant("cpu split: carry of the last row skipped", "src/spmv/cpu/multiply_split.cpp", "if (point[p + 1].row < a.rows)", "if (point[p + 1].row + 1 < a.rows)", filter="*SplitsTheLastRow/cpu"),
    mutant("text: numbers without a sign are read with one", "include/tulle/text.hpp", "kind_ = Kind::natural, natural_ = number;", "kind_ = Kind::integer, natural_ = number;", test="base", filter="Text.*"),
    mutant("memory: budget one byte short", "src/device/memory.cpp", "if (bytes > c.budget - std::min(c.budget, c.live))", "if (bytes >= c.budget - std::min(c.budget, c.live))", test="device", filter="*Budget*"),
    mutant("device: the process's default pool is used", "src/device/cuda/memory.cu", "    check(cudaMemPoolCreate(&pool, &properties));", "    check(cudaDeviceGetDefaultMemPool(&pool, device));", test="simt", filter="Pools.*"),
    mutant("device: listing devices makes contexts", "src/device/cuda/queue.cu", "        check(cudaGetDeviceProperties(&properties, device));", "        check(cudaGetDeviceProperties(&properties, device));\n        (void)free_bytes({Space::device, device, nullptr});", test="simt", filter="Contexts.*"),
    mutant("device: clusters on every GPU", "src/base/compute.hpp", "return compute < 90 ? 1 :", "return compute < 70 ? 1 :", test="simt", filter="ComputeCapability.*"),
    mutant("copy: the download does not wait", "src/device/cuda/queue.cu", "    cuda::check(cudaMemcpyAsync(host, from, bytes, cudaMemcpyDeviceToHost, q.stream));\n    cuda::check(cudaStreamSynchronize(q.stream));", "    cuda::check(cudaMemcpyAsync(host, from, bytes, cudaMemcpyDeviceToHost, q.stream));", test="device", filter="*MemoryOn*cuda*"),
    mutant("copy: the upload does not wait", "src/device/cuda/queue.cu", "    cuda::check(cudaMemcpyAsync(to, host, bytes, cudaMemcpyHostToDevice, q.stream));\n    cuda::check(cudaStreamSynchronize(q.stream));", "    cuda::check(cudaMemcpyAsync(to, host, bytes, cudaMemcpyHostToDevice, q.stream));", filter="*UploadedMemory*cuda*", test="device"),
    mutant("split: no barrier before the warps are added", "src/spmv/cuda/multiply_split.cu", "    __syncthreads();\n    V rest = 0;", "    V rest = 0;", filter=ACROSS, build="sim-tsan", seeds=[1]),
    mutant("blocks: columns beyond the matrix take part", "src/spmv/cuda/multiply_blocks.cu", "if (a.block_col[slot] >= 0 && col < a.cols)", "if (a.block_col[slot] >= 0)", filter="*BlocksMayReachBeyondTheMatrix/cuda*", build="sim-asan", seeds=[1]),
    mutant("order: empty rows count as rows that explain a fall", "src/matrix/cuda/first_where.cu", "if (begin < order.key.begin[row + 1] && order.falls(begin)) --found;", "if (begin < n && order.falls(begin)) --found;", test="matrix", filter="*ValidateOn.OrderAs*cuda*:*ValidateOn.AgreesWithAPlainReader*cuda*"),
    mutant("order: falls are not looked for", "src/matrix/cuda/first_where.cu", "found += order.falls(k) ? 1 : 0;", "found += order.falls(k) ? 0 : 0;", test="matrix", filter="*ValidateOn.OrderAs*cuda*"),
    mutant("rows of nonzeros: a block begins one row late", "src/matrix/cuda/expand_rows.cu", "low - 1 + (fits", "low + (fits", test="matrix", filter="*ConvertOn.RowsOfNonzeros*cuda*"),
    mutant("rows of nonzeros: too many offsets are said to fit", "src/matrix/cuda/expand_rows.cu", "count <= most_offsets;", "count > 0;", test="matrix", filter="*ConvertOn.RowsOfNonzeros*cuda*", build="sim-asan"),
    mutant("narrow columns: a row has one lane less", "src/spmv/cuda/multiply_rows.cu", "k < end; k += lanes) narrow", "k < end - (lane == lanes - 1); k += lanes) narrow", filter="*NewValuesReachEveryKernel/cuda*"),
    mutant("choice: a product done once has one lane for long rows", "src/spmv/policy.cpp", "row.mean <= most_nonzeros_of_lane * cost.lanes;", "row.mean >= 0;", filter="ChooseSpmv.TakesTheFastest*"),
]
