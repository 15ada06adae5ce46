//! A load curve for people: what limits it in one sentence, its figures, its tables and its drawings. Owns which are shown
//! and in which words; they are `fathom_analysis::scaling`'s and `fathom_analysis::load`'s.

use crate::plot::{Plot, PlotAxis, PlotBand, PlotLine, PlotMark, PlotPoint, Shape, Unit, ns};
use crate::section::Section;
use crate::table::{left, right};
use crate::tables::Table;
use fathom_analysis::load::{Curve, LoadPoint, Rates};
use fathom_analysis::objective::State;
use fathom_analysis::scaling::{Answers, Coefficient, Estimate, LatencyLimit, Law, Lawless, Verdict};
use fathom_analysis::statistics::Sample;
use fathom_schema::LatencyGoal;
use fathom_units::{Iops, Nanos, significant};

/// From this ratio of the largest load to the smallest the axis of loads is one of ratios.
const GEOMETRIC_FROM: f64 = 8.0;
/// How far beyond the largest measured load a law is drawn at most, to show a peak that lies there.
const BEYOND_MAX: f64 = 2.0;
/// Of the intervals of measured points.
const CONFIDENCE: f64 = 0.95;

/// All steps of one load.
struct Load<'a> {
    n: f64,
    /// The rate that was asked for; of a curve over rates.
    asked: Option<f64>,
    /// Whether it was too much at least once: how long operations waited is how long it went on then.
    is_overloaded: bool,
    steps: Vec<&'a LoadPoint>,
}

impl Load<'_> {
    /// The mean of a figure, with its interval where it was measured several times.
    fn point(&self, figure: impl Fn(&LoadPoint) -> f64) -> PlotPoint {
        let sample = Sample::of(&self.steps.iter().map(|step| figure(step)).collect::<Vec<_>>());
        let interval = sample.half_width(CONFIDENCE).map(|half| {
            // No rate and no latency is below zero, whatever the spread of three values says.
            ((sample.mean - half).max(sample.mean / 1e3), sample.mean + half)
        });
        PlotPoint { x: self.n, y: sample.mean, interval }
    }

    /// The mean latency of all operations, in seconds, with its interval: of measurements that brought more there are more, and with
    /// the mean throughput it keeps Little's law, where a mean of means does not.
    fn mean_latency(&self) -> PlotPoint {
        let of_means = self.point(|step| step.mean_s);
        let sum =
            |figure: &dyn Fn(&LoadPoint) -> f64| self.steps.iter().map(|step| figure(step)).sum::<f64>();
        let y = sum(&|step| step.mean_s * step.rate) / sum(&|step| step.rate);
        let interval = of_means.interval.map(|(low, high)| (low.min(y), high.max(y)));
        PlotPoint { y, interval, ..of_means }
    }
}

fn loads(curve: &Curve) -> Vec<Load<'_>> {
    let mut rows: Vec<(f64, usize)> = curve.points.iter().map(|point| point.n).zip(0..).collect();
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    let load = |group: &[(f64, usize)]| Load {
        n: group[0].0,
        asked: curve.rates.as_ref().map(|rates| rates.asked[group[0].1]),
        is_overloaded: curve
            .rates
            .as_ref()
            .is_some_and(|rates| group.iter().any(|(_, at)| rates.states[*at] == State::Overloaded)),
        steps: group.iter().map(|(_, at)| &curve.steps[*at]).collect(),
    };
    rows.chunk_by(|a, b| a.0 == b.0).map(load).collect()
}

/// Drawings and tables of a measured curve.
pub(crate) fn sections(curve: &Curve) -> Vec<Section> {
    let loads = loads(curve);
    let answers = &curve.answers;
    let found = figures_of(curve);
    let told = Table {
        columns: vec![left("figure"), left("value, with its 95 % interval")],
        rows: found.into_iter().map(|(what, value)| vec![what, value]).collect(),
        remark: None,
    };
    let mut sections = vec![
        Section {
            title: "Load curve".to_owned(),
            plots: vec![throughput(answers, &loads), latency(answers, &loads)],
            tables: vec![
                ("What the curve says".to_owned(), told),
                ("Measured loads".to_owned(), measured(&loads)),
            ],
            ..Section::default()
        },
        Section {
            title: "Scaling laws".to_owned(),
            lines: answers.remarks.clone(),
            tables: vec![("Laws that were fitted".to_owned(), laws(answers))],
            ..Section::default()
        },
    ];
    if curve.rates.is_some() {
        // No law is fitted to rates; what is to be remarked stands beside the curve.
        sections[0].lines = sections.pop().map(|laws| laws.lines).unwrap_or_default();
    }
    sections
}

