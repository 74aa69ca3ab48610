//! The bodies of the fuzz targets. They are in a library so that `cargo test` can run them with a stable compiler on the seeds
//! and on all inputs that once failed.

mod build_tree;
mod change_tree;
mod convert;
mod differential;
mod edit;
mod etrecord;
mod from_json;
mod inspect;
mod prefix;
mod read;
mod round_trip;
#[cfg(test)]
mod smoke;
mod verify_agrees;

pub use build_tree::build_tree;
pub use change_tree::change_tree;
pub use convert::{read_npy, read_safetensors};
pub use differential::differential;
pub use edit::edit;
pub use etrecord::read_etrecord;
pub use from_json::from_json;
pub use inspect::inspect;
pub use prefix::prefix;
pub use read::{read_bundled, read_etdump, read_payload, read_ptd, read_pte, read_xnnpack};
pub use round_trip::round_trip;
pub use verify_agrees::verify_agrees;

/// Defines the `main` of a fuzz target's binary. Built without cargo-fuzz, it runs the target on the given files.
#[macro_export]
macro_rules! target {
    ($target:ident) => {
        #[cfg(fuzzing)]
        libfuzzer_sys::fuzz_target!(|bytes: &[u8]| $crate::$target(bytes));

        #[cfg(not(fuzzing))]
        fn main() -> std::io::Result<()> {
            std::env::args_os().skip(1).try_for_each(|file| Ok($crate::$target(&std::fs::read(file)?)))
        }
    };
}
