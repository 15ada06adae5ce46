//! Which law a curve follows, if any, and the answers it gives: the peak, the knee, the load for 95 % of the most, the
//! load at which latency reaches a limit. Every answer has an interval; one that lies beyond the data says so.

use super::curve::{self, best};
use super::estimate::{Estimate, as_far_up, at_least, bare, from_below, interval, one_at_least};
use super::fit::{Fit, Point, SHARPNESS_MAX, Weighting};
use super::law::{Law, Operating};
use super::lone;
use super::profile::n_at_95_percent;
use super::refuted;
use super::remarks::{
    lack_of_fit, lawless, mixed, of_lawless, open_ceiling, remarks, units_between, unmeasured,
};
use super::resample::{AGAIN_MIN, resample};
use super::rivals::{Resampled, hull, rivals, unmeasured_peak};
use super::verdict::{Verdict, is_fall_shown};
use crate::statistics::{f_beyond, runs_p};

/// Residual that a law may leave, as a share: beyond it the curve is not this law. A tenth is what someone who
/// sizes a system by the law would still accept.
pub(super) const ERROR_MAX: f64 = 0.10;
/// Share of what each load brings at first that it still brings at the last one of a law that is a straight line.
const STRAIGHT_SHARE: f64 = 0.999;
/// What a law may leave at a load, as a share, however much it looks like noise, unless measuring that load again and again
/// scattered as much: a quarter is no answer.
const NOISE_MAX: f64 = 0.25;
/// Points from which on residuals can be called noise by their order alone.
const NOISE_POINTS_MIN: usize = 30;
/// Chance below which a law does not pass through the means of repeated measurements.
const FIT_P_MIN: f64 = 0.01;
/// Chance below which the order of residuals is no accident.
const RUNS_P_MIN: f64 = 0.01;
/// Advantage by `AICc` from which on the other law has no support (Burnham & Anderson 2004).
pub(super) const AICC_DECISIVE: f64 = 10.0;
/// Advantage by it up to which the straight line has support as well, though less (Burnham & Anderson 2004): nothing is said to
/// saturate by so little.
pub(super) const AICC_SUPPORTED: f64 = 7.0;
/// Difference by which two of it are the same.
pub(super) const AICC_SAME: f64 = 1e-6;
/// Where throughput is highest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Peak {
    /// Load.
    pub n: Estimate,
    /// Throughput.
    pub x: Estimate,
    /// Whether it is the law's; else it is the best measured point.
    pub is_of_law: bool,
    /// Whether it lies beyond the largest measured load.
    pub is_extrapolated: bool,
}

/// Where a latency reaches a limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LatencyLimit {
    /// Which quantile of it, 0 to 1; `None`: the mean.
    pub quantile: Option<f64>,
    /// The limit, seconds.
    pub seconds: f64,
    /// Load there; `None` when no load of the law or curve has this latency.
    pub n: Option<Estimate>,
    /// Throughput there.
    pub x: Option<Estimate>,
    /// Whether it lies beyond the largest measured load.
    pub is_extrapolated: bool,
    /// Whether every measured load takes longer: there is no load below it.
    pub is_exceeded: bool,
    /// Whether the smallest measured loads take longer and none of the larger ones does.
    pub is_exceeded_at_first: bool,
}

/// Why no law tells of a curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lawless {
    /// Fewer different loads than a law is told from.
    FewLoads,
    /// Throughput grows faster than the load, which it does by none of the laws.
    Superlinear,
    /// Nothing contradicts a straight line, but single loads lie too far off it to be taken for one.
    Rough,
    /// Throughput goes another way than any law.
    OtherShape,
    /// Another kind of curve would be told without one measurement, which lies apart from the others of its load.
    OneMeasurement,
}

/// What a curve says.
#[derive(Debug, Clone, PartialEq)]
pub struct Answers {
    /// Every law that was fitted.
    pub fits: Vec<Fit>,
    /// Index of the chosen one; `None` when no law fits.
    pub chosen: Option<usize>,
    /// Why none was chosen; `None` where one was, and over rates.
    pub lawless: Option<Lawless>,
    /// In one word.
    pub verdict: Verdict,
    /// Smallest measured load; over rates, what the lowest of them left in flight.
    pub smallest: f64,
    /// Where throughput is highest.
    pub peak: Peak,
    /// The most that was measured: the smallest load of equally good ones, with the mean there.
    pub best: Operating,
    /// What all loads bring, where the smallest brings as much as any: of means that differ by chance the highest is the luckiest.
    pub level: Option<f64>,
    /// The last load, where throughput has fallen from the most and no law tells of it.
    pub fallen: Option<Operating>,
    /// What throughput approaches, when the chosen law has such a limit and no peak.
    pub ceiling: Option<Estimate>,
    /// Whether the data leaves that open: its interval reaches to more than twice its lower end, or, bounded from below alone, it lies far
    /// beyond what was measured, or one load alone tells of it that lies hardly off a straight line.
    pub is_ceiling_open: bool,
    /// Load from which on more load buys mostly waiting.
    pub knee: Option<Estimate>,
    /// Smallest load that gives 95 % of the most throughput.
    pub n_at_95_percent: Option<Estimate>,
    /// How many equal units seem to work in parallel.
    pub parallel_units: Option<Estimate>,
    /// Where the mean latency reaches each limit asked for.
    pub latency_limits: Vec<LatencyLimit>,
    /// What a reader should know: few points, a load never reached.
    pub remarks: Vec<String>,
}