/// Where laws are drawn: from the smallest load to the largest, or to a peak that lies not far beyond it.
fn extent(answers: &Answers, loads: &[Load<'_>]) -> (f64, f64, bool) {
    let (first, last) = (loads.first().map_or(1.0, |load| load.n), loads.last().map_or(1.0, |load| load.n));
    let peak = answers.peak.n.value;
    let last = if peak > last && peak <= BEYOND_MAX * last { peak * 1.1 } else { last };
    (first, last, last >= GEOMETRIC_FROM * first)
}

fn load_axis(is_log: bool) -> PlotAxis {
    const TITLE: &str = "load: operations in flight";
    if is_log { PlotAxis::log(TITLE, Unit::Plain) } else { PlotAxis::linear(TITLE, Unit::Plain) }
}

fn throughput(answers: &Answers, loads: &[Load<'_>]) -> Plot {
    let (from, to, is_log) = extent(answers, loads);
    let points: Vec<PlotPoint> = loads.iter().map(|load| load.point(|step| step.rate)).collect();
    let law = answers.chosen.map(|at| answers.fits[at].law);
    let shape = if law.is_some() { Shape::Points } else { Shape::Joined };
    let mut lines = vec![PlotLine::measured("measured", shape, &points)];
    if let Some(law) = law {
        lines.push(PlotLine::of(format!("law: {}", law.name()), from, to, is_log, |n| law.throughput(n)));
    }
    let mut marks = Vec::new();
    let mut mark = |label: &str, figure: Option<Estimate>| {
        marks.extend(figure.map(|figure| PlotMark::x(label, figure.value, figure.interval)));
    };
    mark("knee", answers.knee);
    mark("95 % of the most", answers.n_at_95_percent);
    mark(if answers.peak.is_of_law { "peak" } else { "most measured" }, Some(answers.peak.n));
    for limit in &answers.latency_limits {
        mark(&format!("at {}", limit_name(limit)), limit.n);
    }
    marks.extend(answers.ceiling.map(|ceiling| PlotMark::y("ceiling", ceiling.value, ceiling.interval)));
    Plot {
        title: "Throughput over load".to_owned(),
        x: load_axis(is_log),
        y: PlotAxis::linear("operations per second", Unit::Rate),
        lines,
        marks,
        bands: Vec::new(),
    }
}

fn latency(answers: &Answers, loads: &[Load<'_>]) -> Plot {
    let (from, to, is_log) = extent(answers, loads);
    let goals: Vec<f64> =
        answers.latency_limits.iter().filter_map(|limit| limit.quantile).chain([0.99]).collect();
    let mut quantiles = goals.clone();
    quantiles.sort_by(f64::total_cmp);
    quantiles.dedup();
    let points = |figure: &dyn Fn(&LoadPoint) -> f64| -> Vec<PlotPoint> {
        loads.iter().map(|load| load.point(figure)).collect()
    };
    let law = answers.chosen.map(|at| answers.fits[at].law);
    let shape = if law.is_some() { Shape::Points } else { Shape::Joined };
    let in_ns = |point: PlotPoint| PlotPoint {
        y: ns(point.y),
        interval: point.interval.map(|(low, high)| (ns(low), ns(high))),
        ..point
    };
    let means: Vec<PlotPoint> = loads.iter().map(|load| in_ns(load.mean_latency())).collect();
    let mut lines = vec![PlotLine::measured("mean", shape, &means)];
    for quantile in quantiles {
        let goal = LatencyGoal { quantile: Some(quantile), limit: Nanos(1) };
        // What a step has too few operations for is no point.
        let of_step = |step: &LoadPoint| match step.needs(quantile) {
            None => ns(step.latency_s(&goal)),
            Some(_) => f64::NAN,
        };
        lines.push(PlotLine::measured(goal.statistic(), Shape::Joined, &points(&of_step)));
    }
    if let Some(law) = law {
        let name = format!("mean by the law: {}", law.name());
        lines.push(PlotLine::of(name, from, to, is_log, |n| ns(law.latency(n))));
    }
    let limits = || answers.latency_limits.iter();
    let heights =
        limits().map(|limit| PlotMark::y(format!("limit of {}", statistic(limit)), ns(limit.seconds), None));
    let places = limits().filter_map(|limit| {
        let load = limit.n?;
        Some(PlotMark::x(format!("at {}", limit_name(limit)), load.value, load.interval))
    });
    Plot {
        title: "Response time over load".to_owned(),
        x: load_axis(is_log),
        y: PlotAxis::log("response time", Unit::Latency),
        lines,
        marks: heights.chain(places).collect(),
        bands: Vec::<PlotBand>::new(),
    }
}

/// `mean`, `p99`.
fn statistic(limit: &LatencyLimit) -> String {
    LatencyGoal { quantile: limit.quantile, limit: Nanos(1) }.statistic()
}

/// `mean 1.00 ms`, `p99 2.00 ms`.
fn limit_name(limit: &LatencyLimit) -> String {
    format!("{} {}", statistic(limit), time(limit.seconds))
}

fn measured(loads: &[Load<'_>]) -> Table {
    let p99 = LatencyGoal { quantile: Some(0.99), limit: Nanos(1) };
    let row = |load: &Load<'_>| {
        let rate = load.point(|step| step.rate);
        let asked = load.asked.map(|asked| Iops(asked).to_string());
        let times =
            if load.steps.len() == 1 { "once".to_owned() } else { format!("{} times", load.steps.len()) };
        let cells = vec![
            number(load.n),
            Iops(rate.y).to_string(),
            rate.interval.map_or_else(String::new, |(low, high)| format!("{} to {}", Iops(low), Iops(high))),
            time(load.mean_latency().y),
            match load.steps.iter().filter_map(|step| step.needs(0.99)).max() {
                None => time(load.point(|step| step.latency_s(&p99)).y),
                Some(needs) => too_few_for(needs),
            },
            format!("{times}{}", if load.is_overloaded { ", overloaded" } else { "" }),
        ];
        asked.into_iter().chain(cells).collect()
    };
    let columns =
        [right("load"), right("IOPS"), right("95 %"), right("mean"), right("p99"), left("measured")];
    let asked = loads.iter().any(|load| load.asked.is_some()).then(|| right("asked"));
    let columns = asked.into_iter().chain(columns).collect();
    Table { columns, rows: loads.iter().map(row).collect(), remark: None }
}

/// How the law was chosen, or why none was.
pub fn choice(answers: &Answers) -> &'static str {
    match (answers.chosen, answers.lawless) {
        (Some(_), _) => {
            "chosen: the lowest AICc of those laws that explain the points; error: the largest of a point"
        }
        (None, _) if answers.is_undetermined() => {
            "laws that pass through the points are not determined by them; answers are read off between them; error: the \
             largest of a point"
        }
        (None, Some(Lawless::FewLoads)) => {
            "too few loads to choose a law by; answers are read off between them; error: the largest of a point"
        }
        (None, Some(Lawless::OneMeasurement)) => {
            "no law is told, since one measurement decides which; answers are read off between them; error: the largest of a point"
        }
        (None, _) => {
            "no law explains the points; answers are read off between them; error: the largest of a point"
        }
    }
}

fn laws(answers: &Answers) -> Table {
    let row = |(at, fit): (usize, &fathom_analysis::scaling::Fit)| {
        vec![
            fit.law.name().to_owned(),
            if answers.chosen == Some(at) { "chosen" } else { "" }.to_owned(),
            format!("{:.1} %", fit.max_relative_error * 100.0),
            fit.aicc.map_or_else(|| "–".to_owned(), |aicc| format!("{aicc:.1}")),
            fit.coefficients.iter().map(coefficient).collect::<Vec<_>>().join(", "),
        ]
    };
    Table {
        columns: vec![
            left("law"),
            left(""),
            right("error"),
            right("AICc"),
            left("coefficients ± standard error"),
        ],
        rows: answers.fits.iter().enumerate().map(row).collect(),
        remark: Some(choice(answers)),
    }
}

/// What limits a curve that fathom measured, over depths or rates, in one sentence.
pub fn sentence_of(curve: &Curve) -> String {
    match &curve.rates {
        Some(rates) => of_rates(rates, curve.answers.verdict),
        None => sentence(&curve.answers),
    }
}

fn of_rates(rates: &Rates, verdict: Verdict) -> String {
    let Rates { is_held_back, maximum, asked: _, states: _, carried, doubled, doubled_between, alone_s } =
        rates;
    let rate = |x: f64| format!("{}/s", Iops(x));
    let whose = if *is_held_back { ", by the queue depth and not by the targets" } else { "" };
    let most = format!("{}{whose}", rate(maximum.value));
    let alone = alone_s.map_or_else(String::new, |alone| time(alone.value));
    match (verdict, carried, doubled) {
        (_, Some(carried), _) if *is_held_back => format!(
            "No saturation seen: {} are carried without a queue in the targets; full speed is {most}, and the targets may do more.",
            rate(*carried)
        ),
        (Verdict::Queueing | Verdict::Capped | Verdict::NoLaw, Some(_), Some(found))
            if doubled_between.is_some() =>
        {
            // Noise of these two may have it beyond either.
            let between = doubled_between.unwrap_or_default();
            let (least, furthest) = found.interval.unwrap_or(between);
            let (low, high) = (between.0.min(least), between.1.max(furthest));
            let share = |x: f64| number((x / maximum.value * 100.0).round());
            format!(
                "Full speed is {most}; from where on response times are twice the {} of an idle target was not measured: it lies between \
                 {} and {}, {} to {} % of that.",
                alone,
                rate(low),
                rate(high),
                share(low),
                share(high)
            )
        }
        (_, None, _) => format!("Overloaded: not even the lowest rate is carried; full speed is {most}."),
        (Verdict::Queueing, _, Some(doubled)) => format!(
            "Operations wait for one another before full speed: response times are twice the {} of an idle \
             target from {} on, {} % of {most}.",
            alone,
            rate(doubled.value),
            number((doubled.value / maximum.value * 100.0).round())
        ),
        (Verdict::Capped, _, Some(doubled)) => format!(
            "It takes what comes until it is nearly full: response times are twice the {} of an idle target from {} on, {} % \
             of the full speed of {most}.",
            alone,
            rate(doubled.value),
            number((doubled.value / maximum.value * 100.0).round())
        ),
        (Verdict::Capped, Some(carried), None) => format!(
            "It takes what comes until it is full: {} are carried without much waiting, full speed is {most}.",
            rate(*carried)
        ),
        (Verdict::NoLaw, Some(carried), _) => format!(
            "{} are carried, full speed is {most}: from where on operations wait for one another is not told, since no rate below half of \
             that was measured; ask for lower ones with --at.",
            rate(*carried)
        ),
        (Verdict::Flat, Some(carried), _) => format!(
            "Saturated from the lowest rate on: {} are carried, full speed is {most}; how long an idle target takes is told by lower \
             rates (--at).",
            rate(*carried)
        ),
        (_, Some(carried), _) => format!(
            "No saturation seen: response times stay below twice the {} of an idle target up to {}; full speed is {most}.",
            alone,
            rate(*carried)
        ),
    }
}

/// The figures of a curve that fathom measured: what it is, and what was found.
pub fn figures_of(curve: &Curve) -> Vec<(String, String)> {
    let mut lines = Vec::new();
    if let Some(Rates { carried, doubled, alone_s, .. }) = &curve.rates {
        let carried = carried.map_or_else(|| "none".to_owned(), |carried| format!("{}/s", Iops(carried)));
        let doubled = doubled
            .as_ref()
            .map_or_else(|| if alone_s.is_some() { "not reached" } else { "not known" }.to_owned(), rate);
        lines.push(("highest rate carried".to_owned(), carried));
        lines.push((
            "idle response time".to_owned(),
            alone_s
                .as_ref()
                .map_or_else(|| "not measured".to_owned(), |alone| with_interval(alone, "", &time)),
        ));
        lines.push(("twice that".to_owned(), doubled));
    }
    // Over rates the ceiling is the most itself.
    let is_told = |(title, _): &(String, String)| curve.rates.is_none() || title != "ceiling";
    lines.extend(figures(&curve.answers).into_iter().filter(is_told));
    lines
}

/// Share of a ceiling that has to be measured for it to be one that was reached.
const REACHED_SHARE: f64 = 0.95;

/// Whether a ceiling is the law's alone: no load came near it.
pub fn is_ceiling_beyond(answers: &Answers) -> bool {
    answers.ceiling.is_some_and(|ceiling| answers.best.x < REACHED_SHARE * ceiling.value)
}

/// From which load on a ceiling is nearly reached, as the end of a clause.
fn nearly_full(answers: &Answers) -> String {
    let Answers { best, n_at_95_percent: Some(load), parallel_units, .. } = answers else {
        return String::new();
    };
    // Where the units are all busy and where nearly all that they do is reached are one load, as far as the data tells: no more is to be
    // said than where the former is.
    let is_one = |units: &Estimate| {
        load.value >= units.value && load.interval.is_some_and(|(low, _)| low <= units.value)
    };
    if parallel_units.as_ref().is_some_and(is_one) && !is_ceiling_beyond(answers) {
        return String::new();
    }
    let load = number(load.value);
    if is_ceiling_beyond(answers) {
        let (rate, at) = (Iops(best.x), number(best.n));
        format!("; 95 % of that takes load {load}, and {rate}/s at load {at} is the most that was measured")
    } else {
        format!(", nearly (95 %) from load {load} on")
    }
}

/// What limits it, in one sentence.
pub fn sentence(answers: &Answers) -> String {
    let law = answers.chosen.map(|at| answers.fits[at].law);
    let Answers { peak, best, .. } = answers;
    let rate = |x: f64| format!("{}/s", Iops(x));
    let (best_x, best_n) = (rate(best.x), number(best.n));
    // A peak that was not measured is told as such, and never as what was found.
    let is_beyond = peak.is_of_law && peak.is_extrapolated;
    let (top, top_n) = if is_beyond { (best.x, best.n) } else { (peak.x.value, peak.n.value) };
    let most = answers.ceiling.map_or(top, |ceiling| ceiling.value);
    let nearly = nearly_full(answers);
    let full = if is_ceiling_beyond(answers) { "By the law it is full at" } else { "It is full at" };
    match (answers.verdict, law) {
        (Verdict::Linear, _) => format!(
            "No saturation seen: throughput grows with the load up to {best_x} at load {best_n}; what limits it lies beyond."
        ),
        (Verdict::Flat, _) => {
            let is_single = (answers.smallest - 1.0).abs() < 1e-9;
            let smallest = if is_single {
                "one operation at a time".to_owned()
            } else {
                format!("load {}", number(answers.smallest))
            };
            format!(
                "Saturated from the start: {smallest} already saturates it, with {}; more load only waits.",
                rate(answers.level.unwrap_or(best.x))
            )
        }
        (Verdict::Retrograde, Some(_)) if !peak.is_of_law && best.n > answers.smallest => format!(
            "More load does harm: {best_x} at load {best_n} is the most that was measured, and beyond it throughput falls."
        ),
        (Verdict::Retrograde, Some(_)) if !peak.is_of_law => format!(
            "Throughput falls from the smallest load on: {best_x} at load {best_n} is the most measured; more load is lost."
        ),
        (Verdict::Retrograde, Some(Law::Usl { alpha, beta, .. })) => format!(
            "More load does harm: throughput peaks with {} at load {} and falls beyond (contention {}, coherency {}).",
            rate(top),
            number(top_n),
            percent(alpha),
            percent(beta)
        ),
        (Verdict::Capped, Some(Law::Capped { alpha, .. })) if alpha > 0.0 => {
            let units = units_told(answers).map_or_else(String::new, |units| {
                format!(", below what its ≈ {} parallel units would give", number(units))
            });
            format!(
                "{full} {}{nearly}: a link, a controller, a quota or one CPU holds it there{units}; more load only waits.",
                rate(most)
            )
        }
        (Verdict::Capped, _) => {
            let units = units_told(answers).map_or_else(String::new, |units| {
                format!("its ≈ {} parallel units are all busy, or ", number(units))
            });
            format!(
                "{full} {}{nearly}: {units}a link, a controller, a quota or one CPU holds it there; more load only waits.",
                rate(most)
            )
        }
        (Verdict::Contention, _) if is_beyond => format!(
            "Operations wait for one another: {} at load {} is the most that was measured; by the law \
             throughput peaks beyond, with {} at load {}.",
            rate(best.x),
            number(best.n),
            rate(peak.x.value),
            place(&peak.n, answers.is_exact())
        ),
        (Verdict::Contention, _) if peak.is_of_law => format!(
            "Operations wait for one another: throughput peaks with {} at load {}; {}.",
            rate(peak.x.value),
            place(&peak.n, answers.is_exact()),
            if answers.is_exact() {
                "beyond, it hardly falls"
            } else {
                "whether it falls beyond is not certain"
            }
        ),
        (Verdict::Contention, _) if answers.is_ceiling_open => format!(
            "Throughput grows by less than the load; {best_x} at load {best_n} is the most that was measured, and how far it \
             would go the data does not pin down."
        ),
        (Verdict::Contention | Verdict::Retrograde, _) => {
            let units = units_told(answers)
                .map_or_else(String::new, |units| format!(", as ≈ {} parallel units would", number(units)));
            format!("Operations wait for one another: throughput approaches {}{units}.", rate(most))
        }
        (Verdict::Queueing, _) => {
            format!("Operations wait for one another before full speed, {}.", rate(most))
        }
        (Verdict::NoLaw, _) => without_law(answers),
    }
}

/// Times its lower end that the upper end of an interval of parallel units may be for a sentence to name their number.
const UNITS_TIMES: f64 = 3.0;

/// Whether throughput comes to half of what so many units would bring, before it falls: where it never does, no more of them ever work.
fn comes_near(answers: &Answers, units: f64) -> bool {
    let peak =
        answers.chosen.filter(|_| answers.peak.is_of_law).map(|at| answers.fits[at].law.throughput(1.0));
    peak.is_none_or(|alone| answers.peak.x.value >= alone * units / 2.0)
}

/// How many units work in parallel, where that is known well enough to be said.
fn units_told(answers: &Answers) -> Option<f64> {
    let is_told = |units: &Estimate| units.interval.is_none_or(|(low, high)| high <= UNITS_TIMES * low);
    let units = answers.parallel_units.filter(is_told).map(|units| units.value);
    units.filter(|units| comes_near(answers, *units))
}

/// That no law tells of a curve, why, and what there is instead.
fn without_law(answers: &Answers) -> String {
    let Answers { peak, best, .. } = answers;
    let rate = |x: f64| format!("{}/s", Iops(x));
    let (best_x, best_n) = (rate(best.x), number(best.n));
    let (most, most_n) = (rate(peak.x.value), number(peak.n.value));
    match answers.lawless {
        Some(Lawless::Superlinear) => format!(
            "Throughput grows faster than the load, up to {best_x} at load {best_n}, as in no queue; larger loads gain by caches or \
             batches, or differ in more than their number: measure loads that are alike."
        ),
        Some(Lawless::Rough) => format!(
            "Throughput grows with the load as far as was measured, up to {best_x} at load {best_n}; single loads lie \
             too far off a straight line to tell a law: measure each again."
        ),
        Some(Lawless::FewLoads) => format!(
            "Too few loads to tell a law by; the measured curve is the answer: at most {most}, at load {most_n}."
        ),
        Some(Lawless::OneMeasurement) => format!(
            "No law is told: what the curve says hangs on one measurement; at most {most}, at load {most_n}: measure again."
        ),
        Some(Lawless::OtherShape) | None => format!(
            "No scaling law fits; the measured curve is the answer: at most {most}, at load {most_n}{}.",
            answers.fallen.map_or_else(String::new, |last| format!(
                "; it falls to {}, {} % of that, at load {}",
                rate(last.x),
                number((last.x / peak.x.value * 100.0).round()),
                number(last.n)
            ))
        ),
    }
}

/// A load with its interval, or that the data leaves it open.
fn place(load: &Estimate, is_exact: bool) -> String {
    match load.interval {
        None => format!("{}, roughly: the data does not pin it down", number(load.value)),
        Some(_) => of_law(load, is_exact, "", &number),
    }
}

/// The figures that were asked for: what it is, and what was found.
pub fn figures(answers: &Answers) -> Vec<(String, String)> {
    let mut lines: Vec<(String, String)> = Vec::new();
    let peak = &answers.peak;
    let is_exact = answers.is_exact();
    let rate = |figure: &Estimate| of_law(figure, is_exact, "/s", &|x| Iops(x).to_string());
    let load = |figure: &Estimate| of_law(figure, is_exact, "", &number);
    let source = match (peak.is_of_law, peak.is_extrapolated, peak.n.interval) {
        (true, true, Some(_)) => ", beyond what was measured",
        (true, true, None) => ", beyond what was measured, which does not pin it down",
        (true, false, Some(_)) => "",
        (true, false, None) => ", which the data does not pin down",
        (false, _, _) => ", the best that was measured",
    };
    let title = if peak.is_of_law { "peak" } else { "most" };
    lines.push((title.to_owned(), format!("{} at load {}{source}", rate(&peak.x), load(&peak.n))));
    let mut push = |title: &str, figure: &Option<Estimate>, print: &dyn Fn(&Estimate) -> String| {
        if let Some(figure) = figure {
            lines.push((title.to_owned(), print(figure)));
        }
    };
    let beyond = if is_ceiling_beyond(answers) { ", beyond what was measured" } else { "" };
    push("ceiling", &answers.ceiling, &|figure| rate(figure) + beyond);
    push("knee", &answers.knee, &|figure| format!("load {}", load(figure)));
    // A smaller load, where there is one, may give as much.
    let is_bound =
        |figure: &Estimate| answers.smallest > 1.0 && figure.value <= answers.smallest * (1.0 + 1e-9);
    let or_less =
        |figure: &Estimate| if is_bound(figure) { " or less, the smallest that was measured" } else { "" };
    push("95 % of it", &answers.n_at_95_percent, &|figure| {
        format!("load {}{}", load(figure), or_less(figure))
    });
    let units = answers.parallel_units.filter(|units| comes_near(answers, units.value));
    push("works like", &units, &|figure| format!("{} parallel units", load(figure)));
    for limit in &answers.latency_limits {
        let found = match (limit.reason(), &limit.n, &limit.x) {
            (None, Some(n), Some(x)) => format!(
                "{} at load {}{}",
                rate(x),
                load(n),
                if limit.is_extrapolated { ", beyond what was measured" } else { "" }
            ),
            (reason, ..) => reason.unwrap_or("not reached").to_owned(),
        };
        lines.push((format!("{} latency {}", statistic(limit), time(limit.seconds)), found));
    }
    lines
}

/// A coefficient of a law with its standard error.
pub fn coefficient(coefficient: &Coefficient) -> String {
    let Coefficient { name, value, standard_error, at_bound } = coefficient;
    let name = match *name {
        "alpha" => "α",
        "beta" => "β",
        "gamma" => "γ",
        "cap" => "C",
        other => other,
    };
    let error = match standard_error {
        // An error of a bound's own size says that the data cannot tell.
        Some(error) if !at_bound && error.abs() < value.abs() * 100.0 => format!(" ± {}", scientific(*error)),
        _ if *at_bound => " (bound)".to_owned(),
        _ => String::new(),
    };
    format!("{name} {}{error}", scientific(*value))
}

/// Three figures, with an exponent where they would be zeros or go on for ever.
fn scientific(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude != 0.0 && !(0.001..1e6).contains(&magnitude) {
        format!("{value:.2e}")
    } else {
        number(value)
    }
}

/// Three figures at least, without superfluous zeros.
pub fn number(value: f64) -> String {
    // A 0 has no sign.
    let value = value + 0.0;
    let text = if (0.01..0.1).contains(&value.abs()) { format!("{value:.4}") } else { significant(value) };
    if text.contains('.') && !text.contains('e') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

fn percent(share: f64) -> String {
    format!("{} %", scientific(share * 100.0))
}

/// A figure with its interval, where it has one.
pub fn with_interval(estimate: &Estimate, unit: &str, print: &dyn Fn(f64) -> String) -> String {
    let Estimate { value, interval } = estimate;
    let value = print(*value) + unit;
    match interval {
        Some((low, high)) if !high.is_finite() => format!("{value} (95 %: at least {})", print(*low)),
        Some((low, high)) => format!("{value} (95 %: {} to {})", print(*low), print(*high)),
        None => value,
    }
}

/// A figure of a law that may pass through all points: without noise there is no width.
fn of_law(estimate: &Estimate, is_exact: bool, unit: &str, print: &dyn Fn(f64) -> String) -> String {
    match estimate.interval {
        Some((low, high)) if is_exact && low == high => format!("{}{unit} (exact)", print(estimate.value)),
        _ => with_interval(estimate, unit, print),
    }
}

fn rate(estimate: &Estimate) -> String {
    with_interval(estimate, "/s", &|x| Iops(x).to_string())
}

/// In place of a percentile that takes so many operations, of which there are fewer: none would lie beyond it.
pub(crate) fn too_few_for(needs: u64) -> String {
    format!("n/a (needs n ≥ {needs} operations)")
}

/// A latency.
pub fn time(seconds: f64) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a latency, above 0")]
    let ns = (seconds * 1e9).round() as u64;
    Nanos(ns).approximate()
}

#[cfg(test)]
mod tests;
