"""Mutations of SpMM on teams: what members get, when, and where their parts of C go."""
from mutants import mutant

MULTI = "src/spmm/team/team.cpp"


def team(name, old, new, filter, file=MULTI, test="spmm_multi", **more):
    return mutant("spmm team: " + name, file, old, new, test=test, filter=filter, **more)


MUTANTS = [
    team("rows are cut by nonzeros alone", "work.data()[i] = a.row_begin[i] + i;", "work.data()[i] = a.row_begin[i];", "*CutsByNonzerosAndRows/cpu"),
    team("C is not brought where beta asks for it", "if (job.beta != 0) bring(", "if (job.beta != 0 && job.at_host()) bring(", "*WorksWhereBAndCLie/streams"),
    team("every slice goes to the first columns", "block_of(job.c, m.part.first_line, m.part.lines(), j, n);", "block_of(job.c, m.part.first_line, m.part.lines(), 0, n);", "*TakesAnyColumnsAndLayout/cuda*"),
    team("parts of C all go to the first rows", "block_of(job.c, m.part.first_line, m.part.lines(), first, last - first)", "block_of(job.c, 0, m.part.lines(), first, last - first)", "*WorksWithMoreMembers*/cpu"),
    team("C is fetched before it is there", "    m.done.wait(s[home].ctx);\n", "", "*WorksWhereBAndCLie/cuda*", seeds=[1, 2, 3, 4]),
    team("the next slice does not wait until C was taken", "    s[home].taken.wait(m.ctx);\n", "", "*WorksWhereBAndCLie/*", seeds=[1, 2, 3, 4]),
    team("new values stay on the host", "if (!m.borrows) s.link.up(m.ctx, s.rows().value", "if (m.borrows) s.link.up(m.ctx, s.rows().value", "*TakesNewValues/cuda*"),
    team("new values are not transposed", "    if (s.transposed()) carry_values(", "    if (!s.transposed()) carry_values(", "*TakesNewValues/cpu"),
    team("deterministic teams may use panels", "if (!deterministic || wish.force) return wish;", "if (deterministic || wish.force) return wish;", "*MembersMayUsePanels/cuda*"),
    team("every member cuts rows as it likes", "        wish.piece = s.by_rows.piece;", "        wish.piece = 0;", "*CutsRowsAsOneDeviceWould/cuda*"),
    team("every member shares rows as it likes", "        wish.lanes = s.by_rows.lanes;", "        wish.lanes = {};", "*CutsRowsAsOneDeviceWould/cuda*"),
    team("deterministic teams may be split by columns", "if (deterministic) return {SplitBy::rows", "if (deterministic && s.members.empty()) return {SplitBy::rows", "*ChoosesColumns*/cuda*"),
    team("A is sent with every call", "part * matrix / calls)", "part * matrix)", "SpmmSplit.*", file="src/spmm/team/choose.cpp"),
    team("lines are copied without their gaps", "static_cast<char*>(to) + at * shape.to_step", "static_cast<char*>(to) + at * shape.width", "*CopiesLines*/cpu", file="src/device/cpu/strided_copy.cpp", test="device"),
]
