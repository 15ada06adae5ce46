//! A bench to try the binary on: a folder with a store of its own, commands run in it, what they said, and what they
//! changed. Knows how to start and stop `fathom`; deliberately knows nothing of what it ought to answer.

pub(crate) mod device;
pub(crate) mod schema;
pub(crate) mod short;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

/// The binary under test.
pub(crate) const FATHOM: &str = env!("CARGO_BIN_EXE_fathom");

/// A command that takes longer than this, in seconds, hangs; the longest here takes some 50, alone.
pub(crate) const PATIENCE: &str = "180";

/// A test that takes longer than this hangs; the longest takes two minutes beside others.
const TEST_PATIENCE: Duration = Duration::from_secs(900);

/// Says aloud that a test, or a part of it, was not run. Not `eprintln!`, which the test runner hides.
pub(crate) fn skip(test: &str, why: &str) {
    writeln!(std::io::stderr(), "SKIPPED {test}: {why}").expect("standard error can be written");
}

/// Runs a system tool; what it printed, or what it said against it.
pub(crate) fn tool(name: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(name).args(arguments).output().map_err(|error| format!("{name}: {error}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    } else {
        Err(format!("{name} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr).trim()))
    }
}

/// The project's root folder.
pub(crate) fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the project has a root")
}

/// A folder to work in, with a store beside it.
pub(crate) struct Bench {
    folder: tempfile::TempDir,
    /// Hung up when the test is over.
    _over: Sender<()>,
}

/// Ends all tests, and says which one and what runs, where nobody hangs up for too long: whatever waits in a test for what
/// never comes would have them all wait, without a word of which it is.
fn watch_over_test() -> Sender<()> {
    let (over, is_over) = mpsc::channel();
    let test = thread::current().name().unwrap_or("a part of a test").to_owned();
    thread::spawn(move || {
        if is_over.recv_timeout(TEST_PATIENCE) == Err(RecvTimeoutError::Timeout) {
            let columns = ["-ww", "-e", "--forest", "-o", "pid,etimes,stat,wchan:20,args"];
            let processes = tool("ps", &columns).unwrap_or_else(|error| error);
            let says = format!("HANGS {test}: not over after {TEST_PATIENCE:?}\n{processes}");
            writeln!(std::io::stderr(), "{says}").expect("standard error can be written");
            std::process::abort();
        }
    });
    over
}

impl Bench {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let bench = Self { folder, _over: watch_over_test() };
        fs::create_dir(bench.path("")).expect("it is empty");
        bench
    }

    /// A path in the working folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("here").join(name)
    }

    /// The store's folder, which is made by the first run.
    pub(crate) fn store(&self) -> PathBuf {
        self.folder.path().join("store")
    }

    /// Writes a file into the working folder; its path.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, content).expect("the file can be written");
        path
    }

    /// Runs `fathom` with the words of `line` in the working folder, to its end.
    pub(crate) fn fathom(&self, line: &str) -> Ended {
        self.fathom_with(&words(line))
    }

    /// As [`Bench::fathom`], for arguments that hold spaces.
    pub(crate) fn fathom_with(&self, arguments: &[&str]) -> Ended {
        self.run(&[&[FATHOM], arguments].concat())
    }

    /// Where the user's caches are.
    pub(crate) fn cache(&self) -> PathBuf {
        self.store().with_extension("cache")
    }

    /// Runs any command in the working folder, in the surroundings that `fathom` gets.
    pub(crate) fn run(&self, command: &[&str]) -> Ended {
        let mut patient = Command::new("timeout");
        patient.args(["--signal=KILL", PATIENCE]).args(command);
        self.ended(&mut patient, &command.join(" "))
    }

    /// As [`Bench::run`], with this on standard input.
    pub(crate) fn run_with_input(&self, command: &[&str], input: &[u8]) -> Ended {
        let mut patient = Command::new("timeout");
        patient.args(["--signal=KILL", PATIENCE]).args(command);
        patient.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.prepared(&mut patient).spawn().expect("coreutils have timeout");
        child.stdin.take().expect("it is piped").write_all(input).expect("the command reads its input");
        Ended::of(&command.join(" "), child.wait_with_output().expect("the command can be waited for"))
    }

    fn ended(&self, command: &mut Command, line: &str) -> Ended {
        let output = self.prepared(command).stdin(Stdio::null()).output().expect("coreutils have timeout");
        Ended::of(line, output)
    }

    fn prepared<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command
            .current_dir(self.path(""))
            .env("FATHOM_STORE", self.store())
            .env("XDG_CACHE_HOME", self.cache())
            .env("TMPDIR", self.path(""))
            .env("TERM", "xterm")
            .env_remove("NO_COLOR")
    }

    /// Starts `fathom` and does not wait.
    pub(crate) fn start(&self, line: &str) -> Running {
        // Whoever tests may ignore hangups, as under nohup.
        let mut command = Command::new("env");
        command
            .args(["--default-signal=HUP", FATHOM])
            .args(words(line))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = self.prepared(&mut command).spawn().expect("coreutils have env");
        let messages = BufReader::new(child.stderr.take().expect("it is piped"));
        let data = BufReader::new(child.stdout.take().expect("it is piped"));
        Running { line: line.to_owned(), child, messages, said: String::new(), data, given: String::new() }
    }

    /// All files of the working folder with size, time of change and content: equal when nothing was touched.
    pub(crate) fn snapshot(&self) -> BTreeMap<PathBuf, (u64, i64, i64, Vec<u8>)> {
        let mut found = BTreeMap::new();
        let mut folders = vec![self.path("")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).expect("the folder is ours") {
                let path = entry.expect("the folder is ours").path();
                let meta = fs::symlink_metadata(&path).expect("nobody else removes it");
                if meta.is_dir() {
                    folders.push(path);
                    continue;
                }
                let content = if meta.is_file() { fs::read(&path).unwrap_or_default() } else { Vec::new() };
                found.insert(path, (meta.size(), meta.mtime(), meta.mtime_nsec(), content));
            }
        }
        found
    }

    /// Runs `line`, which has to be refused: this exit code, these fragments on standard error, nothing on standard
    /// output, nothing changed in the working folder and nothing stored.
    pub(crate) fn check_refused(&self, line: &str, code: i32, says: &[&str]) {
        self.check_refused_under(&[], &words(line), code, says);
    }

    /// As [`Bench::check_refused`], started by `wrapper`.
    pub(crate) fn check_refused_under(&self, wrapper: &[&str], arguments: &[&str], code: i32, says: &[&str]) {
        let (before, stored) = (self.snapshot(), self.stored());
        let ended = self.run(&[wrapper, &[FATHOM], arguments].concat());
        ended.expect(code, says);
        assert_eq!(ended.out, "", "{ended:?}");
        assert!(self.snapshot() == before, "a file was changed by {ended:?}");
        assert_eq!(self.stored(), stored, "a run was stored by {ended:?}");
    }

    /// Number of files in the store, beside the sessions of a server and their lock, and the journals of killed runs, which go
    /// with the next reader.
    pub(crate) fn stored(&self) -> usize {
        let Ok(files) = fs::read_dir(self.store()) else { return 0 };
        let files = files.map(|file| file.expect("the store can be read").file_name());
        let is_journal =
            |name: &OsStr| name.as_bytes().ends_with(b"-wal") || name.as_bytes().ends_with(b"-shm");
        files.filter(|name| name != ".sessions.json" && name != ".sessions.lock" && !is_journal(name)).count()
    }

    /// The report of the last run as JSON.
    pub(crate) fn report(&self) -> Value {
        self.fathom("report last --format json").expect(0, &[]).json()
    }
}

