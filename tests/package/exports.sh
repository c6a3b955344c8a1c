#!/usr/bin/env bash
# exports.sh <source> <scratch> <prefix>: what the shared library exports is lockstep's own.
set -euo pipefail
# shellcheck source=tests/package/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
library=$(find "$scratch/$1" -name 'liblockstep.so' | head -n 1)
[[ -n $library ]] || fail "no shared library in $scratch/$1"

nm --dynamic --demangle --defined-only "$library" >"$scratch/exported"
wc -l <"$scratch/exported"
if grep -iE 'eigen|cblas|openblas' "$scratch/exported"; then fail "foreign symbols are exported"; fi
# Templates of the standard library over types that everyone has (std::string and the like) may be
# there, weak; over lockstep's own types they may not, and nothing else may.
allowed=' [A-Za-z] ((vtable|typeinfo|typeinfo name|VTT|guard variable) for )?lockstep::'
if grep -vE "$allowed" "$scratch/exported" | grep -vE ' [WVu] (void |bool |[a-z_: ]*)?std::' ; then
  fail "these symbols are not lockstep's own"
fi
