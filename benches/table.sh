#!/bin/sh
# Runs all benchmarks and prints Markdown tables with ratios and targets.
# usage: benches/table.sh [OFFICIAL]
#   OFFICIAL   a folder with `etcheck`, a program that uses ExecuTorch's C++ runtime: adds its times
#   QUICK=1    shorter measurements, without the table of sizes
# needs: cargo, awk, and valgrind for the instructions (without it their columns are empty)
set -eu
cd "$(dirname "$0")/.."
official=${1:-}
results=${CARGO_TARGET_DIR:-target}/criterion

machine="$(date -u +%Y-%m-%d), $(awk -F ': ' '/^model name/ { print $2; exit }' /proc/cpuinfo), $(nproc) cores, load $(cut -d ' ' -f 1 /proc/loadavg) before and"
if [ -n "${QUICK:-}" ]; then
  cargo bench --quiet -p executorch-format-peer --bench read -- 'llama|ptd' --warm-up-time 1 --measurement-time 3 >&2
  cargo bench --quiet -p executorch-format-peer --bench write -- --warm-up-time 1 --measurement-time 3 >&2
else
  cargo bench --quiet -p executorch-format-peer --bench read >&2
  cargo bench --quiet -p executorch-format-peer --bench write >&2
fi
instructions=
if command -v valgrind >/dev/null; then
  instructions=$(for input in llama48_narrow ptd_8MB; do benches/instructions.sh $input | sed "s,^,$input/,"; done)
fi

# samples ID: prints the best and the median sample of a benchmark, in microseconds.
samples() {
  awk -F '[][]' '{ n = split($2, runs, ","); split($4, time, ","); for (i = 1; i <= n; i++) print time[i] / runs[i] / 1000 }' \
    "$results/$1/new/sample.json" | sort -g |
    awk '{ time[NR] = $1 } END { printf "%.1f %.1f\n", time[1], time[int((NR + 1) / 2)] }'
}

# row WHAT ID OF-ID TARGET: prints one line, with the ratios of the medians and of the best samples.
row() {
  # shellcheck disable=SC2046
  set -- "$1" "$2" "$3" "$4" $(samples "$2") $(samples "$3") "$(count "$2")" "$(count "$3")"
  awk -v what="$1" -v target="$4" -v best="$5" -v median="$6" -v of_best="$7" -v of_median="$8" -v n="$9" -v of_n="${10}" 'BEGIN {
    printf "| %s | %.1f | %.1f | %.2f | %.2f | %s | %s | %s |\n", what, median, best, median / of_median, best / of_best,
      n ? sprintf("%.2f", n / 1e6) : "", n && of_n ? sprintf("%.2f", n / of_n) : "", target
  }'
}

# Prints the instructions of one call, if they were counted.
count() {
  echo "$instructions" | awk -v what="$(echo "$1" | sed 's/peer_/peer\//')" '$1 == what { print $2 }'
}

echo "$machine $(cut -d ' ' -f 1 /proc/loadavg) after, $(rustc --version | cut -d ' ' -f 1,2), $(sed -n '/name = "flatbuffers"/{n;s/.*"\(.*\)"/flatbuffers \1/p;}' Cargo.lock)"
echo
echo "| what | median µs | best µs | ratio of medians | ratio of bests | million instructions | ratio of instructions | target |"
echo "|---|---:|---:|---:|---:|---:|---:|---|"
for input in llama48_narrow llama6_external; do
  row "$input: peer verify" $input/peer_verify $input/peer_verify ""
  row "$input: parse" $input/parse $input/peer_verify "≤ 0.33 of peer verify, aim 0.2"
  row "$input: check" $input/check $input/peer_verify "≤ 0.2 of peer verify"
  row "$input: peer walk" $input/peer_walk $input/peer_walk ""
  row "$input: walk" $input/walk $input/peer_walk "≤ 0.3 of peer walk"
  row "$input: encode" $input/encode $input/parse "≤ 1.5 of parse"
done
for data in 8MB 1TiB; do
  row "$data .ptd: peer verify and get" ptd_$data/peer_get ptd_$data/peer_get ""
  row "$data .ptd: parse and get" ptd_$data/get ptd_$data/peer_get "< 1 of peer verify and get"
  row "$data .ptd: peer open, verify and get" ptd_$data/peer_open_and_get ptd_$data/peer_open_and_get ""
  row "$data .ptd: open, parse and get" ptd_$data/open_and_get ptd_$data/peer_open_and_get "< 1 of peer open, verify and get"
done
row "1TiB against 8MB: open, parse and get" ptd_1TiB/open_and_get ptd_8MB/open_and_get "1 of 8MB"

if [ -z "${QUICK:-}" ]; then
  echo
  echo "| program of | bytes | parse: best ns per byte | check | peer verify | parse: ratio | check: ratio |"
  echo "|---|---:|---:|---:|---:|---:|---:|"
  for values in 10 100 1000 10000 100000 1000000; do
    bytes=$(sed 's/.*"Bytes":\([0-9]*\).*/\1/' "$results/sizes/parse/$values/new/benchmark.json")
    # shellcheck disable=SC2046
    set -- $(samples sizes/parse/$values) $(samples sizes/check/$values) $(samples sizes/peer_verify/$values)
    awk -v values=$values -v bytes="$bytes" -v parse="$1" -v check="$3" -v peer="$5" 'BEGIN {
      printf "| %d values | %d | %.2f | %.2f | %.2f | %.2f | %.2f |\n", values, bytes, parse * 1000 / bytes,
        check * 1000 / bytes, peer * 1000 / bytes, parse / peer, check / peer
    }'
  done
fi

echo
cargo bench --quiet -p executorch-format-peer --bench heap | grep '^|'

echo
cargo bench --quiet -p executorch-format-peer --bench save

if cargo build --quiet --release --package executorch-format-cli 2>/dev/null; then
  pte=${CARGO_TARGET_DIR:-target}/release/pte
  runs=200
  start=$(date +%s%N)
  for _ in $(seq $runs); do "$pte" info benches/data/llama6_external.pte >/dev/null; done
  end=$(date +%s%N)
  echo
  echo "\`pte info llama6_external.pte\` as a process: $(((end - start) / runs / 1000)) µs, mean of $runs (target: under 5,000)"
fi

if [ -n "$official" ]; then
  # The whole file, with zeros for the data that is not in the repository.
  whole=$(mktemp -d)
  cp benches/data/llama48_narrow.program "$whole/llama48_narrow.pte"
  truncate -s 2699796 "$whole/llama48_narrow.pte"
  echo
  echo "C++ (\`etcheck --bench 1000 --mmap\`; the difference of the two times is its verifier):"
  echo
  for file in "$whole/llama48_narrow.pte" benches/data/llama6_external.pte; do
    "$official/etcheck" --bench 1000 --mmap "$file" | sed 's/^/    /'
  done
  rm -r "$whole"
fi
