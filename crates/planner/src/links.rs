//! Which stream aims at which targets and runs which workload: the names of a job, looked up once. A job may have ten thousand
//! streams with a target each, so nothing here or above it goes through all sections for each of them.
//!
//! It knows names alone, and not what stands behind them.

use fathom_model::{Job, Named, StreamOptions, WorkloadOptions};
use std::collections::HashMap;

/// The names of one job.
pub(crate) struct Links<'a> {
    job: &'a Job,
    workloads: HashMap<&'a str, usize>,
    /// By stream: places of the targets that it names, in the order of the job; `None` where it aims at all.
    targets: Vec<Option<Vec<usize>>>,
    /// By target: places of the streams that name it, in order.
    streams: Vec<Vec<usize>>,
    /// Streams that aim at all targets, in order.
    at_all: Vec<usize>,
}

impl<'a> Links<'a> {
    /// Looks all names up.
    pub(crate) fn of(job: &'a Job) -> Self {
        let by_name: HashMap<&str, usize> =
            job.targets.iter().enumerate().map(|(place, target)| (target.name.as_str(), place)).collect();
        let mut streams = vec![Vec::new(); job.targets.len()];
        let mut at_all = Vec::new();
        let mut targets = Vec::with_capacity(job.streams.len());
        for (place, stream) in job.streams.iter().enumerate() {
            let Some(names) = stream.options.targets.get() else {
                at_all.push(place);
                targets.push(None);
                continue;
            };
            // A name that leads nowhere is a fault that was told before.
            let mut named: Vec<usize> =
                names.iter().filter_map(|name| by_name.get(name.as_str()).copied()).collect();
            named.sort_unstable();
            named.dedup();
            for &target in &named {
                streams[target].push(place);
            }
            targets.push(Some(named));
        }
        // The first of a name counts; that there are two is a fault that was told before.
        let workloads = job.workloads.iter().enumerate().rev();
        let workloads = workloads.map(|(place, workload)| (workload.name.as_str(), place)).collect();
        Self { job, workloads, targets, streams, at_all }
    }

    /// Places of the targets that a stream aims at, in the order of the job.
    pub(crate) fn targets_of(&self, stream: usize) -> impl Iterator<Item = usize> + '_ {
        let named = self.targets[stream].as_ref();
        let all = if named.is_none() { self.streams.len() } else { 0 };
        named.into_iter().flatten().copied().chain(0..all)
    }

    /// Places of the streams that aim at a target, in the order of the job.
    pub(crate) fn streams_on(&self, target: usize) -> Vec<usize> {
        let mut all = [self.streams[target].as_slice(), &self.at_all].concat();
        all.sort_unstable();
        all
    }

    /// Whether any stream aims at a target.
    pub(crate) fn is_used(&self, target: usize) -> bool {
        !self.at_all.is_empty() || !self.streams[target].is_empty()
    }

    /// The workload that a stream names, else the one of its own name, else the first.
    pub(crate) fn workload_of(&self, stream: &Named<StreamOptions>) -> Option<&'a Named<WorkloadOptions>> {
        let named = |name: &str| self.workloads.get(name).map(|&place| &self.job.workloads[place]);
        match stream.options.workload.get() {
            Some(name) => named(name),
            None => named(&stream.name).or_else(|| self.job.workloads.first()),
        }
    }

    /// The job.
    pub(crate) fn job(&self) -> &'a Job {
        self.job
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_model::{Span, TargetOptions};

    #[test]
    fn names_lead_where_they_say() {
        let span = Span::default();
        let mut job = Job::default();
        job.targets.extend(["a", "b", "c"].map(|name| Named::<TargetOptions>::new(name, span)));
        job.workloads.extend(["w", "s2"].map(|name| Named::<WorkloadOptions>::new(name, span)));
        for (name, targets, workload) in [
            ("s0", Some(&["c", "a", "c"][..]), None),
            ("s1", None, Some("s2")),
            ("s2", Some(&["b"][..]), None),
            ("s3", Some(&["nowhere"][..]), Some("none")),
        ] {
            let mut stream = Named::<StreamOptions>::new(name, span);
            if let Some(targets) = targets {
                stream.options.targets.set(targets.iter().map(ToString::to_string).collect(), span);
            }
            if let Some(workload) = workload {
                stream.options.workload.set(workload.to_owned(), span);
            }
            job.streams.push(stream);
        }
        let links = Links::of(&job);
        let targets: Vec<Vec<usize>> = (0..4).map(|stream| links.targets_of(stream).collect()).collect();
        assert_eq!(targets, [vec![0, 2], vec![0, 1, 2], vec![1], vec![]]);
        let streams: Vec<Vec<usize>> = (0..3).map(|target| links.streams_on(target)).collect();
        assert_eq!(streams, [vec![0, 1], vec![1, 2], vec![0, 1]]);
        let workloads: Vec<Option<&str>> = job
            .streams
            .iter()
            .map(|stream| links.workload_of(stream).map(|workload| workload.name.as_str()))
            .collect();
        assert_eq!(workloads, [Some("w"), Some("s2"), Some("s2"), None]);
    }
}
