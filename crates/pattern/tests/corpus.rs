//! The corpus of traces that fuzzing begins with, as it is and with bytes of it changed: an answer comes, and what is
//! replayed lies within the files that were told of.

#[path = "../../../fuzz/properties/traces.rs"]
mod traces;

use proptest::prelude::*;
use std::path::Path;

fn corpus() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/trace");
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<_> = entries.map(|entry| entry.expect("it can be listed").path()).collect();
    files.sort();
    assert!(!files.is_empty(), "{} is empty", folder.display());
    files.iter().map(|file| std::fs::read(file).expect("it is there")).collect()
}

#[test]
fn the_corpus_is_read() {
    corpus().iter().for_each(|bytes| traces::any_bytes(bytes));
}

proptest! {
    #[test]
    fn changed_traces_are_read_or_refused(
        file in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..12),
        cut in any::<prop::sample::Index>(),
        is_cut: bool,
        repeated in 1_usize..4,
    ) {
        let corpus = corpus();
        let mut bytes = file.get(&corpus).repeat(repeated);
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if is_cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        traces::any_bytes(&bytes);
    }
}
