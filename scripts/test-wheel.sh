#!/bin/sh
# A wheel must install into an empty environment and simulate a bundled page within a minute, without
# anything that the developers' environment has.
# usage: scripts/test-wheel.sh PYTHON WHEEL
set -eu
python=$1
wheel=$(realpath "$2")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# The environment is made by the interpreter below the developers' one: nothing leaks in.
base=$("$python" -c 'import sys; print(sys._base_executable)')
"$base" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check "$wheel"
cd "$folder"
simulate() { env -i HOME="$folder" PATH=/usr/bin:/bin timeout 60 "$folder/venv/bin/loadpath" "$@"; }
simulate --version
simulate simulate example:figure-3-1 -n 3
simulate waterfall example:figure-3-1 -o figure-3-1.svg
grep -q '</svg>' figure-3-1.svg
# Sweeps need an extra, and say so.
simulate sweep nothing.toml 2>&1 | grep -q "loadpath\[experiments\]"
echo "wheel: $(basename "$wheel") installs and simulates"
