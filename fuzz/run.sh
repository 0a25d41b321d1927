#!/bin/sh
# Runs every fuzz target, or those named, for SECONDS_EACH (60) seconds each.
#
# Coverage comes from the compiler passes that cargo-fuzz switches on, too; without a sanitizer they
# need no nightly toolchain, and no cargo-fuzz. The folder has cargo-fuzz's layout, so
# `cargo +nightly fuzz run TARGET` works as well and adds the address sanitizer.
set -eu
cd "$(dirname "$0")"
host=$(rustc -vV | sed -n 's/^host: //p')
passes="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4"
passes="$passes -Cllvm-args=-sanitizer-coverage-inline-8bit-counters"
passes="$passes -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares"
# A target of its own keeps the flags away from build scripts and procedural macros.
RUSTFLAGS="--cfg fuzzing $passes" cargo build --release --bins --target "$host"
[ $# -gt 0 ] || set -- $(sed -n 's/^name = "\(.*\)"/\1/p' Cargo.toml | grep -v loadpath-fuzz)
for target in "$@"; do
    echo "== $target, ${SECONDS_EACH:-60} s"
    mkdir -p "corpus/$target" "artifacts/$target"
    log="artifacts/$target.log"
    if ! "target/$host/release/$target" -max_total_time="${SECONDS_EACH:-60}" -timeout=10 \
        -rss_limit_mb=2048 -max_len=65536 -print_final_stats=1 -dict=words.dict \
        -artifact_prefix="artifacts/$target/" "corpus/$target" "seeds/$target" >"$log" 2>&1; then
        tail -n 60 "$log"
        echo "error: $target failed; its input is in fuzz/artifacts/$target/" >&2
        exit 1
    fi
    grep -E 'counters\)|number_of_executed_units|peak_rss' "$log"
done
