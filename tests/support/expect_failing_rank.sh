#!/usr/bin/env bash
# expect_failing_rank.sh <command ...>: failing_rank on 3 ranks must fail as its head says.
set -euo pipefail

status=0
output=$("$@" 2>&1) || status=$?
echo "$output"
((status != 0)) || { echo "FAILED: status 0"; exit 1; }
for part in '[rank 1] rank 1 fails' '[rank 1]   CHECK( env.rank() != 1 )' '[rank 1]   1 != 1'; do
  grep -qF -- "$part" <<<"$output" || { echo "FAILED: the output lacks '$part'"; exit 1; }
done
