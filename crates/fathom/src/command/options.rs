//! `fathom options`: the option table as text.

use crate::exit::Exit;
use fathom_model::{Group, rows};

pub(crate) fn run() -> Exit {
    let mut text = String::new();
    let mut group: Option<Group> = None;
    for row in rows() {
        if group != Some(row.group) {
            group = Some(row.group);
            text += &format!("\n[{}]\n", row.group.name());
        }
        let default = (row.default)();
        let default = if default.is_empty() { String::new() } else { format!(" (default {default})") };
        text += &format!("  {} = {}{default}\n", row.name(), row.example);
        for line in row.doc.lines().map(str::trim).filter(|line| !line.is_empty()) {
            text += &format!("      {line}\n");
        }
    }
    crate::shown(text.trim_start())
}
