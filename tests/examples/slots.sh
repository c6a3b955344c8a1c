#!/usr/bin/env bash
# More ranks than slots (open-mpi/ompi #3133, #8955, simgrid/simgrid #136): nothing "succeeds" with
# fewer ranks, and with the flag that demo.sh adds there are as many ranks as asked for.
#   slots.sh MPIRUN FASHION_MNIST IMAGES CHECKOUT
set -u
mpirun=$1 program=$2 images=$3 checkout=$4
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0

# run <command ...>: its output and status in $output and $status.
run() { output=$("$@" </dev/null 2>&1); status=$?; }
check() { if "${@:2}"; then echo "ok: $1"; else failed=1; echo "FAILED: $1 (status $status)"; echo "$output"; fi; }
succeeds_with() { [ "$status" -eq 0 ] && grep -q "^result ranks=$1 " <<<"$output"; }
refused() { [ "$status" -ne 0 ] && ! grep -q "result ranks=" <<<"$output"; }

train=("$program" --epochs 1 --batch-size 10 --data "$images")
local_only=(--bind-to none --mca btl "self,vader" --mca mpi_yield_when_idle 1)

echo "localhost slots=2" >"$folder/two"
run "$mpirun" "${local_only[@]}" --hostfile "$folder/two" -np 4 "${train[@]}"
check "4 ranks on 2 slots are refused" refused
run "$mpirun" "${local_only[@]}" --hostfile "$folder/two" --oversubscribe -np 4 "${train[@]}"
check "4 ranks on 2 slots with --oversubscribe" succeeds_with 4
printf 'localhost slots=1\nlocalhost slots=1\n' >"$folder/twice"
run "$mpirun" "${local_only[@]}" --hostfile "$folder/twice" -np 2 "${train[@]}"
check "a host that is listed twice with slots is refused" refused
printf 'localhost slots=2' >"$folder/no_newline"
run "$mpirun" "${local_only[@]}" --hostfile "$folder/no_newline" -np 2 "${train[@]}"
check "a last line without newline counts" succeeds_with 2

cd / || exit 1
run env RANKS=4 bash "$checkout/scripts/demo.sh" "${train[@]:1}"
check "the demo with 4 ranks, from another folder" succeeds_with 4
check "the demo says why it adds a flag" grep -q -- "--oversubscribe" <<<"$output"
run env RANKS=none bash "$checkout/scripts/demo.sh" "${train[@]:1}"
check "the demo refuses a number of ranks that is none" refused
run env RANKS=3 OMPI_MCA_orte_default_hostfile="$folder/two" OMPI_MCA_rmaps_base_no_oversubscribe=1 \
  bash "$checkout/scripts/demo.sh" "${train[@]:1}"
if [ "$status" -ne 0 ]; then
  check "the demo explains what mpirun refused" grep -q "demo: mpirun ended with status" <<<"$output"
fi
exit $failed
