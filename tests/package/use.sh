#!/usr/bin/env bash
# use.sh <source> <scratch> <prefix>: builds a project that knows C++ only against the prefix, after
# the prefix was moved, and runs it.
set -euo pipefail
# shellcheck source=tests/package/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
here=$source/tests/package
moved="$scratch/moved $1"
build="$scratch/use $1"

rm -rf "$moved"
cp -a "$scratch/$1" "$moved"
configure "$here/consumer" "$build" -DCMAKE_PREFIX_PATH="$moved"
cmake --build "$build"

"$build/consumer" 1
if ((${#mpirun[@]} > 0)); then on_ranks 2 "$build/consumer" 2; fi

# An unlike version is refused.
if configure "$here/consumer" "$build 9" -DCMAKE_PREFIX_PATH="$moved" -DWANTED=9.0 \
  >"$build refused" 2>&1; then
  fail "version 9.0 was accepted"
fi
grep -q 'compatible with requested version "9.0"' "$build refused" || fail "wrong message"
