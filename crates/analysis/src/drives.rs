//! What the drives under a run said of themselves, at its start beside its end. Does not judge it.

use fathom_schema::drive::{HEALTH, SUBJECT};
use fathom_schema::{EnvironmentFact, Record};

/// A drive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drive {
    /// Kernel name.
    pub device: String,
    /// Why it said nothing when it was asked last; absent where it did.
    pub silent: Option<String>,
    /// What it said at either time, in its order.
    pub facts: Vec<DriveFact>,
}

/// One thing that a drive says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriveFact {
    /// A name of [`fathom_schema::drive`].
    pub name: String,
    /// At the run's start.
    pub before: Option<String>,
    /// At its end; `None` where the run has none, or the drive said nothing then.
    pub after: Option<String>,
}

impl Drive {
    fn fact(&self, name: &str) -> Option<&DriveFact> {
        self.facts.iter().find(|fact| fact.name == name)
    }

    /// What it said last.
    pub(crate) fn last(&self, name: &str) -> Option<&str> {
        let fact = self.fact(name)?;
        fact.after.as_deref().or(fact.before.as_deref())
    }

    /// What it said at either time, each once.
    pub(crate) fn said(&self, name: &str) -> impl Iterator<Item = &str> {
        let fact = self.fact(name);
        let before = fact.and_then(|fact| fact.before.as_deref());
        let after = fact.and_then(|fact| fact.after.as_deref()).filter(|after| before != Some(after));
        before.into_iter().chain(after)
    }

    /// Whether it was told at the start.
    pub(crate) fn is_known_before(&self, name: &str) -> bool {
        self.fact(name).is_some_and(|fact| fact.before.is_some())
    }

    /// A count at the start and at the end, where it was told both times.
    pub(crate) fn counts(&self, name: &str) -> Option<(u64, u64)> {
        let fact = self.fact(name)?;
        Some((number(fact.before.as_deref()?)?, number(fact.after.as_deref()?)?))
    }
}

/// The number of `8` and of `3 %`.
pub(crate) fn number(value: &str) -> Option<u64> {
    value.split(' ').next()?.parse().ok()
}

/// The drives under a run that were asked, in the order in which they were.
pub fn drives(record: &Record) -> Vec<Drive> {
    let ended = record.finished.as_ref().map_or(&[][..], |finished| &finished.drives);
    let mut drives: Vec<Drive> = Vec::new();
    let ours = |fact: &&EnvironmentFact| device(fact).is_some();
    let started = record.started.facts.environment.iter().filter(ours).map(|fact| (fact, false));
    for (fact, is_end) in started.chain(ended.iter().filter(ours).map(|fact| (fact, true))) {
        let device = device(fact).unwrap_or_default();
        let at = drives.iter().position(|drive| drive.device == device).unwrap_or_else(|| {
            drives.push(Drive { device: device.to_owned(), silent: None, facts: Vec::new() });
            drives.len() - 1
        });
        let drive = &mut drives[at];
        let is_silent = fact.name == HEALTH && fact.value.is_none();
        drive.silent = is_silent.then(|| fact.source.clone());
        if is_silent {
            continue;
        }
        let at = drive.facts.iter().position(|known| known.name == fact.name).unwrap_or_else(|| {
            drive.facts.push(DriveFact { name: fact.name.clone(), before: None, after: None });
            drive.facts.len() - 1
        });
        let side = if is_end { &mut drive.facts[at].after } else { &mut drive.facts[at].before };
        side.clone_from(&fact.value);
    }
    drives
}

/// The drive that a fact is about.
pub fn device(fact: &EnvironmentFact) -> Option<&str> {
    fact.subject.strip_prefix(SUBJECT)?.strip_prefix(' ')
}
