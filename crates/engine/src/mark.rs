//! The mark on files that fathom made: an extended attribute, so that a later run may overwrite them unasked and nothing
//! else.
//!
//! It holds what the file was like when fathom last was done with it: its size and the times of its last change and of
//! its last change of status. A file that is not like that any more is someone else's, whoever made it: `cp` onto it keeps
//! the attribute, `touch -r` gives it its old time back, but nothing gives it its old change of status. What a run writes
//! carries that run's name until it has ended. All of it has room in an inode of 256 bytes (ext4's default) beside it: what
//! has not is given a block of its own there, and to take and to free one at each start and end costs a file 0.5 to 7 ms.
//! After a kill nobody can tell that run's last writes from what someone has
//! put there since, so what a killed run was writing is someone else's too, unless it had not written yet, or a run that goes on
//! from it takes it over ([`LeftFile`]).

use fathom_io::clock;
use fathom_schema::VoidMark;
use fathom_units::Nanos;
use rustix::fs::{self, XattrFlags};
use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// The extended attribute.
pub const MARK: &str = "user.fathom";
/// Its value while a run writes the file, and after a run that was killed, begins with this and the run.
const IN_USE: char = '>';
/// Its value while the file is laid out, and after a run that was killed meanwhile, begins with this and the run.
const LAYOUT: char = '+';
/// Ends the state and the run, of which there are none when the last run has ended.
const STATE_END: char = ':';
/// Longest value that is read: a character of state, 26 of a run, a size and two times of at most 26 digits each.
const VALUE_BYTES_MAX: usize = 256;
/// Of the numbers in it: the largest that has digits of letters.
const RADIX: u32 = 36;
/// Setting the mark is itself a change of status, whose time cannot be known before. It may lie this much after the time
/// that the mark holds: the kernel counts it in ticks of 1 to 10 ms, so that mostly it is the same.
const SETTING_NS_MAX: u64 = 5_000_000;
/// Longest tick of a kernel's clock (100 Hz): a time that it gives may be this old.
const TICK_NS_MAX: u64 = 10_000_000;
/// Tries to set the mark within that time. Each takes microseconds; one may fall on the edge of a tick or wait for a
/// journal.
const TRIES: u32 = 16;

/// What a mark says of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Mark {
    /// There is none: the file is someone else's.
    Absent,
    /// There is one that does not hold any more: the file counts as someone else's.
    Void {
        /// Why.
        because: VoidMark,
        /// It was left before it was laid out in full.
        unfinished: bool,
    },
    /// fathom made it, and nobody has changed it since.
    Ours,
}

/// Marks an open file as fathom's while `run` writes it. Filesystems without user attributes (some tmpfs): a later run
/// then has to be told `--overwrite`.
pub(crate) fn begin(file: &File, run: &str) {
    seal(file, &format!("{IN_USE}{run}"));
}

/// Marks a new file that `run` is about to lay out.
pub(crate) fn begin_layout(file: &File, run: &str) {
    seal(file, &format!("{LAYOUT}{run}"));
}

/// Marks an open file as left by a run that has ended. One that is not laid out in full keeps the mark that says so.
pub(crate) fn finish(file: &File) {
    if !value_of(file).is_some_and(|value| value.starts_with(LAYOUT)) {
        complete(file);
    }
}

/// Marks an open file as fathom's and laid out.
pub(crate) fn complete(file: &File) {
    seal(file, "");
}

/// A file as a killed run left it, which the run that goes on from that one writes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftFile {
    /// Where it is.
    pub path: PathBuf,
    /// The run whose name its mark has.
    pub run: String,
    /// The size that that run gave it, in bytes.
    pub size: u64,
    /// Until when that run can have changed it, milliseconds since 1970.
    pub until_ms: u64,
}

impl LeftFile {
    /// Makes it fathom's again, if it is as it was left and was laid out in full; whether it is now. Only for a run that was allowed to
    /// write it and has locked it: from here on every run may.
    pub fn take_over(&self) -> bool {
        let Ok(file) = File::open(&self.path) else { return false };
        let of_run = VoidMark::Unended { run: self.run.clone() };
        let is_left = file.metadata().is_ok_and(|meta| {
            let until_ns = i128::from(self.until_ms) * 1_000_000;
            meta.size() == self.size && status_ns(&meta) <= until_ns
        });
        if is_left && read(&file) == (Mark::Void { because: of_run, unfinished: false }) {
            complete(&file);
        }
        is_ours(&file)
    }
}

/// Takes the mark away: the file holds what someone else has written.
pub(crate) fn take_away(file: &File) {
    let _ = fs::fremovexattr(file, MARK);
}

/// Sets a mark of this state that holds. Where that cannot be done in time, one that does not is left: the file then
/// counts as someone else's.
fn seal(file: &File, state: &str) {
    for _ in 0..TRIES {
        let Ok(before) = file.metadata() else { return };
        let value = format!("{state}{STATE_END}{}", likeness(&before));
        if fs::fsetxattr(file, MARK, value.as_bytes(), XattrFlags::empty()).is_err() {
            return;
        }
        if file.metadata().is_ok_and(|after| is_like(&likeness(&before), &after)) {
            return;
        }
    }
}

