//! The probe on real loop devices, filesystems, swap and volumes. Needs root, loop devices and the system's own tools;
//! says loudly when it skips. What is on a target before must be there after: the probe never writes.

use super::{EngineRefusals, MARK, Roots, probe, probe_at};
use fathom_schema::{BlockDevice, ContentFact, FileKind, InUse, TargetFact};
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Size of the images: enough for ext4 and for two partitions.
const SIZE: u64 = 16 << 20;

fn skip(test: &str, why: &str) {
    // Not `eprintln!`, which the test runner would hide.
    writeln!(std::io::stderr(), "SKIPPED {test}: {why}").expect("stderr can be written");
}

/// Runs a tool; its first line of output, or what it said against it.
fn run(tool: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(tool).args(arguments).output().map_err(|error| format!("{tool}: {error}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    } else {
        Err(format!("{tool} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr).trim()))
    }
}

/// Undoes a set-up when dropped, newest first.
#[derive(Default)]
struct Stage {
    undo: Vec<(&'static str, Vec<String>)>,
    folder: Option<tempfile::TempDir>,
}

impl Stage {
    fn new() -> Self {
        Self { undo: Vec::new(), folder: Some(tempfile::tempdir().expect("a temporary folder can be made")) }
    }

    fn path(&self, name: &str) -> PathBuf {
        let folder = self.folder.as_ref().expect("kept until dropped").path();
        folder.canonicalize().expect("it exists").join(name)
    }

    fn later(&mut self, tool: &'static str, arguments: &[&str]) {
        self.undo.push((tool, arguments.iter().map(|&a| a.to_owned()).collect()));
    }

    /// A sparse image with these bytes.
    fn image(&self, name: &str, bytes: &[(u64, &[u8])]) -> PathBuf {
        let path = self.path(name);
        let file = File::create(&path).expect("the image can be made");
        file.set_len(SIZE).expect("the image can be sized");
        for (offset, bytes) in bytes {
            file.write_all_at(bytes, *offset).expect("the image can be written");
        }
        path
    }

    fn attach(&mut self, image: &Path) -> Result<String, String> {
        let device = run("losetup", &["--find", "--show", "--partscan", text(image)])?;
        self.later("losetup", &["--detach", &device]);
        Ok(device)
    }

    fn mount(&mut self, device: &str, name: &str) -> Result<PathBuf, String> {
        let at = self.path(name);
        std::fs::create_dir(&at).expect("a mount point can be made");
        run("mount", &[device, text(&at)])?;
        self.later("umount", &[text(&at)]);
        Ok(at)
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        for (tool, arguments) in self.undo.drain(..).rev() {
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            if let Err(error) = run(tool, &arguments) {
                writeln!(std::io::stderr(), "LEFT BEHIND: {error}").expect("stderr can be written");
            }
        }
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("temporary paths are text")
}

fn look(path: impl AsRef<Path>) -> TargetFact {
    look_with(path, Path::new("/nonexistent/store"))
}

fn look_with(path: impl AsRef<Path>, store: &Path) -> TargetFact {
    let facts = probe(&[path.as_ref().to_owned()], store, EngineRefusals::default());
    facts.targets.into_iter().next().expect("one path, one fact")
}

fn device(path: impl AsRef<Path>) -> BlockDevice {
    let fact = look(path);
    assert_eq!((fact.kind, &fact.error), (FileKind::BlockDevice, &None), "{fact:?}");
    fact.device.expect("a block device has a device fact")
}

fn kinds(content: &ContentFact) -> Vec<&str> {
    match content {
        ContentFact::Signed(signatures) => signatures.iter().map(|s| &*s.kind).collect(),
        _ => Vec::new(),
    }
}

/// Runs a test that needs the system's tools; what they refuse is a skip, said aloud.
fn staged(test: &str, body: impl FnOnce(&mut Stage) -> Result<(), String>) {
    if !rustix::process::geteuid().is_root() {
        return skip(test, "needs root for loop devices");
    }
    if let Err(why) = body(&mut Stage::new()) {
        skip(test, &why);
    }
}

#[test]
fn content_of_loop_devices() {
    staged("content_of_loop_devices", |stage| {
        for (name, bytes, expect) in [
            ("blank", &[][..], ContentFact::Blank),
            ("data", &[(0, &b"old test"[..])], ContentFact::Unrecognised),
            ("end", &[(SIZE - 1, &[7][..])], ContentFact::Unrecognised),
        ] {
            let image = stage.image(name, bytes);
            let before = std::fs::read(&image).expect("the image can be read");
            let found = device(stage.attach(&image)?);
            assert_eq!((&found.content, found.size.0), (&expect, SIZE), "{name}");
            assert_eq!(found.in_use, [], "{name}");
            assert_eq!(std::fs::read(&image).expect("the image can be read"), before, "{name}: changed");
        }
        Ok(())
    });
}

#[test]
fn a_device_is_unusable_while_mounts_are_unknown() {
    staged("a_device_is_unusable_while_mounts_are_unknown", |stage| {
        let loop_device = PathBuf::from(stage.attach(&stage.image("blank", &[]))?);
        let roots = Roots { proc: stage.path("no-proc"), ..Roots::default() };
        let facts = probe_at(&roots, &[loop_device], Path::new("/nonexistent"), EngineRefusals::default());
        let error = facts.targets[0].error.as_deref().unwrap_or_default();
        assert!(error.contains("mountinfo cannot be read"), "{error}");
        Ok(())
    });
}

#[test]
fn a_filesystem_mounted_and_not() {
    staged("a_filesystem_mounted_and_not", |stage| {
        let image = stage.image("fs", &[]);
        run("mkfs.ext4", &["-q", "-L", "precious", text(&image)])?;
        let loop_device = stage.attach(&image)?;
        let before = std::fs::read(&image).expect("the image can be read");
        let found = device(&loop_device);
        let ContentFact::Signed(signatures) = &found.content else { panic!("{found:?}") };
        assert_eq!((&*signatures[0].kind, &*signatures[0].label), ("ext4", "precious"));
        assert_eq!(found.in_use, []);
        assert_eq!(std::fs::read(&image).expect("the image can be read"), before, "the probe wrote");

        let in_use = look(&image).file.expect("a file").in_use;
        assert_eq!(in_use, [InUse::LoopBacking { device: found.name.clone() }]);

        let second = stage.attach(&image)?;
        let at = stage.mount(&loop_device, "mnt")?;
        let mounted = InUse::Mounted { device: found.name.clone(), mount_point: at.clone() };
        assert_eq!(device(&loop_device).in_use, std::slice::from_ref(&mounted));
        // The other loop device shows the same bytes: the mount forbids writing through it, too.
        assert_eq!(device(&second).in_use, std::slice::from_ref(&mounted));

        let store = at.join("store");
        std::fs::create_dir(&store).expect("a folder can be made");
        let with_store = look_with(&loop_device, &store).device.expect("a device").in_use;
        assert_eq!(with_store, [InUse::Store { folder: store.clone() }, mounted]);
        let inside = look_with(store.join("run"), &store);
        assert_eq!(inside.kind, FileKind::Absent);
        let filesystem = inside.filesystem.expect("a filesystem");
        assert_eq!((&*filesystem.kind, &filesystem.mount_point), ("ext4", &at));
        assert!(filesystem.can_create && filesystem.available.0 < SIZE && filesystem.options.contains("rw"));
        assert_eq!(inside.device.expect("a device below").name, found.name);
        Ok(())
    });
}

/// A virtual machine holds its disk so: no mount, no holder, nothing exclusive.
#[test]
fn a_device_that_a_program_has_open_for_writing_is_in_use() {
    staged("a_device_that_a_program_has_open_for_writing_is_in_use", |stage| {
        let loop_device = stage.attach(&stage.image("blank", &[]))?;
        for (redirection, is_told) in [("<>", true), ("<", false)] {
            let script = format!("exec 3{redirection}{loop_device}; echo open; read end");
            let mut child = std::process::Command::new("sh")
                .args(["-c", &script])
                .stdin(std::process::Stdio::piped())
                .stdout(std::process::Stdio::piped())
                .spawn()
                .map_err(|error| error.to_string())?;
            let mut said = [0; 5];
            let mut from = child.stdout.take().expect("it is piped");
            std::io::Read::read_exact(&mut from, &mut said).expect("the shell opens it");
            let found = device(&loop_device);
            let opened =
                InUse::Opened { device: found.name.clone(), program: "sh".to_owned(), process: child.id() };
            assert_eq!(found.in_use, if is_told { vec![opened] } else { Vec::new() }, "{redirection}");
            drop(child.stdin.take());
            child.wait().expect("it is ours");
            assert_eq!(device(&loop_device).in_use, []);
        }
        Ok(())
    });
}

#[test]
fn a_folder_mounted_twice_holds_its_files_once() {
    staged("a_folder_mounted_twice_holds_its_files_once", |stage| {
        let folder = stage.path("folder");
        std::fs::create_dir(&folder).expect("the folder is ours");
        std::fs::write(folder.join("file"), "content").expect("the folder is ours");
        let again = stage.path("again");
        std::fs::create_dir(&again).expect("the folder is ours");
        run("mount", &["--bind", text(&folder), text(&again)])?;
        stage.later("umount", &[text(&again)]);
        let paths = [folder.join("file"), again.join("file"), again.join("new"), folder.join("new")];
        let facts = probe(&paths, Path::new("/nonexistent"), EngineRefusals::default());
        let resolved: Vec<&PathBuf> = facts.targets.iter().map(|fact| &fact.resolved).collect();
        assert_eq!(resolved, [&paths[0], &paths[0], &paths[2], &paths[2]]);
        Ok(())
    });
}

#[test]
fn partitions_beside_a_mounted_one() {
    staged("partitions_beside_a_mounted_one", |stage| {
        // Two partitions of 6 MiB from 1 MiB and 8 MiB on.
        let entry = |start: u32, sectors: u32| {
            [&[0, 0, 0, 0, 0x83, 0, 0, 0][..], &start.to_le_bytes(), &sectors.to_le_bytes()].concat()
        };
        let table = [entry(2048, 12288), entry(16384, 12288)].concat();
        let image = stage.image("disk", &[(446, &table), (510, &[0x55, 0xaa])]);
        let disk = stage.attach(&image)?;
        let (first, second) = (format!("{disk}p1"), format!("{disk}p2"));
        if !Path::new(&second).exists() {
            return Err(format!("{second} does not appear: the kernel scans no partitions"));
        }
        run("mkfs.ext4", &["-q", &first])?;
        assert_eq!(kinds(&device(&disk).content), ["mbr"]);
        assert_eq!(
            (kinds(&device(&first).content), device(&second).content),
            (vec!["ext4"], ContentFact::Blank)
        );
        let at = stage.mount(&first, "mnt")?;
        let name = device(&first).name;
        let mounted = [InUse::Mounted { device: name, mount_point: at }];
        assert_eq!(device(&disk).in_use, mounted);
        assert_eq!(device(&first).in_use, mounted);
        assert_eq!(device(&second).in_use, []);
        assert_eq!(device(&second).disk, device(&disk).name);
        Ok(())
    });
}

#[test]
fn a_volume_holds_its_device() {
    staged("a_volume_holds_its_device", |stage| {
        let image = stage.image("pv", &[]);
        let below = stage.attach(&image)?;
        let name = format!("fathom-probe-{}", std::process::id());
        let table = format!("0 {} linear {below} 0", SIZE / 512);
        run("dmsetup", &["create", &name, "--noudevsync", "--table", &table])?;
        stage.later("dmsetup", &["remove", "--noudevsync", &name]);
        let found = device(&below);
        let [InUse::Holder { device: held, holder }] = &found.in_use[..] else { panic!("{found:?}") };
        assert!(*held == found.name && holder.starts_with("dm-"), "{found:?}");
        let volume = device(format!("/dev/{holder}"));
        assert_eq!((&volume.in_use[..], volume.content), (&[][..], ContentFact::Blank));
        Ok(())
    });
}

#[test]
fn swap_and_exclusive_use() {
    staged("swap_and_exclusive_use", |stage| {
        let image = stage.image("swap", &[]);
        run("mkswap", &[text(&image)])?;
        let loop_device = stage.attach(&image)?;
        let found = device(&loop_device);
        assert_eq!((kinds(&found.content), &found.in_use[..]), (vec!["swap"], &[][..]));
        let held = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::EXCL | rustix::fs::OFlags::CLOEXEC;
        let holder =
            rustix::fs::open(&*loop_device, held, rustix::fs::Mode::empty()).map_err(|e| e.to_string())?;
        assert_eq!(device(&loop_device).in_use, [InUse::Exclusive]);
        let other = stage.attach(&image)?;
        assert_eq!(device(&other).in_use, [InUse::Exclusive], "the same bytes under another name");
        drop(holder);
        // A program that another test starts at this moment has what is open here until it has begun, with `O_CLOEXEC` too.
        let end = fathom_io::clock::monotonic().after(fathom_units::Nanos::secs(10));
        while !device(&other).in_use.is_empty() {
            assert!(fathom_io::clock::monotonic() < end, "still held by nobody");
            std::thread::yield_now();
        }
        run("swapon", &[&loop_device])?;
        stage.later("swapoff", &[&loop_device]);
        assert_eq!(device(&loop_device).in_use, [InUse::Swap { device: found.name }]);
        Ok(())
    });
}

#[test]
fn a_locked_device_is_read_only() {
    staged("a_locked_device_is_read_only", |stage| {
        let image = stage.image("locked", &[]);
        let loop_device = run("losetup", &["--find", "--show", "--read-only", text(&image)])?;
        stage.later("losetup", &["--detach", &loop_device]);
        assert!(device(&loop_device).read_only);
        Ok(())
    });
}

#[test]
fn the_system_s_device_is_in_use() {
    staged("the_system_s_device_is_in_use", |_| {
        // Known from the lists of the kernel alone: the device itself is not opened.
        let root = look("/etc/passwd").device.ok_or("the root filesystem is on no block device")?;
        let is_system = |way: &InUse| matches!(way, InUse::System { .. });
        assert!(root.in_use.iter().any(is_system), "{root:?}");
        Ok(())
    });
}

#[test]
fn files_with_marks_holes_and_unwritten_extents() {
    let stage = Stage::new();
    let path = stage.image("marked", &[(0, &[1; 4096])]);
    let before = look(&path).file.expect("a file");
    assert!(!before.made_by_fathom && before.written.0 == 4096 && before.size.0 == SIZE, "{before:?}");
    crate::mark::complete(&File::open(&path).expect("the image can be opened"));
    let mark = rustix::fs::getxattr(&path, MARK, &mut [0_u8; 256][..]);
    match mark {
        Ok(_) => assert!(look(&path).file.expect("a file").made_by_fathom),
        Err(error) => skip("files_with_marks", &format!("this filesystem keeps no user attributes: {error}")),
    }
    let unwritten = stage.image("unwritten", &[]);
    let file = File::options().write(true).open(&unwritten).expect("the image can be opened");
    match rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, SIZE) {
        Ok(()) => assert_eq!(look(&unwritten).file.expect("a file").written.0, 0),
        Err(error) => skip("unwritten_extents", &format!("this filesystem cannot allocate: {error}")),
    }
}

#[test]
fn memory_has_direct_io_where_the_kernel_gives_it() {
    let Ok(folder) = tempfile::tempdir_in("/dev/shm") else {
        return skip("memory_has_direct_io_where_the_kernel_gives_it", "/dev/shm cannot be used");
    };
    let direct = rustix::fs::OFlags::DIRECT.bits().cast_signed();
    let mut options = std::fs::OpenOptions::new();
    let opened = options.write(true).create(true).custom_flags(direct).open(folder.path().join("direct"));
    let expect = opened.is_ok().then_some(1);
    for name in ["present", "absent"] {
        let path = folder.path().join(name);
        if name == "present" {
            std::fs::write(&path, "x").expect("a file can be written");
        }
        let filesystem = look(&path).filesystem.expect("a filesystem");
        assert_eq!((&*filesystem.kind, filesystem.direct_align_bytes), ("tmpfs", expect), "{name}");
    }
}
