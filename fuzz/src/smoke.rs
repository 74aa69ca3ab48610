//! Runs every target on its seeds: the files of `tests/data` and `regressions/` (inputs that once failed).

use crate::measured;
use executorch_format_support::fixtures::{files_below, has_extension};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Held while a target runs: memory is counted for the whole process.
static ALONE: Mutex<()> = Mutex::new(());

fn run(folder: &Path, target: fn(&[u8])) -> usize {
    let mut seeds = if folder.is_dir() { files_below(folder) } else { Vec::new() };
    seeds.retain(|path| !has_extension(path, &["json", "txt", "md"]));
    for path in &seeds {
        // The output is shown if the target fails.
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        println!("{}", path.display());
        measured(target, &std::fs::read(path).unwrap());
    }
    seeds.len()
}

macro_rules! smoke {
    ($($target:ident)*) => {$(
        #[test]
        fn $target() {
            let here = Path::new(env!("CARGO_MANIFEST_DIR"));
            assert!(run(&here.join("../tests/data"), crate::$target) > 0);
            run(&here.join("regressions").join(stringify!($target)), crate::$target);
        }
    )*};
}

smoke! { read_pte read_ptd verify_agrees prefix differential round_trip build_tree change_tree edit inspect read_xnnpack read_bundled read_etdump read_etrecord from_json read_payload read_safetensors read_npy
diff salvage report pictures macs dequantized c_array timeline debug_gaps unpack build_json write_all add_case shard_index }
