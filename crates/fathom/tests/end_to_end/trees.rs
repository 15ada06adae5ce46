//! Directory trees: their folders and files are made, worked on, and removed again where the job says so.

use crate::support::{Bench, moved};
use std::path::Path;

/// Two folders, four in them, and three files of 64 KiB in each of the six.
fn job(more: &str) -> String {
    format!(
        "[target.tree]\nkind = 'tree'\ndirectory = 'root'\ntree_depth = 2\ntree_width = 2\ntree_distribution = 'all'\nfiles = 3\n\
         size = '64KiB'\n{more}\n[workload.w]\naccess = 'random'\nread = '50%'\nfile_order = 'random'\n\n\
         [stream.s]\noperations = 1000\n"
    )
}

/// Files and folders below, with the sizes of files.
fn below(folder: &Path) -> Vec<(String, Option<u64>)> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder_of) = open.pop() {
        for entry in std::fs::read_dir(&folder_of).expect("it can be read") {
            let entry = entry.expect("it can be read");
            let meta = entry.metadata().expect("it is there");
            if meta.is_dir() {
                open.push(entry.path());
            }
            let name = entry.path().strip_prefix(folder).expect("it lies in it").display().to_string();
            found.push((name, meta.is_file().then_some(meta.len())));
        }
    }
    found.sort();
    found
}

#[test]
fn a_tree_is_made_and_worked_on() {
    let bench = Bench::new();
    bench.write("tree.toml", job(""));
    bench.fathom("check tree.toml").expect(0, &["no faults"]);
    let plan = bench.fathom("plan tree.toml");
    assert!(
        plan.expect(0, &[])
            .out
            .contains("root/dir.1.2/file.3: created when absent, read, WRITTEN, 64 KiB laid out"),
        "{plan:#?}"
    );
    assert!(!bench.path("root").exists(), "a plan makes nothing");
    bench.fathom("run tree.toml --quiet").expect(0, &[]);
    let made = below(&bench.path("root"));
    let (files, folders): (Vec<_>, Vec<_>) = made.iter().partition(|(_, size)| size.is_some());
    assert!(files.len() == 18 && files.iter().all(|(_, size)| *size == Some(64 << 10)), "{files:?}");
    let folders: Vec<&str> = folders.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        folders,
        ["dir.1.1", "dir.1.1/dir.2.1", "dir.1.1/dir.2.2", "dir.1.2", "dir.1.2/dir.2.1", "dir.1.2/dir.2.2"]
    );
    let report = bench.report();
    let done = moved(&report, "/steps/0/total", "all");
    assert_eq!(done, (1000, 1000 * 4096));
    // Each of its files has a share.
    let on_targets = report["steps"][0]["streams"][0]["targets"].as_array().map_or(0, Vec::len);
    assert_eq!(on_targets, 18, "{:#}", report["steps"][0]["streams"][0]);
    // What is there is fathom's, and is used again.
    bench.fathom("run tree.toml --quiet").expect(0, &[]);
    assert_eq!(below(&bench.path("root")), made);
}

#[test]
fn a_tree_goes_with_the_folders_that_were_made_for_it() {
    let bench = Bench::new();
    bench.write("tree.toml", job("remove = true"));
    bench.fathom("run tree.toml --quiet").expect(0, &[]);
    assert!(!bench.path("root").exists(), "{:?}", below(&bench.path("root")));
    // What somebody else has made stays, and so does what something lies in.
    std::fs::create_dir_all(bench.path("root/dir.1.2/dir.2.2/own")).expect("the folder is ours");
    bench.write("root/note", "mine");
    bench.fathom("run tree.toml --quiet").expect(0, &[]);
    let left: Vec<String> = below(&bench.path("root")).into_iter().map(|(name, _)| name).collect();
    assert_eq!(left, ["dir.1.2", "dir.1.2/dir.2.2", "dir.1.2/dir.2.2/own", "note"]);
}

#[test]
fn a_tree_that_cannot_be_is_refused() {
    let bench = Bench::new();
    bench.write("tree.toml", job("").replace("'root'", "'no/where'"));
    bench.check_refused(
        "run tree.toml",
        4,
        &["target.no-folder", "the root of the tree, no/where, is not there", "mkdir -p no/where"],
    );
    bench.write("file", "x");
    bench.write("tree.toml", job("").replace("'root'", "'file'"));
    bench.check_refused(
        "run tree.toml",
        4,
        &["target.no-folder", "the root of the tree, file, is no folder"],
    );
    // Counted before any of it is listed or looked at, also where its folders alone are too many.
    bench.write("tree.toml", job("").replace("tree_width = 2", "tree_width = 1000000"));
    let says = ["plan.too-many-targets", "3000003000000 are those of \"tree\""];
    for command in ["check", "plan", "run"] {
        bench.check_refused(&format!("{command} tree.toml"), 2, &says);
    }
    bench.write(
        "tree.toml",
        job("")
            .replace("tree_width = 2", "tree_width = 101")
            .replace("depth = 2", "depth = 4")
            .replace("'all'", "'bottom'"),
    );
    bench.check_refused("plan tree.toml", 2, &["312181203 are those of \"tree\""]);
    // Somebody's file under the name of one of its own.
    std::fs::create_dir_all(bench.path("root/dir.1.1")).expect("the folder is ours");
    bench.write("root/dir.1.1/file.2", vec![7; 64 << 10]);
    bench.write("tree.toml", job(""));
    bench.check_refused("run tree.toml", 3, &["root/dir.1.1/file.2"]);
}

/// Names of one tree are one before any of its folders is there, too.
#[test]
fn a_tree_under_two_names_is_one() {
    let bench = Bench::new();
    let section = |name: &str, directory: &str| {
        format!("[target.{name}]\nkind = 'tree'\ndirectory = '{directory}'\nsize = '16KiB'\n")
    };
    let streams = "[workload.w]\nread = '0%'\n[stream.s]\ntargets = ['a']\noperations = 2\n\
                   [stream.v]\nworkload = 'w'\ntargets = ['b']\noperations = 2\n";
    bench.write("twice.toml", section("a", "root") + &section("b", "./root") + streams);
    bench.fathom("run twice.toml --quiet").expect(0, &["plan.two-names"]);
    assert_eq!(moved(&bench.report(), "/steps/0/total", "write"), (4, 4 * 4096));
}
