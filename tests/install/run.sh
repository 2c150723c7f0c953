#!/bin/bash
# tulle: sparse linear algebra on CPUs and GPUs
# SPDX-License-Identifier: BSD-3-Clause
# Installs a build into a fresh prefix and uses it as a stranger would: by find_package, by pkg-config, and with the tree moved.
#
#     tests/install/run.sh BUILD [subdirectory]         subdirectory: also builds tulle inside the consumer by add_subdirectory (slow)
#
# For a shared library it also looks at what the library shows: names of namespace tulle and nothing else.
set -euo pipefail
source=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cached() { sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"; }
compiler=$(cached CMAKE_CXX_COMPILER)
say() { echo "install: $*"; }

cmake --install "$build" --prefix "$work/first" >"$work/install.log"
[ -z "$(find "$work/first" -name '*.cuh' -o -name '*steps.hpp' -o -path '*/include/*simt*')" ] || { say "inner headers were installed"; exit 1; }
mv "$work/first" "$work/prefix"                       # an installed tree may be moved
say "$(find "$work/prefix" -name '*.hpp' | wc -l) headers, $(cd "$work/prefix" && find . -name 'libtulle*' -type f | xargs du -h | tr '\t' ' ')"
library=$(find "$work/prefix" -name 'libtulle.so' -o -name 'libtulle.a' | head -1)
libdir=$(dirname "$library")

cmake -S "$source/tests/install" -B "$work/cmake" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_PREFIX_PATH="$work/prefix" >"$work/cmake.log" 2>&1 || { cat "$work/cmake.log"; exit 1; }
cmake --build "$work/cmake" >"$work/cmake.log" 2>&1 || { cat "$work/cmake.log"; exit 1; }
(cd "$work" && cmake/consumer)
say "find_package works"

if command -v pkg-config >/dev/null; then
  export PKG_CONFIG_PATH=$libdir/pkgconfig
  # By hand, as README says: neither --static nor a standard is asked for.
  "$compiler" "$source/tests/install/consumer.cpp" -o "$work/by_pkg_config" $(pkg-config --cflags --libs tulle)
  (cd "$work" && LD_LIBRARY_PATH=$libdir ./by_pkg_config)
  say "pkg-config works: $(pkg-config --libs tulle | sed "s|$work||g")"
else
  say "pkg-config is not here: not tried"
fi

share=$work/prefix/share
[ -f "$share/doc/tulle/README.md" ] && [ -f "$share/doc/tulle/docs/index.md" ] && [ -f "$share/doc/tulle/examples/spmv_plan.cpp" ] || { say "documentation was not installed"; exit 1; }
if [ -x "$work/prefix/bin/tulle" ]; then
  for file in man/man1/tulle.1 bash-completion/completions/tulle zsh/site-functions/_tulle fish/vendor_completions.d/tulle.fish; do
    [ -s "$share/$file" ] || { say "share/$file was not installed"; exit 1; }
  done
  say "documentation, manual page and completions are there"
  if [ -f "$build/build.ninja" ]; then                # what `make install` builds
    tests=$(ninja -C "$build" -t inputs tulle_installed | grep -E '^(tests|examples)/' || true)
    [ -z "$tests" ] || { say "make install builds tests:"; echo "$tests" | head; exit 1; }
  fi
fi

if [ "${library##*.}" = so ]; then
  shown=$(nm -D --defined-only "$library" | awk '{ print $3 }')
  [ "$(echo "$shown" | wc -l)" -gt 20 ] || { say "the shared library shows almost nothing"; exit 1; }
  strange=$(echo "$shown" | grep -Ev '^_Z(N|NK|TIN|TSN|TVN|GVN)5tulle' || true)
  [ -z "$strange" ] || { say "the shared library shows more than tulle:"; echo "$strange" | c++filt | head; exit 1; }
  inner=$(echo "$shown" | c++filt | grep -E "tulle::(v[0-9_]+::)?(prim|cuda|simt)::" || true)
  [ -z "$inner" ] || { say "the shared library shows inner parts:"; echo "$inner" | head; exit 1; }
  say "the shared library shows $(echo "$shown" | wc -l) names, all of tulle's interface"
fi

if [ "${2:-}" = subdirectory ]; then
  cmake -S "$source/tests/install" -B "$work/sub" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER="$compiler" -DTULLE_SOURCE="$source" \
    -DTULLE_CUDA=OFF >"$work/sub.log" 2>&1 || { cat "$work/sub.log"; exit 1; }
  cmake --build "$work/sub" --target consumer >"$work/sub.log" 2>&1 || { tail -50 "$work/sub.log"; exit 1; }
  (cd "$work" && sub/consumer)
  say "add_subdirectory works"
fi
