//! Loop devices, filesystems and other users to test on, undone when dropped, newest first. Needs root; what a machine does
//! not allow is an error in words, for the test to say.

use super::{Bench, skip, tool};
use fathom_io::clock::monotonic;
use fathom_units::Nanos;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Size of the images: enough for ext4.
pub(crate) const SIZE: u64 = 8 << 20;

/// Runs a test that needs root and the system's tools; what they refuse is a skip, said aloud.
pub(crate) fn with_root(name: &str, test: impl FnOnce(&Bench, &mut Stage) -> Result<(), String>) {
    if !rustix::process::geteuid().is_root() {
        return skip(name, "needs root for loop devices and mounts");
    }
    let bench = Bench::new();
    let mut stage = Stage::default();
    if let Err(why) = test(&bench, &mut stage) {
        skip(name, &why);
    }
    // Before the bench, whose folder holds the images and mount points.
    drop(stage);
}

/// What was set up and has to be undone.
#[derive(Default)]
pub(crate) struct Stage {
    undo: Vec<(&'static str, Vec<String>)>,
}

impl Stage {
    /// Runs a tool when all is undone.
    pub(crate) fn later(&mut self, tool: &'static str, arguments: &[&str]) {
        self.undo.push((tool, arguments.iter().map(|&word| word.to_owned()).collect()));
    }

    /// Attaches an image file; the loop device's path.
    pub(crate) fn attach(&mut self, image: &Path) -> Result<String, String> {
        self.attach_with(image, &[])
    }

    /// As [`Stage::attach`], with options of `losetup`.
    pub(crate) fn attach_with(&mut self, image: &Path, options: &[&str]) -> Result<String, String> {
        let device = tool("losetup", &[&["--find", "--show"], options, &[text(image)]].concat())?;
        self.later("losetup", &["--detach", &device]);
        Ok(device)
    }

    /// A loop device over a sparse image of [`SIZE`] bytes with these pieces in it.
    pub(crate) fn device(
        &mut self,
        bench: &Bench,
        name: &str,
        pieces: &[(u64, &[u8])],
    ) -> Result<String, String> {
        self.attach(&image(bench, name, SIZE, pieces))
    }

    /// A loop device with an ext4 filesystem.
    pub(crate) fn ext4(&mut self, bench: &Bench, name: &str) -> Result<String, String> {
        let image = image(bench, name, SIZE, &[]);
        // Nothing is left for the kernel to initialise once it is mounted: tests compare the device's bytes.
        tool("mkfs.ext4", &["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", text(&image)])?;
        self.attach(&image)
    }

    /// Mounts `what`, of a filesystem type, with options; the mount point in the working folder.
    pub(crate) fn mount(&mut self, bench: &Bench, name: &str, arguments: &[&str]) -> Result<PathBuf, String> {
        let at = bench.path(name);
        std::fs::create_dir(&at).expect("the folder is ours");
        tool("mount", &[arguments, &[text(&at)]].concat())?;
        // Lazily: a loop device on it is let go a moment after `losetup` has returned.
        self.later("umount", &["--lazy", text(&at)]);
        Ok(at)
    }

    /// Swaps on a device.
    pub(crate) fn swap(&mut self, device: &str) -> Result<(), String> {
        tool("mkswap", &[device])?;
        tool("swapon", &[device])?;
        self.later("swapoff", &[device]);
        Ok(())
    }

    /// A linear mapping over a device.
    pub(crate) fn map(&mut self, device: &str, name: &str) -> Result<(), String> {
        let table = format!("0 {} linear {device} 0", SIZE / 512);
        tool("dmsetup", &["create", name, "--table", &table])?;
        self.later("dmsetup", &["remove", name]);
        Ok(())
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        for (name, arguments) in self.undo.drain(..).rev() {
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            if let Err(why) = tool(name, &arguments) {
                skip("undoing a set-up", &why);
            }
        }
    }
}

/// A loop device with nothing behind it. Its number is so high that none of the tests beside this one is given it as the next
/// that is free.
pub(crate) fn empty_device(bench: &Bench) -> Result<String, String> {
    let number = 200 + std::process::id() % 56;
    let device = format!("/dev/loop{number}");
    tool("losetup", &[&device, text(&image(bench, "gone.img", SIZE, &[]))])?;
    tool("losetup", &["--detach", &device])?;
    // Whoever looks at new devices may still have it open, which puts the end off.
    let size = || std::fs::read_to_string(format!("/sys/block/loop{number}/size"));
    let end = monotonic().after(Nanos::secs(10));
    while size().map_err(|error| format!("{device}: {error}"))?.trim() != "0" {
        assert!(monotonic() < end, "{device} keeps its file");
        std::thread::yield_now();
    }
    Ok(device)
}

/// A sparse file of `size` bytes with these pieces in it, in the working folder.
pub(crate) fn image(bench: &Bench, name: &str, size: u64, pieces: &[(u64, &[u8])]) -> PathBuf {
    let path = bench.path(name);
    let file = File::create(&path).expect("the folder is ours");
    file.set_len(size).expect("a sparse file takes no space");
    for (offset, bytes) in pieces {
        file.write_all_at(bytes, *offset).expect("the file is ours");
    }
    path
}

/// All of a device's content.
pub(crate) fn content(device: &str) -> Vec<u8> {
    std::fs::read(device).expect("root may read a device")
}

/// A path as text; ours are.
pub(crate) fn text(path: &Path) -> &str {
    path.to_str().expect("temporary folders have plain names")
}
