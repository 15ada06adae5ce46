//! Findings on what drives say of themselves.

use super::*;
use crate::drives::{Drive, DriveFact, drives};
use fathom_schema::drive as name;

fn facts(device: &str, said: &[(&str, &str)]) -> Vec<EnvironmentFact> {
    let fact = |(name, value): &(&str, &str)| EnvironmentFact {
        subject: format!("drive {device}"),
        name: (*name).to_owned(),
        value: Some((*value).to_owned()),
        source: "smartctl".to_owned(),
    };
    said.iter().map(fact).collect()
}

/// A run before which and after which a drive said this.
fn between(before: &[(&str, &str)], after: &[(&str, &str)]) -> Record {
    let mut record = record(&[base()]);
    record.started.facts.environment.extend(facts("sda", before));
    record.finished.as_mut().unwrap().drives = facts("sda", after);
    record
}

const SOUND: [(&str, &str); 12] = [
    (name::STATUS, "passed"),
    (name::WARNINGS, "none"),
    (name::TEMPERATURE, "41 °C"),
    (name::WEAR, "99 %"),
    (name::REALLOCATED, "0"),
    (name::PENDING, "0"),
    (name::UNCORRECTABLE, "0"),
    (name::MEDIA_ERRORS, "0"),
    (name::INTERFACE_ERRORS, "7"),
    (name::HOT_MINUTES, "12"),
    (name::THROTTLED_TIMES, "3"),
    (name::SELF_TEST, "none"),
];

/// The sound one, but for this.
fn but(name: &'static str, value: &'static str) -> Vec<(&'static str, &'static str)> {
    SOUND.iter().map(|&(known, said)| (known, if known == name { value } else { said })).collect()
}

#[test]
fn a_sound_drive_is_not_told() {
    check(&between(&SOUND, &SOUND), &[]);
    check(&between(&SOUND, &but(name::TEMPERATURE, "60 °C")), &[]);
    check(&between(&[], &[]), &[]);
    // A run that was killed knows the start alone.
    let mut killed = between(&SOUND, &[]);
    killed.finished = None;
    assert!(findings(&killed).iter().all(|found| !found.id.starts_with("drive.")));
}

#[test]
fn drives_that_fail_wear_heat_or_test_themselves() {
    for (name, said, id) in [
        (name::STATUS, "failed", "drive.failing"),
        (name::WARNINGS, "read-only", "drive.failing"),
        (name::WARNINGS, "bit 6", "drive.failing"),
        (name::WARNINGS, "temperature beyond its threshold", "drive.hot"),
        (name::WEAR, "100 %", "drive.worn"),
        (name::SELF_TEST, "running, 90 % left", "drive.self-test"),
    ] {
        let expect = [(id, Severity::Warn)];
        // What is worn stays so: what the drive said last counts.
        check(&between(&but(name, said), &SOUND), &expect[usize::from(name == name::WEAR)..]);
        check(&between(&SOUND, &but(name, said)), &expect);
        check(&between(&but(name, said), &[]), &expect);
    }
    for (name, said, id) in [
        (name::REALLOCATED, "1", "drive.defects-grew"),
        (name::PENDING, "1", "drive.defects-grew"),
        (name::UNCORRECTABLE, "1", "drive.defects-grew"),
        (name::MEDIA_ERRORS, "1", "drive.defects-grew"),
        (name::INTERFACE_ERRORS, "8", "drive.interface-errors"),
        (name::HOT_MINUTES, "13", "drive.hot"),
        (name::THROTTLED_TIMES, "4", "drive.throttled"),
    ] {
        check(&between(&SOUND, &but(name, said)), &[(id, Severity::Warn)]);
    }
    // Hot and failing are two things.
    let both = but(name::WARNINGS, "temperature beyond its threshold, read-only");
    check(&between(&SOUND, &both), &[("drive.failing", Severity::Warn), ("drive.hot", Severity::Warn)]);
    // What it had before is no fault of this run; nor is it known where it was not asked before.
    let evidence = |record: &Record| findings(record)[0].evidence.clone();
    let old = [(name::PENDING, "8")];
    assert_eq!(evidence(&between(&old, &old)), "sda counts defects that it had before: pending sectors 8");
    assert_eq!(evidence(&between(&[], &old)), "sda counts defects: pending sectors 8");
    check(&between(&but(name::PENDING, "8"), &but(name::PENDING, "8")), &[("drive.defects", Severity::Info)]);
    let grown = findings(&between(&but(name::PENDING, "8"), &but(name::PENDING, "9")));
    assert_eq!(grown.len(), 1);
    assert!(grown[0].evidence.ends_with("of its defects during the run: pending sectors 8 → 9"), "{grown:?}");
}

#[test]
fn a_drive_that_answers_no_more_is_told() {
    let mut record = between(&SOUND, &[]);
    record.finished.as_mut().unwrap().drives = vec![silent("sda")];
    check(&record, &[("drive.silent", Severity::Warn)]);
    // One that never did is none, nor one that wakes up.
    let mut record = between(&[], &SOUND);
    record.started.facts.environment.push(silent("sda"));
    check(&record, &[]);
    record.finished.as_mut().unwrap().drives = vec![silent("sda")];
    check(&record, &[]);
}

fn silent(device: &str) -> EnvironmentFact {
    EnvironmentFact {
        value: None,
        source: "smartctl: why".to_owned(),
        ..facts(device, &[(name::HEALTH, "")])[0].clone()
    }
}

#[test]
fn what_a_drive_said_stands_side_by_side() {
    let mut record = between(&[(name::WEAR, "3 %")], &[(name::WEAR, "4 %"), (name::PENDING, "1")]);
    record.started.facts.environment.push(silent("sdb"));
    let fact = |name: &str, before: Option<&str>, after: Option<&str>| DriveFact {
        name: name.to_owned(),
        before: before.map(str::to_owned),
        after: after.map(str::to_owned),
    };
    let facts = vec![fact(name::WEAR, Some("3 %"), Some("4 %")), fact(name::PENDING, None, Some("1"))];
    let expect = [
        Drive { device: "sda".to_owned(), silent: None, facts },
        Drive { device: "sdb".to_owned(), silent: Some("smartctl: why".to_owned()), facts: Vec::new() },
    ];
    assert_eq!(drives(&record), expect);
}
