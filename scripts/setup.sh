#!/usr/bin/env bash
# Installs what lockstep needs on Debian 12 or Ubuntu 22.04 and later; elsewhere says what is
# missing.
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage() {
  cat <<'TEXT'
Usage: scripts/setup.sh [--build | --demo | --test | --ci]

Installs the packages that are missing, as root or through sudo. Does nothing when all are there.
Where it may not install anything, it lists what is missing and ends with status 1.

  --build  what building the library and the examples needs
  --demo   that and the Fashion-MNIST data set
  --test   that and what the tests and benchmarks need (the default)
  --ci     that and the formatter and second compiler that .ci/run uses
TEXT
}

# One line per need: package, then a test that it is there.
build_packages=(
  "g++          have_program g++"
  "cmake        have_program cmake"
  "ninja-build  have_program ninja"
  "openmpi-bin  have_program mpirun"
  "libopenmpi-dev  have_program mpicxx"
  "libeigen3-dev  have_header Eigen/Core eigen3"
  "libopenblas-dev  have_blas"
  "zlib1g-dev   have_header zlib.h"
  "libcli11-dev have_header CLI/CLI.hpp"
  "nlohmann-json3-dev  have_header nlohmann/json.hpp"
)
demo_packages=(
  "dataset-fashion-mnist  have_dataset"
)
test_packages=(
  "catch2       have_catch"
  "libboost-context-dev  have_header boost/context/fiber.hpp"
  "python3      have_program python3"
)
ci_packages=(
  "clang        have_program clang++"
  "clang-format have_program clang-format"
)

have_program() { command -v "$1" >/dev/null 2>&1; }

# have_header <file> [<folder of its own>]
have_header() {
  local folder
  for folder in /usr/include /usr/local/include /usr/include/*-linux-gnu; do
    if [[ -e $folder/$1 || -e $folder/${2:-}/$1 ]]; then return 0; fi
    compgen -G "$folder/${2:-none}*/$1" >/dev/null && return 0
  done
  return 1
}

# A fast one: the reference BLAS brings cblas.h too.
have_blas() {
  [[ -n ${MKLROOT:-} ]] && return 0
  compgen -G '/usr/lib/*-linux-gnu/libopenblas.so' >/dev/null ||
    compgen -G '/usr/lib*/libopenblas*.so' >/dev/null ||
    compgen -G '/usr/local/lib*/libopenblas*.so' >/dev/null
}

have_catch() { have_header catch2/catch.hpp || have_header catch2/catch_all.hpp; }

have_dataset() { [[ -e /usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz ]]; }

main() {
  local needs=("${build_packages[@]}")
  case "${1:---test}" in
    --build) ;;
    --demo) needs+=("${demo_packages[@]}") ;;
    --test) needs+=("${demo_packages[@]}" "${test_packages[@]}") ;;
    --ci) needs+=("${demo_packages[@]}" "${test_packages[@]}" "${ci_packages[@]}") ;;
    -h | --help) usage; return 0 ;;
    *) usage >&2; return 2 ;;
  esac

  local need package check missing=()
  for need in "${needs[@]}"; do
    read -r package check <<<"$need"
    $check || missing+=("$package")
  done
  if ((${#missing[@]} > 0)); then install "${missing[@]}"; fi
  if ! new_enough_cmake; then install_cmake; fi
}

# CMake 3.25 or later; Ubuntu 22.04 has an older one.
new_enough_cmake() {
  local version oldest=3.25
  version=$(cmake --version | sed -n '1s/[^0-9]*//p')
  [[ $(printf '%s\n' "$oldest" "$version" | sort -V | head -n 1) == "$oldest" ]]
}

# Into build/tools of the checkout, from Python's package index; the system's one stays.
install_cmake() {
  echo "setup: $(cmake --version | head -n 1) is too old, putting CMake 3.25+ in build/tools" >&2
  if ! python3 -c 'import ensurepip' 2>/dev/null; then install python3-venv; fi
  python3 -m venv "$root/build/tools" >&2
  "$root/build/tools/bin/pip" install --quiet 'cmake>=3.25,<4' >&2
}

install() {
  if ! have_program apt-get; then
    echo "setup: this script installs packages on Debian and Ubuntu only." >&2
    echo "setup: missing, by their Debian names: $*" >&2
    exit 1
  fi
  local as_root=()
  if ((EUID != 0)); then
    if ! have_program sudo; then
      echo "setup: not root and no sudo. Missing packages: $*" >&2
      echo "setup: ask an administrator for: apt-get install $*" >&2
      exit 1
    fi
    as_root=(sudo)
  fi
  echo "setup: installing $*" >&2
  "${as_root[@]}" apt-get -q update >&2 || echo "setup: no new package lists, going on" >&2
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get -q -y install --no-install-recommends "$@" >&2
}

main "$@"
