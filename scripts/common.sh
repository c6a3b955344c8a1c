# shellcheck shell=bash
# What the scripts share. Source it after `set -euo pipefail`.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export jobs=${JOBS:-$(nproc)}

# Where the system's CMake is too old, setup.sh puts one here.
PATH=$root/build/tools/bin:$PATH

# Open MPI refuses to start as root unless it is told twice.
if ((EUID == 0)); then export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; fi

fail() {
  echo "${0##*/}: $*" >&2
  exit 1
}

# configure <preset> [argument ...]: also picks Ninja and ccache where they are and nothing was
# configured before.
configure() {
  local preset=$1 folder=$root/build/$1 options=()
  shift
  if [[ ! -e $folder/CMakeCache.txt ]]; then
    if command -v ninja >/dev/null; then options+=(-G Ninja); fi
    if command -v ccache >/dev/null; then options+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
  fi
  (cd "$root" && cmake --preset "$preset" "${options[@]}" "$@")
}
