#!/usr/bin/env bash
# install.sh <source> <scratch> <build folder> <prefix>: installs, and checks what was installed.
set -euo pipefail
# shellcheck source=tests/package/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
build=$1
prefix=$scratch/$2

rm -rf "$prefix"
cmake --install "$build" --prefix "$prefix"

(cd "$source/include" && find lockstep -name '*.hpp' | sort) >"$scratch/$2 expected"
(cd "$prefix/include" && find . -type f | sed 's|^\./||' | sort) >"$scratch/$2 installed"
diff "$scratch/$2 expected" "$scratch/$2 installed" || fail "the headers differ"

# The package can be moved: no file of it names a folder of this machine.
if grep -rnF -e "$source" -e "$scratch" -e "$build" "$prefix"/lib*/cmake "$prefix"/lib/*/cmake \
  2>/dev/null; then
  fail "the package names a folder of this machine"
fi
