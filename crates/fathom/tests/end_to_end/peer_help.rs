//! What `fathom fio` says about itself beside the peer's: `--cmdhelp`, `--enghelp`, `--crctest`, `--debug`. The layout is the
//! same, the sentences are fathom's own.

use crate::support::{Bench, Ended, FATHOM, skip, tool};
use std::collections::BTreeSet;

/// Both, told the same: the peer's, then fathom's.
fn both(bench: &Bench, words: &[&str]) -> [Ended; 2] {
    [bench.run(&[&["fio"], words].concat()), bench.run(&[&[FATHOM, "fio"], words].concat())]
}

/// What stands before the colon, blanks and all.
fn labels(text: &str) -> Vec<&str> {
    text.lines().map(|line| line.split(": ").next().unwrap_or(line)).collect()
}

/// Options that the peer lists under a name that is another's alias here.
const OTHER_NAMES: [&str; 2] = ["log_max_value", "log_unix_epoch"];

#[test]
fn all_options_are_listed_in_the_same_columns() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("all_options_are_listed_in_the_same_columns", &why);
    }
    let bench = Bench::new();
    for switch in ["--cmdhelp", "--cmdhelp=all", "-c"] {
        let [theirs, ours] = both(&bench, &[switch]);
        assert_eq!((ours.code, ours.err.as_str()), (theirs.code, ""), "{switch}");
        let is_kept = |label: &&str| !OTHER_NAMES.contains(&label.trim());
        let theirs: Vec<&str> = labels(&theirs.out).into_iter().filter(is_kept).collect();
        let ours = labels(&ours.out);
        let known: BTreeSet<&str> = theirs.iter().copied().collect();
        let same: Vec<&str> = ours.iter().copied().filter(|label| known.contains(label)).collect();
        assert_eq!(same, theirs, "{switch}");
        assert!(ours.len() > theirs.len(), "newer ones follow");
    }
}

/// A detailed entry without its sentences: labels, and the values that are no sentence.
fn facts(text: &str) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    for line in text.lines() {
        let Some((label, value)) = line.split_once(": ") else { continue };
        match label.trim() {
            // A version of the peer whose table of types lacks one.
            "type" if value == "(null)" => facts.push(("type".to_owned(), String::new())),
            "type" if value.starts_with("size or") => facts.push(("type".to_owned(), String::new())),
            "type" | "default" => facts.push((label.to_owned(), value.to_owned())),
            // Ours may have several aliases, newer ones among them; the limits of numbers are each tool's own.
            "alias" | "" | "valid values" | "range" => {}
            name => facts.push((name.to_owned(), String::new())),
        }
    }
    facts
}

#[test]
fn one_option_has_the_same_type_and_default() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("one_option_has_the_same_type_and_default", &why);
    }
    let bench = Bench::new();
    for option in [
        "rw",
        "readwrite",
        "bs",
        "bssplit",
        "size",
        "runtime",
        "time_based",
        "ioengine",
        "iodepth",
        "direct",
        "numjobs",
        "verify",
        "verify_pattern",
        "percentile_list",
        "latency_target",
        "group_reporting",
        "write_bw_log",
        "log_avg_msec",
        "fallocate",
        "random_distribution",
        "bsrange",
        "thinktime",
        "rate",
        "zonemode",
        "buffer_compress_percentage",
        "mem",
    ] {
        let [theirs, ours] = both(&bench, &[&format!("--cmdhelp={option}")]);
        assert_eq!((ours.code, &ours.err), (theirs.code, &theirs.err), "{option}");
        assert_eq!(facts(&ours.out), facts(&theirs.out), "{option}\n{}\n{}", theirs.out, ours.out);
        let words = |text: &str| -> BTreeSet<String> {
            let from = text.lines().skip_while(|line| !line.contains("valid values: "));
            let word = |line: &str| {
                line.split_once(": ").and_then(|(_, of)| of.split_whitespace().next().map(str::to_owned))
            };
            from.filter_map(word).collect()
        };
        let missing: Vec<_> = words(&theirs.out).difference(&words(&ours.out)).cloned().collect();
        // Of some options fathom's table has no closed list of words; of `ioengine` it lists the engines that are here.
        let is_open = words(&ours.out).is_empty() || option == "ioengine";
        assert!(is_open || missing.is_empty(), "{option} may be {missing:?} too");
        // Each word has its sentence, in a column of its own.
        let listed = ours.out.lines().skip_while(|line| !line.contains("valid values: "));
        for line in listed.filter(|line| !line.is_empty()) {
            let said = line.split_once(": ").map_or(0, |(_, of)| of.split_whitespace().count());
            assert!(said > 1, "{option}: {line}");
        }
        assert!(ours.out.ends_with("\n\n"), "an empty line ends it");
    }
    for option in ["rwx", "qqqqqqqqqqqqqqq", ""] {
        let [theirs, ours] = both(&bench, &[&format!("--cmdhelp={option}")]);
        assert_eq!((ours.code, ours.err.trim()), (theirs.code, theirs.err.trim()), "{option}");
        assert_eq!(ours.out.lines().next(), theirs.out.lines().next(), "{option}");
    }
}

