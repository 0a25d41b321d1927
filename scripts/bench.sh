#!/bin/sh
# Speed of the simulator on one core: 20 sites of the corpus over four networks. Prints a table;
# with BENCH_JSON=FILE prints JSON and writes it to that file, too.
set -eu
cd "$(dirname "$0")/.."
for corpus in "${LOADPATH_CORPUS:-}" ../shared/corpus ../../shared/corpus; do
    [ -n "$corpus" ] && [ -f "$corpus/index.json" ] && break
    corpus=
done
[ -n "$corpus" ] || {
    echo 'error: there is no page corpus' >&2
    echo 'hint: LOADPATH_CORPUS names its folder, a copy of github.com/kusoof/alexa_traces' >&2
    exit 1
}
cargo build --quiet --release --locked -p loadpath-bench
if [ -n "${BENCH_JSON:-}" ]; then
    numbers=$(mktemp "$BENCH_JSON.XXXXXX")
    trap 'rm -f "$numbers"' EXIT
    target/release/loadpath-bench corpus "$corpus" "$@" --json >"$numbers"
    cat "$numbers"
    mv "$numbers" "$BENCH_JSON"
else
    target/release/loadpath-bench corpus "$corpus" "$@"
fi
