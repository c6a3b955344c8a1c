# shellcheck shell=bash
# What the package tests share. Their first two arguments are lockstep's source and a scratch
# folder; CXX, BUILD_TYPE, GENERATOR, LAUNCHER and MPIRUN come from the registration.
export source=$1 scratch=$2
shift 2
IFS=';' read -r -a mpirun <<<"${MPIRUN:-}"

fail() {
  echo "FAILED: $*"
  exit 1
}

# configure <source folder> <build folder> [argument ...]: from nothing.
configure() {
  local from=$1 to=$2
  shift 2
  rm -rf "$to"
  cmake -S "$from" -B "$to" -G "$GENERATOR" -DCMAKE_CXX_COMPILER="$CXX" \
    -DCMAKE_CXX_COMPILER_LAUNCHER="$LAUNCHER" -DCMAKE_BUILD_TYPE="$BUILD_TYPE" "$@"
}

# on_ranks <count> <program> [argument ...]
on_ranks() {
  local count=$1
  shift
  "${mpirun[@]}" -np "$count" "$@"
}
