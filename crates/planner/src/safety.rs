//! Safety: whether what a plan means to do to its targets may be done, given the probe's facts and the user's consent.
//!
//! Pure: it opens nothing and asks nobody; it says what is refused, what has to be asked, and what is worth a note. It
//! deliberately does not know how facts are found, nor how a question is put.

mod consent;

use consent::OVERWRITE;
pub use consent::{Consent, PeersAllowed, Question};
use fathom_schema::{
    BlockDevice, ContentFact, DeviceNumber, Facts, FileFact, FileKind, Filesystem, InUse, TargetFact,
    VoidMark,
};
use fathom_units::Bytes;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};

/// Kept free on a filesystem when laying out files: this share of it (1 / 100), but see [`RESERVE_FLOOR`].
const RESERVE_DIVISOR: u64 = 100;
/// At least this much is kept free, so that the system's own small writes still succeed beside a test …
const RESERVE_FLOOR: Bytes = Bytes::mib(64);
/// … unless that is more than 1 / 20 of the filesystem: on a small scratch one the floor would forbid every test.
const RESERVE_FLOOR_DIVISOR: u64 = 20;

/// What a stream does beside its targets, or the peer that is its target.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Command {
    /// The stream's name.
    pub stream: String,
    /// The command with its arguments, or the peer's address.
    pub line: String,
    /// Files that take what it prints.
    pub outputs: Vec<PathBuf>,
    /// Which of them.
    pub what: Outside,
}

/// What a stream has to do with the world outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outside {
    /// It runs a command or a program.
    Command,
    /// It talks to a peer.
    Peer {
        /// On this host.
        is_here: bool,
        /// It waits for it.
        listens: bool,
    },
}

/// What a plan means to do to one path.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts about one path, all of which can be true at once"
)]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Intent {
    /// The path as the job has it; one of the probed paths.
    pub path: PathBuf,
    /// The workload reads.
    pub reads: bool,
    /// The workload writes, or zones are reset.
    pub writes: bool,
    /// The workload discards.
    pub trims: bool,
    /// The workload removes it.
    pub deletes: bool,
    /// The file may be created when it is absent.
    pub creates: bool,
    /// And the folder that it is in, with those above.
    pub makes_folder: bool,
    /// It is a folder, or becomes one, of which only the name is worked on.
    pub is_folder: bool,
    /// Bytes that prepare would write, or allocate, in places that hold no data yet: a new file, a tail, holes. That
    /// much space is needed; anything above zero counts as changing the file.
    pub lays_out: Bytes,
    /// Bytes that what is written on the way needs in such places.
    pub grows: Bytes,
    /// The file is removed at the end.
    pub removes: bool,
}

impl Intent {
    /// Takes in what else is meant to be done to the same thing, by another step or under another name.
    pub(crate) fn unite(&mut self, also: &Self) {
        let Self {
            path: _,
            reads,
            writes,
            trims,
            deletes,
            creates,
            makes_folder,
            is_folder,
            lays_out,
            grows,
            removes,
        } = also;
        self.reads |= reads;
        self.writes |= writes;
        self.trims |= trims;
        self.deletes |= deletes;
        self.is_folder |= is_folder;
        self.creates |= creates;
        self.makes_folder |= makes_folder;
        self.removes |= removes;
        // A file is laid out once, to the largest size that anyone wants of it.
        self.lays_out = self.lays_out.max(*lays_out);
        self.grows = self.grows.max(*grows);
    }

    /// The same of what was found at the path: what somebody else made is overwritten where that is agreed to, and never
    /// removed at the end.
    #[must_use]
    pub fn of_found(&self, fact: Option<&TargetFact>) -> Self {
        let is_foreign = fact.and_then(|fact| fact.file.as_ref()).is_some_and(|file| !file.made_by_fathom);
        Self { removes: self.removes && !is_foreign, ..self.clone() }
    }

    /// Room that is needed where there is none yet, in advance or on the way.
    pub fn needs(&self) -> Bytes {
        self.lays_out.max(self.grows)
    }

