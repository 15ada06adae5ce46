//! What the user agrees to, and which words settle what is asked: the same on a command line, in a program's request and in a
//! browser. It does not know how a question is put, nor what is worth asking about.

use super::Verdict;
use std::fmt;
use std::path::{Path, PathBuf};

/// Characters of a serial number that a person types to confirm: enough to tell two disks of one batch apart.
const SERIAL_TAIL_CHARS: usize = 4;

/// What settles that a file may be lost, which `--overwrite` says beforehand.
pub(super) const OVERWRITE: &str = "overwrite";
/// What settles that content without a known signature may be lost, which `--yes` says beforehand.
const YES: &str = "yes";

/// What the user has agreed to.
#[expect(clippy::struct_excessive_bools, reason = "each is a consent of its own")]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Consent {
    /// `--yes`: content without a known signature may be overwritten.
    pub yes: bool,
    /// `--overwrite`: regular files that fathom did not make may be overwritten.
    pub overwrite: bool,
    /// `--destroy`: paths or serial numbers of devices whose signed content may be overwritten. Paths should be among
    /// the probed paths, so that a link is compared by the device behind it.
    pub destroy: Vec<String>,
    /// Paths, as the job has them, about which the right words were typed ([`Consent::answer`]).
    pub confirmed: Vec<PathBuf>,
    /// A peer's dialect runs: files named in its job are written without `--overwrite`, and devices with content that
    /// has no signature without `--yes`, each with a note. It consents to nothing else.
    pub dialect_writes_named_files: bool,
    /// `--allow-exec`: commands that the job names are run.
    pub allow_exec: bool,
    /// Which peers streams may talk to.
    pub peers: PeersAllowed,
}

impl Consent {
    /// Takes what was typed about a path; returns whether it settles what `verdict` has there. Judge again afterwards: what
    /// was confirmed is the path alone, and nothing that no words lift.
    pub fn answer(&mut self, verdict: &Verdict, path: &Path, typed: &str) -> bool {
        let asked = verdict.questions.iter().filter(|question| question.path == path);
        let refused = verdict.refusals.iter().filter(|refusal| refusal.path == path);
        let mut answers = asked.flat_map(|one| &one.answers).chain(refused.flat_map(|one| &one.answers));
        let settles = answers.any(|answer| answer == typed.trim());
        if settles {
            self.confirmed.push(path.to_owned());
        }
        settles
    }

    /// Whether the right words were typed about a path.
    pub(super) fn has_confirmed(&self, path: &Path) -> bool {
        self.confirmed.iter().any(|confirmed| confirmed == path)
    }
}

/// Which peers streams may talk to, or listen for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PeersAllowed {
    /// None.
    #[default]
    Nobody,
    /// Those on this host.
    Here,
    /// `--allow-net`: those on any host.
    Anyone,
}

/// Something a person has to confirm. Displays like a refusal, for when there is nobody to ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// `unsafe.signature` or `unsafe.content`.
    pub code: &'static str,
    /// The path as the job has it.
    pub path: PathBuf,
    /// The device in words: path, size, model, serial.
    pub device: String,
    /// What would be lost: a lower-case fragment.
    pub reason: String,
    /// Which option says yes beforehand: a lower-case fragment.
    pub remedy: String,
    /// What a person may type to confirm, the clearest first; at least one.
    pub answers: Vec<String>,
}

impl Question {
    /// A question about a device that was asked for as `path` and is at `resolved`. What has a signature is lost only by
    /// name; for anything else a yes is enough.
    pub(super) fn new(
        (path, resolved): (&Path, &Path),
        serial: &str,
        is_signed: bool,
        device: String,
        reason: String,
    ) -> Self {
        let shown = resolved.display().to_string();
        // A shorter serial number is typed by accident too easily, and counts as none.
        let tail =
            serial.char_indices().rev().nth(SERIAL_TAIL_CHARS - 1).map(|(at, _)| serial[at..].to_owned());
        let (code, remedy) = match (is_signed, tail.is_none()) {
            (false, _) => ("unsafe.content", format!("say --{YES} to lose it")),
            (true, true) => ("unsafe.signature", format!("say --destroy={shown} to lose it")),
            (true, false) => {
                ("unsafe.signature", format!("say --destroy={shown} or --destroy={serial} to lose it"))
            }
        };
        let mut answers = Vec::new();
        let whole = tail.is_some().then(|| serial.to_owned());
        let names = [shown, path.display().to_string()].into_iter().chain(whole).chain(tail);
        let yes = (!is_signed).then(|| YES.to_owned());
        for answer in yes.into_iter().chain(names).filter(|answer| !answer.is_empty()) {
            if !answers.contains(&answer) {
                answers.push(answer);
            }
        }
        Self { code, path: path.to_owned(), device, reason, remedy, answers }
    }

    /// What may be typed, in words: `"/dev/sda" or "AL42"`.
    pub fn wanted(&self) -> String {
        self.answers.iter().map(|answer| format!("\"{answer}\"")).collect::<Vec<_>>().join(" or ")
    }
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.path.display(), self.reason, self.remedy)
    }
}
