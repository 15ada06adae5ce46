//! Names of sections that have to differ. Knows nothing of what they are names of.

use std::collections::BTreeMap;

/// Names that are taken, with the number the next one of that name gets.
#[derive(Debug, Default)]
pub(crate) struct Names {
    next: BTreeMap<String, u32>,
}

impl Names {
    /// `name`, or `name#2` and so on when it is taken.
    pub(crate) fn unique(&mut self, name: &str) -> String {
        let mut candidate = name.to_owned();
        while self.next.contains_key(&candidate) {
            let number = self.next.entry(name.to_owned()).or_insert(1);
            *number += 1;
            candidate = format!("{name}#{number}");
        }
        self.next.insert(candidate.clone(), 1);
        candidate
    }
}
