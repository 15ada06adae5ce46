//! Any bytes as a trace: fio's logs and those of blktrace.
#![no_main]

#[path = "../properties/traces.rs"]
mod traces;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| traces::any_bytes(bytes));
