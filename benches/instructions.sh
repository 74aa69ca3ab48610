#!/bin/sh
# Counts instructions with valgrind's callgrind, which other processes do not affect.
# usage: benches/instructions.sh [INPUT]      INPUT: llama48_narrow (default), llama6_external or ptd_8MB
# Prints a line for each operation: its name, the instructions of one call, and the ratio to the peer's (for encode, image and strict: to parse).
# CALLGRIND_OUT=DIR keeps callgrind's files, for callgrind_annotate.
set -eu
cd "$(dirname "$0")/.."
input=${1:-llama48_narrow}
# Line tables are for callgrind_annotate. They do not change the instructions.
[ -z "${CALLGRIND_OUT:-}" ] || export CARGO_PROFILE_RELEASE_DEBUG=line-tables-only
binary=$(cargo build --release -p executorch-format-peer --bin instructions --message-format=json 2>/dev/null |
  sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' | tail -n 1)
out=${CALLGRIND_OUT:-$(mktemp -d)}
mkdir -p "$out"
count() {
  file=$out/$(echo "$1" | tr / _).callgrind
  valgrind --tool=callgrind --toggle-collect='instructions::measured*' --callgrind-out-file="$file" \
    "$binary" "$1" "$input" >"$file.log" 2>&1
  sed -n 's/^\(summary\|totals\): //p' "$file" | head -n 1
}
line() {
  awk -v what="$1" -v n="$2" -v peer="$3" 'BEGIN { printf "%-12s %12d %6.3f\n", what, n, n / peer }'
}
case $input in
ptd_*)
  get=$(count peer/get)
  line peer/get "$get" "$get"
  line get "$(count get)" "$get"
  ;;
*)
  verify=$(count peer/verify)
  line peer/verify "$verify" "$verify"
  for what in drop check; do line "$what" "$(count "$what")" "$verify"; done
  parse=$(count parse)
  line parse "$parse" "$verify"
  line encode "$(count encode)" "$parse"
  line image "$(count image)" "$parse"
  line strict "$(count strict)" "$parse"
  walk=$(count peer/walk)
  line peer/walk "$walk" "$walk"
  line walk "$(count walk)" "$walk"
  ;;
esac
[ -n "${CALLGRIND_OUT:-}" ] || rm -r "$out"
