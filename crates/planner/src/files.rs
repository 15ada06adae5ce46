//! Which paths a target section stands for: one path, a list, a set of files, or the files of a tree.
//!
//! Pure enumeration, counted before it is listed, so that a slip of the pen (`files = 10000000`) costs nothing. It does not know
//! what is at the paths.

use crate::links::Links;
use fathom_model::{Layout, Named, TargetKind, TargetOptions, TreeDistribution};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Targets of one step, at most. Each costs a probe, about 3 KiB of memory and 300 bytes of record; a million is what the
/// largest file sets of published metadata tests have, and plans in seconds; in a minute or two where each lies in a folder that is
/// not there yet.
pub const TARGETS_MAX: usize = 1_000_000;

/// One file, device or substitute that a section stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Item {
    /// Name for people.
    pub name: String,
    /// Where it is; substitutes are nowhere.
    pub path: Option<PathBuf>,
    /// The number of the only worker that uses it.
    pub owner: Option<u32>,
    /// Its number among those of its section.
    pub position: u64,
}

/// How much a job's section at a place stands for; what is more than 64 bits count is as much as they do.
pub(crate) fn count(links: &Links<'_>, place: usize) -> u64 {
    let options = &links.job().targets[place].options;
    let files = u64::from(*options.files.get());
    match (*options.kind.get(), options.path.get(), options.directory.get()) {
        (TargetKind::Null | TargetKind::Sim | TargetKind::Peer, ..) => 1,
        (TargetKind::Tree, paths, directory) => {
            let has_root = directory.is_some() || paths.is_some_and(|paths| !paths.is_empty());
            if has_root { files.saturating_mul(folders_with_files(options)) } else { 0 }
        }
        (_, Some(paths), _) => paths.len() as u64,
        (_, None, Some(_)) => files.saturating_mul(owners(links, place).len() as u64),
        (_, None, None) => 0,
    }
}

/// Folders of a tree that have files: `width` to the power of `depth` at the bottom, of all levels the sum of them.
fn folders_with_files(options: &TargetOptions) -> u64 {
    let width = u64::from(*options.tree_width.get());
    let levels = std::iter::successors(Some(width), |above| Some(above.saturating_mul(width)));
    let levels = levels.take(*options.tree_depth.get() as usize);
    match *options.tree_distribution.get() {
        TreeDistribution::All => levels.fold(0, u64::saturating_add),
        TreeDistribution::Bottom => levels.last().unwrap_or(0),
    }
}

/// All that a job's section at a place stands for; nothing where that is more than [`TARGETS_MAX`], which [`count`] tells.
pub(crate) fn items(links: &Links<'_>, place: usize) -> Vec<Item> {
    if count(links, place) > TARGETS_MAX as u64 {
        return Vec::new();
    }
    let section = &links.job().targets[place];
    let options = &section.options;
    let directory = options.directory.get().map(Path::new);
    let mut items = match (*options.kind.get(), options.path.get(), directory) {
        (TargetKind::Null | TargetKind::Sim | TargetKind::Peer, ..) => {
            vec![Item { name: section.name.clone(), path: None, owner: None, position: 0 }]
        }
        (TargetKind::Tree, paths, directory) => {
            let root = directory.or_else(|| paths.and_then(|paths| paths.first()).map(Path::new));
            root.map_or_else(Vec::new, |root| tree(root, options))
        }
        (_, Some(paths), _) => paths.iter().map(|path| at(path.as_ref(), None)).collect(),
        (_, None, Some(directory)) => {
            let owners = owners(links, place);
            let files = (0..u64::from(*options.files.get()))
                .flat_map(|number| owners.iter().map(move |&owner| (number, owner)));
            files
                .map(|(number, owner)| {
                    let name = file_name(section, number, owner);
                    // One of the current folder is called by its name alone, as who uses it later calls it.
                    let is_here = directory.as_os_str() == ".";
                    at(&if is_here { name.into() } else { directory.join(name) }, owner)
                })
                .collect()
        }
        (_, None, None) => Vec::new(),
    };
    items.iter_mut().zip(0..).for_each(|(item, position)| item.position = position);
    items
}

/// The root of a tree; `None` for everything else.
pub(crate) fn root(section: &Named<TargetOptions>) -> Option<PathBuf> {
    let options = &section.options;
    let first = || options.path.get().and_then(|paths| paths.first());
    (*options.kind.get() == TargetKind::Tree)
        .then(|| options.directory.get().or_else(first).map(PathBuf::from))
        .flatten()
}

/// `./x` and `x` are one place to all that looks at them, whatever they are called.
fn at(path: &Path, owner: Option<u32>) -> Item {
    let plain = path.strip_prefix(".").ok().filter(|plain| !plain.as_os_str().is_empty());
    let plain = plain.unwrap_or(path).to_owned();
    Item { name: path.display().to_string(), path: Some(plain), owner, position: 0 }
}

/// Numbers of the workers that have a set of their own; one shared set when there are none.
fn owners(links: &Links<'_>, place: usize) -> Vec<Option<u32>> {
    let job = links.job();
    if !*job.targets[place].options.own_per_worker.get() {
        return vec![None];
    }
    let mut numbers = BTreeSet::new();
    for stream in links.streams_on(place).into_iter().map(|stream| &job.streams[stream]) {
        let first = *stream.options.first_worker.get();
        let end = first.saturating_add(*stream.options.workers.get());
        numbers.extend((first..end).take(TARGETS_MAX + 1));
    }
    numbers.into_iter().map(Some).collect()
}

fn file_name(section: &Named<TargetOptions>, number: u64, owner: Option<u32>) -> String {
    let default = if owner.is_some() { ".$worker.$filenum" } else { ".$filenum" };
    let template = section.options.file_names.get().cloned();
    let template = template.unwrap_or_else(|| format!("{}{default}", section.name));
    let worker = owner.map_or_else(String::new, |owner| owner.to_string());
    template.replace("$filenum", &number.to_string()).replace("$worker", &worker)
}

