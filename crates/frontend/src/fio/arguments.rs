//! fio's command line: `--name=…` jobs, job files in between, and switches that are no job options. Knows the switches'
//! names, not what they do.

use super::faults::Faults;
use super::grammar::shortened;
use super::lower::greatest_common_divisor;
use super::options::{self, OptionRow, Value};
use super::settings::Settings;
use super::switches::{Act, SWITCHES, Switch, Switches, Takes, of_letter};
use super::{Given, Reader, Reading, Surroundings, line};
use fathom_model::{Span, nearest};
use fathom_units::Nanos;

/// Shortest interval that is counted; reports of shorter ones would be about counting.
const INTERVAL_MS_MIN: u64 = 10;

/// Reads a command line (without the program's name). Options before the first `--name` are defaults of all jobs; job files
/// come after the command line's own jobs and may override those defaults.
pub fn read_arguments(arguments: &[String], surroundings: &Surroundings<'_>) -> (Reading, Switches) {
    let mut reader = Reader::new(surroundings);
    let source = reader.sources.add("command line", arguments.join(" "));
    let mut words = Words { arguments, source, at: 0, start: 0 };
    let mut switches = Switches::default();
    let mut open: Option<OpenJob> = None;
    let mut jobs = Vec::new();
    while let Some((word, span)) = words.next() {
        if word == "--" {
            while let Some((file, _)) = words.next() {
                switches.files.push(file.to_owned());
            }
            break;
        }
        let Some(option) =
            word.strip_prefix("--").or_else(|| word.strip_prefix('-').filter(|rest| !rest.is_empty()))
        else {
            switches.files.push(word.to_owned());
            continue;
        };
        if !word.starts_with("--") && are_letters(option) {
            apply_letters(option, span, &mut words, &mut switches, &mut reader.faults);
            continue;
        }
        let (key, value) = option.split_once('=').map_or((option, None), |(key, value)| (key, Some(value)));
        let Some(meaning) = meaning_of(key, span, &mut reader.faults) else { continue };
        let takes = match meaning {
            Meaning::Switch(switch) => switch.takes,
            // As with fio, a text that may be absent in a job file is not absent here: `--write_bw_log x`.
            Meaning::Option(OptionRow { value: Value::Flag(_), .. }) => Takes::Maybe,
            Meaning::Option(_) => Takes::Value,
        };
        let value = match (value, takes) {
            (None, Takes::Value) => words.next().map(|(word, _)| word),
            (value, _) => value,
        };
        // Nor may it be empty: `--write_bw_log=`.
        let is_text = matches!(meaning, Meaning::Option(OptionRow { value: Value::OptionalText(_), .. }));
        if (takes == Takes::Value && value.is_none()) || (is_text && value == Some("")) {
            let message = format!("option --{key} requires an argument");
            reader.faults.error("fio.bad-value", span, message, format!("write --{key}=VALUE"));
            continue;
        }
        match meaning {
            Meaning::Switch(switch) => apply_switch(switch, value, span, &mut switches, &mut reader.faults),
            Meaning::Option(row) if row.name == "name" => {
                jobs.extend(open.take());
                let name = value.unwrap_or_default();
                if name.is_empty() {
                    let help = "name the job: --name=NAME";
                    reader.faults.error("fio.bad-value", span, "option name requires an argument", help);
                }
                // As with fio, --section holds for what comes behind it; the options of a job that it leaves out are
                // defaults of the jobs after it.
                let is_left_out = !switches.section.is_empty() && !switches.section.iter().any(|s| s == name);
                if name.starts_with("global") {
                    // fio has it among the global options.
                    reader.globals.push(("name".to_owned(), Some(name.to_owned())));
                } else if !is_left_out {
                    let options = vec![("name".to_owned(), Some(name.to_owned()))];
                    open =
                        Some(OpenJob { name: name.to_owned(), span, settings: reader.base.clone(), options });
                }
            }
            Meaning::Option(row) => {
                let line = line(row.name, value, span, span);
                let settings = open.as_mut().map_or(&mut reader.base, |job| &mut job.settings);
                super::lower::forget_of_another_engine(std::slice::from_ref(&line), settings);
                let echoed = options::apply(&line, settings, &mut reader.faults);
                super::lower::check_private(&[line], settings, &mut reader.faults);
                let echoed = echoed.map(|(row, value)| (row.name.to_owned(), value));
                match &mut open {
                    Some(job) => job.options.extend(echoed),
                    None => reader.globals.extend(echoed),
                }
            }
        }
    }
    jobs.extend(open.take());
    for OpenJob { name, span, settings, options } in jobs {
        reader.job(&name, span, settings, options);
    }
    // Files come behind all that stands on the command line.
    reader.wanted.clone_from(&switches.section);
    for file in &switches.files {
        match (surroundings.read)(file) {
            Ok(text) => reader.file(file, &text),
            Err(reason) => {
                let message = format!("cannot read the job file \"{}\": {reason}", shortened(file));
                reader.faults.error(
                    "fio.job-file",
                    None,
                    message,
                    "name a file that exists, or - for standard input",
                );
            }
        }
    }
    if switches.readonly {
        hold_to_reading(&mut reader);
    }
    reader.aux_path.clone_from(&switches.aux_path);
    let mut reading = reader.finish();
    set_interval(&mut reading, &switches, source);
    (reading, switches)
}

