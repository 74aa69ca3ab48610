# The common start of the scripts in this folder, used as `. benches/setup.sh` after `set -- FOLDER`: creates `$folder` in
# FOLDER, which is deleted at the end, and builds the command `$PTE` unless it is set.
# shellcheck shell=sh
folder=$(mktemp -d "$1/executorch-format-XXXXXX")
trap 'rm -r "$folder"' EXIT
if [ -z "${PTE:-}" ]; then
  cargo build --quiet --release --package executorch-format-cli
  PTE=${CARGO_TARGET_DIR:-target}/release/pte
fi