    /// Whether anything that is at the path now could be changed or lost.
    pub fn changes(&self) -> bool {
        let Self { writes, trims, deletes, removes, lays_out, grows, .. } = self;
        *writes || *trims || *deletes || *removes || lays_out.0 > 0 || grows.0 > 0
    }
}

/// What [`judge`] found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    /// What must not be done, whatever is answered.
    pub refusals: Vec<Refusal>,
    /// What may be done after a person has confirmed it; without a person each is a refusal.
    pub questions: Vec<Question>,
    /// What goes on and is worth saying: lower-case fragments.
    pub notes: Vec<String>,
}

impl Verdict {
    /// True when the plan may go on without asking anyone.
    pub fn allows(&self) -> bool {
        self.refusals.is_empty() && self.questions.is_empty()
    }
}

/// Something that must not be done. Displays as path, reason and remedy in one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// `unsafe.…` protects what is there; `target.…` could not work.
    pub code: &'static str,
    /// The path as the job has it.
    pub path: PathBuf,
    /// Why, with what was found: a lower-case fragment.
    pub reason: String,
    /// The way out: a lower-case fragment.
    pub remedy: String,
    /// What a person may type to have it done all the same; empty where nothing helps.
    pub answers: Vec<String>,
}

impl Refusal {
    /// True when going on would endanger what is there; false when it merely could not work.
    pub fn protects(&self) -> bool {
        self.code.starts_with("unsafe.")
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.path.display(), self.reason, self.remedy)
    }
}

/// Judges what a plan means to do.
///
/// Paths that lead to the same device or file are judged once, with all that is meant to be done to it. Nothing in
/// `consent` lifts a refusal for something in use, read-only or unreadable.
pub fn judge(intents: &[Intent], commands: &[Command], facts: &Facts, consent: &Consent) -> Verdict {
    let mut verdict = Verdict::default();
    let is_allowed = |command: &&Command| match (command.what, consent.peers) {
        (Outside::Command, _) => consent.allow_exec,
        (Outside::Peer { .. }, PeersAllowed::Anyone) => true,
        (Outside::Peer { is_here, .. }, PeersAllowed::Here) => is_here,
        (Outside::Peer { .. }, PeersAllowed::Nobody) => false,
    };
    let refused = commands.iter().filter(|command| !is_allowed(command));
    verdict.refusals.extend(refused.map(refuse_command));
    let places = places(intents, facts, &mut verdict);
    for place in &places {
        judge_place(place, facts, consent, &mut verdict);
    }
    judge_overlap(&places, &mut verdict);
    judge_space(&places, consent.dialect_writes_named_files, &mut verdict);
    for named in &consent.destroy {
        if !places.iter().any(|place| place.block().is_some_and(|d| names(named, place.fact, d, facts))) {
            verdict.notes.push(format!("{named}, which may be destroyed, is no block device of this run"));
        }
    }
    verdict
}

/// What a job sends to other hosts, and whom it lets in, is for the one to say who starts it. Whatever it names could be run with the rights of whoever starts it, so that taking a job from someone else would be
/// to hand over the account.
fn refuse_command(command: &Command) -> Refusal {
    let Command { stream, line, outputs: _, what } = command;
    let path = PathBuf::from(format!("stream \"{stream}\""));
    match what {
        Outside::Command => Refusal {
            code: "unsafe.exec",
            path,
            reason: format!("the job would run the command \"{line}\""),
            remedy: "read it, then allow it with --allow-exec on the command line; `fathom serve` never does"
                .to_owned(),
            answers: Vec::new(),
        },
        Outside::Peer { is_here: _, listens } => Refusal {
            code: "unsafe.net",
            path,
            reason: format!("the job would {} {line}", if *listens { "listen at" } else { "connect to" }),
            remedy: "stay on this host (localhost), or allow it with --allow-net on the command line; `fathom serve` \
                     never does"
                .to_owned(),
            answers: Vec::new(),
        },
    }
}

/// One thing on the host with all that is meant to be done to it.
struct Place<'a> {
    intent: Intent,
    fact: &'a TargetFact,
}

