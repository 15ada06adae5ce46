//! Lines and sections of a fio job file, bit for bit: comments, trimming, headers, `include`, substitution. Knows no option
//! but `include`; what a key means is the option table's.

use super::Surroundings;
use super::faults::Faults;
use super::substitution::{keywords, variables};
use fathom_model::{Sources, Span};

/// Bytes of a line that fio reads at once (its buffer is 8192 with the end mark); what is beyond is a line of its own.
const LINE_BYTES_MAX: usize = 8191;
/// Bytes of a section's name: fio reads 255, of which it drops the last for the bracket.
const NAME_BYTES_MAX: usize = 254;
/// Files that include one another, at most. fio has no limit but its stack; nobody nests deeper than two.
const INCLUDE_DEPTH_MAX: u32 = 16;
/// Lines from includes, at most, so that files that include each other twice do not double for ever.
const INCLUDED_LINES_MAX: usize = 100_000;

/// One section.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Section {
    /// Name without brackets.
    pub(crate) name: String,
    /// Its header.
    pub(crate) span: Span,
    /// Its options in written order, included ones in place.
    pub(crate) lines: Vec<Line>,
}

impl Section {
    /// Whether it sets defaults for the jobs after it: fio compares the first six letters only.
    pub(crate) fn is_global(&self) -> bool {
        self.name.starts_with("global")
    }
}

/// One option as written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Line {
    /// What stands before `=`.
    pub(crate) key: String,
    /// What stands after it, verbatim; absent without `=`.
    pub(crate) value: Option<String>,
    /// The key's place.
    pub(crate) key_span: Span,
    /// The value's place; the key's without one.
    pub(crate) value_span: Span,
}

/// Reads a job file into sections. `text` is the source numbered `source`.
pub(crate) fn sections(
    source: u32,
    text: &str,
    surroundings: &Surroundings<'_>,
    sources: &mut Sources,
    faults: &mut Faults,
) -> Vec<Section> {
    let mut parser =
        Parser { surroundings, sources, faults, sections: Vec::new(), depth: 0, included_lines: 0 };
    parser.file(source, text);
    parser.sections
}

struct Parser<'a> {
    surroundings: &'a Surroundings<'a>,
    sources: &'a mut Sources,
    faults: &'a mut Faults,
    sections: Vec<Section>,
    depth: u32,
    included_lines: usize,
}

