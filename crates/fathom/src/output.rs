//! Documents that are written beside a run's record: reports and logs under names that a user gave. Owns what such a
//! name may lead to, and looks before the run, so that no hour of measuring ends at a slip of the pen. Does not know
//! what is in the documents.

use crate::diagnose::printable;
use crate::exit::Exit;
use crate::terminal;
use fathom_engine::probe::{FileUses, Roots};
use fathom_planner::safety;
use fathom_schema::Facts;
use rustix::fs::{Access, CWD, FallocateFlags, RenameFlags, access, fallocate, getxattr, renameat_with};
use rustix::io::Errno;
use std::cell::OnceCell;
use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{BufWriter, ErrorKind, Write};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};

/// Links that the kernel follows for one name at most (`path_resolution(7)`).
const LINKS_MAX: u32 = 40;
/// Names beside an output that are tried at most.
const PARTS_MAX: u32 = 100;

/// Why a document cannot be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// What is wrong, with the path: a lower-case fragment.
    pub(crate) message: String,
    /// Whether writing would have destroyed something, which no command goes on with; else it merely cannot work.
    pub(crate) destroys: bool,
}

impl Fault {
    /// Says it; the exit code when nothing was run because of it.
    pub(crate) fn refuse(&self) -> Exit {
        terminal::message(&format!("refused: {}", printable(&self.message)));
        if self.destroys { Exit::Usage } else { Exit::Target }
    }
}

/// What a name leads to, whichever of its names that is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Place {
    /// Something that is there.
    There { device: u64, inode: u64 },
    /// Something that is not there yet, in a folder that is.
    Absent { device: u64, folder_inode: u64, name: OsString },
    /// Nothing that could be.
    Nowhere(PathBuf),
}

impl Place {
    fn of(path: &Path) -> Self {
        let path = followed(path);
        if let Ok(meta) = std::fs::metadata(&path) {
            return Self::of_meta(&meta);
        }
        match (std::fs::metadata(folder(&path)), path.file_name()) {
            (Ok(meta), Some(name)) => {
                Self::Absent { device: meta.dev(), folder_inode: meta.ino(), name: name.to_owned() }
            }
            _ => Self::Nowhere(path),
        }
    }

    fn of_meta(meta: &Metadata) -> Self {
        Self::There { device: meta.dev(), inode: meta.ino() }
    }
}

/// What no output may take the place of: a job's targets, the files it was read from, whatever is in use, and the records
/// of runs. As it lies at one moment: what is in use, at that of the first output that is there already.
pub(crate) struct Spared {
    targets: Vec<PathBuf>,
    job_files: Vec<PathBuf>,
    store: PathBuf,
    named: HashMap<Place, String>,
    /// Looked at where an output asks: it reads all devices of the host.
    uses: OnceCell<FileUses>,
}

impl Spared {
    /// Looks now, at what is in use once an output asks for it.
    pub(crate) fn of(facts: &Facts, job_files: &[PathBuf], store: &Path) -> Self {
        let targets = facts.targets.iter().map(|target| target.path.clone()).collect();
        Self::new(targets, job_files.to_vec(), store.to_owned())
    }

    /// The same things, looked at again.
    pub(crate) fn again(&self) -> Self {
        Self::new(self.targets.clone(), self.job_files.clone(), self.store.clone())
    }

    /// These and others, looked at again: those of runs that follow one another.
    pub(crate) fn joined(mut self, targets: &[PathBuf], job_files: &[PathBuf]) -> Self {
        self.targets.extend_from_slice(targets);
        self.job_files.extend_from_slice(job_files);
        self.again()
    }

    /// These but for files that a job reads and leaves anew under the same name.
    pub(crate) fn but_for(&self, files: &[PathBuf]) -> Self {
        let stays = self.job_files.iter().filter(|file| !files.contains(file)).cloned().collect();
        Self::new(self.targets.clone(), stays, self.store.clone())
    }

    /// As [`Spared::joined`], of all that another spares.
    pub(crate) fn and(self, other: &Self) -> Self {
        self.joined(&other.targets, &other.job_files)
    }

    /// Where nothing is measured.
    pub(crate) fn without_targets(job_files: &[PathBuf], store: &Path) -> Self {
        Self::new(Vec::new(), job_files.to_vec(), store.to_owned())
    }

