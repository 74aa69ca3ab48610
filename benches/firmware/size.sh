#!/usr/bin/env bash
# Prints the bytes of code and constants that a firmware for an Arm Cortex-M7 links for one operation on a program.
# Needs Debian's `rustc-web`, `cargo-web` and `rust-web-src`, which have the source of `core` and `alloc`, and rustup's `rust-lld`.
# Usage: benches/firmware/size.sh [check|parse|runtime]...
set -euo pipefail
cd "$(dirname "$0")"
target="$(mkdir -p "${CARGO_TARGET_DIR:-../../target}" && cd "${CARGO_TARGET_DIR:-../../target}" && pwd)/firmware"
lld="$(rustc --print sysroot)/lib/rustlib/x86_64-unknown-linux-gnu/bin/rust-lld"
export RUSTC_BOOTSTRAP=1 RUSTC=/usr/bin/rustc CARGO_TARGET_DIR="$target"
export CARGO_TARGET_THUMBV7EM_NONE_EABIHF_LINKER="$lld"
export CARGO_TARGET_THUMBV7EM_NONE_EABIHF_RUSTFLAGS="-C link-arg=--gc-sections -C link-arg=--unresolved-symbols=ignore-all -C link-arg=-e_start"

linked() {
    /usr/bin/cargo build --quiet --release -Zbuild-std=core,alloc --target thumbv7em-none-eabihf --features "$1" >&2
    # The sections loaded from flash: code and constants, without the tables for unwinding.
    python3 - "$target/thumbv7em-none-eabihf/release/executorch-format-firmware" <<'PYTHON'
import struct, sys
data = open(sys.argv[1], "rb").read()
offset, size, count, names = struct.unpack_from("<I", data, 32) + struct.unpack_from("<HHH", data, 46)
section = lambda index: struct.unpack_from("<10I", data, offset + index * size)
strings = section(names)[4]
total = 0
for index in range(count):
    name, _, flags, _, _, length = section(index)[:6]
    name = data[strings + name:data.index(b"\0", strings + name)].decode()
    if flags & 2 and name.startswith((".text", ".rodata", ".data")):
        total += length
print(total)
PYTHON
}

for what in "${@:-check}"; do
    echo "$what $(linked "$what")"
done
