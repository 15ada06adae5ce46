//! Which files are laid out before a run's first step, although only a later one opens them. Lays out nothing itself.

use fathom_engine::prepare::place;
use fathom_schema::{LayoutRule, Step, TargetKind};
use std::collections::BTreeSet;

/// The steps behind the first that have such files, with the others left as they are: a file that an earlier step opens
/// becomes what that step makes of it.
pub(crate) fn of(steps: Vec<Step>) -> Vec<Step> {
    let mut opened = BTreeSet::new();
    let mut ahead = Vec::new();
    for (number, mut step) in steps.into_iter().enumerate() {
        let mut makes = false;
        for target in &mut step.targets {
            let TargetKind::File { path, layout, .. } = &mut target.kind else { continue };
            // What has to be there is only looked at, and what is made when it is opened may be not for the step.
            let is_made = *layout > LayoutRule::Created;
            if opened.insert(place(path)) && is_made {
                makes = true;
            } else {
                *layout = LayoutRule::Untouched;
            }
        }
        // What works on names finds them as the steps before leave them.
        let has_names = step.streams.iter().any(|stream| stream.engine.kind.of_names().is_some());
        if number > 0 && makes && !has_names {
            ahead.push(step);
        }
    }
    ahead
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_schema::{ErrorPolicy, Target};
    use fathom_units::{Bytes, Nanos};

    #[test]
    fn what_only_later_steps_open_is_laid_out_ahead() {
        let file = |path: &str, layout| Target {
            name: path.to_owned(),
            kind: TargetKind::File { path: path.into(), layout, remove_after: false },
            size: Bytes(4096),
        };
        let read = |path| file(path, LayoutRule::Written);
        let write = |path| file(path, LayoutRule::AllocatedIfRoom);
        let made = |path| file(path, LayoutRule::Created);
        let step = |name: &str, targets| Step {
            name: name.to_owned(),
            stage_index: 0,
            point_index: 0,
            parameters: Vec::new(),
            pause_before: Nanos::ZERO,
            targets,
            streams: Vec::new(),
            errors: ErrorPolicy::Stop,
            interval: Nanos::secs(1),
            abort_when: Vec::new(),
            trees: Vec::new(),
        };
        let ahead = of(vec![
            step("first", vec![read("a"), write("b")]),
            // What an earlier step reads or writes is its own to lay out, by whichever path.
            step("second", vec![read("./a"), read("b")]),
            step("third", vec![read("c"), write("d"), read("b"), made("e")]),
            step("fourth", vec![read("d"), read("c")]),
        ]);
        let laid_out = |target: &&Target| match target.kind {
            TargetKind::File { layout, .. } => layout != LayoutRule::Untouched,
            _ => false,
        };
        let of_step = |step: &Step| -> (String, Vec<String>) {
            let paths = step.targets.iter().filter(laid_out).map(|target| target.name.clone());
            (step.name.clone(), paths.collect())
        };
        let ahead: Vec<(String, Vec<String>)> = ahead.iter().map(of_step).collect();
        assert_eq!(ahead, [("third".to_owned(), vec!["c".to_owned(), "d".to_owned()])]);
    }
}
