#!/usr/bin/env bash
# Runs lockstep and programs that do the same work by other means (bench/peers) in turns, and prints
# one table with medians and ratios as markdown. What is missing is named, and left out.
#
#   bench/compare.sh [--build FOLDER] [--peers FOLDER] [--python PYTHON] [--launch COMMAND]
#                    [--jobs "loop fashion_mnist operations"] [--ranks "1 2"] [--runs N]
#                    [--epochs N] [--json FILE]
#
# --build   where lockstep is built (default: build/release)
# --peers   where the C++ peers are, or are to be, built (default: build/peers)
# --python  a Python with PyTorch, which also says where libtorch is (default: python3)
# --launch  starts ranks, before -np (default: mpirun --bind-to core)
# --runs    rounds, in each of which every program runs once (default 5)
# --epochs  of each run (default 6)
# --json    file to write the table to
#
# PyTorch and libtorch run as they are started, and tuned: malloc keeps its memory, one thread per
# rank, and Adam's fused pass in Python.
set -euo pipefail

bench=$(cd "$(dirname "$0")" && pwd)
build=$bench/../build/release
peers=$bench/../build/peers
python=python3
launch="mpirun --bind-to core"
selected="loop fashion_mnist operations"
rank_counts="1 2"
runs=5
epochs=6
json=
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) sed -n '2,18p' "$0" | sed 's/^# \?//'; exit 0 ;;
    --build) build=$2 ;;
    --peers) peers=$2 ;;
    --python) python=$2 ;;
    --launch) launch=$2 ;;
    --jobs) selected=$2 ;;
    --ranks) rank_counts=$2 ;;
    --runs) runs=$2 ;;
    --epochs) epochs=$2 ;;
    --json) json=$2 ;;
    *) echo "compare.sh: unknown option $1; see --help" >&2; exit 2 ;;
  esac
  shift 2
done

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
say() { echo "compare.sh: $*" >&2; }

# Open MPI refuses to start as root unless it is told twice.
if [ "$(id -u)" = 0 ]; then export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; fi
tuned=(env OMP_NUM_THREADS=1 MALLOC_MMAP_THRESHOLD_=1073741824 MALLOC_TRIM_THRESHOLD_=1073741824
       MALLOC_TOP_PAD_=67108864)

torch=$("$python" -c 'import torch; print(torch.__path__[0])' 2>/dev/null) ||
  say "PyTorch is left out: $python cannot import torch"

build_peers() {
  local peer
  cmake -S "$bench/peers" -B "$peers" ${torch:+"-DTORCH_ROOT=$torch"} >"$scratch/log" 2>&1 || true
  for peer in floor libtorch_loop; do
    cmake --build "$peers" --target "$peer" >>"$scratch/log" 2>&1 || say "$peer was not built"
  done
  cp "$scratch/log" "$peers/compare.log"
}

jobs=() rank_count_of=() names=() commands=()
# add JOB RANKS NAME COMMAND ...: a program that is to run in each round
add() {
  jobs+=("$1") rank_count_of+=("$2") names+=("$3")
  shift 3
  commands+=("$(printf '%q ' "$@")")
}
# add_program JOB RANKS NAME PROGRAM ARGUMENT ...: unless it is not there
add_program() {
  if [ -x "$4" ]; then add "$@"; else say "$3 is left out: there is no $4"; fi
}

add_loop() {
  local ranks=$1
  add_program loop "$ranks" lockstep "$build/examples/multi_gpu_loop" --device cpu \
    --epochs "$epochs"
  add_program loop "$ranks" "written by hand" "$peers/floor" --epochs "$epochs"
  if [ -x "$peers/libtorch_loop" ]; then
    add loop "$ranks" "libtorch, MPI" "$peers/libtorch_loop" --epochs "$epochs"
    add loop "$ranks" "libtorch, MPI, tuned" "${tuned[@]}" "$peers/libtorch_loop" --epochs "$epochs"
  else
    say "libtorch is left out; $peers/compare.log may say why"
  fi
}
# add_pytorch JOB RANKS
add_pytorch() {
  [ -n "$torch" ] || return 0
  local command=("$python" "$bench/peers/pytorch_ddp.py" --job "$1" --epochs "$epochs")
  add "$1" "$2" "PyTorch DDP, Gloo" "${command[@]}"
  add "$1" "$2" "PyTorch DDP, Gloo, tuned" "${tuned[@]}" "${command[@]}" --tuned
}

case " $selected " in *" loop "*) build_peers ;; esac
for job in $selected; do
  case $job in
    loop)
      for ranks in $rank_counts; do
        add_loop "$ranks"
        add_pytorch loop "$ranks"
      done ;;
    fashion_mnist)
      for ranks in $rank_counts; do
        add_program "$job" "$ranks" lockstep "$build/examples/fashion_mnist" --device cpu \
          --epochs "$epochs"
        add_pytorch "$job" "$ranks"
      done ;;
    operations)
      add_program "$job" 1 lockstep "$build/bench/operations_bench"
      [ -z "$torch" ] ||
        add "$job" 1 PyTorch "${tuned[@]}" "$python" "$bench/peers/pytorch_operations.py" ;;
    *) say "unknown job $job; see --help"; exit 2 ;;
  esac
done

for ((run = 0; run < runs; ++run)); do
  for i in "${!commands[@]}"; do
    [ -n "${commands[i]}" ] || continue
    if line=$(eval "$launch -np ${rank_count_of[i]} ${commands[i]}" </dev/null 2>"$scratch/errors" |
      tail -n 1) && [[ $line == "result "* ]]; then
      printf '%s\t%s\t%s\t%s\n' "${jobs[i]}" "${rank_count_of[i]}" "${names[i]}" "$line" \
        >>"$scratch/runs"
    else
      say "${names[i]} (${jobs[i]}, ${rank_count_of[i]} ranks) is left out from here on, it failed:"
      tail -n 5 "$scratch/errors" >&2
      commands[i]=
    fi
  done
done
[ -e "$scratch/runs" ] || { say "nothing ran"; exit 1; }
python3 "$bench/common/compare_table.py" "$scratch/runs" ${json:+--json "$json"}