    fn new(targets: Vec<PathBuf>, job_files: Vec<PathBuf>, store: PathBuf) -> Self {
        let of = |path: &PathBuf, what: String| (Place::of(path), what);
        let job = job_files.iter().map(|path| of(path, format!("the job file {}", path.display())));
        let target =
            targets.iter().map(|path| of(path, format!("the target {} of this job", path.display())));
        // Of two that are one, the target is the graver.
        let named = job.chain(target).collect();
        Self { targets, job_files, store, named, uses: OnceCell::new() }
    }

    /// Fails with words when the output `path`, which leads to `place`, is one of them.
    fn spare(&self, path: &Path, place: &Place) -> Result<(), String> {
        let shown = path.display();
        if let Some(what) = self.named.get(place) {
            return Err(format!("the output {shown} is {what}; name another file"));
        }
        let Ok(resolved) = path.canonicalize() else { return Ok(()) };
        if !resolved.is_file() {
            return Ok(());
        }
        let in_use = self.uses.get_or_init(|| FileUses::look(&Roots::default(), &self.store));
        match in_use.of_file(&resolved, false).as_slice() {
            [] => Ok(()),
            uses => Err(format!("the output {shown} is in use: {}; name another file", safety::uses(uses))),
        }
    }
}

/// What would keep a document from being written to `path`, or must: nothing is opened.
pub(crate) fn check(path: &Path, spared: &Spared) -> Result<(), Fault> {
    let shown = path.display();
    let destroys = |message: String| Err(Fault { message, destroys: true });
    let fails = |message: String| Err(Fault { message, destroys: false });
    spared.spare(path, &Place::of(path)).or_else(destroys)?;
    let place = followed(path);
    let folder = folder(&place);
    let there = std::fs::metadata(path);
    let in_place = keeps_its_file(path, there.as_ref().ok());
    match there {
        Ok(meta) if meta.file_type().is_block_device() => destroys(on_device(path)),
        Ok(meta) if meta.is_dir() => destroys(format!("the output {shown} is a folder; name a file in it")),
        Ok(meta) if meta.is_file() && (in_place || !may_write(folder)) && !may_write(path) => {
            fails(format!("the output {shown} may not be written by this user; name another file"))
        }
        Err(_) if path.file_name().is_none() => {
            destroys(format!("the output \"{shown}\" names no file; name one"))
        }
        Err(_) if !folder.is_dir() => {
            let folder = folder.display();
            fails(format!("the folder {folder} of the output {shown} does not exist; create it"))
        }
        Err(_) if is_among_devices(folder) => destroys(no_device(path)),
        Err(_) if !may_write(folder) => {
            let folder = folder.display();
            fails(format!("this user may not write to the folder {folder} of the output {shown}"))
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Two documents of one run may not go to one file, where the later would take the place of the earlier.
pub(crate) fn check_apart(paths: &[PathBuf]) -> Result<(), Fault> {
    let mut seen: HashMap<Place, &Path> = HashMap::new();
    // Pipes, terminals and the like keep both.
    for path in paths.iter().filter(|path| std::fs::metadata(path).map_or(true, |meta| meta.is_file())) {
        if let Some(other) = seen.insert(Place::of(path), path) {
            let (path, other) = (path.display(), other.display());
            let message =
                format!("the outputs {other} and {path} are one file; name another for one of them");
            return Err(Fault { message, destroys: true });
        }
    }
    Ok(())
}

/// Writes a document to a file, whole or not at all: into a new file beside it, which has the owner and the permissions of
/// the one that it takes the place of. What cannot be replaced by a new file (a link, a file with other names, one that
/// something is mounted on, a pipe, a terminal, a file in a folder of others) is written to as it is, a file once the document
/// is made and there is room for it; a block device and what is to be spared never, wherever names have come to lead since they
/// were checked.
pub(crate) fn write(path: &Path, text: &str, spared: &Spared) -> Result<(), String> {
    write_with(path, spared, |out| out.write_all(text.as_bytes()))
}

/// As [`write`], of a document that comes in parts.
pub(crate) fn write_with(
    path: &Path,
    spared: &Spared,
    content: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<(), String> {
    let fail = |error: std::io::Error| format!("cannot write {}: {error}", path.display());
    if path == Path::new("/dev/stdout") {
        // Opened anew, a file behind it would begin at its start again and lose what was printed before.
        let mut out = std::io::stdout().lock();
        return terminal::written(content(&mut out).and_then(|()| out.flush())).map_err(fail);
    }
    spared.spare(path, &Place::of(path))?;
    let there = std::fs::metadata(path).ok();
    match &there {
        Some(meta) if meta.file_type().is_block_device() => return Err(on_device(path)),
        None if is_among_devices(folder(&followed(path))) => return Err(no_device(path)),
        _ => {}
    }
    if keeps_its_file(path, there.as_ref()) {
        return overwrite(path, spared, content);
    }
    let (mut file, part) = match create_part(path, there.as_ref()) {
        Ok(part) => part,
        Err(error) if matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded) => {
            return Err(fail(error));
        }
        // No file can be made here, or none that belongs to the same owner.
        Err(_) => return overwrite(path, spared, content),
    };
    let written = content(&mut file).and_then(|()| file.sync_all()).map_err(fail);
    let renamed = written.map(|()| std::fs::rename(&part, path).is_ok());
    if renamed == Ok(true) {
        // Else a power cut may undo it. Where a folder cannot be synced nothing is amiss with what is in it.
        let _ = File::open(folder(path)).and_then(|folder| folder.sync_all());
    }
    // Something may be mounted there, as containers do it with single files, or the folder lets nobody else's files go.
    let copied = renamed.and_then(|is_there| {
        if is_there {
            return Ok(());
        }
        let mut whole = File::open(&part).map_err(fail)?;
        overwrite(path, spared, |out| std::io::copy(&mut whole, out).map(drop))
    });
    // Not there any more where it was renamed; else of no use to anyone.
    let _ = std::fs::remove_file(&part);
    copied
}

/// A document that grows while a run goes on. A file has its name when it is whole, and what stood there stays until then; a pipe
/// and the like get it as it comes.
pub(crate) struct Growing {
    path: PathBuf,
    file: BufWriter<File>,
    /// The file beside it that it is written to, until it has its name.
    part: Option<PathBuf>,
}

impl Growing {
    /// Begins one at `path`, which may be a link to a file. A file with other names, or with a list of who may do what with it, is
    /// none whose place another can take.
    pub(crate) fn begin(path: &Path, spared: &Spared) -> Result<Self, String> {
        let fail = |error: std::io::Error| format!("cannot write {}: {error}", path.display());
        spared.spare(path, &Place::of(path))?;
        let path = &path.canonicalize().unwrap_or_else(|_| followed(path));
        let there = std::fs::metadata(path).ok();
        if let Some(meta) = there.as_ref().filter(|meta| !meta.is_file()) {
            if meta.file_type().is_block_device() {
                return Err(on_device(path));
            }
            let file = OpenOptions::new().write(true).open(path).map_err(fail)?;
            return Ok(Self { path: path.clone(), file: BufWriter::new(file), part: None });
        }
        if there.is_none() && is_among_devices(folder(path)) {
            return Err(no_device(path));
        }
        if keeps_its_file(path, there.as_ref()) {
            let shown = path.display();
            return Err(format!("{shown} has other names or a list of who may use it; name a new file"));
        }
        let (file, part) = create_part(path, there.as_ref()).map_err(fail)?;
        Ok(Self { path: path.clone(), file: BufWriter::new(file), part: Some(part) })
    }

    /// Gives it its name. Where that cannot be done, what was written stays under the other, which is told.
    pub(crate) fn finish(mut self, spared: &Spared) -> Result<(), String> {
        let fail = |error: std::io::Error| format!("cannot write {}: {error}", self.path.display());
        self.file.flush().map_err(fail)?;
        let Some(part) = &self.part else { return Ok(()) };
        self.file.get_ref().sync_all().map_err(fail)?;
        spared.spare(&self.path, &Place::of(&self.path))?;
        if let Err(error) = std::fs::rename(part, &self.path) {
            let (path, part) = (self.path.display().to_string(), self.part.take().unwrap_or_default());
            return Err(format!(
                "cannot write {path}: {error}; what was to be in it is in {}",
                part.display()
            ));
        }
        self.part = None;
        Ok(())
    }
}

impl Write for Growing {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Growing {
    fn drop(&mut self) {
        // Half of it is of no use to anyone.
        if let Some(part) = &self.part {
            let _ = std::fs::remove_file(part);
        }
    }
}

/// As [`write_with`], of a document that the user did not name: a link or a pipe that has its name is not written through.
pub(crate) fn write_unnamed(path: &Path, spared: &Spared, content: &[u8]) -> Result<(), String> {
    let shown = path.display();
    if path.symlink_metadata().is_ok_and(|meta| !meta.is_file()) {
        return Err(format!(
            "cannot write {shown}: something that is no regular file has this name; move it away"
        ));
    }
    write_with(path, spared, |out| out.write_all(content))
}

/// Adds to the end of a document, which is made when it is not there. It is judged once it is open.
pub(crate) fn append(path: &Path, text: &str, spared: &Spared) -> Result<(), String> {
    let fail = |error: std::io::Error| format!("cannot write {}: {error}", path.display());
    spared.spare(path, &Place::of(path))?;
    if std::fs::metadata(path).is_ok_and(|meta| meta.file_type().is_block_device()) {
        return Err(on_device(path));
    }
    if !path.exists() && is_among_devices(folder(&followed(path))) {
        return Err(no_device(path));
    }
    let mut file = OpenOptions::new().append(true).create(true).open(path).map_err(fail)?;
    let meta = file.metadata().map_err(fail)?;
    if meta.file_type().is_block_device() {
        return Err(on_device(path));
    }
    spared.spare(path, &Place::of_meta(&meta))?;
    let line_end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let begin = if meta.is_file() && is_within_line(path, meta.len()) { line_end } else { "" };
    file.write_all(format!("{begin}{text}").as_bytes()).map_err(|error| {
        // Nothing is left half written; where that cannot be either, the first fault is the one to tell.
        let _ = if meta.is_file() { file.set_len(meta.len()) } else { Ok(()) };
        fail(error)
    })
}

/// Whether a file of this length ends within a line; one that cannot be read is taken to be whole.
fn is_within_line(path: &Path, length: u64) -> bool {
    let mut last = [b'\n'];
    let read = length.checked_sub(1).and_then(|at| File::open(path).ok()?.read_exact_at(&mut last, at).ok());
    read.is_some() && last != [b'\n']
}

/// Whether what has this name stays the file that it is: a link leads on, a file with further names has the document under
/// all of them, and a list of who may do what with it would be lost. What is no regular file takes what is written to it.
fn keeps_its_file(path: &Path, there: Option<&Metadata>) -> bool {
    let has_access_list = || getxattr(path, "system.posix_acl_access", &mut [0_u8; 0]).is_ok();
    path.is_symlink() || there.is_some_and(|meta| !meta.is_file() || meta.nlink() > 1 || has_access_list())
}

/// Writes into what is there, or into a new file where a link leads to none. It is judged once it is open, and only then
/// changed: names may lead elsewhere by now. What a file holds is touched when the document is made and there is room for it.
fn overwrite(
    path: &Path,
    spared: &Spared,
    content: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<(), String> {
    let fail = |error: std::io::Error| format!("cannot write {}: {error}", path.display());
    let is_absent = std::fs::metadata(path).is_err();
    let mut file =
        OpenOptions::new().write(true).create(is_absent).truncate(false).open(path).map_err(fail)?;
    let meta = file.metadata().map_err(fail)?;
    if meta.file_type().is_block_device() {
        return Err(on_device(path));
    }
    spared.spare(path, &Place::of_meta(&meta))?;
    if !meta.is_file() {
        return content(&mut file).map_err(fail);
    }
    let mut document = Vec::new();
    let ready = content(&mut document).and_then(|()| reserve(&file, meta.len(), document.len() as u64));
    if ready.is_err() && is_absent {
        // The empty file that a link has come to lead to.
        let _ = std::fs::remove_file(followed(path));
    }
    // Cut last: until then it has at least the room that it had.
    let written = ready.and_then(|()| file.write_all(&document));
    written.and_then(|()| file.set_len(document.len() as u64)).map_err(fail)
}

/// Makes sure of room for `length` bytes in a file of `old` ones, which stays as it is; as far as its filesystem knows.
fn reserve(file: &File, old: u64, length: u64) -> std::io::Result<()> {
    if length == 0 {
        return Ok(());
    }
    match fallocate(file, FallocateFlags::KEEP_SIZE, 0, length) {
        Err(error @ (Errno::NOSPC | Errno::DQUOT | Errno::FBIG)) => {
            // What was reserved beyond its end is given back.
            let _ = file.set_len(old);
            Err(error.into())
        }
        // It cannot reserve.
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Puts a new file with this content in the place of whatever has the name `path`, whole or not at all.
pub(crate) fn replace(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let (mut file, part) = create_part(path, None)?;
    let written = file.write_all(content).and_then(|()| file.sync_all());
    written.and_then(|()| std::fs::rename(&part, path)).inspect_err(|_| {
        // What is left of it is of no use to anyone.
        let _ = std::fs::remove_file(&part);
    })
}

/// Puts a new file with this text at `path`, whole or not at all; never in the place of anything that has that name, be it since
/// a moment ago ([`ErrorKind::AlreadyExists`]).
pub(crate) fn create(path: &Path, text: &str) -> std::io::Result<()> {
    let (mut file, part) = create_part(path, None)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    // A second name never takes the place of another. Where files have one name only (FAT), a move does that can be told so.
    let named = written.and_then(|()| match std::fs::hard_link(&part, path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            Ok(renameat_with(CWD, &part, CWD, path, RenameFlags::NOREPLACE)?)
        }
        linked => linked,
    });
    let _ = std::fs::remove_file(&part);
    named
}

/// A new file beside `path`, never one that is there or a link that somebody put there, with owner and permissions of `like`.
fn create_part(path: &Path, like: Option<&Metadata>) -> std::io::Result<(File, PathBuf)> {
    let mode = like.map_or(0o666, |like| like.mode() & 0o777);
    let mut attempt = 0;
    let (file, part) = loop {
        let mut part = path.as_os_str().to_owned();
        part.push(format!(".{}-{attempt}.part", std::process::id()));
        match OpenOptions::new().write(true).create_new(true).mode(mode).open(&part) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists && attempt < PARTS_MAX => attempt += 1,
            created => break (created?, PathBuf::from(part)),
        }
    };
    let alike = like.map_or(Ok(()), |like| be_like(&file, like));
    alike.map(|()| (file, part.clone())).inspect_err(|_| {
        let _ = std::fs::remove_file(&part);
    })
}

/// Gives a new file the owner and the permissions of another.
fn be_like(file: &File, other: &Metadata) -> std::io::Result<()> {
    let own = file.metadata()?;
    if (own.uid(), own.gid()) != (other.uid(), other.gid()) {
        fchown(file, Some(other.uid()), Some(other.gid()))?;
    }
    file.set_permissions(other.permissions())
}

/// The path that a link leads to, also where nothing is there yet; others as they are.
fn followed(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..=LINKS_MAX {
        if std::fs::metadata(&path).is_ok() {
            break;
        }
        let Ok(link) = std::fs::read_link(&path) else { break };
        path = folder(&path).join(link);
    }
    path
}

/// Whether what is made in this folder would lie among the devices, where it is taken for one and gone with the next start.
fn is_among_devices(folder: &Path) -> bool {
    let folder = folder.canonicalize().unwrap_or_default();
    folder.starts_with("/dev") && !folder.starts_with("/dev/shm")
}

fn no_device(path: &Path) -> String {
    format!("there is no device {}, and outputs are not made among devices; name a file", path.display())
}

fn on_device(path: &Path) -> String {
    format!(
        "the output {} is a block device, and reports are not written to those; name a file",
        path.display()
    )
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

pub(crate) fn may_write(path: &Path) -> bool {
    access(path, Access::WRITE_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_schema::{FileKind, TargetFact};
    use std::fs::{Permissions, hard_link, read_to_string, write as put};
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn targets(paths: &[&Path]) -> Spared {
        let fact = |path: &&Path| TargetFact {
            path: path.to_path_buf(),
            resolved: path.to_path_buf(),
            kind: FileKind::File,
            error: None,
            errno: None,
            filesystem: None,
            folder_made_by_fathom: false,
            file: None,
            device: None,
        };
        let facts = Facts { targets: paths.iter().map(fact).collect(), ..Facts::default() };
        Spared::of(&facts, &[], Path::new("/nonexistent"))
    }

    /// Neither checked nor written.
    fn is_spared(output: &Path, targets: &Spared) {
        let fault = check(output, targets).expect_err("it is a target");
        assert!(fault.destroys && fault.message.contains("is the target"), "{fault:?}");
        let error = write(output, "report", targets).expect_err("it is a target");
        assert!(error.contains("is the target"), "{error}");
    }

    #[test]
    fn a_document_that_nobody_named_goes_through_no_link() {
        let folder = tempfile::tempdir().unwrap();
        let [data, link, absent] = ["data", "link", "absent"].map(|name| folder.path().join(name));
        put(&data, "data").unwrap();
        symlink("data", &link).unwrap();
        let none = targets(&[]);
        assert!(write_unnamed(&link, &none, b"state").expect_err("it is a link").contains("no regular file"));
        assert_eq!(read_to_string(&data).unwrap(), "data");
        assert_eq!(write_unnamed(&absent, &none, b"state"), Ok(()));
        assert_eq!(write_unnamed(&absent, &none, b"later"), Ok(()));
        assert_eq!(read_to_string(&absent).unwrap(), "later");
    }

    #[test]
    fn nothing_is_made_among_devices() {
        let fault = check(Path::new("/dev/no-such-disk"), &targets(&[])).expect_err("it is no device");
        assert!(fault.destroys && fault.message.contains("among devices"), "{fault:?}");
        assert_eq!(check(Path::new("/dev/shm/fathom-output"), &targets(&[])), Ok(()));
    }

    #[test]
    fn a_target_is_no_output_under_any_of_its_names() {
        let folder = tempfile::tempdir().unwrap();
        let [g, f, s, link, absent, ahead] =
            ["g", "f", "s", "link", "absent", "ahead"].map(|name| folder.path().join(name));
        put(&g, "data").unwrap();
        hard_link(&g, &f).unwrap();
        symlink("f", &s).unwrap();
        symlink(folder.path(), &link).unwrap();
        symlink("absent", &ahead).unwrap();
        let targets = targets(&[&g, &s, &absent]);
        for output in [&g, &f, &s, &link.join("f"), &absent, &link.join("absent"), &ahead] {
            is_spared(output, &targets);
        }
        assert_eq!(read_to_string(&f).unwrap(), "data");
        assert!(!absent.exists());
        let other = folder.path().join("other");
        assert_eq!(check(&other, &targets), Ok(()));
        assert_eq!(write(&other, "report", &targets), Ok(()));
        assert_eq!(read_to_string(&other).unwrap(), "report");
    }

    #[test]
    fn an_output_that_has_come_to_lead_to_a_target_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let [target, plain, output] = ["target", "plain", "output"].map(|name| folder.path().join(name));
        put(&target, "data").unwrap();
        put(&plain, "a longer text than the report").unwrap();
        symlink(&plain, &output).unwrap();
        let targets = targets(&[&target]);
        assert_eq!(check(&output, &targets), Ok(()));
        assert_eq!(write(&output, "report", &targets), Ok(()));
        assert_eq!(read_to_string(&plain).unwrap(), "report");
        assert!(output.is_symlink());
        std::fs::remove_file(&output).unwrap();
        symlink(&target, &output).unwrap();
        let written = |_: &mut dyn Write| Ok(());
        for refused in [write(&output, "report", &targets), overwrite(&output, &targets, written)] {
            assert!(refused.expect_err("a target").contains("is the target"));
        }
        assert_eq!(read_to_string(&target).unwrap(), "data");
    }

    #[test]
    fn job_files_and_records_are_no_outputs() {
        let folder = tempfile::tempdir().unwrap();
        let [job, link, store, run, hard] =
            ["job", "link", "store", "store/run.fathom", "hard"].map(|name| folder.path().join(name));
        put(&job, "[a]").unwrap();
        symlink("job", &link).unwrap();
        std::fs::create_dir(&store).unwrap();
        put(&run, "record").unwrap();
        hard_link(&run, &hard).unwrap();
        let spared = Spared::without_targets(std::slice::from_ref(&job), &store);
        for (output, what) in
            [(&job, "is the job file"), (&link, "is the job file"), (&run, "own store"), (&hard, "own store")]
        {
            let fault = check(output, &spared).expect_err(what);
            assert!(fault.destroys && fault.message.contains(what), "{fault:?}");
            let nothing = |_: &mut dyn Write| Ok(());
            for refused in [
                write(output, "report", &spared),
                append(output, "report", &spared),
                overwrite(output, &spared, nothing),
            ] {
                assert!(refused.expect_err(what).contains(what));
            }
        }
        assert_eq!(
            (read_to_string(&job).unwrap(), read_to_string(&run).unwrap()),
            ("[a]".into(), "record".into())
        );
    }

    #[test]
    fn what_lies_where_a_part_would_be_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let [victim, output] = ["victim", "output"].map(|name| folder.path().join(name));
        put(&victim, "data").unwrap();
        let planted = folder.path().join(format!("output.{}-0.part", std::process::id()));
        symlink(&victim, &planted).unwrap();
        assert_eq!(write(&output, "report", &targets(&[])), Ok(()));
        assert_eq!(read_to_string(&output).unwrap(), "report");
        assert_eq!(read_to_string(&victim).unwrap(), "data");
        assert!(planted.is_symlink() && !output.is_symlink());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3);
    }

    #[test]
    fn what_is_there_keeps_its_owner_its_permissions_and_its_names() {
        let folder = tempfile::tempdir().unwrap();
        let [private, named, other, ahead, new, lost] =
            ["private", "named", "other", "ahead", "new", "lost"].map(|name| folder.path().join(name));
        put(&private, "old").unwrap();
        std::fs::set_permissions(&private, Permissions::from_mode(0o640)).unwrap();
        put(&named, "a longer text than the report").unwrap();
        hard_link(&named, &other).unwrap();
        symlink("new", &ahead).unwrap();
        symlink("no-folder/new", &lost).unwrap();
        let none = targets(&[]);
        let of = |path: &Path| path.metadata().map(|meta| (meta.uid(), meta.gid(), meta.mode())).unwrap();
        let before = [of(&private), of(&named)];
        // Somebody else's, where one may give files away.
        let gives = fchown(File::open(&private).unwrap(), Some(65_534), Some(65_534)).is_ok();
        for output in [&private, &named, &ahead] {
            assert_eq!(check(output, &none), Ok(()));
            assert_eq!(write(output, "report", &none), Ok(()));
        }
        let (uid, gid, mode) = before[0];
        assert_eq!(of(&private), if gives { (65_534, 65_534, mode) } else { (uid, gid, mode) });
        assert_eq!(of(&named), before[1]);
        for written in [&private, &named, &other, &ahead, &new] {
            assert_eq!(read_to_string(written).unwrap(), "report", "{}", written.display());
        }
        assert!(ahead.is_symlink() && !new.is_symlink());
        let fault = check(&lost, &none).expect_err("its folder is not there");
        assert!(fault.message.contains("no-folder") && !fault.destroys, "{fault:?}");
        assert!(write(&lost, "report", &none).is_err());
        // Nothing is left beside them.
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 6);
    }

    #[test]
    fn a_document_that_breaks_off_leaves_the_old_one() {
        let folder = tempfile::tempdir().unwrap();
        let [output, named, other, link, ahead] =
            ["output", "named", "other", "link", "ahead"].map(|name| folder.path().join(name));
        put(&output, "old").unwrap();
        put(&named, "old").unwrap();
        hard_link(&named, &other).unwrap();
        symlink("named", &link).unwrap();
        symlink("absent", &ahead).unwrap();
        let breaks = |out: &mut dyn Write| {
            out.write_all(b"half")?;
            Err(std::io::Error::other("no more"))
        };
        for path in [&output, &other, &link, &ahead] {
            let error = write_with(path, &targets(&[]), breaks).expect_err("it broke off");
            assert!(error.contains("no more"), "{error}");
        }
        assert_eq!([&output, &named].map(|path| read_to_string(path).unwrap()), ["old", "old"]);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 5);
    }

    #[test]
    fn a_file_without_room_for_more_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        put(&path, "old").unwrap();
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        let error = reserve(&file, 3, 1 << 62).expect_err("no filesystem has it");
        assert!(matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::FileTooLarge), "{error}");
        assert!(reserve(&file, 3, 100).is_ok() && reserve(&file, 3, 0).is_ok());
        assert_eq!(read_to_string(&path).unwrap(), "old");
    }

    #[test]
    fn two_outputs_are_two_files() {
        let folder = tempfile::tempdir().unwrap();
        let [a, b, link] = ["a", "b", "link"].map(|name| folder.path().join(name));
        symlink("a", &link).unwrap();
        let null = PathBuf::from("/dev/null");
        assert_eq!(check_apart(&[a.clone(), b.clone(), null.clone(), null]), Ok(()));
        for second in [a.clone(), folder.path().join("./a"), link] {
            let fault = check_apart(&[a.clone(), b.clone(), second]).expect_err("one file twice");
            assert!(fault.destroys && fault.message.contains("are one file"), "{fault:?}");
        }
    }
}
