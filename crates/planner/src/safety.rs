//! Safety: whether what a plan means to do to its targets may be done, given the facts of the probe and the user's consent.
//!
//! Pure: it opens nothing and asks nobody; it says what is refused, what has to be asked, and what is worth a note. It
//! deliberately does not know how facts are found, nor how a question is put.

use fathom_schema::{BlockDevice, ContentFact, DeviceNumber, Facts, FileFact, FileKind, InUse, TargetFact};
use fathom_units::Bytes;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// Kept free on a filesystem when laying out files: this share of it (1 / 100), but see [`RESERVE_FLOOR`].
const RESERVE_DIVISOR: u64 = 100;
/// At least this much is kept free, so that the system's own small writes still succeed beside a test …
const RESERVE_FLOOR: Bytes = Bytes::mib(64);
/// … unless that is more than 1 / 20 of the filesystem: on a small scratch filesystem the floor would forbid every test.
const RESERVE_FLOOR_DIVISOR: u64 = 20;
/// Characters of a serial number that a person types to confirm: enough to tell two disks of one batch apart.
const SERIAL_TAIL_CHARS: usize = 4;

/// What the user has agreed to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Consent {
    /// `--yes`: content without a known signature may be overwritten.
    pub yes: bool,
    /// `--overwrite`: regular files that fathom did not make may be overwritten.
    pub overwrite: bool,
    /// `--destroy`: paths or serial numbers of devices whose signed content may be overwritten. Paths should be among
    /// the probed paths, so that a link is compared by the device behind it.
    pub destroy: Vec<String>,
    /// A peer's dialect runs: files named in its job are written without `--overwrite`, and devices with content that
    /// has no signature without `--yes`, each with a note. It consents to nothing else.
    pub dialect_writes_named_files: bool,
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
    /// The file may be created when it is absent.
    pub creates: bool,
    /// Bytes that prepare would write, or allocate, in places that hold no data yet: a new file, a tail, holes. That
    /// much space is needed; anything above zero counts as changing the file.
    pub lays_out: Bytes,
    /// The file is removed at the end.
    pub removes: bool,
}

impl Intent {
    /// Whether anything that is at the path now could be changed or lost.
    pub fn changes(&self) -> bool {
        let Self { path: _, reads: _, writes, trims, creates: _, lays_out, removes } = self;
        *writes || *trims || *removes || lays_out.0 > 0
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

/// Something a person has to confirm. Displays like a refusal, for when there is nobody to ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// `unsafe.signature` or `unsafe.content`.
    pub code: &'static str,
    /// The path as the job has it.
    pub path: PathBuf,
    /// The device in words: path, size, model, serial.
    pub device: String,
    /// What would be lost: a lower-case fragment.
    pub reason: String,
    /// Which option says yes beforehand: a lower-case fragment.
    pub remedy: String,
    /// What the person types to confirm.
    pub answer: String,
    /// What `--destroy` would have to say.
    consent: String,
}

impl Question {
    /// Adds the consent to `consent` when `typed` confirms; returns whether it did. Judge again afterwards.
    pub fn confirm(&self, typed: &str, consent: &mut Consent) -> bool {
        let confirmed = typed.trim() == self.answer;
        if confirmed {
            consent.destroy.push(self.consent.clone());
        }
        confirmed
    }
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.path.display(), self.reason, self.remedy)
    }
}

/// Judges what a plan means to do.
///
/// Paths that lead to the same device or file are judged once, with all that is meant to be done to it. Nothing in
/// `consent` lifts a refusal for something in use, read-only or unreadable.
pub fn judge(intents: &[Intent], facts: &Facts, consent: &Consent) -> Verdict {
    let mut verdict = Verdict::default();
    let places = places(intents, facts, &mut verdict);
    for place in &places {
        judge_place(place, facts, consent, &mut verdict);
    }
    judge_overlap(&places, &mut verdict);
    judge_space(&places, &mut verdict);
    for named in &consent.destroy {
        if !places.iter().any(|place| place.block().is_some_and(|d| names(named, place.fact, d, facts))) {
            verdict.notes.push(format!("--destroy={named} names no block device of this run"));
        }
    }
    verdict
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
        });
    }
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Identity<'a> {
    Device(DeviceNumber),
    Path(&'a Path),
}

