//! The published and constructed answers of the corpus: every one of them is reproduced. The corpus lies beside the
//! project and is no part of it; without it these tests say that they skip, and those of closed forms remain.

mod closed;
// What the tests of the crate itself make noise with.
#[path = "../../src/sample/noise.rs"]
mod drawn;
mod layouts;
mod noise;
mod scaling;
mod statistics;
mod steady;

use serde_json::Value;
use std::io::Write;
use std::path::PathBuf;

/// A file of the corpus; `None`, told on standard error, where there is no corpus.
fn corpus(name: &str) -> Option<String> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus").join(name);
    let found = std::fs::read_to_string(path).ok();
    if found.is_none() {
        // Not `eprintln!`, which the test runner hides.
        writeln!(std::io::stderr(), "SKIPPED: there is no corpus with {name} here")
            .expect("it can be written");
    }
    found
}

fn json(name: &str) -> Option<Value> {
    corpus(name).map(|text| serde_json::from_str(&text).expect("the corpus is well formed"))
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap_or_else(|| panic!("{value} is no list")).iter().map(number).collect()
}

/// Relative closeness; absolute below 1e-6, where the expected figure is nothing but rounding.
fn close(what: &str, found: f64, expect: f64, tolerance: f64) {
    let error = (found - expect).abs();
    assert!(
        error <= tolerance * expect.abs() || error < 1e-6 && expect.abs() < 1e-6,
        "{what}: {found}, not {expect}"
    );
}