/// The interval that is counted divides what fio's reports are made of: the time between two samples of a rate, and the
/// time between two reports.
fn set_interval(reading: &mut Reading, switches: &Switches, source: u32) {
    let Reading { job, extras, .. } = reading;
    let status_ms = switches.status_interval_us / 1000;
    let interval_ms = [job.run.interval.get().0 / 1_000_000, extras.sample_ms, status_ms]
        .into_iter()
        .fold(0, greatest_common_divisor);
    let whole_line = Span { source, start: 0, end: 0 };
    job.run.interval.set(Nanos::millis(interval_ms.max(INTERVAL_MS_MIN)), whole_line);
}

/// A job of the command line that may still get options.
struct OpenJob {
    name: String,
    span: Span,
    settings: Settings,
    options: Given,
}

enum Meaning {
    Switch(&'static Switch),
    Option(&'static OptionRow),
}

/// What a word after `--` names: exactly, else as the only beginning of one, as getopt has it.
fn meaning_of(key: &str, span: Span, faults: &mut Faults) -> Option<Meaning> {
    if let Some(switch) = SWITCHES.iter().find(|switch| switch.name == key) {
        return Some(Meaning::Switch(switch));
    }
    if let Some(row) = options::find(key) {
        return Some(Meaning::Option(row));
    }
    let switches = SWITCHES.iter().map(|switch| (Meaning::Switch(switch), switch.name));
    let rows = options::rows().flat_map(|row| {
        let names = std::iter::once(row.name).chain(row.aliases.iter().copied());
        names.map(move |name| (Meaning::Option(row), name))
    });
    let mut found = switches.chain(rows).filter(|(_, name)| name.starts_with(key));
    let (Some((meaning, name)), None) = (found.next(), found.next()) else {
        let names = SWITCHES.iter().map(|switch| switch.name).chain(options::rows().map(|row| row.name));
        let help = nearest(key, names).map_or_else(String::new, |near| format!("did you mean --{near}?"));
        faults.error("fio.unknown-option", span, format!("fio has no option --{}", shortened(key)), help);
        return None;
    };
    faults.warn("fio.misread", span, format!("--{key} is short for --{name}"), format!("write --{name}"));
    Some(meaning)
}

/// Whether a word behind a single dash is letters of switches: the first is one, and no long name is, or begins like, it.
fn are_letters(word: &str) -> bool {
    let mut letters = word.chars();
    let Some(switch) = letters.next().and_then(of_letter) else { return false };
    if word.len() == 1 {
        return true;
    }
    let switches = SWITCHES.iter().map(|switch| switch.name);
    let rows = options::rows().flat_map(|row| std::iter::once(row.name).chain(row.aliases.iter().copied()));
    let key = word.split('=').next().unwrap_or_default();
    let is_long = switches.chain(rows).any(|name| name.starts_with(key));
    let has_text =
        switch.takes != Takes::Nothing || letters.next().is_some_and(|next| of_letter(next).is_some());
    !is_long && !word.contains('=') && has_text
}

/// Letters of switches; what follows the first that takes a value is its value, else the next word is.
fn apply_letters(
    letters: &str,
    span: Span,
    words: &mut Words<'_>,
    switches: &mut Switches,
    faults: &mut Faults,
) {
    for (at, letter) in letters.char_indices() {
        let Some(switch) = of_letter(letter) else {
            let message = format!("fio has no option -{letter}");
            faults.error("fio.unknown-option", span, message, "");
            return;
        };
        let rest = &letters[at + letter.len_utf8()..];
        let value = match switch.takes {
            Takes::Nothing => None,
            Takes::Value if rest.is_empty() => words.next().map(|(word, _)| word),
            Takes::Value | Takes::Maybe => Some(rest).filter(|rest| !rest.is_empty()),
        };
        apply_switch(switch, value, span, switches, faults);
        if switch.takes != Takes::Nothing {
            return;
        }
    }
}

fn apply_switch(
    switch: &Switch,
    value: Option<&str>,
    span: Span,
    switches: &mut Switches,
    faults: &mut Faults,
) {
    let Switch { name, takes, act } = switch;
    if *takes == Takes::Value && value.is_none() {
        faults.error(
            "fio.bad-value",
            span,
            format!("--{name} needs a value"),
            format!("write --{name}=VALUE"),
        );
        return;
    }
    if *takes == Takes::Nothing && value.is_some() {
        faults.error("fio.bad-value", span, format!("--{name} takes no value"), format!("write --{name}"));
        return;
    }
    match act {
        Act::Set(set) => {
            if let Err(reason) = set(switches, value.unwrap_or_default()) {
                faults.error("fio.bad-value", span, format!("--{name}: {reason}"), "");
            }
        }
        Act::Take(take) => match take(switches, value.unwrap_or_default()) {
            Ok(None) => {}
            Ok(Some(told)) => faults.warn("fio.misread", span, format!("--{name}: {told}"), ""),
            Err(reason) => faults.error("fio.bad-value", span, format!("--{name}: {reason}"), ""),
        },
        Act::Ask(ask) => ask(switches, value),
        Act::Pass(why) => {
            let why = why(switches, value.unwrap_or_default());
            faults.warn("fio.no-effect", span, format!("--{name} has no effect: {why}"), "leave it out");
        }
        Act::Refuse(why, instead) => {
            faults.error("fio.refused", span, format!("--{name} is not taken: {why}"), *instead);
        }
    }
}

/// What `--readonly` makes of jobs: those that write are none, and of a trace writes are left out, as with fio, and trims: so a trace of
/// production is replayed without harm.
fn hold_to_reading(reader: &mut Reader<'_>) {
    for job in &mut reader.jobs {
        let rw = &job.settings.operations.rw;
        if !matches!(rw.as_str(), "read" | "randread") {
            let message = format!("the job \"{}\" has rw={rw}, which --readonly forbids", job.name);
            let span = job.settings.span("rw", job.span);
            reader.faults.error(
                "fio.readonly",
                span,
                message,
                "leave --readonly out, or use rw=read or rw=randread",
            );
        }
        if !job.settings.trace.files.is_empty() {
            let [_, writes, trims, _] = &mut job.settings.trace.skip;
            if *writes && *trims {
                continue;
            }
            (*writes, *trims) = (true, true);
            let message =
                format!("the job \"{}\" replays no writes and trims of its trace: --readonly", job.name);
            let span = job.settings.span("read_iolog", job.span);
            reader.faults.warn(
                "fio.readonly-trace",
                span,
                message,
                "leave --readonly out to have them replayed",
            );
        }
    }
}

/// The words of a command line with their places in its joined text.
struct Words<'a> {
    arguments: &'a [String],
    source: u32,
    at: usize,
    start: usize,
}

impl<'a> Words<'a> {
    fn next(&mut self) -> Option<(&'a str, Span)> {
        let word = self.arguments.get(self.at)?;
        let span = Span { source: self.source, start: self.start, end: self.start + word.len() };
        self.at += 1;
        self.start += word.len() + 1;
        Some((word, span))
    }
}

#[cfg(test)]
mod tests {
    use super::super::switches::{Eta, OutputFormat};
    use super::*;

