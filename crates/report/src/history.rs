//! One job over many runs, for people: what follows in one sentence, where levels changed, drawings of every figure over the runs,
//! and what else is another from there on. Owns which figures are shown; they are `fathom_analysis::compare::history`'s.

use crate::calendar;
use crate::compare::{percent, sentence as of_two, title};
use crate::curve::time;
use crate::plot::{Plot, PlotAxis, PlotLine, PlotMark, Shape, Unit};
use crate::section::Section;
use crate::table::{Column, left, right, right_of, visible};
use crate::tables::Table;
use fathom_analysis::compare::{
    Difference, FigureHistory, History, LoadHistory, Metric, Outlook, RUNS_MIN, Standing, StepComparison,
    Turn, Verdict, history, is_untold,
};
use fathom_schema::Record;
use fathom_units::{BytesPerSec, Iops, Ratio};

/// Steps, cells or loads that are drawn; of more, those of which something changed.
const DRAWN_MAX: usize = 12;
/// Runs that have their dates at the axis.
const DATES_MAX: usize = 6;
/// Width of the step between two levels in a drawing, in runs: a line has one height at a place.
const EDGE: f64 = 0.01;
/// Letters of a date to the minute, and to the day.
const MINUTE: usize = 16;
const DAY: usize = 10;
/// Figures that a sentence names.
const NAMED_MAX: usize = 4;
/// What else is another that it names.
const WITH_MAX: usize = 2;

/// One job over many runs.
pub struct Followed<'a> {
    /// The runs, the oldest first.
    pub runs: Vec<&'a Record>,
    /// The change that matters.
    pub margin: Ratio,
    /// What they come to.
    pub found: History,
    /// What was left out before, and why.
    pub left_out: Vec<String>,
    /// Why the newest run is not among them, where it is not.
    pub newest_is_out: Option<String>,
}

impl<'a> Followed<'a> {
    /// Follows runs of one job.
    ///
    /// # Errors
    /// When they have nothing in common that measures.
    ///
    /// # Panics
    /// When there are fewer than two.
    pub fn of(mut runs: Vec<&'a Record>, margin: Ratio, left_out: Vec<String>) -> Result<Self, String> {
        runs.sort_by_key(|run| (run.started.wall_ms, run.started.run.as_str()));
        let found = history(&runs, margin.value())?;
        Ok(Self { runs, margin, found, left_out, newest_is_out: None })
    }

    /// What follows. Without the newest run nothing is known of what changed last, but for a level that was worse before it.
    pub fn outlook(&self) -> Outlook {
        let open = self.newest_is_out.is_some();
        self.found.outlook.max(if open { Outlook::Inconclusive } else { Outlook::Unchanged })
    }

    /// What follows, in one or two sentences.
    pub fn sentence(&self) -> String {
        let Self { runs, found, .. } = self;
        let count = runs.len();
        if count < RUNS_MIN {
            return format!(
                "Too few runs to tell: {count} of one job; {RUNS_MIN} are needed, and ten tell far more."
            );
        }
        let mut newest = self.of_newest();
        if self.newest_is_out.is_some() {
            newest = newest.map(|told| told.replacen("The newest run", "The last run before it", 1));
        }
        let out = self.newest_is_out.as_ref().map(|why| format!("Left out: {}.", visible(why)));
        let besides = self.of_changes(true, false).map(|all| format!("{all}, which does not decide"));
        let told = match found.outlook {
            Outlook::Inconclusive => {
                let first = found.remarks.first().map(|remark| visible(remark));
                let why = besides.or(first).map(|why| format!(": {why}"));
                format!("It cannot be told over {count} runs{}.", why.unwrap_or_default())
            }
            Outlook::Unchanged => format!("No change found over {count} runs."),
            Outlook::Regressed => {
                self.of_changes(true, true).map_or(String::new(), |all| format!("Regressed: {all}."))
            }
            Outlook::Improved => {
                self.of_changes(false, true).map_or(String::new(), |all| format!("Improved: {all}."))
            }
        };
        // What the newest run alone shows is all that there is to say then.
        let newest = match (told.is_empty(), newest) {
            (true, Some(newest)) => {
                let mut name = found.outlook.name().to_owned();
                name[..1].make_ascii_uppercase();
                Some(format!("{name}: {}", newest.replacen("The ", "the ", 1)))
            }
            (_, newest) => newest,
        };
        let all = [out.unwrap_or_default(), told, newest.unwrap_or_default()];
        all.into_iter().filter(|one| !one.is_empty()).collect::<Vec<_>>().join(" ")
    }

