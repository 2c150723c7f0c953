#!/usr/bin/env python3
"""Few draws of a test program that together launch every kernel: what gpu/run lets sanitizers look at.

A test program writes what each of its draws launches (tests/support/draws.hpp). Under compute-sanitizer a launch takes milliseconds, whatever it does,
so the launches are what counts.

    gpu/draws.py BEFORE [AFTER]    how many draws, launches and kernels are in such files, and which kernels AFTER lacks; with BEFORE alone: what choose() makes of it
    gpu/draws.py --self-test
"""
import heapq
import pathlib
import sys


def read(path, any_blocks=False):
    """{(case, draw): (launches, kernels)}, in order; the draw "" is what a case launches before its first. any_blocks: the number of blocks makes no other kernel."""
    found = {}
    for line in pathlib.Path(path).read_text().splitlines():
        case, draw, launches, *kernels = line.split("\t")
        found[case, draw] = int(launches), frozenset(kernel.rpartition(" x")[0] if any_blocks else kernel for kernel in kernels)
    return found


def kernels_of(draws):
    return frozenset().union(*(kernels for _, kernels in draws.values()))


def launches_of(draws):
    return sum(launches for launches, _ in draws.values())


def needs_of(draws):
    """{draw: those that must run for it to be reached}: what its case launches first, and a draw just before it that launches nothing, inside of which it may be."""
    needs, before = {}, None
    for key in draws:
        inside = before and before[0] == key[0] and draws[before][0] == 0
        needs[key] = [key] + (needs[before] if inside else [(key[0], "")] if key[1] != "" and (key[0], "") in draws else [])
        before = key
    return needs


def choose(draws):
    """Draws with few launches that together launch all kernels: greedily the one with the most new kernels for a launch."""
    left, chosen, needs = set(kernels_of(draws)), set(), needs_of(draws)

    def worth(key):
        pieces = [piece for piece in needs[key] if piece not in chosen]
        new = left & frozenset().union(*(draws[piece][1] for piece in pieces))
        return len(new) / max(1, sum(draws[piece][0] for piece in pieces)), new, pieces
    heap = [(-worth(key)[0], key) for key in sorted(draws)]
    heapq.heapify(heap)
    while left and heap:
        _, key = heapq.heappop(heap)
        now, new, pieces = worth(key)
        if not new:
            continue
        if heap and -heap[0][0] > now:
            heapq.heappush(heap, (-now, key))
            continue
        chosen.update(pieces)
        left -= new
    return {key: draws[key] for key in sorted(chosen)}


def add_cases(draws, chosen, missing, cases=()):
    """`chosen` and all draws of `cases`, and for every kernel in `missing` all of the case with the fewest launches that has it."""
    more = dict(chosen)
    of_case = {}
    for (case, draw), found in draws.items():
        of_case.setdefault(case, {})[case, draw] = found
    for case in cases:
        more.update(of_case.get(case, {}))
    for kernel in sorted(missing):
        having = [case for case, some in of_case.items() if kernel in kernels_of(some)]
        more.update(of_case[min(having, key=lambda case: (launches_of(of_case[case]), case))])
    return more


def deal(cases, shares):
    """`shares` lists of the cases, a dictionary with their launches: each gets about as many launches."""
    dealt = [[] for _ in range(shares)]
    loads = [0] * shares
    for case in sorted(cases, key=lambda case: (-cases[case], case)):
        least = loads.index(min(loads))
        dealt[least].append(case)
        loads[least] += cases[case] + 1
    return [some for some in dealt if some]


def launches_by_case(chosen, ran, sample):
    """{case: launches} of the chosen draws, and of the cases that ran and launch nothing in the sample."""
    launching = {case for case, _ in sample}
    found = {case: 0 for case in ran if case not in launching}
    for (case, _), (launches, _) in chosen.items():
        found[case] = found.get(case, 0) + launches
    return found


def self_test():
    draws = {("A", ""): (1, frozenset("p")), ("A", "x"): (5, frozenset("klm")), ("A", "y"): (1, frozenset("k")), ("B", ""): (100, frozenset("klmn")), ("C", "z"): (2, frozenset("lm")),
             ("C", "many"): (50, frozenset("lm"))}
    chosen = choose(draws)
    assert kernels_of(chosen) == kernels_of(draws) == frozenset("klmnp")
    assert ("A", "") in chosen and ("B", "") in chosen and ("C", "many") not in chosen, chosen
    without = {key: found for key, found in draws.items() if key[0] != "B"}
    few = choose(without)
    assert set(few) == {("A", ""), ("A", "y"), ("C", "z")} and launches_of(few) == 4, few
    inside = {("A", ""): (1, frozenset("p")), ("A", "outer"): (0, frozenset()), ("A", "inner"): (1, frozenset("k")), ("A", "next"): (9, frozenset("k"))}
    assert set(choose(inside)) == {("A", ""), ("A", "outer"), ("A", "inner")}, choose(inside)
    assert set(add_cases(draws, few, {"n"})) == set(few) | {("B", "")}
    assert set(add_cases(draws, few, set(), ["C"])) == set(few) | {("C", "many")}
    assert deal({"a": 10, "b": 6, "c": 5, "d": 0}, 2) == [["a", "d"], ["b", "c"]]
    assert deal({"a": 1}, 3) == [["a"]]
    assert launches_by_case(few, ["A", "B", "C", "silent"], draws) == {"silent": 0, "A": 2, "C": 2}
    print("gpu/draws.py: self-test passed")


def tell(name, draws):
    print(f"{name}: {len(draws)} draws, {launches_of(draws)} launches, {len(kernels_of(draws))} kernels (by number of blocks)")


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    before = read(sys.argv[1])
    after = read(sys.argv[2]) if len(sys.argv) > 2 else choose(before)
    tell("before", before)
    tell("after", after)
    missing = sorted(kernels_of(before) - kernels_of(after))
    print(f"{len(missing)} kernels are missing" + "".join(f"\n  {kernel}" for kernel in missing))
    return bool(missing)


if __name__ == "__main__":
    sys.exit(main())
