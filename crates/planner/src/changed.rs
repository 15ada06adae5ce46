//! Which files a whole job writes: what is someone else's and only read is left as it is.
//!
//! It looks at all stages and points at once, since a file that a later stage writes is laid out in full from the start.
//! It does not know what laying out means.

use crate::engines;
use crate::files::{self, Item};
use crate::links::Links;
use crate::points::Point;
use crate::remarks::Remarks;
use crate::scene::{self, Scene};
use fathom_model::{Engine, Job, Named, StageOptions};
use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;

/// Files looked at over all points, at most; a job beyond it is refused as too large when its points are built.
const FILES_MAX: u64 = crate::EXTENTS_OF_PLAN_MAX;

/// The places, links followed, that a stream of any point writes or trims.
pub(crate) fn places(
    scene: &Scene<'_>,
    job: &Job,
    stages: &[Named<StageOptions>],
    points: &[Point],
) -> BTreeSet<PathBuf> {
    let mut places = BTreeSet::new();
    let mut seen = HashSet::new();
    let mut files = 0_u64;
    for point in points {
        let StageOptions { streams, sweep, .. } = &stages[point.stage].options;
        // A point with a fault is told of when it is built.
        let Ok(job) = point.apply(job) else { continue };
        if !point.settings.is_empty() && fathom_model::check_sections(&job).has_errors() {
            continue;
        }
        let moves = sweep.get().dimensions.iter().any(|(path, _)| crate::changes_paths(path));
        let links = Links::of(&job);
        let running = streams.get().map(|names| names.iter().collect::<HashSet<_>>());
        for load in scene::loads(&links, &scene.facts.traces, &mut Remarks::default()) {
            let runs = running.as_ref().is_none_or(|names| names.contains(&load.section.name));
            let is_of_names = engines::of_names(&load.section.options).is_some();
            let changes = !is_of_names && (load.operations.writes || load.operations.trims);
            if !(runs && changes) || *load.section.options.engine.get() == Engine::Null {
                continue;
            }
            for place in links.targets_of(load.index) {
                let section = &job.targets[place];
                if load.trace.as_ref().is_some_and(|trace| !trace.use_of(load.section, &section.name).1) {
                    continue;
                }
                // Where no sweep moves them, a section's files are the same at every point.
                if !moves && !seen.insert(section.name.clone()) {
                    continue;
                }
                let items = files::items(&links, place);
                files += items.len() as u64;
                places.extend(items.into_iter().filter_map(|Item { path, .. }| {
                    let path = path?;
                    Some(scene.fact(&path).map_or(path, |fact| fact.resolved.clone()))
                }));
                if files > FILES_MAX {
                    return places;
                }
            }
        }
    }
    places
}