impl Place<'_> {
    /// The device that would be written when this is one; not the device under a file.
    fn block(&self) -> Option<&BlockDevice> {
        (self.fact.kind == FileKind::BlockDevice).then_some(self.fact.device.as_ref()).flatten()
    }

    fn refuse(&self, verdict: &mut Verdict, code: &'static str, reason: String, remedy: impl Into<String>) {
        verdict.refusals.push(Refusal {
            code,
            path: self.intent.path.clone(),
            reason,
            remedy: remedy.into(),
            answers: Vec::new(),
        });
    }

    /// Refuses to lose what fathom is not known to have made, which the right word lifts.
    fn refuse_foreign(&self, verdict: &mut Verdict, reason: String, remedy: &str) {
        self.refuse(verdict, "unsafe.foreign-file", reason, format!("say --{OVERWRITE} to lose {remedy}"));
        if let Some(refusal) = verdict.refusals.last_mut() {
            refusal.answers.push(OVERWRITE.to_owned());
        }
    }

    /// Whether what fathom did not make may be lost here.
    fn may_overwrite(&self, consent: &Consent) -> bool {
        consent.overwrite || consent.has_confirmed(&self.intent.path)
    }
}

#[derive(PartialEq, Eq, Hash)]
enum Identity<'a> {
    Device(DeviceNumber),
    Path(&'a Path),
}

/// Brings together the intents that reach the same thing, in the order of their first mention.
fn places<'a>(intents: &[Intent], facts: &'a Facts, verdict: &mut Verdict) -> Vec<Place<'a>> {
    let mut places: Vec<Place<'a>> = Vec::new();
    let mut index: HashMap<Identity<'a>, usize> = HashMap::new();
    let by_path = facts.by_path();
    for intent in intents {
        let Some(&fact) = by_path.get(intent.path.as_path()) else {
            verdict.refusals.push(Refusal {
                code: "unsafe.unprobed",
                path: intent.path.clone(),
                reason: "nothing is known about this path".to_owned(),
                remedy: "this is a fault of fathom: every target has to be probed first".to_owned(),
                answers: Vec::new(),
            });
            continue;
        };
        let identity = match (&fact.kind, &fact.device) {
            (FileKind::BlockDevice, Some(device)) => Identity::Device(device.number),
            _ => Identity::Path(&fact.resolved),
        };
        if let Some(&at) = index.get(&identity) {
            places[at].intent.unite(&intent.of_found(Some(fact)));
        } else {
            index.insert(identity, places.len());
            places.push(Place { intent: intent.of_found(Some(fact)), fact });
        }
    }
    places
}

fn judge_place(place: &Place<'_>, facts: &Facts, consent: &Consent, verdict: &mut Verdict) {
    let fact = place.fact;
    if let Some(error) = &fact.error {
        // Where nobody may look, what is known of its use still says why it must be left alone.
        if let Some(device) =
            place.block().filter(|device| place.intent.changes() && !device.in_use.is_empty())
        {
            refuse_used(place, device, verdict);
        }
        let remedy = "check the path and the permissions, or run as a user that may use it";
        return place.refuse(verdict, "target.unusable", format!("cannot be used: {error}"), remedy);
    }
    match fact.kind {
        FileKind::BlockDevice => match &fact.device {
            Some(device) => judge_device(place, device, facts, consent, verdict),
            None => {
                let reason = "nothing is known about this block device".to_owned();
                place.refuse(verdict, "unsafe.unprobed", reason, "check that /sys is mounted and readable");
            }
        },
        FileKind::File => match &fact.file {
            Some(file) => judge_file(place, file, consent, verdict),
            None => {
                let reason = "nothing is known about this file".to_owned();
                place.refuse(verdict, "unsafe.unprobed", reason, "check that the file can be examined");
            }
        },
        FileKind::Absent => judge_absent(place, verdict),
        FileKind::NoFolder if place.intent.makes_folder => judge_absent(place, verdict),
        FileKind::NoFolder => {
            let folder = fact.path.parent().unwrap_or(Path::new("/")).display().to_string();
            let reason = format!("its folder {folder} does not exist");
            place.refuse(verdict, "target.no-folder", reason, format!("create it with: mkdir -p {folder}"));
        }
        FileKind::Folder if place.intent.is_folder => judge_folder(place, consent, verdict),
        FileKind::Folder => {
            let reason = "is a folder, and a file or a block device is needed".to_owned();
            place.refuse(verdict, "unsafe.kind", reason, "name a file in it");
        }
        // There is nothing in it that could be lost, and it cannot be made or removed.
        FileKind::MemoryDevice => {}
        FileKind::Other => {
            let reason = "is neither a regular file nor a block device".to_owned();
            let remedy =
                "name a file or a block device; pipes, sockets and other character devices are not measured";
            place.refuse(verdict, "unsafe.kind", reason, remedy);
        }
    }
}