#[test]
fn ways_of_verification_are_listed_as_the_peer_knows_them() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("ways_of_verification_are_listed_as_the_peer_knows_them", &why);
    }
    let bench = Bench::new();
    let listed = |ended: &Ended| -> Vec<String> {
        let from = ended.out.lines().skip_while(|line| !line.contains("valid values: "));
        let words = from.filter_map(|line| line.split_once(": ")?.1.split_whitespace().next());
        // Those of newer versions.
        words.filter(|word| *word != "pattern_hdr").map(str::to_owned).collect()
    };
    for option in ["verify", "mem"] {
        let [theirs, ours] = both(&bench, &[&format!("--cmdhelp={option}")]);
        assert_eq!(listed(&ours), listed(&theirs), "{option}");
    }
    let [theirs, ours] = both(&bench, &["--name=a", "--ioengine=null", "--size=4k", "--verify=none"]);
    assert_eq!((theirs.code, ours.code), (1, 1), "{ours:?}");
}

#[test]
fn engines_and_their_options_are_listed_alike() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("engines_and_their_options_are_listed_alike", &why);
    }
    let bench = Bench::new();
    let [theirs, ours] = both(&bench, &["--enghelp"]);
    let known: BTreeSet<&str> = theirs.out.lines().collect();
    let listed: Vec<&str> = ours.out.lines().collect();
    assert_eq!((ours.code, listed[0]), (theirs.code, "Available IO engines:"));
    assert!(["\tpsync", "\tlibaio", "\tio_uring", "\tnet"].iter().all(|engine| listed.contains(engine)));
    // Debian's is built without those of folders, which came later.
    let newer = ["\tdircreate", "\tdirstat", "\tdirdelete"];
    assert!(listed.iter().all(|engine| known.contains(engine) || newer.contains(engine)), "{listed:?}");
    for engine in [
        "libaio",
        "io_uring",
        "pvsync2",
        "net",
        "netsplice",
        "cpuio",
        "exec",
        "filestat",
        "mmap",
        "psync",
        "null",
        "foo",
    ] {
        let [theirs, ours] = both(&bench, &[&format!("--enghelp={engine}")]);
        assert_eq!((ours.code, labels(&ours.out)), (theirs.code, labels(&theirs.out)), "{engine}");
        assert_eq!(ours.err.is_empty(), theirs.err.is_empty(), "{engine}: {} {}", theirs.err, ours.err);
    }
    for option in ["io_uring,hipri", "libaio,cmdprio_bssplit", "net,protocol", "cpuio,cpuchunks"] {
        let [theirs, ours] = both(&bench, &[&format!("--enghelp={option}")]);
        assert_eq!((ours.code, facts(&ours.out)), (theirs.code, facts(&theirs.out)), "{option}");
    }
    for option in ["libaio,iodepth", "libaio,"] {
        let [theirs, ours] = both(&bench, &[&format!("--enghelp={option}")]);
        assert_eq!((ours.code, ours.err.trim()), (theirs.code, theirs.err.trim()), "{option}");
        assert_eq!(ours.out, theirs.out, "{option}");
    }
    let [theirs, ours] = both(&bench, &["--enghelp=,"]);
    assert_eq!((ours.code, ours.out), (theirs.code, theirs.out));
    // Scripts look for the version there.
    let [theirs, ours] = both(&bench, &["--help"]);
    assert_eq!((ours.code, ours.out.lines().next()), (theirs.code, theirs.out.lines().next()));
}

#[test]
fn checksums_are_tried_and_areas_are_named() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("checksums_are_tried_and_areas_are_named", &why);
    }
    let bench = Bench::new();
    let without_numbers = |text: &str| text.replace(|c: char| c.is_ascii_digit() || " .".contains(c), "");
    let [theirs, ours] = both(&bench, &["--crctest=crc32c,md5,sha3-224"]);
    assert_eq!((ours.code, without_numbers(&ours.out)), (theirs.code, without_numbers(&theirs.out)));
    let [theirs, ours] = both(&bench, &["--crctest=foo"]);
    assert_eq!((ours.code, ours.err.trim()), (theirs.code, theirs.err.trim()));
    assert!(ours.out.lines().all(|name| theirs.out.contains(name)) && !ours.out.is_empty());
    let [theirs, ours] = both(&bench, &["--debug=help"]);
    assert_eq!((ours.code, &ours.out), (theirs.code, &theirs.out));
    // An area that is not there keeps no job from running.
    let [theirs, ours] =
        both(&bench, &["--debug=foo", "--name=a", "--ioengine=null", "--size=4k", "--output=out"]);
    assert_eq!((theirs.code, ours.code), (0, 0), "{ours:?}");
    let [theirs, ours] = both(&bench, &["--idle-prof=calibrate"]);
    assert_eq!((ours.code, without_numbers(&ours.out)), (theirs.code, without_numbers(&theirs.out)));
}