impl LatencyLimit {
    /// Why there is no load with this latency; `None` where there is one.
    pub const fn reason(&self) -> Option<&'static str> {
        match (self.is_exceeded, self.is_exceeded_at_first, self.n) {
            (true, ..) => Some("every measured load takes longer"),
            (false, _, Some(_)) => None,
            (false, true, None) => Some("only the smallest measured loads take longer"),
            (false, false, None) => Some("not reached"),
        }
    }
}

impl Answers {
    /// Whether the chosen law passes through all points, so that its figures are exact.
    pub fn is_exact(&self) -> bool {
        self.chosen.is_some_and(|at| self.fits[at].is_exact())
    }

    /// Whether laws pass through the points and none of them is told by these: such as those of a throughput that is the same at
    /// all loads, which bend before the first.
    pub fn is_undetermined(&self) -> bool {
        self.chosen.is_none() && self.fits.iter().any(|fit| fit.max_relative_error < PASSES_MAX)
    }
}

/// Times its lower end that the upper end of a ceiling's interval may be, for the ceiling to be known.
const OPEN_TIMES: f64 = 2.0;
/// Times the most that was measured that a ceiling may be which is known from below alone.
const OPEN_BEYOND: f64 = 1.2;

fn is_open(ceiling: &Estimate, best: &Operating) -> bool {
    ceiling.interval.is_none_or(|(low, high)| {
        if high.is_finite() { high > OPEN_TIMES * low } else { ceiling.value > OPEN_BEYOND * best.x }
    })
}

/// Largest error of a law that is said to pass through all points.
const PASSES_MAX: f64 = 0.01;
/// Fewest distinct loads from which a law is chosen.
pub const LOADS_MIN: usize = 6;

