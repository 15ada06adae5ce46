//! An objective for people: whether a load is carried, in one sentence, its tables and its drawings. Owns which figures are
//! shown; they are `fathom_analysis::objective`'s.

use crate::curve::{number, time, too_few_for, with_interval};
use crate::plot::{Plot, PlotAxis, PlotLine, PlotMark, Shape, Unit, ns};
use crate::section::Section;
use crate::table::{left, right};
use crate::tables::Table;
use crate::view::Asked;
use fathom_analysis::objective::{HeldBack, Margin, Objective, State, Trial, Undecided, is_same};
use fathom_schema::LatencyGoal;
use fathom_units::Iops;

const STATES: [(State, &str); 7] = [
    (State::Met, "kept"),
    (State::TooFew, "too few operations"),
    (State::Undecided, "undecided"),
    (State::Unfinished, "broken off"),
    (State::DepthLimited, "queue too small"),
    (State::NotMet, "limit not kept"),
    (State::Overloaded, "overloaded"),
];

/// Drawings and tables of an objective.
pub(crate) fn sections(asked: &Asked) -> Vec<Section> {
    let Asked { found, wanted, goals } = asked;
    let mut plots: Vec<Plot> =
        goals.iter().enumerate().map(|(at, goal)| latencies(found, *wanted, at, goal)).collect();
    plots.push(done(found, *wanted));
    plots.push(search(found, *wanted));
    let reached = found.reached.as_ref().map(|reached| {
        let rate = with_interval(reached, "/s", &|x| Iops(x).to_string());
        format!("By all trials near it, the limit is reached at {rate}.")
    });
    vec![Section {
        title: "Objective".to_owned(),
        lines: reached.into_iter().chain(found.remarks.iter().cloned()).collect(),
        plots,
        tables: vec![
            ("Limits".to_owned(), limits(found)),
            ("Rates that were tried".to_owned(), tried(found, goals)),
        ],
        ..Section::default()
    }]
}

/// A line of points for each state that trials have.
fn by_state(found: &Objective, point: impl Fn(usize, &Trial) -> Option<(f64, f64)>) -> Vec<PlotLine> {
    let line = |(state, name): (State, &str)| {
        let trials = found.trials.iter().enumerate().filter(|(_, trial)| trial.state == state);
        PlotLine::new(
            name,
            Shape::Points,
            &trials.filter_map(|(at, trial)| point(at, trial)).collect::<Vec<_>>(),
        )
    };
    STATES.into_iter().map(line).filter(|line| !line.x.is_empty()).collect()
}

/// The rate in question, or what the search has found.
fn rate_marks(found: &Objective, wanted: Option<f64>, is_x: bool) -> Vec<PlotMark> {
    let mark = |label: &str, rate: f64| {
        if is_x { PlotMark::x(label, rate, None) } else { PlotMark::y(label, rate, None) }
    };
    let name = if wanted.is_some() { "rate in question" } else { "highest that keeps the limits" };
    let missed = found.missed.map(|rate| mark("lowest that does not", rate));
    found.rate.map(|rate| mark(name, rate)).into_iter().chain(missed).collect()
}

fn latencies(found: &Objective, wanted: Option<f64>, at: usize, goal: &LatencyGoal) -> Plot {
    let mut marks = vec![PlotMark::y("limit", goal.limit.0 as f64, None)];
    marks.extend(rate_marks(found, wanted, true));
    Plot {
        title: format!("{} of the response time over the rate", goal.statistic()),
        x: PlotAxis::linear("rate asked for, per second", Unit::Rate),
        y: PlotAxis::log("response time", Unit::Latency),
        lines: by_state(found, |_, trial| {
            // What a trial has too few operations for is no point.
            let found_s =
                trial.latencies_s.get(at).copied().filter(|s| *s > 0.0 && trial.needs[at].is_none())?;
            Some((trial.rate, ns(found_s)))
        }),
        marks,
        bands: Vec::new(),
    }
}