    /// What changed of figures that decide, or of the others, to the worse or to the better: what began with one run together.
    fn of_changes(&self, to_the_worse: bool, decides: bool) -> Option<String> {
        let is_one_step = self.found.loads.iter().filter(|load| load.part.is_none()).count() == 1;
        let kind = self.found.kind.name();
        let mut all: Vec<(Standing, Vec<String>)> = Vec::new();
        let loads = self.found.loads.iter();
        for (load, figure) in loads.flat_map(|load| load.figures.iter().map(move |one| (load, one))) {
            let standing = figure.standing(self.margin.value()).filter(|_| figure.decides == decides);
            let Some(standing) = standing.filter(|one| figure.is_worse(one.change) == to_the_worse) else {
                continue;
            };
            let place = match (&load.part, is_one_step) {
                (None, true) => String::new(),
                (Some(part), true) => format!(" of {}", visible(part)),
                (None, false) => format!(" in {kind} {}", visible(&load.name)),
                (Some(part), false) => format!(" of {} in {kind} {}", visible(part), visible(&load.name)),
            };
            let told = format!("{} {}{place}", title(&figure.name), percent(standing.change));
            let is_same = |other: &Standing| (other.since, other.partly) == (standing.since, standing.partly);
            match all.iter_mut().find(|(other, _)| is_same(other)) {
                Some((_, together)) => together.push(told),
                None => all.push((standing, vec![told])),
            }
        }
        let told = |(Standing { since, partly, .. }, together): &(Standing, Vec<String>)| {
            let text = listed(together, NAMED_MAX);
            let partly =
                partly.map(|at| format!(" (it was more until {})", self.date(at))).unwrap_or_default();
            match since {
                Some(at) => {
                    format!(
                        "{text} since {} {}{}{partly}",
                        self.date(*at),
                        self.share_of(*at),
                        self.with(*at)
                    )
                }
                None => format!("{text} over {} runs, slowly", self.runs.len()),
            }
        };
        (!all.is_empty()).then(|| all.iter().map(told).collect::<Vec<_>>().join("; "))
    }

    /// What else is another from a run on.
    fn with(&self, run: usize) -> String {
        let Some(Turn { jobs, environment, .. }) = self.found.turns.iter().find(|turn| turn.at == run) else {
            return String::new();
        };
        let told = |whose: &str, (name, before, after): &Difference| {
            format!("{whose}{} {} → {}", visible(name), visible(before), visible(after))
        };
        let jobs = jobs.iter().map(|one| told("another job: ", one));
        let all: Vec<String> = jobs.chain(environment.iter().map(|one| told("", one))).collect();
        format!(", with {}", listed(&all, WITH_MAX))
    }

    /// What the newest run beside those before it comes to, and how large a change one run would show.
    fn of_newest(&self) -> Option<String> {
        let found = self.found.newest.as_ref()?;
        let History { beside, level_from, .. } = self.found;
        let count = self.runs.len() - 1 - beside;
        let is_of_level = beside >= level_from && self.drifting().is_none();
        let beside = if is_of_level {
            format!("beside the {count} of its level before it")
        } else {
            format!("beside the {count} before it")
        };
        let is_one_step = found.steps.len() == 1;
        let deciding = || {
            found.steps.iter().flat_map(|step| {
                step.metrics.iter().filter(|metric| metric.decides).map(move |metric| (step, metric))
            })
        };
        let is_told = |metric: &Metric| {
            matches!(metric.verdict, Verdict::Regressed | Verdict::Improved)
                || is_untold(metric, self.margin.value())
        };
        let told: Vec<String> = deciding()
            .filter(|(_, metric)| is_told(metric))
            .map(|(step, metric)| {
                let place = if is_one_step { String::new() } else { format!(" in {}", visible(&step.name)) };
                format!("{} {}{place}", title(&metric.name), percent(metric.change))
            })
            .collect();
        if !told.is_empty() {
            let is_unknown = deciding().any(|(_, metric)| is_untold(metric, self.margin.value()));
            let unknown = if is_unknown {
                "; nothing tells how much that varies, of runs that agree and are too short to vary within"
            } else {
                ""
            };
            return Some(format!("The newest run, {beside}: {}{unknown}.", listed(&told, NAMED_MAX)));
        }
        if found.verdict == Verdict::Regressed {
            return Some(format!("The newest run, {beside}: {}", of_two(found, self.margin)));
        }
        let half = |(_, metric): (&StepComparison, &Metric)| {
            metric.interval.map(|(low, high)| ((high - low) / 2.0 + self.margin.value(), metric.name.clone()))
        };
        let (share, name) = deciding().filter_map(half).max_by(|a, b| a.0.total_cmp(&b.0))?;
        let shows = if share < 1.0 {
            let share = percent(share);
            format!(
                "a change of {} below about {} would not show",
                title(&name),
                share.trim_start_matches('+')
            )
        } else {
            format!("of {} nothing at all would show", title(&name))
        };
        Some(format!("The newest run shows nothing new {beside}; of one run alone, {shows}."))
    }