/// Fits every law and answers. `points` may hold several of one load; `measured_latency` is the mean latency in seconds at
/// each point where it was measured apart from N/X. `seed` is for the resampling.
pub fn answers(
    points: &[Point],
    measured_latency: Option<&[f64]>,
    weighting: Weighting,
    limits_s: &[f64],
    seed: u64,
) -> Answers {
    let Judged { fits, loads, chosen, verdict } = judged(points, weighting);
    let lone = lone::of(points, weighting, verdict, |rest| judged(rest, weighting).verdict);
    let chosen = chosen.filter(|_| lone.is_none());
    let mut verdict = if lone.is_some() { Verdict::NoLaw } else { verdict };
    let lacks_fit = chosen.is_some_and(|at| lacks_fit(&fits[at], points, weighting));
    let again = |at: usize| Resampled::of(resample(&fits[at], points, weighting, lacks_fit, seed));
    let Resampled { laws: resampled, unbounded } = chosen.map(again).unwrap_or_default();
    let supported = rivals(&fits, chosen, points, weighting, &loads);
    let between = |at: &usize| unmeasured_peak(&fits[*at], &loads);
    let (peaks_between, gap) =
        (chosen.as_ref().and_then(between), chosen.iter().chain(&supported).find_map(between));
    let rivals: Vec<Resampled> = supported.into_iter().map(again).collect();
    let law = chosen.map(|at| fits[at].law);
    let n_max = loads.last().map_or(0.0, |load| load.n);
    // What has no noise has no width.
    let is_exact = chosen.is_some_and(|at| fits[at].is_exact() && points.len() > fits[at].coefficients.len());
    let estimate_over = |laws: &[Law], of_rival: fn(&Resampled) -> &[Law], figure: Figure<'_>| {
        let value = figure(&law?)?;
        let own = if is_exact { Some((value, value)) } else { interval(laws, figure) };
        let of_rivals = rivals.iter().filter_map(|rival| interval(of_rival(rival), figure));
        // Where a few points are far off, resamples may all lie on one side.
        Some(Estimate { value, interval: own.map(|own| hull(of_rivals.fold(own, hull), (value, value))) })
    };
    let estimate = |figure: Figure<'_>| estimate_over(&resampled, |rival| &rival.laws, figure);
    // What only grew, or only fell, tells nothing of what lies beyond.
    let bends = verdict != Verdict::Linear && !law.is_some_and(|law| falls_throughout(&law, &loads));
    let peak = peak(law.filter(|_| bends && peaks_between.is_none()), &loads, n_max, &estimate);
    let passed = law.filter(|_| lacks_fit).and_then(|law| passed(&law, &loads, points));
    // Below the smallest load there is nothing to read off.
    let smallest = points.iter().map(|point| point.n).fold(f64::INFINITY, f64::min);
    let within = |figure: Option<Estimate>| figure.filter(|figure| figure.value >= smallest);
    let units_between = law.filter(|_| bends).and_then(|law| units_between(&law, &loads));
    let best = best(&loads).map_or(Operating { n: 0.0, x: 0.0 }, |load| Operating { n: load.n, x: load.x });
    let tells_by_one = bends && (gap.is_some() || law.is_some_and(|law| refuted::is_unsure(&law, &loads)));
    let ceiling = passed
        .or_else(|| {
            ceiling(
                estimate(&|law| law.peak().is_none().then(|| law.ceiling()).flatten()),
                &resampled,
                if lacks_fit { most_shown(&loads) } else { 0.0 },
            )
        })
        .filter(|_| bends)
        .map(|found| if tells_by_one { refuted::open(found, best.x) } else { found });
    let is_ceiling_open =
        bends && gap.is_some() || ceiling.is_some_and(|ceiling| tells_by_one || is_open(&ceiling, &best));
    if is_ceiling_open && verdict == Verdict::Capped {
        // That it holds there would be known from loads beyond it alone.
        verdict = Verdict::Contention;
    }
    let known = |found: Estimate| match law {
        _ if tells_by_one => from_below(found),
        Some(law) if is_hard(&law) => as_far_up(found),
        _ => found,
    };
    let free_knee = estimate_over(&unbounded, |rival| &rival.unbounded, &Law::knee);
    let knee = within(joined(estimate(&Law::knee), free_knee).map(known)).filter(|_| bends);
    let nearly = |found| refuted::reached(at_a_kink(known(found), &resampled, knee), law, &loads);
    let lawless = lone.map_or_else(|| lawless(&fits, chosen, &loads), |_| Some(Lawless::OneMeasurement));
    Answers {
        lawless,
        verdict,
        smallest,
        ceiling,
        is_ceiling_open,
        knee,
        n_at_95_percent: within(match law {
            Some(_) if verdict == Verdict::Linear => None,
            Some(_) if passed.is_some() || peaks_between.is_some() => curve::share_of_best(points, 0.95),
            Some(law) => n_at_95_percent(&law, &resampled, &estimate, points, weighting).map(nearly),
            None => curve::share_of_best(points, 0.95),
        })
        // What is flat has it at the smallest load, whatever a law says of smaller ones.
        .or_else(|| curve::share_of_best(points, 0.95).filter(|_| verdict == Verdict::Flat)),
        parallel_units: estimate_over(&unbounded, |rival| &rival.unbounded, &units)
            .map(|found| one_at_least(known(found)))
            .filter(|_| bends && units_between.is_none() && passed.is_none()),
        latency_limits: limits_s
            .iter()
            .map(|&seconds| latency_limit(law, points, measured_latency, seconds, n_max, &estimate))
            .collect(),
        remarks: remarks(
            &fits,
            chosen,
            verdict,
            points,
            &loads,
            measured_latency.is_some() && !limits_s.is_empty(),
        )
        .into_iter()
        .chain(lawless.filter(|_| verdict == Verdict::NoLaw).and_then(|why| of_lawless(why, &loads)))
        .chain(is_ceiling_open.then(|| open_ceiling(gap)))
        .chain(curve::apart(points, &loads))
        .chain(lone.map(|lone| lone.remark()))
        .chain(chosen.filter(|_| lacks_fit).map(|at| lack_of_fit(&fits[at])))
        .chain(units_between)
        .chain(unmeasured(law.is_none(), &loads))
        .chain(mixed(&resampled).filter(|_| verdict != Verdict::Flat))
        .collect(),
        best,
        level: curve::level(&loads).filter(|_| verdict == Verdict::Flat),
        fallen: curve::fallen(&loads).filter(|_| chosen.is_none()),
        peak,
        fits,
        chosen,
    }
}

/// Whether throughput that falls by its law does so, or whether that is open, as where no load shows it: of a plateau that is measured
/// roughly some laws fall, and their own errors do not know that they are not its law.
fn certain(verdict: Verdict, fit: Option<&Fit>, loads: &[curve::Load]) -> Verdict {
    match fit.filter(|fit| verdict == Verdict::Retrograde && fit.law.peak().is_some()) {
        Some(fit) if !is_fall_shown(fit, loads) => Verdict::Contention,
        _ => verdict,
    }
}

/// What points come to, before anything is resampled.
struct Judged {
    fits: Vec<Fit>,
    loads: Vec<curve::Load>,
    chosen: Option<usize>,
    verdict: Verdict,
}

fn judged(points: &[Point], weighting: Weighting) -> Judged {
    let (mut fits, loads) = fitted(points, weighting);
    let chosen = choose(&fits, points, weighting, &loads);
    let chosen = kinked(&mut fits, chosen, points, weighting, &loads);
    let fit = chosen.map(|at| &fits[at]);
    let verdict = certain(Verdict::of(fit, &loads, points.len()), fit, &loads);
    Judged { fits, loads, chosen, verdict }
}

/// Every law that can be fitted, and the loads, with what their errors are guessed to be.
fn fitted(points: &[Point], weighting: Weighting) -> (Vec<Fit>, Vec<curve::Load>) {
    let mut fits: Vec<Fit> =
        [Fit::usl, Fit::soft_min, Fit::linear].iter().filter_map(|fit| fit(points, weighting)).collect();
    let mut loads = curve::by_load(points);
    curve::guess(&mut loads, &fits, points, weighting);
    for fit in fits.iter_mut().filter(|fit| !leaves_freedom(fit, &loads)) {
        fit.aicc = None;
    }
    (fits, loads)
}

