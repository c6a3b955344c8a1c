#!/usr/bin/env bash
# Builds, tests, sanitizes and measures lockstep on a machine with a GPU, in one go.
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage() {
  cat <<'TEXT'
Usage: scripts/gpu_check.sh [--carry FOLDER] [--budget SECONDS] [--out FOLDER]
       scripts/gpu_check.sh --pack FOLDER

Configures for the GPU of this machine, builds, and runs the tests that need a GPU,
compute-sanitizer over some of them, and the benchmarks. Installs nothing and needs no network. The
last lines say what passed, failed and was skipped, and why. Status: 0 if nothing failed, 1 if
something did, 3 if there is no GPU.

  --carry FOLDER    a prefix with the header packages that this machine lacks (Eigen, Catch2, CLI11,
                    nlohmann-json); also LOCKSTEP_CARRY. Default: third_party-carry, if it is there
  --pack FOLDER     makes such a folder from this machine's Debian packages, and ends
  --budget SECONDS  what would begin later is skipped (default 540)
  --out FOLDER      results: summary.txt, summary.json, gpu_check.log, gpu_bench.json.
                    Default: $OUT, else build/gpu_check/results
TEXT
}

pack() {
  command -v dpkg >/dev/null || fail "--pack needs dpkg; collect the four packages by hand"
  mkdir -p "$1"
  local package
  for package in libeigen3-dev catch2 libcli11-dev nlohmann-json3-dev; do
    dpkg -L "$package" | grep -E '^/usr/(include|lib|share/(cmake|eigen3))/' |
      while read -r file; do if [[ -f $file ]]; then echo "${file#/usr/}"; fi; done |
      tar -C /usr -cf - -T - | tar -C "$1" -xf -
  done
  du -sh "$1"
}

carry=${LOCKSTEP_CARRY:-$root/third_party-carry}
budget=540
out=${OUT:-$root/build/gpu_check/results}
while (($# > 0)); do
  case $1 in
    -h | --help) usage; exit 0 ;;
    --pack) [[ $# -ge 2 ]] || fail "--pack needs a folder"; pack "$2"; exit 0 ;;
    --carry | --budget | --out)
      [[ $# -ge 2 ]] || fail "$1 needs a value"
      case $1 in
        --carry) carry=$(realpath -m "$2") ;;
        --budget) budget=$2 ;;
        --out) out=$(realpath -m "$2") ;;
      esac
      shift ;;
    *) usage >&2; exit 2 ;;
  esac
  shift
done
[[ $budget =~ ^[1-9][0-9]*$ ]] || fail "--budget must be a number of seconds, not '$budget'"

build=$root/build/gpu_check
log=$out/gpu_check.log
rows=()  # "status|name|seconds|note"
passed=0 failed=0 skipped=0

# note <passed|failed|skipped> <name> <seconds> [<note>]
note() {
  rows+=("$1|$2|$3|${4:-}")
  case $1 in passed) ((++passed)) ;; failed) ((++failed)) ;; skipped) ((++skipped)) ;; esac
  printf '%-8s %-28s %5s s  %s\n' "$1" "$2" "$3" "${4:-}"
}

# step <name> <most seconds> <command ...>: its output goes to the log, its last "result" or ctest
# summary line to the table. Status 0 unless it failed.
step() {
  local name=$1 most=$2 left=$((budget - SECONDS)) begin=$SECONDS status=0 said
  shift 2
  if ((left < 10)); then
    note skipped "$name" 0 "no time left of $budget s"
    return 1
  fi
  if ((most > left)); then most=$left; fi
  echo "==== $name: $*" >>"$log"
  timeout --kill-after=5 "$most" "$@" >"$build/step.log" 2>&1 </dev/null || status=$?
  cat "$build/step.log" >>"$log"
  if grep -q 'No test cases matched' "$build/step.log"; then status=1; fi
  said=$(grep -E '^result |tests passed|ERROR SUMMARY|RACECHECK SUMMARY' "$build/step.log" |
    tail -n 1 | sed 's/^=* *//' || true)
  if ((status == 0)) && grep -q '(Skipped)$' "$build/step.log"; then
    note skipped "$name" $((SECONDS - begin)) \
      "$(grep -c '(Skipped)$' "$build/step.log") test(s) found nothing to test; see the log"
  elif ((status == 0)); then
    note passed "$name" $((SECONDS - begin)) "$said"
  elif ((status == 124 || status == 137)); then
    note "${unfinished:-failed}" "$name" $((SECONDS - begin)) "not finished after $most s"
  elif grep -q 'Device not supported' "$build/step.log"; then
    note skipped "$name" $((SECONDS - begin)) "compute-sanitizer refuses this device"
  else
    if [[ -z $said ]]; then
      said=$(grep -m 1 '^lockstep: ' "$build/step.log" || tail -n 1 "$build/step.log")
    fi
    note failed "$name" $((SECONDS - begin)) "status $status: $said"
    tail -n 15 "$build/step.log"
  fi
  return "$status"
}

json_text() { printf '"%s"' "$(tr -d '\000-\037' <<<"$1" | sed 's/[\\"]/\\&/g')"; }

# Writes the results and ends.
finish() {
  local row status name seconds text comma=
  printf '%s\n' "$machine" "${rows[@]//|/ | }" "$passed passed, $failed failed, $skipped skipped" \
    >"$out/summary.txt"
  {
    printf '{"machine": %s, "passed": %d, "failed": %d, "skipped": %d, "steps": [' \
      "$(json_text "$machine")" "$passed" "$failed" "$skipped"
    for row in "${rows[@]}"; do
      IFS='|' read -r status name seconds text <<<"$row"
      printf '%s\n  {"name": %s, "status": "%s", "seconds": %d, "note": %s}' "$comma" \
        "$(json_text "$name")" "$status" "$seconds" "$(json_text "$text")"
      comma=,
    done
    printf '\n]}\n'
  } >"$out/summary.json"
  echo "$machine"
  echo "gpu_check: $passed passed, $failed failed, $skipped skipped in $SECONDS s; see $out"
  exit $((failed > 0))
}

# shellcheck source=scripts/gpu_check_steps.sh
source "$root/scripts/gpu_check_steps.sh"