fn judge_absent(place: &Place<'_>, verdict: &mut Verdict) {
    if !place.intent.creates {
        let reason = "does not exist, and this run does not create it".to_owned();
        return place.refuse(verdict, "target.absent", reason, "check the path, or give the target a size");
    }
    let filesystem = place.fact.filesystem.as_ref();
    if is_among_devices(place.fact) {
        let reason = "there is no such device, and files are not made among devices".to_owned();
        return place.refuse(verdict, "target.absent", reason, "check its name with lsblk");
    }
    if filesystem.is_some_and(Filesystem::is_read_only) {
        return refuse_read_only(place, "does not exist and cannot be created: ", verdict);
    }
    if !filesystem.is_some_and(|fs| fs.can_create) {
        let reason = "does not exist and cannot be created in its folder".to_owned();
        place.refuse(verdict, "target.permission", reason, "check the folder's permissions");
    }
}

/// Whether a path is one where only devices are: below `/dev`, but for what is mounted there of its own, such as
/// `/dev/shm`. A name with a slip in it would become a file there that lies in memory, and its speed pass for the device's.
pub(crate) fn is_among_devices(fact: &TargetFact) -> bool {
    let devices = Path::new("/dev");
    fact.filesystem.as_ref().map_or(fact.resolved.starts_with(devices), |filesystem| {
        let mount = filesystem.mount_point.as_path();
        let is_of_its_own = mount != devices && mount.starts_with(devices);
        filesystem.kind == "devtmpfs"
            || mount == devices
            || (fact.resolved.starts_with(devices) && !is_of_its_own)
    })
}

/// Filesystems whose files are the kernel's settings: writing to one is giving an order, whatever its size says.
const SETTINGS: [&str; 10] =
    ["proc", "sysfs", "cgroup", "cgroup2", "debugfs", "tracefs", "configfs", "securityfs", "efivarfs", "bpf"];

fn judge_file(place: &Place<'_>, file: &FileFact, consent: &Consent, verdict: &mut Verdict) {
    let kind = place.fact.filesystem.as_ref().map_or("", |filesystem| filesystem.kind.as_str());
    if place.intent.changes() && SETTINGS.contains(&kind) {
        let reason = format!("is a setting of the kernel ({kind})");
        place.refuse(verdict, "unsafe.kind", reason, "name a file on a disk or a block device");
        return;
    }
    if place.intent.reads && !file.readable {
        let reason = "this user may not read it".to_owned();
        place.refuse(verdict, "target.permission", reason, "change its permissions or the user");
    }
    if !place.intent.changes() {
        return;
    }
    if !file.in_use.is_empty() {
        let reason = format!("is in use: {}", uses(&file.in_use));
        place.refuse(verdict, "unsafe.in-use", reason, release(&file.in_use));
    }
    if place.fact.filesystem.as_ref().is_some_and(Filesystem::is_read_only) {
        refuse_read_only(place, "", verdict);
    } else if !file.writable {
        let reason = "this user may not write to it".to_owned();
        place.refuse(verdict, "target.permission", reason, "change its permissions or the user");
    }
    if file.made_by_fathom {
        return;
    }
    if place.intent.deletes {
        return judge_deletion(place, consent, verdict);
    }
    if file.size.0 == 0 {
        return;
    }
    let path = place.intent.path.display();
    let size = file.size;
    if place.may_overwrite(consent) {
        verdict.notes.push(format!(
            "{path} holds {size} that fathom is not known to have written: what the run writes to of that is overwritten, as agreed"
        ));
    } else if consent.dialect_writes_named_files && !place.intent.trims {
        // fio leaves the content of regular files alone when it is told to trim: nobody expects to lose it.
        verdict.notes.push(format!(
            "{path} holds {size} that fathom is not known to have written: what the run writes to of that {AS_NAMED}"
        ));
    } else {
        let (reason, remedy) = foreign(file);
        place.refuse_foreign(verdict, reason, remedy);
    }
}