/// What throughput approaches at least where loads brought more than a law that lacks fit says there can be, by more than measuring them
/// again scattered: what that law extrapolates is refuted, and the load for 95 % of the most is read off the measurements instead.
/// (Queues that are visited in turn bend more sharply than any of the laws does, and come nearer to their ceiling.) Of loads that are
/// alike one comes out highest, and of three measurements three may agree: all of them together have to say so as well.
fn passed(law: &Law, loads: &[curve::Load], points: &[Point]) -> Option<Estimate> {
    let ceiling = law.ceiling().filter(|_| law.peak().is_none())?;
    let of_best = best(loads).and_then(|best| best.margin.map(|margin| best.x - margin))?;
    let (level, margin) = curve::plateau(points)?;
    let least = of_best.min(level - margin);
    (least > ceiling).then_some(Estimate { value: level, interval: Some((least, f64::INFINITY)) })
}

/// What throughput approaches. Where resamples fall beyond a peak, it is bounded by what it reaches at least; and it is no lower than
/// what was measured (`most_shown`), whatever a law says that is off there.
fn ceiling(found: Option<Estimate>, resampled: &[Law], most_shown: f64) -> Option<Estimate> {
    let Estimate { value, interval } = found?;
    let interval = interval.or_else(|| at_least(resampled, &Law::most));
    Some(Estimate { value, interval: interval.map(|(low, high)| (low, high.max(most_shown))) })
}

/// One resample in so many that has a peak where the law has none, or the other way round, leaves open which it is: of as many curves
/// without a peak as see one by chance, the 95 % interval of what lies at 95 % of that peak would be wrong each time.
const MIXED_IN: usize = 500;

pub(super) fn is_mixed(resampled: &[Law]) -> bool {
    let peaked = resampled.iter().filter(|law| law.peak().is_some()).count();
    peaked.min(resampled.len() - peaked) * MIXED_IN > resampled.len()
}

/// The law with a kink instead, which is looked for only where no smooth law will do, and taken where it is plainly better than
/// that, and than the straight line, which may have been left out for what single loads are off.
fn kinked(
    fits: &mut Vec<Fit>,
    chosen: Option<usize>,
    points: &[Point],
    weighting: Weighting,
    loads: &[curve::Load],
) -> Option<usize> {
    let is_off =
        |at: usize| fits[at].max_relative_error > ERROR_MAX || lacks_fit(&fits[at], points, weighting);
    if !chosen.is_none_or(is_off) || curve::falls(loads) || loads.len() < LOADS_MIN {
        return chosen;
    }
    let Some(capped) = Fit::capped(points, weighting)
        .filter(|fit| fit.max_relative_error <= ERROR_MAX && leaves_freedom(fit, loads))
        .filter(|fit| refuted::is_held(&fit.law, loads))
    else {
        return chosen;
    };
    let is_rival = |at, law| Some(at) == chosen || matches!(law, Law::Linear { .. });
    let rivals = fits.iter().enumerate().filter(|(at, fit)| is_rival(*at, fit.law));
    let best = rivals.filter_map(|(_, fit)| fit.aicc).reduce(f64::min);
    let is_better = capped.aicc.is_some_and(|own| best.is_none_or(|best| own + AICC_DECISIVE < best));
    fits.push(capped);
    if is_better { Some(fits.len() - 1) } else { chosen }
}

/// The law of lowest `AICc` among those that explain the points.
fn choose(fits: &[Fit], points: &[Point], weighting: Weighting, loads: &[curve::Load]) -> Option<usize> {
    if loads.len() < LOADS_MIN {
        return None;
    }
    let aicc = |at: usize| fits[at].aicc.unwrap_or(f64::INFINITY);
    let can_fall = |at: usize| matches!(fits[at].law, Law::Usl { .. });
    let mut fitting: Vec<usize> = (0..fits.len())
        .filter(|&at| fits[at].aicc.is_some() && is_possible(&fits[at].law, loads))
        .filter(|&at| explains(&fits[at], points, weighting, loads))
        .collect();
    // Where each load was measured once its noise is a guess, and what a law that cannot fall explains far better does not: if it leaves
    // as much elsewhere.
    let that_falls = (0..fits.len()).filter(|&at| can_fall(at)).map(aicc).fold(f64::INFINITY, f64::min);
    let is_better = |at: usize| {
        !can_fall(at) && aicc(at) + AICC_DECISIVE < that_falls && leaves_as_much_before(&fits[at], loads)
    };
    let is_noise = loads.iter().all(|load| load.margin.is_none()) && fitting.iter().any(|&at| is_better(at));
    let falls = curve::falls(loads) && !is_noise;
    // A law that cannot fall is no law of a curve that does.
    fitting.retain(|&at| !falls || can_fall(at));
    let lowest = |among: &mut dyn Iterator<Item = usize>| {
        among.min_by(|&a, &b| {
            // The order of the list decides between laws that say the same.
            if (aicc(a) - aicc(b)).abs() < AICC_SAME { a.cmp(&b) } else { aicc(a).total_cmp(&aicc(b)) }
        })
    };
    let closest = lowest(&mut fitting.iter().copied())?;
    // One whose peak no load came near gives way to one that says of what was measured as much and of the rest less.
    let is_measured = |at: &usize| unmeasured_peak(&fits[*at], loads).is_none();
    let bends = |at: &usize| !matches!(fits[*at].law, Law::Linear { .. });
    let best = if is_measured(&closest) {
        closest
    } else {
        let other = lowest(&mut fitting.iter().copied().filter(|at| is_measured(at) && bends(at)));
        other.filter(|&other| aicc(other) < aicc(closest) + AICC_DECISIVE).unwrap_or(closest)
    };
    // Where a straight line does as well, or nearly, nothing tells that throughput bends; and where it passes some loads by too much
    // to be taken for the law, nothing tells which it is.
    let line = (0..fits.len()).find(|&at| matches!(fits[at].law, Law::Linear { .. }) && !falls);
    let has_support = |line: usize| {
        aicc(line) < aicc(closest) + AICC_SUPPORTED && !is_bent(&fits[line], &fits[closest], points.len())
    };
    match line.filter(|&line| !fits[best].is_exact() && has_support(line)) {
        Some(line) => fitting.contains(&line).then_some(line),
        None => Some(best),
    }
}

