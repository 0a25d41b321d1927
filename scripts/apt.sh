#!/bin/sh
# Installs Debian packages that are missing, if that is possible without asking; says so if not.
# usage: scripts/apt.sh REASON PACKAGE...
set -eu
reason=$1
shift
command -v dpkg-query >/dev/null || { echo "skipped (no Debian): $* for $reason" >&2; exit 0; }
missing=
for package; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' ||
        missing="$missing $package"
done
[ -n "$missing" ] || exit 0
if [ "$(id -u)" = 0 ]; then
    sudo=
elif sudo -n true 2>/dev/null; then
    sudo='sudo -n'
else
    echo "skipped (needs root: apt-get install$missing): $reason" >&2
    exit 0
fi
echo "installing$missing for $reason" >&2
export DEBIAN_FRONTEND=noninteractive
{ $sudo apt-get update -qq && $sudo apt-get install -y -qq --no-install-recommends $missing; } \
    >/dev/null || echo "skipped (apt-get install$missing failed): $reason" >&2
