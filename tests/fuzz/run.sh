#!/usr/bin/env bash
# Runs every fuzz target for a number of seconds, starting from the committed corpus: tests/fuzz/run.sh [SECONDS] [BUILD]
# What a run finds new stays in BUILD/fuzz-found; a crash ends the script with its input kept in BUILD/fuzz-crashes.
set -euo pipefail
seconds=${1:-30}
here=$(cd "$(dirname "$0")" && pwd)
build=${2:-$here/../../build/fuzz}
mkdir -p "$build/fuzz-crashes"
export ASAN_OPTIONS=${ASAN_OPTIONS:-allocator_may_return_null=1:detect_leaks=1}
for target in matrix_market npz smtx binary archive; do
    found="$build/fuzz-found/$target"
    mkdir -p "$found"
    echo "fuzz $target: $seconds s"
    "$build/tests/fuzz/fuzz_$target" -max_total_time="$seconds" -max_len=4096 -rss_limit_mb=2048 -malloc_limit_mb=512 -timeout=20 -print_final_stats=1 -verbosity=0 \
        -artifact_prefix="$build/fuzz-crashes/$target-" "$found" "$here/corpus/$target" 2>&1 | grep -E "number_of_executed_units|peak_rss|ERROR|SUMMARY|Error|error|not |more |leaked" || true
    if [ "${PIPESTATUS[0]}" -ne 0 ] || compgen -G "$build/fuzz-crashes/$target-*" > /dev/null; then
        echo "fuzz $target: failed; inputs in $build/fuzz-crashes" >&2
        exit 1
    fi
done
