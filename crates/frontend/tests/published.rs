//! fio's jobs of other projects, held against what fio itself made of them. They are read when they lie beside this project, and
//! skipped with a word when they do not.

use fathom_frontend::fio::{Reading, Surroundings, read};
use fathom_model::{Amount, Job, Level, Verify};
use std::io::Write;
use std::path::PathBuf;

fn surroundings() -> Surroundings<'static> {
    Surroundings { cpus: 4, ..Surroundings::empty() }
}

fn beside(path: &str) -> Option<PathBuf> {
    let found = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus").join(path);
    if !found.exists() {
        writeln!(std::io::stderr(), "SKIPPED: there is no {} beside the project", found.display())
            .expect("stderr can be written");
        return None;
    }
    Some(found)
}

#[test]
fn seed_jobs_are_read() {
    for (name, streams, codes) in [
        ("oltp", 5, &[] as &[&str]),
        ("five-regions", 5, &[]),
        ("randread-500", 2, &[]),
        ("archive-files", 8, &[]),
        ("wrong-shared-region", 2, &[]),
    ] {
        let Some(path) = beside(&format!("seeds/{name}.fio")) else { return };
        let text = std::fs::read_to_string(path).unwrap();
        let Reading { job, diagnostics, .. } = read(name, &text, &surroundings());
        assert_eq!(job.streams.len(), streams, "{name}");
        assert_eq!(diagnostics.all().iter().map(|d| d.code).collect::<Vec<_>>(), codes, "{name}");
        assert!(fathom_model::check(&job).is_empty(), "{name} {:?}", fathom_model::check(&job));
    }
}

/// Pairs of an option list as recorded. A flag has no second element; fio's document leaves it out.
fn pairs(options: &serde_json::Value) -> Vec<(String, String)> {
    let text = |value: Option<&serde_json::Value>| {
        value.and_then(|value| value.as_str()).unwrap_or_default().to_owned()
    };
    let unquoted = |name: &str, value: String| {
        if name == "description" { value.trim_matches('"').to_owned() } else { value }
    };
    let pair = |option: &serde_json::Value| {
        let name = text(option.get(0));
        let value = unquoted(&name, text(option.get(1)));
        (name, value)
    };
    options.as_array().into_iter().flatten().filter(|option| option.get(1).is_some()).map(pair).collect()
}

#[test]
fn published_jobs_have_the_options_fio_found() {
    let Some(folder) = beside("fio") else { return };
    let expected: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(folder.join("expected.json")).unwrap()).unwrap();
    for (file, expected) in expected["files"].as_object().unwrap() {
        let text = String::from_utf8_lossy(&std::fs::read(folder.join(file)).unwrap()).into_owned();
        let Reading { job, diagnostics, extras } = read(file, &text, &surroundings());
        let refused: Vec<_> = diagnostics
            .all()
            .iter()
            .filter(|d| d.level == Level::Error && d.code != "fio.not-built")
            .collect();
        assert!(refused.is_empty(), "{file} {refused:?}");
        assert!(fathom_model::check(&job).is_empty(), "{file} {:?}", fathom_model::check(&job));
        assert_eq!(extras.globals, pairs(&expected["global_options"]), "{file}");
        let sections: Vec<(String, Vec<(String, String)>)> = expected["sections"]
            .as_array()
            .unwrap()
            .iter()
            .map(|section| (section["section"].as_str().unwrap().to_owned(), pairs(&section["options"])))
            .collect();
        // fio's command line puts quotes around a description unless it has some.
        let unquoted = |(name, value): &(String, String)| {
            let value = if name == "description" { value.trim_matches('"') } else { value };
            (name.clone(), value.to_owned())
        };
        let echoed: Vec<(String, Vec<(String, String)>)> = job.echo[1..]
            .iter()
            .map(|(name, options)| (name.clone(), options.iter().map(unquoted).collect()))
            .collect();
        assert_eq!(echoed, sections, "{file}");
        let mut reported: Vec<(&str, u32)> = Vec::new();
        for clone in extras.clones.iter().filter(|clone| clone.is_reported) {
            if !clone.group_reporting || !reported.iter().any(|(_, group)| *group == clone.group_id) {
                reported.push((&clone.job_name, clone.group_id));
            }
        }
        let report =
            expected["report"].as_array().unwrap().iter().filter(|entry| entry["bound"] != "placeholder");
        let report: Vec<(&str, u32)> = report
            .map(|entry| {
                (
                    entry["jobname"].as_str().unwrap(),
                    u32::try_from(entry["groupid"].as_u64().unwrap()).unwrap(),
                )
            })
            .collect();
        assert_eq!(reported, report, "{file}");
    }
}

