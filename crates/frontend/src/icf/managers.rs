//! The section MANAGER LIST: managers, their workers, and what these are assigned.

use super::lines::{Line, Rest};
use super::parse::{BAD_VALUE, DOUBTFUL, Parser, SYNTAX};
use super::tree::{Document, IDLE, Kind, Manager, Target, Worker};

const DEPTH: &str = "'Number of outstanding IOs,test connection rate,transactions per connection";
const DEPTH_AND_SEED: &str = "'Number of outstanding IOs,test connection rate,transactions per connection,use fixed seed,fixed seed value";
const SIZE: &str = "'Disk maximum size,starting sector";
const SIZE_AND_PATTERN: &str = "'Disk maximum size,starting sector,Data pattern";
/// Of development builds between 2007 and March 2010, and of one that Intel did not publish.
const SIZE_AND_RANDOM: &str = "'Disk maximum size,starting sector,Use Random Data";
const SETTINGS: [&str; 8] = [
    DEPTH,
    DEPTH_AND_SEED,
    SIZE,
    SIZE_AND_PATTERN,
    SIZE_AND_RANDOM,
    "'Local network interface",
    "'VI outstanding IOs",
    "'End default target settings for worker",
];

/// Reads the section, from the line after its head on.
pub(super) fn read(parser: &mut Parser<'_, '_>, document: &Document) -> Vec<Manager> {
    let mut managers = Vec::new();
    loop {
        let Some(line) = parser.lines.take() else {
            parser.ends("a manager or 'END manager list");
            return managers;
        };
        if line.is("'END manager list") {
            return managers;
        }
        if !line.is("'Manager ID,manager name") {
            let known = ["'Manager ID, manager name", "'END manager list"];
            parser.unknown(line, "MANAGER LIST", &known);
            return managers;
        }
        let (manager, is_whole) = manager(parser, document, line);
        managers.extend(manager);
        if !is_whole {
            // Where one breaks off, what follows is no manager.
            return managers;
        }
    }
}

/// One manager, and whether it was read to its end.
fn manager(parser: &mut Parser<'_, '_>, document: &Document, key: Line<'_>) -> (Option<Manager>, bool) {
    let Some(value) = parser.lines.take_value().filter(|value| !value.is_blank() && !value.is_key()) else {
        let message = "the manager has neither number nor name".to_owned();
        parser.error(BAD_VALUE, key.span, message, "give both on the next line, like 1,HOST");
        return (None, false);
    };
    let mut rest = Rest(value.text);
    let Some(id) = parser.number(&mut rest, value, "the number of the manager", i64::MIN) else {
        return (None, false);
    };
    let mut manager = Manager {
        id,
        name: rest.0.trim().to_owned(),
        address: String::new(),
        workers: Vec::new(),
        span: value.span,
    };
    let Some(pair) = parser.pair("'Manager network address") else { return (Some(manager), false) };
    if !pair.key.is("'Manager network address") {
        parser.unknown(pair.key, "a manager's head", &["'Manager network address"]);
        return (Some(manager), false);
    }
    pair.value.text.clone_into(&mut manager.address);
    while let Some(pair) = parser.pair("a worker or 'End manager") {
        if pair.key.is("'End manager") {
            return (Some(manager), true);
        }
        if !pair.key.is("'Worker") {
            parser.unknown(pair.key, "MANAGER", &["'Worker", "'End manager"]);
            return (Some(manager), false);
        }
        let (worker, is_whole) = worker(parser, document, pair.value);
        manager.workers.extend(worker);
        if !is_whole {
            return (Some(manager), false);
        }
    }
    (Some(manager), false)
}

/// One worker, and whether it was read to its end.
fn worker(parser: &mut Parser<'_, '_>, document: &Document, name: Line<'_>) -> (Option<Worker>, bool) {
    let Some(pair) = parser.pair("'Worker type") else { return (None, false) };
    if !pair.key.is("'Worker type") {
        parser.unknown(pair.key, "the head of a worker", &["'Worker type"]);
        return (None, false);
    }
    let Some(kind) = kind_of(parser, pair.value, "worker") else { return (None, false) };
    let mut worker = Worker {
        name: name.text.to_owned(),
        kind,
        outstanding: 1,
        connection_rate: false,
        trans_per_conn: 1,
        fixed_seed: None,
        max_size: 0,
        start: 0,
        pattern: 0,
        interface: String::new(),
        vi_outstanding: None,
        specs: Vec::new(),
        targets: Vec::new(),
        span: name.span,
        depth_span: name.span,
        region_span: name.span,
    };
    loop {
        let Some(line) = parser.lines.take() else {
            parser.ends("'End worker");
            return (Some(worker), false);
        };
        let is_whole = if line.is("'End worker") {
            return (Some(worker), true);
        } else if line.is("'Default target settings for worker") {
            settings(parser, &mut worker)
        } else if line.is("'Assigned access specs") {
            assigned(parser, document, &mut worker)
        } else if line.is("'Target assignments") {
            targets(parser, &mut worker)
        } else {
            let known = [
                "'Default target settings for worker",
                "'Assigned access specs",
                "'Target assignments",
                "'End worker",
            ];
            parser.unknown(line, "WORKER", &known);
            None
        };
        if is_whole.is_none() {
            return (Some(worker), false);
        }
    }
}

