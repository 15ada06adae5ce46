//! Target sections to targets of a step: what is at each path, how large it is, what will be done to it.
//!
//! It looks at facts only and judges nothing that `safety` judges: consent, permissions, space.

mod folders;

use crate::engines;
use crate::files::{self, Item, TARGETS_MAX};
use crate::lengths;
use crate::links::Links;
use crate::peers;
use crate::regions;
use crate::remarks::Remarks;
use crate::safety::{self, Intent};
use crate::scene::{Load, Scene};
use crate::seeds;
use fathom_model::{
    Amount, Dialect, Engine, Job, Layout, Named, OddPlace, ServiceTime, TargetKind, TargetOptions,
};
use fathom_schema::{
    self as schema, FileKind, LayoutRule, NameOperation, NoteKind, Severity, SimDevice, SimPlace, SimService,
    Target, TargetFact, Tree,
};
use fathom_units::{Bytes, Nanos};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

/// Addressable bytes of a null target without a size: large enough that no offset repeats by accident, small enough that
/// products with it stay within 64 bits.
pub(crate) const NULL_SIZE: Bytes = Bytes(1 << 40);

/// How much more than what is free a file is given that is written until nothing is: others may free some meanwhile.
const BEYOND_FULL: u64 = 1 << 30;

/// A target as one section addresses it.
#[derive(Debug, Clone)]
pub(crate) struct Addressed {
    /// Index into the step's targets.
    pub index: u32,
    pub name: String,
    /// Bytes that this section lets streams use.
    pub size: u64,
    /// Bytes that there are, from offset 0: more than `size` where a larger file or device is used in part.
    pub end: u64,
    /// Bytes that a file had when it was looked at.
    pub there: u64,
    /// Whether its section says how long it is.
    pub is_sized: bool,
    /// The number of the only worker that uses it.
    pub owner: Option<u32>,
    pub direct: Direct,
    pub class: Class,
}

/// What direct I/O needs at a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Direct {
    /// Offsets and lengths in multiples of this.
    Aligned(u64),
    /// It is refused; by what.
    Refused(String),
    /// Nothing is opened.
    Substitute,
}

/// What a target turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    File,
    Block,
    /// A device without an end.
    Memory,
    /// A folder whose name is worked on.
    Folder,
    Null,
    Sim,
    /// The other end of a connection.
    Peer,
}

/// All targets of a step.
#[derive(Default)]
pub(crate) struct Targets {
    pub of_step: Vec<Target>,
    /// By section name.
    pub sections: BTreeMap<String, Vec<Addressed>>,
    pub intents: Vec<Intent>,
    /// Trees that are removed after the run.
    pub trees: Vec<Tree>,
}

/// Where a target of the step stands, and whether anything changes it.
struct Placed {
    index: u32,
    changes: bool,
}

/// What the streams of a stage do to a section's targets.
#[derive(Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, not states")]
struct Usage {
    reads: bool,
    writes: bool,
    trims: bool,
    /// False when every stream on it has the null engine, which opens nothing.
    opened: bool,
    /// A stream on it has the mmap engine.
    mapped: bool,
    /// A stream uses it as a file.
    as_file: bool,
    /// A stream uses it as a folder, of which there is only the name.
    as_folder: bool,
    /// A stream needs it to be there.
    needed: bool,
    /// A stream moves bytes in it; else streams do no more than work on its name.
    used_inside: bool,
    /// A stream removes its name.
    deleted: bool,
}

