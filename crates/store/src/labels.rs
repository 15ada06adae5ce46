//! What people call a run after it was made: another title, and tags. They lie in a table of their own beside the record,
//! which stays as it was written; older fathoms do not look there.

use crate::{StoreError, layout};
use rusqlite::{Connection, OpenFlags, OptionalExtension, params};
use std::path::Path;

/// Longest title and longest tag, in bytes: what a list can show.
pub const LABEL_BYTES_MAX: usize = 200;
/// Tags of one run, at most.
pub const TAGS_MAX: usize = 32;

/// What people call a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Labels {
    /// The title that takes the place of the job's.
    pub title: Option<String>,
    /// Tags, in order.
    pub tags: Vec<String>,
}

/// The labels of the run in `path`; none where nobody gave any.
pub fn labels(path: &Path) -> Result<Labels, StoreError> {
    let db = crate::reader::open(path)?;
    read(&db, path)
}

/// Whether a title or a tag may be this: short, and all to be seen. One that came with a file and is otherwise is none.
pub fn is_label(text: &str) -> bool {
    text.len() <= LABEL_BYTES_MAX && !text.contains(char::is_control)
}

/// Reads the labels out of an open run.
pub(crate) fn read(db: &Connection, path: &Path) -> Result<Labels, StoreError> {
    let sqlite = |error| StoreError::of(path, error);
    let there: Option<i64> = db
        .query_row("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'label'", (), |row| {
            row.get(0)
        })
        .optional()
        .map_err(sqlite)?;
    if there.is_none() {
        return Ok(Labels::default());
    }
    let mut query = db.prepare("SELECT kind, value FROM label ORDER BY rowid").map_err(sqlite)?;
    let rows = query
        .query_map((), |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))
        .map_err(sqlite)?;
    let mut labels = Labels::default();
    for row in rows {
        match row.map_err(sqlite)? {
            (_, value) if !is_label(&value) => {}
            (kind, value) if kind == "title" => labels.title = Some(value),
            // Lists of tags are separated by them.
            (_, value) if value.contains(',') => {}
            // One that was given twice is one.
            (_, value) if labels.tags.contains(&value) => {}
            (_, value) => labels.tags.push(value),
        }
    }
    Ok(labels)
}

/// Gives the run in `path` these labels in the place of those it has; a tag that is named twice is given once. A run that
/// goes on has none yet.
pub fn set_labels(path: &Path, labels: &Labels) -> Result<(), StoreError> {
    let sqlite = |error| StoreError::of(path, error);
    let mut db = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(sqlite)?;
    layout::check(&db, path)?;
    let transaction = db.transaction().map_err(sqlite)?;
    transaction
        .execute_batch(
            "CREATE TABLE IF NOT EXISTS label (kind TEXT NOT NULL, value TEXT NOT NULL) STRICT; DELETE FROM label;",
        )
        .map_err(sqlite)?;
    let all =
        labels.title.iter().map(|title| ("title", title)).chain(labels.tags.iter().map(|tag| ("tag", tag)));
    let all: Vec<_> = all.collect();
    for (at, &(kind, value)) in all.iter().enumerate() {
        if all[..at].contains(&(kind, value)) {
            continue;
        }
        transaction.execute("INSERT INTO label VALUES (?1, ?2)", params![kind, value]).map_err(sqlite)?;
    }
    transaction.commit().map_err(sqlite)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_kept_beside_the_record() {
        let folder = tempfile::tempdir().expect("there is a place for temporary files");
        let id = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
        let mut writer = crate::Writer::create(folder.path(), id).expect("it can be made");
        writer.append(&crate::tests::run_started()).expect("it can be written");
        let path = writer.finish().expect("it can be written");
        assert_eq!(labels(&path).expect("it can be read"), Labels::default());
        let before = crate::read(&path).expect("it can be read");
        for given in [
            Labels { title: Some("other".to_owned()), tags: vec!["b".to_owned(), "a".to_owned()] },
            Labels { title: None, tags: vec!["c".to_owned()] },
            Labels::default(),
        ] {
            set_labels(&path, &given).expect("it can be written");
            assert_eq!(labels(&path).expect("it can be read"), given);
            // What people call it is its title wherever it is read, and tags stand in lists.
            let mut named = before.clone();
            named.started.title = given.title.clone().unwrap_or(named.started.title);
            assert_eq!(crate::read(&path).expect("it can be read"), named);
            let listed = crate::look(path.clone());
            assert_eq!((listed.title, listed.tags), (named.started.title, given.tags));
        }
        // As a hostile file may have them.
        for odd in ["a\u{1b}[2J", &"x".repeat(LABEL_BYTES_MAX + 1)] {
            set_labels(&path, &Labels { title: Some(odd.to_owned()), tags: vec![odd.to_owned()] })
                .expect("it can be written");
            assert_eq!(labels(&path).expect("it can be read"), Labels::default());
        }
        let lists = ["a,b".to_owned(), "c".to_owned()].to_vec();
        set_labels(&path, &Labels { title: None, tags: lists }).expect("it can be written");
        assert_eq!(labels(&path).expect("it can be read").tags, ["c"], "what separates tags is in none");
        let twice = ["b", "a", "b", "c", "a"].map(str::to_owned).to_vec();
        set_labels(&path, &Labels { title: None, tags: twice }).expect("it can be written");
        let rows = |path: &Path| -> i64 {
            let db = Connection::open(path).expect("it can be opened");
            db.query_row("SELECT count(*) FROM label", (), |row| row.get(0)).expect("it has the table")
        };
        assert_eq!(rows(&path), 3, "each is kept once");
        // As those files have it that were written before.
        let db = Connection::open(&path).expect("it can be opened");
        db.execute("INSERT INTO label VALUES ('tag', 'b')", ()).expect("it can be written");
        drop(db);
        assert_eq!(rows(&path), 4);
        assert_eq!(labels(&path).expect("it can be read").tags, ["b", "a", "c"], "and told once, in order");
        let other = folder.path().join("other.fathom");
        std::fs::write(&other, "no run").expect("it can be written");
        assert!(set_labels(&other, &Labels::default()).is_err());
        assert_eq!(std::fs::read(&other).expect("it is there"), b"no run", "it is left as it is");
    }
}
