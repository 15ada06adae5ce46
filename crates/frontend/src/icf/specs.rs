//! The section ACCESS SPECIFICATIONS: named ones, and the nameless lines of files before 1998.05.21.

use super::lines::{Line, Rest};
use super::parse::{BAD_VALUE, DOUBTFUL, Parser, SYNTAX, WITH_NAMED_SPECS};
use super::tree::{Assign, IDLE, Spec, SpecLine};
use fathom_model::Span;

/// Lines of a specification, at most: Iometer's own limit (`MAX_ACCESS_SPECS`).
const LINES_MAX: usize = 100;
/// What align is where old files cannot say it: that of Iometer 1.1.0's template (`InitAccessSpecLine`).
const OLD_ALIGN: u32 = 2048;

/// Reads the section, from the line after its head on.
pub(super) fn read(parser: &mut Parser<'_, '_>) -> Vec<Spec> {
    if parser.version < WITH_NAMED_SPECS { old(parser) } else { named(parser) }
}

fn named(parser: &mut Parser<'_, '_>) -> Vec<Spec> {
    let mut specs: Vec<Spec> = Vec::new();
    while let Some(pair) = parser.pair("an access specification or 'END access specifications") {
        let (key, value) = (pair.key, pair.value);
        if key.is("'END access specifications") {
            break;
        }
        if !key.is("'Access specification name,default assignment") {
            let known = ["'Access specification name,default assignment", "'END access specifications"];
            parser.unknown(key, "ACCESS SPECIFICATIONS", &known);
            return specs;
        }
        let Some(spec) = spec(parser, value) else { continue };
        let place = specs.iter().position(|one| one.name.eq_ignore_ascii_case(&spec.name));
        match place {
            _ if spec.name.eq_ignore_ascii_case(IDLE) => {
                let message =
                    "the name Idle is that of doing nothing; what it says here is not used".to_owned();
                parser.warn(DOUBTFUL, spec.span, message, "give it another name");
            }
            Some(place) => {
                let message = format!("\"{}\" is there already; this one takes its place", spec.name);
                parser.warn(DOUBTFUL, spec.span, message, "give one of them another name");
                specs[place] = spec;
            }
            None => specs.push(spec),
        }
    }
    specs
}

/// One specification whose name stands in `head`; `None` after a complaint. Its lines are taken in any case.
fn spec(parser: &mut Parser<'_, '_>, head: Line<'_>) -> Option<Spec> {
    let (name, assign) = head.text.split_once(',').unwrap_or((head.text, ""));
    let (name, assign) = (name.trim().to_owned(), assign.trim().trim_end_matches(',').trim());
    match parser.lines.peek() {
        Some(line) if line.is_key() && !line.begins("'End") => {
            parser.lines.take();
        }
        Some(line) => {
            let message =
                format!("\"{}\" stands where the head of the lines of \"{name}\" is due", line.text);
            let help = "write 'size,% of size,% reads,% random,delay,burst,align,reply before them";
            parser.error(SYNTAX, line.span, message, help);
        }
        None => parser.ends("the head of an access specification's lines"),
    }
    let mut lines = Vec::new();
    let mut is_good = true;
    while let Some(line) = parser.lines.peek().filter(|line| !line.is_key()) {
        parser.lines.take();
        match fields(parser, line) {
            Some(line) => lines.push(line),
            None => is_good = false,
        }
    }
    if name.is_empty() {
        parser.error(BAD_VALUE, head.span, "the access specification has no name".to_owned(), "give it one");
        return None;
    }
    let assign = assign_of(parser, assign, head.span);
    let sum: u64 = lines.iter().map(|line| u64::from(line.pct)).sum();
    if is_good && sum != 100 {
        let message = format!("the shares of \"{name}\" sum to {sum} %, not 100 %");
        parser.error("icf.shares", head.span, message, "let the second column of its lines sum to 100");
    }
    if lines.len() > LINES_MAX {
        let message = format!("\"{name}\" has {} lines, more than {LINES_MAX}", lines.len());
        parser.error(BAD_VALUE, head.span, message, "use fewer");
    }
    Some(Spec { name, assign, lines, span: head.span })
}

fn assign_of(parser: &mut Parser<'_, '_>, word: &str, span: Span) -> Assign {
    let by_name = Assign::ALL.into_iter().find(|one| word.eq_ignore_ascii_case(one.name()));
    let by_number = || Assign::ALL.get(word.parse::<usize>().ok()?).copied();
    by_name.or_else(by_number).unwrap_or_else(|| {
        if !word.is_empty() {
            let message = format!("\"{word}\" is no default assignment, and counts as NONE as in Iometer");
            parser.warn(DOUBTFUL, span, message, "write NONE, ALL, DISK or NET");
        }
        Assign::None
    })
}

