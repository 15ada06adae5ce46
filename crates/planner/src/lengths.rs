//! How long fio's jobs know their files to be: as long as they found them, or as jobs before them make them. All of a run's jobs
//! see to their files in order before the first of them starts.

use crate::regions;
use fathom_model::{Amount, Engine, Job, Layout, Named, StreamOptions, TargetOptions};
use std::collections::{HashMap, HashSet};

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
    /// By file, what streams before it make of them; one for all where nobody appends.
    before: Vec<Length>,
    /// Whether it sees to the length itself before it starts.
    is_maker: bool,
    /// Whether a stream appends to its files.
    pub is_appended: bool,
}

impl Grown {
    /// Bytes of file `position`, which had `there`, when it comes to it.
    pub(crate) fn before(&self, position: u64, there: u64) -> u64 {
        let at = usize::try_from(position).unwrap_or(usize::MAX).min(self.before.len().saturating_sub(1));
        self.before.get(at).copied().unwrap_or_default().of(there)
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

/// By stream of a job of fio: what it knows of its files. Of streams on several sections nothing is said.
pub(crate) fn grown(job: &Job) -> Vec<Grown> {
    let sections: HashMap<&str, &TargetOptions> =
        job.targets.iter().map(|section| (section.name.as_str(), &section.options)).collect();
    let section_of = |stream: &Named<StreamOptions>| match stream.options.targets.get().map(Vec::as_slice) {
        Some([name]) => sections.get(name.as_str()).copied(),
        _ => None,
    };
    let appending = job.streams.iter().filter(|stream| *stream.options.append.get());
    let appended: HashSet<_> = appending.filter_map(section_of).map(place_of).collect();
    let mut lengths = HashMap::new();
    let of_stream = |stream: &Named<StreamOptions>| {
        let Some(section) = section_of(stream) else { return Grown::default() };
        let place = place_of(section);
        let is_appended = appended.contains(&place);
        let files = section.path.get().map_or(*section.files.get() as usize, Vec::len).max(1);
        let lengths = lengths
            .entry(place)
            .or_insert_with(|| vec![Length::default(); if is_appended { files } else { 1 }]);
        let before = lengths.clone();
        // Nobody sees to the length of what is only made, or takes space behind its end.
        let is_maker = *stream.options.engine.get() != Engine::Null
            && !matches!(section.layout.get(), Layout::Created | Layout::Reserved);
        if is_maker {
            make(lengths, &stream.options, section, files);
        }
        Grown { before, is_maker, is_appended }
    };
    job.streams.iter().map(of_stream).collect()
}

/// Where the files of a section are. Of one place there may be several sections, for as many lengths.
fn place_of(section: &TargetOptions) -> [Option<&[String]>; 3] {
    let TargetOptions { path, directory, file_names, .. } = section;
    [
        path.get().map(Vec::as_slice),
        directory.get().map(std::slice::from_ref),
        file_names.get().map(std::slice::from_ref),
    ]
}

/// Makes `files` files as long as a stream wants them.
fn make(lengths: &mut [Length], options: &StreamOptions, section: &TargetOptions, files: usize) {
    let size = match section.size.get() {
        Some(Amount::Bytes(size)) => size.0,
        _ => 0,
    };
    for (length, position) in lengths.iter_mut().zip(0..) {
        *length = length.reaching(size);
        *length = match regions::part(options, files as u64, 1, position) {
            Some(part) if *options.append.get() => length.with(part),
            _ if files == 1 => length.reaching(regions::reach(options, 1, 1).unwrap_or(0)),
            _ => *length,
        };
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
