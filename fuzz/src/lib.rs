//! The bodies of the fuzz targets. They are in a library so that `cargo test` can run them with a stable compiler on the seeds
//! and on all inputs that once failed.

mod answers;
mod build_tree;
mod change_tree;
mod convert;
#[cfg(test)]
mod coverage;
mod diff;
mod differential;
mod edit;
mod etrecord;
mod from_json;
mod inspect;
mod limits;
mod pair;
mod payloads;
mod prefix;
mod read;
mod round_trip;
#[cfg(test)]
mod smoke;
mod traces;
mod verify_agrees;
mod write;
pub mod zip;

pub use answers::{c_array, dequantized, macs, pictures, report, salvage};
pub use build_tree::build_tree;
pub use change_tree::change_tree;
pub use convert::{read_npy, read_safetensors};
pub use diff::diff;
pub use differential::differential;
pub use edit::edit;
pub use etrecord::read_etrecord;
pub use from_json::from_json;
pub use inspect::inspect;
pub use limits::measured;
pub use payloads::unpack;
pub use prefix::prefix;
pub use read::{read_bundled, read_etdump, read_payload, read_ptd, read_pte, read_xnnpack};
pub use round_trip::round_trip;
pub use traces::{debug_gaps, timeline};
pub use verify_agrees::verify_agrees;
pub use write::{add_case, build_json, shard_index, write_all};

/// Defines the `main` of a fuzz target's binary. Built without cargo-fuzz, it runs the target on the given files.
#[macro_export]
macro_rules! target {
    ($target:ident) => {
        #[cfg(fuzzing)]
        libfuzzer_sys::fuzz_target!(|bytes: &[u8]| $crate::measured($crate::$target, bytes));

        #[cfg(not(fuzzing))]
        fn main() -> std::io::Result<()> {
            std::env::args_os()
                .skip(1)
                .try_for_each(|file| Ok($crate::measured($crate::$target, &std::fs::read(file)?)))
        }
    };
}
