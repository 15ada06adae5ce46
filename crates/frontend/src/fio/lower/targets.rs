//! A fio job's files as targets: names, sizes, layout. One target stands for one list of files, however many jobs use it.

use super::super::settings::{Files, Settings};
use super::super::values::Size;
use super::super::{ParsedJob, Surroundings};
use fathom_model::{Amount, Engine, Job, Layout, Named, Span, TargetKind, TargetOptions};
use fathom_units::Bytes;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// Targets by what they stand for.
#[derive(Default)]
pub(super) struct Targets {
    by_key: BTreeMap<Key, usize>,
    /// Bytes of each file that the jobs so far make longer.
    made: HashMap<PathBuf, u64>,
    /// Files whose length is drawn later.
    drawn: HashSet<PathBuf>,
    /// Files that a job so far makes as long as there is room, with its stage.
    filled: HashMap<PathBuf, usize>,
    names: super::Names,
}

/// Jobs for which all of this is alike have one target. What another job asks of the same files changes nothing for them: the
/// planner opens one place once, as long as a step needs it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    /// Whether its files are opened. What an engine opens nothing of has no length but what the jobs say, all together.
    opens: bool,
    place: Place,
    limit: Option<u64>,
    /// Bytes of each file, from and to; absent where that is what is there, and where all is one.
    bytes: Option<(u64, Option<u64>)>,
    unlinks: bool,
    /// How what is appended to it makes it longer.
    grows: Option<u8>,
}

/// By how much a layout makes of a file: who wants less is content with more.
fn strength(layout: Layout) -> u8 {
    match layout {
        Layout::MustExist => 0,
        Layout::Created => 1,
        Layout::Extended => 2,
        Layout::Reserved => 3,
        Layout::AllocatedIfRoom | Layout::Allocated => 4,
        Layout::Written => 5,
    }
}

/// Where the files of a clone are.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// These paths.
    Paths(Arc<Vec<String>>),
    /// So many files of one directory, by pattern.
    Set { directory: String, files: u64, pattern: String },
}

impl Place {
    pub(super) fn files(&self) -> u64 {
        match self {
            Self::Paths(paths) => paths.len() as u64,
            Self::Set { files, .. } => *files,
        }
    }

    /// Its files, each by one name however it is written.
    fn paths(&self) -> Vec<PathBuf> {
        let plain = |path: &Path| path.components().filter(|part| *part != Component::CurDir).collect();
        match self {
            Self::Paths(paths) => paths.iter().map(|path| plain(path.as_ref())).collect(),
            Self::Set { directory, files, pattern } => {
                let name = |number: u64| pattern.replace("$filenum", &number.to_string());
                (0..*files).map(|number| plain(&Path::new(directory).join(name(number)))).collect()
            }
        }
    }
}

/// What a clone needs of its files.
#[derive(Debug, Clone)]
pub(super) struct Need {
    /// Whether one of them is no regular file: its size is its own.
    pub(super) is_special: bool,
    /// Bytes of each file, when they are known.
    pub(super) file_bytes: Option<u64>,
    /// Bytes from its start that are used of what has a size of its own.
    limit: Option<u64>,
    /// Up to how many, when their sizes are drawn.
    pub(super) file_bytes_max: Option<u64>,
    /// Bytes that are appended to each file, where they end wherever that is.
    appends: Option<u64>,
    /// Whether `filesize` says so.
    is_filesize: bool,
    /// What is done before the run.
    pub(super) layout: Layout,
    /// Whether their names have folders that are made where they are not there.
    is_in_new_folder: bool,
}

impl Need {
    /// Nobody sees to the length of what is only made, or takes space behind its end.
    fn sees_to_length(&self) -> bool {
        !matches!(self.layout, Layout::Created | Layout::Reserved)
    }
}