fn done(found: &Objective, wanted: Option<f64>) -> Plot {
    let rates = || found.trials.iter().map(|trial| trial.rate);
    let (least, most) = (rates().fold(f64::INFINITY, f64::min), rates().fold(0.0, f64::max));
    let mut lines = by_state(found, |_, trial| Some((trial.rate, trial.done)));
    if least < most {
        lines.push(PlotLine::new("as asked", Shape::Line, &[(least, least), (most, most)]));
    }
    Plot {
        title: "What was done of what was asked".to_owned(),
        x: PlotAxis::linear("rate asked for, per second", Unit::Rate),
        y: PlotAxis::linear("done per second", Unit::Rate),
        lines,
        marks: rate_marks(found, wanted, true),
        bands: Vec::new(),
    }
}

/// Trial by trial: how the search closed in, or whether a rate was carried every time.
fn search(found: &Objective, wanted: Option<f64>) -> Plot {
    Plot {
        title: "Rates in the order in which they were tried".to_owned(),
        x: PlotAxis::linear("trial", Unit::Plain),
        y: PlotAxis::linear("rate asked for, per second", Unit::Rate),
        lines: by_state(found, |at, trial| Some((at as f64 + 1.0, trial.rate))),
        marks: rate_marks(found, wanted, false),
        bands: Vec::new(),
    }
}

fn limits(found: &Objective) -> Table {
    let row = |(at, margin): (usize, &Margin)| {
        let Margin { goal, worst_s: worst, left, together_s, is_split: _, is_single: _ } = margin;
        let side = if *left >= 0.0 { "below" } else { "above" };
        let share = number((left.abs() * 1000.0).round() / 10.0);
        let worst = match needs(found, at) {
            None => time(*worst),
            Some(needs) => format!("{}, largest {}", too_few_for(needs), time(*worst)),
        };
        let together = together_s.as_ref().map_or_else(String::new, |all| with_interval(all, "", &time));
        vec![goal.to_string(), worst, format!("{share} % {side}"), together]
    };
    Table {
        columns: vec![
            left("limit"),
            right("worst at the rate"),
            right("to the limit"),
            right("its trials together"),
        ],
        rows: found.margins.iter().enumerate().map(row).collect(),
        remark: None,
    }
}

/// How many operations the trials at the rate would have needed for the statistic of a limit; `None` where they had them.
fn needs(found: &Objective, limit: usize) -> Option<u64> {
    let is_of_it = |trial: &&Trial| found.rate.is_some_and(|rate| (trial.rate / rate - 1.0).abs() < 1e-4);
    found.trials.iter().filter(is_of_it).filter_map(|trial| trial.needs.get(limit).copied()?).max()
}

fn tried(found: &Objective, goals: &[LatencyGoal]) -> Table {
    let row = |trial: &Trial| {
        let Trial { rate, offered, done, latencies_s, intervals_s: _, needs, state, held_back: _ } = trial;
        let shown: Vec<String> = goals
            .iter()
            .zip(latencies_s)
            .zip(needs)
            .map(|((goal, s), needs)| match needs {
                None => format!("{} {}", goal.statistic(), time(*s)),
                Some(needs) => {
                    format!("{} {}, largest {}", goal.statistic(), too_few_for(*needs), time(*s))
                }
            })
            .collect();
        vec![
            in_full(*rate),
            in_full(*offered),
            in_full(*done),
            shown.join(", "),
            state.name().replace('_', " "),
        ]
    };
    Table {
        columns: vec![
            right("rate"),
            right("came due"),
            right("done"),
            right("response time"),
            left("verdict"),
        ],
        rows: found.trials.iter().map(row).collect(),
        remark: None,
    }
}

/// What became of the rates that had been tried when a search was broken off.
fn so_far(found: &Objective, wanted: Option<f64>) -> String {
    let lowest = found.trials.iter().map(|trial| trial.rate).fold(f64::INFINITY, f64::min);
    match (wanted, found.rate, found.missed) {
        (Some(rate), ..) => match found.trials.len() {
            1 => format!("one trial at {}/s said nothing against it", in_full(rate)),
            count => format!("{count} trials at {}/s said nothing against it", in_full(rate)),
        },
        (None, Some(rate), Some(missed)) => {
            format!("{}/s kept the limits so far, and {}/s did not", Iops(rate), Iops(missed))
        }
        (None, Some(rate), None) => format!("{}/s kept the limits so far", Iops(rate)),
        (None, None, _) => {
            format!("no rate kept the limits so far, of which the lowest was {}/s", in_full(lowest))
        }
    }
}