/// Brings together the intents that reach the same thing, in the order of their first mention.
fn places<'a>(intents: &[Intent], facts: &'a Facts, verdict: &mut Verdict) -> Vec<Place<'a>> {
    let mut places: Vec<Place<'a>> = Vec::new();
    let mut index: BTreeMap<Identity<'a>, usize> = BTreeMap::new();
    for intent in intents {
        let Some(fact) = facts.targets.iter().find(|fact| fact.path == intent.path) else {
            verdict.refusals.push(Refusal {
                code: "unsafe.unprobed",
                path: intent.path.clone(),
                reason: "nothing is known about this path".to_owned(),
                remedy: "this is a fault of fathom: every target has to be probed first".to_owned(),
            });
            continue;
        };
        let identity = match (&fact.kind, &fact.device) {
            (FileKind::BlockDevice, Some(device)) => Identity::Device(device.number),
            _ => Identity::Path(&fact.resolved),
        };
        if let Some(&at) = index.get(&identity) {
            merge(&mut places[at].intent, intent);
        } else {
            index.insert(identity, places.len());
            places.push(Place { intent: intent.clone(), fact });
        }
    }
    places
}

fn merge(into: &mut Intent, other: &Intent) {
    let Intent { path: _, reads, writes, trims, creates, lays_out, removes } = other;
    into.reads |= reads;
    into.writes |= writes;
    into.trims |= trims;
    into.creates |= creates;
    into.removes |= removes;
    // One file is laid out once, to the largest size that anyone wants of it.
    into.lays_out = into.lays_out.max(*lays_out);
}

fn judge_place(place: &Place<'_>, facts: &Facts, consent: &Consent, verdict: &mut Verdict) {
    let fact = place.fact;
    if let Some(error) = &fact.error {
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
        FileKind::NoFolder => {
            let folder = fact.path.parent().unwrap_or(Path::new("/")).display().to_string();
            let reason = format!("its folder {folder} does not exist");
            place.refuse(verdict, "target.no-folder", reason, format!("create it with: mkdir -p {folder}"));
        }
        FileKind::Folder => {
            let reason = "is a folder, and a file or a block device is needed".to_owned();
            place.refuse(verdict, "unsafe.kind", reason, "name a file in it");
        }
        FileKind::Other => {
            let reason = "is neither a regular file nor a block device".to_owned();
            let remedy =
                "name a file or a block device; pipes, sockets and character devices are not measured";
            place.refuse(verdict, "unsafe.kind", reason, remedy);
        }
    }
}

fn judge_absent(place: &Place<'_>, verdict: &mut Verdict) {
    if !place.intent.creates {
        let reason = "does not exist, and this run does not create it".to_owned();
        return place.refuse(verdict, "target.absent", reason, "check the path, or give the target a size");
    }
    if !place.fact.filesystem.as_ref().is_some_and(|fs| fs.can_create) {
        let reason = "does not exist and cannot be created in its folder".to_owned();
        let remedy = "check the folder's permissions and that its filesystem is not mounted read-only";
        place.refuse(verdict, "target.permission", reason, remedy);
    }
}

fn judge_file(place: &Place<'_>, file: &FileFact, consent: &Consent, verdict: &mut Verdict) {
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
    if !file.writable {
        let reason = "this user may not write to it".to_owned();
        place.refuse(verdict, "target.permission", reason, "change its permissions or the user");
    }
    if file.made_by_fathom || file.size.0 == 0 {
        return;
    }
    let path = place.intent.path.display();
    let size = file.size;
    if consent.overwrite {
        verdict.notes.push(format!(
            "{path}: {size} of a file that fathom did not make is overwritten, as --overwrite says"
        ));
    } else if consent.dialect_writes_named_files {
        verdict.notes.push(format!(
            "{path}: {size} of a file that fathom did not make is overwritten, as the job names it"
        ));
    } else {
        let reason = format!("holds {size} that fathom did not write");
        place.refuse(
            verdict,
            "unsafe.foreign-file",
            reason,
            "say --overwrite to lose its content, or name another file",
        );
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
        let reason = format!("{} is in use: {}", describe(place.fact, device), uses(&device.in_use));
        place.refuse(verdict, "unsafe.in-use", reason, release(&device.in_use));
    }
    if device.read_only {
        let reason = format!("the kernel has {} read-only", device.name);
        place.refuse(verdict, "target.read-only", reason, "make it writable, or measure reads only");
    }
    let destroyed = consent.destroy.iter().any(|named| names(named, place.fact, device, facts));
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
        ContentFact::Unrecognised => judge_unrecognised(place, device, destroyed, consent, verdict),
        ContentFact::Signed(signatures) => {
            let found = signatures.iter().map(signature_text).collect::<Vec<_>>().join(", ");
            if destroyed {
                let path = place.intent.path.display();
                verdict.notes.push(format!("{path}: {found} is destroyed, as --destroy says"));
            } else {
                let reason = format!("{} holds {found}", describe(place.fact, device));
                verdict.questions.push(ask(place, device, "unsafe.signature", reason));
            }
        }
    }
}

