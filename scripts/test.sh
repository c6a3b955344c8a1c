#!/usr/bin/env bash
# Builds lockstep and runs its tests.
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage() {
  cat <<'TEXT'
Usage: scripts/test.sh [--preset NAME] [--no-setup] [ctest argument ...]

Installs what is missing (scripts/setup.sh --test), builds everything and runs all tests. The last
lines are ctest's summary; the exit status is not 0 if anything failed.

  --preset NAME  release (the default), debug, sanitize, thread-sanitize, emulated or no-mpi; also PRESET=NAME
  --no-setup     install nothing
  JOBS=N         number of jobs that build and test at a time (default: all processors)

Examples:
  scripts/test.sh -R tensor          only the tests whose name has "tensor" in it
  scripts/test.sh --preset sanitize  under the address and undefined behaviour sanitizers
TEXT
}

preset=${PRESET:-release}
setup=1
ctest_arguments=()
while (($# > 0)); do
  case $1 in
    -h | --help) usage; exit 0 ;;
    --preset) [[ $# -ge 2 ]] || fail "--preset needs a name"; preset=$2; shift ;;
    --preset=*) preset=${1#*=} ;;
    --no-setup) setup=0 ;;
    *) ctest_arguments+=("$1") ;;
  esac
  shift
done

if ((setup)); then "$root/scripts/setup.sh" --test; fi
configure "$preset"
cd "$root"
cmake --build --preset "$preset" --parallel "$jobs"

# Under some kernels the thread sanitizer needs addresses that are not drawn at random.
launcher=()
if [[ $preset == thread-sanitize ]] && setarch -R true 2>/dev/null; then launcher=(setarch -R); fi
exec "${launcher[@]}" ctest --preset "$preset" --parallel "$jobs" --no-label-summary \
  --no-tests=error "${ctest_arguments[@]}"
