//! Streams of a step that cannot begin where nothing else has to end with them: a file that cannot be made, memory that is not
//! there, a priority that is not granted. Each ends with its error as if it had met it running. What ends with an error of a
//! stream is the job's to say (`Control::at_error`); where that is the whole run, nothing is begun.

use crate::prepare::PrepareError;
use fathom_schema::{Reach, Step, Stream};
use rustix::io::Errno;
use std::fmt;

/// Why a worker cannot begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// What the system said.
    pub(crate) errno: Errno,
    /// In words, with the remedy where one is known.
    pub(crate) reason: String,
}

impl Refusal {
    /// What was refused by the system with this number; where nobody gave one, it is an error of input and output.
    pub(crate) fn new(errno: Option<i32>, reason: &impl fmt::Display) -> Self {
        let errno = errno.filter(|errno| *errno > 0).map_or(Errno::IO, Errno::from_raw_os_error);
        Self { errno, reason: reason.to_string() }
    }
}

/// Whether a stream may fail to begin and others run all the same.
pub(crate) fn fails_by_itself(stream: &Stream) -> bool {
    stream.control.at_error != Reach::Run
}

/// The streams of a step that cannot begin, by place.
#[derive(Debug, Default)]
pub(crate) struct Unable(Vec<Option<Refusal>>);

impl Unable {
    /// Why this one cannot.
    pub(crate) fn of(&self, stream: usize) -> Option<&Refusal> {
        self.0.get(stream)?.as_ref()
    }

    /// Whether all that work on a target are among them. One that nobody works on is made all the same.
    pub(crate) fn all_users(&self, step: &Step, target: usize) -> bool {
        // Asked for each target: thousands of streams are not looked through where all can begin.
        if self.0.is_empty() {
            return false;
        }
        let mut users = users(step, target).map(|user| self.of(user).is_some()).peekable();
        users.peek().is_some() && users.all(|is_unable| is_unable)
    }

    /// A target cannot be made ready: takes its streams in, or gives the error back where it is more than theirs.
    pub(crate) fn take(
        &mut self,
        step: &Step,
        target: usize,
        error: PrepareError,
    ) -> Result<(), PrepareError> {
        let users: Vec<usize> = users(step, target).collect();
        let Some(errno) = error.raw_os_error() else { return Err(error) };
        if users.is_empty() || !users.iter().all(|&user| fails_by_itself(&step.streams[user])) {
            return Err(error);
        }
        self.0.resize(step.streams.len(), None);
        for user in users {
            self.0[user].get_or_insert_with(|| Refusal::new(Some(errno), &error));
        }
        Ok(())
    }
}

/// Places of the streams that work on a target.
fn users(step: &Step, target: usize) -> impl Iterator<Item = usize> {
    let works_on = move |stream: &Stream| {
        stream.workers.iter().flat_map(|plan| &plan.extents).any(|extent| extent.target as usize == target)
    };
    (0..step.streams.len()).filter(move |&place| works_on(&step.streams[place]))
}
