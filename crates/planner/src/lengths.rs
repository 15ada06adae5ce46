//! How long fio's jobs know their files to be: as long as they found them, or as jobs before them make them. All of a run's jobs
//! see to their files in order before the first of them starts.

use crate::files::{self, Item};
use crate::links::Links;
use crate::regions;
use crate::remarks::Remarks;
use crate::scene::{self, Load, Scene};
use fathom_model::{Amount, Dialect, Engine, Job, Layout, StreamOptions, TargetOptions};
use fathom_schema::{FileKind, TargetFact};
use fathom_units::Bytes;
use std::collections::HashMap;
use std::path::PathBuf;

/// What a job of fio knows of its files.
#[derive(Debug, Clone, Default)]
pub(crate) struct Grown {
    /// Bytes of each when it comes to them; none where that is what was there.
    before: Vec<u64>,
    /// Whether it sees to the length itself before it starts.
    is_maker: bool,
}

impl Grown {
    /// Bytes of file `position`, which had `there` before the run, when it comes to it.
    pub(crate) fn before(&self, position: u64, there: u64) -> u64 {
        usize::try_from(position)
            .ok()
            .and_then(|at| self.before.get(at))
            .map_or(there, |&before| before.max(there))
    }

    /// The same of its only file for worker `number`: of clones the first comes first, the others from the last on.
    pub(crate) fn of_worker(&self, options: &StreamOptions, number: u32, there: u64) -> u64 {
        let before = self.before(0, there);
        let last = options.first_worker.get().saturating_add(options.workers.get().saturating_sub(1));
        match options.size.get() {
            Some(&Amount::Bytes(size)) if self.is_maker && (1..last).contains(&number) => {
                before.max(regions::start_in(options, 1, u64::from(last), 0).saturating_add(size.0))
            }
            _ => before,
        }
    }
}

/// Whether one of these files has something in it, or has got it from the jobs before one of these streams when that comes to them.
pub(crate) fn have_data(scene: &Scene<'_>, items: &[Item], running: &[&Load<'_>]) -> bool {
    let is_there = |item: &Item| {
        let fact = item.path.as_ref().and_then(|path| scene.fact(path));
        fact.and_then(|fact| fact.file.as_ref()).is_some_and(|file| file.size > Bytes::ZERO)
    };
    let is_made = |load: &&Load<'_>| {
        scene.grown.get(load.index).is_some_and(|grown| grown.before.iter().any(|&bytes| bytes > 0))
    };
    items.iter().any(is_there) || running.iter().any(is_made)
}

/// By stream of a job of fio: what it knows of its files. Of streams on several sections nothing is said, nor of other jobs'.
pub(crate) fn grown(scene: &Scene<'_>, job: &Job) -> Vec<Grown> {
    if job.dialect != Dialect::Fio {
        return Vec::new();
    }
    let links = Links::of(job);
    let mut all = vec![Grown::default(); job.streams.len()];
    // Of those that jobs make longer.
    let mut lengths: HashMap<PathBuf, u64> = HashMap::new();
    for load in scene::loads(&links, &scene.facts.traces, &mut Remarks::default()) {
        let options = &load.section.options;
        let places: Vec<usize> = links.targets_of(load.index).take(2).collect();
        let [place] = places[..] else { continue };
        let section = &job.targets[place].options;
        // Nobody sees to the length of what is only made, or takes space behind its end.
        let is_maker = *options.engine.get() != Engine::Null
            && !matches!(section.layout.get(), Layout::Created | Layout::Reserved);
        let facts = files::items(&links, place).into_iter().filter_map(|item| scene.fact(&item.path?));
        let facts: Vec<&TargetFact> = facts.collect();
        let known = |lengths: &HashMap<PathBuf, u64>, fact: &TargetFact| {
            let there = || fact.file.as_ref().map_or(0, |file| file.size.0);
            lengths.get(&fact.resolved).copied().unwrap_or_else(there)
        };
        let mut before = Vec::new();
        if facts.iter().any(|fact| lengths.contains_key(&fact.resolved)) {
            before = facts.iter().map(|fact| known(&lengths, fact)).collect();
        }
        for (fact, position) in
            facts.iter().zip(0..).filter(|(fact, _)| is_maker && fact.kind != FileKind::BlockDevice)
        {
            let known = known(&lengths, fact);
            let made = made(known, &load, section, (position, facts.len()));
            if made > known {
                lengths.insert(fact.resolved.clone(), made);
            }
        }
        all[load.index] = Grown { before, is_maker };
    }
    all
}

/// Bytes of file `position` of `count`, which had `known`, when a stream has seen to its length.
fn made(known: u64, load: &Load<'_>, section: &TargetOptions, (position, count): (u64, usize)) -> u64 {
    let (options, block) = (&load.section.options, load.operations.smallest);
    let asked = match section.size.get() {
        Some(Amount::Bytes(size)) => size.0,
        _ => 0,
    };
    let reach = match regions::part(options, count as u64, 1, position) {
        Some(part) if *options.append.get() => Some(known.saturating_add(part)),
        _ if known > 0 => regions::reach_from_share(options, count, block, known),
        _ => None,
    };
    let reach = reach.or_else(|| regions::reach(options, 1, 1).filter(|_| count == 1));
    known.max(asked).max(reach.unwrap_or(0))
}