/// The files of a tree: `width` directories in each directory down to `depth`, `files` in each directory that has any.
/// The root itself holds directories only.
fn tree(root: &Path, options: &TargetOptions) -> Vec<Item> {
    let (depth, width) = (*options.tree_depth.get(), *options.tree_width.get());
    let everywhere = *options.tree_distribution.get() == TreeDistribution::All;
    let mut level = vec![root.to_path_buf()];
    let mut found = Vec::new();
    for distance in 1..=depth {
        let below = level.iter().flat_map(|parent| {
            (1..=width).map(move |number| parent.join(format!("dir.{distance}.{number}")))
        });
        level = below.collect();
        if everywhere || distance == depth {
            found.extend(level.iter().flat_map(|folder| {
                (1..=*options.files.get()).map(move |number| at(&folder.join(format!("file.{number}")), None))
            }));
        }
    }
    found
}

/// Why a file is not made, or made longer, and what to do about it. `is_there`: whether it is.
pub(crate) const fn why_not_made(
    asked: Layout,
    is_checked_only: bool,
    is_there: bool,
) -> (&'static str, &'static str) {
    match asked {
        _ if is_checked_only => {
            ("what is missing of it cannot be checked", "write it first, without verify_only")
        }
        Layout::MustExist if is_there => {
            ("layout is \"must-exist\"", "make size smaller, or use layout = \"written\"")
        }
        Layout::MustExist => ("layout is \"must-exist\"", "check the path, or use layout = \"written\""),
        _ => ("a trace leaves what is not fathom's as it is", "replay it onto another file"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_model::{Job, Span, StreamOptions};

    fn check(set: impl Fn(&mut TargetOptions), workers: u32, count: usize, first_and_last: [&str; 2]) {
        let span = Span::default();
        let mut section = Named::<TargetOptions>::new("set", span);
        set(&mut section.options);
        let mut stream = Named::<StreamOptions>::new("s", span);
        stream.options.workers.set(workers, span);
        let job = Job { targets: vec![section], streams: vec![stream], ..Job::default() };
        let items = items(&Links::of(&job), 0);
        assert_eq!(items.len(), count);
        assert_eq!([&*items[0].name, &*items[count - 1].name], first_and_last);
    }

    #[test]
    fn sections_stand_for_these_paths() {
        let span = Span::default();
        let text = |text: &str| text.to_owned();
        check(|t| t.path.set(vec![text("/a"), text("/b")], span), 1, 2, ["/a", "/b"]);
        check(
            |t| {
                t.directory.set(text("/d"), span);
                t.files.set(3, span);
            },
            4,
            3,
            ["/d/set.0", "/d/set.2"],
        );
        check(
            |t| {
                t.directory.set(text("/d"), span);
                t.files.set(3, span);
                t.own_per_worker.set(true, span);
            },
            4,
            12,
            ["/d/set.0.0", "/d/set.3.2"],
        );
    }

    /// What is too much is counted, and not listed.
    #[test]
    fn too_many_are_counted_and_not_listed() {
        let span = Span::default();
        let of = |set: &dyn Fn(&mut TargetOptions)| {
            let mut section = Named::<TargetOptions>::new("set", span);
            section.options.directory.set("/d".to_owned(), span);
            set(&mut section.options);
            let stream = Named::<StreamOptions>::new("s", span);
            let job = Job { targets: vec![section], streams: vec![stream], ..Job::default() };
            let links = Links::of(&job);
            (count(&links, 0), items(&links, 0).len())
        };
        let tree = |depth: u32, width: u32, files: u32, distribution: TreeDistribution| {
            of(&|t| {
                t.kind.set(TargetKind::Tree, span);
                t.tree_depth.set(depth, span);
                t.tree_width.set(width, span);
                t.files.set(files, span);
                t.tree_distribution.set(distribution, span);
            })
        };
        assert_eq!(of(&|t| t.files.set(10_000_000, span)), (10_000_000, 0));
        assert_eq!(of(&|t| t.files.set(1000, span)), (1000, 1000));
        let (all, bottom) = (TreeDistribution::All, TreeDistribution::Bottom);
        // More folders on the way than there may be files at the bottom.
        assert_eq!(tree(4, 101, 1, bottom), (101_u64.pow(4), 0));
        assert_eq!(tree(4, 32, 1, bottom), (1 << 20, 0));
        assert_eq!(tree(64, 1_000_000, 10_000_000, all), (u64::MAX, 0));
        assert_eq!(tree(64, 1, 2, all), (128, 128));
        assert_eq!(tree(2, 10, 3, all), (330, 330));
        assert_eq!(tree(2, 10, 3, bottom), (300, 300));
    }

    /// Depth 3, width 2: 2 + 4 + 8 directories.
    #[test]
    fn trees_have_files_at_the_bottom_or_everywhere() {
        let span = Span::default();
        for (distribution, count, first) in [
            (TreeDistribution::All, 28, "/t/dir.1.1/file.1"),
            (TreeDistribution::Bottom, 16, "/t/dir.1.1/dir.2.1/dir.3.1/file.1"),
        ] {
            let set = |t: &mut TargetOptions| {
                t.kind.set(TargetKind::Tree, span);
                t.directory.set("/t".to_owned(), span);
                t.files.set(2, span);
                t.tree_depth.set(3, span);
                t.tree_width.set(2, span);
                t.tree_distribution.set(distribution, span);
            };
            check(set, 1, count, [first, "/t/dir.1.2/dir.2.2/dir.3.2/file.2"]);
        }
    }
}