/// Whether a law is off by as much at some earlier load as at the last two.
fn leaves_as_much_before(fit: &Fit, loads: &[curve::Load]) -> bool {
    let most = |loads: &[curve::Load]| {
        loads.iter().map(|load| (fit.law.throughput(load.n) / load.x - 1.0).abs()).fold(0.0, f64::max)
    };
    let (before, last) = loads.split_at(loads.len().saturating_sub(2));
    most(before) >= most(last)
}

/// Chance below which what a straight line leaves beyond a law that bends is no noise.
const BENT_P_MAX: f64 = 1e-3;

/// Whether a straight line passes some loads by more than noise is taken for, and by more than what another law leaves explains: the F test
/// of nested models (Draper & Smith 1998, 6.1). Of six loads `AICc` says so only where the law passes through them, its term
/// for small samples being 40 then. Worked value: of six loads a law of three coefficients that leaves a hundredth of the line's
/// squares has F = (100 − 1)/2 ÷ (1/3) = 148.5, which noise comes to once in a thousand.
fn is_bent(line: &Fit, law: &Fit, points: usize) -> bool {
    let more = law.coefficients.len().saturating_sub(line.coefficients.len()) as f64;
    let freedom = points.saturating_sub(law.coefficients.len()) as f64;
    if line.max_relative_error <= NOISE_MAX || more < 1.0 || freedom < 1.0 || law.rss <= 0.0 {
        return false;
    }
    let ratio = (line.rss - law.rss) / more / (law.rss / freedom);
    f_beyond(ratio, more, freedom).is_some_and(|p| p < BENT_P_MAX)
}

/// Fewest different loads that a law, or a constant, is chosen from: two are on a line, whatever lies between them.
pub(super) const LOADS_OF_A_LAW_MIN: usize = 3;

/// Whether there are more loads than a law has coefficients: it passes through fewer whatever they are, and replicates of a load
/// tell its noise and nothing of another.
fn leaves_freedom(fit: &Fit, loads: &[curve::Load]) -> bool {
    loads.len() >= LOADS_OF_A_LAW_MIN && loads.len() > fit.coefficients.len()
}

