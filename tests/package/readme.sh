#!/usr/bin/env bash
# readme.sh <source> <scratch> <prefix>: the first C++ block of README.md is a whole program; it is
# built against the prefix and runs on 2 ranks.
set -euo pipefail
# shellcheck source=tests/package/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
folder=$scratch/readme
build="$scratch/use readme"

rm -rf "$folder"
mkdir -p "$folder"
awk '/^```/ { if (inside) exit; inside = /^```(cpp|c\+\+)/; next } inside' "$source/README.md" \
  >"$folder/main.cpp"
grep -q 'int main' "$folder/main.cpp" || fail "README.md has no program in its first C++ block"
cp "$source/tests/package/consumer/CMakeLists.txt" "$folder"

configure "$folder" "$build" -DCMAKE_PREFIX_PATH="$scratch/$1"
cmake --build "$build"
on_ranks 2 "$build/consumer"
