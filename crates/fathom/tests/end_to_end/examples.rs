//! The example jobs: sound as they are, and planned when aimed at what is there.

use crate::support::{Bench, project};
use serde_json::Value;
use std::fs;

/// Names and texts of the examples.
fn examples() -> Vec<(String, String)> {
    let entries = fs::read_dir(project().join("examples")).expect("the examples are part of the project");
    let mut found: Vec<(String, String)> = entries
        .map(|entry| entry.expect("the folder can be read").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .map(|path| {
            let name = path.file_name().expect("it is a file").to_string_lossy().into_owned();
            (name, fs::read_to_string(&path).expect("examples are text"))
        })
        .collect();
    found.sort();
    assert!(found.len() >= 12, "{found:?}");
    found
}

#[test]
fn all_are_sound() {
    for (name, _) in examples() {
        let path = project().join("examples").join(&name);
        let bench = Bench::new();
        bench.fathom(&format!("check {}", path.display())).expect(0, &["no faults"]);
    }
}

/// The sizes of the examples are real ones; sparse files stand in for the devices, and nothing is laid out.
#[test]
fn all_are_planned() {
    for (name, text) in examples() {
        let bench = Bench::new();
        let here = bench.path("").display().to_string();
        let here = here.trim_end_matches('/');
        for disk in ["sda", "sdb", "disk1.raw"] {
            let file = fs::File::create(bench.path(disk)).expect("the folder is ours");
            file.set_len(110_000_000_000).expect("a sparse file takes no space");
        }
        let text = text
            .replace("/dev", here)
            .replace("/home/idcuser", here)
            .replace("\"/mnt\"", &format!("\"{here}\""))
            .replace("\"/fs\"", &format!("\"{here}\""));
        bench.write(&name, text);
        let ended = bench.fathom(&format!("plan --json --overwrite {name}"));
        let steps = || {
            let document: Value = ended.json();
            document["steps"].as_array().map_or(0, Vec::len)
        };
        // Holes would be laid out and the archive is larger than this disk: refused for want of space, and that is all.
        match name.as_str() {
            "archive-files.toml" => assert!([0, 4].contains(&ended.code) && steps() == 1, "{ended:#?}"),
            name if name.starts_with("iometer-") => assert_eq!(steps(), 9, "{name}"),
            "exchange.toml" | "spc1-like.toml" => assert_eq!(steps(), 6, "{name}"),
            "vdbench-curve.toml" => assert!(ended.code == 9 || steps() == 11, "{ended:#?}"),
            _ => assert_eq!(steps(), 1, "{name}: {ended:#?}"),
        }
        assert_eq!(bench.stored(), 0, "{name}");
    }
}