/// Splits at blanks.
fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// A command that has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// The command.
    pub(crate) line: String,
    /// Exit code, or 128 + signal.
    pub(crate) code: i32,
    /// Standard output.
    pub(crate) out: String,
    /// Standard error.
    pub(crate) err: String,
}

impl Ended {
    fn of(line: &str, output: std::process::Output) -> Self {
        let code =
            output.status.code().unwrap_or_else(|| 128 + output.status.signal().expect("it has ended"));
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Self { line: line.to_owned(), code, out: text(output.stdout), err: text(output.stderr) }
    }

    /// It ended with this code and said these fragments on standard error, without a panic.
    pub(crate) fn expect(&self, code: i32, says: &[&str]) -> &Self {
        assert!(!self.err.contains("panicked"), "{} panicked: {self:#?}", self.line);
        assert_eq!(self.code, code, "{self:#?}");
        for fragment in says {
            assert!(self.err.contains(fragment), "{fragment:?} is not said in {self:#?}");
        }
        self
    }

    /// Standard output as one JSON document.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error} in {self:#?}"))
    }
}

/// A run that goes on. Killed when dropped.
pub(crate) struct Running {
    line: String,
    child: Child,
    messages: BufReader<ChildStderr>,
    said: String,
    data: BufReader<ChildStdout>,
    given: String,
}