/// Returns when the marks set so far are old enough that no later change of a file passes for the setting of its mark:
/// what a user's next command does to the file is seen, however soon it comes.
pub(crate) fn settle() {
    let settled = clock::monotonic().after(Nanos(SETTING_NS_MAX + TICK_NS_MAX));
    while clock::monotonic() < settled {
        clock::sleep_until(settled);
    }
}

/// Whether an open file is fathom's and unchanged since.
pub(crate) fn is_ours(file: &File) -> bool {
    read(file) == Mark::Ours
}

/// What the mark on an open file says.
pub(crate) fn read(file: &File) -> Mark {
    let (Some(value), Ok(meta)) = (value_of(file), file.metadata()) else { return Mark::Absent };
    // Marks of other versions are text as well, and do not fit.
    let Some((state, likeness)) = value.split_once(STATE_END) else {
        return Mark::Void { because: VoidMark::Changed, unfinished: false };
    };
    let unfinished = state.starts_with(LAYOUT);
    match state.strip_prefix([IN_USE, LAYOUT]) {
        _ if is_like(likeness, &meta) => Mark::Ours,
        Some(run) => Mark::Void { because: VoidMark::Unended { run: run.to_owned() }, unfinished },
        None => Mark::Void { because: VoidMark::Changed, unfinished },
    }
}

fn value_of(file: &File) -> Option<String> {
    let mut found = [0_u8; VALUE_BYTES_MAX];
    let length = fs::fgetxattr(file, MARK, &mut found[..]).ok()?;
    Some(String::from_utf8_lossy(&found[..length]).into_owned())
}

/// What tells a file from itself after a change.
fn likeness(meta: &Metadata) -> String {
    format!("{}@{}", content_likeness(meta), digits(status_ns(meta)))
}

fn content_likeness(meta: &Metadata) -> String {
    format!("{}@{}", digits(meta.size().into()), digits(ns_of(meta.mtime(), meta.mtime_nsec())))
}

fn status_ns(meta: &Metadata) -> i128 {
    ns_of(meta.ctime(), meta.ctime_nsec())
}

fn ns_of(seconds: i64, ns: i64) -> i128 {
    i128::from(seconds) * 1_000_000_000 + i128::from(ns)
}

/// A number in as few characters as letters and digits can say it in.
fn digits(number: i128) -> String {
    let mut left = number.unsigned_abs();
    let mut reversed = Vec::new();
    while left > 0 || reversed.is_empty() {
        let digit = u32::try_from(left % u128::from(RADIX)).expect("a remainder is less than what divides");
        reversed.push(char::from_digit(digit, RADIX).expect("a digit is less than the radix"));
        left /= u128::from(RADIX);
    }
    let sign = if number < 0 { "-" } else { "" };
    sign.chars().chain(reversed.into_iter().rev()).collect()
}

