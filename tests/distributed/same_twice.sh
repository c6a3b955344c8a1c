#!/usr/bin/env bash
# same_twice.sh <command> [argument ...]: starts it twice; both must print the same, and hashes.
set -euo pipefail

first=$("$@")
second=$("$@")
echo "$first"
if [[ $(grep -cE '^weights [0-9a-f]{16}$' <<<"$first") -lt 2 ]]; then
  echo "FAILED: no hashes were printed"
  exit 1
fi
if [[ $first != "$second" ]]; then
  echo "FAILED: the second run printed something else:"
  echo "$second"
  exit 1
fi