/// Resolves the sections that the streams at `running` use. Sections with faults are left out and remarked.
pub(crate) fn resolve(
    scene: &Scene<'_>,
    links: &Links<'_>,
    loads: &[Load<'_>],
    running: &[usize],
    remarks: &mut Remarks,
) -> Targets {
    let mut found = Targets::default();
    let mut by_place = HashMap::new();
    let job = links.job();
    let mut load_of: Vec<Option<&Load<'_>>> = vec![None; job.streams.len()];
    loads.iter().for_each(|load| load_of[load.index] = Some(load));
    let mut runs = vec![false; job.streams.len()];
    running.iter().for_each(|&stream| runs[stream] = true);
    for (place, section) in job.targets.iter().enumerate() {
        let users: Vec<&Load<'_>> =
            links.streams_on(place).into_iter().filter_map(|stream| load_of[stream]).collect();
        let mut usage = None;
        for load in users.iter().filter(|load| runs[load.index]) {
            let usage = usage.get_or_insert_with(Usage::default);
            let (reads, changes) = match &load.trace {
                Some(trace) => trace.use_of(load.section, &section.name),
                None => (true, true),
            };
            let names = engines::of_names(&load.section.options);
            if names.is_none() {
                usage.reads |= reads && load.operations.reads;
                usage.writes |= changes && load.operations.writes;
                usage.trims |= changes && load.operations.trims;
                usage.used_inside = true;
            }
            usage.as_file |= !names.is_some_and(NameOperation::is_of_folders);
            usage.as_folder |= names.is_some_and(NameOperation::is_of_folders);
            usage.needed |= !names.is_some_and(NameOperation::creates);
            usage.deleted |= names.is_some_and(NameOperation::removes);
            usage.mapped |= *load.section.options.engine.get() == Engine::Mmap;
            usage.opened |= *load.section.options.engine.get() != Engine::Null;
        }
        let Some(usage) = usage else { continue };
        let items = files::items(links, place);
        let count = files::count(links, place);
        if count.saturating_add(found.of_step.len() as u64) > TARGETS_MAX as u64 {
            let message = format!(
                "the targets of one step are more than {TARGETS_MAX}: {count} are those of \"{}\"",
                section.name
            );
            let help = "use fewer files, larger ones, or several stages";
            let options = &section.options;
            let span = options.files.span().or(options.tree_width.span()).or(Some(section.span));
            remarks.error("plan.too-many-targets", span, message, help);
            continue;
        }
        let running: Vec<&Load<'_>> = users.iter().filter(|load| runs[load.index]).copied().collect();
        let set_has_data = lengths::have_data(scene, &items, &running);
        let set_size = set_size(&items);
        let resolver = Resolver { scene, job, section, users: &users, usage, set_size, set_has_data };
        if let Some(root) = files::root(section) {
            if !resolver.tree_is_possible(&root, remarks) {
                continue;
            }
            if *section.options.remove.get() {
                found.trees.push(Tree { root });
            }
        }
        peers::check(section, &running, usage.reads, remarks);
        let addressed: Vec<Addressed> =
            items.iter().filter_map(|item| resolver.item(item, &mut found, &mut by_place, remarks)).collect();
        found.sections.insert(section.name.clone(), addressed);
    }
    found
}

/// Files that one worker of a stream addresses.
fn set_size(items: &[Item]) -> usize {
    let first = items.first().and_then(|item| item.owner);
    items.iter().filter(|item| item.owner == first).count()
}

struct Resolver<'a> {
    scene: &'a Scene<'a>,
    job: &'a Job,
    section: &'a Named<TargetOptions>,
    /// The streams on this section.
    users: &'a [&'a Load<'a>],
    usage: Usage,
    set_size: usize,
    /// A file of the set has something in it already, or will have when these streams come to it.
    set_has_data: bool,
}

