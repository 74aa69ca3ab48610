#![cfg_attr(fuzzing, no_main)]

executorch_format_fuzz::target!(read_etrecord);

// Most changes are made inside a ZIP file, which stays valid.
#[cfg(fuzzing)]
libfuzzer_sys::fuzz_mutator!(|bytes: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let written = (seed % 4 > 0)
        .then(|| executorch_format_fuzz::zip::mutated(&bytes[..size], max_size, seed, libfuzzer_sys::fuzzer_mutate));
    match written.flatten() {
        Some(written) => {
            bytes[..written.len()].copy_from_slice(&written);
            written.len()
        }
        None => libfuzzer_sys::fuzzer_mutate(bytes, size, max_size),
    }
});
