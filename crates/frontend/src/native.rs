//! fathom's own dialect: TOML with the sections `[run]`, `[target.NAME]`, `[workload.NAME]`, `[stream.NAME]` and
//! `[stage.NAME]`. Owns the sections and the way from TOML values to literals; options and their values are the model's.

use crate::cap::capped;
use fathom_model::{
    Diagnostics, Group, Job, Literal, Named, Options, Reading, SECTIONS_MAX, Span, Spanned, nearest, rows,
};
use toml::de::{DeTable, DeValue};

/// Code of a fault of the syntax. Where there is one, parts of the job may be missing for no other reason.
pub const SYNTAX: &str = "native.syntax";

/// Reads a native job. `name` is the file's, for messages. Never fails: all faults are in the diagnostics.
pub fn read(name: &str, text: &str) -> Reading {
    let mut job = Job::default();
    let source = job.sources.add(name, text);
    let mut reader = Reader { source, text, found: Diagnostics::default() };
    let (root, errors) = DeTable::parse_recoverable(text);
    reader.syntax(text, &errors);
    for (key, value) in in_written_order(root.get_ref()) {
        reader.top_level(&mut job, &reader.spanned_key(key), value);
    }
    (job, capped(reader.found))
}

/// Writes a job as native TOML. Reading it back gives an equal job, places and dialect apart.
pub fn print(job: &Job) -> String {
    let mut text = String::new();
    let Job { dialect: _, sources: _, run, targets, workloads, streams, stages, stream_numbers: _, echo: _ } =
        job;
    if !run.given().is_empty() {
        text.push_str("[run]\n");
        print_options(run, &mut text);
    }
    print_sections(targets, &mut text);
    print_sections(workloads, &mut text);
    print_sections(streams, &mut text);
    print_sections(stages, &mut text);
    text
}

type Key<'a> = toml::Spanned<std::borrow::Cow<'a, str>>;
type Value<'a> = toml::Spanned<DeValue<'a>>;

struct Reader<'a> {
    source: u32,
    text: &'a str,
    found: Diagnostics,
}

