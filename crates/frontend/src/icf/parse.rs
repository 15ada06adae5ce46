//! Text to tree: the version, the sections TEST SETUP and RESULTS DISPLAY, and who reads the others. As strict as Iometer
//! 1.1.0 about what is said, and as tolerant as the files in use need: keys of every version, blank lines, missing
//! sections.

use super::lines::{Line, Lines, NoPair, Pair, Rest};
use super::tree::{Cycling, Document, Record, Setup, TestType};
use super::{managers, specs};
use fathom_model::{Diagnostics, Span};

/// From this version on every section ends with a line that says so.
const WITH_ENDS: u64 = date(1999, 2, 17);
/// From this version on specifications have names.
pub(super) const WITH_NAMED_SPECS: u64 = date(1998, 5, 21);
/// The oldest that Iometer reads.
const OLDEST: u64 = date(1998, 1, 5);
/// Code of a fault in how a file is written.
pub(super) const SYNTAX: &str = "icf.syntax";
/// Code of a value that is none.
pub(super) const BAD_VALUE: &str = "icf.bad-value";
/// Code of something that is read otherwise than it looks.
pub(super) const DOUBTFUL: &str = "icf.doubtful";

/// What a version that is a date counts as.
const fn date(year: u64, month: u64, day: u64) -> u64 {
    year * 10_000 + month * 100 + day
}

/// Reads a whole text. `source` is where places point to. However bad the text, there is a tree.
pub(super) fn parse(source: u32, text: &str, found: &mut Diagnostics) -> Document {
    let lines = Lines::of(source, text);
    let mut parser = Parser { lines, found, version: u64::MAX };
    let version = parser.version();
    let sections = ["'TEST SETUP", "'RESULTS DISPLAY", "'ACCESS SPECIFICATIONS", "'MANAGER LIST"];
    if !sections.iter().any(|section| parser.lines.skip_to(section)) {
        let (message, help) = if text.contains('\r') && !text.contains('\n') {
            // What is one line to Iometer as well.
            (
                "its lines end with a carriage return (CR) alone, which makes one line of them all",
                "save it with the line ends of Windows (CR LF) or Unix (LF), for example with tr '\\r' '\\n'",
            )
        } else {
            (
                "the text has no section of an Iometer configuration",
                "name a file that Iometer saved; its sections begin like 'TEST SETUP",
            )
        };
        parser.found.error("icf.no-section", parser.lines.end(), message, help);
    }
    let mut read = Vec::new();
    let mut setup = Setup::default();
    if parser.lines.skip_to(sections[0]) {
        let from = parser.lines.position();
        parser.setup(&mut setup);
        read.push(from - 1..parser.lines.position());
    }
    if parser.lines.skip_to(sections[1]) {
        let from = parser.lines.position();
        setup.updates_seconds = parser.display();
        read.push(from - 1..parser.lines.position());
    }
    let mut document = Document { version, setup, specs: Vec::new(), managers: Vec::new() };
    if parser.lines.skip_to(sections[2]) {
        let from = parser.lines.position();
        document.specs = specs::read(&mut parser);
        read.push(from - 1..parser.lines.position());
    }
    if parser.lines.skip_to(sections[3]) {
        let from = parser.lines.position();
        document.managers = managers::read(&mut parser, &document);
        read.push(from - 1..parser.lines.position());
    }
    parser.outside(&read);
    document
}

/// A text being read.
pub(super) struct Parser<'a, 'd> {
    pub lines: Lines<'a>,
    pub found: &'d mut Diagnostics,
    /// Number of the version, by which later ones are larger.
    pub version: u64,
}

