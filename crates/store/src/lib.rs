//! One file per run: writes a run's events as they happen, reads them back after a crash, lists and finds runs.
//!
//! Owns the file's layout, where files lie and what makes a write durable. Deliberately does not know what the numbers
//! in an event mean, and reads no clock: every time in a file comes out of an event.
#![forbid(unsafe_code)]

mod beside;
mod error;
mod folder;
mod held;
mod labels;
mod layout;
mod marks;
mod packed;
mod reader;
#[cfg(test)]
mod tests;
mod writer;

pub use beside::{make_room, remove};
pub use error::StoreError;
pub use folder::{
    EXTENSION, State, Summary, default_folder, find, find_begun, folder_of_user, list, look, path_of,
};
pub use held::{is_held, with_progress};
pub use labels::{LABEL_BYTES_MAX, Labels, TAGS_MAX, is_label, labels, set_labels};
pub use layout::FILE_HEAD;
pub use marks::{Untimely, mark, moment};
pub use reader::{Detail, each_interval, overview, read, read_with, whole};
pub use writer::{Unstored, Writer};