impl Parser<'_> {
    fn file(&mut self, source: u32, text: &str) {
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let mut rest = line;
            let mut at = start;
            while rest.len() > LINE_BYTES_MAX {
                let cut =
                    (0..=LINE_BYTES_MAX).rev().find(|&at| rest.is_char_boundary(at)).unwrap_or(rest.len());
                let span = Span { source, start: at, end: at + cut };
                let message = format!(
                    "the line has more than {LINE_BYTES_MAX} bytes; fio reads the rest as another line"
                );
                self.faults.warn("fio.misread", span, message, "split it");
                self.line(source, at, &rest[..cut]);
                at += cut;
                rest = &rest[cut..];
            }
            self.line(source, at, rest);
            start += line.len();
        }
    }

    /// One line; `offset` is where it begins in its source.
    fn line(&mut self, source: u32, offset: usize, line: &str) {
        let uncommented = line.split(';').next().unwrap_or_default();
        let uncommented = uncommented.split('#').next().unwrap_or_default();
        let is_blank = |c: char| c.is_ascii_whitespace() || c.is_ascii_control();
        let trimmed = uncommented.trim_start_matches(is_blank);
        let start = offset + uncommented.len() - trimmed.len();
        let trimmed = trimmed.trim_end_matches(is_blank);
        let span = Span { source, start, end: start + trimmed.len() };
        if trimmed.is_empty() {
            return;
        }
        if let Some(header) = trimmed.strip_prefix('[') {
            self.header(header, span);
        } else if self.sections.is_empty() {
            let message = format!("the option <{}> stands outside of a [job] section", shortened(trimmed));
            self.faults.error(
                "fio.outside-section",
                span,
                message,
                "put [global] or [NAME] on a line above it",
            );
        } else if let Some(file) = trimmed.strip_prefix("include") {
            self.include(file, span);
        } else {
            self.option(trimmed, span);
        }
    }

    fn header(&mut self, header: &str, span: Span) {
        if self.depth > 0 {
            let message = "an included file has a section of its own";
            self.faults.error("fio.include", span, message, "included files hold options only");
            return;
        }
        // fio drops the last character, whatever it is.
        let mut name = header.to_owned();
        let last = name.pop();
        if last != Some(']') {
            let message = format!(
                "the section header [{header} has no closing bracket; fio calls the section \"{name}\""
            );
            self.faults.warn("fio.misread", span, message, format!("write [{}]", header.trim_end()));
        }
        if name.len() > NAME_BYTES_MAX {
            let cut = (0..=NAME_BYTES_MAX).rev().find(|&at| name.is_char_boundary(at)).unwrap_or(0);
            name.truncate(cut);
            let message =
                format!("the section has a name of more than {NAME_BYTES_MAX} bytes; fio cuts it there");
            self.faults.warn("fio.misread", span, message, "give it a shorter one");
        }
        if name.is_empty() {
            self.faults.error("fio.section-name", span, "the section has no name", "write [NAME]");
            name.push_str("unnamed");
        }
        if name.starts_with("global") && name != "global" {
            let message =
                format!("the section [{name}] is global to fio, which compares the first six letters only");
            self.faults.warn(
                "fio.misread",
                span,
                message,
                "give the job a name that does not begin with \"global\"",
            );
        }
        self.sections.push(Section { name, span, lines: Vec::new() });
    }

    fn include(&mut self, file: &str, span: Span) {
        // fio 3.33 opens the file as it is written: variables are replaced in options alone.
        let written = file.get(1..).unwrap_or_default().trim();
        let (file, beside) = self.place_of(written, span.source);
        if self.depth >= INCLUDE_DEPTH_MAX {
            let message = format!("\"{file}\" is included {INCLUDE_DEPTH_MAX} deep");
            self.faults.error("fio.include", span, message, "a file that includes itself never ends");
            return;
        }
        match (self.surroundings.read)(&file) {
            Ok(text) => {
                self.included_lines = self.included_lines.saturating_add(text.lines().count());
                if self.included_lines > INCLUDED_LINES_MAX {
                    let message = format!("includes add more than {INCLUDED_LINES_MAX} lines");
                    self.faults.error("fio.include", span, message, "include less");
                    return;
                }
                let source = self.sources.add(file, text.clone());
                self.depth += 1;
                self.file(source, &text);
                self.depth -= 1;
            }
            Err(reason) => {
                let message = if beside {
                    let other = "nor is it beside the file that includes it";
                    format!("\"{written}\" is not in the current folder, {other}: {reason}")
                } else {
                    format!("cannot include \"{file}\": {reason}")
                };
                let help = if written.contains("${") {
                    "write the name in full: variables are replaced in options, and not in what is included, as with fio"
                } else {
                    "check the path, or write the options in place of this line"
                };
                self.faults.error("fio.include", span, message, help);
            }
        }
    }

    /// Where a file to include is, and whether that is beside the file that includes it. As with fio, what is there seen from
    /// the current folder comes first, whether it can be read or not.
    fn place_of(&self, written: &str, source: u32) -> (String, bool) {
        let includer = self.sources.all().get(source as usize).map_or("", |source| source.name.as_str());
        match includer.rfind('/') {
            Some(end) if !(self.surroundings.is_there)(written) => {
                (format!("{}{written}", &includer[..=end]), true)
            }
            _ => (written.to_owned(), false),
        }
    }

    fn option(&mut self, text: &str, span: Span) {
        let Span { source, start, end } = span;
        let (key_text, value_text) =
            text.split_once('=').map_or((text, None), |(key, value)| (key, Some(value)));
        let key_text = key_text.trim_end();
        let key_span = Span { source, start, end: start + key_text.len() };
        let value_span = value_text.map_or(key_span, |value| Span { source, start: end - value.len(), end });
        let key = variables(key_text, self.surroundings);
        let value = value_text.map(|value| {
            let value = variables(value, self.surroundings);
            keywords(&value, self.surroundings).unwrap_or_else(|reason| {
                self.faults.error("fio.bad-value", value_span, reason, "fio hands such a value to bc");
                value
            })
        });
        let section = self.sections.last_mut().expect("options outside of a section are refused before");
        section.lines.push(Line { key, value, key_span, value_span });
    }
}