impl Targets {
    /// The name of the target of these files; adds it to the job, or widens it by what is needed of it now.
    pub(super) fn name_of(
        &mut self,
        job: &mut Job,
        place: Place,
        need: &Need,
        parsed: &ParsedJob,
        engine: Engine,
        surroundings: &Surroundings<'_>,
    ) -> String {
        let settings = &parsed.settings;
        let opens = !matches!(engine, Engine::Null | Engine::Cpu | Engine::Exec);
        let need = &if opens { self.settled(need, &place, surroundings) } else { need.clone() };
        let key = Key {
            opens,
            place,
            limit: need.limit,
            bytes: need.file_bytes.filter(|_| opens).map(|bytes| (bytes, need.file_bytes_max)),
            unlinks: opens && settings.files.unlink,
            grows: need.appends.filter(|_| opens).map(|_| strength(need.layout)),
        };
        let at = match self.by_key.get(&key) {
            Some(&at) => at,
            None => {
                job.targets.push(self.create(&key.place, need, parsed, engine));
                let at = job.targets.len() - 1;
                self.by_key.insert(key, at);
                at
            }
        };
        let target = &mut job.targets[at];
        let options = &mut target.options;
        let span = parsed.span;
        if let Some(bytes) = need.file_bytes {
            let known = match options.size.get() {
                Some(Amount::Bytes(known)) => known.0,
                _ => 0,
            };
            if bytes > known {
                let place =
                    settings.span(if settings.files.filesize.is_some() { "filesize" } else { "size" }, span);
                options.size.set(Amount::Bytes(Bytes(bytes)), place);
            }
        }
        if let Some(limit) = need.limit {
            options.size.set(Amount::Bytes(Bytes(limit)), settings.span("filesize", span));
        }
        if let Some(most) = need.file_bytes_max {
            options.size_max.set(Bytes(most), settings.span("filesize", span));
        }
        if options.layout.given().is_none_or(|&known| strength(need.layout) > strength(known)) {
            options.layout.set(need.layout, span);
        }
        if settings.files.unlink {
            options.remove.set(true, settings.span("unlink", span));
        }
        target.name.clone()
    }

    /// What a job needs whose files have a length by themselves, or from the jobs before it: fio asks for that when it has made
    /// theirs. Takes note of what this one makes of them.
    fn settled(&mut self, need: &Need, place: &Place, surroundings: &Surroundings<'_>) -> Need {
        let mut need = need.clone();
        if need.is_special {
            return need;
        }
        let paths = place.paths();
        let known = |made: &HashMap<PathBuf, u64>, path: &PathBuf| {
            let there = || path.to_str().and_then(surroundings.length).unwrap_or(0);
            made.get(path).copied().unwrap_or_else(there)
        };
        // What is drawn is not known here.
        let is_known = need.file_bytes_max.is_none() && need.sees_to_length();
        let asked = need.file_bytes;
        // `filesize` is as long as a job wants its files, `size` how much of them it uses. Where it appends is the planner's to say.
        if let Some(bytes) = asked.filter(|_| !need.is_filesize) {
            let before = paths.iter().map(|path| self.made.get(path).copied().unwrap_or(0)).min();
            need.file_bytes = Some(bytes.max(before.unwrap_or(0)));
        } else if asked.is_none() && need.appends.is_none() {
            // Of files of several lengths the planner knows each one's.
            let is_made = paths.iter().any(|path| self.made.contains_key(path));
            let first = paths.first().filter(|_| is_made).map(|path| known(&self.made, path));
            let is_one = |first: u64| paths.iter().all(|path| known(&self.made, path) == first);
            need.file_bytes = first.filter(|&first| is_one(first));
        }
        if need.file_bytes_max.is_some() {
            self.drawn.extend(paths.iter().cloned());
        }
        for path in paths.into_iter().filter(|_| is_known) {
            let before = known(&self.made, &path);
            let after = match asked {
                Some(bytes) => before.max(bytes),
                None => before.saturating_add(need.appends.unwrap_or(0)),
            };
            if after > before {
                self.made.insert(path, after);
            }
        }
        need
    }

    /// Whether none of a job's files is there, nor made by a job before it.
    pub(super) fn are_absent(
        &self,
        place: &Place,
        need: &Need,
        engine: Engine,
        surroundings: &Surroundings<'_>,
    ) -> bool {
        let is_absent = |path: &PathBuf| {
            let there = || path.to_str().and_then(surroundings.length).unwrap_or(0);
            !self.drawn.contains(path) && self.made.get(path).copied().unwrap_or_else(there) == 0
        };
        let opens = !matches!(engine, Engine::Null | Engine::Cpu | Engine::Exec);
        opens && !need.is_special && place.paths().iter().all(is_absent)
    }

    /// Takes note of files that a job of this stage fills.
    pub(super) fn fill(&mut self, place: &Place, stage: usize) {
        self.filled.extend(place.paths().into_iter().map(|path| (path, stage)));
    }

    /// Whether a job of an earlier stage fills the only file of a job: how long it is then nobody knows before.
    pub(super) fn is_filled(&self, place: &Place, stage: usize) -> bool {
        let paths = place.paths();
        paths.len() == 1 && self.filled.get(&paths[0]).is_some_and(|filled| *filled < stage)
    }

