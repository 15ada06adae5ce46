//! The documents of the project: generated ones are fresh, examples in them are sound, links lead somewhere, and lists of
//! codes and names are those of the program. Knows where documents lie; what they teach is theirs.
#![expect(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use fathom_frontend::fio::{self, OptionRow, Priority, Status};
use fathom_frontend::native;
use fathom_model::{Diagnostics, Row, check};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace is there")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// All documents for people, as paths from the workspace's root.
fn documents() -> Vec<String> {
    let mut found = Vec::new();
    for folder in ["", "docs", "docs/adr", "docs/generated"] {
        for entry in fs::read_dir(root().join(folder)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if Path::new(&name).extension().is_some_and(|ending| ending == "md") {
                found.push(Path::new(folder).join(name).to_string_lossy().into_owned());
            }
        }
    }
    found.sort();
    found
}

/// A generated document is as it was generated; `FATHOM_BLESS=1` writes it anew.
fn check_generated(path: &str, expect: &str) {
    if std::env::var_os("FATHOM_BLESS").is_some() {
        fs::write(root().join(path), expect).unwrap();
        return;
    }
    let found = fs::read_to_string(root().join(path)).unwrap_or_default();
    assert!(
        found == expect,
        "{path} is stale; FATHOM_BLESS=1 cargo test -p fathom --test documents writes it"
    );
}

/// Text for a cell of a table.
fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

fn code(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("`{}`", cell(text)) }
}

fn options() -> String {
    let mut text = "# Options of native jobs\n\nGenerated from the option table in `crates/model/src/options.rs`; \
        do not edit. The guide is [native-jobs.md](../native-jobs.md). The last three columns name the option that \
        means the same, or nearly, to fio, Vdbench and Iometer.\n"
        .to_owned();
    let mut group = None;
    for row in fathom_model::rows() {
        let Row { path: _, doc, kind, default, group: of, fio, vdbench, iometer, example } = row;
        if group != Some(*of) {
            group = Some(*of);
            let name = of.name();
            let head = if name == "run" { "[run]".to_owned() } else { format!("[{name}.NAME]") };
            write!(text, "\n## {head}\n\n| option | what it says | value | default | example | fio | Vdbench | Iometer |\n|--|--|--|--|--|--|--|--|\n").unwrap();
        }
        let (name, default) = (code(row.name()), code(&default()));
        let (doc, kind, example) = (cell(doc), cell(&kind.describe()), code(example));
        let [fio, vdbench, iometer] = [fio, vdbench, iometer].map(|name| cell(name));
        writeln!(text, "| {name} | {doc} | {kind} | {default} | {example} | {fio} | {vdbench} | {iometer} |")
            .unwrap();
    }
    text
}

/// How far an option is built, in one word, and what there is to add.
fn state(status: Status) -> (&'static str, String) {
    match status {
        Status::Built => ("works", String::new()),
        Status::Accepted(loses) => ("no effect", cell(loses)),
        Status::Refused(off, why) => {
            let pieces = [accepted_when(off), cell(why)];
            ("refused", pieces.into_iter().filter(|piece| !piece.is_empty()).collect::<Vec<_>>().join("; "))
        }
        Status::Elsewhere(engines) => {
            let engines: Vec<String> = engines.iter().map(|engine| code(engine)).collect();
            ("refused", format!("belongs to the engine {}, which is not here", engines.join(", ")))
        }
    }
}

fn accepted_when(off: &[&str]) -> String {
    let off: Vec<String> = off.iter().filter(|word| !word.is_empty()).map(|word| code(word)).collect();
    if off.is_empty() { String::new() } else { format!("accepted when {}", off.join(", ")) }
}

fn fio_options() -> String {
    let mut rows: Vec<&OptionRow> = fio::rows().collect();
    rows.sort_by_key(|row| (row.priority, row.name));
    let mut text = "# fio's options in fathom\n\nGenerated from the tables in `crates/frontend/src/fio/options/`; do not \
        edit. What the words mean is said in [fio-compatibility.md](../fio-compatibility.md).\n\n"
        .to_owned();
    let words = ["works", "no effect", "refused"];
    text += "| priority | works | no effect | refused |\n|--|--|--|--|\n";
    for priority in [Priority::P0, Priority::P1, Priority::P2] {
        let count = |word| {
            rows.iter()
                .filter(|row| row.priority == priority && state(row.status).0 == word)
                .count()
                .to_string()
        };
        writeln!(text, "| {priority:?} | {} |", words.map(count).join(" | ")).unwrap();
    }
    text += "\n| option | other names | priority | status | remark |\n|--|--|--|--|--|\n";
    for row in rows {
        let aliases: Vec<String> = row.aliases.iter().map(|alias| code(alias)).collect();
        let (word, remark) = state(row.status);
        let (name, priority, aliases) = (code(row.name), row.priority, aliases.join(", "));
        writeln!(text, "| {name} | {aliases} | {priority:?} | {word} | {remark} |").unwrap();
    }
    text
}

#[test]
fn generated_documents_are_fresh() {
    check_generated("docs/generated/options.md", &options());
    check_generated("docs/generated/fio-options.md", &fio_options());
}