fn kind_of(parser: &mut Parser<'_, '_>, value: Line<'_>, what: &str) -> Option<Kind> {
    let mut rest = Rest(value.text);
    let (first, second) = (rest.word().to_ascii_uppercase(), rest.word().to_ascii_uppercase());
    match (first.as_str(), second.as_str()) {
        ("DISK", _) => Some(Kind::Disk),
        ("NETWORK", "TCP") => Some(Kind::Tcp),
        ("NETWORK", "VI") => Some(Kind::Vi),
        _ => {
            let message = format!("\"{}\" is no type of a {what}", value.text);
            parser.error(BAD_VALUE, value.span, message, "write DISK, NETWORK,TCP or NETWORK,VI");
            None
        }
    }
}

fn settings(parser: &mut Parser<'_, '_>, worker: &mut Worker) -> Option<()> {
    loop {
        let pair = parser.pair("a setting or 'End default target settings for worker")?;
        let (key, value) = (pair.key, pair.value);
        let mut rest = Rest(value.text);
        if key.is("'End default target settings for worker") {
            return Some(());
        } else if key.is(DEPTH) || key.is(DEPTH_AND_SEED) {
            worker.depth_span = value.span;
            worker.outstanding = parser.number(&mut rest, value, "the number of outstanding I/Os", 0)?;
            worker.connection_rate = is_enabled(parser, &mut rest, value, "test connection rate")?;
            worker.trans_per_conn = parser.number(&mut rest, value, "transactions per connection", 0)?;
            if key.is(DEPTH_AND_SEED) {
                let is_fixed = is_enabled(parser, &mut rest, value, "use fixed seed")?;
                let seed = long(parser, &mut rest, value, "the fixed seed")?;
                worker.fixed_seed = is_fixed.then_some(seed);
            }
        } else if key.is(SIZE) || key.is(SIZE_AND_PATTERN) || key.is(SIZE_AND_RANDOM) {
            if worker.kind != Kind::Disk {
                let message = format!("\"{}\" is given for a network worker", key.text);
                parser.error(SYNTAX, key.span, message, "take it out, or make it a DISK worker");
                return None;
            }
            worker.region_span = value.span;
            worker.max_size = long(parser, &mut rest, value, "the maximum size")?;
            worker.start = long(parser, &mut rest, value, "the starting sector")?;
            if key.is(SIZE_AND_PATTERN) {
                worker.pattern = number_up_to(parser, &mut rest, value, "the data pattern", 2)?;
            } else if key.is(SIZE_AND_RANDOM) {
                // Random data, or the repeating bytes of before.
                worker.pattern = 2 * number_up_to(parser, &mut rest, value, "use random data", 1)?;
            }
        } else if key.is("'Local network interface") {
            value.text.clone_into(&mut worker.interface);
        } else if key.is("'VI outstanding IOs") {
            worker.vi_outstanding = Some(parser.number(&mut rest, value, "VI outstanding I/Os", 0)?);
        } else {
            parser.unknown(key, "the default target settings", &SETTINGS);
            return None;
        }
    }
}

fn is_enabled<'a>(
    parser: &mut Parser<'a, '_>,
    rest: &mut Rest<'a>,
    value: Line<'a>,
    what: &str,
) -> Option<bool> {
    match rest.word().to_ascii_uppercase().as_str() {
        "ENABLED" => Some(true),
        "DISABLED" => Some(false),
        word => {
            let message = format!("{what} is \"{word}\"");
            parser.error(BAD_VALUE, value.span, message, "write ENABLED or DISABLED");
            None
        }
    }
}

fn long<'a>(parser: &mut Parser<'a, '_>, rest: &mut Rest<'a>, value: Line<'a>, what: &str) -> Option<u64> {
    let number = rest.long();
    if number.is_none() {
        let message = format!("{what} is no whole number from 0 to 2^64-1 in \"{}\"", value.text);
        parser.error(BAD_VALUE, value.span, message, "give a whole number");
    }
    number
}