/// Bytes that a stream's worker moves when nothing but its amount of work ends it; `None` when its blocks differ in size.
fn amount_of(job: &Job, stream: &str) -> Option<u64> {
    let options = &job.streams.iter().find(|named| named.name == stream)?.options;
    let workload = options.workload.get()?;
    let workload = &job.workloads.iter().find(|named| &named.name == workload)?.options;
    let (sizes, block) = (workload.block_size.get(), workload.block_size.get().sizes[0].1.0);
    // What is read back comes on top, and which blocks that are is not said here.
    let verifies = *workload.verify.get() != Verify::None;
    if sizes.sizes.len() > 1 || sizes.sizes[0].2.0 != block || workload.mix.get().is_some() || verifies {
        return None;
    }
    let target = &options.targets.get()?[0];
    let target = &job.targets.iter().find(|named| &named.name == target)?.options;
    let region = match (options.size.get(), target.size.get()) {
        (Some(Amount::Bytes(bytes)), _) | (None, Some(Amount::Bytes(bytes))) => bytes.0 / block * block,
        _ => return None,
    };
    let amount = match options.bytes.get() {
        Some(Amount::Bytes(bytes)) => bytes.0 / block * block,
        Some(Amount::Share(_)) => return None,
        None => region * u64::from(*options.passes.get()?),
    };
    Some(options.operations.get().map_or(amount, |operations| amount.min(operations * block)))
}

#[test]
fn published_jobs_move_the_bytes_fio_moved() {
    let Some(folder) = beside("fio") else { return };
    let expected = std::fs::read_to_string(folder.join("expected.json")).expect("it is there");
    let expected: serde_json::Value = serde_json::from_str(&expected).expect("it is JSON");
    let mut compared = 0;
    for (file, expected) in expected["files"].as_object().expect("a map by file") {
        let text = std::fs::read(folder.join(file)).expect("each file is there");
        let Reading { job, diagnostics, extras } =
            read(file, &String::from_utf8_lossy(&text), &surroundings());
        // vsync's are those of its vectors.
        if diagnostics.has_errors() || text.windows(5).any(|window| window == b"vsync") {
            continue;
        }
        for entry in
            expected["report"].as_array().into_iter().flatten().filter(|entry| entry["bound"] == "size")
        {
            let (name, group) = (entry["jobname"].as_str().unwrap_or_default(), entry["groupid"].as_u64());
            let clones: Vec<_> =
                extras.clones.iter().filter(|clone| Some(u64::from(clone.group_id)) == group).collect();
            let clones: Vec<_> = match clones.iter().find(|clone| clone.job_name == name) {
                Some(first) if !first.group_reporting => vec![*first],
                _ => clones,
            };
            let amounts: Option<Vec<u64>> =
                clones.iter().map(|clone| amount_of(&job, &clone.stream)).collect();
            let Some(amounts) = amounts else { continue };
            let of = |direction: &str| entry[direction]["io_bytes"].as_u64().unwrap_or(0);
            let moved = of("read") + of("write") + of("trim") + of("sum_of_directions");
            assert_eq!(amounts.iter().sum::<u64>(), moved, "{file} {name}");
            compared += 1;
        }
    }
    assert!(compared > 25, "only {compared} entries compared");
}
