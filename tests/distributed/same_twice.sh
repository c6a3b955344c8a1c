#!/usr/bin/env bash
# same_twice.sh <command> [argument ...]: starts it twice; both must print the same, and at least
# two hashes or steps with a number.
set -euo pipefail

first=$("$@")
second=$("$@")
echo "$first"
if [[ $(grep -cE '^(weights [0-9a-f]{16}|step [0-9]+ .*[0-9])$' <<<"$first") -lt 2 ]]; then
  echo "FAILED: no hashes or steps were printed"
  exit 1
fi
if [[ $first != "$second" ]]; then
  echo "FAILED: the second run printed something else:"
  echo "$second"
  exit 1
fi