fn number_up_to<'a>(
    parser: &mut Parser<'a, '_>,
    rest: &mut Rest<'a>,
    value: Line<'a>,
    what: &str,
    max: u8,
) -> Option<u8> {
    let number = parser.number(rest, value, what, 0)?;
    match u8::try_from(number) {
        Ok(number) if number <= max => Some(number),
        _ => {
            let message = format!("{what} is {number}, above {max}");
            parser.error(BAD_VALUE, value.span, message, "give a smaller one");
            None
        }
    }
}

fn assigned(parser: &mut Parser<'_, '_>, document: &Document, worker: &mut Worker) -> Option<()> {
    loop {
        let Some(line) = parser.lines.take() else {
            parser.ends("'End assigned access specs");
            return None;
        };
        if line.is("'End assigned access specs") {
            return Some(());
        }
        if line.is_key() {
            parser.unknown(line, "the assigned access specs", &["'End assigned access specs"]);
            return None;
        }
        if line.text.eq_ignore_ascii_case(IDLE) {
            worker.specs.push(IDLE.to_owned());
        } else if let Some(spec) = document.spec(line.text) {
            worker.specs.push(spec.name.clone());
        } else {
            let message =
                format!("there is no access specification \"{}\"; it is left out, as by Iometer", line.text);
            let names = document.specs.iter().map(|spec| spec.name.as_str());
            let help = fathom_model::nearest(line.text, names).map_or_else(
                || "name one of the section ACCESS SPECIFICATIONS, or Idle".to_owned(),
                |near| format!("did you mean \"{near}\"?"),
            );
            parser.warn("icf.unknown-spec", line.span, message, &help);
        }
    }
}

fn targets(parser: &mut Parser<'_, '_>, worker: &mut Worker) -> Option<()> {
    loop {
        let pair = parser.pair("a target or 'End target assignments")?;
        if pair.key.is("'End target assignments") {
            return Some(());
        }
        if !pair.key.is("'Target") {
            parser.unknown(pair.key, "TARGET ASSIGNMENTS", &["'Target", "'End target assignments"]);
            return None;
        }
        let name = pair.value;
        if name.is_blank() {
            parser.error(
                BAD_VALUE,
                pair.key.span,
                "the target has no name".to_owned(),
                "give it on the next line",
            );
            return None;
        }
        let pair = parser.pair("'Target type")?;
        if !pair.key.is("'Target type") {
            parser.unknown(pair.key, "a target", &["'Target type"]);
            return None;
        }
        let kind = kind_of(parser, pair.value, "target")?;
        let manager = if kind == Kind::Disk { None } else { Some(peer(parser)?) };
        let Some(end) = parser.lines.take() else {
            parser.ends("'End target");
            return None;
        };
        if !end.is("'End target") {
            parser.unknown(end, "a target", &["'End target"]);
            return None;
        }
        if kind != worker.kind {
            let message = format!("a {} worker has a {} target", worker.kind.name(), kind.name());
            parser.error(BAD_VALUE, name.span, message, "give it targets of its own type");
            return None;
        }
        let target = Target { name: name.text.to_owned(), kind, manager, span: name.span };
        if kind != Kind::Disk {
            // A network worker has one: each further one takes its place.
            worker.targets.clear();
        } else if worker.targets.iter().any(|one| Target::key(&one.name) == Target::key(&target.name)) {
            let message =
                format!("\"{}\" is assigned to \"{}\" already, and counts once", target.name, worker.name);
            parser.warn(DOUBTFUL, target.span, message, "use a second worker, or a deeper queue");
            continue;
        }
        worker.targets.push(target);
    }
}

/// The manager at the other end of the network.
fn peer(parser: &mut Parser<'_, '_>) -> Option<(i64, String)> {
    let pair = parser.pair("'Target manager ID, manager name")?;
    if !pair.key.is("'Target manager ID,manager name") {
        parser.unknown(pair.key, "a network target", &["'Target manager ID, manager name"]);
        return None;
    }
    let mut rest = Rest(pair.value.text);
    let id = parser.number(&mut rest, pair.value, "the number of the target's manager", i64::MIN)?;
    let name = rest.0.trim();
    if name.is_empty() {
        let message = "the target's manager has no name".to_owned();
        parser.error(BAD_VALUE, pair.value.span, message, "give it after its number");
        return None;
    }
    Some((id, name.to_owned()))
}
