//! Any bytes as a parameter file of Vdbench.
#![no_main]

#[path = "../properties/texts.rs"]
#[allow(dead_code, reason = "each target tries one of the readers")]
mod texts;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| texts::vdbench(bytes));
