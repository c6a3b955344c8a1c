#!/usr/bin/env bash
# subdirectory.sh <source> <scratch>: another project adds lockstep as a folder, with everything at
# its default, and then as a shared library that is installed with it.
set -euo pipefail
# shellcheck source=tests/package/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
build="$scratch/subdirectory build"
plain="$scratch/subdirectory plain"

configure "$source/tests/package/subdirectory" "$plain" -DLOCKSTEP_FOLDER="$source"
tests=$(cd "$plain" && ctest -N)
grep -q 'Total Tests: 1$' <<<"$tests" || fail "tests were added to the project: $tests"
cmake --install "$plain" --prefix "$scratch/nothing"
if [[ -e $scratch/nothing ]]; then fail "install rules were added to the project"; fi

# Built again from nothing only where it was never built: what a build folder keeps is not tested.
if [[ ! -e $build/CMakeCache.txt ]]; then
  # Optimized a little only, because it takes long enough.
  BUILD_TYPE=Debug configure "$source/tests/package/subdirectory" "$build" \
    -DLOCKSTEP_FOLDER="$source" -DBUILD_SHARED_LIBS=ON -DLOCKSTEP_INSTALL=ON \
    -DCMAKE_CXX_FLAGS_DEBUG="-O1 -DNDEBUG"
fi
cmake --build "$build" --parallel "$(nproc)"
"$build/consumer" 1