/// At most 40 characters of a text, for messages.
pub(crate) fn shortened(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `[name] key=value|key|…` per section, and the codes of what was found.
    fn check(text: &str, expect: &[&str], codes: &[&str]) {
        let read = |file: &str| match file {
            "more.inc" => Ok("bs=8k\ninclude deep.inc\n".to_owned()),
            "deep.inc" => Ok("rw=write\n".to_owned()),
            "self.inc" => Ok("include self.inc\n".to_owned()),
            "bad.inc" => Ok("[x]\n".to_owned()),
            _ => Err("no such file".to_owned()),
        };
        check_named("t.fio", text, &read, &|_| false, expect, codes);
    }

    /// As [`check`], of a job file of this name among these files.
    fn check_named(
        name: &str,
        text: &str,
        read: &dyn Fn(&str) -> Result<String, String>,
        is_there: &dyn Fn(&str) -> bool,
        expect: &[&str],
        codes: &[&str],
    ) {
        let surroundings = Surroundings { read, is_there, ..Surroundings::empty() };
        let (mut sources, mut faults) = (Sources::default(), Faults::default());
        let source = sources.add(name, text);
        let sections = sections(source, text, &surroundings, &mut sources, &mut faults);
        let lines = |section: &Section| {
            let lines = section.lines.iter().map(|line| match &line.value {
                Some(value) => format!("{}={value}", line.key),
                None => line.key.clone(),
            });
            lines.collect::<Vec<_>>().join("|")
        };
        let got: Vec<String> =
            sections.iter().map(|section| format!("[{}] {}", section.name, lines(section))).collect();
        assert_eq!(got, expect, "{text:?}");
        let found = faults.into_diagnostics();
        assert_eq!(found.all().iter().map(|d| d.code).collect::<Vec<_>>(), codes, "{text:?}");
    }

    #[test]
    fn lines_are_read_as_fio_reads_them() {
        check("[a]\nbs=4k\nstonewall\n", &["[a] bs=4k|stonewall"], &[]);
        check("; c\n# c\n\n \t\n[a b,c/d]\n  bs = 4k ; x # y\n", &["[a b,c/d] bs= 4k"], &[]);
        check("[a]\r\nbs=4k\r\n", &["[a] bs=4k"], &[]);
        check("[a]\ndescription=a#b\n", &["[a] description=a"], &[]);
        check("[job\nbs=4k", &["[jo] bs=4k"], &["fio.misread"]);
        check("[global]\n[globalx]\n[a]", &["[global] ", "[globalx] ", "[a] "], &["fio.misread"]);
        check("bs=4k\n[a]", &["[a] "], &["fio.outside-section"]);
        check("[a]\ninclude more.inc\nsize=1m", &["[a] bs=8k|rw=write|size=1m"], &[]);
        check("[a]\ninclude self.inc\n", &["[a] "], &["fio.include"]);
        check("[a]\ninclude bad.inc\ninclude none.inc\n", &["[a] "], &["fio.include", "fio.include"]);
        check("[]", &["[unnamed] "], &["fio.section-name"]);
        check("", &[], &[]);
    }

    /// As fio 3.33 does: the current folder first, then the folder of the file that includes, which may be included itself.
    #[test]
    fn files_to_include_are_looked_for_in_two_folders() {
        let files = [
            ("../sub/more.inc", "bs=8k\ninclude deep/d.inc\n"),
            ("../sub/deep/d.inc", "rw=write\ninclude e.inc\n"),
            ("../sub/deep/e.inc", "iodepth=2\n"),
            ("../sub/both.inc", "bs=1k\n"),
            ("both.inc", "bs=2k\n"),
            ("../sub/folder", "bs=3k\n"),
        ];
        // The current folder has a "folder" that is no file.
        let is_there = |name: &str| name == "folder" || files.iter().any(|(file, _)| *file == name);
        let read = |name: &str| {
            let found = files.iter().find(|(file, _)| *file == name);
            found.map(|(_, text)| (*text).to_owned()).ok_or_else(|| format!("cannot read {name}"))
        };
        let check = |name: &str, text: &str, expect: &[&str], codes: &[&str]| {
            check_named(name, text, &read, &is_there, expect, codes);
        };
        let job = "../sub/a.fio";
        check(job, "[a]\ninclude more.inc\nsize=1m\n", &["[a] bs=8k|rw=write|iodepth=2|size=1m"], &[]);
        check(job, "[a]\ninclude both.inc\n", &["[a] bs=2k"], &[]);
        check("a.fio", "[a]\ninclude more.inc\n", &["[a] "], &["fio.include"]);
        check(job, "[a]\ninclude none.inc\ninclude folder\n", &["[a] "], &["fio.include", "fio.include"]);
        let (mut sources, mut faults) = (Sources::default(), Faults::default());
        let text = "[a]\ninclude none.inc\n";
        let source = sources.add(job, text);
        let surroundings = Surroundings { read: &read, is_there: &is_there, ..Surroundings::empty() };
        sections(source, text, &surroundings, &mut sources, &mut faults);
        let found = faults.into_diagnostics();
        let expect = "\"none.inc\" is not in the current folder, nor is it beside the file that includes it: \
                      cannot read ../sub/none.inc";
        assert_eq!(found.all()[0].message, expect);
    }

    /// As fio 3.33: `unable to open '${HERE}' job file`.
    #[test]
    fn variables_name_no_file_to_include() {
        let read = |name: &str| match name {
            "more.inc" => Ok("bs=8k\n".to_owned()),
            "${THERE}" => Ok("bs=${SIZE}\n".to_owned()),
            other => Err(format!("cannot read {other}")),
        };
        let variable = |name: &str| {
            let value = if name == "SIZE" { "2k" } else { "more.inc" };
            Some(value.to_owned())
        };
        let surroundings = Surroundings { read: &read, variable: &variable, ..Surroundings::empty() };
        let (mut sources, mut faults) = (Sources::default(), Faults::default());
        let text = "[a]\ninclude ${HERE}\ninclude ${THERE}\ninclude none.inc\n";
        let source = sources.add("a.fio", text);
        let found = sections(source, text, &surroundings, &mut sources, &mut faults);
        let lines: Vec<_> =
            found[0].lines.iter().map(|line| (line.key.as_str(), line.value.as_deref())).collect();
        assert_eq!(lines, [("bs", Some("2k"))]);
        let told: Vec<(String, bool)> = faults
            .into_diagnostics()
            .all()
            .iter()
            .map(|one| (one.message.clone(), one.help.contains("variables")))
            .collect();
        let missing = |name: &str| format!("cannot include \"{name}\": cannot read {name}");
        assert_eq!(told, [(missing("${HERE}"), true), (missing("none.inc"), false)]);
    }

    #[test]
    fn long_lines_are_split() {
        let text = format!("[a]\nx={}", "é".repeat(5000));
        let (mut sources, mut faults) = (Sources::default(), Faults::default());
        let sections = sections(0, &text, &Surroundings::empty(), &mut sources, &mut faults);
        assert_eq!(sections[0].lines.len(), 2);
    }
}
