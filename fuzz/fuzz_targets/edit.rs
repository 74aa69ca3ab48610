#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| executorch_format_fuzz::edit(bytes));