/// Nobody may write where that is, root neither.
fn refuse_read_only(place: &Place<'_>, what: &str, verdict: &mut Verdict) {
    let reason = format!("{what}its filesystem is mounted read-only");
    place.refuse(verdict, "target.read-only", reason, "mount it for writing, or name a file elsewhere");
}

fn judge_folder(place: &Place<'_>, consent: &Consent, verdict: &mut Verdict) {
    if place.intent.deletes && !place.fact.folder_made_by_fathom {
        judge_deletion(place, consent, verdict);
    }
}

/// Something that fathom is not known to have made is to be removed: a job that names it does not say enough.
fn judge_deletion(place: &Place<'_>, consent: &Consent, verdict: &mut Verdict) {
    if place.may_overwrite(consent) {
        let path = place.intent.path.display();
        verdict.notes.push(format!("{path}, which fathom is not known to have made, is removed, as agreed"));
        return;
    }
    let reason =
        "is to be removed, and fathom is not known to have made it, or it was changed since".to_owned();
    place.refuse_foreign(verdict, reason, "it, or remove it by hand, or name others");
}

/// Why a file counts as someone else's, and the way out.
fn foreign(file: &FileFact) -> (String, &'static str) {
    let size = file.size;
    match &file.void_mark {
        None => (format!("holds {size} that fathom did not write"), "its content, or name another file"),
        Some(VoidMark::Changed) => (
            format!("holds {size}; fathom made it, and it has been changed since"),
            "its content, or name another file",
        ),
        Some(VoidMark::Unended { run }) => (
            format!(
                "holds {size}; run {run} was writing it and was killed, or still goes on, so that nobody can tell \
                 whether someone else has written to it since"
            ),
            "its content, or remove it if nothing in it is of use, or name another file",
        ),
    }
}

fn judge_device(
    place: &Place<'_>,
    device: &BlockDevice,
    facts: &Facts,
    consent: &Consent,
    verdict: &mut Verdict,
) {
    if !place.intent.changes() {
        return;
    }
    if !device.in_use.is_empty() {
        refuse_used(place, device, verdict);
    }
    if device.read_only {
        let reason = format!("the kernel has {} read-only", device.name);
        place.refuse(verdict, "target.read-only", reason, "make it writable, or measure reads only");
    }
    let destroyed = consent.has_confirmed(&place.intent.path)
        || consent.destroy.iter().any(|named| names(named, place.fact, device, facts));
    match &device.content {
        ContentFact::Blank => {}
        ContentFact::Unreadable(why) => {
            let reason = format!("its content could not be looked at: {why}");
            let remedy =
                "nothing is written to a device whose content is unknown; check it and its permissions";
            place.refuse(verdict, "unsafe.unreadable", reason, remedy);
        }
        ContentFact::Unknown => {
            let reason = "its content was not looked at".to_owned();
            place.refuse(verdict, "unsafe.unknown", reason, "probe it with the right to read it");
        }
        ContentFact::Unrecognised => {
            judge_unrecognised(
                place,
                device,
                "holds data without a known signature",
                destroyed,
                consent,
                verdict,
            );
        }
        ContentFact::SeemsBlank => {
            let what = "is too large to be read as a whole; where it was read it is blank, elsewhere it may hold data";
            judge_unrecognised(place, device, what, destroyed, consent, verdict);
        }
        ContentFact::Signed(signatures) => {
            let found = signatures.iter().map(signature_text).collect::<Vec<_>>().join(", ");
            if destroyed {
                let path = place.intent.path.display();
                verdict.notes.push(format!("{path}: {found} is destroyed, as agreed"));
            } else {
                let reason = format!("{} holds {found}", describe(place.fact, device));
                verdict.questions.push(ask(place, device, true, reason));
            }
        }
    }
}

