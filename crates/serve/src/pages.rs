//! What the pages know of the server before they ask it: its limits, and what holds where a job says nothing. Written into
//! one file of theirs, which a test keeps fresh; nothing of it is in the server itself.

use crate::api::{DEPTH_MAX, REPLICATES_MAX};
use crate::routes::{BODY_BYTES_MAX, IMPORT_BYTES_MAX};
use fathom_model::{Kind, Row, rows};
use fathom_planner::TIME_DEFAULT;
use fathom_schema::TARGETS_COUNTED_MAX;
use std::fmt::Write as _;
use std::path::Path;

/// Where the pages have it, from the workspace's root.
const FILE: &str = "web/src/app/limits.ts";

/// Options that have a field in a form.
const FIELDS: [&str; 13] = [
    "run.seed",
    "target.files",
    "target.tree_depth",
    "target.tree_width",
    "workload.block_size",
    "workload.read",
    "workload.access",
    "stream.workers",
    "stream.queue_depth",
    "stream.rate",
    "stream.thread_priority_level",
    "stage.ramp",
    "stage.time",
];

fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("text is JSON")
}

/// A default as a field takes it: without the quotes of a text.
fn default(row: &Row) -> String {
    let written = (row.default)();
    let written = match row.path {
        // The planner's, of streams that nothing else bounds.
        "stage.time" => TIME_DEFAULT.to_string().replace(' ', ""),
        "stage.ramp" => "0s".to_owned(),
        _ => written,
    };
    written.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(&written).to_owned()
}

fn text() -> String {
    let mut text = format!(
        "// What the pages know of the server before they ask it: its limits, and what holds where a job says nothing.\n\
         // Generated from the server's limits and the option table (crates/serve/src/pages.rs); do not edit.\n\
         // FATHOM_BLESS=1 cargo test -p fathom-serve pages writes it.\n\n\
         /** Bytes of a request, and of a run's file that is taken in. */\n\
         export const bodyBytesMax = {BODY_BYTES_MAX};\nexport const runBytesMax = {IMPORT_BYTES_MAX};\n\n\
         /** Largest depth that a search may ask for, and measurements of each load. */\n\
         export const searchDepthMax = {DEPTH_MAX};\nexport const replicatesMax = {REPLICATES_MAX};\n\n\
         /** Targets of a stream up to which it is counted by target. */\n\
         export const targetsCountedMax = {TARGETS_COUNTED_MAX};\n\n\
         /** Options that have a field: the least and the most of a count, and what holds where it is empty (\"\": nothing). */\n\
         export const options = {{\n"
    );
    for path in FIELDS {
        let row = rows().find(|row| row.path == path).unwrap_or_else(|| panic!("there is no option {path}"));
        let range = match row.kind {
            Kind::Count { min, max } => format!("min: {min}, max: {max}, "),
            _ => String::new(),
        };
        let default = quoted(&default(row));
        writeln!(text, "  {}: {{ {range}default: {default} }},", quoted(path)).expect("a text takes all");
    }
    text + "} as const;\n"
}

#[test]
fn the_pages_know_the_limits_of_the_server_and_the_defaults_of_options() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(FILE);
    if std::env::var_os("FATHOM_BLESS").is_some() {
        std::fs::write(&file, text()).expect("the file can be written");
        return;
    }
    let found = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(found == text(), "{FILE} is stale; FATHOM_BLESS=1 cargo test -p fathom-serve pages writes it");
}
