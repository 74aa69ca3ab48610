#!/usr/bin/env bash
# Measures the compilation of the crate and of other parsers as dependencies: CPU seconds (user and system) of a clean build with all
# dependencies. Needs the crates registry. `.ci/budgets lines` counts the compiled lines of this crate.
# Usage: benches/cost.sh [ROW]...      A row is `three` (only the dependencies), `reader`, `default`, a feature, `all`, or a peer: `object`,
# `wasmparser`, `gimli`, `flatbuffers`. Default: all rows. FLATC=PATH is a flatc, for the code that it generates from the official schemas
# (`.ci/official/get.sh` installs both).
set -euo pipefail
root="$(cd "$(dirname "$0")/.." && pwd)"
flatc=${FLATC:-}
wanted=" $* "
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

# project NAME DEPENDENCY: creates a crate that depends on another one.
project() {
    mkdir -p "$work/$1/src"
    printf '[package]\nname = "cost-%s"\nversion = "0.0.0"\nedition = "2021"\n[dependencies]\n%s\n[workspace]\n' "$1" "$2" >"$work/$1/Cargo.toml"
    printf '%s\n' "${3:-}" >"$work/$1/src/lib.rs"
    (cd "$work/$1" && cargo fetch --quiet)
}

# seconds NAME [FLAGS]: prints the CPU seconds of a clean build.
seconds() {
    local name=$1
    shift
    rm -rf "$work/target"
    (
        cd "$work/$name"
        # Dependencies from a registry are not built incrementally, unlike those in a folder.
        export CARGO_TARGET_DIR="$work/target" CARGO_INCREMENTAL=0
        TIMEFORMAT='%U %S'
        { time cargo build --quiet --offline "$@" 2>"$work/log" || { cat "$work/log" >&2; exit 1; }; } 2>&1
    ) | awk '{printf "%.1f", $1 + $2}'
}

# row NAME LIBRARY TEXT
row() {
    [[ "$wanted" = "  " || "$wanted" = *" $1 "* ]] || return 0
    local dev release rlib=-
    dev=$(seconds "$1")
    [ "$2" = - ] || rlib=$(du -cm "$work"/target/debug/deps/lib"$2"-*.rlib | tail -n 1 | cut -f1)
    release=$(seconds "$1" --release)
    printf '| %s | %s | %s | %s |\n' "$3" "$dev" "$rlib" "$release"
}

# All features of the library, except those that are only for tests.
all='"convert", "devtools", "diff", "half", "layout", "parallel", "serde", "std", "tmpfile", "unicode"'
path="path = \"$root\""
project reader "executorch-format = { $path, default-features = false }"
project default "executorch-format = { $path }"
for feature in verify inspect edit payloads devtools convert; do
    project "$feature" "executorch-format = { $path, features = [\"$feature\"] }"
done
project all "executorch-format = { $path, features = [$all] }"
project three 'nom = { version = "8", default-features = false, features = ["alloc"] }
thiserror = { version = "2", default-features = false }
bytemuck = { version = "1.25", default-features = false, features = ["must_cast"] }'
project object 'object = { version = "0.40", default-features = false, features = ["read", "write"] }'
project wasmparser 'wasmparser = "0.263"'
project gimli 'gimli = "0.34"'
if [ -n "$flatc" ]; then
    generated="$work/generated"
    mkdir -p "$generated"
    "$flatc" --rust -o "$generated" "$(dirname "$flatc")/schema/program.fbs" "$(dirname "$flatc")/schema/scalar_type.fbs" \
        "$(dirname "$flatc")/schema/flat_tensor.fbs"
    project flatbuffers 'flatbuffers = "25"'
    cp "$generated"/*.rs "$work/flatbuffers/src/"
    for file in "$generated"/*.rs; do echo "pub mod $(basename "$file" .rs);"; done >"$work/flatbuffers/src/lib.rs"
fi

echo '| what | dev, CPU s | rlib in dev, MB | release, CPU s |'
echo '|---|---|---|---|'
row three - 'nom, bytemuck and thiserror alone'
row reader executorch_format 'reader (`default-features = false`)'
row default executorch_format 'default features'
for feature in verify inspect edit payloads devtools convert; do
    row "$feature" executorch_format "default and \`$feature\`"
done
row all executorch_format 'all features of the library'
row object object 'object 0.40 (read, write)'
row wasmparser wasmparser 'wasmparser 0.263'
row gimli gimli 'gimli 0.34'
[ -z "$flatc" ] || row flatbuffers flatbuffers "flatbuffers and flatc's code for the two schemas"