    fn read(text: &str) -> (Reading, Switches) {
        let arguments: Vec<String> =
            text.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect();
        let files = |name: &str| match name {
            "a.fio" => Ok("[global]\nbs=16k\n[x]\nsize=1m\n[y]\nsize=2m\n".to_owned()),
            "faulty.fio" => Ok("[x]\nsize=1m\n[y]\nbs=x\n".to_owned()),
            _ => Err("no such file".to_owned()),
        };
        read_arguments(&arguments, &Surroundings { read: &files, ..Surroundings::empty() })
    }

    fn check(text: &str, jobs: &[&str], codes: &[&str]) {
        let (reading, _) = read(text);
        let names: Vec<&str> = reading.extras.clones.iter().map(|clone| clone.job_name.as_str()).collect();
        assert_eq!(names, jobs, "{text}");
        let found: Vec<&str> = reading.diagnostics.all().iter().map(|d| d.code).collect();
        assert_eq!(found, codes, "{text} {:?}", reading.diagnostics);
    }

    #[test]
    fn jobs_come_from_names_and_files() {
        check("--name=a --rw=read --size=1m --name=b --rw randwrite --size 1m", &["a", "b"], &[]);
        check("-name a -size=1m -thread -direct=1", &["a"], &[]);
        check("--bs=8k a.fio", &["x", "y"], &[]);
        check("--section=y a.fio", &["y"], &[]);
        check("--section=z a.fio", &[], &["fio.no-job"]);
        check("--section=x faulty.fio", &["x"], &[]);
        check("--section=y faulty.fio", &["y"], &["fio.bad-value"]);
        check("--name=a --size=1m --section=z", &["a"], &[]);
        check("--name=a --section=z --size=1m --name=b --size=4k a.fio", &["a"], &[]);
        check("--section=z --name=a --size=1m", &[], &["fio.no-job"]);
        check("--section=b --name=a --size=1m --name=b", &["b"], &[]);
        check("a.fio --section=y --name=y --size=1m --name=x", &["y", "y"], &[]);
        check("--name=a --size=1m a.fio", &["a", "x", "y"], &[]);
        check("", &[], &["fio.no-job"]);
        check("none.fio", &[], &["fio.job-file"]);
        check("--bogusswitch", &[], &["fio.unknown-option"]);
        check("--name=a --size=1m --rw=write --readonly", &["a"], &["fio.readonly"]);
        check("--name=a --size=1m --client=b", &["a"], &["fio.refused"]);
        check("--name=a --size=1m --iodeph=4", &["a"], &["fio.unknown-option"]);
        check("--name=a --size=1m --iodepth=x", &["a"], &["fio.bad-value"]);
        check("--name=a --size=1m --parse", &["a"], &["fio.misread"]);
        check("--name=a --size=1m --readw=read", &["a"], &["fio.misread"]);
        check("--name=a --size=1m --read=1", &["a"], &["fio.unknown-option"]);
        check("-m --bs=8k -- a.fio", &["x", "y"], &[]);
        check("--name=a --size=1m -- --version", &["a"], &["fio.job-file"]);
        check("--name=a --size=1m --idle-prof=system", &["a"], &[]);
        check("--name=a --size=1m -Iidle", &["a"], &["fio.bad-value"]);
        check("--name=a --size=1m --showcmd=a", &["a"], &["fio.bad-value"]);
        check("--name=a --size=1m --append-terse=1", &["a"], &[]);
        check("--name=a -bsx=4k", &["a"], &["fio.unknown-option"]);
        check("--name=a --size=1m --write_bw_log=", &["a"], &["fio.bad-value"]);
        check("--name=a --size=1m --write_bw_log", &["a"], &["fio.bad-value"]);
        check("--name=a --size=1m --write_bw_log x", &["a"], &[]);
        check("--name=a --size=1m --log_hist_coarseness=7", &["a"], &[]);
        check(
            "--name=a --size=1m --log_hist_coarseness=7 --write_hist_log=x --log_hist_msec=100",
            &["a"],
            &["fio.bad-value"],
        );
        check("--name=a --size=1m --filename=x#y", &["a"], &["fio.misread"]);
        let list = |bytes: usize| format!("--name=a --size=1m --filename={}", "x".repeat(bytes));
        check(&list(4095), &["a"], &[]);
        check(&list(4096), &["a"], &["fio.bad-value"]);
    }

