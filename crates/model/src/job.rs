//! The job: named sections of options, and where everything came from.

use crate::diagnostic::{Diagnostics, Sources, Span};
use crate::options::{RunOptions, StageOptions, StreamOptions, TargetOptions, WorkloadOptions};

/// All that the user declares; may be incomplete.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Job {
    /// Which dialect it was written in: decides which of its promises the safety rules must keep.
    pub dialect: Dialect,
    /// Texts it was read from.
    pub sources: Sources,
    /// The run as a whole.
    pub run: RunOptions,
    /// What is measured.
    pub targets: Vec<Named<TargetOptions>>,
    /// Which operations.
    pub workloads: Vec<Named<WorkloadOptions>>,
    /// Workloads aimed at targets.
    pub streams: Vec<Named<StreamOptions>>,
    /// What runs together; empty: one stage of all streams.
    pub stages: Vec<Named<StageOptions>>,
    /// Numbers that the streams had before others were taken out of the job, which their seeds come from; empty: they are all
    /// there.
    pub stream_numbers: Vec<usize>,
    /// Options as written, per section (name, options in order): for peers' outputs that echo them.
    pub echo: Vec<(String, Vec<(String, String)>)>,
}

impl Job {
    /// Takes out streams; those that stay keep their numbers, and with them their seeds.
    pub fn keep_streams(&mut self, stays: impl Fn(&Named<StreamOptions>) -> bool) {
        let numbers = std::mem::take(&mut self.stream_numbers);
        let number = |place: usize| numbers.get(place).copied().unwrap_or(place);
        let stayed = self.streams.iter().enumerate().filter(|(_, stream)| stays(stream));
        self.stream_numbers = stayed.map(|(place, _)| number(place)).collect();
        self.streams.retain(|stream| stays(stream));
    }

    /// The number of the stream at a place.
    pub fn number_of(&self, place: usize) -> usize {
        self.stream_numbers.get(place).copied().unwrap_or(place)
    }

    /// Reads the options given in a sweep path such as `stream.queue_depth` or `stream.oltp.queue_depth`: section kind,
    /// name of the section when one is named, option name.
    pub fn split_path(path: &str) -> Option<(&str, Option<&str>, &str)> {
        let (group, rest) = path.split_once('.')?;
        match rest.rsplit_once('.') {
            Some((name, option)) => Some((group, Some(name), option)),
            None => Some((group, None, rest)),
        }
    }
}

/// A section with its name and place.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Named<T> {
    /// Name.
    pub name: String,
    /// Where it begins.
    pub span: Span,
    /// Its options.
    pub options: T,
}

impl<T> Named<T> {
    /// A section with nothing set.
    pub fn new(name: impl Into<String>, span: Span) -> Self
    where
        T: Default,
    {
        Self { name: name.into(), span, options: T::default() }
    }
}

/// Which dialect a job was written in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// fathom's own.
    #[default]
    Native,
    /// fio job file or command line.
    Fio,
    /// Vdbench parameter file.
    Vdbench,
    /// Iometer configuration.
    Iometer,
}

/// What a front end returns: a job, however incomplete, and all that is wrong with it.
pub type Reading = (Job, Diagnostics);