/// The eight fields of a line.
fn fields(parser: &mut Parser<'_, '_>, line: Line<'_>) -> Option<SpecLine> {
    const NAMES: [&str; 8] = ["size", "% of size", "% reads", "% random", "delay", "burst", "align", "reply"];
    let texts: Vec<&str> = line.text.split(',').map(str::trim).collect();
    if texts.len() < NAMES.len() {
        let message = format!("the line has {} fields, not the 8 of an access specification", texts.len());
        let help = "write size,% of size,% reads,% random,delay,burst,align,reply";
        parser.error(BAD_VALUE, line.span, message, help);
        return None;
    }
    if texts[NAMES.len()..].iter().any(|text| !text.is_empty()) {
        let message = "the line has more than the 8 fields of an access specification".to_owned();
        parser.warn(DOUBTFUL, line.span, message, "Iometer does not look at the others; take them out");
    }
    let mut values = [0_u32; NAMES.len()];
    for ((value, text), name) in values.iter_mut().zip(texts).zip(NAMES) {
        match text.parse::<u32>() {
            Ok(number) if !name.starts_with('%') || number <= 100 => *value = number,
            Ok(number) => {
                let message = format!("{name} is {number}, above 100");
                parser.error(BAD_VALUE, line.span, message, "give a share from 0 to 100");
                return None;
            }
            Err(_) => {
                let message = format!("{name} is \"{text}\", no whole number from 0 to {}", u32::MAX);
                parser.error(BAD_VALUE, line.span, message, "give a whole number, without unit");
                return None;
            }
        }
    }
    let [size, pct, read, random, delay, burst, align, reply] = values;
    Some(SpecLine { size, pct, read, random, delay, burst, align, reply, span: line.span })
}

/// Files before 1998.05.21: lines of six numbers, each specification ending where its shares reach 100 %.
fn old(parser: &mut Parser<'_, '_>) -> Vec<Spec> {
    let mut specs: Vec<Spec> = Vec::new();
    // The head of the columns.
    parser.lines.take();
    let mut lines: Vec<SpecLine> = Vec::new();
    while let Some(line) = parser.lines.peek().filter(|line| !line.is_key()) {
        parser.lines.take();
        let mut rest = Rest(line.text);
        let mut next = || rest.number().and_then(|number| u32::try_from(number).ok());
        let numbers = [next(), next(), next(), next(), next(), next()];
        let [Some(size), Some(pct), Some(read), Some(random), Some(delay), Some(burst)] = numbers else {
            let message =
                "the line lacks one of the 6 whole numbers of an old access specification".to_owned();
            parser.error(
                BAD_VALUE,
                line.span,
                message,
                "write size, % of size, % reads, % random, delay, burst",
            );
            return specs;
        };
        if pct > 100 || read > 100 || random > 100 {
            let message = "a share is above 100 %".to_owned();
            parser.error(BAD_VALUE, line.span, message, "give shares from 0 to 100");
            return specs;
        }
        if pct == 0 {
            let message = "the line makes up 0 % and is left out, as by Iometer".to_owned();
            parser.warn(DOUBTFUL, line.span, message, "take it out");
            continue;
        }
        lines.push(SpecLine {
            size,
            pct,
            read,
            random,
            delay,
            burst,
            align: OLD_ALIGN,
            reply: 0,
            span: line.span,
        });
        let sum: u32 = lines.iter().map(|line| line.pct).sum();
        if sum > 100 {
            let message = format!("the shares up to this line sum to {sum} %, above 100 %");
            parser.error("icf.shares", line.span, message, "let each specification sum to 100");
            return specs;
        }
        if sum == 100 {
            let lines = std::mem::take(&mut lines);
            let span = lines[0].span;
            let name = name_of(&lines, &specs);
            specs.push(Spec { name, assign: Assign::All, lines, span });
        }
    }
    if let Some(line) = lines.first() {
        let message =
            "the shares from this line on do not reach 100 %; they are left out, as by Iometer".to_owned();
        parser.warn(DOUBTFUL, line.span, message, "let them sum to 100");
    }
    match parser.lines.peek() {
        Some(line) if line.is("'END access specifications") => {
            parser.lines.take();
        }
        Some(_) => {}
        None => parser.ends("'END access specifications"),
    }
    specs
}

/// The name that Iometer gives a nameless specification: what it does when it is of one line, else a number.
fn name_of(lines: &[SpecLine], specs: &[Spec]) -> String {
    let is_taken = |name: &str| specs.iter().any(|spec| spec.name.eq_ignore_ascii_case(name));
    let [line] = lines else {
        let mut number = specs.iter().filter(|spec| spec.name.starts_with("Untitled")).count() + 1;
        while is_taken(&format!("Untitled {number}")) {
            number += 1;
        }
        return format!("Untitled {number}");
    };
    let size = match line.size {
        512 => "512 B".to_owned(),
        1_048_576 => "1 MiB".to_owned(),
        size => format!("{} KiB", size / 1024),
    };
    let random = match line.random {
        0 => "sequential".to_owned(),
        100 => "random".to_owned(),
        share => format!("{share}% random"),
    };
    let reads = match line.read {
        0 => "writes".to_owned(),
        100 => "reads".to_owned(),
        share => format!("{share}% reads"),
    };
    let name = format!("{size} {random} {reads}");
    let numbered = (2..).map(|number| format!("{name} {number}"));
    std::iter::once(name.clone()).chain(numbered).find(|name| !is_taken(name)).unwrap_or(name)
}
