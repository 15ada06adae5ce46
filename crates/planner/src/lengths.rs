//! How long fio's jobs know their files to be: as long as they found them, or as jobs before them make them. All of a run's jobs
//! see to their files in order before the first of them starts.

use crate::files;
use crate::links::Links;
use crate::regions;
use crate::scene::Scene;
use fathom_model::{Amount, Dialect, Engine, Job, Layout, Named, StreamOptions, TargetOptions};
use std::collections::HashMap;
use std::path::PathBuf;

/// What jobs make of the length that a file has: so much longer, and at least so long.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Length {
    added: u64,
    at_least: u64,
}

impl Length {
    /// Bytes of a file that had `there`.
    pub(crate) fn of(self, there: u64) -> u64 {
        there.saturating_add(self.added).max(self.at_least)
    }

    fn reaching(self, end: u64) -> Self {
        Self { at_least: self.at_least.max(end), ..self }
    }

    fn with(self, appended: u64) -> Self {
        Self { added: self.added.saturating_add(appended), at_least: self.at_least.saturating_add(appended) }
    }
}

/// What a job of fio knows of its files beside what was there.
#[derive(Debug, Clone, Default)]
pub(crate) struct Grown {
    /// By file, what streams before it make of them; none where they make nothing of any.
    before: Vec<Length>,
    /// Whether it sees to the length itself before it starts.
    is_maker: bool,
}

impl Grown {
    /// Bytes of file `position`, which had `there`, when it comes to it.
    pub(crate) fn before(&self, position: u64, there: u64) -> u64 {
        let length = usize::try_from(position).ok().and_then(|at| self.before.get(at));
        length.copied().unwrap_or_default().of(there)
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

/// By stream of a job of fio: what it knows of its files. Of streams on several sections nothing is said, nor of other jobs'.
pub(crate) fn grown(scene: &Scene<'_>, job: &Job) -> Vec<Grown> {
    if job.dialect != Dialect::Fio {
        return Vec::new();
    }
    let links = Links::of(job);
    let mut lengths: HashMap<PathBuf, Length> = HashMap::new();
    let mut of_stream = |(index, stream): (usize, &Named<StreamOptions>)| {
        let options = &stream.options;
        let places: Vec<usize> = links.targets_of(index).take(2).collect();
        let [place] = places[..] else { return Grown::default() };
        let section = &job.targets[place].options;
        // Nobody sees to the length of what is only made, or takes space behind its end.
        let is_maker = *options.engine.get() != Engine::Null
            && !matches!(section.layout.get(), Layout::Created | Layout::Reserved);
        let paths = files::items(&links, place).into_iter().filter_map(|item| item.path);
        let paths: Vec<PathBuf> =
            paths.map(|path| scene.fact(&path).map_or(path, |fact| fact.resolved.clone())).collect();
        let mut before: Vec<Length> =
            paths.iter().map(|path| lengths.get(path).copied().unwrap_or_default()).collect();
        if before.iter().all(|length| *length == Length::default()) {
            before = Vec::new();
        }
        if is_maker {
            let count = paths.len() as u64;
            for (path, position) in paths.into_iter().zip(0..) {
                let length = lengths.entry(path).or_default();
                *length = made(*length, options, section, (position, count));
            }
        }
        Grown { before, is_maker }
    };
    job.streams.iter().enumerate().map(&mut of_stream).collect()
}

/// What a stream makes of the length of file `position` of `count`.
fn made(
    length: Length,
    options: &StreamOptions,
    section: &TargetOptions,
    (position, count): (u64, u64),
) -> Length {
    let length = match section.size.get() {
        Some(Amount::Bytes(size)) => length.reaching(size.0),
        _ => length,
    };
    match regions::part(options, count, 1, position) {
        Some(part) if *options.append.get() => length.with(part),
        _ if count == 1 => length.reaching(regions::reach(options, 1, 1).unwrap_or(0)),
        _ => length,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_made_of_a_length_is_known_before_it_is(
            there in 0_u64..1000, makes in prop::collection::vec((any::<bool>(), 0_u64..1000), 0..8),
        ) {
            let (mut length, mut known) = (there, Length::default());
            for (appends, bytes) in makes {
                (length, known) = if appends {
                    (length + bytes, known.with(bytes))
                } else {
                    (length.max(bytes), known.reaching(bytes))
                };
            }
            prop_assert_eq!(known.of(there), length);
        }
    }
}
