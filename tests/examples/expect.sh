#!/usr/bin/env bash
# Runs a command and checks what it does:
#   expect.sh [--status N] [--last REGEX] [--has TEXT] [--once TEXT] [--lacks REGEX]
#             [--falls "KEY KEY FACTOR"] -- command ...
# --status: exit status, 0 unless given. --last: the last line of standard output, as a whole.
# --has, --once: text that stands in standard output or error at least, or in exactly one line.
# --lacks: what matches no line of both. --falls: in the last line the number of the second key is
# below FACTOR times that of the first.
set -u
status=0
checks=()
while [ "$1" != -- ]; do
  case $1 in
    --status) status=$2 ;;
    --last | --has | --once | --lacks | --falls) checks+=("$1" "$2") ;;
    *) echo "expect.sh: unknown option $1" >&2; exit 64 ;;
  esac
  shift 2
done
shift

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$@" >"$folder/out" 2>"$folder/err"
found=$?
tr -d '\r' <"$folder/out" >"$folder/plain"
cat "$folder/plain" "$folder/err" >"$folder/all"

failed=0
fail() { echo "FAILED: $1" >&2; failed=1; }
[ "$found" -eq "$status" ] || fail "exit status $status expected, $found found"
for ((i = 0; i < ${#checks[@]}; i += 2)); do
  text=${checks[i + 1]}
  case ${checks[i]} in
    --last) tail -n 1 "$folder/plain" | grep -qxE -- "$text" || fail "last line is not: $text" ;;
    --has) grep -qF -- "$text" "$folder/all" || fail "missing: $text" ;;
    --once)
      lines=$(grep -cF -- "$text" "$folder/all")
      [ "$lines" -eq 1 ] || fail "in $lines lines, not one: $text" ;;
    --falls)
      read -r from to factor <<<"$text"
      tail -n 1 "$folder/plain" | awk -v from="$from" -v to="$to" -v factor="$factor" '
        { for (i = 1; i <= NF; ++i) { split($i, pair, "="); value[pair[1]] = pair[2] } }
        END { exit !(from in value && to in value && value[to] + 0 < factor * value[from]) }' ||
        fail "$to is not below $factor times $from" ;;
    --lacks) if grep -qE -- "$text" "$folder/all"; then fail "not expected: $text"; fi ;;
  esac
done
if [ "$failed" -ne 0 ]; then
  echo "--- standard output"; cat "$folder/plain"
  echo "--- standard error"; cat "$folder/err"
fi
exit "$failed"
