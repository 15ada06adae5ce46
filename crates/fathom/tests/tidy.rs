//! Rules about the source tree that no compiler checks: who may import whom, where `unsafe` may stand, how long files
//! are, what a worker may not call. Reads text; does not know what the code does.
#![expect(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// A file longer than this has more than one owner's worth in it. House style aims at 200 lines.
const LINES_MAX: usize = 800;

/// Columns of a line of the browser's side, at most: two files still fit beside each other.
const COLUMNS_MAX: usize = 125;

/// Names that say that nobody knows what a file or folder is for.
const HOMELESS: [&str; 4] = ["util", "common", "misc", "helpers"];

/// The files whose code runs once per operation or batch.
const WORKER_FILES: [&str; 5] = [
    "crates/engine/src/drive.rs",
    "crates/engine/src/open.rs",
    "crates/engine/src/worker.rs",
    "crates/engine/src/ended.rs",
    "crates/engine/src/recorder.rs",
];

/// What they may not contain: clocks of their own, waiting, locks, output.
const BANNED_IN_WORKERS: [&str; 9] = [
    "Instant::now",
    "SystemTime::now",
    "thread::sleep",
    "Mutex",
    "RwLock",
    "Condvar",
    "println!",
    "eprintln!",
    "File::open",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace is there")
}

/// All files below `folder` with this ending, as paths from the workspace's root, and their text.
fn files(folder: &str, ending: &str) -> Vec<(String, String)> {
    let root = root();
    let mut found = Vec::new();
    let mut folders = vec![root.join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|found| found == ending) {
                let text = fs::read_to_string(&path).unwrap();
                found.push((path.strip_prefix(&root).unwrap().to_string_lossy().into_owned(), text));
            }
        }
    }
    assert!(!found.is_empty(), "no .{ending} below {folder}");
    found.sort();
    found
}

/// Fails with all complaints at once.
fn none(complaints: &[String]) {
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

/// A line without what follows `//`, and without the content of simple string literals.
fn code(line: &str) -> String {
    let mut code = String::new();
    let mut in_text = false;
    let mut before = ' ';
    for c in line.chars() {
        if c == '"' && before != '\\' && before != '\'' {
            in_text = !in_text;
        } else if !in_text {
            if c == '/' && before == '/' {
                code.pop();
                break;
            }
            code.push(c);
        }
        before = c;
    }
    code
}

/// What ARCHITECTURE.md says of a crate.
struct Layer {
    number: u32,
    /// `None`: everything.
    imports: Option<Vec<String>>,
}

/// The rows of the code map: `| layer | crate | owns | may import | must not know |`.
fn layers() -> BTreeMap<String, Layer> {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let mut layers = BTreeMap::new();
    for line in text.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let ["", number, name, _, imports, _, ""] = cells[..] else { continue };
        let Ok(number) = number.parse() else { continue };
        let imports = match imports {
            "all" => None,
            "–" => Some(Vec::new()),
            list => Some(list.split(',').map(|name| name.trim().to_owned()).collect()),
        };
        layers.insert(name.trim_matches('`').to_owned(), Layer { number, imports });
    }
    assert!(layers.len() > 5, "the code map in ARCHITECTURE.md was not found");
    layers
}

/// The crates of this workspace that a manifest imports outside of its tests.
fn imports(manifest: &str) -> Vec<String> {
    let manifest: toml::Table = manifest.parse().unwrap();
    let mut tables = vec![&manifest];
    let by_platform = manifest.get("target").and_then(toml::Value::as_table);
    tables.extend(by_platform.into_iter().flatten().filter_map(|(_, table)| table.as_table()));
    let mut found = Vec::new();
    for table in tables {
        for kind in ["dependencies", "build-dependencies"] {
            let names = table.get(kind).and_then(toml::Value::as_table).into_iter().flatten();
            found.extend(names.filter_map(|(name, _)| name.strip_prefix("fathom-").map(str::to_owned)));
        }
    }
    found
}

#[test]
fn crates_import_what_the_code_map_allows() {
    let layers = layers();
    let mut complaints = Vec::new();
    let manifests = files("crates", "toml").into_iter().filter(|(path, _)| path.ends_with("Cargo.toml"));
    let mut seen = Vec::new();
    for (path, manifest) in manifests {
        let name = path.split('/').nth(1).unwrap().to_owned();
        let Some(layer) = layers.get(&name) else {
            complaints.push(format!("{path}: ARCHITECTURE.md has no row for {name}"));
            continue;
        };
        for import in imports(&manifest) {
            if layer.imports.as_ref().is_some_and(|allowed| !allowed.contains(&import)) {
                complaints.push(format!("{path}: {name} must not import {import}; see ARCHITECTURE.md"));
            }
            if layers.get(&import).is_none_or(|imported| imported.number >= layer.number) {
                complaints.push(format!("{path}: {import} does not lie below {name}"));
            }
        }
        seen.push(name);
    }
    for name in layers.keys().filter(|name| !seen.contains(name)) {
        complaints.push(format!("ARCHITECTURE.md: there is no crate {name}"));
    }
    none(&complaints);
}