    /// A name that no other target has.
    pub(super) fn unique_name(&mut self, name: &str) -> String {
        self.names.unique(name)
    }

    fn create(
        &mut self,
        place: &Place,
        need: &Need,
        parsed: &ParsedJob,
        engine: Engine,
    ) -> Named<TargetOptions> {
        let (settings, span) = (&parsed.settings, parsed.span);
        let mut options = TargetOptions::default();
        let files_span = settings.span("filename", settings.span("directory", span));
        let name = match place {
            Place::Paths(paths) => {
                options.path.set(paths.to_vec(), files_span);
                paths.first().cloned().unwrap_or_default()
            }
            Place::Set { directory, files, pattern } => {
                options.directory.set(directory.clone(), files_span);
                options.files.set(u32::try_from(*files).unwrap_or(u32::MAX), settings.span("nrfiles", span));
                options.file_names.set(pattern.clone(), settings.span("filename_format", span));
                joined(directory, pattern)
            }
        };
        let works_on_nothing = matches!(engine, Engine::Cpu | Engine::Exec);
        if need.is_in_new_folder && !works_on_nothing && engine != Engine::Null {
            options.make_folder.set(true, files_span);
        }
        if works_on_nothing {
            options.kind.set(TargetKind::Null, settings.span("ioengine", span));
        }
        Named { name: self.names.unique(&name), span, options }
    }
}

/// The files of clone `subjob`, and whether all clones share them.
pub(super) fn place_of(parsed: &ParsedJob, subjob: u32, surroundings: &Surroundings<'_>) -> (Place, bool) {
    let files = &parsed.settings.files;
    if !files.names.is_empty() {
        let count = usize::try_from(files.count).unwrap_or(usize::MAX).min(files.names.len());
        let names = if count == files.names.len() {
            Arc::clone(&files.names)
        } else {
            Arc::new(files.names[..count].to_vec())
        };
        return (Place::Paths(names), true);
    }
    if files.count == 1 && (surroundings.is_special)(&parsed.section) {
        return (Place::Paths(Arc::new(vec![parsed.section.clone()])), true);
    }
    let directory = match files.directories.len() {
        0 => None,
        n => files.directories.get(subjob as usize % n),
    };
    let pattern = filled(&filled(&files.format, "$jobname", &parsed.section), "$jobnum", &subjob.to_string());
    let pattern = filled(&pattern, "$clientuid", "");
    if files.count == 1 {
        let name = filled(&pattern, "$filenum", "0");
        let path = directory.map_or_else(|| name.clone(), |directory| joined(directory, &name));
        return (Place::Paths(Arc::new(vec![path])), false);
    }
    let pattern = filled(&pattern, "$filenum", "$filenum");
    let directory = match directory.map(String::as_str) {
        None => ".".to_owned(),
        // To fio that is a part of the names, where one that is not given is none.
        Some(".") => "./".to_owned(),
        Some(given) => given.to_owned(),
    };
    (Place::Set { directory, files: files.count, pattern }, false)
}

/// What a clone needs of its files. `last` is the highest number of a clone that uses them.
pub(super) fn need_of(
    parsed: &ParsedJob,
    place: &Place,
    last: u32,
    reads: bool,
    surroundings: &Surroundings<'_>,
) -> Need {
    let Settings { files, operations, .. } = &parsed.settings;
    let is_special =
        matches!(place, Place::Paths(paths) if paths.iter().any(|path| (surroundings.is_special)(path)));
    let bytes = |size: Size| match size {
        Size::Bytes(bytes) => bytes,
        Size::Percent(_) => 0,
    };
    let start = bytes(operations.offset)
        .saturating_add(bytes(operations.offset_increment).saturating_mul(u64::from(last)));
    let file_bytes = match (files.filesize, operations.size) {
        _ if is_special => None,
        (Some((low, _)), _) => Some(low),
        // What is appended begins where the file ends, which the planner knows.
        _ if files.append => None,
        (None, Some(Size::Bytes(bytes))) if bytes > 0 => {
            Some(start.saturating_add(bytes / place.files().max(1)))
        }
        _ => None,
    };
    let file_bytes_max = files.filesize.filter(|(low, high)| low < high && !is_special).map(|(_, high)| high);
    // What is made when it is opened may be there already; then it is opened as it is, however short.
    let is_absent = || match place {
        Place::Paths(paths) => paths.iter().any(|path| !(surroundings.is_there)(path)),
        Place::Set { .. } => true,
    };
    let layout = if files.create_on_open && !files.allow_create && is_absent() {
        Layout::MustExist
    } else if files.create_on_open || (files.fill && !reads && !files.overwrite) {
        Layout::Created
    } else if !files.allow_create {
        Layout::MustExist
    } else if reads || (files.overwrite && !files.append) {
        Layout::Written
    } else {
        match files.fallocate.as_str() {
            // fio goes on where it gets no space; what is written then fails.
            "native" | "posix" | "1" => Layout::AllocatedIfRoom,
            "keep" => Layout::Reserved,
            "truncate" => Layout::Extended,
            _ => Layout::Created,
        }
    };
    let appends = match operations.size {
        _ if is_special || !files.append || files.filesize.is_some() => None,
        Some(Size::Bytes(bytes)) => Some(bytes / place.files().max(1)),
        _ => Some(0),
    };
    let limit = files.filesize.filter(|_| is_special).map(|(_, high)| high);
    let is_in_new_folder = is_in_new_folder(files, place, surroundings);
    let is_filesize = files.filesize.is_some();
    Need { is_special, file_bytes, limit, file_bytes_max, appends, is_filesize, layout, is_in_new_folder }
}

