//! Calls on the names of files and folders, which move no bytes: what an engine may do there is said here and nowhere
//! else.

use serde::{Deserialize, Serialize};

/// What an operation does to the name of one file or folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NameOperation {
    /// `open(2)` with `O_CREAT`: makes an empty file, or opens what is there and leaves it as it is.
    CreateFile,
    /// Asks what is at the name of a file.
    StatFile(StatCall),
    /// `unlink(2)`.
    RemoveFile,
    /// `mkdir(2)`.
    CreateFolder,
    /// Asks what is at the name of a folder.
    StatFolder(StatCall),
    /// `rmdir(2)`.
    RemoveFolder,
}

/// The call that asks what is at a name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StatCall {
    /// `stat(2)`: follows links.
    #[default]
    Stat,
    /// `lstat(2)`: of a link itself.
    Lstat,
    /// `statx(2)` with all that there is to know.
    Statx,
}

impl NameOperation {
    /// The name of the engine that does it, as jobs write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CreateFile => "filecreate",
            Self::StatFile(_) => "filestat",
            Self::RemoveFile => "filedelete",
            Self::CreateFolder => "dircreate",
            Self::StatFolder(_) => "dirstat",
            Self::RemoveFolder => "dirdelete",
        }
    }

    /// Whether the names are those of folders.
    pub const fn is_of_folders(self) -> bool {
        matches!(self, Self::CreateFolder | Self::StatFolder(_) | Self::RemoveFolder)
    }

    /// Whether it makes what is not there.
    pub const fn creates(self) -> bool {
        matches!(self, Self::CreateFile | Self::CreateFolder)
    }

    /// Whether what is there is gone afterwards.
    pub const fn removes(self) -> bool {
        matches!(self, Self::RemoveFile | Self::RemoveFolder)
    }
}