#[test]
fn unsafe_code_stands_in_io_only() {
    // Written apart, so that this file does not find itself.
    let keyword = ["un", "safe"].concat();
    let openings = ["{", "fn", "impl", "extern", "trait"].map(|what| format!("{keyword} {what}"));
    let mut complaints = Vec::new();
    for (path, text) in files("crates", "rs") {
        if path.starts_with("crates/io/") {
            continue;
        }
        for (number, line) in text.lines().enumerate() {
            let line = code(line);
            if openings.iter().any(|opening| line.contains(opening.as_str())) {
                complaints.push(format!("{path}:{}: {keyword} outside crates/io", number + 1));
            }
        }
        let is_root = ["src/lib.rs", "src/main.rs"].iter().any(|root| path.ends_with(root));
        if is_root && !text.contains("#![forbid(unsafe_code)]") {
            complaints.push(format!("{path}: add #![forbid({keyword}_code)]"));
        }
    }
    none(&complaints);
}

#[test]
fn files_open_with_their_purpose_and_stay_short() {
    let mut complaints = Vec::new();
    for (path, text) in files("crates", "rs") {
        if !text.starts_with("//! ") {
            complaints.push(format!("{path}: opens without //!: what it owns, what it does not know"));
        }
        let lines = text.lines().count();
        if lines > LINES_MAX {
            complaints.push(format!("{path}: {lines} lines, above {LINES_MAX}; who owns which part?"));
        }
        let mut parts = path.split('/').map(|part| part.strip_suffix(".rs").unwrap_or(part));
        if let Some(part) = parts.find(|part| HOMELESS.contains(part)) {
            complaints.push(format!("{path}: \"{part}\" names no owner"));
        }
    }
    none(&complaints);
}

#[test]
fn lines_of_the_browser_side_can_be_read_side_by_side() {
    let mut complaints = Vec::new();
    let sources = [
        ("src", "ts"),
        ("src", "svelte"),
        ("src", "css"),
        ("tests", "js"),
        ("scripts", "js"),
        ("scripts", "sh"),
    ];
    for (path, text) in sources.iter().flat_map(|(folder, ending)| files(&format!("web/{folder}"), ending)) {
        let long = text.lines().enumerate().filter(|(_, line)| line.chars().count() > COLUMNS_MAX);
        complaints.extend(long.map(|(at, _)| format!("{path}:{}: above {COLUMNS_MAX} columns", at + 1)));
        let lines = text.lines().count();
        if lines > LINES_MAX {
            complaints.push(format!("{path}: {lines} lines, above {LINES_MAX}; who owns which part?"));
        }
    }
    none(&complaints);
}

#[test]
fn nothing_is_left_to_be_done_later() {
    let marks = [["TO", "DO"], ["FIX", "ME"], ["XX", "X"]].map(|parts| parts.concat());
    let mut complaints = Vec::new();
    for (path, text) in files("crates", "rs").into_iter().chain(files("docs", "md")) {
        for (number, line) in text.lines().enumerate() {
            let words: Vec<&str> = line.split(|c: char| !c.is_ascii_alphanumeric()).collect();
            if marks.iter().any(|mark| words.contains(&mark.as_str())) {
                complaints.push(format!("{path}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    none(&complaints);
}

#[test]
fn workers_do_not_wait_lock_or_print() {
    let mut complaints = Vec::new();
    for path in WORKER_FILES {
        let text = fs::read_to_string(root().join(path)).unwrap();
        let before_tests = text.lines().take_while(|line| !line.starts_with("#[cfg(test)]"));
        for (number, line) in before_tests.enumerate() {
            let line = code(line);
            for banned in BANNED_IN_WORKERS.iter().filter(|banned| line.contains(**banned)) {
                complaints.push(format!("{path}:{}: {banned} in a worker's loop", number + 1));
            }
        }
    }
    none(&complaints);
}

#[test]
fn code_is_told_from_comments_and_texts() {
    let check = |line: &str, expect: &str| assert_eq!(code(line), expect, "{line}");
    check("let a = 1; // Mutex", "let a = 1; ");
    check("//! Mutex", "");
    check(r#"say("Mutex // here"); b"#, "say(); b");
    check(r#"say("a \" Mutex"); b"#, "say(); b");
    check("let quote = '\"'; Mutex", "let quote = '\"'; Mutex");
}
