#!/usr/bin/env python3
# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""Every public function that takes a view, a span or a matrix has a row in the table of malformed arguments (tests/api/malformed_test.cpp).

    tools/check_api_tests.py              exit 1 with every function without one
    tools/check_api_tests.py --self-test  shows that it can fail
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLE = ROOT / "tests/api/malformed_test.cpp"
TAKES = re.compile(r"\b(\w*View<|AnyCsr<|AnyView<|PartitionableView<|std::span<|View&)")
# Functions that are not tried there, and why.
EXEMPT = {
    "spmv::Plan::once": "what spmv::multiply() calls",
    "spmv::predict_seconds": "takes no arrays of a matrix",
    "spmm::TeamPlan::run_on": "a part of spmm::TeamPlan::run()",
    "spmm::pattern_of": "copies pointers",
    "spgemm::Plan::once": "what spgemm::multiply() calls",
    "spgemm::Plan::in_chunks": "what spgemm::for_each_chunk() calls",
    "narrow_csr": "what narrow() calls",
    "travel": "what to_device() and to_host() call",
    "require_data": "what to_device() and to_host() call",
    "partition::map_cuts": "cuts are checked in tests/partition",
    "partition::parts_of": "cuts are checked in tests/partition",
    "partition::imbalance": "cuts are checked in tests/partition",
}
SKIPPED = {"outline.hpp", "memory.hpp", "distributed.hpp", "distributed_solve.hpp", "repartition.hpp", "mpi.hpp", "ptscotch.hpp", "cluster.hpp", "csr.hpp", "coo.hpp", "dense.hpp", "blocked_ell.hpp", "float16.hpp"}


def functions_of(text):
    """Names with namespace and class of all functions of a header that take arrays."""
    text = re.sub(r"//[^\n]*| = \{[^{}]*\}", "", text)
    found, space, owner = set(), "", ""
    for piece in re.split(r"(?<=[;{}])\n|(?=\bclass TULLE_API )|(?=\nprivate:)", text):
        if opened := re.search(r"namespace tulle::inline TULLE_ABI(?:::(\w+))? \{", piece):
            space, owner = (opened[1] or ""), ""
        if opened := re.search(r"class TULLE_API (\w+)", piece):
            owner = opened[1]
        if re.search(r"^};|\nprivate:", piece, re.M):
            owner = ""
        call = re.search(r"(?:^|[\s&*>])(\w+)\(([^{}]*)\)\s*(?:const)?\s*(?:noexcept)?\s*(?:;|\{)?$", piece.strip(), re.S)
        if call and TAKES.search(call[2]) and call[1] not in ("static_assert", "requires"):
            found.add("::".join(filter(None, (space, owner, call[1]))))
    return found


def is_tried(name, table):
    """Whether a function is called in the table: by its whole name, or a method of an object."""
    *spaces, last = name.split("::")
    if len(spaces) == 2 and last != "make":
        return re.search(r"[.>]\s*" + last + r"\(", table) is not None and re.search(rf"\b{spaces[0]}::{spaces[1]}<", table) is not None
    return re.search(r"\b" + "::".join(rf"{part}(<[^()]*?>)?" for part in (*spaces, last)) + r"\(", table) is not None


def missing(headers, table):
    names = set().union(*(functions_of(text) for text in headers))
    unknown = [f"EXEMPT names {name}, which is no such function" for name in EXEMPT if name not in names]
    return unknown + [f"{name} has no row in {TABLE.relative_to(ROOT)}" for name in sorted(names) if name not in EXEMPT and not is_tried(name, table)]


def self_test():
    header = "namespace tulle::inline TULLE_ABI::fold {\ntemplate <class V>\nTULLE_API void pleat(const Context& ctx, const CsrView<V>& a);\n}\n"
    named = functions_of(header) == {"fold::pleat"}
    ok = named and is_tried("fold::pleat", "fold::pleat(c, a);") and not is_tried("fold::pleat", "unfold(c, a);")
    print("check_api_tests: self-test " + ("passed" if ok else "FAILED"))
    return not ok


def main():
    if "--self-test" in sys.argv:
        return self_test()
    headers = [path.read_text() for path in sorted((ROOT / "include/tulle").glob("*.hpp")) if path.name not in SKIPPED]
    wrong = missing(headers, TABLE.read_text())
    print("\n".join(wrong) or "check_api_tests: every public function that takes arrays is tried with malformed ones")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