fn judge_unrecognised(
    place: &Place<'_>,
    device: &BlockDevice,
    destroyed: bool,
    consent: &Consent,
    verdict: &mut Verdict,
) {
    let path = place.intent.path.display();
    if destroyed || consent.yes {
        verdict.notes.push(format!("{path}: content without a known signature is overwritten, as agreed"));
    } else if consent.dialect_writes_named_files {
        verdict
            .notes
            .push(format!("{path}: content without a known signature is overwritten, as the job names it"));
    } else {
        let reason = format!("{} holds data without a known signature", describe(place.fact, device));
        verdict.questions.push(ask(place, device, "unsafe.content", reason));
    }
}

fn ask(place: &Place<'_>, device: &BlockDevice, code: &'static str, reason: String) -> Question {
    let resolved = place.fact.resolved.display().to_string();
    let signed = code == "unsafe.signature";
    let remedy = match (signed, device.serial.is_empty()) {
        (false, _) => "say --yes to lose it".to_owned(),
        (true, true) => format!("say --destroy={resolved} to lose it"),
        (true, false) => format!("say --destroy={resolved} or --destroy={} to lose it", device.serial),
    };
    let answer = if signed { tail(place.fact, device) } else { "yes".to_owned() };
    Question {
        code,
        path: place.intent.path.clone(),
        device: describe(place.fact, device),
        reason,
        remedy,
        answer,
        consent: resolved,
    }
}

