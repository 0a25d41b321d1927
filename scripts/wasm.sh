#!/bin/sh
# The engine must build for the browser. Skipped, loudly, where the target cannot be had.
set -eu
target=wasm32-unknown-unknown
has_target() { [ -d "$(rustc --print sysroot)/lib/rustlib/$target" ]; }
has_target || rustup target add "$target" >/dev/null 2>&1 || true
if ! has_target; then
    echo "SKIPPED: the $target build (rustup target add $target fails here)" >&2
    exit 0
fi
cargo build --quiet --locked --no-default-features --target "$target" \
    -p loadpath-net -p loadpath-transport -p loadpath-web -p loadpath-sim
echo "the engine builds for $target"