fn is_like(likeness: &str, meta: &Metadata) -> bool {
    let Some((content, status)) = likeness.rsplit_once('@') else { return false };
    let since = i128::from_str_radix(status, RADIX).map(|status| status_ns(meta) - status);
    content == content_likeness(meta)
        && since.is_ok_and(|since| (0..=i128::from(SETTING_NS_MAX)).contains(&since))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::path::Path;
    use std::process::Command;

    /// What happens to a file of 4 bytes with a mark, and what the mark says then.
    fn check(what: &str, put_mark: fn(&File), happens: impl FnOnce(&mut File, &Path), expect: &Mark) {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, b"ours").unwrap();
        let mut file = File::options().read(true).write(true).open(&path).unwrap();
        assert_eq!(read(&file), Mark::Absent);
        put_mark(&file);
        if value_of(&file).is_none() {
            writeln!(std::io::stderr(), "SKIPPED: {} has no user attributes", folder.path().display())
                .expect("stderr can be written");
            return;
        }
        assert_eq!(read(&file), Mark::Ours, "{what}: at once");
        // The clock of the filesystem ticks on before anything else happens.
        tick(&folder.path().join("clock"), &file);
        happens(&mut file, &path);
        assert_eq!(&read(&File::open(&path).unwrap()), expect, "{what}");
    }

    /// Touches a file beside until its time is too far from the marked one's to pass for the setting of a mark.
    fn tick(clock: &Path, marked: &File) {
        let marked = status_ns(&marked.metadata().unwrap());
        loop {
            std::fs::write(clock, b"tick").unwrap();
            if status_ns(&std::fs::metadata(clock).unwrap()) > marked + i128::from(2 * SETTING_NS_MAX) {
                return;
            }
        }
    }

    fn unended(unfinished: bool) -> Mark {
        Mark::Void { because: VoidMark::Unended { run: "RUN".to_owned() }, unfinished }
    }

    #[test]
    fn a_mark_holds_until_anything_changes() {
        let changed = Mark::Void { because: VoidMark::Changed, unfinished: false };
        check("nothing", complete, |_, _| {}, &Mark::Ours);
        check("reading", complete, |_, path| drop(std::fs::read(path).unwrap()), &Mark::Ours);
        check("a copy onto it", complete, |_, path| std::fs::write(path, b"else").unwrap(), &changed);
        check("another size", complete, |file, _| file.set_len(2).unwrap(), &changed);
        let restore: fn(&mut File, &Path) = |file, path| {
            let time = file.metadata().unwrap().modified().unwrap();
            std::fs::write(path, b"else").unwrap();
            file.set_modified(time).unwrap();
        };
        check("a copy with the old time", complete, restore, &changed);
        let renew = |file: &mut File, path: &Path| {
            restore(file, path);
            complete(file);
        };
        check("a new mark", complete, renew, &Mark::Ours);
    }

    #[test]
    fn what_a_killed_run_wrote_is_nobodys() {
        let write: fn(&mut File, &Path) = |file, _| file.write_all(b"data").unwrap();
        check("a run, killed before it wrote", |file| begin(file, "RUN"), |_, _| {}, &Mark::Ours);
        check("a run that wrote", |file| begin(file, "RUN"), write, &unended(false));
        check("a layout that wrote", |file| begin_layout(file, "RUN"), write, &unended(true));
        let end: fn(&mut File, &Path) = |file, _| {
            file.write_all(b"data").unwrap();
            finish(file);
        };
        check("a run that ended", |file| begin(file, "RUN"), end, &Mark::Ours);
        check("a layout that did not", |file| begin_layout(file, "RUN"), end, &unended(true));
        let left = |file: &File, path: &Path| {
            let meta = file.metadata().unwrap();
            let until_ms = u64::try_from(status_ns(&meta) / 1_000_000).unwrap() + 1;
            LeftFile { path: path.to_owned(), run: "RUN".to_owned(), size: meta.size(), until_ms }
        };
        let take = |file: &mut File, path: &Path| {
            file.write_all(b"data").unwrap();
            let left = left(file, path);
            assert!(!LeftFile { run: "OTHER".to_owned(), ..left.clone() }.take_over());
            assert!(!LeftFile { size: left.size + 1, ..left.clone() }.take_over());
            assert!(!LeftFile { until_ms: left.until_ms - 2, ..left.clone() }.take_over());
            assert!(left.take_over());
        };
        check("a run that is gone on with", |file| begin(file, "RUN"), take, &Mark::Ours);
        let refused = |file: &mut File, path: &Path| {
            file.write_all(b"data").unwrap();
            assert!(!left(file, path).take_over());
        };
        check("a layout that is gone on with", |file| begin_layout(file, "RUN"), refused, &unended(true));
    }

    #[test]
    fn a_mark_has_room_in_the_inode() {
        // 256 bytes, of which 128 and 32 are fields; 4 head what follows, 16 the entry, whose name takes 8; 4 end the list.
        let room = 256 - 128 - 32 - 4 - 16 - 8 - 4;
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let file = File::create(folder.path().join("file")).unwrap();
        file.set_len(1 << 40).unwrap();
        begin(&file, "01ARZ3NDEKTSV4RRFFQ69G5FAV");
        let Some(value) = value_of(&file) else {
            writeln!(std::io::stderr(), "SKIPPED: {} has no user attributes", folder.path().display())
                .expect("stderr can be written");
            return;
        };
        assert!(value.len() <= room, "{value}");
    }

    #[test]
    fn numbers_read_as_they_were_written() {
        for number in [0, 1, 35, 36, -1, -36, i128::from(i64::MAX), i128::MAX, i128::MIN + 1] {
            assert_eq!(i128::from_str_radix(&digits(number), RADIX), Ok(number));
        }
        assert_eq!((digits(35), digits(-37)), ("z".to_owned(), "-11".to_owned()));
    }

    /// Marks of earlier versions, and a copy with all its attributes.
    #[test]
    fn what_cannot_be_told_is_someone_elses() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let (path, copy) = (folder.path().join("file"), folder.path().join("copy"));
        std::fs::write(&path, b"ours").unwrap();
        let file = File::open(&path).unwrap();
        let times = content_likeness(&file.metadata().unwrap());
        for value in
            ["1", "in use:4-4", "layout:4:85944171f73967e8", &times, "in use by", "", ":", ">", ">RUN:"]
        {
            if fs::fsetxattr(&file, MARK, value.as_bytes(), XattrFlags::empty()).is_err() {
                writeln!(std::io::stderr(), "SKIPPED: {} has no user attributes", folder.path().display())
                    .expect("stderr can be written");
                return;
            }
            assert!(!is_ours(&file), "{value}");
        }
        complete(&file);
        tick(&folder.path().join("clock"), &file);
        assert!(Command::new("cp").arg("-a").args([&path, &copy]).status().unwrap().success());
        assert!(is_ours(&file) && !is_ours(&File::open(&copy).unwrap()));
    }
}
