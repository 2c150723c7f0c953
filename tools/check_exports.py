#!/usr/bin/env python3
# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
"""Prints every function in an installed header that a shared library would hide: declared without a body and without TULLE_API.

    tools/check_exports.py [ROOT]       exit 1 when there is one
    tools/check_exports.py --self-test

Installed are the headers that include/tulle/headers.txt lists. Namespaces of inner parts (cuda, detail, prim) are nobody's to call.
"""
import pathlib
import re
import sys

INNER = {"cuda", "detail", "prim"}
BODY = "\x01"          # stands where a body began
OPENING = re.compile(r"\b(?:(?:inline\s+)?namespace\s*(?P<namespace>[\w:]*(?:inline\s+[\w:]+)?)|(?:class|struct|union)\s+(?P<api>TULLE_API\s+)?(?P<type>\w+)[^;{}()=]*|enum\b[^;{}]*)\s*$")


def installed(root):
    """The public headers, from their list; version.hpp is written by CMake and declares no function."""
    listed = [line.split()[0] for line in (root / "include/tulle/headers.txt").read_text().splitlines() if line and not line.startswith("#")]
    return [f"include/tulle/{name}" for name in listed if (root / "include/tulle" / name).exists()]


def plain(text):
    """Without comments, strings, attributes and preprocessor lines; lines stay where they are."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", lambda m: re.sub(r"[^\n]", " ", m[0]), text, flags=re.S)
    text = re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text)
    text = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: "\n" * m[0].count("\n"), text, flags=re.M)
    return text.replace("[[nodiscard]]", "").replace("[[noreturn]]", "")


def is_declaration(statement):
    """Of a function that is defined elsewhere."""
    if not re.search(r"[\w>&*]\s+[&*]?(?:~?\w+|operator[^\w\s(]+)\s*\(|^\s*~?\w+\s*\(|^\s*explicit\s+\w+\s*\(", statement) or "TULLE_API" in statement:
        return False
    if re.search(r"\b(using|typedef|friend|static_assert|constexpr|inline|requires|extern|concept|return)\b|=\s*(default|delete|0)\s*$", statement):
        return False
    if "(*" in statement.replace(" ", ""):                                  # a pointer to a function
        return False
    head = re.sub(r"^template\s*<[^()]*?>\s", "", statement).split("(")[0]
    return "=" not in head.replace("operator==", "").replace("operator=", "")


def hidden_in(text):
    """(line, declaration) of everything that a shared library would hide."""
    found, scopes, statement, line, start, depth = [], [], "", 1, 1, 0
    for char in plain(text):
        line += char == "\n"
        if char in "()":
            depth += 1 if char == "(" else -1
        if char == "{" and depth == 0:
            match = OPENING.search(re.sub(r"^\s*template\s*<[^{};]*?>\s*(?=class|struct|union)", "", statement))
            kind = match.groupdict() if match else {}
            if kind.get("namespace") is not None:
                scopes.append(("namespace", set(re.split(r"::(?:inline\s+)?", kind["namespace"]))))
            elif kind.get("type"):
                scopes.append(("type", bool(kind["api"])))
            else:
                scopes.append(("body", None))
            if scopes[-1][0] != "body" or not statement.rstrip().endswith("="):
                statement = "" if scopes[-1][0] != "body" else statement + BODY
        elif char == "}" and depth == 0:
            if scopes and scopes.pop()[0] == "body":
                statement = statement + "}" if re.search(r"=\s*\{?[^;]*$", statement.split("(")[0]) else ""
            else:
                statement = ""
        elif char == ";" and depth == 0:
            inner = any(kind == "namespace" and names & INNER for kind, names in scopes)
            in_body = any(kind == "body" for kind, _ in scopes)
            shown = any(kind == "type" and api for kind, api in scopes)
            if not inner and not in_body and not shown and BODY not in statement and is_declaration(" ".join(statement.split())):
                found.append((start, " ".join(statement.split())))
            statement = ""
        else:
            if not statement.strip():
                start = line
                statement = ""
            statement += char
            if re.search(r"\b(public|private|protected)\s*:$", statement):
                statement = ""
    return found


def wrong_abi(api, cmake):
    """The ABI namespace (api.hpp) has to name the version of the project (CMakeLists.txt), as the SOVERSION does: v0_1 for 0.1.x."""
    name = re.search(r"#define TULLE_ABI (\w+)", api)[1]
    wanted = "v{}_{}".format(*re.search(r"project\(tulle VERSION (\d+)\.(\d+)", cmake).groups())
    return [] if name == wanted else [f"include/tulle/api.hpp: TULLE_ABI is {name}, the version asks for {wanted}"]


def self_test():
    text = """
    namespace tulle::inline TULLE_ABI { namespace cuda { void inner(); }
    TULLE_API int good(int a = f(3));
    int bad(const Context& ctx);          // a comment;
    template <class V> TULLE_API V fine(V v);
    template <class V> V worse(V v, std::string_view hint = {});
    inline int here(int a) { int b(a); return b; }
    struct TULLE_API Shown { Shown(int a); int f() const; };
    class Hidden { public: Hidden() = default; int f() const { return g(); } int h(int) const; std::vector<int> data(3); };
    constexpr int table[] = {1, 2};
    template <class V, class C = V> class TULLE_API Plan { public: ~Plan(); int run() const; };
    struct Ranges { void (*push)(const char*) = nullptr; };
    struct Data { int a = 1; std::function<void()> call; bool operator==(const Data&) const = default; };
    }"""
    found = [declaration for _, declaration in hidden_in(text)]
    assert [f.split("(")[0] for f in found] == ["int bad", "template <class V> V worse", "int h", "std::vector<int> data"], found
    api = "#define TULLE_ABI v0_1"
    assert not wrong_abi(api, "project(tulle VERSION 0.1.4") and wrong_abi(api, "project(tulle VERSION 0.2.0")
    print("check_exports: self-test passed")


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent)
    headers = installed(root)
    bad = [f"{header}:{line}: {declaration};" for header in headers for line, declaration in hidden_in((root / header).read_text())]
    abi = wrong_abi((root / "include/tulle/api.hpp").read_text(), (root / "CMakeLists.txt").read_text())
    print("\n".join(abi + bad + [f"exports: {len(bad)} functions in {len(headers)} installed headers are hidden by a shared library"]))
    sys.exit(1 if bad or abi else 0)


if __name__ == "__main__":
    main()
