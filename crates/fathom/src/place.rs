//! What stands on this machine for the targets of an Iometer configuration: what the user says, and what Iometer on Linux
//! calls things. Looks at paths, opens none.

use fathom_frontend::icf::{Place, Target};
use std::collections::BTreeMap;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// The file that Iometer makes in the root of a filesystem.
const TEST_FILE: &str = "iobw.tst";
/// The name that stands for all others.
const OTHERS: &str = "*";

/// Whether an address is one of this host's: whatever it can be bound to.
pub(crate) fn is_here(address: &str) -> bool {
    std::net::UdpSocket::bind((address, 0)).is_ok()
}

/// What the user says stands for which target.
#[derive(Debug, Default)]
pub(crate) struct Map(BTreeMap<String, String>);

impl Map {
    /// Reads `NAME=PATH` words; the error says which is none.
    pub(crate) fn read(words: &[String]) -> Result<Self, String> {
        let pair = |word: &String| match word.split_once('=') {
            Some((name, path)) if !name.trim().is_empty() && !path.is_empty() => {
                Ok((Target::key(name.trim()), path.to_owned()))
            }
            _ => Err(format!("--map {word} does not say what stands for which target")),
        };
        words.iter().map(pair).collect::<Result<_, _>>().map(Self)
    }

    /// What stands for the target `name` of a configuration.
    pub(crate) fn place(&self, name: &str) -> Option<Place> {
        let said = self.0.get(&Target::key(name)).or_else(|| self.0.get(OTHERS));
        match said.map(String::as_str) {
            Some("null:") => Some(Place::Null),
            Some("sim:") => Some(Place::Sim),
            Some(path) => Some(Place::Path(file_of(path))),
            None => on_linux(name),
        }
    }
}

/// A folder stands for the file that Iometer makes in it.
fn file_of(path: &str) -> String {
    if Path::new(path).is_dir() {
        format!("{}/{TEST_FILE}", path.trim_end_matches('/'))
    } else {
        path.to_owned()
    }
}

/// Iometer on Linux names filesystems by their mount point and type, `/mnt/x [xfs]`, and disks as the kernel does, `sdb`.
fn on_linux(name: &str) -> Option<Place> {
    let path = match name.rsplit_once(" [") {
        Some((path, _)) if name.ends_with(']') => path,
        _ => name,
    };
    if path.starts_with('/') && (Path::new(path).exists() || path.starts_with("/dev/")) {
        return Some(Place::Path(file_of(path)));
    }
    let device = format!("/dev/{path}");
    let is_disk = std::fs::metadata(&device).is_ok_and(|meta| meta.file_type().is_block_device());
    is_disk.then_some(Place::Path(device))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_found_by_what_is_said_and_by_their_linux_names() {
        let folder = tempfile::tempdir().expect("there is a place for temporary files");
        let path = folder.path().to_str().expect("its name is plain");
        let words = [
            "c:=/a/b".to_owned(),
            "1:=sim:".to_owned(),
            format!("X Y={path}"),
            "TEST: Disk=null:".to_owned(),
        ];
        let map = Map::read(&words).expect("they are pairs");
        let in_folder = Some(Place::Path(format!("{path}/iobw.tst")));
        assert_eq!(map.place("C: label"), Some(Place::Path("/a/b".to_owned())));
        assert_eq!(map.place("1: \"X\""), Some(Place::Sim));
        assert_eq!(map.place("x y"), in_folder);
        assert_eq!(map.place("test: disk"), Some(Place::Null));
        assert_eq!(map.place(&format!("{path} [xfs]")), in_folder);
        assert_eq!(map.place("/dev/none"), Some(Place::Path("/dev/none".to_owned())));
        for unknown in ["D:", "PHYSICALDRIVE:1", "[*TARGET*]", "/no/such [xfs]", "2: \"\""] {
            assert_eq!(map.place(unknown), None, "{unknown}");
        }
        let all = Map::read(&["*=sim:".to_owned()]).expect("it is a pair");
        assert_eq!(all.place("D:"), Some(Place::Sim));
        for wrong in ["C:", "=x", "C:="] {
            assert!(Map::read(&[wrong.to_owned()]).is_err(), "{wrong}");
        }
    }
}