/// The last characters of the serial, which a person has to look up; the name where the device has none.
fn tail(fact: &TargetFact, device: &BlockDevice) -> String {
    let serial: Vec<char> = device.serial.chars().collect();
    match serial.len().checked_sub(SERIAL_TAIL_CHARS) {
        Some(from) => serial[from..].iter().collect(),
        None => fact
            .resolved
            .file_name()
            .map_or_else(|| device.name.clone(), |name| name.to_string_lossy().into_owned()),
    }
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

/// Adds up what would be laid out per filesystem and compares it with what is free there.
fn judge_space(places: &[Place<'_>], verdict: &mut Verdict) {
    let mut wanted: BTreeMap<&Path, (Bytes, &Place<'_>)> = BTreeMap::new();
    for place in places {
        if let (Some(fs), 1..) = (&place.fact.filesystem, place.intent.lays_out.0) {
            let (sum, _) = wanted.entry(&fs.mount_point).or_insert((Bytes::ZERO, place));
            *sum = Bytes(sum.0.saturating_add(place.intent.lays_out.0));
        }
    }
    for (mount, (sum, place)) in wanted {
        let Some(fs) = &place.fact.filesystem else { continue };
        let reserve = reserve(fs.size);
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

fn uses(in_use: &[InUse]) -> String {
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
            InUse::Exclusive => "another program has it open exclusively".to_owned(),
        })
        .collect();
    texts.join(", ")
}

/// The way out of the first use that has one; the running system has none.
fn release(in_use: &[InUse]) -> String {
    if in_use.iter().any(|way| matches!(way, InUse::System { .. } | InUse::Store { .. })) {
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
mod tests {
    use super::*;
    use fathom_schema::{Filesystem, Signature};
    use proptest::prelude::*;
    use proptest::sample::subsequence;

    fn disk(path: &str, minor: u32, content: ContentFact) -> TargetFact {
        let name = path.rsplit('/').next().unwrap().to_owned();
        TargetFact {
            path: path.into(),
            resolved: path.into(),
            kind: FileKind::BlockDevice,
            error: None,
            filesystem: None,
            file: None,
            device: Some(BlockDevice {
                disk: name.trim_end_matches(char::is_numeric).to_owned(),
                name,
                number: DeviceNumber { major: 8, minor },
                size: Bytes::gib(1),
                serial: "S3R1AL42".to_owned(),
                content,
                ..BlockDevice::default()
            }),
        }
    }

    fn file(path: &str, kind: FileKind, size: Bytes) -> TargetFact {
        let fact = FileFact {
            size,
            written: size,
            made_by_fathom: false,
            writable: true,
            readable: true,
            in_use: Vec::new(),
        };
        TargetFact {
            path: path.into(),
            resolved: path.into(),
            kind,
            error: None,
            filesystem: Some(Filesystem {
                kind: "ext4".to_owned(),
                mount_point: "/mnt".into(),
                options: "rw".to_owned(),
                size: Bytes::gib(10),
                available: Bytes::gib(1),
                direct_align_bytes: Some(512),
                can_create: true,
            }),
            file: (kind == FileKind::File).then_some(fact),
            // The device under the filesystem is of course in use; that must not matter to a file.
            device: disk("/dev/sdz", 99, signed("ext4"))
                .device
                .map(|d| BlockDevice { in_use: every_use(), ..d }),
        }
    }

    fn signed(kind: &str) -> ContentFact {
        ContentFact::Signed(vec![Signature { kind: kind.to_owned(), offset: 512, label: "data".to_owned() }])
    }

    fn every_use() -> Vec<InUse> {
        let device = || "sda1".to_owned();
        vec![
            InUse::Mounted { device: device(), mount_point: "/mnt".into() },
            InUse::Swap { device: device() },
            InUse::Holder { device: device(), holder: "dm-0".to_owned() },
            InUse::LoopBacking { device: "loop0".to_owned() },
            InUse::System { mount_point: "/".into() },
            InUse::Store { folder: "/var/lib/fathom".into() },
            InUse::Exclusive,
        ]
    }

    fn with_device(mut fact: TargetFact, change: impl FnOnce(&mut BlockDevice)) -> TargetFact {
        change(fact.device.as_mut().unwrap());
        fact
    }

    fn with_file(mut fact: TargetFact, change: impl FnOnce(&mut FileFact)) -> TargetFact {
        change(fact.file.as_mut().unwrap());
        fact
    }

    fn intent(path: &Path, what: &str) -> Intent {
        Intent {
            path: path.to_owned(),
            reads: what.contains('r'),
            writes: what.contains('w'),
            trims: what.contains('t'),
            creates: what.contains('c'),
            lays_out: if what.contains('L') {
                Bytes::gib(1)
            } else if what.contains('l') {
                Bytes::mib(64)
            } else {
                Bytes::ZERO
            },
            removes: what.contains('x'),
        }
    }

    /// `y` yes, `o` overwrite, `p` a peer's dialect; the rest after a blank is `--destroy`.
    fn consent(text: &str) -> Consent {
        let (flags, destroy) = text.split_once(' ').unwrap_or((text, ""));
        Consent {
            yes: flags.contains('y'),
            overwrite: flags.contains('o'),
            destroy: destroy.split_whitespace().map(str::to_owned).collect(),
            dialect_writes_named_files: flags.contains('p'),
        }
    }

    /// Runs one case: what is meant for each fact, and the codes that come out; `?` marks a question, `~` a note.
    fn check(facts: Vec<TargetFact>, what: &str, agreed: &str, expect: &str) {
        let wanted: Vec<Intent> =
            facts.iter().zip(what.split_whitespace()).map(|(fact, what)| intent(&fact.path, what)).collect();
        let facts = Facts { targets: facts, ..Facts::default() };
        let verdict = judge(&wanted, &facts, &consent(agreed));
        let mut found: Vec<String> = verdict.refusals.iter().map(|refusal| refusal.code.to_owned()).collect();
        found.extend(verdict.questions.iter().map(|question| format!("?{}", question.code)));
        found.extend(verdict.notes.iter().map(|_| "~".to_owned()));
        assert_eq!(found.join(" "), expect, "{what} with {agreed:?}: {verdict:#?}");
        for refusal in &verdict.refusals {
            assert!(!refusal.reason.is_empty() && !refusal.remedy.is_empty(), "{refusal:?}");
        }
        assert_eq!(verdict.allows(), expect.replace('~', "").trim().is_empty());
    }

    #[test]
    fn devices_are_judged_by_content_and_consent() {
        let blank = || ContentFact::Blank;
        let data = || ContentFact::Unrecognised;
        let broken = || ContentFact::Unreadable("input/output error".to_owned());
        let gpt = || signed("gpt");
        let cases: &[(&dyn Fn() -> ContentFact, &str, &str, &str)] = &[
            (&blank, "w", "", ""),
            (&blank, "rwt", "", ""),
            (&data, "r", "", ""),
            (&data, "w", "", "?unsafe.content"),
            (&data, "t", "", "?unsafe.content"),
            (&data, "l", "", "?unsafe.content"),
            (&data, "w", "y", "~"),
            (&data, "w", "o", "?unsafe.content"),
            (&data, "w", "p", "~"),
            (&data, "w", " /dev/sda", "~"),
            (&gpt, "r", "", ""),
            (&gpt, "w", "", "?unsafe.signature"),
            (&gpt, "t", "yop", "?unsafe.signature"),
            (&gpt, "w", " /dev/sda", "~"),
            (&gpt, "w", " S3R1AL42", "~"),
            (&gpt, "w", " s3r1al42", "?unsafe.signature ~"),
            (&gpt, "w", " AL42", "?unsafe.signature ~"),
            (&gpt, "w", " /dev/sdb", "?unsafe.signature ~"),
            (&gpt, "w", " /dev/sda1", "?unsafe.signature ~"),
            (&gpt, "w", " sda", "?unsafe.signature ~"),
            (&broken, "r", "", ""),
            (&broken, "w", "yop /dev/sda", "unsafe.unreadable"),
            (&ContentFact::default, "r", "", ""),
            (&ContentFact::default, "w", "yop /dev/sda", "unsafe.unknown"),
        ];
        for (content, what, agreed, expect) in cases {
            check(vec![disk("/dev/sda", 0, content())], what, agreed, expect);
        }
    }

    #[test]
    fn what_is_in_use_is_refused_whatever_is_agreed() {
        for way in every_use() {
            for agreed in ["", "yop /dev/sda S3R1AL42"] {
                let used =
                    || with_device(disk("/dev/sda", 0, ContentFact::Blank), |d| d.in_use = vec![way.clone()]);
                for (what, expect) in [
                    ("r", ""),
                    ("w", "unsafe.in-use"),
                    ("t", "unsafe.in-use"),
                    ("l", "unsafe.in-use"),
                    ("x", "unsafe.in-use"),
                ] {
                    check(vec![used()], what, agreed, expect);
                }
            }
        }
    }

    #[test]
    fn files_are_judged_by_their_maker() {
        let foreign = || file("/mnt/a", FileKind::File, Bytes::mib(1));
        let own = || with_file(foreign(), |f| f.made_by_fathom = true);
        let empty = || file("/mnt/a", FileKind::File, Bytes::ZERO);
        let swap = || with_file(own(), |f| f.in_use = vec![InUse::Swap { device: "/mnt/a".to_owned() }]);
        let sealed = || with_file(own(), |f| f.writable = false);
        let secret = || with_file(own(), |f| f.readable = false);
        let cases: &[(&dyn Fn() -> TargetFact, &str, &str, &str)] = &[
            (&foreign, "r", "", ""),
            (&foreign, "w", "", "unsafe.foreign-file"),
            (&foreign, "rl", "", "unsafe.foreign-file"),
            (&foreign, "t", "y", "unsafe.foreign-file"),
            (&foreign, "x", "y /mnt/a", "unsafe.foreign-file ~"),
            (&foreign, "w", "o", "~"),
            (&foreign, "w", "p", "~"),
            (&own, "rwtlx", "", ""),
            (&empty, "w", "", ""),
            (&swap, "r", "", ""),
            (&swap, "w", "yop", "unsafe.in-use"),
            (&sealed, "r", "", ""),
            (&sealed, "w", "", "target.permission"),
            (&secret, "r", "", "target.permission"),
            (&secret, "w", "", ""),
        ];
        for (fact, what, agreed, expect) in cases {
            check(vec![fact()], what, agreed, expect);
        }
    }

    #[test]
    fn other_kinds_and_faults_are_refused() {
        let of_kind = |kind| file("/mnt/a", kind, Bytes::ZERO);
        let mut sealed = of_kind(FileKind::Absent);
        sealed.filesystem.as_mut().unwrap().can_create = false;
        let mut denied = disk("/dev/sda", 0, ContentFact::Blank);
        denied.error = Some("permission denied".to_owned());
        let mut bare = disk("/dev/sda", 0, ContentFact::Blank);
        bare.device = None;
        let locked = with_device(disk("/dev/sda", 0, ContentFact::Blank), |d| d.read_only = true);
        for (fact, what, expect) in [
            (of_kind(FileKind::Folder), "w", "unsafe.kind"),
            (of_kind(FileKind::Other), "w", "unsafe.kind"),
            (of_kind(FileKind::NoFolder), "wc", "target.no-folder"),
            (of_kind(FileKind::Absent), "wcl", ""),
            (of_kind(FileKind::Absent), "r", "target.absent"),
            (sealed, "wc", "target.permission"),
            (denied, "r", "target.unusable"),
            (bare, "w", "unsafe.unprobed"),
            (locked, "w", "target.read-only"),
        ] {
            check(vec![fact], what, "yop", expect);
        }
        let verdict = judge(&[intent(Path::new("/dev/sda"), "r")], &Facts::default(), &Consent::default());
        assert_eq!(verdict.refusals[0].code, "unsafe.unprobed");
    }

    #[test]
    fn several_targets_are_judged_together() {
        let a = || disk("/dev/sda", 0, signed("xfs"));
        let link = || TargetFact { path: "/dev/disk/by-id/ata-1".into(), ..a() };
        let part = || disk("/dev/sda1", 1, signed("ext4"));
        let twin = || disk("/dev/sdb", 16, signed("ext4"));
        let one = || file("/mnt/a", FileKind::Absent, Bytes::ZERO);
        let two = || file("/mnt/b", FileKind::Absent, Bytes::ZERO);
        let link_to_one = || TargetFact { path: "/mnt/link".into(), ..one() };
        for (facts, what, agreed, expect) in [
            (vec![a(), link()], "r w", "", "?unsafe.signature"),
            (vec![a(), link()], "w w", " /dev/disk/by-id/ata-1", "~"),
            // The link is only known to the probe, not a target of this run.
            (vec![a(), link()], "w", " /dev/disk/by-id/ata-1", "~"),
            (vec![a(), part()], "r r", "", ""),
            (vec![a(), part()], "r w", " /dev/sda1", "unsafe.overlap ~"),
            (vec![a(), part()], "w r", " /dev/sda", "unsafe.overlap ~"),
            // Two disks with one serial: the serial names neither.
            (vec![a(), twin()], "w w", " S3R1AL42", "?unsafe.signature ?unsafe.signature ~"),
            (vec![a(), twin()], "w w", " /dev/sda", "?unsafe.signature ~"),
            (vec![part()], "w", " S3R1AL42", "~"),
            (vec![one()], "wcL", "", "target.no-space"),
            (vec![one(), two()], "wcl wcl", "", ""),
            (vec![one(), link_to_one()], "wcl wcl", "", ""),
            (vec![one(), two()], "wcl wcL", "", "target.no-space"),
        ] {
            check(facts, what, agreed, expect);
        }
    }

    #[test]
    fn reserve_is_small_on_small_filesystems() {
        for (size, expect) in [
            (Bytes::mib(100), Bytes::mib(5)),
            (Bytes::gib(2), Bytes::mib(64)),
            (Bytes::gib(100), Bytes::gib(1)),
            (Bytes::ZERO, Bytes::ZERO),
        ] {
            assert_eq!(reserve(size), expect, "{size}");
        }
    }

    #[test]
    fn a_confirmed_question_is_not_asked_again() {
        let unserial = with_device(disk("/dev/sdb", 16, signed("ext4")), |d| d.serial.clear());
        let data = disk("/dev/sdc", 32, ContentFact::Unrecognised);
        for (fact, wrong, right) in
            [(disk("/dev/sda", 0, signed("xfs")), "yes", "AL42"), (unserial, "", "sdb"), (data, "no", "yes")]
        {
            let wanted = [intent(&fact.path, "w")];
            let facts = Facts { targets: vec![fact], ..Facts::default() };
            let mut agreed = Consent::default();
            let question = judge(&wanted, &facts, &agreed).questions.remove(0);
            assert!(!question.confirm(wrong, &mut agreed));
            assert!(!judge(&wanted, &facts, &agreed).allows());
            assert!(question.confirm(&format!("{right}\n"), &mut agreed), "{question:?}");
            assert!(judge(&wanted, &facts, &agreed).allows());
        }
    }

    #[test]
    fn messages_say_value_reason_and_remedy() {
        let used =
            with_device(disk("/dev/sda", 0, ContentFact::Blank), |d| d.in_use = every_use()[..1].to_vec());
        let facts = Facts { targets: vec![used, disk("/dev/sdb", 16, signed("xfs"))], ..Facts::default() };
        let wanted = [intent(Path::new("/dev/sda"), "w"), intent(Path::new("/dev/sdb"), "w")];
        let verdict = judge(&wanted, &facts, &Consent::default());
        assert_eq!(
            verdict.refusals[0].to_string(),
            "/dev/sda: /dev/sda (1 GiB, serial S3R1AL42) is in use: sda1 is mounted on /mnt; \
             unmount /mnt or name another target"
        );
        assert_eq!(
            verdict.questions[0].to_string(),
            "/dev/sdb: /dev/sdb (1 GiB, serial S3R1AL42) holds xfs \"data\" (at byte 512); \
             say --destroy=/dev/sdb or --destroy=S3R1AL42 to lose it"
        );
    }

    fn contents() -> impl Strategy<Value = ContentFact> {
        prop_oneof![
            Just(ContentFact::Unknown),
            Just(ContentFact::Blank),
            Just(ContentFact::Unrecognised),
            Just(ContentFact::Unreadable("no".to_owned())),
            Just(signed("luks")),
        ]
    }

    fn consents() -> impl Strategy<Value = Consent> {
        let named = vec!["/dev/sda", "/dev/sda1", "/dev/sdb", "/dev/link", "S3R1AL42", "sda", "", "/"];
        let destroy = subsequence(named, 0..8).prop_map(|v| v.into_iter().map(str::to_owned).collect());
        (any::<bool>(), any::<bool>(), destroy, any::<bool>()).prop_map(
            |(yes, overwrite, destroy, dialect)| Consent {
                yes,
                overwrite,
                destroy,
                dialect_writes_named_files: dialect,
            },
        )
    }

    proptest! {
        #[test]
        fn no_consent_lets_a_used_device_be_changed(
            ways in subsequence(every_use(), 1..=7),
            content in contents(),
            agreed in consents(),
            what in prop_oneof![Just("w"), Just("t"), Just("l"), Just("x"), Just("rwt")],
            by_link in any::<bool>(),
        ) {
            let mut fact = with_device(disk("/dev/sda", 0, content), |d| d.in_use = ways);
            if by_link {
                fact.path = "/dev/link".into();
            }
            let wanted = [intent(&fact.path, what)];
            let facts = Facts { targets: vec![fact], ..Facts::default() };
            prop_assert!(judge(&wanted, &facts, &agreed).refusals.iter().any(|r| r.code == "unsafe.in-use"));
        }

        #[test]
        fn a_signed_device_is_changed_only_when_it_is_named(agreed in consents(), by_link in any::<bool>()) {
            let mut fact = disk("/dev/sda", 0, signed("zfs"));
            if by_link {
                fact.path = "/dev/link".into();
            }
            let wanted = [intent(&fact.path, "w")];
            let named = agreed.destroy.iter().any(|text| {
                text == "/dev/sda" || text == "S3R1AL42" || (by_link && text == "/dev/link")
            });
            let facts = Facts { targets: vec![fact], ..Facts::default() };
            prop_assert_eq!(judge(&wanted, &facts, &agreed).allows(), named);
        }

        #[test]
        fn reading_needs_no_consent(content in contents(), ways in subsequence(every_use(), 0..=7)) {
            let fact = with_device(disk("/dev/sda", 0, content), |d| d.in_use = ways);
            let wanted = [intent(&fact.path, "r")];
            let facts = Facts { targets: vec![fact], ..Facts::default() };
            prop_assert!(judge(&wanted, &facts, &Consent::default()).allows());
        }
    }
}
