#!/bin/sh
# Provides ns-3 for the comparison: Debian's libns3-dev, and with --optimised a second build of the same
# version in a cache folder outside the repository. Nothing of the system's apt configuration is changed.
#
#   install.sh                Debian's build (needs root, or says what to run)
#   install.sh --optimised    that, and the optimised build (about 0.6 GB of disk while it builds)
#
# Environment: LOADPATH_NS3_CACHE  folder of the optimised build (default ~/.cache/loadpath/ns3)
#              LOADPATH_NS3_JOBS   compiler processes (default 1)
#              LOADPATH_NS3_DEB_SRC  source line to use instead of the distribution's own
set -eu

cache=${LOADPATH_NS3_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/loadpath/ns3}
jobs=${LOADPATH_NS3_JOBS:-1}
optimised=no
case "${1:-}" in
  "") ;;
  --optimised) optimised=yes ;;
  *) echo "error: unknown option $1" >&2; echo "hint: install.sh [--optimised]" >&2; exit 1 ;;
esac

# need PACKAGE...: installs what is missing as root, else names it and stops.
need() {
  missing=
  for package in "$@"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
  done
  [ -z "$missing" ] && return
  if [ "$(id -u)" -ne 0 ]; then
    echo "error: missing packages:$missing" >&2
    echo "hint: sudo apt-get install --no-install-recommends$missing" >&2
    exit 1
  fi
  # shellcheck disable=SC2086  # a list of package names
  apt-get install -y --no-install-recommends $missing >&2 ||
    { apt-get update >&2 && apt-get install -y --no-install-recommends $missing >&2; }
}

command -v apt-get >/dev/null || { echo "error: no apt-get: libns3-dev comes from Debian or Ubuntu" >&2; exit 1; }
need g++ libns3-dev
package_version=$(dpkg-query -W -f '${Version}' libns3-dev)
version=${package_version%%[-+~]*}
[ "$version" = 3.37 ] || echo "warning: libns3-dev is $version; the comparison was written with 3.37" >&2

[ "$optimised" = yes ] || exit 0
prefix=$cache/$version/optimised
[ -e "$prefix/complete" ] && exit 0
need cmake make dpkg-dev

work=$cache/$version/work
rm -rf "$work" "$prefix"
mkdir -p "$work/lists/partial"
cd "$work"

. /etc/os-release
case "$ID" in
  ubuntu) deb_src="deb-src http://archive.ubuntu.com/ubuntu $VERSION_CODENAME universe" ;;
  *) deb_src="deb-src http://deb.debian.org/debian $VERSION_CODENAME main" ;;
esac
echo "${LOADPATH_NS3_DEB_SRC:-$deb_src}" > deb-src.list
private_apt() {
  apt-get -q -o "Dir::Etc::sourcelist=$work/deb-src.list" -o Dir::Etc::sourceparts=/dev/null \
    -o "Dir::State::lists=$work/lists" -o Dir::Cache::srcpkgcache= -o Dir::Cache::pkgcache= \
    -o APT::Sandbox::User="$(id -un)" "$@" >&2
}
private_apt update
private_apt source "ns3=$package_version"

# ns-3's own "optimized" profile (ns-3.37/ns3, configure): release, no assertions, no logging,
# instructions of this machine. GSL and the like are left out: none of these modules needs them.
nice -n 19 cmake -S ns3-*/ns-"$version" -B build -G "Unix Makefiles" \
  -DCMAKE_BUILD_TYPE=release -DCMAKE_CXX_FLAGS_RELEASE="-O3 -DNDEBUG" -DCMAKE_INSTALL_PREFIX="$prefix" \
  -DCMAKE_INSTALL_LIBDIR=lib -DNS3_ASSERT=OFF -DNS3_LOG=OFF -DNS3_NATIVE_OPTIMIZATIONS=ON \
  -DNS3_EXAMPLES=OFF -DNS3_TESTS=OFF -DNS3_PYTHON_BINDINGS=OFF -DNS3_GSL=OFF -DNS3_GTK3=OFF -DNS3_SQLITE=OFF \
  -DNS3_EMU=OFF -DNS3_TAP=OFF -DNS3_VISUALIZER=OFF -DNS3_WARNINGS=OFF -DNS3_PRECOMPILE_HEADERS=OFF \
  -DNS3_ENABLED_MODULES="core;network;internet;point-to-point;applications;traffic-control" >&2
nice -n 19 cmake --build build -j "$jobs" >&2
nice -n 19 cmake --install build >&2
touch "$prefix/complete"
cd "$cache/$version" && rm -rf work
