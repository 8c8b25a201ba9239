#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| relais_fuzz::messages(data));
