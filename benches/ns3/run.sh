#!/bin/sh
# Compares our simulator with ns-3 on one load: installs ns-3, builds star.cc and loadpath-bench, runs compare.py.
#
#   run.sh [--optimised] [options of compare.py]
#
# --optimised also builds an optimised ns-3 (install.sh; about 8 minutes the first time). It takes part whenever it
# is there. BENCH_JSON=FILE writes the results to FILE as well.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
cache=${LOADPATH_NS3_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/loadpath/ns3}
if [ "${1:-}" = --optimised ]; then
  shift
  sh "$here/install.sh" --optimised
else
  sh "$here/install.sh"
fi
package_version=$(dpkg-query -W -f '${Version}' libns3-dev)
prefix=$cache/${package_version%%[-+~]*}/optimised
bin=$cache/${package_version%%[-+~]*}/bin
mkdir -p "$bin"

# build NAME SUFFIX FLAG...: star.cc against one build of ns-3, whose libraries end in SUFFIX.
build() {
  name=$1 suffix=$2
  shift 2
  [ "$bin/$name" -nt "$here/star.cc" ] && return
  echo "building star.cc for $name" >&2
  c++ -std=c++17 -O3 -DNDEBUG "$here/star.cc" -o "$bin/$name" "$@" -lns3-point-to-point"$suffix" \
    -lns3-internet"$suffix" -lns3-network"$suffix" -lns3-core"$suffix"
}

build star-debian ""
set -- --ns3 "debian=$bin/star-debian" "$@"
if [ -e "$prefix/complete" ]; then
  # The old kind of run path also serves the libraries that these libraries need.
  build star-optimised -optimized -march=native -mtune=native "-I$prefix/include" "-L$prefix/lib" \
    "-Wl,--disable-new-dtags,-rpath,$prefix/lib"
  set -- --ns3 "optimised=$bin/star-optimised" "$@"
fi
[ -z "${BENCH_JSON:-}" ] || set -- "$@" --json "$BENCH_JSON"
exec python3 "$here/compare.py" "$@"
