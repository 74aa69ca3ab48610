#!/bin/sh
# Measures the command on a `.ptd` of 1 GiB: `pte list --hash` against OpenSSL's SHA-256, and the system calls of `pte rewrite`.
# usage: benches/large.sh [FOLDER]
#   FOLDER   a folder with space for two such files (default: /dev/shm)
#   PTE=FILE the command; without it, the command is built
# needs: cargo, awk, GNU time, openssl, strace
set -eu
cd "$(dirname "$0")/.."
set -- "${1:-/dev/shm}"
# shellcheck source=benches/setup.sh
. benches/setup.sh
file=$folder/large.ptd

KEEP=$file cargo bench --quiet -p executorch-format-peer --bench save

# Appends the seconds and KiB of a command as one line.
measure() {
  command time -a -o "$folder/$1" -f '%e %M' sh -c "$2" >/dev/null
}
for _ in 1 2 3 4 5; do
  measure openssl "exec openssl dgst -sha256 '$file'"
  measure pte "exec '$PTE' list --hash --json '$file'"
done
median() { sort -g "$folder/$1" | awk '{ time[NR] = $1; if ($2 > most) most = $2 } END { print time[int((NR + 1) / 2)], time[1], most }'; }

# shellcheck disable=SC2046
set -- $(median openssl) $(median pte)
echo "| SHA-256 of 1 GiB, $(nproc) cores | median s | best s | ratio of medians | ratio of bests | peak memory, KiB |"
echo "|---|---:|---:|---:|---:|---:|"
echo "$@" | awk '{
  printf "| openssl dgst, one core | %.2f | %.2f | 1.00 | 1.00 | %d |\n", $1, $2, $3
  printf "| pte list --hash | %.2f | %.2f | %.2f | %.2f | %d |\n", $4, $5, $4 / $1, $5 / $2, $6
}'
echo
echo "System calls of \`pte rewrite\` on it, without those for startup and memory (the file has $("$PTE" list "$file" | grep -c named) tensors):"
echo
strace -f -c -o "$folder/calls" "$PTE" rewrite "$file" "$folder/copy.ptd" >/dev/null
cmp "$file" "$folder/copy.ptd"
awk '$NF ~ /^(write|writev|pwrite64|copy_file_range|fsync|fdatasync|rename|read|pread64|statx|ftruncate|fchmod)$/ { print "    " $NF ": " $4 }' "$folder/calls"
