#!/usr/bin/env bash
# On a terminal an epoch is a bar that is drawn again and again in one line, until the epoch's line
# takes its place. In a pipe there is no bar.
#   terminal.sh SCRIPT EPOCHS command ...
# SCRIPT is script(1), which gives a command a terminal.
set -u
script=$1 epochs=$2
shift 2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0
fail() { echo "FAILED: $1" >&2; failed=1; }

# How a bar begins becomes a word, so that a bar can be told from the end of a line.
show() { sed -e 's/\r\x1b\[K/<draw>/g' -e 's/\r$//' -e 's/\r/<return>/g' -e 's/\x1b/<escape>/g'; }

number='[0-9]+(\.[0-9]+)?'
scores="loss $number  test loss $number  test accuracy $number  $number samples/s"
# expect <file> <before>: a line for each epoch, after what <before> says, and the result line.
# In it, <epoch> stands for "epoch 1/2".
expect() {
  local file=$1 epoch label
  for ((epoch = 1; epoch <= epochs; ++epoch)); do
    label="epoch $epoch/$epochs"
    sed -n "${epoch}p" "$file" | grep -qxE "${2//<epoch>/$label}$label  $scores" ||
      fail "$(basename "$file"), line $epoch"
  done
  [ "$(wc -l <"$file")" -eq $((epochs + 1)) ] || fail "$(basename "$file"): more or fewer lines"
  tail -n 1 "$file" | grep -qE '^result ranks=[0-9]+ ' || fail "$(basename "$file"): the last line"
}

# A terminal whose size nobody has set has no columns.
printf -v command '%q ' "$@"
"$script" -qec "stty columns 120; $command" /dev/null </dev/null >"$folder/raw" 2>&1 ||
  fail "exit status on a terminal: $?"
show <"$folder/raw" >"$folder/terminal"
# The first step draws; the last <draw> clears the line.
expect "$folder/terminal" \
  "(<draw><epoch> \[[= ]{24}\] +[0-9]{1,3} %  loss $number  [0-9]+ samples/s)+<draw>"

"$@" </dev/null 2>&1 | show >"$folder/pipe"
[ "${PIPESTATUS[0]}" -eq 0 ] || fail "exit status in a pipe"
expect "$folder/pipe" ""

if [ "$failed" -ne 0 ]; then
  echo "--- on a terminal"; cat "$folder/terminal"
  echo "--- in a pipe"; cat "$folder/pipe"
fi
exit "$failed"
