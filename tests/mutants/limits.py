"""Mistakes that only limits, huge indices, large strides, combinations of options or ends of arrays show, each with the test of its kind that must catch it."""

LIMITS, WIDE, ENDS, COMBINED = "*Limits*DimensionsAndDistances*/cuda*", "*LimitsOn.ColumnsUpTo31Bits/cuda*", "*EndsOn*/cuda*", "*Combinations*/cuda*"


def mutant(name, test, file, old, new, filter, seeds, build="sim-asan"):
    return {"name": name, "file": file, "old": old, "new": new, "test": test, "filter": filter, "build": build, "seeds": seeds}


MUTANTS = [
    # limits of narrow types
    mutant("limits: spmv takes 65537 columns for 16 bits", "spmv", "src/spmv/cuda/multiply_rows.cu", "if (a.cols > columns_of_16_bits)", "if (a.cols > columns_of_16_bits + 1)", "*NarrowRowsOfMatrices*/cuda*", [1, 2, 3]),
    mutant("limits: spmv keeps distances of 256 in a byte", "spmv", "src/spmv/cuda/make_sell.cu", "if (form.kind == SellKind::bytes2)", "if (form.kind == SellKind::bytes2 && form.distance > 256)", LIMITS, [1, 2, 3, 4]),
    mutant("limits: narrow columns of a copy are not checked", "spmv", "src/spmv/spmv.cpp", "        if (options.force) check_policy(*options.force, s->features, s->limits);      // once more", "        // once more", "*NarrowColumnsAreRefused*", [1]),
    # huge indices
    mutant("huge: columns of a product without a plan wrap at 2^30", "spmv", "src/spmv/cuda/multiply_direct.cu", "* x[c];", "* x[static_cast<unsigned>(c) * 4u / 4u];", "*31BitsWithoutAPlan/cuda*", [1], "sim"),
    mutant("huge: pushed rows are sorted by 24 bits", "graph", "src/graph/sparse_vector.cpp", "prim::bits_for(static_cast<std::uint64_t>(transposed.cols))", "std::min(24, prim::bits_for(static_cast<std::uint64_t>(transposed.cols)))", "*PushedInOrder/cpu*", [1], "sim"),
    mutant("huge: columns of blocks in 32 bits", "spmv", "src/spmv/cuda/multiply_blocks.cu", "offset_t{a.block_col[slot]} * a.block + k % a.block", "static_cast<offset_t>(2 * a.block_col[slot] * a.block / 2) + k % a.block", WIDE, [1, 2, 3, 4, 5, 6]),
    mutant("huge: lists of any width", "spgemm", "src/spgemm/adaptive/cuda/analyse.cu", ".lists = b.cols <= most_list_columns ? policy.merge_lists : 0", ".lists = policy.merge_lists", WIDE, [1, 2]),
    mutant("huge: columns are counted one by one", "matrix", "src/matrix/features.cpp", "if (a.cols > few * a.nonzeros)", "if (a.cols < few * a.nonzeros)", WIDE, [1]),
    # large strides
    mutant("strides: x of many right-hand sides in 32 bits", "sptrsv", "src/sptrsv/solve/cuda/solve_many.cu", "sides.x[row * sides.x_row + lane * sides.x_col] = x;", "sides.x[static_cast<unsigned>(row * sides.x_row + lane * sides.x_col)] = x;", "*RightHandSides30BitsApart/cuda*", [1, 2, 3]),
    mutant("strides: rows of C in 32 bits", "spmm", "src/spmm/cuda/operands.cuh", "Entry* to = o.c + row * o.c_row + j * o.c_col;", "Entry* to = o.c + static_cast<unsigned>(row * o.c_row + j * o.c_col);", "*LinesFourGibibytesApart/cuda*", [1, 2]),
    # combinations of options
    mutant("combined: a unit diagonal is stored below an upper triangle", "sptrsv", "src/sptrsv/analysis/triangle.cpp", "} else if (!s.unit_diagonal) {", "} else if (!s.unit_diagonal || (s.upper && s.transpose && s.ignore_other_side)) {", "*EveryForm*/cpu*", [1]),
    mutant("combined: new values of sorted coordinates, transposed, are not taken", "spmv", "src/spmv/spmv.cpp", "    s.a = a;\n    if (!fresh.empty())", "    if (!(s.transposed() && s.features.format == Format::coo)) s.a = a;\n    if (!fresh.empty())", COMBINED, [1, 2]),
    # ends of arrays
    mutant("ends: groups load columns before they ask", "spmv", "src/spmv/cuda/multiply_groups.cu", "c[u] = here ? load<Lanes>(col + k + u * Lanes) : 0;", "c[u] = load<Lanes>(col + k + u * Lanes);\n            c[u] = here ? c[u] : 0;", ENDS, [1, 2]),
    mutant("ends: products of a list are loaded before anybody asks", "spgemm", "src/spgemm/reuse/cuda/add_listed.cu", "product[e] = k + 32 * e + lane < list.products ? list.product[k + 32 * e + lane] : 0;", "product[e] = list.product[k + 32 * e + lane], product[e] = k + 32 * e + lane < list.products ? product[e] : 0;", ENDS, [1, 2]),
    mutant("ends: entries of many right-hand sides are loaded before anybody asks", "sptrsv", "src/sptrsv/solve/cuda/solve_many.cu", "col[n] = there ? rows.col[k + n] : -1;", "col[n] = rows.col[k + n], col[n] = there ? col[n] : -1;", ENDS, [1, 2]),
]
