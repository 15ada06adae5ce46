//! The sessions as they lie in the folder of the runs: for the owner alone, whole or not at all, and shared by all servers
//! of the folder.

use super::{Change, KEPT_MAX, Kept};
use rustix::fs::{FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The file's name.
const FILE: &str = ".sessions.json";
/// What whoever changes the file holds: the file itself is another one after each change.
const LOCK: &str = ".sessions.lock";
/// Bits of a file's mode that let others at it.
const OTHERS: u32 = 0o077;

/// The file.
#[derive(Debug)]
pub(super) struct SessionsFile(PathBuf);

impl SessionsFile {
    pub(super) fn of(folder: &Path) -> Self {
        Self(folder.join(FILE))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// The sessions that are not too old; none where there is no file.
    pub(super) fn read(&self) -> io::Result<Kept> {
        let mut text = Vec::new();
        match open_own(&self.0, OFlags::RDONLY) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Kept::default()),
            file => file?.read_to_end(&mut text)?,
        };
        let mut left = Kept(serde_json::from_slice(&text)?);
        left.0.retain(|good| !good.is_too_old());
        let surplus = left.0.len().saturating_sub(KEPT_MAX);
        left.0.drain(..surplus);
        Ok(left)
    }

    /// Makes one change; what other servers have written stays. What cannot be read gives way to `own` sessions, in which
    /// the change is made already.
    pub(super) fn change(&self, change: &Change, own: Kept) -> io::Result<()> {
        let folder = self.0.parent().unwrap_or(Path::new("."));
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        // Held until it is closed, by one thread of one server.
        let lock = open_own(&folder.join(LOCK), OFlags::RDWR | OFlags::CREATE)?;
        rustix::fs::flock(&lock, FlockOperation::LockExclusive)?;
        let all = match self.read() {
            Ok(mut all) => {
                all.change(change);
                all
            }
            Err(_) => own,
        };
        let new = self.0.with_extension("new");
        match std::fs::remove_file(&new) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
        file.write_all(&serde_json::to_vec(&all.0)?)?;
        file.sync_all()?;
        std::fs::rename(&new, &self.0)
    }
}

/// Opens what is a file of ours that nobody else can read or write: whoever can plant another one would let himself in.
fn open_own(path: &Path, flags: OFlags) -> io::Result<File> {
    // A link would lead to what is another's, and a pipe would be waited for.
    let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR) {
        Err(Errno::LOOP) => return Err(io::Error::other("it is a link")),
        file => file?,
    };
    let found = rustix::fs::fstat(&file)?;
    let why = if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
        "it is no regular file"
    } else if found.st_uid != rustix::process::geteuid().as_raw() {
        "it is another user's"
    } else if found.st_mode & OTHERS != 0 {
        "others can read or write it; remove it, or take their rights away (chmod 600)"
    } else {
        return Ok(file.into());
    };
    Err(io::Error::other(why))
}

#[cfg(test)]
mod tests {
    use super::super::{AGE_MS_MAX, Good, Role};
    use super::*;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    fn good(wall_ms: u64) -> Good {
        Good { digest: "ab".to_owned(), role: Role::Admin, wall_ms }
    }

    fn written(path: &Path, text: &[u8], mode: u32) {
        std::fs::write(path, text).expect("there is room");
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("it is ours");
    }

    fn why_not(file: &SessionsFile) -> String {
        file.read().expect_err("it is not to be believed").to_string()
    }

    #[test]
    fn what_others_can_plant_is_not_believed() {
        let folder = tempfile::tempdir().expect("there is room");
        let file = SessionsFile::of(folder.path());
        let text = serde_json::to_vec(&[good(fathom_run::wall_ms())]).expect("it can be written");
        assert!(file.read().expect("there is none").0.is_empty());
        written(file.path(), &text, 0o600);
        assert_eq!(file.read().expect("it is ours").0.len(), 1);
        for mode in [0o640, 0o602, 0o644] {
            written(file.path(), &text, mode);
            assert!(why_not(&file).contains("others can read or write it"), "{mode:o}");
        }
        if rustix::process::geteuid().is_root() {
            written(file.path(), &text, 0o600);
            chown(file.path(), Some(65_534), None).expect("root may");
            assert!(why_not(&file).contains("another user's"));
        }
        std::fs::remove_file(file.path()).expect("it is there");
        let elsewhere = folder.path().join("elsewhere");
        written(&elsewhere, &text, 0o600);
        symlink(&elsewhere, file.path()).expect("there is room");
        assert!(why_not(&file).contains("a link"));
        std::fs::remove_file(file.path()).expect("it is there");
        // Nobody writes into the pipe: who waited for that would wait forever.
        let mode = Mode::RUSR | Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, file.path(), FileType::Fifo, mode, 0).expect("there is room");
        assert!(why_not(&file).contains("no regular file"));
        // What is not believed gives way to what is known, and what a link led to stays.
        let own = good(fathom_run::wall_ms());
        let kept = file.change(&Change::Opened(own.clone()), Kept([own].into()));
        kept.expect("there is room");
        assert_eq!(file.read().expect("it is ours").0.len(), 1);
        assert_eq!(std::fs::read(&elsewhere).expect("it is there"), text);
    }

    #[test]
    fn what_is_old_or_garbled_is_not_taken_over() {
        let folder = tempfile::tempdir().expect("there is room");
        let file = SessionsFile::of(folder.path());
        let old = good(fathom_run::wall_ms() - AGE_MS_MAX - 1);
        written(file.path(), &serde_json::to_vec(&[old]).expect("it can be written"), 0o600);
        assert!(file.read().expect("it is ours").0.is_empty());
        written(file.path(), b"{", 0o600);
        assert!(file.read().is_err());
        let (none, fault) = super::super::Sessions::of(folder.path(), 7070, false);
        assert!(fault.expect("it cannot be read").contains("invited anew"));
        assert!(super::super::lock(&none.sessions).0.is_empty());
    }
}
