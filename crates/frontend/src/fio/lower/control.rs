//! Job control: who waits for whom, and what is to be found out.

use super::super::ParsedJob;
use super::super::settings::Control;
use super::Lowering;
use fathom_model::{AtEnd, AtError, Job, MemoryNodes, StreamOptions, Tolerated};

/// EIO and EILSEQ: what fio goes on after when it is told to and no errors are listed.
const NON_FATAL: [i32; 2] = [5, 84];

/// Waiting pairs of one section at most: 1,000 clones that wait for 1,000.
const WAITS_MAX: u64 = 1_000_000;

/// The sections so far, in order, with the streams that each became.
#[derive(Default)]
pub(super) struct Sections {
    all: Vec<Section>,
}

struct Section {
    name: String,
    /// Number of its stage, from 1.
    stage: usize,
    streams: Vec<String>,
}

impl Sections {
    /// A section begins in this stage.
    pub(super) fn begin(&mut self, name: &str, stage: usize) {
        self.all.push(Section { name: name.to_owned(), stage, streams: Vec::new() });
    }

    /// A stream of the section that began last.
    pub(super) fn add(&mut self, stream: &str) {
        self.all.last_mut().expect("a section began").streams.push(stream.to_owned());
    }
}

impl Lowering<'_> {
    /// What ends with a job, and what errors end.
    pub(super) fn set_ends(&self, options: &mut StreamOptions, parsed: &ParsedJob) {
        let Control { continues, ignored, exit_all_on_error, exit_what, .. } = &parsed.settings.control;
        let place = |name| parsed.settings.span(name, parsed.span);
        if self.exit_all {
            let reach = match exit_what.as_str() {
                "stonewall" => AtEnd::Running,
                "all" => AtEnd::Run,
                _ => AtEnd::Group,
            };
            options.at_end.set(reach, place("exitall"));
        }
        let reach = match exit_what.as_str() {
            _ if !exit_all_on_error => AtError::Worker,
            "stonewall" => AtError::Running,
            "all" => AtError::Run,
            _ => AtError::Group,
        };
        options.at_error.set(reach, place("exitall_on_error"));
        let listed = |kind: usize| match (continues[kind], ignored[kind].as_slice()) {
            (false, _) => Vec::new(),
            (true, []) => NON_FATAL.to_vec(),
            (true, given) => given.to_vec(),
        };
        let tolerated = Tolerated { reads: listed(0), writes: listed(1) };
        if tolerated != Tolerated::default() {
            options.tolerate.set(tolerated, place("continue_on_error"));
        }
    }

    /// NUMA nodes of CPUs and memory.
    pub(super) fn set_nodes(options: &mut StreamOptions, parsed: &ParsedJob) {
        let Control { cpu_nodes, memory_nodes, .. } = &parsed.settings.control;
        let place = |name| parsed.settings.span(name, parsed.span);
        if !cpu_nodes.is_empty() {
            options.cpu_nodes.set(cpu_nodes.clone(), place("numa_cpu_nodes"));
        }
        if *memory_nodes != MemoryNodes::Usual {
            options.memory_nodes.set(memory_nodes.clone(), place("numa_mem_policy"));
        }
    }

    /// Commands before and after, of which all clones print to the same files.
    pub(super) fn set_commands(options: &mut StreamOptions, parsed: &ParsedJob) {
        let place = |name| parsed.settings.span(name, parsed.span);
        let [before, after] = &parsed.settings.control.commands;
        if let Some(line) = before {
            options.command_before.set(line.clone(), place("exec_prerun"));
        }
        if let Some(line) = after {
            options.command_after.set(line.clone(), place("exec_postrun"));
        }
        if before.is_some() || after.is_some() {
            options.command_output.set(parsed.name.clone(), parsed.span);
        }
    }

    /// `wait_for`: the one job before of that name, with all its clones.
    pub(super) fn set_wait(&mut self, options: &mut StreamOptions, parsed: &ParsedJob, clones: u32) {
        let Some(awaited) = &parsed.settings.control.wait_for else { return };
        let place = parsed.settings.span("wait_for", parsed.span);
        let shown = super::super::grammar::shortened(awaited);
        let mut named = self.sections.all.iter().filter(|section| section.name == *awaited);
        let (message, help) = match (named.next(), named.next()) {
            _ if *awaited == parsed.name => {
                (format!("the job \"{shown}\" would wait for itself"), "name a job that stands before it")
            }
            (None, _) => {
                (format!("there is no job \"{shown}\" before this one"), "name a job that stands before it")
            }
            (Some(_), Some(_)) => {
                (format!("there are several jobs \"{shown}\""), "give them different names")
            }
            (Some(section), None) if section.stage < self.stages.len() => {
                // All of its stage have ended.
                return;
            }
            (Some(section), None) if section.streams.len() as u64 * u64::from(clones) > WAITS_MAX => (
                format!("{clones} clones that wait for {} are too many", section.streams.len()),
                "use stonewall, or fewer clones",
            ),
            (Some(section), None) => {
                options.wait_for.set(section.streams.clone(), place);
                return;
            }
        };
        self.faults.error("fio.wait-for", place, message, help);
    }
}

/// The descriptions of all jobs as the run's; where there are several, each with its job's name.
pub(super) fn describe(job: &mut Job, jobs: &[ParsedJob]) {
    let mut described: Vec<(&ParsedJob, &str)> = jobs
        .iter()
        .filter_map(|parsed| Some((parsed, parsed.settings.control.description.as_deref()?)))
        .collect();
    // One text in [global] is every job's.
    described.dedup_by_key(|(_, text)| *text);
    let Some(&(first, only)) = described.first() else { return };
    let text = if described.len() == 1 {
        only.to_owned()
    } else {
        let each: Vec<String> =
            described.iter().map(|(parsed, text)| format!("{}: {text}", parsed.name)).collect();
        each.join("; ")
    };
    job.run.description.set(text, first.settings.span("description", first.span));
}
