//! What differs of the hosts and their environment, and which of that says nothing: facts that are others whenever one
//! looks. Does not know what becomes of a comparison.

use super::Difference;
use fathom_schema::{EnvironmentFact, Record};
use fathom_units::Bytes;

/// Facts that are never the same twice: first word of the subject, and the name where only that one is.
const PASSING: [(&str, Option<&str>); 6] = [
    ("load", None),
    ("drive", None),
    ("memory", Some("available")),
    ("memory", Some("dirty")),
    ("memory", Some("swap free")),
    ("device", Some("md sync_completed")),
];
/// Facts that are measured, and so never quite the same: told where the greater exceeds the smaller by this share.
/// The mean of 10,000 readings of a clock differs by up to a tenth from one run to the next on an idle machine, and
/// more on a busy one. What is free of a filesystem changes with every run that is stored there; a tenth more or less is
/// another filesystem to allocate in.
const MEASURED: [(&str, &str, f64); 2] =
    [("clock", "cost of a reading", 1.0 / 3.0), ("filesystem", "available", 0.1)];
/// What stands for a fact that a host does not have.
const ABSENT: &str = "absent";

/// A fact of which not all runs have the same value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FactDifference {
    /// What it is about and its name: `cpu governor`.
    pub name: String,
    /// Value of each run; `None` where its host does not have it.
    pub values: Vec<Option<String>>,
    /// The same as sizes, where they are some.
    pub bytes: Vec<Option<Bytes>>,
    /// Whether a verdict passes over it: it is another whenever one looks, or differs by no more than measuring does.
    pub passes: bool,
}

impl FactDifference {
    /// The values for people: sizes with a unit, as far as that leaves apart what is.
    pub fn told(&self) -> Vec<String> {
        let of = |size: fn(Bytes) -> String| -> Vec<String> {
            let pairs = self.values.iter().zip(&self.bytes);
            pairs
                .map(|(value, bytes)| {
                    bytes.map(size).or_else(|| value.clone()).unwrap_or_else(|| ABSENT.to_owned())
                })
                .collect()
        };
        let short = of(Bytes::approximate);
        let is_apart = (0..short.len()).all(|left| {
            (0..left).all(|right| short[left] != short[right] || self.values[left] == self.values[right])
        });
        if is_apart { short } else { of(|size| format!("{} B", size.0)) }
    }
}

/// A fact of a run, of its host or around it.
struct Fact {
    subject: String,
    name: String,
    value: Option<String>,
    bytes: Option<Bytes>,
}

/// Facts of which not all of these runs have the same value, each once, in the order in which they come.
pub fn environments(records: &[&Record]) -> Vec<FactDifference> {
    let all: Vec<Vec<Fact>> = records.iter().map(|record| facts(record)).collect();
    let mut seen: Vec<(&str, &str)> = Vec::new();
    let mut found = Vec::new();
    for Fact { subject, name, .. } in all.iter().flatten() {
        if seen.contains(&(subject, name)) {
            continue;
        }
        seen.push((subject, name));
        let of = |facts: &Vec<Fact>| {
            let fact = facts.iter().find(|fact| fact.subject == *subject && fact.name == *name);
            fact.map_or((None, None), |fact| (fact.value.clone(), fact.bytes))
        };
        let (values, bytes): (Vec<Option<String>>, Vec<Option<Bytes>>) = all.iter().map(of).unzip();
        if values.windows(2).any(|pair| pair[0] != pair[1]) {
            let passes = passes(subject, name, &values);
            found.push(FactDifference {
                name: format!("{subject} {name}").trim().to_owned(),
                values,
                bytes,
                passes,
            });
        }
    }
    found
}

/// What differs between two runs: what tells something, and what a verdict passes over.
pub(super) fn differences(base: &Record, new: &Record) -> (Vec<Difference>, Vec<Difference>) {
    let (passing, telling): (Vec<FactDifference>, Vec<FactDifference>) =
        environments(&[base, new]).into_iter().partition(|one| one.passes);
    let told = |all: Vec<FactDifference>| {
        let pair = |one: FactDifference| {
            let mut values = one.told().into_iter();
            (one.name, values.next().unwrap_or_default(), values.next().unwrap_or_default())
        };
        all.into_iter().map(pair).collect()
    };
    (told(telling), told(passing))
}

fn facts(record: &Record) -> Vec<Fact> {
    let started = &record.started;
    let step = record.steps.first().map(|step| &step.started.step);
    let targets = step.map_or_else(String::new, |step| {
        step.targets.iter().map(|target| target.name.clone()).collect::<Vec<_>>().join(", ")
    });
    let memory = started.facts.memory;
    let host = [
        ("fathom", started.tool_version.clone(), None),
        ("host", started.facts.host.clone(), None),
        ("processor", started.facts.cpu.model.clone(), None),
        ("memory", memory.to_string(), Some(memory)),
        ("targets", targets, None),
    ];
    let host = host.map(|(name, value, bytes)| Fact {
        subject: String::new(),
        name: name.to_owned(),
        value: Some(value),
        bytes,
    });
    let around = started.facts.environment.iter().map(|fact| {
        let bytes = fact.bytes();
        let EnvironmentFact { subject, name, value, source: _ } = fact.clone();
        Fact { subject, name, value, bytes }
    });
    host.into_iter().chain(around).collect()
}

