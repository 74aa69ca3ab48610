#!/bin/sh
# Runs the commands that take one program on programs of growing metadata. Prints a Markdown table of CPU time and peak memory per byte of
# the file, without the costs of `pte --version`, and of both in relation to those of the first program of the same kind: 1 is linear, and
# up to 1.5 is accepted. Times below 3 ms are too short to be compared. Before each run, the script touches as much memory as the command may
# use: a virtual machine that returns unused memory to its host waits for each page that it takes again. The time in the command itself (user)
# is printed too; for short processes it is an estimate that depends on the kernel's ticks.
# usage: benches/scale.sh [FOLDER]
#   FOLDER    a folder with space for the files (default: the temporary folder)
#   SIZES=... the programs (default: instructions 25000 250000 800000 8000000;methods 1000 10000;keys 10000 100000)
#   COMMANDS=... the commands, separated by semicolons
#   MEMORY=N  GiB of address space that a command may take (default 12)
#   LIMIT=N   CPU seconds that it may take (default 300)
#   PTE=FILE  the command; without it, the command is built
#   WRITER=FILE  `scale_program`, which writes the programs; without it, it is built
# `pte extract` is left out: it writes a file for each blob, and waits for the disk.
# needs: cargo, python3, GNU time
set -eu
cd "$(dirname "$0")/.."
set -- "${1:-${TMPDIR:-/tmp}}"
# shellcheck source=benches/setup.sh
. benches/setup.sh
if [ -z "${WRITER:-}" ]; then
  cargo build --quiet --release --package executorch-format-support --bin scale_program
  WRITER=${CARGO_TARGET_DIR:-target}/release/scale_program
fi
python3 - "$PTE" "$WRITER" "$folder" "${MEMORY:-12}" "${LIMIT:-300}" "${SIZES:-instructions 25000 250000 800000 8000000;methods 1000 10000;keys 10000 100000}" "${COMMANDS:-}" <<'EOF'
import mmap, os, resource, signal, subprocess, sys
from pathlib import Path
pte, writer, folder, memory, seconds, sizes, commands = sys.argv[1:]
memory, seconds = int(memory) << 30, int(seconds)
out = f"{folder}/out"
commands = [command.strip() for command in commands.split(";") if command.strip()] or [
    "info", "list", "list --hash", "size", "memory", "ops", "disasm", "graph --svg", "graph --dot", "graph --json", "graph --model-explorer",
    "report -o -", "dump", "diff", "verify --level runtime", "verify", "verify --runtime all", "check --target portable-1.0",
    "strip --all -o OUT", "dedup -o OUT", "select --keep forward -o OUT", "metadata", "rewrite -o OUT", "externalize --all --data DATA -o OUT",
    "to-c -o FOLDER",
]

def limit():
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))

def fetch(size):
    """Has the machine fetch that many bytes of memory, in huge pages, from its host."""
    with mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        memory.madvise(mmap.MADV_HUGEPAGE)
        memory[::4096] = bytes(len(range(0, size, 4096)))

def run(command, file, takes=1 << 20):
    """CPU seconds, those of them in the command itself, and peak memory of the fastest of five runs, or of those within ten CPU seconds; or
    why there are none. `takes` is how much memory it may take, in bytes."""
    words = [word.replace("OUT", out + ".pte").replace("DATA", out + ".ptd").replace("FOLDER", out) for word in command.split()]
    # Measured by GNU time, because the peak of a process counts from its creation by the parent, and Python's own peak exceeds that of most commands.
    peak = Path(folder, "peak")
    words = ["time", "-o", peak, "-f", "%M", pte, *words, *([file] if file else []), *([file] if words[0] == "diff" else [])]
    best, all = None, 0
    for _ in range(5):
        subprocess.run(["rm", "-rf", out, out + ".pte", out + ".ptd"])
        fetch(takes)
        child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                 preexec_fn=limit)
        error = child.stderr.read()
        _, status, usage = os.wait4(child.pid, 0)
        took = usage.ru_utime + usage.ru_stime
        code = os.WEXITSTATUS(status)
        if code > 128:
            return "too long" if code - 128 in (signal.SIGXCPU, signal.SIGKILL) else "out of memory"
        if code > 1:
            return "refused: " + error.decode().strip().splitlines()[0].replace(folder, "")[:80]
        if best is None or took < best[0]:
            best = took, usage.ru_utime, int(peak.read_text().split()[-1]) * 1024
        all += took
        if all > 10:
            break
    return best

fixed = run("--version", None)
print("| command | program | MB | CPU s | user s | peak MB | ns a byte | peak bytes a byte | time: ratio | memory: ratio |")
print("|---|---|---:|---:|---:|---:|---:|---:|---:|---:|", flush=True)
for kind in sizes.split(";"):
    name, *counts = kind.split()
    files = []
    for count in counts:
        file = f"{folder}/{name}-{count}.pte"
        subprocess.run([writer, name, count, file], check=True)
        files.append((count, file))
    for command in commands:
        first = None
        for count, file in files:
            size = os.path.getsize(file)
            # Per byte, no program may take more than the first. Output takes memory of the kernel.
            found = run(command, file, min(int(size * (first[1] + 1 if first else 20)), memory))
            line = f"| {command} | {count} {name} | {size / 1e6:.1f} |"
            if isinstance(found, str):
                print(f"{line} {found} |", flush=True)
                continue
            took, peak = max(found[0] - fixed[0], 1e-4), max(found[2] - fixed[2], 1 << 19)
            is_long = took > 3e-3
            took, peak = took / size * 1e9, peak / size
            first = first or (took, peak, is_long)
            ratio = f"{took / first[0]:.2f}" if first[2] else "-"
            seconds_and_peak = f"{found[0]:.3f} | {found[1]:.3f} | {found[2] / 1e6:.0f}"
            print(f"{line} {seconds_and_peak} | {took:.1f} | {peak:.2f} | {ratio} | {peak / first[1]:.2f} |", flush=True)
    for _, file in files:
        os.remove(file)
EOF
