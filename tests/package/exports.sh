#!/usr/bin/env bash
# exports.sh <source> <scratch> <prefix>: what the shared library exports is lockstep's own.
set -euo pipefail
# shellcheck source=tests/package/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
library=$(find "$scratch/$1" -name 'liblockstep.so' | head -n 1)
[[ -n $library ]] || fail "no shared library in $scratch/$1"

nm --dynamic --defined-only "$library" | cut -d' ' -f2,3 >"$scratch/exported"
# Mangled: lockstep::..., and its vtables, typeinfo and guards. Templates of the standard library
# over types that everyone has may be there, weak; over lockstep's own types they may not.
own='^[A-Za-z] _Z(T[VISCT]|GV)?N[KO]*8lockstep'
standard='^[WVu] _Z(T[VIS]|GV|Z)?N?K?(St|Ss|Sa|9__gnu_cxx)'
foreign=$(grep -vE "$own" "$scratch/exported" | grep -vE "$standard" || true)
leaked=$(grep -E "$standard" "$scratch/exported" | grep -iE 'lockstep|eigen' || true)
[[ -z $foreign ]] || fail "exported, but not lockstep's own:"$'\n'"$(c++filt <<<"$foreign")"
[[ -z $leaked ]] || fail "exported over private types:"$'\n'"$(c++filt <<<"$leaked")"
echo "$(grep -cE "$own" "$scratch/exported") of $(wc -l <"$scratch/exported") are lockstep's own"
