#!/bin/sh
# Runs every fuzz target for FUZZ_SECONDS (60), with cargo-fuzz on the nightly compiler.
set -eu
cd "$(dirname "$0")/.."
command -v cargo-fuzz >/dev/null || cargo install --quiet --locked cargo-fuzz
rustup toolchain list | grep -q nightly || rustup toolchain install nightly --profile minimal
for target in $(cargo +nightly fuzz list); do
    echo "fuzz target $target"
    cargo +nightly fuzz run "$target" -- -max_total_time="${FUZZ_SECONDS:-60}"
done
