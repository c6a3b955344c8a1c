#!/usr/bin/env bash
# headers.sh <source> <scratch> <compiler>: each public header compiles alone, under strict
# warnings, with that compiler and with clang 14; the umbrella and interop/cuda.hpp also as CUDA.
set -euo pipefail
source=$1 scratch=$2 compiler=$3
mkdir -p "$scratch"
cd "$source/include"

compilers=("$compiler")
for other in clang++-14 clang++; do
  if command -v "$other" >/dev/null; then compilers+=("$other"); break; fi
done
mpi=()
if command -v mpicxx >/dev/null; then
  read -r -a mpi < <(mpicxx --showme:compile 2>/dev/null || true) || true
  mpi=("${mpi[@]/#-I/-isystem}")
fi
nvcc=$(command -v nvcc || compgen -G '/usr/local/cuda/bin/nvcc' || true)
cuda=()
if [[ -n $nvcc ]]; then
  toolkit=$(cd "$(dirname "$(readlink -f "$nvcc")")/.." && pwd)
  if [[ -e $toolkit/include/cuda_runtime_api.h ]]; then cuda=(-isystem "$toolkit/include"); fi
fi

failed=0
warnings=(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor
  -Werror)
while read -r header; do
  options=()
  case $header in
    lockstep/interop/mpi.hpp) ((${#mpi[@]} > 0)) || continue; options=("${mpi[@]}") ;;
    lockstep/interop/cuda.hpp)
      if ((${#cuda[@]} == 0)); then
        echo "no CUDA toolkit here: $header was not compiled"
        continue
      fi
      options=("${cuda[@]}") ;;
    lockstep/interop/*) continue ;;
  esac
  # Twice, so that a missing include guard is found.
  printf '#include <%s>\n#include <%s>\n' "$header" "$header" >"$scratch/one.cpp"
  for compiler in "${compilers[@]}"; do
    if ! "$compiler" -std=c++20 "${warnings[@]}" -I. "${options[@]}" -fsyntax-only \
      "$scratch/one.cpp"; then
      echo "FAILED: $header with $compiler"
      failed=1
    fi
  done
done < <(find lockstep -name '*.hpp' | sort)

if [[ -n $nvcc ]]; then
  for header in lockstep/lockstep.hpp lockstep/interop/cuda.hpp; do
    printf '#include <%s>\n#include <%s>\n' "$header" "$header" >"$scratch/one.cu"
    "$nvcc" -std=c++20 -I. -c -o "$scratch/one.o" "$scratch/one.cu" ||
      { echo "FAILED: $header as CUDA"; failed=1; }
  done
else
  echo "no nvcc here: the umbrella was not compiled as CUDA"
fi
exit "$failed"
