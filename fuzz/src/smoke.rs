//! Runs every target on its seeds: the files of `tests/data` and `regressions/` (inputs that once failed).

use std::path::Path;

fn run(folder: &Path, target: fn(&[u8])) -> usize {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    let mut count = 0;
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            count += run(&path, target);
        } else if path
            .extension()
            .is_none_or(|extension| !["json", "txt", "md"].iter().any(|other| extension == *other))
        {
            // The output is shown if the target fails.
            println!("{}", path.display());
            target(&std::fs::read(&path).unwrap());
            count += 1;
        }
    }
    count
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

smoke! { read_pte read_ptd verify_agrees prefix differential round_trip build_tree change_tree edit inspect read_xnnpack read_bundled read_etdump read_etrecord read_payload read_safetensors read_npy }
