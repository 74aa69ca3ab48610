#!/bin/sh
# The command on a `.ptd` of 1 GiB: `pte list --hash` beside OpenSSL's SHA-256, and what `pte rewrite` asks of the system.
# usage: benches/large.sh [FOLDER]
#   FOLDER   where two such files have room; /dev/shm unless given
# needs: cargo, awk, GNU time, openssl, strace
set -eu
cd "$(dirname "$0")/.."
folder=$(mktemp -d "${1:-/dev/shm}/executorch-format-XXXXXX")
trap 'rm -r "$folder"' EXIT
file=$folder/large.ptd

cargo build --quiet --release --features cli --bin pte
pte=${CARGO_TARGET_DIR:-target}/release/pte
KEEP=$file cargo bench --quiet --bench save

# Seconds and KiB of a command, one line a run.
measure() {
  command time -a -o "$folder/$1" -f '%e %M' sh -c "$2" >/dev/null
}
for _ in 1 2 3 4 5; do
  measure openssl "exec openssl dgst -sha256 '$file'"
  measure pte "exec '$pte' list --hash --json '$file'"
done
median() { sort -g "$folder/$1" | awk '{ time[NR] = $1; if ($2 > most) most = $2 } END { print time[int((NR + 1) / 2)], time[1], most }'; }

# shellcheck disable=SC2046
set -- $(median openssl) $(median pte)
echo "| SHA-256 of 1 GiB, $(nproc) cores | median s | best s | ratio of medians | ratio of bests | memory at most, KiB |"
echo "|---|---:|---:|---:|---:|---:|"
echo "$@" | awk '{
  printf "| openssl dgst, one core | %.2f | %.2f | 1.00 | 1.00 | %d |\n", $1, $2, $3
  printf "| pte list --hash | %.2f | %.2f | %.2f | %.2f | %d |\n", $4, $5, $4 / $1, $5 / $2, $6
}'
echo
echo "System calls of \`pte rewrite\` on it, but for starting and memory (the file has $("$pte" list "$file" | grep -c named) tensors):"
echo
strace -f -c -o "$folder/calls" "$pte" rewrite "$file" "$folder/copy.ptd" >/dev/null
cmp "$file" "$folder/copy.ptd"
awk '$NF ~ /^(write|writev|pwrite64|copy_file_range|fsync|fdatasync|rename|read|pread64|statx|ftruncate|fchmod)$/ { print "    " $NF ": " $4 }' "$folder/calls"
