//! Stages and their points: which combinations of swept values a job goes through, and what each is called.
//!
//! The first written dimension is outermost; a curve is innermost, its point at full speed first. It does not know what
//! the options mean.

use fathom_model::{Job, Literal, Named, StageOptions};
use fathom_units::{Nanos, Ratio};
use std::borrow::Cow;

/// One point of one stage.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Point {
    /// Index of the stage.
    pub stage: usize,
    /// Index within the stage.
    pub index: usize,
    /// Option path and value, first written first.
    pub settings: Vec<(String, Literal)>,
    /// Which part of a curve it is.
    pub load: Load,
    /// What it is called, where that is not what is set.
    pub label: Option<Label>,
}

/// What a point of a search is called.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Label {
    /// For people.
    pub name: String,
    /// For reports, in place of what is set.
    pub parameters: Vec<(String, String)>,
    /// Idle time before it.
    pub pause: Nanos,
}

/// Which part of a curve a point is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Load {
    /// None: the streams' own pacing.
    AsDeclared,
    /// The first point, at full speed.
    Maximum,
    /// This share of the maximum.
    Share(Ratio),
}

impl Point {
    /// The job with this point's values in place; they stand where the sweep of their stage does.
    pub(crate) fn apply<'a>(&self, job: &'a Job) -> Result<Cow<'a, Job>, String> {
        if self.settings.is_empty() {
            return Ok(Cow::Borrowed(job));
        }
        let mut job = job.clone();
        let stage = job.stages.get(self.stage);
        let place = stage.and_then(|stage| stage.options.sweep.span()).unwrap_or_default();
        for (path, value) in &self.settings {
            job.apply(path, value, place).map_err(|reason| format!("{path}: {reason}"))?;
        }
        Ok(Cow::Owned(job))
    }

    /// What is swept and its value here.
    pub(crate) fn parameters(&self) -> Vec<(String, String)> {
        if let Some(label) = &self.label {
            return label.parameters.clone();
        }
        let mut parameters: Vec<(String, String)> =
            self.settings.iter().map(|(path, value)| (path.clone(), plain(value))).collect();
        match self.load {
            Load::AsDeclared => {}
            Load::Maximum => parameters.push(("stage.curve".to_owned(), "max".to_owned())),
            Load::Share(share) => parameters.push(("stage.curve".to_owned(), share.to_string())),
        }
        parameters
    }

    /// `main (queue_depth=16, rate=50% of maximum)`.
    pub(crate) fn name(&self, stage: &str) -> String {
        if let Some(label) = &self.label {
            return label.name.clone();
        }
        let short = |path: &str| match Job::split_path(path) {
            Some((_, Some(name), option)) => format!("{name}.{option}"),
            Some((_, None, option)) => option.to_owned(),
            None => path.to_owned(),
        };
        let mut parts: Vec<String> =
            self.settings.iter().map(|(path, value)| format!("{}={}", short(path), plain(value))).collect();
        match self.load {
            Load::AsDeclared => {}
            Load::Maximum => parts.push("rate=max".to_owned()),
            Load::Share(share) => parts.push(format!("rate={share} of maximum")),
        }
        if parts.is_empty() { stage.to_owned() } else { format!("{stage} ({})", parts.join(", ")) }
    }
}

fn plain(value: &Literal) -> String {
    match value {
        Literal::Text(text) => text.clone(),
        other => other.print(),
    }
}

/// The stages of a job; one of all streams when it declares none.
pub(crate) fn stages(job: &Job) -> Vec<Named<StageOptions>> {
    if job.stages.is_empty() {
        vec![Named { name: "main".to_owned(), ..Named::default() }]
    } else {
        job.stages.clone()
    }
}

/// All points of all stages in the order they run; `fathom_model::check` bounds how many there are.
pub(crate) fn points(stages: &[Named<StageOptions>]) -> Vec<Point> {
    let mut all = Vec::new();
    for (stage, section) in stages.iter().enumerate() {
        let mut combinations: Vec<Vec<(String, Literal)>> = vec![Vec::new()];
        for (path, values) in &section.options.sweep.get().dimensions {
            combinations = combinations
                .iter()
                .flat_map(|outer| {
                    values.iter().map(move |value| {
                        let mut settings = outer.clone();
                        settings.push((path.clone(), value.clone()));
                        settings
                    })
                })
                .collect();
        }
        let curve = section.options.curve.get();
        let loads: Vec<Load> = if curve.is_empty() {
            vec![Load::AsDeclared]
        } else {
            std::iter::once(Load::Maximum).chain(curve.iter().map(|&share| Load::Share(share))).collect()
        };
        let with_loads = combinations
            .into_iter()
            .flat_map(|settings| loads.iter().map(move |&load| (settings.clone(), load)));
        all.extend(with_loads.enumerate().map(|(index, (settings, load))| Point {
            stage,
            index,
            settings,
            load,
            label: None,
        }));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_model::{Span, Sweep};

    #[test]
    fn sweeps_go_outermost_first_and_curves_are_innermost() {
        let mut stage = Named::<StageOptions>::new("main", Span::default());
        let values = |values: &[i64]| values.iter().copied().map(Literal::Integer).collect::<Vec<_>>();
        let dimensions = vec![
            ("stream.queue_depth".to_owned(), values(&[1, 2])),
            ("workload.w.block_size".to_owned(), vec![Literal::from("4KiB")]),
        ];
        stage.options.sweep.set(Sweep { dimensions }, Span::default());
        stage.options.curve.set(vec![Ratio::percent(50.0)], Span::default());
        let names: Vec<String> = points(&[stage]).iter().map(|point| point.name("main")).collect();
        assert_eq!(
            names,
            [
                "main (queue_depth=1, w.block_size=4KiB, rate=max)",
                "main (queue_depth=1, w.block_size=4KiB, rate=50% of maximum)",
                "main (queue_depth=2, w.block_size=4KiB, rate=max)",
                "main (queue_depth=2, w.block_size=4KiB, rate=50% of maximum)",
            ]
        );
    }
}
