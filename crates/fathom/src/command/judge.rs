//! `fathom judge`: whether series of rounds reached a steady state, and when.

use crate::answer::number;
use crate::exit::Exit;
use crate::numbers::Table;
use crate::terminal;
use clap::{Args, ValueEnum};
use fathom_analysis::steady::{Judgement, Rule, WINDOW, Window, judge_numbered};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Largest number of a round: up to here each whole number is a number of its own (2⁵³).
const ROUND_MAX: f64 = 9_007_199_254_740_992.0;
/// Gaps that are told; the rest is counted.
const GAPS_SHOWN: usize = 3;

#[derive(Debug, Args)]
pub(crate) struct JudgeArgs {
    /// A table with a row per round: number of the round and value, or series, round and value; `-` reads standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The rule: `literal` as SNIA's PTS has it, or `envelope`
    #[arg(long, value_enum, default_value = "literal")]
    rule: RuleName,
    /// Title or number of the column of values
    #[arg(long, value_name = "COLUMN")]
    value: Option<String>,
    /// Title or number of the column of rounds
    #[arg(long, value_name = "COLUMN")]
    round: Option<String>,
    /// Columns that together name a series
    #[arg(long, value_name = "COLUMN,…", value_delimiter = ',')]
    series: Vec<String>,
    /// Print a JSON document; docs/answers-json.md explains it
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum RuleName {
    /// Range at most 20 % of the mean, and a straight line that rises or falls by at most 10 % of it
    Literal,
    /// Every value and the ends of the line within ± 10 % of the mean
    Envelope,
}

/// A series: its name, and its rounds in order with their numbers.
struct Series {
    name: Option<String>,
    rounds: Vec<(i64, f64)>,
}

impl Series {
    /// First and last number of each stretch of rounds that is not there.
    fn missing(&self) -> Vec<(i64, i64)> {
        let gaps = self.rounds.windows(2).map(|pair| (pair[0].0 + 1, pair[1].0 - 1));
        gaps.filter(|(first, last)| first <= last).collect()
    }