impl Reader<'_> {
    /// Whether a table is written as a value, `{ … }`, and not below a header of its own.
    fn is_inline(&self, value: &Value<'_>) -> bool {
        self.text.get(value.span()).is_some_and(|written| written.starts_with('{'))
    }

    fn span(&self, range: &std::ops::Range<usize>) -> Span {
        Span { source: self.source, start: range.start, end: range.end }
    }

    fn spanned_key(&self, key: &Key<'_>) -> Spanned<String> {
        Spanned { value: key.get_ref().to_string(), span: self.span(&key.span()) }
    }

    /// The parser's complaints: the first of each line, since what follows on it is mostly the same slip again.
    fn syntax(&mut self, text: &str, errors: &[toml::de::Error]) {
        let mut errors: Vec<_> = errors.iter().map(|error| (error.span().unwrap_or(0..0), error)).collect();
        errors.sort_by_key(|(place, _)| place.start);
        let mut told_up_to = 0;
        for (place, error) in errors {
            let start = place.start.min(text.len());
            if start < told_up_to {
                continue;
            }
            told_up_to = text.as_bytes()[start..]
                .iter()
                .position(|&byte| byte == b'\n')
                .map_or(text.len(), |at| start + at)
                + 1;
            self.found.error(
                SYNTAX,
                self.span(&place),
                lower_first(error.message()),
                "see https://toml.io for the syntax",
            );
        }
    }

    fn top_level(&mut self, job: &mut Job, key: &Spanned<String>, value: &Value<'_>) {
        match (key.value.as_str(), value.get_ref()) {
            ("run", DeValue::Table(table)) => self.options(&mut job.run, table),
            ("target", DeValue::Table(table)) => self.sections(&mut job.targets, table),
            ("workload", DeValue::Table(table)) => self.sections(&mut job.workloads, table),
            ("stream", DeValue::Table(table)) => self.sections(&mut job.streams, table),
            ("stage", DeValue::Table(table)) => self.sections(&mut job.stages, table),
            ("run", _) => {
                self.found.error(
                    "native.bad-section",
                    key.span,
                    "run is not a section",
                    "write [run] on a line of its own",
                );
            }
            (group @ ("target" | "workload" | "stream" | "stage"), _) => {
                let message = format!("{group} is not a section with a name");
                self.found.error("native.bad-section", key.span, message, format!("write [{group}.NAME]"));
            }
            (other, DeValue::Table(_) | DeValue::Array(_)) => {
                let help = match nearest(other, GROUPS.map(Group::name)) {
                    Some("run") => "did you mean [run]?".to_owned(),
                    Some(near) => format!("did you mean [{near}.NAME]?"),
                    None => "sections are [run], [target.NAME], [workload.NAME], [stream.NAME], [stage.NAME]"
                        .to_owned(),
                };
                self.found.error(
                    "native.unknown-section",
                    key.span,
                    format!("unknown section \"{other}\""),
                    help,
                );
            }
            (other, _) => {
                let help = match rows().find(|row| row.name() == other) {
                    Some(row) => format!("{other} belongs under {}", header_of(row.group)),
                    None => "options stand under a section such as [stream.NAME]".to_owned(),
                };
                self.found.error(
                    "native.outside-section",
                    key.span,
                    format!("{other} stands outside of a section"),
                    help,
                );
            }
        }
    }

    /// The named sections of one kind.
    fn sections<T: Options>(&mut self, to: &mut Vec<Named<T>>, table: &DeTable<'_>) {
        let group = T::GROUP.name();
        let mut unnamed = Vec::new();
        for (key, value) in in_written_order(table) {
            let name = self.spanned_key(key);
            if to.len() == SECTIONS_MAX {
                let message =
                    format!("the job has {} {group} sections; the limit is {SECTIONS_MAX}", table.len());
                let help = "use one section with several workers, or a sweep";
                return self.found.error("native.too-many-sections", name.span, message, help);
            }
            // An option's own table, such as [stage] sweep = {…}, under a header without a name is no section either. A
            // table below a header is a section whatever it is called: jobs of fio have names such as "read" and "time".
            let is_option = T::rows().iter().any(|row| row.name() == name.value);
            match value.get_ref() {
                DeValue::Table(options) if !(is_option && self.is_inline(value)) => {
                    let mut section = Named::<T>::new(name.value, name.span);
                    self.options(&mut section.options, options);
                    to.push(section);
                }
                _ => unnamed.push((name, value)),
            }
        }
        if let Some((first, _)) = unnamed.first() {
            let message = format!("the {group} section has no name");
            let help = format!("write [{group}.NAME] above its options");
            self.found.error("native.unnamed-section", first.span, message, help);
            // Read them all the same, so that their own faults show in the same go.
            let mut section = Named::<T>::new(group, first.span);
            for (name, value) in &unnamed {
                self.option(&mut section.options, name, value);
            }
            to.push(section);
        }
    }

    fn options<T: Options>(&mut self, to: &mut T, table: &DeTable<'_>) {
        for (key, value) in in_written_order(table) {
            let name = self.spanned_key(key);
            self.option(to, &name, value);
        }
    }

    fn option<T: Options>(&mut self, to: &mut T, name: &Spanned<String>, value: &Value<'_>) {
        if let Some(literal) = self.literal(value) {
            to.set_or_report(name, &literal, &mut self.found);
        }
    }

    /// A TOML value as a literal; `None`, and a diagnostic, for what no option takes.
    fn literal(&mut self, value: &Value<'_>) -> Option<Spanned<Literal>> {
        let span = self.span(&value.span());
        if value.span().is_empty() {
            // The parser's stand-in for a value that is missing; its own complaint is there already.
            return None;
        }
        let literal = match value.get_ref() {
            DeValue::String(text) => Literal::Text(text.to_string()),
            DeValue::Boolean(flag) => Literal::Boolean(*flag),
            DeValue::Integer(number) => {
                let Ok(number) = i64::from_str_radix(number.as_str(), number.radix()) else {
                    let message = format!("{number} is outside 64 bits");
                    self.found.error(
                        "job.bad-value",
                        span,
                        message,
                        "use a number up to 9223372036854775807, or write a size or a rate as a text with its unit, \
                         e.g. \"16TiB\" or \"1M/s\"",
                    );
                    return None;
                };
                Literal::Integer(number)
            }
            DeValue::Float(number) => match number.as_str().parse::<f64>() {
                Ok(number) if number.is_finite() => Literal::Float(number),
                _ => {
                    let message = format!("{} is no number", number.as_str());
                    self.found.error("job.bad-value", span, message, "write a finite number");
                    return None;
                }
            },
            DeValue::Datetime(date) => {
                let message = format!("{date} is a date; no option takes one");
                self.found.error("job.bad-value", span, message, "write a duration as a text, e.g. \"30s\"");
                return None;
            }
            DeValue::Array(items) => {
                Literal::List(items.iter().filter_map(|item| self.literal(item)).collect())
            }
            DeValue::Table(table) => Literal::Table(
                in_written_order(table)
                    .into_iter()
                    .filter_map(|(key, value)| Some((self.spanned_key(key), self.literal(value)?)))
                    .collect(),
            ),
        };
        Some(Spanned { value: literal, span })
    }
}

