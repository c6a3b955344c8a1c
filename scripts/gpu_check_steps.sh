# shellcheck shell=bash disable=SC2154,SC2034
# What gpu_check.sh does, in order. It has step, note and finish, and $root, $build, $out, $carry.

if [[ -n ${CUDA_VISIBLE_DEVICES+set} && -z $CUDA_VISIBLE_DEVICES ]]; then
  echo "gpu_check: CUDA_VISIBLE_DEVICES is empty, so there is no GPU to check; nothing was run"
  exit 3
fi
if ! command -v nvidia-smi >/dev/null || ! nvidia-smi -L 2>/dev/null | grep -q '^GPU 0'; then
  echo "gpu_check: no GPU here (nvidia-smi shows none); nothing was run"
  exit 3
fi
mkdir -p "$build" "$out"
: >"$log"
gpu_count=$(nvidia-smi -L | grep -c '^GPU')
machine="$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -n 1), \
$gpu_count GPU(s), $(nproc) cores"
architecture=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -n 1 | tr -d '. ')
[[ $architecture =~ ^[0-9]+$ ]] || architecture=native

PATH=$PATH:/usr/local/cuda/bin
if ! command -v nvcc >/dev/null; then
  note failed nvcc 0 "not on the PATH or in /usr/local/cuda/bin"
  finish
fi
machine+=", $(nvcc --version | grep -o 'release [0-9.]*' || echo nvcc)"

# has_header <file> [<folder>]: carried, or installed.
has_header() {
  local place
  for place in "$carry/include" "$carry/usr/include" /usr/include /usr/local/include; do
    if [[ -e $place/$1 || -e $place/${2:-.}/$1 ]]; then return 0; fi
  done
  return 1
}
options=(-DCMAKE_BUILD_TYPE=Release -DLOCKSTEP_CUDA=ON -DLOCKSTEP_WERROR=OFF -DLOCKSTEP_INSTALL=OFF
  "-DLOCKSTEP_CUDA_ARCHITECTURES=$architecture")
if [[ -d $carry ]]; then options+=("-DCMAKE_PREFIX_PATH=$carry;$carry/usr"); fi
if command -v ninja >/dev/null; then options+=(-G Ninja); fi
if ! has_header Eigen/Core eigen3; then
  note failed eigen 0 "no Eigen; carry it: scripts/gpu_check.sh --pack third_party-carry elsewhere"
  finish
fi
# left_out <option> <what>: not built, and said so.
left_out() {
  options+=("-DLOCKSTEP_$1=OFF")
  note skipped "${1,,}" 0 "no $2 here; carry it"
}
has_header catch2/catch.hpp || has_header catch2/catch_all.hpp || left_out TESTS Catch2
has_header CLI/CLI.hpp || { left_out EXAMPLES CLI11; left_out BENCH CLI11; }
has_header nlohmann/json.hpp || left_out BENCH nlohmann-json

step configure 120 cmake -S "$root" -B "$build" "${options[@]}" || finish
grep -o 'lockstep: MPI.*' "$build/step.log" || true

# Tests that use a GPU, by their labels; the program is the part of the name before the dot.
labels='^(gpu|parity)$'
mapfile -t tests < <(ctest --test-dir "$build" -N -L "$labels" |
  sed -n 's/^ *Test *#[0-9]*: \([^ ]*\)$/\1/p')
known=$(cmake --build "$build" --target help)
targets=()
for target in $(printf '%s\n' "${tests[@]%%.*}" | sort -u) gpu_bench multi_gpu_loop nccl; do
  if grep -qE "(^|[ /])$target(:|\.\.\.|$| )" <<<"$known"; then targets+=(--target "$target"); fi
done
step build 360 cmake --build "$build" --parallel "$jobs" "${targets[@]}" || finish

# Each program of the tests is a step of its own, so that one that hangs takes nothing else along.
for program in $(printf '%s\n' "${tests[@]%%.*}" | sort -u); do
  step "tests $program" 120 ctest --test-dir "$build" -R "^$program(\.|\$)" -L "$labels" \
    --output-on-failure --no-tests=error || true
done
if ((${#tests[@]} == 0)); then note skipped "tests on a GPU" 0 "none in this build"; fi

nccl=$build/tests/distributed/nccl/nccl
if [[ ! -x $nccl ]]; then
  note skipped "collectives on GPUs" 0 "no MPI, NCCL or Catch2 in this build"
elif ((gpu_count > 1)); then
  step "collectives on $gpu_count GPUs" 90 mpirun -np "$gpu_count" "$nccl" || true
else
  note skipped "NCCL between ranks" 0 "one GPU; NCCL wants one per rank"
  LOCKSTEP_SHARE_DEVICE=1 step "two ranks on one GPU" 90 \
    mpirun --oversubscribe -np 2 "$nccl" || true
fi

bench=$build/bench/gpu_bench loop=$build/examples/multi_gpu_loop
if [[ -x $bench ]]; then
  step "benchmark: Adam, linear" 120 "$bench" --repetitions 5 --json "$out/gpu_bench.json" || true
fi
if [[ -x $loop ]]; then
  step "multi_gpu_loop" 60 "$loop" --device cuda --epochs 5 || true
  plain=$(grep -o 'loss=.*' "$build/step.log" | tail -n 1 || true)
  step "multi_gpu_loop --capture" 60 "$loop" --device cuda --epochs 5 --capture || true
  captured=$(grep -o 'loss=.*' "$build/step.log" | tail -n 1 || true)
  if [[ -n $plain && $plain == "$captured" ]]; then
    note passed "captured loss is the same" 0 "$plain"
  else
    note failed "captured loss is the same" 0 "${plain:-none}, captured ${captured:-none}"
  fi
fi

# Short selections: a sanitizer slows a program down tenfold and more, so one that does not come to
# an end says nothing.
unfinished=skipped
sanitized=$build/tests/parity/parity_backend
if ! command -v compute-sanitizer >/dev/null; then
  note skipped compute-sanitizer 0 "not on the PATH or in /usr/local/cuda/bin"
elif [[ ! -x $sanitized ]]; then
  note skipped compute-sanitizer 0 "the parity tests were not built"
else
  for tool in memcheck racecheck; do
    step "$tool" 90 compute-sanitizer --tool "$tool" --error-exitcode 9 "$sanitized" \
      "Adam*,sums*,*argmax*" || true
  done
  step "memcheck of streams" 60 compute-sanitizer --tool memcheck --error-exitcode 9 \
    "$build/tests/interop/cuda_interop" || true
fi
finish
