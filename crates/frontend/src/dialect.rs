//! Which dialect a text is written in, told by its name and a look at its lines. Knows no grammar.

use fathom_model::Dialect;

/// Guesses the dialect of a text: by the file's ending first, then by lines that only one dialect has; fio when in doubt.
pub fn dialect_of(name: &str, text: &str) -> Dialect {
    let ends_in = |ending: &str| {
        name.len() > ending.len()
            && name.get(name.len() - ending.len()..).is_some_and(|end| end.eq_ignore_ascii_case(ending))
    };
    if ends_in(".toml") {
        return Dialect::Native;
    }
    if ends_in(".icf") {
        return Dialect::Iometer;
    }
    if [".parm", ".vdb", ".vdbench"].into_iter().any(ends_in) {
        return Dialect::Vdbench;
    }
    for line in text.lines().map(str::trim_start) {
        if ["[stream.", "[target.", "[workload.", "[stage.", "[run]"]
            .iter()
            .any(|head| line.starts_with(head))
        {
            return Dialect::Native;
        }
        let heads = ["'TEST SETUP", "'RESULTS DISPLAY", "'ACCESS SPECIFICATIONS", "'MANAGER LIST"];
        if heads
            .iter()
            .any(|head| line.get(..head.len()).is_some_and(|start| start.eq_ignore_ascii_case(head)))
        {
            return Dialect::Iometer;
        }
        let begins =
            |head: &str| line.get(..head.len()).is_some_and(|start| start.eq_ignore_ascii_case(head));
        if ["sd=", "wd=", "rd=", "fsd=", "fwd=", "hd="].into_iter().any(begins) {
            return Dialect::Vdbench;
        }
        if line.starts_with('[') {
            return Dialect::Fio;
        }
    }
    Dialect::Fio
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dialects_are_told_apart() {
        for (name, text, dialect) in [
            ("a.toml", "", Dialect::Native),
            ("a", "# x\n[target.disk]\n", Dialect::Native),
            ("a.fio", "[global]\nbs=4k\n", Dialect::Fio),
            ("a", "", Dialect::Fio),
            ("a", "* comment\nsd=sd1,lun=/dev/sdb\n", Dialect::Vdbench),
            ("a", "messagescan=no\nSD=default,size=1g\n", Dialect::Vdbench),
            ("a.vdb", "include=disks\n", Dialect::Vdbench),
            ("a.ICF", "", Dialect::Iometer),
            ("a", "Version 1.1.0\n'TEST SETUP ====\n", Dialect::Iometer),
            ("a", "[job]\nrd=x\n", Dialect::Fio),
        ] {
            assert_eq!(dialect_of(name, text), dialect, "{name} {text}");
        }
    }
}
