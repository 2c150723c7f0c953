#!/usr/bin/env bash
# Runs every fuzz target for a number of seconds, starting from the committed corpus: tests/fuzz/run.sh [SECONDS] [BUILD] [JOBS]
# With fewer jobs than targets all run at once, for so much longer that each has its seconds of a core: no core stands idle at the end.
# What a run finds new stays in BUILD/fuzz-found. A failure ends the script; its input and log stay in BUILD/fuzz-crashes.
set -uo pipefail
targets=(matrix_market npz smtx binary petsc archive)
jobs=${3:-1}
export seconds=$((${1:-30} * ${#targets[@]} / (jobs < ${#targets[@]} ? jobs : ${#targets[@]})))
here=$(cd "$(dirname "$0")" && pwd)
export here build=${2:-$here/../../build/asan}
export crashes=$build/fuzz-crashes
mkdir -p "$crashes"

fuzz() {
    local target=$1 begin=$SECONDS
    mkdir -p "$build/fuzz-found/$target"
    if ! "$build/tests/fuzz/fuzz_$target" -max_total_time="$seconds" -max_len=4096 -rss_limit_mb=2048 -malloc_limit_mb=512 -timeout=20 -print_final_stats=1 \
        -artifact_prefix="$crashes/$target-" "$build/fuzz-found/$target" "$here/corpus/$target" > "$crashes/$target.log" 2>&1; then
        tail -40 "$crashes/$target.log" >&2
        echo "fuzz $target: FAILED, see $crashes" >&2
        return 255                                                # xargs starts no further one
    fi
    echo "fuzz $target: $(sed -n 's/^stat::number_of_executed_units: *//p' "$crashes/$target.log") inputs in $((SECONDS - begin)) s, none failed"
}
export -f fuzz
printf '%s\n' "${targets[@]}" | xargs -P "${#targets[@]}" -I{} bash -c 'fuzz {}' || exit 1      # xargs' own 124 would pass for a time limit
