//! The corpora of the fuzz targets as they are, and with pieces cut out, repeated, exchanged and put in: a text of any kind
//! is read to its end, and every fault has its place in it.

#[path = "../../../fuzz/properties/texts.rs"]
mod texts;

use proptest::prelude::*;
use std::path::Path;
use std::sync::LazyLock;

type Corpus = LazyLock<Vec<Vec<u8>>>;

static FIO_FILES: Corpus = LazyLock::new(|| corpus("fio_file"));
static FIO_COMMAND_LINES: Corpus = LazyLock::new(|| corpus("fio_command_line"));
static NATIVE: Corpus = LazyLock::new(|| corpus("native"));
static ICF: Corpus = LazyLock::new(|| corpus("icf"));
static VDBENCH: Corpus = LazyLock::new(|| corpus("vdbench"));

/// Words that stand for something in one of the dialects.
const WORDS: &[&str] = &[
    "\n",
    "=",
    "[",
    "]",
    ":",
    ",",
    "-",
    "$",
    "%",
    "#",
    ";",
    "\"",
    "\\",
    "0",
    "18446744073709551616",
    "1e999",
    "é",
    "\u{0}",
    "[global]\n",
    "include x\n",
    "stonewall\n",
    "numjobs=4097\n",
    "bs=",
    "bssplit=4k/50:8k/",
    "zipf:",
    "rw=randrw:8\n",
    "100%",
    "$jobnum",
    "${HOME}",
    "8k-",
    "read_iolog=a:b\n",
    "[stream.a]\n",
    "[[",
    "sweep = { from = 1, to = ",
    "4KiB..",
    "50%",
    "'Worker\n",
    "'END ",
    "'Target\n",
    "\t",
    "Version 1.1.0\n",
    "*",
    "(",
    ")",
    "sd=",
    ",rd=",
    "default",
    "range",
    "(1-64,d)",
    "(4k,50,8k,50)",
    "count=(1,10000)",
];

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.expect("it can be listed").path())
        .collect();
    files.sort();
    assert!(!files.is_empty(), "{} is empty", folder.display());
    files.iter().map(|file| std::fs::read(file).expect("it is there")).collect()
}

/// A change of a text; places are parts of its length, in 65,536ths.
#[derive(Debug, Clone)]
enum Edit {
    Cut(u16, usize),
    Repeat(u16, usize, usize),
    Set(u16, u8),
    Put(u16, &'static str),
    Move(u16, u16, usize),
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let edit = prop_oneof![
        (any::<u16>(), 1_usize..40).prop_map(|(at, length)| Edit::Cut(at, length)),
        (any::<u16>(), 1_usize..40, 1_usize..20)
            .prop_map(|(at, length, times)| Edit::Repeat(at, length, times)),
        (any::<u16>(), any::<u8>()).prop_map(|(at, byte)| Edit::Set(at, byte)),
        (any::<u16>(), prop::sample::select(WORDS)).prop_map(|(at, word)| Edit::Put(at, word)),
        (any::<u16>(), any::<u16>(), 1_usize..200)
            .prop_map(|(at, from, length)| Edit::Move(at, from, length)),
    ];
    prop::collection::vec(edit, 1..8)
}

fn edited(text: &[u8], edits: &[Edit]) -> Vec<u8> {
    let mut text = text.to_vec();
    for edit in edits {
        let place = |part: &u16| usize::from(*part) * text.len() / 65_536;
        let piece = |part: &u16, length: usize| place(part)..(place(part) + length).min(text.len());
        match edit {
            Edit::Cut(at, length) => drop(text.drain(piece(at, *length))),
            Edit::Repeat(at, length, times) => {
                let piece = piece(at, *length);
                let copies = text[piece.clone()].repeat(*times);
                text.splice(piece.end..piece.end, copies);
            }
            Edit::Set(at, byte) => {
                let at = place(at);
                if let Some(slot) = text.get_mut(at) {
                    *slot = *byte;
                }
            }
            Edit::Put(at, word) => {
                let at = place(at);
                text.splice(at..at, word.bytes());
            }
            Edit::Move(at, from, length) => {
                let moved: Vec<u8> = text.drain(piece(from, *length)).collect();
                let at = usize::from(*at) * text.len() / 65_536;
                text.splice(at..at, moved);
            }
        }
    }
    text
}

#[test]
fn the_corpora_are_read() {
    for (corpus, read) in [
        (&FIO_FILES, texts::fio_file as fn(&[u8])),
        (&FIO_COMMAND_LINES, texts::fio_command_line),
        (&NATIVE, texts::native),
        (&ICF, texts::icf),
        (&VDBENCH, texts::vdbench),
    ] {
        corpus.iter().for_each(|text| read(text));
    }
}

proptest! {
    #[test]
    fn changed_job_files_of_fio_are_read(file in any::<prop::sample::Index>(), edits in edits()) {
        texts::fio_file(&edited(file.get::<Vec<u8>>(&FIO_FILES), &edits));
    }

    #[test]
    fn changed_command_lines_of_fio_are_read(file in any::<prop::sample::Index>(), edits in edits()) {
        texts::fio_command_line(&edited(file.get::<Vec<u8>>(&FIO_COMMAND_LINES), &edits));
    }

    #[test]
    fn changed_native_jobs_are_read(file in any::<prop::sample::Index>(), edits in edits()) {
        texts::native(&edited(file.get::<Vec<u8>>(&NATIVE), &edits));
    }

    #[test]
    fn changed_configurations_of_iometer_are_read(file in any::<prop::sample::Index>(), edits in edits()) {
        texts::icf(&edited(file.get::<Vec<u8>>(&ICF), &edits));
    }

    #[test]
    fn changed_parameter_files_of_vdbench_are_read(file in any::<prop::sample::Index>(), edits in edits()) {
        texts::vdbench(&edited(file.get::<Vec<u8>>(&VDBENCH), &edits));
    }
}