/// Whether what a law leaves is small or noise. Where every operation counts alike, small is measured by the largest
/// throughput; where every per cent does, by the point's own. So it is of the line, which says that nothing saturates: at the
/// smallest loads, which tell what the slope is, a bend shows in per cent only.
pub(super) fn explains(fit: &Fit, points: &[Point], weighting: Weighting, loads: &[curve::Load]) -> bool {
    let largest = points.iter().map(|p| p.x).fold(0.0, f64::max);
    let error = |p: &Point| (fit.law.throughput(p.n) - p.x).abs();
    // Another one that does not bend within the loads is that line as well.
    let per_load = |load: &curve::Load| fit.law.throughput(load.n) / load.n;
    let is_straight = |first, last| per_load(last) >= STRAIGHT_SHARE * per_load(first);
    let is_line = loads.first().zip(loads.last()).is_some_and(|(first, last)| is_straight(first, last));
    let worst = match weighting {
        Weighting::Relative => fit.max_relative_error,
        Weighting::Equal if is_line => fit.max_relative_error,
        Weighting::Equal => {
            points.iter().map(|p| error(p) / largest).fold(0.0, f64::max).min(fit.max_relative_error)
        }
    };
    let is_noise = || {
        let mut sorted = points.to_vec();
        sorted.sort_by(|a, b| a.n.total_cmp(&b.n));
        let residuals: Vec<f64> = sorted.iter().map(|p| fit.law.throughput(p.n) - p.x).collect();
        runs_p(&residuals).is_some_and(|p| p >= RUNS_P_MIN)
    };
    // What a law leaves at a load is noise where the points of that load scatter as far themselves. Of loads that were
    // measured once nothing tells their noise, and half of them have to lie near.
    let is_near = |load: &curve::Load, noise: f64| {
        let scale = if weighting == Weighting::Relative { load.x } else { largest };
        (fit.law.throughput(load.n) - load.x).abs() <= (NOISE_MAX * scale).max(noise)
    };
    let is_law = || {
        let near = loads.iter().filter(|load| is_near(load, 0.0)).count();
        2 * near >= loads.len()
            && loads.iter().all(|load| load.margin.is_none_or(|margin| is_near(load, margin)))
    };
    let is_scatter = || {
        loads.iter().all(|load| is_near(load, 0.0))
            && lack_of_fit_p(fit, points, weighting).is_some_and(|p| p >= FIT_P_MIN)
    };
    // A law that is far from what most loads brought does not describe them, however little that is of the most.
    let misses = misfits(fit, loads).len();
    // Nor does one that is far from any where measuring again shows that this is no noise.
    let is_off = || {
        let is_no_noise = || lack_of_fit_p(fit, points, weighting).is_some_and(|p| p < FIT_P_MIN);
        misses > 0 && (refuted::is_noiseless(points) || is_no_noise())
    };
    let describes = weighting == Weighting::Relative || 2 * misses < loads.len() && !is_off();
    worst <= ERROR_MAX && describes
        || is_scatter() && !(is_line && 2 * misses >= loads.len())
        || points.len() >= NOISE_POINTS_MIN && is_law() && is_noise()
}

/// Loads of which a law leaves more than a reader would accept, each with the share of what was measured there, and more than
/// measuring them again scattered.
pub(super) fn misfits(fit: &Fit, loads: &[curve::Load]) -> Vec<(f64, f64)> {
    loads
        .iter()
        .map(|load| (load, (fit.law.throughput(load.n) - load.x).abs()))
        .filter(|(load, error)| *error > (ERROR_MAX * load.x).max(load.margin.unwrap_or(0.0)))
        .map(|(load, error)| (load.n, error / load.x))
        .collect()
}

/// Whether replicates show that what a law leaves is no noise.
fn lacks_fit(fit: &Fit, points: &[Point], weighting: Weighting) -> bool {
    !fit.is_exact() && lack_of_fit_p(fit, points, weighting).is_some_and(|p| p < FIT_P_MIN)
}

/// Chance that the means of loads lie as far from a law, or farther, when all that keeps them from it is what
/// repeated measurements of one load differ by: the F test of lack of fit (Draper & Smith 1998, 2.1). `None` where
/// loads were not measured again.
fn lack_of_fit_p(fit: &Fit, points: &[Point], weighting: Weighting) -> Option<f64> {
    let mut sorted = points.to_vec();
    sorted.sort_by(|a, b| a.n.total_cmp(&b.n));
    let groups: Vec<&[Point]> = sorted.chunk_by(|a, b| a.n == b.n).collect();
    let (mut between, mut within) = (0.0, 0.0);
    for group in &groups {
        let mean = group.iter().map(|point| point.x).sum::<f64>() / group.len() as f64;
        let scale = if weighting == Weighting::Relative { mean } else { 1.0 };
        between += group.len() as f64 * ((fit.law.throughput(group[0].n) - mean) / scale).powi(2);
        within += group.iter().map(|point| ((point.x - mean) / scale).powi(2)).sum::<f64>();
    }
    let of_law = groups.len().checked_sub(fit.coefficients.len()).filter(|freedom| *freedom > 0)? as f64;
    let of_noise = (points.len() - groups.len()) as f64;
    if of_noise < AGAIN_MIN * groups.len() as f64 || within <= 0.0 {
        return None;
    }
    let ratio = (between / of_law) / (within / of_noise);
    f_beyond(ratio, of_law, of_noise)
}

/// Whether a law gives a throughput above 0 wherever it was measured: less is no answer to anything.
pub(super) fn is_possible(law: &Law, loads: &[curve::Load]) -> bool {
    loads.iter().map(|load| law.throughput(load.n)).all(|x| x.is_finite() && x > 0.0)
}

/// Sharpness from which on it is at its other bound, where the law has a kink.
const HARD: f64 = SHARPNESS_MAX * (1.0 - 1e-6);

fn is_hard(law: &Law) -> bool {
    matches!(law, Law::SoftMin { sharpness, .. } if *sharpness >= HARD)
}

/// How many equal units a law has. Below a cap it is contention that tells.
fn units(law: &Law) -> Option<f64> {
    match law {
        Law::Usl { alpha, .. } => (*alpha > 0.0).then(|| 1.0 / alpha),
        Law::Capped { alpha, .. } if *alpha > 0.0 => Some(1.0 / alpha),
        other => other.parallel_units(),
    }
}

/// One resample in so many that has a kink leaves open whether there is one.
const KINKS_IN: usize = 500;