fn refuse_used(place: &Place<'_>, device: &BlockDevice, verdict: &mut Verdict) {
    let reason = format!("{} is in use: {}", describe(place.fact, device), uses(&device.in_use));
    place.refuse(verdict, "unsafe.in-use", reason, release(&device.in_use));
}

/// How a note ends of content that is lost without a question: the job is one of fio, which names what it writes to.
pub const AS_NAMED: &str = "is overwritten, as the job names it";

fn judge_unrecognised(
    place: &Place<'_>,
    device: &BlockDevice,
    what: &str,
    destroyed: bool,
    consent: &Consent,
    verdict: &mut Verdict,
) {
    let path = place.intent.path.display();
    if destroyed || consent.yes {
        verdict.notes.push(format!("{path}: content without a known signature is overwritten, as agreed"));
    } else if consent.dialect_writes_named_files {
        verdict.notes.push(format!("{path}: content without a known signature {AS_NAMED}"));
    } else {
        let reason = format!("{} {what}", describe(place.fact, device));
        verdict.questions.push(ask(place, device, false, reason));
    }
}

fn ask(place: &Place<'_>, device: &BlockDevice, is_signed: bool, reason: String) -> Question {
    let paths = (place.intent.path.as_path(), place.fact.resolved.as_path());
    Question::new(paths, &device.serial, is_signed, describe(place.fact, device), reason)
}

/// Whether `named`, as given to `--destroy`, is this device: by its path as asked or resolved, by another probed path
/// that leads to the same device number, or by its serial number when no other probed disk has the same.
fn names(named: &str, fact: &TargetFact, device: &BlockDevice, facts: &Facts) -> bool {
    let path = Path::new(named);
    if named.is_empty() {
        return false;
    }
    if path == fact.path || path == fact.resolved {
        return true;
    }
    let blocks = || {
        let block = |t: &&TargetFact| t.kind == FileKind::BlockDevice;
        facts.targets.iter().filter(block).filter_map(|t| t.device.as_ref().map(|d| (t, d)))
    };
    if blocks().any(|(t, d)| (path == t.path || path == t.resolved) && d.number == device.number) {
        return true;
    }
    // Namespaces of one NVMe controller and disks behind a cheap bridge share a serial: then it names neither.
    named == device.serial && blocks().all(|(_, d)| d.serial != device.serial || d.disk == device.disk)
}

