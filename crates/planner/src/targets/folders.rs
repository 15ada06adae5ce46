//! Folders: the roots of trees, and those on whose names streams work. Does not know what lies in them.

use super::{Class, Item, Resolver};
use crate::remarks::Remarks;
use crate::safety;
use fathom_schema::{FileKind, TargetFact};
use std::path::Path;

impl Resolver<'_> {
    /// Whether a tree can be where its root is said to be: in a folder that is there, so that a slip of the pen makes no folders.
    pub(super) fn tree_is_possible(&self, root: &Path, remarks: &mut Remarks) -> bool {
        if !self.usage.opened {
            return true;
        }
        let Some(fact) = self.fact(root, remarks) else { return false };
        let name = root.display();
        let (message, help) = match fact.kind {
            FileKind::Folder => return true,
            FileKind::Absent if self.makes_folders() && !safety::is_among_devices(fact) => return true,
            FileKind::Absent | FileKind::NoFolder => (
                format!("the root of the tree, {name}, is not there"),
                format!("make it with: mkdir -p {name}"),
            ),
            _ => (format!("the root of the tree, {name}, is no folder"), "name a folder".to_owned()),
        };
        let options = &self.section.options;
        remarks.error("target.no-folder", options.directory.span().or(options.path.span()), message, help);
        false
    }

    /// Something whose name is that of a folder.
    pub(super) fn folder(&self, item: &Item, fact: &TargetFact, remarks: &mut Remarks) -> Option<Class> {
        let options = &self.section.options;
        let span = options.kind.span().or(options.path.span()).or(options.directory.span());
        let name = &item.name;
        let (message, help) = match fact.kind {
            _ if self.usage.as_file => {
                let message = format!("{name} is used as a file and as a folder at the same time");
                (message, "give the streams targets of their own, or put them into stages of their own")
            }
            FileKind::Folder | FileKind::Absent if !safety::is_among_devices(fact) => {
                return Some(Class::Folder);
            }
            FileKind::NoFolder if self.makes_folders() && !safety::is_among_devices(fact) => {
                return Some(Class::Folder);
            }
            FileKind::Absent | FileKind::NoFolder => (
                format!("the folder {name} cannot be made there"),
                "make the folder that it is to be in first",
            ),
            _ => (format!("{name} is no folder, and the engine works on folders"), "use another name"),
        };
        remarks.error("target.kind", span, message, help);
        None
    }
}