/// Whether the load is carried, or which is, in one sentence.
pub fn sentence(found: &Objective, wanted: Option<f64>) -> String {
    let margin = found.margins.iter().map(|margin| margin.left).fold(f64::INFINITY, f64::min);
    let percent = |share: f64| format!("{} %", number((share.abs() * 1000.0).round() / 10.0));
    if found.state == State::Unfinished {
        return format!("There is no answer yet: {}.", so_far(found, wanted));
    }
    if let Some(held_back) = &found.held_back {
        return too_small(held_back, wanted, found.rate);
    }
    match (wanted, found.rate, found.state) {
        (Some(rate), _, State::Met) => {
            format!(
                "Met: {}/s are carried, with {} to spare to {}{}.",
                in_full(rate),
                percent(margin),
                tightest(found),
                chance(found)
            )
        }
        (Some(rate), _, State::TooFew) => {
            format!("Cannot tell: {}/s are carried, but {}.", Iops(rate), too_few(found))
        }
        // A rate in question is never undecided: it is tried itself.
        (Some(rate), _, State::NotMet | State::Undecided | State::Unfinished | State::DepthLimited) => {
            format!(
                "Not met: {}/s are carried, but {}{}.",
                Iops(rate),
                too_long(found, &percent(margin)),
                chance(found)
            )
        }
        (Some(rate), _, State::Overloaded) => {
            // Of the trials of the rate the one that says so.
            let is_of_it = |trial: &&Trial| trial.state == State::Overloaded;
            let short = |trial: &&Trial| trial.done / trial.offered;
            match found.trials.iter().filter(is_of_it).min_by(|a, b| short(a).total_cmp(&short(b))) {
                Some(worst) => format!(
                    "Overloaded: of the {}/s that came due when {}/s were asked for only {}/s are done, {}.",
                    in_full(worst.offered),
                    in_full(rate),
                    in_full(worst.done),
                    ever_longer(found, rate)
                ),
                None => format!("Overloaded: {}/s are not carried.", in_full(rate)),
            }
        }
        (None, Some(rate), State::TooFew) => format!(
            "Cannot tell: up to {}/s nothing speaks against the limits, but {}.",
            Iops(rate),
            too_few(found)
        ),
        (None, Some(rate), _) => match (found.missed, found.reached) {
            // All trials together tell more than the two next to the limit, which chance moves.
            (Some(missed), Some(reached)) => {
                let between = reached.interval.map_or_else(String::new, |(low, high)| {
                    format!(" (95 %: {}/s to {}/s)", Iops(low), Iops(high))
                });
                let chance = if found.is_bracket_chance() { ", possibly by chance" } else { "" };
                format!(
                    "The limits are reached at {}/s{between}: {}/s kept them, {}/s did not{}{chance}.",
                    Iops(reached.value),
                    Iops(rate),
                    Iops(missed),
                    broken(found, missed)
                )
            }
            (Some(missed), None) if found.is_bracket_chance() => format!(
                "{}/s kept the limits and {}/s did not{}, possibly by chance: the trials do not tell how near to either the limits are reached.",
                Iops(rate),
                Iops(missed),
                broken(found, missed)
            ),
            (Some(missed), None) => {
                format!(
                    "The limits are reached between {}/s, which kept them, and {}/s{}.",
                    Iops(rate),
                    Iops(missed),
                    broken(found, missed)
                )
            }
            (None, _) => format!("{}/s keeps the limits, the highest rate that was tried.", Iops(rate)),
        },
        (None, None, _) if found.undecided.is_some() => undecided(found),
        (None, None, _) => not_met(found),
    }
}