/// The load for 95 % of a ceiling, with an interval that holds that of a kink as well: a load below one that came out low makes it look like
/// a bend, which comes near its ceiling later.
fn at_a_kink(found: Estimate, resampled: &[Law], knee: Option<Estimate>) -> Estimate {
    let may_be = resampled.iter().filter(|law| is_hard(law)).count() * KINKS_IN > resampled.len();
    let of_knee = knee.filter(|_| may_be).and_then(|knee| knee.interval).map(|(low, _)| 0.95 * low);
    let least = |low: f64| of_knee.map_or(low, |kink| kink.min(low));
    Estimate { interval: found.interval.map(|(low, high)| (least(low), high)), ..found }
}

pub(super) type Figure<'a> = &'a dyn Fn(&Law) -> Option<f64>;

fn peak(
    law: Option<Law>,
    loads: &[curve::Load],
    n_max: f64,
    estimate: &dyn Fn(Figure<'_>) -> Option<Estimate>,
) -> Peak {
    let of_law = law.and_then(|law| law.peak());
    let figures = of_law.and_then(|_| {
        let n = estimate(&|law| law.peak().map(|peak: Operating| peak.n))?;
        let x = estimate(&|law| law.peak().map(|peak| peak.x))?;
        Some((n, x))
    });
    match figures {
        Some((n, x)) => Peak { n, x, is_of_law: true, is_extrapolated: n.value > n_max },
        None => {
            let best = best(loads);
            let (n, x) = best.map_or((0.0, 0.0), |load| (load.n, load.x));
            let margin = best.and_then(|load| load.margin);
            let x = Estimate { value: x, interval: margin.map(|margin| ((x - margin).max(0.0), x + margin)) };
            Peak { n: bare(n), x, is_of_law: false, is_extrapolated: false }
        }
    }
}

/// Whether a law has its peak below the smallest measured load, where nothing tells of it: what was measured only falls.
fn falls_throughout(law: &Law, loads: &[curve::Load]) -> bool {
    let smallest = loads.first().map_or(0.0, |load| load.n);
    let peak = law.peak().map(|peak| peak.n);
    peak.is_some_and(|n| n < smallest)
        || matches!(law, Law::Usl { alpha, beta, .. } if *alpha >= 1.0 && *beta > 0.0)
}

/// A figure with the interval of resamples that keep to the bounds of coefficients and of those that do not: where one is at its bound,
/// the former begin too high.
fn joined(own: Option<Estimate>, free: Option<Estimate>) -> Option<Estimate> {
    let free = free.and_then(|free| free.interval);
    let both = |own| free.map_or(own, |free| hull(own, free));
    own.map(|found| Estimate { interval: found.interval.map(both), ..found })
}

/// The most that the best load shows, with what it may lie off.
fn most_shown(loads: &[curve::Load]) -> f64 {
    best(loads).map_or(0.0, |load| load.x + load.margin.unwrap_or(0.0))
}

/// Where a latency is reached: by what was measured of it, or by Little's law and the law of the curve.
fn latency_limit(
    law: Option<Law>,
    points: &[Point],
    measured: Option<&[f64]>,
    seconds: f64,
    n_max: f64,
    estimate: &dyn Fn(Figure<'_>) -> Option<Estimate>,
) -> LatencyLimit {
    if let Some(latencies) = measured {
        return curve::measured_limit(points, latencies, curve::Statistic::Mean, &curve::EXACT, seconds);
    }
    let Some(_) = law else {
        let is_noise = curve::is_exceeded_by_noise(points, seconds);
        return if is_noise {
            curve::held_limit(points, seconds)
        } else {
            curve::little_limit(points, seconds)
        };
    };
    let n = estimate(&|law| law.load_at_latency(seconds));
    let x = estimate(&|law| law.load_at_latency(seconds).map(|n| law.throughput(n)));
    let is_extrapolated = n.is_some_and(|n| n.value > n_max);
    // What is no answer: a load below the smallest that was measured, one beyond all of them, or none at all, where measured loads
    // say otherwise. Of a limit next to the latency of an operation alone it is noise that decides on which side of it a law lies.
    let is_below = n.is_some_and(|n| points.iter().all(|point| point.n > n.value));
    if is_below || (n.is_none() || is_extrapolated) && curve::is_exceeded(points, seconds) {
        return curve::held_limit(points, seconds);
    }
    LatencyLimit {
        quantile: None,
        seconds,
        n,
        x,
        is_extrapolated,
        is_exceeded: false,
        is_exceeded_at_first: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::normal;

    /// A hard knee with one fall behind it: what USL leaves at the small loads is small beside the most, and no noise.
    #[test]
    fn a_law_that_replicates_show_to_be_off_is_none() {
        let mut random = fastrand::Rng::with_seed(5);
        let mut points = Vec::new();
        for n in [1.0_f64, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0] {
            let x = if n < 128.0 { (n * 1000.0).min(12_000.0) } else { 9000.0 };
            points.extend((0..3).map(|_| Point { n, x: x * (1.0 + 0.01 * normal(&mut random)) }));
        }
        let found = answers(&points, None, Weighting::Equal, &[0.001], 1);
        assert_eq!((found.chosen, found.verdict), (None, Verdict::NoLaw), "{:?}", found.remarks);
        assert!((found.peak.x.value / 12_000.0 - 1.0).abs() < 0.02, "{:?}", found.peak);
        let limit = found.latency_limits[0].x.expect("it is read off");
        assert!((7000.0..9000.0).contains(&limit.value), "{limit:?}");
    }

    /// Four queues that are visited in turn bend more sharply than any of the laws does, and approach 4000/s (figures of a
    /// simulation in the mean of many runs): a soft minimum that is fitted to them ends 2 to 4 % below.
    #[test]
    fn intervals_count_what_a_law_leaves_beside_replicates() {
        let curve = [
            (1.0, 1000.0),
            (2.0, 1835.0),
            (4.0, 2760.0),
            (8.0, 3300.0),
            (16.0, 3680.0),
            (32.0, 3840.0),
            (64.0, 3920.0),
            (128.0, 3960.0),
        ];
        let found = |noise: f64, seed: u64| {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut points = Vec::new();
            for (n, x) in curve {
                points.extend((0..3).map(|_| Point { n, x: x * (1.0 + noise * normal(&mut random)) }));
            }
            answers(&points, None, Weighting::Relative, &[], 1)
        };
        let tells = |found: &Answers| {
            found.remarks.iter().any(|remark| remark.contains("more than measuring them again scattered"))
        };
        for seed in 0..20 {
            let found = found(0.005, seed);
            assert!(tells(&found), "{:?}", found.remarks);
            let ceiling = found.ceiling.expect("it has one");
            let (low, high) = ceiling.interval.expect("it has an interval");
            assert!(low < 3960.0 && high > 3920.0 && high - low > 0.02 * 4000.0, "{low} to {high}");
            // What was measured refutes a law that ends below it.
            assert!(ceiling.value > 0.99 * 3920.0, "{ceiling:?}");
            let n = found.n_at_95_percent.expect("it is read off").value;
            assert!((12.0..64.0).contains(&n), "{n}");
        }
        // Where measuring again scatters as much, nothing is to be told.
        assert_eq!((0..20).filter(|&seed| tells(&found(0.1, seed))).count(), 0);
    }

    /// Six loads, each measured once: eight units beside one another are told, and a straight line with noise is none of that.
    #[test]
    fn six_loads_tell_a_knee_from_a_line_with_noise() {
        let found = |ceiling: f64, noise: f64, seed: u64, weighting| {
            let mut random = fastrand::Rng::with_seed(seed);
            let loads = [1.0_f64, 2.0, 4.0, 8.0, 16.0, 32.0];
            let x =
                loads.map(|n| Point { n, x: 1000.0 * n.min(ceiling) * (1.0 + noise * normal(&mut random)) });
            answers(&x, None, weighting, &[], 1)
        };
        for weighting in [Weighting::Relative, Weighting::Equal] {
            let knees = (0..100).filter(|&seed| found(8.0, 0.015, seed, weighting).chosen.is_some()).count();
            assert!(knees >= 95, "{knees} of 100");
            for noise in [0.02, 0.05, 0.1] {
                let is_bent = |&seed: &u64| {
                    let found = found(f64::INFINITY, noise, seed, weighting);
                    found.chosen.is_some_and(|at| !matches!(found.fits[at].law, Law::Linear { .. }))
                };
                let bent = (0..100).filter(is_bent).count();
                assert!(bent <= 2, "{bent} of 100 with noise of {noise}");
            }
        }
    }

    /// All of the first four loads take the limit exactly.
    #[test]
    fn a_load_that_takes_exactly_the_limit_keeps_it() {
        let points = [1.0_f64, 2.0, 4.0, 8.0, 16.0, 32.0].map(|n| Point { n, x: 1000.0 * n.min(8.0) });
        let latencies = points.map(|point| point.n / point.x);
        for measured in [None, Some(&latencies[..])] {
            let found = answers(&points, measured, Weighting::Equal, &[0.001], 1);
            let limit = &found.latency_limits[0];
            let n = limit.n.expect("load 8 keeps it");
            assert!((n.value - 8.0).abs() < 0.01, "{limit:?}");
        }
    }

    #[test]
    fn outliers_of_any_number_of_loads_are_found_in_one_walk() {
        // Nearly as many loads as points, in no order: if each were looked for among all, 10^12 looks would not end.
        let loads = 1_000_000_u32;
        let once = (1..=loads).map(|n| Point { n: f64::from(n * 7 % loads + 1), x: 1000.0 });
        let again = [(5, 1100.0), (5, 300.0), (6, 1000.0), (6, 1050.0), (7, 1050.0), (7, 9000.0)];
        let points: Vec<Point> = once.chain(again.map(|(n, x)| Point { n: f64::from(n), x })).collect();
        let told = curve::outliers(&points);
        let starts = [
            "load 5: one of 3 measurements is 3 times lower",
            "load 7: one of 3 measurements is 9 times higher",
        ];
        assert_eq!(told.len(), starts.len(), "{told:?}");
        for (told, start) in told.iter().zip(starts) {
            assert!(told.starts_with(start), "{told}");
        }
    }
}
