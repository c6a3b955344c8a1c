#!/usr/bin/env bash
# Trains a classifier of Fashion-MNIST on several ranks of this machine.
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage() {
  cat <<'TEXT'
Usage: [RANKS=N] scripts/demo.sh [argument of the example ...]

Installs what is missing (scripts/setup.sh --demo), builds the library and examples/fashion_mnist,
and runs that on N ranks (default 2) with the arguments given. With more ranks than cores it tells
mpirun to share them. The exit status is the example's, or mpirun's.

Examples:
  scripts/demo.sh --epochs 1
  RANKS=4 scripts/demo.sh
  scripts/demo.sh --example-help     the arguments of the example
TEXT
}

# The slots that Open MPI counts on this machine: its cores, not its hardware threads, and no more
# than this process may use.
slot_count() {
  local cores
  cores=$(lscpu --parse=CORE,SOCKET 2>/dev/null | grep -v '^#' | sort -u | wc -l || true)
  if ((cores == 0 || cores > $(nproc))); then cores=$(nproc); fi
  echo "$cores"
}

ranks=${RANKS:-2}
level=--demo
arguments=()
for argument in "$@"; do
  case $argument in
    -h | --help) usage; exit 0 ;;
    --example-help) arguments+=(--help) ;;
    --data | --data=*) level=--build; arguments+=("$argument") ;;  # no need for the packaged one
    *) arguments+=("$argument") ;;
  esac
done
[[ $ranks =~ ^[1-9][0-9]*$ ]] || fail "RANKS must be a number of ranks, not '$ranks'"

"$root/scripts/setup.sh" "$level"
command -v mpirun >/dev/null || fail "mpirun is not on the PATH. It starts the ranks: install" \
  "Open MPI (Debian and Ubuntu: apt-get install openmpi-bin libopenmpi-dev)."
configure release >/dev/null || { configure release; exit 1; }
cmake --build "$root/build/release" --parallel "$jobs" --target fashion_mnist

launch=(mpirun -np "$ranks")
# In a batch job the scheduler says where the ranks go, and mpirun is left alone.
if [[ -z ${SLURM_JOB_ID:-}${PBS_JOBID:-} && $(mpirun --version 2>/dev/null) == *"Open MPI"* ]]; then
  launch+=(--mca btl "self,vader")  # one machine: shared memory, and no port is opened
  slots=$(slot_count)
  if ((ranks > slots)); then
    echo "demo: $ranks ranks on $slots core(s): adding --oversubscribe, so that ranks share" \
      "cores. It works, but more ranks than cores do not train faster."
    launch+=(--oversubscribe --mca mpi_yield_when_idle 1)
  fi
fi
status=0
"${launch[@]}" "$root/build/release/examples/fashion_mnist" "${arguments[@]}" || status=$?
if ((status != 0)); then
  echo "demo: mpirun ended with status $status. If it said that there are not enough slots: use" \
    "fewer ranks (RANKS=N), or allow several per core in its host file or allocation (slots=N," \
    "or --oversubscribe)." >&2
fi
exit "$status"