    #[test]
    fn globals_of_the_command_line_hold_for_files() {
        let (reading, _) = read("--bs=8k --rw=write a.fio");
        let workload = &reading.job.workloads[0].options;
        assert_eq!(workload.read.get().as_percent(), 0.0);
        assert_eq!(reading.extras.globals.len(), 3, "{:?}", reading.extras.globals);
    }

    #[test]
    fn switches_are_told_from_options() {
        let (_, switches) =
            read("--name=a --size=1m --output-format=json,normal --output=x.json --eta=never --showcmd");
        assert_eq!(switches.output_format, [OutputFormat::Json, OutputFormat::Normal]);
        assert_eq!((switches.output.as_deref(), switches.eta), (Some("x.json"), Eta::Never));
        assert!(switches.showcmd && !switches.parse_only);
        let (_, switches) = read("-sP -mFjson -o x.json -V4 -x y -c -i -v --name=a --size=1m");
        assert!(switches.showcmd && switches.parse_only && switches.version);
        assert_eq!(switches.output_format, [OutputFormat::Json]);
        assert_eq!((switches.output.as_deref(), switches.terse_version), (Some("x.json"), Some(4)));
        assert_eq!((switches.cmdhelp.as_deref(), switches.section), (Some("all"), vec!["y".to_owned()]));
        let (_, switches) = read("--eta=newline=500ms --name=a --size=1m");
        assert_eq!((switches.eta, switches.eta_newline_us), (Eta::Auto, 500_000));
    }
}