/// That no rate keeps the limits.
fn not_met(found: &Objective) -> String {
    let lowest = found.trials.iter().map(|trial| trial.rate).fold(f64::INFINITY, f64::min);
    let is_kept = found.trials.iter().any(|trial| trial.rate <= lowest && trial.state.is_kept());
    match &found.alone {
        Some((goal, seconds)) if is_kept => format!(
            "Not met: one operation at a time already has {} {}, against {goal}, and at a rate none is done sooner; that {}/s \
                     kept it is of too few operations to show otherwise.",
            goal.statistic(),
            time(*seconds),
            Iops(lowest)
        ),
        Some((goal, seconds)) => format!(
            "Not met: one operation at a time already has {} {}, and {}/s misses {goal} too: no rate from there on keeps it.",
            goal.statistic(),
            time(*seconds),
            Iops(lowest)
        ),
        None => {
            format!(
                "Not met: even {}/s, the lowest rate that was tried, does not keep the limits.",
                Iops(lowest)
            )
        }
    }
}

/// The limit to which the least is left, or that is exceeded by the most; of a single one there is no doubt.
fn tightest(found: &Objective) -> String {
    match least(found) {
        Some((_, least)) if found.margins.len() > 1 => least.goal.to_string(),
        _ => "the limit".to_owned(),
    }
}

/// What exceeds its limit by most, `above` being by how much.
fn too_long(found: &Objective, above: &str) -> String {
    let Some((at, goal)) = least(found).map(|(at, least)| (at, least.goal)) else {
        return format!("{above} above the limit");
    };
    let limit = goal.limit.in_full();
    match needs(found, at) {
        None => format!("their {} is {above} above {limit}", goal.statistic()),
        Some(_) => {
            format!("their largest latency, which stands for {}, is {above} above {limit}", goal.statistic())
        }
    }
}

/// The margin that is least, and which it is.
fn least(found: &Objective) -> Option<(usize, &Margin)> {
    found.margins.iter().enumerate().min_by(|a, b| a.1.left.total_cmp(&b.1.left))
}

/// Which of several limits a rate did not keep, in brackets; nothing of a single one, and of a rate that was not done.
fn broken(found: &Objective, rate: f64) -> String {
    let at = |trial: &&Trial| is_same(trial.rate, rate);
    let is_broken = |(which, margin): &(usize, &Margin)| {
        found
            .trials
            .iter()
            .filter(at)
            .any(|trial| trial.latencies_s[*which] > margin.goal.limit.as_secs_f64())
    };
    let goals: Vec<String> = found
        .margins
        .iter()
        .enumerate()
        .filter(is_broken)
        .map(|(_, margin)| margin.goal.to_string())
        .collect();
    if goals.is_empty() || found.margins.len() < 2 {
        String::new()
    } else {
        format!(" ({})", goals.join(", "))
    }
}

/// Times a limit that a figure has to be, and trials that have to show it, for it to be no question of how long they were: that a
/// queue has a rare bout in every one of them is chance only where the bout is.
const FAR_TIMES: f64 = 4.0;
const FAR_TRIALS: usize = 3;

/// Whether every trial of the rate misses the same limit by far.
fn is_far_off(found: &Objective) -> bool {
    let of_rate =
        || found.trials.iter().filter(|trial| found.rate.is_some_and(|rate| is_same(trial.rate, rate)));
    let misses = |(which, margin): (usize, &Margin)| {
        let far_s = FAR_TIMES * margin.goal.limit.as_secs_f64();
        of_rate().all(|trial| trial.latencies_s.get(which).is_some_and(|latency_s| *latency_s > far_s))
    };
    of_rate().count() >= FAR_TRIALS && found.margins.iter().enumerate().any(misses)
}

/// What follows of arrivals that were left. One trial of several may have ended with a burst: the others carried the rate.
fn ever_longer(found: &Objective, rate: f64) -> String {
    let of_rate = || found.trials.iter().filter(|trial| is_same(trial.rate, rate));
    let kept = of_rate().filter(|trial| trial.state.is_kept()).count();
    let all = of_rate().count();
    if kept >= 2 && kept + 1 == all {
        format!("in one of {all} trials, possibly by chance: the others carried it; longer ones tell more")
    } else {
        "the others wait ever longer".to_owned()
    }
}

