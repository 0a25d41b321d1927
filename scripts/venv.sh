#!/bin/sh
# Makes the virtual environment of the developers, with everything that build and tests need.
# usage: scripts/venv.sh FOLDER
set -eu
folder=$1
command -v cargo >/dev/null || {
    echo 'error: cargo is not installed' >&2
    echo 'hint: https://rustup.rs installs Rust; 1.85 or newer is needed' >&2
    exit 1
}
new_enough='import sys; sys.exit(sys.version_info < (3, 11))'
python=
for candidate in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11}; do
    if "$candidate" -c "$new_enough" 2>/dev/null; then
        python=$candidate
        break
    fi
done
[ -n "$python" ] || {
    echo 'error: there is no Python 3.11 or newer' >&2
    echo 'hint: install one, or name it: make PYTHON=/path/to/python3' >&2
    exit 1
}
# Debian splits venv and pip off the interpreter.
"$python" -c 'import ensurepip' 2>/dev/null || "$(dirname "$0")/apt.sh" 'virtual environments' python3-venv
"$python" -m venv "$folder"
"$folder/bin/pip" install --quiet --disable-pip-version-check --upgrade 'pip>=25.1' # --group
"$folder/bin/pip" install --quiet --group dev