    /// `2026-11-20 08:59`.
    fn minute(&self, run: usize) -> String {
        self.date(run).chars().take(MINUTE).collect()
    }

    /// A figure that decides and drifts.
    fn drifting(&self) -> Option<&FigureHistory> {
        let mut figures = self.found.loads.iter().flat_map(|load| &load.figures);
        figures.find(|figure| figure.decides && figure.drift.is_some())
    }

    fn date(&self, run: usize) -> String {
        calendar::date_time(self.runs[run].started.wall_ms)
    }

    /// How many runs there are from one on.
    fn share_of(&self, run: usize) -> String {
        let count = self.runs.len();
        format!("({} of {count} runs)", count - run)
    }

    /// The parts of the answer.
    pub(crate) fn sections(&self) -> Vec<Section> {
        let Self { runs: _, margin: _, found, left_out, newest_is_out: _ } = self;
        let mut all = vec![self.levels()];
        let is_many = found.loads.len() > DRAWN_MAX;
        let has_changed =
            |load: &&LoadHistory| !is_many || load.figures.iter().any(FigureHistory::has_changed);
        all.extend(found.loads.iter().filter(has_changed).map(|load| self.load(load)));
        all.extend(self.turns());
        let lines: Vec<String> =
            left_out.iter().chain(&found.remarks).map(|line| format!("{line}.")).collect();
        if !lines.is_empty() {
            all.push(Section { title: "Notes".to_owned(), lines, ..Section::default() });
        }
        all
    }

    /// Every figure that decides or changed: its level and the last change.
    fn levels(&self) -> Section {
        let mut rows = Vec::new();
        for load in &self.found.loads {
            for figure in &load.figures {
                let FigureHistory { name, decides, values, changes, .. } = figure;
                if !decides && !figure.has_changed() {
                    continue;
                }
                // The newest run, which may lie apart, is told beside it.
                let newest = values.len() - 1;
                let from = changes.last().map_or(0, |last| last.at).min(newest - 1);
                let level = values[from..newest].iter().sum::<f64>() / (newest - from) as f64;
                let (change, since) = match (figure.drift, changes.last()) {
                    (Some(drift), _) => (percent(drift), "slowly".to_owned()),
                    (None, Some(last)) => (percent(last.change()), self.date(last.at)),
                    (None, None) => ("–".to_owned(), String::new()),
                };
                let newest = values[newest];
                rows.push(vec![
                    whole_name(load),
                    format!("{}{}", title(name), if *decides { " *" } else { "" }),
                    written(figure, level),
                    written(figure, newest),
                    changes.len().to_string(),
                    change,
                    since,
                ]);
            }
        }
        let columns = vec![
            left(self.found.kind.name()),
            left("figure"),
            right("level"),
            right("newest run"),
            right("changes"),
            right("last change"),
            left("since"),
        ];
        let table = Table {
            columns,
            rows,
            remark: Some("* decides; a level is the mean since the last change, without the newest run"),
        };
        let (count, first, last) = (self.runs.len(), self.date(0), self.date(self.runs.len() - 1));
        Section {
            title: "Levels".to_owned(),
            lines: vec![format!(
                "{count} runs of \"{}\", {first} to {last}; a change matters from {} on.",
                visible(&self.runs[0].started.title),
                self.margin
            )],
            tables: vec![("Figures and their last change".to_owned(), table)],
            ..Section::default()
        }
    }

    fn load(&self, load: &LoadHistory) -> Section {
        let LoadHistory { name: _, part: _, figures } = load;
        // What neither decides nor changed goes first where there is no room.
        let of_figure = |figure: &FigureHistory| Column {
            dispensable: u8::from(!figure.decides),
            ..right_of(title(&figure.name).to_owned())
        };
        let columns = [left("started, UTC"), left("run")].into_iter();
        let columns = columns.chain(figures.iter().map(of_figure)).chain([left("changed")]).collect();
        let row = |at: usize| {
            let turned = |figure: &FigureHistory| {
                let change = figure.changes.iter().find(|change| change.at == at)?;
                Some(format!("{} {}", title(&figure.name), percent(change.change())))
            };
            let run = &self.runs[at].started.run;
            [self.minute(at), run.clone()]
                .into_iter()
                .chain(figures.iter().map(|figure| written(figure, figure.values[at])))
                .chain([figures
                    .iter()
                    .filter(|one| one.decides)
                    .filter_map(turned)
                    .collect::<Vec<_>>()
                    .join(", ")])
                .collect()
        };
        let rows = (0..self.runs.len()).map(row).collect();
        let plots = figures.iter().filter(|figure| figure.decides || figure.has_changed());
        Section {
            title: format!("Over the runs: {}", whole_name(load)),
            plots: plots.map(|figure| self.plot(figure)).collect(),
            tables: vec![("Runs, the oldest first".to_owned(), Table { columns, rows, remark: None })],
            ..Section::default()
        }
    }

