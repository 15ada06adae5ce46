//! Prints the generator's own ceiling on this machine: null engine at depth 1, one clock reading per operation.
#[path = "../tests/support/mod.rs"]
mod support;
use fathom_schema::*;
fn main() {
    let mut s = support::stream(EngineKind::Null, 1);
    s.limits.time = TimeLimit::Nanoseconds(3_000_000_000);
    let o = support::run(support::step(TargetKind::Null, s));
    println!("{:.2} M/s", o.reads().operations as f64 / o.seconds() / 1e6);
}
