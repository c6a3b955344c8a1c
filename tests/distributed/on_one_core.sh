#!/usr/bin/env bash
# on_one_core.sh <command> [argument ...]: runs it, and all that it starts, on one core.
set -euo pipefail

allowed=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)
exec taskset -c "${allowed%%[,-]*}" "$@"
