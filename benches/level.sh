#!/usr/bin/env bash
# Compares parse, check, encode and strict verification with the verifier of ExecuTorch's C++ runtime, in turns, for each FILE.
# usage: benches/level.sh OFFICIAL FILE...
#   OFFICIAL   a folder with `etcheck` (`.ci/official/get.sh` builds it). The time of its verifier is the difference between loading
#              with and without full verification
set -euo pipefail
official=$(cd "$1" && pwd)
shift
level=$(cd "$(dirname "$0")/.." && cargo bench --quiet --no-run -p executorch-format-peer --bench level --message-format=json |
    sed -n 's/.*"executable":"\([^"]*\/level-[^"]*\)".*/\1/p' | tail -n 1)
rounds=${ROUNDS:-9}
for file; do
    for _ in $(seq "$rounds"); do
        "$level" 200 "$file" | sed "s,^[^ ]*/,,"
        "$official/etcheck" --bench 200 --mmap "$file" | awk -v name="$(basename "$file")" '
            { match($0, /best [0-9.]+/); best = substr($0, RSTART + 5, RLENGTH - 5)
              match($0, /median [0-9.]+/); median = substr($0, RSTART + 7, RLENGTH - 7) }
            /Minimal/ { least = best; middle = median }
            /InternalConsistency/ { print name, "verifier", best - least, median - middle }'
    done
done | awk '
    { key = $1 " " $2; if (!(key in n)) order[++kinds] = key; best[key, ++n[key]] = $3; median[key, n[key]] = $4; if (!($1 in seen)) { seen[$1]; files[++count] = $1 } }
    function middle(values, key,   i, j, sorted, swap) {
        for (i = 1; i <= n[key]; i++) sorted[i] = values[key, i]
        for (i = 1; i <= n[key]; i++) for (j = i + 1; j <= n[key]; j++) if (sorted[j] < sorted[i]) { swap = sorted[i]; sorted[i] = sorted[j]; sorted[j] = swap }
        return sorted[int((n[key] + 1) / 2)]
    }
    END {
        print "| what | median of medians, µs | median of bests | ratio to the verifier | of bests |\n|---|---:|---:|---:|---:|"
        for (i = 1; i <= kinds; i++) {
            split(order[i], part, " "); of = part[1] " verifier"
            printf "| %s: %s | %.1f | %.1f | %.2f | %.2f |\n", part[1], part[2], middle(median, order[i]), middle(best, order[i]), middle(median, order[i]) / middle(median, of), middle(best, order[i]) / middle(best, of)
        }
    }'