/// A disk and a partition of it cannot both be targets when one is written: each would write through the other.
fn judge_overlap(places: &[Place<'_>], verdict: &mut Verdict) {
    for place in places {
        let Some(part) = place.block().filter(|d| d.name != d.disk) else { continue };
        for whole in places {
            let is_disk = whole.block().is_some_and(|d| d.name == part.disk);
            if is_disk && (place.intent.changes() || whole.intent.changes()) {
                let reason = format!(
                    "is a partition of {}, which is a target too, and one of them is written",
                    whole.intent.path.display()
                );
                place.refuse(verdict, "unsafe.overlap", reason, "name the disk or the partition, not both");
            }
        }
    }
}

/// Adds up what would be laid out per filesystem and compares it with what is free there. A peer that `runs_into_the_end`
/// writes until there is no room, and then has an error.
fn judge_space(places: &[Place<'_>], runs_into_the_end: bool, verdict: &mut Verdict) {
    let mut wanted: BTreeMap<&Path, (Bytes, &Place<'_>)> = BTreeMap::new();
    for place in places {
        let needs = if runs_into_the_end { place.intent.lays_out } else { place.intent.needs() };
        if let (Some(fs), 1..) = (&place.fact.filesystem, needs.0) {
            let (sum, _) = wanted.entry(&fs.mount_point).or_insert((Bytes::ZERO, place));
            *sum = Bytes(sum.0.saturating_add(needs.0));
        }
    }
    for (mount, (sum, place)) in wanted {
        // One without any blocks (ramfs) does not say how much it takes.
        let Some(fs) = place.fact.filesystem.as_ref().filter(|fs| fs.size > Bytes::ZERO) else { continue };
        let reserve = if runs_into_the_end { Bytes::ZERO } else { reserve(fs.size) };
        if sum.0.saturating_add(reserve.0) > fs.available.0 {
            let reason = format!(
                "{} would be laid out on {}, which has {} free and must keep {}",
                sum.approximate(),
                mount.display(),
                fs.available.approximate(),
                reserve.approximate()
            );
            let room = Bytes(fs.available.0.saturating_sub(reserve.0)).approximate();
            let remedy = format!("ask for at most {room} there, free some space, or use another filesystem");
            place.refuse(verdict, "target.no-space", reason, remedy);
        }
    }
}

/// What stays free on a filesystem of `size`: 1 % of it, at least 64 MiB or, where that is less, 5 %.
fn reserve(size: Bytes) -> Bytes {
    Bytes((size.0 / RESERVE_DIVISOR).max(RESERVE_FLOOR.0.min(size.0 / RESERVE_FLOOR_DIVISOR)))
}

fn describe(fact: &TargetFact, device: &BlockDevice) -> String {
    let mut text = format!("{} ({}", fact.resolved.display(), device.size.approximate());
    if !device.model.is_empty() {
        text.push_str(&format!(", {}", device.model));
    }
    if !device.serial.is_empty() {
        text.push_str(&format!(", serial {}", device.serial));
    }
    text.push(')');
    text
}

fn signature_text(signature: &fathom_schema::Signature) -> String {
    let fathom_schema::Signature { kind, offset, label } = signature;
    if label.is_empty() {
        format!("{kind} (at byte {offset})")
    } else {
        format!("{kind} \"{label}\" (at byte {offset})")
    }
}

/// In which ways something is in use: a lower-case fragment.
pub fn uses(in_use: &[InUse]) -> String {
    let texts: Vec<String> = in_use
        .iter()
        .map(|way| match way {
            InUse::Mounted { device, mount_point } => {
                format!("{device} is mounted on {}", mount_point.display())
            }
            InUse::Swap { device } => format!("{device} is swap space"),
            InUse::Holder { device, holder } => format!("{device} is held by {holder}"),
            InUse::LoopBacking { device } => format!("it is the backing store of {device}"),
            InUse::System { mount_point } => {
                format!("it carries the running system ({})", mount_point.display())
            }
            InUse::Store { folder } => format!("it carries fathom's own store ({})", folder.display()),
            InUse::Record => "it is the record of a run of fathom".to_owned(),
            InUse::Exclusive => "another program has it open exclusively".to_owned(),
            InUse::Opened { device, program, process } => {
                format!("{program} (process {process}) has {device} open for writing")
            }
        })
        .collect();
    texts.join(", ")
}

/// The way out of the first use that has one; the running system has none.
fn release(in_use: &[InUse]) -> String {
    if in_use.iter().any(|way| matches!(way, InUse::System { .. } | InUse::Store { .. } | InUse::Record)) {
        return "name another target; this one is never written, whatever is agreed to".to_owned();
    }
    match in_use.first() {
        Some(InUse::Mounted { mount_point, .. }) => {
            format!("unmount {} or name another target", mount_point.display())
        }
        Some(InUse::Swap { device }) => format!("run swapoff on {device} or name another target"),
        Some(InUse::Holder { holder, .. }) => format!("take {holder} apart or name another target"),
        Some(InUse::LoopBacking { device }) => format!("detach {device} or name another target"),
        _ => "end what uses it or name another target".to_owned(),
    }
}

#[cfg(test)]
mod tests;
