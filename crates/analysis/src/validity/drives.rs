//! Checks of what the drives say of themselves: a drive that fails, is slowed down by its heat or tests itself measures nothing
//! but that.

use super::Found;
use crate::drives::{Drive, drives, number};
use fathom_schema::drive as name;
use fathom_schema::{Record, Severity};

/// Counts of what cannot be read, by how grave they are.
const DEFECTS: [&str; 4] = [name::PENDING, name::UNCORRECTABLE, name::MEDIA_ERRORS, name::REALLOCATED];
/// Wear at which a drive's life is over by its maker's estimate, percent.
const WORN: u64 = 100;

/// Checks of the run as a whole.
pub(super) fn run(record: &Record, found: &mut Found) {
    for drive in drives(record) {
        silent(&drive, found);
        failing(&drive, found);
        defects(&drive, found);
        heat(&drive, found);
        for said in drive.said(name::SELF_TEST).filter(|said| *said != "none") {
            found.add(
                "drive.self-test",
                Severity::Warn,
                format!("{} tests itself ({said})", drive.device),
                "a drive that tests itself answers more slowly: wait until it is through (`smartctl -c`), and run it again",
            );
        }
    }
}

/// A drive that answered before and does not any more may be gone.
fn silent(drive: &Drive, found: &mut Found) {
    if let Some(why) = drive.silent.as_ref().filter(|_| !drive.facts.is_empty()) {
        found.add(
            "drive.silent",
            Severity::Warn,
            format!("{} said how it is before the run and did not after it ({why})", drive.device),
            "look whether the drive is still there, and what the kernel says of it (`dmesg`)",
        );
    }
}

/// What a controller warns of, one by one.
fn warnings(drive: &Drive) -> impl Iterator<Item = &str> {
    drive.said(name::WARNINGS).flat_map(|said| said.split(", ")).filter(|warning| *warning != "none")
}

fn failing(drive: &Drive, found: &mut Found) {
    let failed = drive.said(name::STATUS).any(|said| said == "failed").then_some("that it is failing");
    let mut said: Vec<&str> = warnings(drive).filter(|warning| *warning != name::HEAT_WARNING).collect();
    said.dedup();
    let warns = (!said.is_empty()).then(|| format!("as a warning: {}", said.join(", ")));
    if let Some(said) = failed.map(str::to_owned).or(warns) {
        found.add(
            "drive.failing",
            Severity::Warn,
            format!("{} says of itself {said}", drive.device),
            "save what is on it first; what it does now says little of a sound drive of its kind",
        );
    }
    if let Some(wear) = drive.last(name::WEAR).filter(|wear| number(wear).is_some_and(|wear| wear >= WORN)) {
        found.add(
            "drive.worn",
            Severity::Warn,
            format!("{} has used up {wear} of the life that its maker expects", drive.device),
            "a worn drive corrects more and is slower: compare it with a new one of its kind",
        );
    }
}

fn defects(drive: &Drive, found: &mut Found) {
    let mut grown = Vec::new();
    let mut known = Vec::new();
    let mut is_old = true;
    for name in DEFECTS {
        match drive.counts(name) {
            Some((before, after)) if after > before => grown.push(format!("{name} {before} → {after}")),
            _ => {
                let last = drive.last(name).filter(|last| number(last).is_some_and(|last| last > 0));
                is_old &= last.is_none() || drive.is_known_before(name);
                known.extend(last.map(|last| format!("{name} {last}")));
            }
        }
    }
    if !grown.is_empty() {
        found.add(
            "drive.defects-grew",
            Severity::Warn,
            format!("{} counted more of its defects during the run: {}", drive.device, grown.join(", ")),
            "the drive found what it cannot read: save what is on it, and look where with `fathom scan`",
        );
    }
    if !known.is_empty() {
        found.add(
            "drive.defects",
            Severity::Info,
            format!(
                "{} counts defects{}: {}",
                drive.device,
                if is_old { " that it had before" } else { "" },
                known.join(", ")
            ),
            "sectors that were replaced lie elsewhere, and pending ones cannot be read: `fathom scan` shows what is slow",
        );
    }
    if let Some((before, after)) =
        drive.counts(name::INTERFACE_ERRORS).filter(|(before, after)| after > before)
    {
        found.add(
            "drive.interface-errors",
            Severity::Warn,
            format!("transfers of {} were damaged on their way: {before} → {after}", drive.device),
            "each is sent again, which takes time: change the cable or the slot, and run it again",
        );
    }
}

fn heat(drive: &Drive, found: &mut Found) {
    let grew = |name: &str| drive.counts(name).map_or(0, |(before, after)| after.saturating_sub(before));
    let (times, minutes) = (grew(name::THROTTLED_TIMES), grew(name::HOT_MINUTES));
    if times > 0 {
        found.add(
            "drive.throttled",
            Severity::Warn,
            format!("{} slowed itself down for its temperature {times} times during the run", drive.device),
            "cool the drive, and run it again",
        );
    }
    let warns = warnings(drive).any(|warning| warning == name::HEAT_WARNING);
    if minutes > 0 || warns {
        let how = if minutes > 0 {
            format!("was beyond its temperatures for {minutes} minutes of the run")
        } else {
            "warns that its temperature is beyond its threshold".to_owned()
        };
        found.add(
            "drive.hot",
            Severity::Warn,
            format!("{} {how}", drive.device),
            "a hot drive slows itself down: cool it, and run it again",
        );
    }
}