/// What is to be said where all trials of the rate together do not show what the worst of them says. Where limits are missed, each of
/// those has to be open; where all are kept, one is enough.
fn chance(found: &Objective) -> String {
    if is_far_off(found) {
        return String::new();
    }
    let missed = || found.margins.iter().filter(|margin| margin.left < 0.0);
    let open = match missed().next() {
        Some(first) => missed().all(Margin::is_chance).then_some(first),
        None => found.margins.iter().find(|margin| margin.is_chance()),
    };
    if let Some(seconds) = found.trials_take_s {
        return format!(", possibly by chance: each trial would have to last {}", time(seconds));
    }
    match open.map(|margin| (margin.goal, margin.together_s, margin.is_single)) {
        None => String::new(),
        Some((goal, Some(together), _)) => format!(
            ", possibly by chance: its trials together have {} {}; longer ones tell more",
            goal.statistic(),
            with_interval(&together, "", &time)
        ),
        Some((_, None, true)) => {
            ", possibly by chance: a single trial does not tell what others would bring; longer ones, or several, tell more"
                .to_owned()
        }
        Some((_, None, false)) => {
            ", possibly by chance: others of its trials kept it; longer ones tell more".to_owned()
        }
    }
}

/// A rate to its last operation per second, where three digits would hide by how much it differs from another.
fn in_full(rate: f64) -> String {
    let short = Iops(rate).to_string();
    let step = 10_f64.powf((rate.log10().floor() - 2.0).max(0.0));
    let is_round = ((rate / step).round() * step / rate - 1.0).abs() < 1e-9;
    if rate < 1000.0 || is_round { short } else { format!("{rate:.0}") }
}

/// What fathom's own queue kept from being told, and how large one would do by Little's law: what is in flight is the rate times
/// what each operation takes.
fn too_small(held_back: &HeldBack, wanted: Option<f64>, kept: Option<f64>) -> String {
    let HeldBack { slots, rate, done, each_s, is_done } = held_back;
    let why = format!(
        "nearly all {} operations that may be in flight were, and each took {}, hardly longer than one alone: the target may carry more",
        number(*slots),
        time(*each_s)
    );
    let takes = wanted.map_or(0.0, |wanted| (wanted * each_s).ceil());
    let remedy = if takes > *slots {
        format!(
            "{} are {} in flight at that time each: give a larger --max-depth",
            in_full(*rate),
            number(takes)
        )
    } else {
        "give a larger --max-depth".to_owned()
    };
    match (wanted, kept) {
        (Some(wanted), _) if *is_done => format!(
            "Cannot tell: at {}/s a limit was not kept, but arrivals waited for a slot of fathom's own queue: {why}; {remedy}.",
            in_full(wanted)
        ),
        (Some(wanted), _) => format!(
            "Cannot tell: of {}/s only {}/s are done: {why}; {remedy}.",
            in_full(wanted),
            in_full(*done)
        ),
        (None, Some(kept)) => format!(
            "Cannot tell how much more than {}/s is carried within the limits: at {}/s {why}; {remedy}.",
            in_full(kept),
            in_full(*rate)
        ),
        (None, None) => format!("Cannot tell: at {}/s {why}; {remedy}.", in_full(*rate)),
    }
}

/// Why nobody can tell whether any rate keeps the limits, and where all trials together see them reached.
fn undecided(found: &Objective) -> String {
    let Some(Undecided { goal, alone, is_alone, lowest, there }) = &found.undecided else {
        return String::new();
    };
    let by_all = found.reached.map_or_else(String::new, |reached| {
        format!(
            "; by all trials it is reached at {}",
            with_interval(&reached, "/s", &|x| Iops(x).to_string())
        )
    });
    let (statistic, alone) = (goal.statistic(), with_interval(alone, "", &time));
    if *is_alone {
        return format!(
            "Cannot tell: {goal} is at what one operation takes by itself, {statistic} {alone}{by_all}; longer trials tell more."
        );
    }
    let (lowest, there) = (Iops(*lowest), with_interval(there, "", &time));
    format!(
        "Cannot tell: one operation by itself keeps {goal}, with {statistic} {alone}, and {lowest}/s did not, with {there}, which does \
         not tell whether lower rates do{by_all}; longer trials tell more."
    )
}