/// fio makes the folders of `filename`, `filename_format` and the job's name, and wants those of `directory` to be there.
fn is_in_new_folder(files: &Files, place: &Place, surroundings: &Surroundings<'_>) -> bool {
    let has_folder = |path: &str| {
        let name = files.directories.iter().find_map(|folder| path.strip_prefix(&joined(folder, "")));
        name.unwrap_or(path).contains('/') && !path.starts_with("/dev/")
    };
    let have_folder = match place {
        Place::Paths(paths) => paths.iter().any(|path| has_folder(path)),
        Place::Set { pattern, .. } => pattern.contains('/') && !pattern.starts_with("/dev/"),
    };
    have_folder && files.directories.iter().all(|folder| (surroundings.is_there)(folder))
}

/// The region of a clone over all its files together: what of `size` is used when files get equal parts in whole blocks.
pub(super) fn region_of(
    settings: &Settings,
    place: &Place,
    smallest: u64,
    is_special: bool,
) -> Option<Amount> {
    let files = place.files().max(1);
    match (settings.operations.size, settings.files.filesize) {
        // A share of filesize, even of more than there is; one that is drawn is no larger than the device.
        (Some(Size::Percent(percent)), Some((low, high))) if percent < 100 && is_special && low == high => {
            let share = u128::from(high) * u128::from(percent) / 100;
            let part = Bytes(u64::try_from(share).unwrap_or(high)).round_down(Bytes(smallest)).0;
            Some(Amount::Bytes(Bytes(part.saturating_mul(files))))
        }
        // All of it is what is used anyway, and with an offset it means what is left.
        (Some(Size::Percent(percent)), _) if percent < 100 => {
            Some(Amount::Share(fathom_units::Ratio::percent(f64::from(percent))))
        }
        (Some(Size::Bytes(bytes)), None) if bytes > 0 => {
            let part = Bytes(bytes / files).round_down(Bytes(smallest)).0;
            Some(Amount::Bytes(Bytes(if files == 1 || part == 0 { bytes } else { part * files })))
        }
        _ => None,
    }
}

/// The place of the option that made a region.
pub(super) fn region_span(settings: &Settings, span: Span) -> Span {
    settings.span("size", settings.span("filesize", span))
}

/// `directory/name`.
pub(crate) fn joined(directory: &str, name: &str) -> String {
    if directory.ends_with('/') { format!("{directory}{name}") } else { format!("{directory}/{name}") }
}

/// The pattern with a keyword replaced, in whatever case it is written.
fn filled(pattern: &str, keyword: &str, with: &str) -> String {
    let lower = pattern.to_ascii_lowercase();
    let mut text = String::new();
    let mut at = 0;
    while let Some(found) = lower[at..].find(keyword) {
        text.push_str(&pattern[at..at + found]);
        text.push_str(with);
        at += found + keyword.len();
    }
    text + &pattern[at..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_filled_in_any_case() {
        assert_eq!(filled("$JobName.$jobnum", "$jobname", "é"), "é.$jobnum");
        assert_eq!(filled("x", "$jobname", "y"), "x");
        assert_eq!(joined("/mnt/", "a"), "/mnt/a");
        assert_eq!(joined(".", "a"), "./a");
    }
}