impl Resolver<'_> {
    fn item(
        &self,
        item: &Item,
        found: &mut Targets,
        by_place: &mut HashMap<PathBuf, Placed>,
        remarks: &mut Remarks,
    ) -> Option<Addressed> {
        let Some(path) = &item.path else { return Some(self.substitute(item, found)) };
        if !self.usage.opened {
            let size = self.size(item, None, remarks)?;
            return Some(add(found, item, schema::TargetKind::Null, size, Direct::Substitute, Class::Null));
        }
        let fact = self.fact(path, remarks)?;
        let class = self.class(item, fact, remarks)?;
        let size = self.size(item, Some(fact), remarks)?;
        let options = &self.section.options;
        let layout = match options.layout.get() {
            _ if !self.usage.needed => LayoutRule::Untouched,
            _ if self.is_checked_only(fact) => LayoutRule::MustExist,
            // Who only works on its name changes nothing in what is there: no hole is filled, and an empty file stays so.
            _ if !self.usage.used_inside && options.size.get().is_none() && fact.kind == FileKind::File => {
                LayoutRule::Created
            }
            Layout::Written => self.written(fact),
            // A mapping never makes a file longer.
            Layout::Created | Layout::Reserved if self.usage.mapped => LayoutRule::Allocated,
            Layout::Allocated => LayoutRule::Allocated,
            Layout::AllocatedIfRoom => LayoutRule::AllocatedIfRoom,
            Layout::Reserved => LayoutRule::Reserved,
            Layout::Extended => LayoutRule::Extended,
            Layout::Created => LayoutRule::Created,
            Layout::MustExist => LayoutRule::MustExist,
        };
        let kind = match class {
            Class::Block => schema::TargetKind::BlockDevice { path: path.clone() },
            Class::Memory => schema::TargetKind::MemoryDevice { path: path.clone() },
            Class::Folder => schema::TargetKind::Folder {
                path: path.clone(),
                made: self.usage.needed,
                remove_after: *options.remove.get(),
            },
            _ => schema::TargetKind::File { path: path.clone(), layout, remove_after: *options.remove.get() },
        };
        if class == Class::File && !self.layout_is_possible(item, fact, layout, size, remarks) {
            return None;
        }
        if fact.file.as_ref().is_some_and(|file| file.unfinished) {
            let message = format!(
                "{} was left half laid out by a run that was killed; what is there is kept and the rest is laid out",
                item.name
            );
            remarks.note(NoteKind::Target, Severity::Info, message);
        }
        let memory = fact.filesystem.as_ref().filter(|filesystem| filesystem.is_in_memory());
        if let Some(filesystem) = memory.filter(|_| class == Class::File) {
            let message = format!(
                "{} is on {}, whose files are in memory: no device is measured, with direct or without",
                item.name, filesystem.kind
            );
            remarks.note(NoteKind::Target, Severity::Warn, message);
        }
        let intent = self.intent(path.clone(), class, fact, layout, size);
        let changes = intent.changes();
        found.intents.push(intent);
        let direct = direct(class, fact);
        // The same place under two names is one target, opened and prepared once.
        if let Some(Placed { index, changes: changed }) = by_place.get_mut(&fact.resolved) {
            let (index, target) = (*index, &mut found.of_step[*index as usize]);
            *changed |= changes;
            if target.name != item.name {
                self.has_two_names(target, &item.name, *changed, remarks);
            }
            unite(target, kind, size);
            return Some(Addressed {
                index,
                name: item.name.clone(),
                size: size.0,
                end: end_of(fact, size),
                there: there(fact),
                is_sized: options.size.get().is_some(),
                owner: item.owner,
                direct,
                class,
            });
        }
        let mut addressed = add(found, item, kind, size, direct, class);
        (addressed.end, addressed.there) = (end_of(fact, size), there(fact));
        addressed.is_sized = options.size.get().is_some();
        by_place.insert(fact.resolved.clone(), Placed { index: addressed.index, changes });
        Some(addressed)
    }

    /// Who names two files means two: loads that meet in one are worth a word, and a warning where one of them writes.
    fn has_two_names(&self, target: &Target, other: &str, changes: bool, remarks: &mut Remarks) {
        let message = format!(
            "{} and {other} are one and the same, a link of each other or mounted twice",
            target.name
        );
        if changes {
            let options = &self.section.options;
            let place = options.path.span().or(options.directory.span());
            let help =
                "what is written under one name changes the other: name two targets, or one name twice";
            remarks.warn("plan.two-names", place, message, help);
        } else {
            remarks.note(NoteKind::Target, Severity::Info, message);
        }
    }

    /// How what is read is laid out. What somebody else's file lacks is appended; a trace was not of such a file.
    fn written(&self, fact: &TargetFact) -> LayoutRule {
        let size = fact.file.as_ref().filter(|file| !file.made_by_fathom).map(|file| file.size.0);
        let of_traces = self.users.iter().all(|load| load.trace.is_some());
        match size.filter(|_| !self.scene.changed.contains(&fact.resolved)) {
            None => LayoutRule::Written,
            Some(1..) if of_traces => LayoutRule::MustExist,
            Some(_) => LayoutRule::Appended,
        }
    }

    /// What is known about a path; for a file of a tree whose directory is not there yet, what is known about the root.
    fn fact(&self, path: &Path, remarks: &mut Remarks) -> Option<&TargetFact> {
        let span = self.section.options.path.span().or(self.section.options.directory.span());
        let Some(fact) = self.scene.fact(path) else {
            let message = format!("nothing is known about {}", path.display());
            remarks.error(
                "plan.unprobed",
                span,
                message,
                "this is a fault of fathom: every target has to be probed first",
            );
            return None;
        };
        if let Some(error) = &fact.error {
            let message = format!("{} cannot be used: {error}", path.display());
            let help = "check the path and the permissions, or run as a user that may use it";
            remarks.error("target.unusable", span, message, help);
            return None;
        }
        Some(fact)
    }

    fn class(&self, item: &Item, fact: &TargetFact, remarks: &mut Remarks) -> Option<Class> {
        let options = &self.section.options;
        let span = options.kind.span().or(options.path.span()).or(options.directory.span());
        let name = &item.name;
        let asked = *options.kind.get();
        if self.usage.as_folder {
            return self.folder(item, fact, remarks);
        }
        let (code, message, help) = match (asked, fact.kind) {
            (_, FileKind::Absent | FileKind::NoFolder) if safety::is_among_devices(fact) => (
                "target.absent",
                format!("there is no device {name}, and files are not made among devices"),
                "check its name with lsblk".to_owned(),
            ),
            (TargetKind::Auto | TargetKind::File | TargetKind::Tree, FileKind::File | FileKind::Absent)
            | (TargetKind::Tree, FileKind::NoFolder) => return Some(Class::File),
            (TargetKind::Auto | TargetKind::File, FileKind::NoFolder) if self.makes_folders() => {
                return Some(Class::File);
            }
            (TargetKind::Auto | TargetKind::Block, FileKind::BlockDevice)
                if fact.device.as_ref().is_some_and(|device| device.size == Bytes::ZERO) =>
            {
                (
                    "target.no-medium",
                    format!(
                        "the block device {name} has a size of 0: there is no medium in it, or nothing behind it"
                    ),
                    "put a medium in, or attach a loop device to its file (losetup); lsblk shows sizes"
                        .to_owned(),
                )
            }
            (TargetKind::Auto | TargetKind::Block, FileKind::BlockDevice) => return Some(Class::Block),
            (TargetKind::Block, FileKind::Absent | FileKind::NoFolder) => (
                "target.absent",
                format!("the block device {name} does not exist"),
                "check its name with lsblk".to_owned(),
            ),
            (_, FileKind::NoFolder) => {
                let folder =
                    fact.path.parent().map_or_else(|| "/".to_owned(), |folder| folder.display().to_string());
                (
                    "target.no-folder",
                    format!("{name} cannot be made: its folder {folder} does not exist"),
                    format!("create it with: mkdir -p {folder}"),
                )
            }
            (_, FileKind::Folder) => (
                "target.kind",
                format!("{name} is a folder, and a file or a block device is needed"),
                "name a file in it, or use directory instead of path".to_owned(),
            ),
            (TargetKind::Auto | TargetKind::File, FileKind::MemoryDevice) => return Some(Class::Memory),
            (_, FileKind::MemoryDevice) => (
                "target.kind",
                format!("{name} is a character device, neither a block device nor a folder"),
                "leave kind out".to_owned(),
            ),
            (_, FileKind::Other) => (
                "target.kind",
                format!("{name} is neither a regular file nor a block device"),
                "name a file or a block device; pipes, sockets and other character devices are not measured"
                    .to_owned(),
            ),
            (_, FileKind::BlockDevice) => (
                "target.kind",
                format!("{name} is a block device, not a file"),
                "leave kind out, or use kind = \"block\"".to_owned(),
            ),
            (_, FileKind::File | FileKind::Absent) => (
                "target.kind",
                format!("{name} is a file, not a block device"),
                "leave kind out, or use kind = \"file\"".to_owned(),
            ),
        };
        remarks.error(code, span, message, help);
        None
    }

    /// Bytes that may be addressed. `fact` is absent where nothing is opened.
    fn size(&self, item: &Item, fact: Option<&TargetFact>, remarks: &mut Remarks) -> Option<Bytes> {
        let options = &self.section.options;
        let span = options.size.span();
        let device =
            fact.filter(|fact| fact.kind == FileKind::BlockDevice).and_then(|fact| fact.device.as_ref());
        let existing = match (device, fact.and_then(|fact| fact.file.as_ref())) {
            (Some(device), _) => Some(device.size),
            (None, file) => file.map(|file| file.size).filter(|&size| size > Bytes::ZERO),
        };
        let one = || Bytes(self.users.iter().map(|load| load.operations.largest).max().unwrap_or(1));
        match (options.size.get(), existing) {
            (None | Some(Amount::Share(_)), None) if self.is_passed_over(item, fact) => {
                let is_absent = fact.is_some_and(|fact| fact.kind == FileKind::Absent);
                let why = if is_absent { "does not exist" } else { "is empty" };
                let message = format!("{} {why}, and is passed over", item.name);
                let help = "give it a size, or leave it out";
                remarks.warn(
                    "plan.empty-file",
                    options.path.span().or(Some(self.section.span)),
                    message,
                    help,
                );
                Some(Bytes::ZERO)
            }
            // Nothing is addressed in it but its name.
            (None | Some(Amount::Share(_)), there) if !self.usage.used_inside => {
                Some(there.unwrap_or_else(one))
            }
            (Some(&Amount::Bytes(least)), there) if options.size_max.get().is_some() && device.is_none() => {
                Some(self.drawn_size(item, least, there))
            }
            // The peer uses as much of a device as there is.
            (Some(&Amount::Bytes(asked)), Some(there))
                if device.is_some() && self.job.dialect == Dialect::Fio =>
            {
                Some(asked.min(there))
            }
            (Some(&Amount::Bytes(asked)), Some(there)) if device.is_some() && asked > there => {
                let message = format!("size {asked} is more than the {there} of {}", item.name);
                remarks.error("plan.device-too-small", span, message, "make size smaller or leave it out");
                None
            }
            (Some(&Amount::Bytes(asked)), there) if self.job.dialect == Dialect::Fio && fact.is_some() => {
                let there = there.unwrap_or_default();
                // A region that begins at a share of the file may reach beyond its end, and makes it longer.
                let reaches = self.users.iter().filter_map(|load| {
                    let (options, block) = (&load.section.options, load.operations.smallest);
                    regions::reach_from_share(options, self.set_size, block, self.known(load, item, there.0))
                });
                Some(asked.max(Bytes(reaches.max().unwrap_or(0))))
            }
            (Some(&Amount::Bytes(asked)), _) => Some(asked),
            (Some(&Amount::Share(share)), Some(there)) => Some(Bytes(regions::share_of(share, there.0))),
            (Some(&Amount::Share(share)), None) => {
                let message = format!("size {share} of {}, which is not there, is unknown", item.name);
                remarks.error("plan.needs-size", span, message, "give the size in bytes, such as 10GiB");
                None
            }
            // fio makes a file as long as its jobs reach; a native job that reaches past an existing file is told so.
            (None, Some(there)) if device.is_some() || self.job.dialect == Dialect::Native => Some(there),
            (None, there) => {
                if let Some(fact) = fact
                    && self.fills()
                {
                    let free =
                        fact.filesystem.as_ref().map_or(Bytes::ZERO, |filesystem| filesystem.available);
                    return Some(Bytes(
                        there.unwrap_or_default().0.saturating_add(free.0).saturating_add(BEYOND_FULL),
                    ));
                }
                let reach = self.users.iter().filter_map(|load| match &load.trace {
                    Some(trace) => Some(trace.end()),
                    None => self.reach(load, item, there.unwrap_or_default().0),
                });
                match reach.max().map(Bytes).max(there) {
                    Some(size) => Some(size),
                    None if fact.is_none() && (self.job.dialect != Dialect::Fio || self.fills()) => {
                        Some(NULL_SIZE)
                    }
                    None => {
                        let why = match fact {
                            None => "is not looked at",
                            Some(fact) if fact.kind == FileKind::MemoryDevice => "has no end",
                            Some(_) => "does not exist or is empty",
                        };
                        let message = format!("{} {why}, and has no size", item.name);
                        let place = options.path.span().or(options.directory.span());
                        remarks.error("plan.needs-size", place, message, "give it a size, such as 10GiB");
                        None
                    }
                }
            }
        }
    }

    /// How far a stream of fio's reaches into a file that has `there` bytes: what is appended counts from where it ends then, and who
    /// says no size uses what jobs before have made.
    fn reach(&self, load: &Load<'_>, item: &Item, there: u64) -> Option<u64> {
        let options = &load.section.options;
        let known = self.known(load, item, there);
        match regions::reach(options, self.set_size, load.operations.smallest) {
            Some(reach) if *options.append.get() => Some(known.saturating_add(reach)),
            None => Some(known).filter(|&known| known > there),
            reach => reach,
        }
    }

    /// Bytes that a file which had `there` has when a stream comes to it.
    fn known(&self, load: &Load<'_>, item: &Item, there: u64) -> u64 {
        self.scene.grown.get(load.index).map_or(there, |grown| grown.before(item.position, there))
    }

    /// As with fio, an empty file among others that are not is not worked on where nothing says how long it is to be.
    fn is_passed_over(&self, item: &Item, fact: Option<&TargetFact>) -> bool {
        let reaches = |load: &Load<'_>| load.trace.is_some() || self.reach(load, item, 0).is_some();
        // Nor is one that is not there yet, which reads would ask for.
        let is_there = fact.is_some_and(|fact| match fact.kind {
            FileKind::File => true,
            FileKind::Absent => self.usage.writes,
            _ => false,
        });
        is_there
            && self.job.dialect == Dialect::Fio
            && self.usage.used_inside
            && self.set_has_data
            && !self.fills()
            && !self.users.iter().any(|load| reaches(load))
    }

    /// Whether somebody writes until there is no room.
    fn fills(&self) -> bool {
        self.users.iter().any(|load| *load.section.options.until_full.get())
    }

    fn makes_folders(&self) -> bool {
        let options = &self.section.options;
        let is_tree = *options.kind.get() == TargetKind::Tree;
        (is_tree || *options.make_folder.get()) && *options.layout.get() != Layout::MustExist
    }

    /// The size of a file whose size is drawn: whole blocks, the same for the same path and seed in every run. One that
    /// is there keeps its size where that is one that could have been drawn.
    fn drawn_size(&self, item: &Item, least: Bytes, there: Option<Bytes>) -> Bytes {
        let most = self.section.options.size_max.get().copied().unwrap_or(least).max(least);
        if let Some(there) = there.filter(|there| (least..=most).contains(there)) {
            return there;
        }
        let block = self.users.iter().map(|load| load.operations.smallest).min().unwrap_or(1);
        let stream = self.users.iter().map(|load| load.index).next().unwrap_or_default();
        let seed = seeds::of_stream(self.job, stream, self.scene.entropy);
        let drawn = seeds::of_name(seed, &item.name);
        let width = u128::from(most.0 - least.0) + 1;
        let above = u64::try_from((u128::from(drawn) * width) >> 64).unwrap_or(most.0 - least.0);
        Bytes(least.0 + above).round_down(Bytes(block)).max(Bytes(block))
    }

    /// Whether it holds what an earlier run wrote, to be checked: what is not there was lost, and is not made. Jobs of fio make it.
    fn is_checked_only(&self, fact: &TargetFact) -> bool {
        let checks = |load: &&Load<'_>| !load.operations.verification.lets_write();
        let is_written = self.usage.writes || self.scene.changed.contains(&fact.resolved);
        self.job.dialect != Dialect::Fio && !is_written && self.users.iter().any(checks)
    }

    fn layout_is_possible(
        &self,
        item: &Item,
        fact: &TargetFact,
        layout: LayoutRule,
        size: Bytes,
        remarks: &mut Remarks,
    ) -> bool {
        let span = self.section.options.layout.span();
        let there = fact.file.as_ref().map(|file| file.size);
        match (layout, there) {
            (LayoutRule::MustExist, there) if there.is_none_or(|there| there < size) => {
                let asked = *self.section.options.layout.get();
                let (why, help) = files::why_not_made(asked, self.is_checked_only(fact), there.is_some());
                let too_small =
                    |there| ("plan.file-too-small", format!("has {there}, less than the {size} needed"));
                let (code, what) = there.map_or(("target.absent", "does not exist".to_owned()), too_small);
                remarks.error(code, span, format!("{} {what}, and {why}", item.name), help);
                false
            }
            (
                LayoutRule::Allocated
                | LayoutRule::AllocatedIfRoom
                | LayoutRule::Reserved
                | LayoutRule::Extended
                | LayoutRule::Created,
                there,
            ) if self.usage.reads && there.is_none_or(|there| there < size) => {
                let message = format!("{} is read where nothing has been written", item.name);
                let help = "such reads are answered without touching the device; use layout = \"written\"";
                remarks.warn("plan.reads-unwritten", span, message, help);
                true
            }
            (LayoutRule::Appended, Some(_)) if self.usage.reads && holes(fact, size) > Bytes::ZERO => {
                let message = format!(
                    "{} of the {size} of {} are holes or unwritten, and fathom did not make the file; reads of those \
                     measure the filesystem, not the device",
                    holes(fact, size),
                    item.name
                );
                let options = &self.section.options;
                let place = options.path.span().or(options.directory.span());
                let help = "read a file that is written in full, or one that fathom makes";
                remarks.warn("plan.reads-unwritten", place, message, help);
                true
            }
            _ => true,
        }
    }

    fn intent(
        &self,
        path: PathBuf,
        class: Class,
        fact: &TargetFact,
        layout: LayoutRule,
        size: Bytes,
    ) -> Intent {
        let Usage { reads, writes, trims, deleted: deletes, .. } = self.usage;
        let file = fact.file.as_ref();
        let there = file.map_or(0, |file| file.size.0);
        let growth = size.0.saturating_sub(there);
        // One that is to run into the end of the room needs none in advance.
        let fills = self.fills();
        let lays_out = match (class, layout) {
            (Class::File, LayoutRule::Written) => growth + holes(fact, size).0,
            (Class::File, LayoutRule::Appended | LayoutRule::Allocated | LayoutRule::Reserved) => growth,
            _ => 0,
        };
        // Nothing is laid out, but the writes will need the space all the same.
        let grows = match (class, layout) {
            (Class::File, LayoutRule::AllocatedIfRoom) => growth,
            // Made longer before the run, whether it is written then or not.
            (Class::File, LayoutRule::Extended) if !fills => growth,
            (Class::File, LayoutRule::Created) if writes && !fills => growth,
            _ => 0,
        };
        let file = class == Class::File;
        let is_made = matches!(class, Class::File | Class::Folder);
        Intent {
            path,
            reads,
            writes,
            trims,
            deletes,
            creates: class == Class::Folder || file && layout != LayoutRule::MustExist,
            makes_folder: is_made && self.makes_folders(),
            is_folder: class == Class::Folder,
            lays_out: Bytes(lays_out),
            grows: Bytes(grows),
            removes: is_made && *self.section.options.remove.get(),
        }
    }

    fn substitute(&self, item: &Item, found: &mut Targets) -> Addressed {
        let options = &self.section.options;
        let size = match options.size.get() {
            Some(&Amount::Bytes(size)) => size,
            Some(&Amount::Share(share)) => Bytes(regions::share_of(share, NULL_SIZE.0)),
            None => NULL_SIZE,
        };
        if *options.kind.get() == TargetKind::Null {
            return add(found, item, schema::TargetKind::Null, size, Direct::Substitute, Class::Null);
        }
        if let Some(peer) = peers::of_target(options, self.usage.reads) {
            return add(found, item, schema::TargetKind::Peer(peer), size, Direct::Substitute, Class::Peer);
        }
        let service = match options.service_time.get() {
            ServiceTime::Constant(Nanos(ns)) => SimService::Constant { ns: *ns },
            ServiceTime::Exponential(Nanos(mean_ns)) => SimService::Exponential { mean_ns: *mean_ns },
            ServiceTime::Uniform(Nanos(min_ns), Nanos(max_ns)) => {
                SimService::Uniform { min_ns: *min_ns, max_ns: *max_ns }
            }
        };
        let device = SimDevice {
            service,
            parallelism: *options.parallelism.get(),
            error_share: *options.error_share.get(),
            short_share: *options.short_share.get(),
            stalls: options.stalls.get().iter().map(|&(at, length)| (at.0, length.0)).collect(),
            places: (options.places.get().iter())
                .map(|OddPlace { from, to, takes }| SimPlace {
                    from: from.0,
                    to: to.0,
                    service_ns: takes.map(|time| time.0),
                })
                .collect(),
        };
        add(found, item, schema::TargetKind::Sim(device), size, Direct::Substitute, Class::Sim)
    }
}

