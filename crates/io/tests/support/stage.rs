//! Real storage for tests: images, loop devices, small filesystems, made with the system's own tools and taken down again
//! when dropped. What a machine lacks or refuses is an `Err` that says so; whether a test can go on without is its own
//! business.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

/// Says that a part of a test is left out, past the test runner's capture; once, however many engines meet it.
pub(crate) fn skip(test: &str, why: &str) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let Ok(true) = SAID.lock().map(|mut said| said.insert(test.to_owned())) else { return };
    writeln!(std::io::stderr(), "SKIPPED {test}: {why}").expect("stderr can be written");
}

/// Runs a tool; what it printed, or what it said against it.
pub(crate) fn tool(name: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(name).args(arguments).output().map_err(|error| format!("{name}: {error}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    } else {
        Err(format!("{name} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr).trim()))
    }
}

/// A folder and what was set up in it; taken down newest first.
pub(crate) struct Stage {
    undo: Vec<(&'static str, String)>,
    folder: tempfile::TempDir,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        Self { undo: Vec::new(), folder }
    }

    /// A path in the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A file with these bytes.
    pub(crate) fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, bytes).expect("a file can be written");
        path
    }

    /// A file of this size that is all hole.
    pub(crate) fn sparse(&self, name: &str, bytes: u64) -> PathBuf {
        let path = self.path(name);
        File::create(&path).and_then(|file| file.set_len(bytes)).expect("a file can be made");
        path
    }

    /// A file of this size, every byte of it written.
    pub(crate) fn filled(&self, name: &str, bytes: usize, with: u8) -> PathBuf {
        self.file(name, &vec![with; bytes])
    }

    /// A loop device on `image`.
    pub(crate) fn attach(&mut self, image: &Path) -> Result<PathBuf, String> {
        let device = tool("losetup", &["--find", "--show", text(image)])?;
        self.undo.push(("losetup --detach", device.clone()));
        Ok(PathBuf::from(device))
    }

    /// A loop device of this size, all zero; with its image.
    pub(crate) fn device(&mut self, name: &str, bytes: u64) -> Result<(PathBuf, PathBuf), String> {
        let image = self.sparse(name, bytes);
        self.attach(&image).map(|device| (device, image))
    }

    /// An ext4 filesystem of this size, mounted.
    pub(crate) fn ext4(&mut self, name: &str, bytes: u64) -> Result<PathBuf, String> {
        let (device, _) = self.device(&format!("{name}.image"), bytes)?;
        tool("mkfs.ext4", &["-q", "-F", "-O", "^has_journal", "-m", "0", text(&device)])?;
        self.mount(&[text(&device)], name)
    }

    /// A tmpfs of this size, mounted.
    pub(crate) fn tmpfs(&mut self, name: &str, bytes: u64) -> Result<PathBuf, String> {
        self.mount(&["-t", "tmpfs", "-o", &format!("size={bytes}"), "tmpfs"], name)
    }

    fn mount(&mut self, what: &[&str], name: &str) -> Result<PathBuf, String> {
        let at = self.path(name);
        std::fs::create_dir(&at).expect("a mount point can be made");
        tool("mount", &[what, &[text(&at)]].concat())?;
        // Lazily: a ring that was just closed lets go of its files a little later.
        self.undo.push(("umount --lazy", text(&at).to_owned()));
        Ok(at)
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        for (command, argument) in self.undo.drain(..).rev() {
            let words: Vec<&str> = command.split(' ').chain([argument.as_str()]).collect();
            if let Err(error) = tool(words[0], &words[1..]) {
                skip("clean-up", &error);
            }
        }
    }
}

/// Stops all writes to a mounted filesystem until the guard is dropped: they wait in the kernel.
pub(crate) fn freeze(mount_point: &Path) -> Result<Frozen, String> {
    tool("fsfreeze", &["--freeze", text(mount_point)])?;
    Ok(Frozen { mount_point: mount_point.to_owned() })
}

/// A filesystem that takes no writes until this is dropped.
pub(crate) struct Frozen {
    mount_point: PathBuf,
}

impl Drop for Frozen {
    fn drop(&mut self) {
        if let Err(error) = tool("fsfreeze", &["--unfreeze", text(&self.mount_point)]) {
            skip("clean-up", &error);
        }
    }
}

/// All bytes of a file or device below `length`.
pub(crate) fn content(path: &Path, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    File::open(path).and_then(|file| file.read_exact_at(&mut bytes, 0)).expect("it can be read");
    bytes
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().expect("test paths are UTF-8")
}