/// The fenced blocks of a document in this language, with the number of their first line.
fn blocks(text: &str, language: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut block: Option<(usize, bool, String)> = None;
    for (number, line) in text.lines().enumerate() {
        match (&mut block, line.strip_prefix("```")) {
            (None, Some(tag)) => block = Some((number + 2, tag.trim() == language, String::new())),
            (Some(_), Some(_)) => {
                let (first, is_wanted, lines) = block.take().unwrap();
                found.extend(is_wanted.then_some((first, lines)));
            }
            (Some((_, _, lines)), None) => *lines += &format!("{line}\n"),
            (None, None) => {}
        }
    }
    found
}

#[test]
fn jobs_in_documents_are_sound() {
    let mut seen = 0;
    for document in documents().iter().filter(|path| !path.contains("generated")) {
        let text = read(document);
        let sound = |first: usize, found: &Diagnostics| {
            assert!(!found.has_errors(), "{document}:{first}: {:#?}", found.all());
        };
        for (first, job) in blocks(&text, "toml") {
            let (job, mut found) = native::read(document, &job);
            found.extend(check(&job));
            sound(first, &found);
            seen += 1;
        }
        for (first, job) in blocks(&text, "ini") {
            let mut reading = fio::read(document, &job, &fio::Surroundings::empty());
            reading.diagnostics.extend(check(&reading.job));
            sound(first, &reading.diagnostics);
            seen += 1;
        }
    }
    assert!(seen > 5, "only {seen} jobs were found in the documents");
}

#[test]
fn links_lead_somewhere() {
    for document in documents() {
        let text = read(&document);
        let folder = Path::new(&document).parent().unwrap();
        for rest in text.split("](").skip(1) {
            let link = rest.split(')').next().unwrap();
            if link.starts_with("http") || link.starts_with('#') {
                continue;
            }
            let path = root().join(folder).join(link.split('#').next().unwrap());
            assert!(path.exists(), "{document}: the link to {link} leads nowhere");
        }
    }
}

/// The first cells of a document's tables, where they are code.
fn named_in_tables(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect()
}

#[test]
fn exit_codes_are_all_told() {
    // The program's own list: `Self::Name => number`.
    let source = read("crates/fathom/src/exit.rs");
    let numbers = source.lines().filter_map(|line| {
        let (name, number) = line.trim().strip_prefix("Self::")?.split_once(" => ")?;
        let is_plain = name.chars().all(char::is_alphanumeric);
        number.trim_end_matches(',').parse::<u8>().ok().filter(|_| is_plain)
    });
    let mut expect: Vec<u8> = numbers.chain([130, 143]).collect();
    expect.sort_unstable();
    assert!(expect.len() > 5, "the exit codes were not found: {expect:?}");
    let text = read("docs/exit-codes.md");
    let told: Vec<u8> = named_in_tables(&text).into_iter().filter_map(|code| code.parse().ok()).collect();
    assert_eq!(told, expect, "docs/exit-codes.md");
}

/// A run on the simulated device, in virtual time; returns what `fathom report` prints of it.
fn report_of_a_run(format: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let fathom = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fathom"));
        let output = command.env("FATHOM_STORE", folder.path()).args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    fathom(&["run", "--target", "sim:", "--size", "1GiB", "--time", "10s", "--quiet"]);
    fathom(&["report", "last", "--format", format])
}

#[test]
fn report_fields_are_all_told() {
    let text = read("docs/report-json.md");
    let told = named_in_tables(&text);
    let csv = report_of_a_run("csv");
    let columns = csv.lines().next().unwrap().trim_end().split(',');
    let document: serde_json::Value = serde_json::from_str(&report_of_a_run("json")).unwrap();
    let keys = document.as_object().unwrap().keys().map(String::as_str);
    for name in columns.chain(keys) {
        assert!(told.contains(&name), "docs/report-json.md does not tell of {name}");
    }
}

/// The document of the API is made of the routes that are served.
#[test]
fn the_document_of_the_api_is_fresh() {
    check_generated("docs/generated/openapi.json", &fathom_serve::openapi_document());
}

/// Every finding that there is stands in the document of findings.
#[test]
fn findings_are_documented() {
    let folder = root().join("crates/analysis/src/validity");
    let document = read("docs/validity.md");
    let mut folders = vec![folder];
    let mut count = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("it is there") {
            let path = entry.expect("it can be listed").path();
            if path.is_dir() {
                if !path.ends_with("tests") {
                    folders.push(path);
                }
                continue;
            }
            let text = fs::read_to_string(&path).expect("it is text");
            // Wherever it stands: given to `found.add`, or named by what it is told of.
            let code = text.split("\n#[cfg(test)]").next().expect("there is a first part");
            for id in code.split('"').filter(|literal| is_id(literal)) {
                count += 1;
                assert!(
                    document.contains(&format!("`{id}`")),
                    "docs/validity.md lacks {id} of {}",
                    path.display()
                );
            }
        }
    }
    assert!(count > 40, "only {count} were found");
}

/// Files of control groups, whose names look like ids of findings.
const CGROUP_FILES: [&str; 2] = ["cpu.max", "io.max"];

/// Whether a text has the form of a finding's id: `area.what-it-is`.
fn is_id(text: &str) -> bool {
    let is_word = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_lowercase())
            && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
    };
    !CGROUP_FILES.contains(&text)
        && text.split_once('.').is_some_and(|(area, what)| is_word(area) && is_word(what))
}
