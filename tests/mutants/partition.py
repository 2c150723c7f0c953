"""Mutations of cutting, of what members send each other, and of the order between their queues."""
from mutants import mutant

EXACT = "*SpmvOnTeam.IsExactOnIntegers/*:*AppliesBetaOnce*:*SplitsGiants*"


def cut(name, file, old, new, filter, **more):
    return mutant("partition: " + name, file, old, new, test="partition", filter=filter, **more)


def team(name, file, old, new, filter=EXACT, **more):
    return mutant("team: " + name, file, old, new, test="spmv_multi", filter=filter, **more)


MUTANTS = [
    cut("nonzeros times parts overflow", "src/partition/cutting.hpp", "return total / all * before + total % all * before / all;", "return total * before / all;", "Split.DoesNotOverflow", seeds=[1]),
    cut("an empty line at a cut goes to the part before", "src/partition/cutting.hpp", "const offset_t item = prim::lower_bound(prefix, items, position);",
        "const offset_t item = prim::upper_bound(prefix, items, position);", "*KeepsItsRule*"),
    cut("a cut line has two owners", "src/partition/partial.cpp", "const bool head = from.inside && from.at < to.at;", "const bool head = false;", "*CutsCsr*:*CutsAsThePaper*"),
    cut("an empty part has a head", "src/partition/partial.cpp", "const bool head = from.inside && from.at < to.at;", "const bool head = from.inside;", "*AnEmptyPartInsideARow*"),
    cut("the pointer runs past its part", "src/partition/cuda/write_pointer.cu", "at > part.end ? part.end : at)", "at)", "*CutsCsr*cuda*", seeds=[1, 2, 3, 4]),
    cut("pointers of more than sixteen parts", "src/partition/cuda/write_pointer.cu", "        local += entries;\n", "", "*CutsCsr*cuda*", seeds=[1, 2, 3, 4]),
    cut("the merged pointer begins with the head", "src/partition/cuda/write_pointer.cu", "restore_pointer_kernel, local + (part.head ? 1 : 0), part", "restore_pointer_kernel, local, part", "*CutsCsr*cuda*", seeds=[1, 2, 3, 4]),
    team("beta on a row that another owns", "src/spmv/team/team.cpp", "if (piece.head) return piece.plan->run(alpha, x_of(m), V(0), m.head.span());",
         "if (piece.head) return piece.plan->run(alpha, x_of(m), beta, m.head.span());", filter="*AppliesBetaOnce*"),
    team("beta once for every column part", "src/spmv/team/steps.hpp", "V total = 0;\n        for (index_t p = 0; p < parts; ++p)", "V total = 0;\n        for (index_t p = 1; p < parts; ++p)"),
    team("heads are taken before they are there", "src/spmv/team/team.cpp", "        s[other].done.wait(m.ctx);\n        s.link.across(s[other].ctx, s[other].head.data()",
         "        s.link.across(s[other].ctx, s[other].head.data()", filter="*AppliesBetaOnce*", seeds=[1, 2, 3, 4]),
    team("x is taken before it is packed", "src/spmv/team/team.cpp", "        from.ready.wait(m.side);\n", "", filter="*KeepsVectors*:*MovesOnly*", seeds=[1, 2, 3, 4]),
    team("rows do not wait for their halo", "src/spmv/team/team.cpp", "        if (exchange) m.arrived.wait(m.ctx);\n", "", filter="*KeepsVectors*:*MovesOnly*", seeds=[1, 2, 3, 4]),
    team("x is overwritten while others read it", "src/spmv/team/team.cpp", "            if (exchanged) s[other].arrived.wait(m.ctx);\n", "            (void)exchanged, (void)other;\n", filter="*KeepsVectors*", seeds=[1, 2, 3, 4, 5, 6]),
    mutant("team: halo numbered from the wrong place", "src/partition/halo_steps.hpp", "(col < own.begin ? 0 : own.size())", "(col <= own.begin ? 0 : own.size() - 1)",
           test="spmv_multi", filter=EXACT),
    team("order follows the borders of members", "src/spmv/team/build.cpp", "a.fixed ? Rule::whole", "a.fixed ? Rule::exact", filter="*GivesTheSameBits*"),
    team("lines folded without the last", "src/spmv/cuda/join_parts.cu", "for (offset_t s = first[i] + 1; s < first[i + 1]; ++s) total += sum[s];", "for (offset_t s = first[i] + 1; s + 1 < first[i + 1]; ++s) total += sum[s];",
         filter="*GivesTheSameBits*"),
    team("a product allocates", "src/spmv/team/team.cpp", "    const trace::Phase phase{\"multiply\"};\n", "    const trace::Phase phase{\"multiply\"};\n    s[0].ctx.run([](const auto& q) { Buffer<char>(q, 1); });\n",
         filter="*RunAllocatesNothing*"),
]
