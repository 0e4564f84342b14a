#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| cahoots_fuzz::tables::rows(bytes));
