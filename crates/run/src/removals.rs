//! When files go that are to be removed: as soon as no further step of a run opens them, by whichever path and section. Removes
//! nothing itself.

use fathom_engine::prepare::place;
use fathom_schema::{Target, TargetKind};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Files that go before the run ends.
#[derive(Debug, Default)]
pub(crate) struct Removals {
    /// By the index of the step that is the last to open them.
    behind: BTreeMap<usize, Vec<Target>>,
}

impl Removals {
    /// Of the targets of all steps of a run, in their order.
    pub(crate) fn of<'a>(steps: impl IntoIterator<Item = &'a [Target]>) -> Self {
        let mut files: BTreeMap<PathBuf, (usize, &Target)> = BTreeMap::new();
        let of_steps = steps.into_iter().enumerate();
        for (index, target) in of_steps.flat_map(|(index, step)| step.iter().map(move |one| (index, one))) {
            if let TargetKind::File { path, .. } = &target.kind {
                files.insert(place(path), (index, target));
            }
        }
        let mut behind: BTreeMap<usize, Vec<Target>> = BTreeMap::new();
        for (last, target) in files.into_values() {
            // The last says whether it goes, as at the end of a run.
            if matches!(target.kind, TargetKind::File { remove_after: true, .. }) {
                behind.entry(last).or_default().push(target.clone());
            }
        }
        Self { behind }
    }

    /// Those that no step opens from the one with this index on; each is told once.
    pub(crate) fn due(&mut self, next: usize) -> Vec<Target> {
        let later = self.behind.split_off(&next);
        std::mem::replace(&mut self.behind, later).into_values().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_schema::LayoutRule;
    use fathom_units::Bytes;

    #[test]
    fn a_file_goes_behind_the_last_step_that_opens_it() {
        let of = |name: &str, remove_after| Target {
            name: name.to_owned(),
            kind: TargetKind::File { path: name.into(), layout: LayoutRule::Untouched, remove_after },
            size: Bytes(4096),
        };
        // By another path, or with another section, it is the same file; what the last says counts.
        let steps = [
            vec![of("a", true), of("b", true), of("c", false), of("d", true)],
            vec![of("./b", true)],
            vec![of("c", true), of("d", false)],
        ];
        let mut removals = Removals::of(steps.iter().map(Vec::as_slice));
        let mut due =
            |next| -> Vec<String> { removals.due(next).into_iter().map(|target| target.name).collect() };
        assert_eq!(due(0), [] as [&str; 0]);
        assert_eq!(due(1), ["a"]);
        assert_eq!(due(1), [] as [&str; 0]);
        assert_eq!(due(2), ["./b"]);
        assert_eq!(due(3), ["c"]);
    }
}
