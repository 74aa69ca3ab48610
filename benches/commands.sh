#!/bin/sh
# Measures the commands that read files, as processes: on `llama48_narrow`, and on a program with one constant of 1 GiB. Prints a
# Markdown table of medians.
# usage: benches/commands.sh [FOLDER]
#   FOLDER   a folder with space for the files (default: /dev/shm)
#   RUNS=N   the number of runs of each command (default 15)
#   PTE=FILE the command; without it, the command is built
# needs: cargo, python3, openssl
set -eu
cd "$(dirname "$0")/.."
set -- "${1:-/dev/shm}"
# shellcheck source=benches/setup.sh
. benches/setup.sh
cargo run --quiet --package executorch-format-support --bin large_program -- "$folder"
python3 - "$PTE" "$folder" "${RUNS:-15}" <<'EOF'
import os, statistics, subprocess, sys, time
pte, folder, runs = sys.argv[1], sys.argv[2], int(sys.argv[3])
large, llama = f"{folder}/large.pte", f"{folder}/llama48_narrow.pte"
commands = ["size", "memory", "ops", "disasm", "graph --dot", "graph --json", "info", "list", "verify", "diff"]

def measure(command):
    def run():
        start = time.perf_counter()
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return (time.perf_counter() - start) * 1000
    run()
    times = sorted(run() for _ in range(runs))
    return f"{statistics.median(times):.1f} | {times[0]:.1f}"

print("| process | llama48_narrow: median ms | best ms | 1 GiB: median ms | best ms |")
print("|---|---:|---:|---:|---:|")
for command in commands:
    of = lambda file: [pte, *command.split(), file] + ([f"{folder}/copy-{os.path.basename(file)}"] if command == "diff" else [])
    if command == "diff":
        for file in (llama, large):
            subprocess.run(["cp", file, f"{folder}/copy-{os.path.basename(file)}"], check=True)
    name = "diff with a copy" if command == "diff" else command
    print(f"| pte {name} | {measure(of(llama))} | {measure(of(large))} |", flush=True)
runs = 5
print(f"| pte list --hash | {measure([pte, 'list', '--hash', llama])} | {measure([pte, 'list', '--hash', large])} |")
print(f"| openssl dgst -sha256, one core | {measure(['openssl', 'dgst', '-sha256', llama])} | {measure(['openssl', 'dgst', '-sha256', large])} |")
EOF