impl<'a> Parser<'a, '_> {
    pub(super) fn error(&mut self, code: &'static str, span: Span, message: String, help: &str) {
        self.found.error(code, span, message, help);
    }

    pub(super) fn warn(&mut self, code: &'static str, span: Span, message: String, help: &str) {
        self.found.warn(code, span, message, help);
    }

    /// The next pair of a section; `None` after a complaint when there is none.
    pub(super) fn pair(&mut self, wanted: &str) -> Option<Pair<'a>> {
        match self.lines.pair() {
            Ok(pair) => {
                if let Some(line) = pair.passed_over {
                    let message = format!(
                        "\"{}\" stands where the value of \"{}\" is due, and is lost",
                        line.text, pair.key.text
                    );
                    let help = "give the value on the line after its key; a blank line is an empty value";
                    self.warn(DOUBTFUL, line.span, message, help);
                }
                Some(pair)
            }
            Err(NoPair::NoKey(line)) => {
                let message = format!("\"{}\" stands where {wanted} is due", line.text);
                self.error(
                    SYNTAX,
                    line.span,
                    message,
                    "keys begin with ' and have one line with a value after them",
                );
                None
            }
            Err(NoPair::End) => {
                self.ends(wanted);
                None
            }
        }
    }

    /// Complains that the text ends too early.
    pub(super) fn ends(&mut self, wanted: &str) {
        let message = format!("the text ends where {wanted} is due");
        self.error(SYNTAX, self.lines.end(), message, "the file is cut off; take a whole one");
    }

    /// A number of at least `min` out of a value; after a complaint `None`.
    pub(super) fn number(
        &mut self,
        rest: &mut Rest<'a>,
        value: Line<'a>,
        what: &str,
        min: i64,
    ) -> Option<i64> {
        match rest.number() {
            Some(number) if number >= min => Some(number),
            Some(number) => {
                let message = format!("{what} is {number}, below {min}");
                self.error(BAD_VALUE, value.span, message, "give a larger one");
                None
            }
            None => {
                let message = format!("{what} is no whole number in \"{}\"", value.text);
                self.error(BAD_VALUE, value.span, message, "give a whole number");
                None
            }
        }
    }

    /// The text of the version line. Sets what it counts as.
    fn version(&mut self) -> String {
        let Some(line) = self.lines.peek() else { return String::new() };
        let Some(text) = ["Version", "'Version"].iter().find_map(|word| {
            let rest = line.begins(word).then(|| &line.text[word.len()..])?;
            (rest.is_empty() || rest.starts_with(char::is_whitespace)).then(|| rest.trim())
        }) else {
            // VMware's I/O Analyzer writes files without it: the newest rules then.
            return String::new();
        };
        let mut parts = text.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty());
        let mut next = || parts.next()?.parse::<u64>().ok().filter(|&part| part < 100_000);
        let (Some(major), Some(middle), Some(minor)) = (next(), next(), next()) else {
            let message = format!("\"{text}\" is no version of Iometer");
            self.error(BAD_VALUE, line.span, message, "versions are like 1.1.0 or 2006.07.27");
            return text.to_owned();
        };
        // Dates up to 2010, then numbers that count as later than every date (`ICF_ifstream::GetVersion`).
        self.version = if major > 1900 {
            date(major, middle, minor)
        } else {
            major * 10_000_000_000 + middle * 100_000 + minor
        };
        if self.version < OLDEST {
            let message = format!("version {text} is older than the first that Iometer reads, 1998.01.05");
            self.warn(
                DOUBTFUL,
                line.span,
                message,
                "look at what was understood: fathom iometer --plan FILE",
            );
        }
        text.to_owned()
    }

    fn setup(&mut self, setup: &mut Setup) {
        while let Some(pair) = self.pair("a key of TEST SETUP or 'END test setup") {
            let Pair { key, value, .. } = pair;
            let mut rest = Rest(value.text);
            if key.is("'END test setup") {
                return;
            } else if key.is("'Test Description") {
                value.text.clone_into(&mut setup.description);
            } else if key.is("'Run Time") {
                setup.run_time_span = value.span;
                if let Some(seconds) = self.run_time(&mut rest, value) {
                    setup.run_seconds = seconds;
                }
            } else if key.begins("'Ramp Up Time") {
                if let Some(seconds) = self.number(&mut rest, value, "the ramp up time", 0) {
                    self.judge_whole(value, "the ramp up time", 1, &format!("{seconds} s"));
                    setup.ramp_seconds = seconds.unsigned_abs();
                }
            } else if key.is("'Default Workers to Spawn") {
                // Up to 1998, when 0 was as many as there are CPUs.
                if let Some(count) = self.number(&mut rest, value, "the number of workers", 0) {
                    setup.disk_workers = (count > 0).then_some(count.unsigned_abs());
                }
            } else if key.is("'Default Disk Workers to Spawn") {
                setup.disk_workers = self.workers(value, setup.disk_workers);
            } else if key.is("'Default Network Workers to Spawn") {
                setup.network_workers = self.workers(value, setup.network_workers);
            } else if key.is("'Record Results") {
                self.record(value, setup);
            } else if key.is("'Worker Cycling") {
                self.cycling(&mut rest, value, &mut setup.workers, None);
            } else if key.is("'Disk Cycling") {
                self.cycling(&mut rest, value, &mut setup.targets, None);
            } else if key.is("'Queue Depth Cycling") {
                self.cycling(&mut rest, value, &mut setup.queue, Some(&mut setup.queue_end));
            } else if key.is("'Test Type") {
                setup.test_type_span = value.span;
                self.test_type(value, setup);
            } else if self.version < WITH_ENDS {
                // Up to 1998.10.08 nothing marks the end.
                return;
            } else {
                self.unknown(key, "TEST SETUP", &SETUP_KEYS);
                if !self.lines.peek().is_some_and(|line| line.is_key()) {
                    // What follows cannot be told from values.
                    return;
                }
            }
        }
    }

    /// Complains of a key that a section does not have.
    pub(super) fn unknown(&mut self, key: Line<'_>, section: &str, known: &[&str]) {
        if let (true, Some(end)) = (key.begins("'End "), known.last()) {
            let message = format!("\"{}\" stands where \"{end}\" is due", key.text);
            let is_end = end.starts_with("'End ");
            let help = if is_end {
                "end what was begun last first"
            } else {
                "put that line, and its value, before it"
            };
            return self.error("icf.unknown-key", key.span, message, help);
        }
        let near = fathom_model::nearest(key.text, known.iter().copied());
        let help = near.map_or_else(
            || "take it out; lines with ' select what the next one means and are no comments".to_owned(),
            |near| format!("did you mean \"{near}\"?"),
        );
        let message = format!("{section} has no \"{}\"", key.text);
        self.error("icf.unknown-key", key.span, message, &help);
    }

    fn run_time(&mut self, rest: &mut Rest<'a>, value: Line<'a>) -> Option<u64> {
        let what = "the run time (hours, minutes, seconds)";
        let hours = self.number(rest, value, what, 0)?.unsigned_abs();
        let minutes = self.number(rest, value, what, 0)?.unsigned_abs();
        let seconds = self.number(rest, value, what, 0)?.unsigned_abs();
        let total = hours.checked_mul(3600)?.checked_add(minutes.checked_mul(60)?)?.checked_add(seconds)?;
        // A century: whatever is longer was not meant, and a clock in nanoseconds does not hold it.
        if total > 100 * 366 * 86_400 {
            let message = format!("the run time is {total} s, more than a century");
            self.error(BAD_VALUE, value.span, message, "give hours, minutes and seconds");
            return None;
        }
        self.judge_whole(value, what, 3, &format!("{hours} h {minutes} min {seconds} s"));
        Some(total)
    }

    /// Complains where a value is not so many whole numbers and nothing else: Iometer takes runs of digits, and leaves what is
    /// between and behind them.
    fn judge_whole(&mut self, value: Line<'a>, what: &str, count: usize, taken: &str) {
        let mut words =
            value.text.split(|c: char| c == ',' || c.is_whitespace()).filter(|word| !word.is_empty());
        let is_whole = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
        if words.clone().count() == count && words.all(is_whole) {
            return;
        }
        let numbers =
            if count == 1 { "one whole number".to_owned() } else { format!("{count} whole numbers") };
        let message = format!(
            "{what} is \"{}\", which is not {numbers}; it counts as {taken}, as in Iometer",
            value.text
        );
        self.warn(DOUBTFUL, value.span, message, &format!("write {numbers}, without unit or fraction"));
    }

    fn workers(&mut self, value: Line<'a>, before: Option<u64>) -> Option<u64> {
        let word = Rest(value.text).word();
        if word.eq_ignore_ascii_case("NUMBER_OF_CPUS") {
            return None;
        }
        match word.parse() {
            Ok(count) => Some(count),
            Err(_) => {
                let message = format!("\"{}\" is no number of workers", value.text);
                self.warn(DOUBTFUL, value.span, message, "give a whole number or NUMBER_OF_CPUS");
                before
            }
        }
    }

    fn record(&mut self, value: Line<'a>, setup: &mut Setup) {
        let number = || usize::try_from(Rest(value.text).number()?).ok();
        let by_name = Record::ALL.into_iter().find(|one| value.text.eq_ignore_ascii_case(one.name()));
        match by_name.or_else(|| Record::ALL.get(number()?).copied()) {
            Some(record) => setup.record = record,
            None => {
                let names = Record::ALL.map(Record::name).join(", ");
                let message = format!("\"{}\" is nothing that Record Results can be", value.text);
                self.error(
                    BAD_VALUE,
                    value.span,
                    message,
                    &format!("write one of {names}, or a number up to 4"),
                );
            }
        }
    }

    fn test_type(&mut self, value: Line<'a>, setup: &mut Setup) {
        let number = || usize::try_from(Rest(value.text).number()?).ok();
        let by_name = TestType::ALL.into_iter().find(|one| value.text.eq_ignore_ascii_case(one.name()));
        match by_name.or_else(|| TestType::ALL.get(number()?).copied()) {
            Some(test_type) => setup.test_type = test_type,
            None => {
                let names = TestType::ALL.map(TestType::name).join(", ");
                let message = format!("\"{}\" is no test type", value.text);
                self.error(
                    BAD_VALUE,
                    value.span,
                    message,
                    &format!("write one of {names}, or a number up to 7"),
                );
            }
        }
    }

    fn cycling(
        &mut self,
        rest: &mut Rest<'a>,
        value: Line<'a>,
        cycling: &mut Cycling,
        end: Option<&mut i64>,
    ) {
        let what = if end.is_some() {
            "start, end and step of the cycling"
        } else {
            "start and step of the cycling"
        };
        let mut next = || self.number(rest, value, what, i64::MIN);
        let Some(start) = next() else { return };
        if let Some(end) = end {
            let Some(number) = next() else { return };
            *end = number;
        }
        let Some(step) = next() else { return };
        let word = rest.word();
        let is_exponential = match (word.to_ascii_uppercase().as_str(), word.parse::<i64>()) {
            ("LINEAR", _) | (_, Ok(0)) => false,
            ("EXPONENTIAL", _) | (_, Ok(_)) => true,
            _ => {
                let message = format!("\"{word}\" is no kind of step, and counts as LINEAR as in Iometer");
                self.warn(DOUBTFUL, value.span, message, "write LINEAR or EXPONENTIAL");
                false
            }
        };
        *cycling = Cycling { start, step, is_exponential };
    }

    /// Every how many seconds updates are recorded, if they are. What else Iometer's window shows decides nothing: values are
    /// passed over, of both generations of keys.
    fn display(&mut self) -> Option<u64> {
        let mut updates = None;
        while let Some(Pair { key, value, .. }) =
            self.pair("a key of RESULTS DISPLAY or 'END results display")
        {
            if key.is("'END results display") {
                break;
            }
            if key.is("'Record Last Update Results,Update Frequency,Update Type") {
                let mut fields = value.text.split(',').map(str::trim);
                let is_on = fields.next().is_some_and(|word| word.eq_ignore_ascii_case("ENABLED"));
                // What is no number of Iometer's is as good as never, as there.
                let seconds = fields.next().and_then(|seconds| seconds.parse().ok());
                updates =
                    is_on.then(|| seconds.filter(|seconds| UPDATE_SECONDS.contains(seconds)).unwrap_or(0));
            }
            let is_known = key.is("'Update Frequency,Update Type")
                || key.is("'Record Last Update Results,Update Frequency,Update Type")
                || key.begins("'Bar chart");
            if !is_known {
                self.unknown(key, "RESULTS DISPLAY", &DISPLAY_KEYS);
            }
        }
        updates
    }

    /// Warns of keys that no section took in: Iometer does not look at them.
    fn outside(&mut self, read: &[std::ops::Range<usize>]) {
        let lost = self.lines.all().find(|(index, line)| {
            line.is_key()
                && !line.begins("'Version")
                && !read.iter().any(|range| range.contains(index))
                && super::lines::is_known(line.text)
        });
        // Where a section could not be read to its end, that is said already.
        if let Some((_, &line)) = lost
            && !self.found.has_errors()
        {
            let message =
                format!("\"{}\" stands outside of a section, where Iometer does not look", line.text);
            self.warn(DOUBTFUL, line.span, message, "move it into its section");
        }
    }
}

const SETUP_KEYS: [&str; 11] = [
    "'Test Description",
    "'Run Time",
    "'Ramp Up Time (s)",
    "'Default Disk Workers to Spawn",
    "'Default Network Workers to Spawn",
    "'Record Results",
    "'Worker Cycling",
    "'Disk Cycling",
    "'Queue Depth Cycling",
    "'Test Type",
    "'END test setup",
];

/// The seconds between updates that Iometer knows.
const UPDATE_SECONDS: [u64; 10] = [1, 2, 3, 4, 5, 10, 15, 30, 45, 60];

const DISPLAY_KEYS: [&str; 3] = [
    "'Record Last Update Results,Update Frequency,Update Type",
    "'Update Frequency,Update Type",
    "'END results display",
];
