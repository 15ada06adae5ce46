//! Which dialect a text is written in, told by its name and a look at its lines. Knows no grammar.

use fathom_model::{Diagnostics, Dialect};

/// A guess at a text's dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guess {
    /// The dialect.
    pub dialect: Dialect,
    /// Whether this build reads it.
    pub is_built: bool,
}

impl Guess {
    /// Says that the dialect is known but cannot be read yet; silent for one that can.
    pub fn report(self, name: &str, to: &mut Diagnostics) {
        if self.is_built {
            return;
        }
        let what = match self.dialect {
            Dialect::Vdbench => "a Vdbench parameter file",
            Dialect::Iometer => "an Iometer configuration",
            Dialect::Fio => "a fio job file",
            Dialect::Native => "a native job",
        };
        let message = format!("{name} looks like {what}; this dialect is known but not built yet");
        to.error("job.dialect-not-built", None, message, "write it as a native job or a fio job file");
    }
}

/// Guesses the dialect of a text: by the file's ending first, then by lines that only one dialect has; fio when in doubt.
pub fn dialect_of(name: &str, text: &str) -> Guess {
    let built = |dialect| Guess { dialect, is_built: true };
    let known = |dialect| Guess { dialect, is_built: false };
    let ends_in = |ending: &str| {
        name.len() > ending.len()
            && name.get(name.len() - ending.len()..).is_some_and(|end| end.eq_ignore_ascii_case(ending))
    };
    if ends_in(".toml") {
        return built(Dialect::Native);
    }
    if ends_in(".icf") {
        return built(Dialect::Iometer);
    }
    for line in text.lines().map(str::trim_start) {
        if ["[stream.", "[target.", "[workload.", "[stage.", "[run]"]
            .iter()
            .any(|head| line.starts_with(head))
        {
            return built(Dialect::Native);
        }
        let heads = ["'TEST SETUP", "'RESULTS DISPLAY", "'ACCESS SPECIFICATIONS", "'MANAGER LIST"];
        if heads
            .iter()
            .any(|head| line.get(..head.len()).is_some_and(|start| start.eq_ignore_ascii_case(head)))
        {
            return built(Dialect::Iometer);
        }
        if ["sd=", "wd=", "rd=", "fsd=", "fwd=", "hd="].iter().any(|head| line.starts_with(head)) {
            return known(Dialect::Vdbench);
        }
        if line.starts_with('[') {
            return built(Dialect::Fio);
        }
    }
    built(Dialect::Fio)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dialects_are_told_apart() {
        for (name, text, dialect, is_built) in [
            ("a.toml", "", Dialect::Native, true),
            ("a", "# x\n[target.disk]\n", Dialect::Native, true),
            ("a.fio", "[global]\nbs=4k\n", Dialect::Fio, true),
            ("a", "", Dialect::Fio, true),
            ("a", "* comment\nsd=sd1,lun=/dev/sdb\n", Dialect::Vdbench, false),
            ("a.ICF", "", Dialect::Iometer, true),
            ("a", "Version 1.1.0\n'TEST SETUP ====\n", Dialect::Iometer, true),
            ("a", "[job]\nrd=x\n", Dialect::Fio, true),
        ] {
            assert_eq!(dialect_of(name, text), Guess { dialect, is_built }, "{name} {text}");
            let mut found = Diagnostics::default();
            dialect_of(name, text).report(name, &mut found);
            assert_eq!(found.has_errors(), !is_built);
        }
    }
}