fn add(
    found: &mut Targets,
    item: &Item,
    kind: schema::TargetKind,
    size: Bytes,
    direct: Direct,
    class: Class,
) -> Addressed {
    let index = u32::try_from(found.of_step.len()).expect("at most TARGETS_MAX targets");
    found.of_step.push(Target { name: item.name.clone(), kind, size });
    let (name, size) = (item.name.clone(), size.0);
    Addressed { index, name, size, end: size, there: 0, is_sized: true, owner: item.owner, direct, class }
}

/// Where a file or device ends once its first `size` bytes are there.
fn end_of(fact: &TargetFact, size: Bytes) -> u64 {
    let device = fact.device.as_ref().filter(|_| fact.kind == FileKind::BlockDevice);
    device.map_or_else(|| there(fact), |device| device.size.0).max(size.0)
}

/// Bytes of a file that is there.
fn there(fact: &TargetFact) -> u64 {
    fact.file.as_ref().map_or(0, |file| file.size.0)
}

/// Makes a target serve a second section too: the larger size, the more thorough layout.
fn unite(target: &mut Target, kind: schema::TargetKind, size: Bytes) {
    target.size = target.size.max(size);
    if let (
        schema::TargetKind::File { layout, remove_after, .. },
        schema::TargetKind::File { layout: also, remove_after: also_removed, .. },
    ) = (&mut target.kind, &kind)
    {
        *remove_after |= *also_removed;
        *layout = (*layout).max(*also);
        return;
    }
    if let (
        schema::TargetKind::Folder { made, remove_after, .. },
        schema::TargetKind::Folder { made: also, remove_after: also_removed, .. },
    ) = (&mut target.kind, kind)
    {
        *remove_after |= also_removed;
        *made |= also;
    }
}

/// Holes and unwritten extents within the first `size` bytes of a file, at least: where they are is not known, so that all that is
/// written may lie there.
fn holes(fact: &TargetFact, size: Bytes) -> Bytes {
    let missing = |file: &schema::FileFact| file.size.0.min(size.0).saturating_sub(file.written.0);
    Bytes(fact.file.as_ref().map_or(0, missing))
}

fn direct(class: Class, fact: &TargetFact) -> Direct {
    if class == Class::Memory {
        return Direct::Refused("the kernel".to_owned());
    }
    if class == Class::Block {
        let sector = fact.device.as_ref().map_or(512, |device| device.logical_sector_bytes);
        return Direct::Aligned(u64::from(sector.max(1)));
    }
    match &fact.filesystem {
        Some(filesystem) => filesystem.direct_align_bytes.map_or_else(
            || Direct::Refused(format!("{} at {}", filesystem.kind, filesystem.mount_point.display())),
            |align| Direct::Aligned(u64::from(align.max(1))),
        ),
        None => Direct::Refused("an unknown filesystem".to_owned()),
    }
}