    /// The same in words; nothing where all are there.
    fn missing_in_words(&self) -> String {
        let gaps = self.missing();
        let told = |(first, last): &(i64, i64)| {
            if first == last { first.to_string() } else { format!("{first} to {last}") }
        };
        let shown: Vec<String> = gaps.iter().take(GAPS_SHOWN).map(told).collect();
        match gaps.len().saturating_sub(GAPS_SHOWN) {
            _ if gaps.is_empty() => String::new(),
            0 => format!("rounds missing: {}", shown.join(", ")),
            more => format!("rounds missing: {} and {more} gaps more", shown.join(", ")),
        }
    }
}

pub(crate) fn run(args: &JudgeArgs) -> Exit {
    let rule = match args.rule {
        RuleName::Literal => Rule::Literal,
        RuleName::Envelope => Rule::Envelope,
    };
    match Table::read(&args.file).and_then(|table| read(&table, args)) {
        Ok(all) => {
            let judged: Vec<(Series, Judgement)> = all
                .into_iter()
                .map(|series| {
                    let judgement = judge_numbered(&series.rounds, rule);
                    (series, judgement)
                })
                .collect();
            if args.json {
                crate::printed(&document(&judged, rule))
            } else {
                crate::shown(&text(&judged, rule))
            }
        }
        Err(reason) => {
            terminal::message(&format!("error: {reason}"));
            Exit::Usage
        }
    }
}

fn read(table: &Table, args: &JudgeArgs) -> Result<Vec<Series>, String> {
    let named = |given: &Option<String>, usual: &str| match given {
        Some(name) => table.named(name).map(Some),
        None => Ok(table.column(&[usual])),
    };
    let (value, round) = (named(&args.value, "value")?, named(&args.round, "round")?);
    let series: Vec<usize> = match args.series.as_slice() {
        [] => table.column(&["series"]).into_iter().collect(),
        names => names.iter().map(|name| table.named(name)).collect::<Result<_, _>>()?,
    };
    // Without titles the places say it: value; round, value; series, round, value.
    let (series, round, value) = match (value, table.width()) {
        (Some(value), _) => (series, round, value),
        (None, _) if round.is_some() || !series.is_empty() => beside(table, series, round)?,
        (None, 1) => (Vec::new(), None, 0),
        (None, 2) => (Vec::new(), Some(0), 1),
        (None, 3) => (vec![0], Some(1), 2),
        (None, width) => {
            return Err(format!(
                "{} has {width} columns and none is called value; name them with --value, --round and --series",
                table.name()
            ));
        }
    };
    let values = table.numbers(value)?;
    let numbers = match round {
        Some(at) => {
            let all = table.numbers(at)?.into_iter();
            Some(all.map(|(line, number)| whole(table, at, line, number)).collect::<Result<Vec<_>, _>>()?)
        }
        None => None,
    };
    let names = series.iter().map(|&at| table.words(at)).collect::<Result<Vec<_>, _>>()?;
    let mut order: Vec<String> = Vec::new();
    let mut rounds: BTreeMap<String, Vec<(i64, f64, u64)>> = BTreeMap::new();
    for (row, (line, value)) in values.into_iter().enumerate() {
        let name = names.iter().map(|column| column[row].1).collect::<Vec<_>>().join(" ");
        if !rounds.contains_key(&name) {
            order.push(name.clone());
        }
        let own = rounds.entry(name).or_default();
        // Without numbers the rounds of a series are those it has, in their order.
        let number = match &numbers {
            Some(all) => all[row],
            None => i64::try_from(own.len() + 1).expect("rows of a file that was read"),
        };
        own.push((number, value, line));
    }
    order
        .into_iter()
        .map(|name| {
            let mut own = rounds.remove(&name).expect("it was put there");
            own.sort_by_key(|round| round.0);
            if let Some(pair) = own.windows(2).find(|pair| pair[0].0 == pair[1].0) {
                let of = if series.is_empty() { String::new() } else { format!(" of series {name}") };
                let what = format!("round {}{of} is there twice", pair[1].0);
                return Err(table.fault(pair[1].2, &what, "give each round one value, or name the series"));
            }
            let name = (!series.is_empty()).then_some(name);
            Ok(Series { name, rounds: own.into_iter().map(|(number, value, _)| (number, value)).collect() })
        })
        .collect()
}

/// The columns of series, round and value where one of the first two is known: the value is what is left. A column of words is a
/// name, that of the series where there is none.
fn beside(
    table: &Table,
    series: Vec<usize>,
    round: Option<usize>,
) -> Result<(Vec<usize>, Option<usize>, usize), String> {
    let rest = (0..table.width()).filter(|at| Some(*at) != round && !series.contains(at));
    let (names, values): (Vec<usize>, Vec<usize>) = rest.partition(|&at| table.is_of_words(at));
    let titles = |all: &[usize]| all.iter().map(|&at| table.title(at)).collect::<Vec<_>>().join(", ");
    match (values.as_slice(), names.as_slice()) {
        (&[value], &[name]) if series.is_empty() => Ok((vec![name], round, value)),
        // Words where a value is expected are told with their line.
        (&[value], _) | (&[], &[value]) => Ok((series, round, value)),
        (&[], _) => Err(format!("{} has no column of values; name it with --value", table.name())),
        (several, _) => Err(format!(
            "{}: each of the columns {} may be the value, and none is called so; name it with --value",
            table.name(),
            titles(several)
        )),
    }
}

/// Numbers of the first and last round of the window that was judged.
fn window_rounds(series: &Series, judgement: &Judgement) -> Option<(i64, i64)> {
    judgement.window?;
    Some((series.rounds[judgement.until - WINDOW].0, series.rounds[judgement.until - 1].0))
}

fn document(judged: &[(Series, Judgement)], rule: Rule) -> String {
    let row = |(series, judgement): &(Series, Judgement)| {
        let window = judgement.window;
        // A 0 has no sign.
        let figure = |of: fn(&Window) -> f64| window.as_ref().map(|w| of(w) + 0.0);
        let share =
            |of: fn(&Window) -> f64| window.as_ref().map(|w| of(w) / w.mean.abs()).filter(|s| s.is_finite());
        json!({
            "series": series.name,
            "rule": rule.name(),
            "steady": judgement.steady_at.is_some(),
            "at_round": judgement.steady_at.map(|at| series.rounds[at - 1].0),
            "range": figure(|w| w.range),
            "slope_excursion": figure(Window::slope_excursion),
            "mean": figure(|w| w.mean),
            "slope": figure(|w| w.slope),
            "range_share": share(|w| w.range),
            "slope_excursion_share": share(Window::slope_excursion),
            "window": window_rounds(series, judgement).map(|(first, last)| [first, last]),
            "rounds": series.rounds.len(),
            "missing": series.missing().iter().map(|(first, last)| [first, last]).collect::<Vec<_>>(),
        })
    };
    let rows: Vec<_> = judged.iter().map(row).collect();
    serde_json::to_string_pretty(&rows).expect("rows have only string keys") + "\n"
}

/// The number of a round.
fn whole(table: &Table, at: usize, line: u64, number: f64) -> Result<i64, String> {
    if number.fract() != 0.0 || number.abs() > ROUND_MAX {
        let what = format!("{}: {number} is no number of a round", table.title(at));
        return Err(table.fault(line, &what, "count rounds as 1, 2, 3, or name another column with --round"));
    }
    #[expect(clippy::cast_possible_truncation, reason = "checked: it has no fraction and fits")]
    Ok(number as i64)
}

fn text(judged: &[(Series, Judgement)], rule: Rule) -> String {
    let steady = judged.iter().filter(|(_, judgement)| judgement.steady_at.is_some()).count();
    let mut text = match judged {
        [(_, judgement)] => match judgement.steady_at {
            Some(_) => String::new(),
            None if judgement.window.is_none() => {
                format!("Not steady: there are no {WINDOW} rounds in a row, which a window takes.\n")
            }
            None => "Not steady: no window of five rounds keeps the limits.\n".to_owned(),
        },
        _ => format!("{steady} of {} series are steady by the {} rule.\n\n", judged.len(), rule.name()),
    };
    for (series, judgement) in judged {
        let name = series.name.as_ref().map_or_else(String::new, |name| match name.as_str() {
            "" => "\"\": ".to_owned(),
            name => format!("{}: ", crate::diagnose::printable(name)),
        });
        let missing = series.missing_in_words();
        let Some(window) = judgement.window else {
            if judged.len() > 1 {
                text += &format!("{name}not steady, no {WINDOW} rounds in a row\n");
            }
            if !missing.is_empty() {
                text += &format!("  {missing}\n");
            }
            continue;
        };
        let (first, last) = window_rounds(series, judgement).expect("there is a window");
        // Of a mean of 0 nothing is a share.
        let share = |value: f64| match value / window.mean.abs() * 100.0 {
            share if share.is_finite() => format!("{share:.1} %"),
            _ => "n/a (the mean is 0)".to_owned(),
        };
        let verdict = match judgement.steady_at {
            Some(_) => format!("steady at round {last}"),
            None => format!("not steady after round {last}"),
        };
        text += &format!(
            "{name}{verdict}: mean {} over rounds {} to {}, range {}, slope {}\n",
            number(window.mean),
            first,
            last,
            share(window.range),
            share(window.slope_excursion())
        );
        if !missing.is_empty() {
            text += &format!("  {missing}: no window goes over them\n");
        }
    }
    text += match rule {
        Rule::Literal => {
            "Limits (literal): range at most 20 % of the mean, slope over the window at most 10 %.\n"
        }
        Rule::Envelope => {
            "Limits (envelope): every round within ± 10 % of the mean, slope over the window at most 20 %.\n"
        }
    };
    text
}