    /// A figure over the runs, with its levels.
    fn plot(&self, figure: &FigureHistory) -> Plot {
        let FigureHistory { name, values, changes, .. } = figure;
        let points: Vec<(f64, f64)> =
            values.iter().enumerate().map(|(at, value)| (at as f64, *value)).collect();
        let mut edges: Vec<usize> = vec![0];
        edges.extend(changes.iter().map(|change| change.at));
        edges.push(values.len());
        let mut levels = Vec::new();
        for pair in edges.windows(2) {
            let own = &values[pair[0]..pair[1]];
            let mean = own.iter().sum::<f64>() / own.len() as f64;
            levels.extend([(pair[0] as f64 - 0.5, mean), (pair[1] as f64 - 0.5 - EDGE, mean)]);
        }
        let count = values.len();
        let day = |at: usize| self.minute(at).chars().take(DAY).collect::<String>();
        // Of runs of one day the day says nothing.
        let is_one_day = day(0) == day(count - 1);
        let place = |at: usize| {
            if is_one_day { self.minute(at).chars().skip(DAY + 1).collect() } else { day(at) }
        };
        let stride = count.div_ceil(DATES_MAX).max(1);
        let names = (0..count).step_by(stride).map(|at| (at as f64, place(at))).collect();
        let mark = |change: &fathom_analysis::compare::LevelChange| {
            PlotMark::x(percent(change.change()), change.at as f64 - 0.5, None)
        };
        let (label, unit) = match name.as_str() {
            "bandwidth" => ("bandwidth", Unit::Bandwidth),
            _ if figure.more_is_better => ("operations per second", Unit::Rate),
            _ => ("response time", Unit::Latency),
        };
        Plot {
            title: format!("{} over the runs", title(name)),
            x: PlotAxis::named("run, by its start, UTC", names),
            y: PlotAxis::linear(label, unit),
            lines: vec![
                PlotLine::new("runs", Shape::Joined, &points),
                PlotLine::new("level", Shape::Line, &levels),
            ],
            marks: changes.iter().map(mark).collect(),
            bands: Vec::new(),
        }
    }

    /// What else is another from a run on.
    fn turns(&self) -> Option<Section> {
        let mut rows = Vec::new();
        for Turn { at, jobs, environment } in &self.found.turns {
            for (kind, all) in [("job", jobs), ("environment", environment)] {
                rows.extend(all.iter().map(|(name, before, after)| {
                    let what = format!("{kind}: {}", visible(name));
                    vec![
                        self.minute(*at),
                        self.runs[*at].started.run.clone(),
                        what,
                        visible(before),
                        visible(after),
                    ]
                }));
            }
        }
        let columns = vec![left("from, UTC"), left("run"), left("what"), left("before"), left("after")];
        let table = Table { columns, rows, remark: None };
        (!table.rows.is_empty()).then(|| Section {
            title: "What else differs".to_owned(),
            lines: vec![
                "Beside the run before: of the jobs wherever they differ, of the environment where a level begins and for the newest run."
                    .to_owned(),
            ],
            tables: vec![("What differs from the run before".to_owned(), table)],
            ..Section::default()
        })
    }
}

/// The name of a step, a cell or a load, and of its part.
fn whole_name(LoadHistory { name, part, .. }: &LoadHistory) -> String {
    part.as_ref().map_or_else(|| visible(name), |part| format!("{}, {}", visible(name), visible(part)))
}

/// The first of a list, and how many more there are.
fn listed(all: &[String], most: usize) -> String {
    let more = all.len().saturating_sub(most);
    let text = all[..all.len() - more].join(", ");
    if more > 0 { format!("{text} and {more} more") } else { text }
}

/// A value as people write it.
fn written(figure: &FigureHistory, value: f64) -> String {
    match figure.name.as_str() {
        "bandwidth" => BytesPerSec(value).to_string(),
        _ if figure.more_is_better => Iops(value).to_string(),
        _ => time(value / 1e9),
    }
}
