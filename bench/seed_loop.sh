#!/usr/bin/env bash
# Measures examples/multi_gpu_loop and examples/fashion_mnist beside programs that do the same work
# with other means, alternately, and prints medians and ratios as markdown.
#
#   bench/seed_loop.sh [--programs FOLDER] [--floor PROGRAM] [--pytorch SCRIPT] [--python PYTHON]
#                      [--runs N] [--epochs N] [--ranks "1 2"]
#
# --programs  the built examples (default: build/release/examples)
# --floor     a hand-written loop; prints "... us/step T ..." in its last line. $LOCKSTEP_FLOOR
# --pytorch   Fashion-MNIST under PyTorch; prints "samples/s N test_accuracy A". $LOCKSTEP_PYTORCH
# --runs      pairs of runs (default 5); --epochs: of each run (default 6)
# The other programs read the number of epochs from the environment variable E.
set -euo pipefail

programs=$(cd "$(dirname "$0")/.." && pwd)/build/release/examples
floor=${LOCKSTEP_FLOOR:-}
pytorch=${LOCKSTEP_PYTORCH:-}
python=python3
runs=5
epochs=6
rank_counts="1 2"
while [ $# -gt 0 ]; do
  case $1 in
    --programs) programs=$2 ;;
    --floor) floor=$2 ;;
    --pytorch) pytorch=$2 ;;
    --python) python=$2 ;;
    --runs) runs=$2 ;;
    --epochs) epochs=$2 ;;
    --ranks) rank_counts=$2 ;;
    -h | --help) sed -n '2,12p' "$0" | sed 's/^# \?//'; exit 0 ;;
    *) echo "seed_loop.sh: unknown option $1; see --help" >&2; exit 2 ;;
  esac
  shift 2
done

# Open MPI refuses to start as root unless it is told twice.
if [ "$(id -u)" = 0 ]; then export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; fi
# One core and one thread per rank. malloc that keeps its memory is what makes PyTorch fast here.
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 E=$epochs
keep_memory=(env MALLOC_MMAP_THRESHOLD_=1073741824 MALLOC_TRIM_THRESHOLD_=1073741824
             MALLOC_TOP_PAD_=67108864)
launch() { local ranks=$1; shift; mpirun -np "$ranks" --bind-to core "$@" </dev/null | tail -n 1; }
# The number behind a word: value "us/step" <<<"us/step 812  samples/s 39000"
value() { tr '=' ' ' | sed -nE "s|.*[ ]?$1 +([0-9.]+).*|\1|p"; }
median() { tr ' ' '\n' | sed '/^$/d' | sort -g | awk '{ v[NR] = $1 }
  END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }
range() { tr ' ' '\n' | sed '/^$/d' | sort -g | awk 'NR == 1 { low = $1 } { high = $1 }
  END { print low " to " high }'; }

# compare TITLE UNIT RANKS OUR_WORD THEIR_WORD OUR_COMMAND -- THEIR_COMMAND: one row for each.
compare() {
  local title=$1 unit=$2 ranks=$3 our_word=$4 their_word=$5 ours=() theirs=()
  shift 5
  while [ "$1" != -- ]; do ours+=("$1"); shift; done
  shift
  theirs=("$@")
  local our_values="" their_values="" ratios="" i a b
  for ((i = 0; i < runs; ++i)); do
    a=$(launch "$ranks" "${ours[@]}" | value "$our_word")
    our_values+=" $a"
    if [ ${#theirs[@]} -gt 0 ]; then
      b=$(launch "$ranks" "${theirs[@]}" | value "$their_word")
      their_values+=" $b"
      ratios+=" $(awk "BEGIN { print $a / $b }")"
    fi
  done
  echo "| $title, lockstep | $ranks | $unit |" \
    "$(median <<<"$our_values") | $(range <<<"$our_values") |" \
    "$([ -n "$ratios" ] && median <<<"$ratios" | xargs printf '%.3f') |"
  [ -z "$their_values" ] || echo "| $title, other | $ranks | $unit |" \
    "$(median <<<"$their_values") | $(range <<<"$their_values") | 1 |"
}

echo "$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1), $(nproc --all) cores, load" \
  "$(cut -d ' ' -f 1 /proc/loadavg); $runs runs of $epochs epochs, alternately;" \
  "one core per rank. Ratio: lockstep to other, pair by pair."
echo
echo "| program | ranks | unit | median | range | median of ratios |"
echo "|---|---|---|---|---|---|"
for ranks in $rank_counts; do
  compare "seed loop" us/step "$ranks" us_per_step us/step \
    "$programs/multi_gpu_loop" --device cpu --epochs "$epochs" -- ${floor:+"$floor"}
done
for ranks in $rank_counts; do
  compare Fashion-MNIST samples/s "$ranks" samples_per_second samples/s \
    "$programs/fashion_mnist" --device cpu --epochs "$epochs" \
    -- ${pytorch:+"${keep_memory[@]}" "$python" "$pytorch"}
done
