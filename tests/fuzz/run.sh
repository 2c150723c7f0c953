#!/usr/bin/env bash
# Runs every fuzz target for a number of seconds, starting from the committed corpus: tests/fuzz/run.sh [SECONDS] [BUILD]
# What a run finds new stays in BUILD/fuzz-found. A failure ends the script; its input and log stay in BUILD/fuzz-crashes.
set -euo pipefail
seconds=${1:-30}
here=$(cd "$(dirname "$0")" && pwd)
build=${2:-$here/../../build/fuzz}
crashes=$build/fuzz-crashes
mkdir -p "$crashes"
for target in matrix_market npz smtx binary archive; do
    mkdir -p "$build/fuzz-found/$target"
    if ! "$build/tests/fuzz/fuzz_$target" -max_total_time="$seconds" -max_len=4096 -rss_limit_mb=2048 -malloc_limit_mb=512 -timeout=20 -print_final_stats=1 \
        -artifact_prefix="$crashes/$target-" "$build/fuzz-found/$target" "$here/corpus/$target" > "$crashes/$target.log" 2>&1; then
        tail -40 "$crashes/$target.log" >&2
        echo "fuzz $target: FAILED, see $crashes" >&2
        exit 1
    fi
    echo "fuzz $target: $(sed -n 's/^stat::number_of_executed_units: *//p' "$crashes/$target.log") inputs in $seconds s, none failed"
done
