//! A filesystem in this process, by the kernel's FUSE protocol (linux/fuse.h): one file whose transfers come short now and then.
//! Needs root. Knows nothing of who reads or writes it.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// The name of the file.
pub(crate) const NAME: &str = "data";

/// Every so many-th transfer is cut, to a quarter.
const CUT_EVERY: u64 = 4;

/// What the file holds, and how many transfers were cut.
#[derive(Debug, Default)]
pub(crate) struct Held {
    pub(crate) data: Vec<u8>,
    pub(crate) cut: u64,
    transfers: u64,
}

impl Held {
    /// How many bytes of a transfer of `length` are moved.
    fn moved(&mut self, length: usize) -> usize {
        self.transfers += 1;
        if !self.transfers.is_multiple_of(CUT_EVERY) || length < 4096 {
            return length;
        }
        self.cut += 1;
        length / 4
    }
}

/// A mounted filesystem; unmounted when dropped.
pub(crate) struct Short {
    at: PathBuf,
    pub(crate) held: Arc<Mutex<Held>>,
    server: Option<JoinHandle<()>>,
}

impl Short {
    /// Mounts one on the folder `at`, whose file is `size` bytes of zeros.
    pub(crate) fn mount(at: &Path, size: usize) -> Result<Self, String> {
        let device = File::options().read(true).write(true).open("/dev/fuse");
        let device = device.map_err(|error| format!("/dev/fuse: {error}"))?;
        let end = device.try_clone().map_err(|error| error.to_string())?;
        let output = Command::new("mount")
            .args(["-i", "-t", "fuse", "-o", "fd=0,rootmode=40000,user_id=0,group_id=0", "short"])
            .arg(at)
            .stdin(Stdio::from(end))
            .output()
            .map_err(|error| format!("mount: {error}"))?;
        if !output.status.success() {
            return Err(format!("mount: {}", String::from_utf8_lossy(&output.stderr).trim()));
        }
        let held = Arc::new(Mutex::new(Held { data: vec![0; size], ..Held::default() }));
        let of_server = Arc::clone(&held);
        let server = std::thread::spawn(move || serve(device, &of_server));
        Ok(Self { at: at.to_owned(), held, server: Some(server) })
    }
}

impl Drop for Short {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.at).status();
        if let Some(server) = self.server.take() {
            let _ = server.join();
        }
    }
}

/// Answers until it is unmounted.
fn serve(mut device: File, held: &Mutex<Held>) {
    let mut request = vec![0; 1 << 20];
    while let Ok(length) = device.read(&mut request) {
        let number = |at: usize, bytes: usize| {
            let field = request[at..at + bytes].iter().rev();
            field.fold(0_u64, |sum, &byte| (sum << 8) | u64::from(byte))
        };
        let (operation, unique, node) = (number(4, 4), number(8, 8), number(16, 8));
        let mut held = held.lock().expect("nobody panics with it");
        let size = held.data.len();
        let at = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX).min(size);
        let answer = match operation {
            // FORGET, INTERRUPT, BATCH_FORGET: nobody waits.
            2 | 36 | 42 => continue,
            LOOKUP if &request[40..length - 1] == NAME.as_bytes() => {
                Ok([&2_u64.to_le_bytes()[..], &[0; 32], &attributes(2, size)].concat())
            }
            LOOKUP => Err(NO_ENTRY),
            GETATTR | SETATTR => Ok([&[0; 16][..], &attributes(node, size)].concat()),
            // OPEN and OPENDIR: around the page cache (FOPEN_DIRECT_IO), so that what is short is told.
            14 | 27 => Ok([&[0; 8][..], &1_u64.to_le_bytes()].concat()),
            READ | WRITE => {
                let from = at(number(48, 8));
                let to = at(from as u64 + number(56, 4));
                let moved = held.moved(to - from);
                let place = &mut held.data[from..from + moved];
                if operation == READ {
                    Ok(place.to_vec())
                } else {
                    place.copy_from_slice(&request[80..80 + moved]);
                    Ok((moved as u64).to_le_bytes().to_vec())
                }
            }
            // STATFS; RELEASE, FSYNC, FLUSH, READDIR, RELEASEDIR, FSYNCDIR.
            17 => Ok(vec![0; 80]),
            18 | 20 | 25 | 28 | 29 | 30 => Ok(Vec::new()),
            // INIT: version 7.31, writes of up to 128 KiB.
            26 => {
                let words = [7, 31, 0, 0, 0, 1 << 17, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0_u32];
                Ok(words.iter().flat_map(|word| word.to_le_bytes()).collect())
            }
            _ => Err(NO_SUCH_CALL),
        };
        drop(held);
        let (error, body) = answer.map_or_else(|errno: i32| (-errno, Vec::new()), |body| (0, body));
        let length = u32::try_from(16 + body.len()).expect("answers are small");
        let head = [&length.to_le_bytes()[..], &error.to_le_bytes(), &unique.to_le_bytes()].concat();
        // Whoever asked may have given up meanwhile.
        let _ = device.write_all(&[head, body].concat());
    }
}

const NO_ENTRY: i32 = 2;
const NO_SUCH_CALL: i32 = 38;
const LOOKUP: u64 = 1;
const GETATTR: u64 = 3;
const SETATTR: u64 = 4;
const READ: u64 = 15;
const WRITE: u64 = 16;

/// `struct fuse_attr` of the root, a folder, or of the file.
fn attributes(node: u64, size: usize) -> Vec<u8> {
    let (mode, size) = if node == 1 { (0o040_755_u32, 0) } else { (0o100_644, size as u64) };
    let long = [node, size, size.div_ceil(512), 0, 0, 0];
    let short = [0, 0, 0, mode, 1, 0, 0, 0, 4096, 0];
    let long = long.iter().flat_map(|word| word.to_le_bytes());
    long.chain(short.iter().flat_map(|word| word.to_le_bytes())).collect()
}