/// What a trial lacks for a percentile to be told.
fn too_few(found: &Objective) -> String {
    let needs = found.trials.iter().flat_map(|trial| &trial.needs).flatten().max();
    let needs = needs.map(ToString::to_string).unwrap_or_default();
    format!(
        "too few operations came for its percentile, which takes {needs} in each trial: let trials last longer"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_analysis::scaling::Estimate;

    #[test]
    fn what_the_queue_held_back_is_told_with_the_depth_that_it_takes() {
        let held =
            |is_done: bool| HeldBack { slots: 256.0, rate: 5000.0, done: 2547.0, each_s: 0.1, is_done };
        let why = "nearly all 256 operations that may be in flight were, and each took 100 ms, hardly longer than one alone: the \
                   target may carry more";
        let remedy = "5000 are 500 in flight at that time each: give a larger --max-depth.";
        assert_eq!(
            too_small(&held(false), Some(5000.0), Some(5000.0)),
            format!("Cannot tell: of 5000/s only 2547/s are done: {why}; {remedy}")
        );
        assert_eq!(
            too_small(&held(true), Some(2500.0), Some(2500.0)),
            format!(
                "Cannot tell: at 2500/s a limit was not kept, but arrivals waited for a slot of fathom's own queue: {why}; give a \
                 larger --max-depth."
            )
        );
        assert_eq!(
            too_small(&held(false), None, Some(2380.0)),
            format!(
                "Cannot tell how much more than 2380/s is carried within the limits: at 5000/s {why}; give a larger --max-depth."
            )
        );
    }

    /// What says that it is overloaded is what is told, and with the digits that show it.
    #[test]
    fn an_overload_is_told_by_the_trial_that_shows_it() {
        let trial = |offered: f64, done: f64, state: State| Trial {
            rate: 10_050.0,
            offered,
            done,
            latencies_s: vec![0.1],
            intervals_s: vec![(0.0, 0.2)],
            needs: vec![None],
            state,
            held_back: None,
        };
        let found = Objective {
            rate: Some(10_050.0),
            state: State::Overloaded,
            missed: None,
            reached: None,
            alone: None,
            undecided: None,
            held_back: None,
            margins: Vec::new(),
            trials: vec![
                // Fewer arrivals than asked for, and all of them done.
                trial(9972.0, 9969.0, State::Met),
                trial(10_161.0, 10_043.0, State::Overloaded),
            ],
            trials_take_s: None,
            remarks: Vec::new(),
        };
        assert_eq!(
            sentence(&found, Some(10_050.0)),
            "Overloaded: of the 10161/s that came due when 10050/s were asked for only 10043/s are done, the others wait ever longer."
        );
        // One of three that ended with a burst.
        let trials = vec![
            trial(9972.0, 9969.0, State::Met),
            trial(10_161.0, 10_043.0, State::Overloaded),
            trial(10_020.0, 10_019.0, State::Met),
        ];
        let told = sentence(&Objective { trials, ..found.clone() }, Some(10_050.0));
        let expect =
            "are done, in one of 3 trials, possibly by chance: the others carried it; longer ones tell more.";
        assert!(told.ends_with(expect), "{told}");
        let so_far = |rate, missed, wanted| {
            let state = State::Unfinished;
            sentence(&Objective { rate, missed, state, ..found.clone() }, wanted)
        };
        assert_eq!(
            so_far(Some(10_050.0), None, Some(10_050.0)),
            "There is no answer yet: 2 trials at 10050/s said nothing against it."
        );
        assert_eq!(
            so_far(Some(5000.0), Some(7000.0), None),
            "There is no answer yet: 5000/s kept the limits so far, and 7000/s did not."
        );
        assert_eq!(
            so_far(None, None, None),
            "There is no answer yet: no rate kept the limits so far, of which the lowest was 10050/s."
        );
        let rows = tried(&found, &["p99<1s".parse().expect("a goal")]).rows;
        assert_eq!(rows[0][..3], ["10050", "9972", "9969"].map(str::to_owned));
        assert_eq!(
            [300.0, 9712.5, 10_000.0, 10_050.0, 123_456.0].map(in_full),
            ["300", "9712", "10.0k", "10050", "123456"]
        );
    }

    #[test]
    fn a_bracket_of_chance_is_told_as_that() {
        let trial = |rate: f64, mean_s: f64, half: f64, state: State| Trial {
            rate,
            offered: rate,
            done: rate,
            latencies_s: vec![mean_s],
            intervals_s: vec![(mean_s - half, mean_s + half)],
            needs: vec![None],
            state,
            held_back: None,
        };
        let said = |half: f64, missed: State| {
            let found = Objective {
                rate: Some(489.0),
                state: State::Met,
                missed: Some(493.0),
                reached: None,
                alone: None,
                undecided: None,
                held_back: None,
                margins: vec![margin(0.00195, None)],
                trials: vec![trial(489.0, 0.00195, half, State::Met), trial(493.0, 0.0021, half, missed)],
                trials_take_s: None,
                remarks: Vec::new(),
            };
            sentence(&found, None)
        };
        let by_chance = "489/s kept the limits and 493/s did not, possibly by chance";
        assert!(said(0.0002, State::NotMet).starts_with(by_chance));
        assert!(said(0.00007, State::NotMet).starts_with(by_chance), "489/s may take longer than 2 ms");
        let clear = "The limits are reached between 489/s, which kept them, and 493/s.";
        assert_eq!(said(0.00004, State::NotMet), clear);
        assert_eq!(said(0.00004, State::Overloaded), clear);
    }

    #[test]
    fn of_several_limits_the_one_that_decides_is_named() {
        let goal = "p99<5ms".parse().expect("a goal");
        let with = |needs: Option<u64>,
                    wanted: Option<f64>,
                    p99_s: f64,
                    state: State,
                    trials_take_s: Option<f64>| {
            let trial = |rate: f64, p99_s: f64, state: State| Trial {
                rate,
                offered: rate,
                done: rate,
                latencies_s: vec![0.0015, p99_s],
                intervals_s: vec![(0.0014, 0.0016), (p99_s - 1e-4, p99_s + 1e-4)],
                needs: vec![None, needs],
                state,
                held_back: None,
            };
            let tight = Margin {
                goal,
                worst_s: p99_s,
                left: 1.0 - p99_s / 0.005,
                together_s: None,
                is_split: false,
                is_single: false,
            };
            let missed = wanted.is_none().then_some(520.0);
            let found = Objective {
                rate: Some(500.0),
                state,
                missed,
                reached: None,
                alone: None,
                undecided: None,
                held_back: None,
                margins: vec![margin(0.0015, None), tight],
                trials: [500.0, 500.0, 500.0]
                    .map(|rate| trial(rate, p99_s, state))
                    .into_iter()
                    .chain([trial(520.0, 0.006, State::NotMet)])
                    .collect(),
                trials_take_s,
                remarks: Vec::new(),
            };
            sentence(&found, wanted)
        };
        let of = |wanted, p99_s, state, trials_take_s| with(None, wanted, p99_s, state, trials_take_s);
        let to_spare = "Met: 500/s are carried, with 10 % to spare to p99 < 5.00 ms.";
        assert_eq!(of(Some(500.0), 0.0045, State::Met, None), to_spare);
        let above = "Not met: 500/s are carried, but their p99 is 10 % above 5.00 ms.";
        assert_eq!(of(Some(500.0), 0.0055, State::NotMet, None), above);
        let between = "The limits are reached between 500/s, which kept them, and 520/s (p99 < 5.00 ms).";
        assert_eq!(of(None, 0.0045, State::Met, None), between);
        let luck = "Met: 500/s are carried, with 10 % to spare to p99 < 5.00 ms, possibly by chance: each trial would have to last 73.0 s.";
        assert_eq!(of(Some(500.0), 0.0045, State::Met, Some(73.0)), luck);
        // Too few operations for a percentile: the largest latency stands for it, and is called so.
        let too_few = "Not met: 500/s are carried, but their largest latency, which stands for p99, is 10 % above 5.00 ms.";
        assert_eq!(with(Some(93), Some(500.0), 0.0055, State::NotMet, None), too_few);
        // What all of its trials miss by far is no bout that some have and some do not.
        let far = "Not met: 500/s are carried, but their p99 is 2000 % above 5.00 ms.";
        assert_eq!(of(Some(500.0), 0.105, State::NotMet, Some(73.0)), far);
    }

    #[test]
    fn a_verdict_that_its_trials_together_do_not_show_is_possibly_chance() {
        let of = |margins: Vec<Margin>, state: State| {
            let found = Objective {
                rate: Some(500.0),
                state,
                missed: None,
                reached: None,
                alone: None,
                undecided: None,
                held_back: None,
                margins,
                trials: Vec::new(),
                trials_take_s: None,
                remarks: Vec::new(),
            };
            sentence(&found, Some(500.0))
        };
        let said = |worst_s: f64, low: f64, high: f64, state: State| {
            of(vec![margin(worst_s, Some((low, high)))], state)
        };
        let together = "possibly by chance: its trials together have mean 2.00 ms (95 %: 1.90 ms to 2.10 ms); longer ones tell more.";
        assert_eq!(
            said(0.0021, 0.0019, 0.0021, State::NotMet),
            format!("Not met: 500/s are carried, but their mean is 5 % above 2.00 ms, {together}")
        );
        assert_eq!(
            said(0.0018, 0.0019, 0.0021, State::Met),
            format!("Met: 500/s are carried, with 10 % to spare to the limit, {together}")
        );
        let clear = "Not met: 500/s are carried, but their mean is 5 % above 2.00 ms.";
        assert_eq!(said(0.0021, 0.00205, 0.0022, State::NotMet), clear);
        assert!(
            said(0.0021, 0.0018, 0.0019, State::NotMet).contains("possibly by chance"),
            "together they keep it"
        );
        let clear = "Met: 500/s are carried, with 10 % to spare to the limit.";
        assert_eq!(said(0.0018, 0.0017, 0.0019, State::Met), clear);
        // One that is missed clearly is no chance, whatever the others are.
        let (missed, open) = (margin(0.004, Some((0.0038, 0.0042))), margin(0.0021, Some((0.0019, 0.0021))));
        let kept = margin(0.0019, Some((0.0018, 0.00205)));
        for margins in [vec![kept, missed], vec![open, missed]] {
            let said = of(margins, State::NotMet);
            assert!(!said.contains("chance"), "{said}");
        }
        assert!(of(vec![kept, open], State::NotMet).contains("have mean 2.00 ms (95 %: 1.90 ms"));
    }

    /// What is left to a mean of 2 ms.
    fn margin(worst_s: f64, together_s: Option<(f64, f64)>) -> Margin {
        let estimate =
            |(low, high)| Estimate { value: f64::midpoint(low, high), interval: Some((low, high)) };
        let goal = "mean<2ms".parse().expect("a goal");
        let together_s = together_s.map(estimate);
        Margin { goal, worst_s, left: 1.0 - worst_s / 0.002, together_s, is_split: false, is_single: false }
    }

    /// What is said is that the limit lies where an operation takes it by itself, and only where it does.
    #[test]
    fn why_nobody_can_tell_is_what_was_found() {
        let estimate = |value: f64, low: f64, high: f64| Estimate { value, interval: Some((low, high)) };
        let of = |is_alone: bool, alone: Estimate| {
            let undecided = Undecided {
                goal: "p99<5ms".parse().expect("a goal"),
                alone,
                is_alone,
                lowest: 12.0,
                there: estimate(0.0055, 0.0048, f64::INFINITY),
            };
            let found = Objective {
                rate: None,
                state: State::Undecided,
                missed: None,
                reached: None,
                alone: None,
                undecided: Some(undecided),
                held_back: None,
                margins: Vec::new(),
                trials: Vec::new(),
                trials_take_s: None,
                remarks: Vec::new(),
            };
            sentence(&found, None)
        };
        assert_eq!(
            of(true, estimate(0.0049, 0.0047, 0.0052)),
            "Cannot tell: p99 < 5.00 ms is at what one operation takes by itself, p99 4.90 ms (95 %: 4.70 ms to 5.20 ms); longer \
             trials tell more."
        );
        assert_eq!(
            of(false, estimate(0.003, 0.0029, 0.0031)),
            "Cannot tell: one operation by itself keeps p99 < 5.00 ms, with p99 3.00 ms (95 %: 2.90 ms to 3.10 ms), and 12.0/s did \
             not, with 5.50 ms (95 %: at least 4.80 ms), which does not tell whether lower rates do; longer trials tell more."
        );
    }
}