impl Running {
    /// Reads its messages up to a line with `fragment`, which it returns; panics when it ends before.
    pub(crate) fn wait_for(&mut self, fragment: &str) -> String {
        loop {
            let mut line = String::new();
            let length = self.messages.read_line(&mut line).expect("messages are text");
            assert!(length > 0, "{fragment:?} never came from {}:\n{}", self.line, self.said);
            self.said += &line;
            if line.contains(fragment) {
                return line;
            }
        }
    }

    /// As [`Running::wait_for`], on standard output.
    pub(crate) fn wait_for_data(&mut self, fragment: &str) {
        loop {
            let mut line = String::new();
            let length = self.data.read_line(&mut line).expect("data is text");
            self.given += &line;
            assert!(length > 0, "{fragment:?} never came from {}:\n{}", self.line, self.given);
            if line.contains(fragment) {
                return;
            }
        }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).expect("the process is ours and was not waited for");
    }

    /// False once it has ended.
    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("it is our child").is_none()
    }

    /// Waits for its end.
    pub(crate) fn ended(mut self) -> Ended {
        let mut rest = String::new();
        self.messages.read_to_string(&mut rest).expect("messages are text");
        self.said += &rest;
        let mut out = std::mem::take(&mut self.given).into_bytes();
        self.data.read_to_end(&mut out).expect("a pipe can be read");
        let status = self.child.wait().expect("it is our child");
        let output =
            std::process::Output { status, stdout: out, stderr: std::mem::take(&mut self.said).into_bytes() };
        Ended::of(&self.line, output)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended already unless the test failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A number of a report, by its place.
pub(crate) fn number(document: &Value, pointer: &str) -> f64 {
    let found = document.pointer(pointer).and_then(Value::as_f64);
    found.unwrap_or_else(|| panic!("no number at {pointer} in {document:#}"))
}

/// Operations and bytes of one kind in the totals at `pointer` (of a step or a stream); zeros when there were none.
pub(crate) fn moved(document: &Value, pointer: &str, kind: &str) -> (u64, u64) {
    let totals = document.pointer(pointer).unwrap_or_else(|| panic!("nothing at {pointer} in {document:#}"));
    let kinds = totals["kinds"].as_array().expect("totals have kinds");
    let of_kind = kinds.iter().chain([&totals["all"]]).find(|of| of["kind"] == kind);
    of_kind.map_or((0, 0), |of| {
        (of["operations"].as_u64().expect("a count"), of["bytes"].as_u64().expect("a count"))
    })
}

/// Bytes that no block of zeros is among.
pub(crate) fn noise(length: u64) -> Vec<u8> {
    let mut random = fathom_pattern::rng::Rng::new(length);
    (0..length / 8).flat_map(|_| random.next_u64().to_le_bytes()).collect()
}