const GROUPS: [Group; 5] = [Group::Run, Group::Target, Group::Workload, Group::Stream, Group::Stage];

fn header_of(group: Group) -> String {
    if group == Group::Run { "[run]".to_owned() } else { format!("[{}.NAME]", group.name()) }
}

/// Entries as the user wrote them: the parser sorts by name, but the order of sections and sweeps has a meaning.
fn in_written_order<'t, 'i>(table: &'t DeTable<'i>) -> Vec<(&'t Key<'i>, &'t Value<'i>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

fn lower_first(message: &str) -> String {
    let mut chars = message.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

fn print_sections<T: Options>(sections: &[Named<T>], text: &mut String) {
    for Named { name, span: _, options } in sections {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&format!("[{}.{}]\n", T::GROUP.name(), print_key(name)));
        print_options(options, text);
    }
}

fn print_options(options: &impl Options, text: &mut String) {
    for (name, value) in options.given() {
        text.push_str(&format!("{name} = {}\n", with_toml_escapes(&value)));
    }
}

fn print_key(name: &str) -> String {
    let is_bare =
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    if is_bare { name.to_owned() } else { with_toml_escapes(&format!("{name:?}")) }
}

/// Turns the escapes that Rust prints and TOML lacks (`\u{7f}`, `\0`, `\'`) into TOML's.
fn with_toml_escapes(printed: &str) -> String {
    let mut text = String::with_capacity(printed.len());
    let mut rest = printed;
    while let Some(at) = rest.find('\\') {
        text.push_str(&rest[..at]);
        let escape = &rest[at + 1..];
        let (escaped, length) = match escape.chars().next() {
            Some('u') => {
                let end = escape.find('}').unwrap_or(escape.len());
                let code =
                    escape.get(2..end).and_then(|hex| u32::from_str_radix(hex, 16).ok()).unwrap_or_default();
                (format!("\\U{code:08X}"), (end + 1).min(escape.len()))
            }
            Some('0') => ("\\u0000".to_owned(), 1),
            Some('\'') => ("'".to_owned(), 1),
            Some(other) => (format!("\\{other}"), other.len_utf8()),
            None => (String::new(), 0),
        };
        text.push_str(&escaped);
        rest = &escape[length..];
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Shape = Vec<(String, Vec<(&'static str, String)>)>;

    /// A job without its places.
    fn shape(job: &Job) -> Shape {
        fn of<T: Options>(sections: &[Named<T>]) -> Shape {
            let named = sections.iter();
            named.map(|s| (format!("{}.{}", T::GROUP.name(), s.name), s.options.given())).collect()
        }
        let run = vec![("run".to_owned(), job.run.given())];
        [run, of(&job.targets), of(&job.workloads), of(&job.streams), of(&job.stages)].concat()
    }

    fn check(text: &str, expect: &[(&str, &str)]) {
        let (_, found) = read("job.toml", text);
        let got: Vec<(&str, &str)> = found.all().iter().map(|d| (d.code, d.help.as_str())).collect();
        assert_eq!(got, expect, "{text}\n{found:?}");
    }

    #[test]
    fn a_million_sections_are_not_read() {
        let text: String = (0..=SECTIONS_MAX).map(|n| format!("[stream.s{n}]\n")).collect();
        let (job, found) = read("job.toml", &text);
        let [one] = found.all() else { panic!("{found:?}") };
        assert_eq!((one.code, job.streams.len()), ("native.too-many-sections", SECTIONS_MAX));
        let place = one.span.and_then(|span| job.sources.line_and_column(span)).expect("it has a place");
        assert_eq!(place.0, SECTIONS_MAX + 1);
    }

    const OLTP: &str = r#"
        [run]
        title = "OLTP"
        [workload.oltp]
        block_size = "8KiB"
        read = "70%"
        access = "random"
        [target.disk]
        path = "/dev/nvme1n1"
        [stream.b]
        queue_depth = 30
        [stream.a]
        workers = 5
        [stage.main]
        sweep = { "stream.queue_depth" = [1, 2], "stream.a.workers" = { from = 1, to = 4, factor = 2 } }
    "#;

    #[test]
    fn sections_and_sweeps_keep_the_written_order() {
        let (job, found) = read("job.toml", OLTP);
        assert!(found.is_empty(), "{found:?}");
        let names: Vec<&str> = job.streams.iter().map(|stream| stream.name.as_str()).collect();
        assert_eq!(names, ["b", "a"]);
        let paths: Vec<&str> =
            job.stages[0].options.sweep.get().dimensions.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(paths, ["stream.queue_depth", "stream.a.workers"]);
        let span = job.streams[1].options.workers.span().unwrap();
        assert_eq!(&OLTP[span.start..span.end], "5");
    }

    #[test]
    fn faults_have_places_and_remedies() {
        check("", &[]);
        check("[run]\nintervall = \"1s\"", &[("job.unknown-option", "did you mean interval?")]);
        check("queue_depth = 4", &[("native.outside-section", "queue_depth belongs under [stream.NAME]")]);
        check("[strem.a]\nx=1", &[("native.unknown-section", "did you mean [stream.NAME]?")]);
        check(
            "[stream]\nqueue_depth = 4",
            &[("native.unnamed-section", "write [stream.NAME] above its options")],
        );
        check(
            "[stage]\nsweep = { \"stream.workers\" = [1, 2] }",
            &[("native.unnamed-section", "write [stage.NAME] above its options")],
        );
        check("[[stream]]\nqueue_depth = 4", &[("native.bad-section", "write [stream.NAME]")]);
        check("run = 1", &[("native.bad-section", "write [run] on a line of its own")]);
        let codes = |text| read("x", text).1.all().iter().map(|d| d.code).collect::<Vec<_>>();
        assert_eq!(
            codes("[stream.a]\ntime = 1979-05-27\nqueue_depth = 99999999999999999999"),
            ["job.bad-value"; 2]
        );
        assert_eq!(codes("[stream.a]\nworkers = nan\ntime ="), ["native.syntax", "job.bad-value"]);
    }

    #[test]
    fn all_faults_of_a_file_are_found_at_once() {
        let (job, found) = read(
            "x",
            "[stream.a]\nworkers = 0\nqueue_depth = \"x\"\nenginee = 1\n[target.t]\nsize = \"1.5q\"\n",
        );
        assert_eq!(found.all().len(), 4, "{found:?}");
        let second = job.sources.line_and_column(found.all()[1].span.unwrap());
        assert_eq!(second, Some((3, 15)));
    }

    #[test]
    fn one_slip_of_the_syntax_is_one_fault() {
        for (text, lines) in [
            ("[stream.a\nworkers = 1\n", &[1][..]),
            ("[stream.a]\nworkers = = 4\ntime = 5s\n", &[2, 3]),
            ("[stream.a]\nworkers 4 = 5 = 6\n", &[2]),
            ("[stream.a]\nengine = \"psync\nworkers = 4\n", &[2]),
            ("\u{0}\u{1} \u{2} = \u{3}\n", &[1]),
        ] {
            let (job, found) = read("x", text);
            let syntax = found.all().iter().filter(|d| d.code == SYNTAX);
            let found: Vec<_> =
                syntax.map(|d| job.sources.line_and_column(d.span.unwrap()).unwrap().0).collect();
            assert_eq!(found, lines, "{text}");
        }
    }

    #[test]
    fn garbage_is_answered_briefly() {
        for piece in ["[[[[", "a=[", "\u{0}\u{7f}=", "x = 1\n", "[stream.", "\"\"\"", "= =\n"] {
            let text = piece.repeat((1 << 20) / piece.len());
            assert!(read("x", &text).1.all().len() <= crate::DIAGNOSTICS_MAX, "{piece}");
        }
    }

    #[test]
    fn printing_reads_back() {
        let (job, _) = read("x", OLTP);
        assert_eq!(shape(&read("y", &print(&job)).0), shape(&job), "{}", print(&job));
        let odd = "[target.\"RW 8k, \\u007f\\\"0.1\"]\npath = [\"/a\\u0000\\\\b'\", \"\\u00e9\\u200b\"]\n";
        let (job, found) = read("x", odd);
        assert!(found.is_empty(), "{found:?}");
        assert_eq!(shape(&read("y", &print(&job)).0), shape(&job), "{}", print(&job));
    }

    /// Sections of other dialects have such names, and their jobs are printed as native ones.
    #[test]
    fn sections_may_be_called_like_options() {
        for row in rows() {
            for group in ["target", "workload", "stream", "stage"] {
                let name = row.name();
                let text = format!("[{group}.{name}]\n");
                let (job, found) = read("x", &text);
                assert!(found.is_empty(), "{found:?} {text}");
                assert_eq!(print(&job), text);
            }
            if row.group == Group::Run {
                continue;
            }
            let text = format!("[{0}.{1}]\n{1} = {2}\n", row.group.name(), row.name(), row.example);
            let (job, found) = read("x", &text);
            assert!(found.is_empty(), "{found:?} {text}");
            let [section] = &shape(&job)[1..] else { panic!("{text}") };
            assert_eq!(
                (&*section.0, section.1[0].0),
                (&*format!("{}.{}", row.group.name(), row.name()), row.name())
            );
        }
        let (job, _) = read("x", "[stage.sweep]\nsweep = { \"stream.workers\" = [1, 2] }\n");
        assert_eq!((job.stages.len(), &*job.stages[0].name), (1, "sweep"));
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "\\PC*") {
            read("x", &text);
        }

        #[test]
        fn any_job_of_examples_prints_what_reads_back(picks in proptest::collection::vec((0_usize..200, "\\PC{0,8}"), 0..12)) {
            let all: Vec<_> = rows().collect();
            let mut text = String::new();
            for (index, (pick, name)) in picks.iter().enumerate() {
                let row = all[pick % all.len()];
                let header = if row.group == Group::Run { continue } else { row.group.name() };
                let key = print_key(&format!("{name}{index}"));
                text.push_str(&format!("[{header}.{key}]\n{} = {}\n", row.name(), row.example));
            }
            let (job, found) = read("x", &text);
            prop_assert!(found.is_empty(), "{found:?} {text}");
            let printed = print(&job);
            let (again, found) = read("y", &printed);
            prop_assert!(found.is_empty(), "{found:?} {printed}");
            prop_assert_eq!(shape(&again), shape(&job));
        }
    }
}
