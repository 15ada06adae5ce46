//! What is done to files that fathom did not make, and what is said of their holes.

use crate::host::{Is, facts, read};
use fathom_model::{Dialect, Job};
use fathom_planner::plan;
use fathom_planner::safety::{Consent, judge};
use fathom_schema::{LayoutRule, TargetKind};
use fathom_units::Bytes;

/// A file of 1 GiB of which 768 MiB are written.
const SPARSE: (Bytes, Bytes) = (Bytes::gib(1), Bytes::mib(768));
const FULL: (Bytes, Bytes) = (Bytes::gib(1), Bytes::gib(1));
const READS: &str = "[stream.r]\nworkload = \"r\"\n[workload.r]\nread = \"100%\"\n";
const WRITES: &str = "[stream.w]\nworkload = \"w\"\n[workload.w]\nread = \"0%\"\n";
const STAGES: &str =
    "[stage.one]\nstreams = [\"r\"]\ntime = \"60s\"\n[stage.two]\nstreams = [\"w\"]\ntime = \"60s\"\n";
const SWEPT: &str = "[stage.one]\ntime = \"60s\"\nsweep = { \"workload.r.read\" = [\"100%\", \"50%\"] }\n";

/// A job on one file, and what becomes of the file.
struct Case {
    name: &'static str,
    /// Size and written bytes of the file.
    file: (Bytes, Bytes),
    ours: bool,
    /// Size that the job asks for, in MiB.
    wanted: u64,
    sections: String,
    /// Layout at the first step.
    layout: LayoutRule,
    /// In MiB.
    lays_out: u64,
    /// Whether it needs no consent.
    unharmed: bool,
    warns_of: Option<&'static str>,
}

fn check(case: &Case) {
    let Case { name, file: (size, written), ours, wanted, sections, layout, lays_out, unharmed, warns_of } =
        case;
    let text = format!("[target.t]\npath = \"/f\"\nsize = \"{wanted}MiB\"\n{sections}");
    for dialect in [Dialect::Native, Dialect::Fio] {
        let job = Job { dialect, ..read(&text) };
        let mut facts = facts(&job, |_| Is::File { size: *size });
        let file = facts.targets[0].file.as_mut().expect("it is a file");
        (file.written, file.made_by_fathom) = (*written, *ours);
        let (plan, found) = plan(&job, &facts, 0);
        let plan = plan.unwrap_or_else(|| panic!("{name}: {found:?}"));
        let step = plan.experiment.preview().remove(0);
        let TargetKind::File { layout: planned, .. } = step.targets[0].kind else {
            panic!("{name}: no file")
        };
        let [intent] = &plan.intents[..] else { panic!("{name}: {:?}", plan.intents) };
        assert_eq!((planned, intent.needs()), (*layout, Bytes::mib(*lays_out)), "{name}, {dialect:?}");
        assert_eq!(
            judge(&plan.intents, &plan.commands, &facts, &Consent::default()).allows(),
            *unharmed,
            "{name}"
        );
        let warning = found.all().iter().find(|d| d.code == "plan.reads-unwritten");
        assert_eq!(warning.map(|d| d.message.as_str()), *warns_of, "{name}, {dialect:?}");
    }
}

#[test]
fn files_of_others_that_are_only_read_are_left_alone() {
    use LayoutRule::{Appended, Written};
    let timed = "[stage.all]\ntime = \"60s\"\n";
    let holes = Some(
        "256 MiB of the 1 GiB of /f are holes or unwritten, and fathom did not make the file; reads of those measure the \
         filesystem, not the device",
    );
    let case = |name, file, ours, wanted, sections: &[&str], layout, lays_out, unharmed, warns_of| {
        let sections = sections.concat();
        check(&Case { name, file, ours, wanted, sections, layout, lays_out, unharmed, warns_of });
    };
    case("sparse, read", SPARSE, false, 1024, &[READS, timed], Appended, 0, true, holes);
    case("complete, read", FULL, false, 1024, &[READS, timed], Appended, 0, true, None);
    case("short, read", FULL, false, 1536, &[READS, timed], Appended, 512, false, None);
    case("ours, sparse, read", SPARSE, true, 1024, &[READS, timed], Written, 256, true, None);
    case("ours, sparse and short", SPARSE, true, 1536, &[READS, timed], Written, 768, true, None);
    case("written", SPARSE, false, 1024, &[READS, WRITES, timed], Written, 256, false, None);
    case(
        "written in a later stage",
        SPARSE,
        false,
        1024,
        &[READS, WRITES, STAGES],
        Written,
        256,
        false,
        None,
    );
    case("written at a later point", SPARSE, false, 1024, &[READS, SWEPT], Written, 256, false, None);
    let never = "[stage.one]\nstreams = [\"r\"]\ntime = \"60s\"\n";
    case("written by no stage", SPARSE, false, 1024, &[READS, WRITES, never], Appended, 0, true, holes);
}