fn passes(subject: &str, name: &str, values: &[Option<String>]) -> bool {
    let kind = subject.split(' ').next().unwrap_or_default();
    PASSING.iter().any(|(of, which)| *of == kind && which.is_none_or(|which| which == name))
        || is_noise(kind, name, values)
}

/// Whether a fact that is measured differs by no more than measuring does.
fn is_noise(kind: &str, name: &str, values: &[Option<String>]) -> bool {
    let Some((.., share)) = MEASURED.iter().find(|(of, which, _)| (*of, *which) == (kind, name)) else {
        return false;
    };
    let number = |text: &Option<String>| text.as_deref()?.split(' ').next()?.parse::<f64>().ok();
    let Some(numbers) = values.iter().map(number).collect::<Option<Vec<f64>>>() else { return false };
    let least = numbers.iter().copied().fold(f64::INFINITY, f64::min);
    numbers.iter().all(|one| *one <= least * (1.0 + share))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{StreamShape, record};

    /// A run around which this was found.
    fn run(facts: &[(&str, &str, &str)]) -> Record {
        let mut one = record(&[StreamShape::default()]);
        one.started.facts.environment = facts
            .iter()
            .map(|(subject, name, value)| EnvironmentFact {
                subject: (*subject).to_owned(),
                name: (*name).to_owned(),
                value: Some((*value).to_owned()),
                source: String::new(),
            })
            .collect();
        one
    }

    /// What two or more values of a fact are told as, and whether they are passed over.
    fn check(subject: &str, name: &str, values: &[&str], expect: &[&str], passes: bool) {
        let runs: Vec<Record> = values.iter().map(|value| run(&[(subject, name, value)])).collect();
        let found = environments(&runs.iter().collect::<Vec<_>>());
        let told: Vec<(String, Vec<String>, bool)> =
            found.iter().map(|one| (one.name.clone(), one.told(), one.passes)).collect();
        let expect = expect.iter().map(|&one| one.to_owned()).collect();
        assert_eq!(told, [(format!("{subject} {name}"), expect, passes)]);
    }

    #[test]
    fn facts_that_are_others_whenever_one_looks_are_passed_over() {
        check("load", "average", &["0.1", "3.0"], &["0.1", "3.0"], true);
        check("memory", "swap free", &["1024 kB", "2048 kB"], &["1 MiB", "2 MiB"], true);
        check("memory", "swap total", &["1024 kB", "2048 kB"], &["1 MiB", "2 MiB"], false);
        check("device md0", "md sync_completed", &["1 / 2", "2 / 2"], &["1 / 2", "2 / 2"], true);
        check("cpu", "governor", &["powersave", "performance"], &["powersave", "performance"], false);
    }

    #[test]
    fn what_is_free_of_a_filesystem_counts_where_it_is_a_tenth_more_and_has_a_unit() {
        let available = ["107374182400", "96636764160", "107374182401"];
        check("filesystem /mnt", "available", &available[..2], &["100 GiB", "90 GiB"], false);
        let exact = ["107374182400 B", "107374182401 B"];
        check("filesystem /mnt", "available", &[available[0], available[2]], &exact, true);
        check("filesystem /mnt", "available", &["10485760", "11324620"], &["10 MiB", "10.8 MiB"], true);
        check("filesystem /mnt", "size", &["1073741824", "2147483648"], &["1 GiB", "2 GiB"], false);
        check(
            "clock",
            "cost of a reading",
            &["10.0 ns", "13.0 ns", "12 ns"],
            &["10.0 ns", "13.0 ns", "12 ns"],
            true,
        );
        check(
            "clock",
            "cost of a reading",
            &["10.0 ns", "14.0 ns", "12 ns"],
            &["10.0 ns", "14.0 ns", "12 ns"],
            false,
        );
    }

    #[test]
    fn a_fact_that_a_host_does_not_have_differs_from_one_that_it_has() {
        let (with, without) = (run(&[("filesystem /mnt", "available", "1024")]), run(&[]));
        let found = environments(&[&with, &without, &with]);
        assert_eq!(found.len(), 1);
        assert_eq!(
            (found[0].told(), found[0].passes),
            (["1 KiB", ABSENT, "1 KiB"].map(str::to_owned).to_vec(), false)
        );
        assert_eq!(environments(&[&with, &with]), []);
    }
}
