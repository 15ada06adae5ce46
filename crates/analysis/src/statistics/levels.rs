//! How a series goes: at one level, from one level to another at once, or smoothly.
//!
//! A series with memory strays from its mean for a while without any change of level, and one that only rises is no
//! staircase. Each account of a series is therefore a first-order autoregression about its levels or about a smooth
//! curve, and they are told apart by likelihood, as far as that outweighs what was searched to find them.

mod passage;

pub use passage::{Passage, passage};

use super::changes::{Change, change_points_of, neighbours};
use nalgebra::{Cholesky, DMatrix, DVector, SMatrix, SVector};

/// Memories that candidates are looked for with: what noise of that memory shows is none.
const MEMORIES: [f64; 3] = [0.0, 0.5, 0.8];
/// Lag-1 correlations that are tried, in steps of so much, up to so many.
const CORRELATION_STEP: f64 = 0.05;
const CORRELATIONS: u32 = 20;
/// By how much a change of level has to raise twice the logarithm of the likelihood: a part, and one that grows with
/// the places it may have. Of noise whose neighbours correlate by up to 0.9 at most one series in twenty reaches it,
/// of noise without memory hardly any (the tests below).
const CHANGE_COST: f64 = 6.5;
const CHANGE_COST_PER_LN: f64 = 2.5;
/// How many times as much a curve costs that no levels compete with.
const CURVE_COSTS: f64 = 1.8;
/// Highest power of time in a smooth curve, and terms of such a one.
const POWERS_MAX: usize = 3;
const TERMS: usize = POWERS_MAX + 1;
/// Terms of a curve that has as many figures as two levels and the place between them.
const TERMS_OF_LEVELS: usize = 3;
/// Fewest values of a level that lasts for less than others have to: one that is deep, and far beyond what is usual.
const BRIEF_MIN: usize = 5;
/// The most that the lower of two levels is of the higher one, for a brief one.
const BRIEF_SHARE: f64 = 0.7;
/// Standard deviations of the series by which it lies off its middle: noise that remembers does not stay as far off.
const BRIEF_DEVIATIONS: f64 = 5.0;
/// Most cuts with brief levels among them; what has more goes to and fro all the time, and is searched for levels that last.
const BRIEF_CUTS_MAX: usize = 40;
/// Share of the range of a series that rounding may come to.
const ROUNDING: f64 = 1e-6;

/// The median distance from the median, times this, is the standard deviation of what is normal.
const OF_NORMAL: f64 = 1.4826;
/// Values in which waves are looked for; of more, means are.
const WAVE_VALUES_MAX: usize = 2048;
/// Shortest period of a wave, in these values, and the part of it that is one figure of its height.
const WAVE_PERIOD_MIN: usize = 20;
const WAVE_PARTS: usize = 8;
/// The narrowest hump, in values: five of them are half as high as it at least. How many of the widest would fill the series.
const HUMP_WIDTH_MIN: usize = 3;
const HUMP_PARTS: usize = 3;
/// Places tried in its width, and widths from its centre beyond which it is flat.
const HUMP_PLACES: usize = 4;
const HUMP_REACH: usize = 3;
/// Parts of a series whose first and last are its ends, and the most that these may differ by, as a share of the range of all parts,
/// for it to come back; and the fewest values of a part, whose noise makes a range as well.
const END_PARTS: usize = 16;
const END_VALUES_MIN: usize = 3;
const END_SHARE_MAX: f64 = 0.6;

/// A smooth course that comes back, or goes up and down over and over.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wave {
    /// Lowest and highest mean of a part of it.
    pub low: f64,
    /// The same.
    pub high: f64,
    /// Whether it ends about where it began, and a straight line tells it worse.
    pub comes_back: bool,
    /// Where it is off by a third or more, of one that strays from its level once: from the first value to behind the last.
    pub once: Option<(usize, usize)>,
}

/// A single smooth hump or dip, as of the density of normal values.
#[derive(Debug, Clone, Copy)]
struct Hump {
    centre: usize,
    /// From the centre to where it is `1/e` of its height, in values.
    width: usize,
}

/// How a series goes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Course {
    /// Changes from one level to another, each at once.
    pub jumps: Vec<Change>,
    /// Whether it goes smoothly to other values.
    pub is_smooth: bool,
}

/// Changes of level that last for `lasting` values on either side, and come to the share `least` of the level before. One that is deep and
/// far beyond the noise has to last for five, but at the start, which is a warm-up or none.
pub fn course(values: &[f64], lasting: usize, least: f64) -> Course {
    course_among(values, lasting, least, 1)
}

/// As [`course`], of one of so many series that are looked at together, any of which may show one by chance: twice the logarithm of
/// the likelihood has to be larger by twice that of their number, as for as many places more.
pub fn course_among(values: &[f64], lasting: usize, least: f64, series: usize) -> Course {
    let among = 2.0 * (series.max(1) as f64).ln();
    let series = Series::of(values);
    let cost = CHANGE_COST + CHANGE_COST_PER_LN * (values.len() as f64).ln() + among;
    let judged = |cuts: &[usize]| series.deviance(&series.steps(cuts)) + cost * cuts.len() as f64;
    let best = MEMORIES
        .iter()
        .map(|&memory| series.pruned(series.lasting_cuts(memory, lasting), cost))
        .min_by(|a, b| judged(a).total_cmp(&judged(b)))
        .unwrap_or_default();
    let curve = series.curve(0, values.len());
    // Where no levels are in question, all that is searched is curves, and noise that remembers looks like one sooner.
    let cost_of_curve = if best.is_empty() { CURVE_COSTS * cost } else { cost };
    let of_powers = |powers: usize| series.deviance(&curve.of_first(powers + 1)) + cost_of_curve;
    let smooth = (1..=POWERS_MAX).map(of_powers).fold(f64::INFINITY, f64::min);
    if smooth <= judged(&best) {
        return Course { jumps: Vec::new(), is_smooth: true };
    }
    if best.is_empty() {
        return Course::default();
    }
    let sharp: Vec<usize> =
        (0..best.len()).filter(|&at| series.is_sharp(&best, at)).map(|at| best[at]).collect();
    let jumps = series.large(sharp, least);
    Course { is_smooth: jumps.is_empty(), jumps }
}

/// The wave, or the single hump or dip, that tells a series better than noise with memory does, as far as that outweighs that
/// all lengths were tried.
pub fn wave(values: &[f64]) -> Option<Wave> {
    let stride = values.len().div_ceil(WAVE_VALUES_MAX).max(1);
    let means = super::dependence::subsession_means(values, stride);
    let (series, count) = (Series::of(&means), means.len());
    let cost = CURVE_COSTS * (CHANGE_COST + CHANGE_COST_PER_LN * (count as f64).ln());
    let curve = (count > 0).then(|| series.curve(0, count))?;
    let level = series.deviance(&curve.of_first(1));
    let certain = level - cost;
    let wave = best_wave(&series, count).filter(|(_, deviance)| *deviance < certain);
    let hump = series.hump().filter(|(_, deviance)| *deviance < certain);
    let hump = hump.filter(|hump| wave.is_none_or(|wave| hump.1 < wave.1));
    let best = hump.map(|hump| hump.1).or(wave.map(|wave| wave.1))?;
    let in_parts = |length: usize| super::dependence::subsession_means(&means, length.max(1));
    let ends = in_parts((count / END_PARTS).max(END_VALUES_MIN));
    let (lowest, highest) = range(&ends);
    let apart = (ends.last()? - ends.first()?).abs();
    let comes_back = apart < END_SHARE_MAX * (highest - lowest) && best < series.deviance(&curve.of_first(2));
    let (low, high) = match (hump, wave) {
        (Some((hump, _)), _) => series.range_of(&hump),
        (None, Some((halves, _))) => range(&in_parts(2 * count / halves / WAVE_PARTS)),
        (None, None) => return None,
    };
    let once = hump.map(|(hump, _)| {
        let (from, to) = hump.extent(hump.width, count);
        (from * stride, if to == count { values.len() } else { to * stride })
    });
    Some(Wave { low, high, comes_back, once })
}

/// The wave that tells a series best: of how many halves in all of it, from one on, and its deviance.
fn best_wave(series: &Series<'_>, count: usize) -> Option<(usize, f64)> {
    let deviance = |halves: usize| {
        let account = series.account(0, count, |place| {
            let angle = std::f64::consts::PI * halves as f64 * (place as f64 + 0.5) / count as f64;
            SVector::from([1.0, angle.cos(), angle.sin(), 0.0])
        });
        series.deviance(&account.of_first(TERMS_OF_LEVELS))
    };
    let waves = (1..=2 * count / WAVE_PERIOD_MIN).map(|halves| (halves, deviance(halves)));
    waves.min_by(|a, b| a.1.total_cmp(&b.1))
}

/// The least and the greatest of values.
fn range(values: &[f64]) -> (f64, f64) {
    values
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(*value), high.max(*value)))
}

/// The upper one of two in the middle; 0 of none.
fn median(mut values: Vec<f64>) -> f64 {
    let middle = values.len() / 2;
    if values.is_empty() { 0.0 } else { *values.select_nth_unstable_by(middle, f64::total_cmp).1 }
}

/// Sums that tell how well accounts of a series fit it.
struct Series<'a> {
    values: &'a [f64],
    /// About which sums are taken, so that they keep their digits.
    middle: f64,
    /// Sums of the values before each place.
    sums: Vec<f64>,
    /// Of all of them.
    squares: [f64; 3],
    /// Smallest variance that is no rounding.
    least: f64,
    /// The least and the greatest of the values.
    range: (f64, f64),
    /// The median of the values, and how far they lie from it, as a standard deviation: the median of that, too.
    usual: f64,
    deviation: f64,
}

/// What is linear in an account, as sums of its rows (p at each place) and of the values (y): of each row with
/// itself, with the one before, and of that with itself. The equations for any correlation come out of them.
struct Account {
    count: f64,
    first: (DVector<f64>, f64),
    rows: [DMatrix<f64>; 3],
    products: [DVector<f64>; 3],
    squares: [f64; 3],
}

impl Hump {
    /// Its height at a place, where it is 1 at its centre.
    fn at(&self, place: usize) -> f64 {
        (-(place.abs_diff(self.centre) as f64 / self.width as f64).powi(2)).exp()
    }

    /// The values up to so far from its centre, of so many: from the first to behind the last.
    fn extent(&self, reach: usize, count: usize) -> (usize, usize) {
        (self.centre.saturating_sub(reach), (self.centre + reach + 1).min(count))
    }
}

impl<'a> Series<'a> {
    fn of(values: &'a [f64]) -> Self {
        let middle = values.iter().sum::<f64>() / values.len().max(1) as f64;
        let mut sums = vec![0.0];
        let mut sum = 0.0;
        sums.extend(values.iter().map(|value| {
            sum += value - middle;
            sum
        }));
        let squares = squares(values, middle);
        let (low, high) = range(values);
        let usual = median(values.to_vec());
        let deviation = OF_NORMAL * median(values.iter().map(|value| (value - usual).abs()).collect());
        Self {
            values,
            middle,
            sums,
            squares,
            usual,
            deviation,
            range: (low, high),
            least: ((high - low) * ROUNDING).powi(2).max(f64::MIN_POSITIVE),
        }
    }

    fn sum(&self, from: usize, to: usize) -> f64 {
        self.sums[to] - self.sums[from]
    }

    fn at(&self, place: usize) -> f64 {
        self.values[place] - self.middle
    }

    /// One level from each cut to the next.
    fn steps(&self, cuts: &[usize]) -> Account {
        let mut edges = vec![0];
        edges.extend(cuts);
        edges.push(self.values.len());
        let count = edges.len() - 1;
        let mut rows =
            [DMatrix::zeros(count, count), DMatrix::zeros(count, count), DMatrix::zeros(count, count)];
        let mut products = [DVector::zeros(count), DVector::zeros(count), DVector::zeros(count)];
        let end = self.values.len();
        for (level, pair) in edges.windows(2).enumerate() {
            let (from, to) = (pair[0], pair[1]);
            let (is_first, is_last) = (from == 0, to == end);
            let length = (to - from) as f64;
            rows[0][(level, level)] = length - f64::from(u8::from(is_first));
            rows[2][(level, level)] = length - f64::from(u8::from(is_last));
            rows[1][(level, level)] += 2.0 * (length - 1.0);
            if !is_last {
                // Where one level follows the other, the row before is that one's.
                rows[1][(level, level + 1)] += 1.0;
                rows[1][(level + 1, level)] += 1.0;
            }
            // A row with its own value, with the one before and the one after it, and a row with its value that has a next.
            let (begin, stop) = (from.max(1), to.min(end - 1));
            products[0][level] = self.sum(begin, to);
            products[1][level] = self.sum(begin - 1, to - 1) + self.sum(from + 1, stop + 1);
            products[2][level] = self.sum(from, stop);
        }
        let mut row = DVector::zeros(count);
        row[0] = 1.0;
        Account { count: end as f64, first: (row, self.at(0)), rows, products, squares: self.squares }
    }

    /// A curve over a stretch, by powers of time (Legendre's polynomials, which keep apart).
    fn curve(&self, from: usize, to: usize) -> Account {
        let length = (to - from) as f64;
        self.account(from, to, |place| {
            let t = 2.0 * ((place - from) as f64 + 0.5) / length - 1.0;
            SVector::from([1.0, t, 1.5 * t * t - 0.5, 2.5 * t * t * t - 1.5 * t])
        })
    }

    /// Terms over a stretch, by place.
    fn account(&self, from: usize, to: usize, row: impl Fn(usize) -> SVector<f64, TERMS>) -> Account {
        let length = (to - from) as f64;
        let mut rows = [SMatrix::<f64, TERMS, TERMS>::zeros(); 3];
        let mut products = [SVector::<f64, TERMS>::zeros(); 3];
        let mut before = row(from);
        let first = (DVector::from_column_slice(before.as_slice()), self.at(from));
        for place in from + 1..to {
            let here = row(place);
            let (value, last) = (self.at(place), self.at(place - 1));
            rows[0] += here * here.transpose();
            rows[1] += here * before.transpose() + before * here.transpose();
            rows[2] += before * before.transpose();
            products[0] += here * value;
            products[1] += here * last + before * value;
            products[2] += before * last;
            before = here;
        }
        Account {
            count: length,
            first,
            rows: rows.map(|sums| DMatrix::from_column_slice(TERMS, TERMS, sums.as_slice())),
            products: products.map(|sums| DVector::from_column_slice(sums.as_slice())),
            squares: squares(&self.values[from..to], self.middle),
        }
    }

    /// The single hump or dip that tells the series best, with its deviance, unless fewer values than a level has tell it
    /// better: of each width the place is looked for at which it leaves the smallest squares.
    fn hump(&self) -> Option<(Hump, f64)> {
        let count = self.values.len();
        let widths = std::iter::successors(Some(HUMP_WIDTH_MIN), |width| Some(width * 7 / 5));
        let best = widths
            .take_while(|width| width * HUMP_PARTS <= count)
            .filter_map(|width| {
                let hump = self.place_of_hump(width)?;
                let account = self.account(0, count, |place| SVector::from([1.0, hump.at(place), 0.0, 0.0]));
                Some((hump, self.deviance(&account.of_first(2))))
            })
            .min_by(|a, b| a.1.total_cmp(&b.1))?;
        // A few values that are far off make a hump of any width that holds them.
        let (from, to) = best.0.extent(BRIEF_MIN, count);
        let brief = (from.max(1)..to)
            .flat_map(|from| (1..BRIEF_MIN).map(move |length| [from, from + length]))
            .filter(|cuts| cuts[1] < count)
            .map(|cuts| self.deviance(&self.steps(&cuts)))
            .fold(f64::INFINITY, f64::min);
        (best.1 < brief).then_some(best)
    }

    /// The hump of a width that leaves the smallest squares.
    fn place_of_hump(&self, width: usize) -> Option<Hump> {
        let count = self.values.len();
        let gain = |hump: &Hump| {
            let (mut sum, mut own, mut product) = (0.0, 0.0, 0.0);
            let (from, to) = hump.extent(HUMP_REACH * width, count);
            for place in from..to {
                let height = hump.at(place);
                sum += height;
                own += height * height;
                product += height * self.at(place);
            }
            product * product / (own - sum * sum / count as f64)
        };
        let humps = (0..count).step_by((width / HUMP_PLACES).max(1)).map(|centre| Hump { centre, width });
        humps.map(|hump| (hump, gain(&hump))).max_by(|a, b| a.1.total_cmp(&b.1)).map(|best| best.0)
    }

    /// The usual value and the mean of those about the middle of a hump, the smaller one first.
    fn range_of(&self, hump: &Hump) -> (f64, f64) {
        let (from, to) = hump.extent((hump.width / HUMP_PLACES).max(BRIEF_MIN / 2), self.values.len());
        let there = self.middle + self.sum(from, to) / (to - from) as f64;
        (self.usual.min(there), self.usual.max(there))
    }

    /// Twice the negative logarithm of the likelihood of an account with the correlation that suits it best, but for
    /// a constant.
    fn deviance(&self, account: &Account) -> f64 {
        (0..CORRELATIONS)
            .map(|step| f64::from(step) * CORRELATION_STEP)
            .filter_map(|correlation| {
                let left = account.left(correlation)?.max(account.count * self.least);
                Some(account.count * (left / account.count).ln() - (1.0 - correlation * correlation).ln())
            })
            .fold(f64::INFINITY, f64::min)
    }

    /// Cuts without those that do not pay for themselves, the least worth first.
    fn pruned(&self, mut cuts: Vec<usize>, cost: f64) -> Vec<usize> {
        loop {
            let whole = self.deviance(&self.steps(&cuts));
            let without = |at: usize| {
                let mut fewer = cuts.clone();
                fewer.remove(at);
                self.deviance(&self.steps(&fewer)) - whole
            };
            let least = (0..cuts.len()).map(|at| (at, without(at))).min_by(|a, b| a.1.total_cmp(&b.1));
            let Some((at, _)) = least.filter(|(_, worth)| *worth < cost) else { return cuts };
            cuts.remove(at);
        }
    }

    /// Where PELT cuts noise of this memory, but for levels that are too brief: each of those is joined to the neighbour that
    /// it is more like, the most alike first. Noise of a level that scatters more than what is usual is cut up as well, and
    /// comes together again, while what parts that level from the others stays.
    fn lasting_cuts(&self, memory: f64, lasting: usize) -> Vec<usize> {
        let cuts: Vec<usize> = change_points_of(self.values, memory).iter().map(|change| change.at).collect();
        let joined = self.joined(cuts.clone(), lasting, true);
        if joined.len() > BRIEF_CUTS_MAX { self.joined(cuts, lasting, false) } else { joined }
    }

    /// Whether the level between two cuts is briefer than it has to be.
    fn is_too_brief(&self, cuts: &[usize], (from, to): (usize, usize), lasting: usize) -> bool {
        if to - from >= lasting {
            return false;
        }
        let mean = |from: usize, to: usize| self.middle + self.sum(from, to) / (to - from) as f64;
        let own = mean(from, to);
        let is_off = |other: f64| own.min(other) <= BRIEF_SHARE * own.max(other);
        let place = cuts.partition_point(|&cut| cut < from);
        let before = if place == 0 { 0 } else { cuts[place - 1] };
        let after = cuts.get(place + 2).copied().unwrap_or(self.values.len());
        let is_deep = from > 0
            && to - from >= BRIEF_MIN
            && is_off(mean(before, from))
            && (to == self.values.len() || is_off(mean(to, after)))
            && (own - self.usual).abs() > BRIEF_DEVIATIONS * self.deviation;
        !is_deep
    }

    /// Cuts without those of levels that are too brief.
    fn joined(&self, mut cuts: Vec<usize>, lasting: usize, with_brief: bool) -> Vec<usize> {
        loop {
            let parted = |at: usize| {
                let (from, cut, to) = neighbours(&cuts, at, self.values.len());
                let (left, right) = ((cut - from) as f64, (to - cut) as f64);
                let off = self.sum(from, cut) / left - self.sum(cut, to) / right;
                // By what the squares grow where both become one.
                let worth = off * off * left * right / (left + right);
                let is_brief = |from: usize, to: usize| {
                    to - from < lasting && (!with_brief || self.is_too_brief(&cuts, (from, to), lasting))
                };
                (is_brief(from, cut) || is_brief(cut, to)).then_some((at, worth))
            };
            let least = (0..cuts.len()).filter_map(parted).min_by(|a, b| a.1.total_cmp(&b.1));
            let Some((at, _)) = least else { return cuts };
            cuts.remove(at);
        }
    }

    /// Whether the levels on both sides of a cut tell those values better than a curve with as many figures does.
    fn is_sharp(&self, cuts: &[usize], at: usize) -> bool {
        let (from, cut, to) = neighbours(cuts, at, self.values.len());
        let squares = |from: usize, to: usize| {
            let mean = self.sum(from, to) / (to - from) as f64;
            (from..to).map(|place| (self.at(place) - mean).powi(2)).sum::<f64>()
        };
        let levels = squares(from, cut) + squares(cut, to);
        self.curve(from, to).of_first(TERMS_OF_LEVELS).left(0.0).is_some_and(|curve| levels < curve)
    }

    /// The changes at cuts whose share is not below `least`; where one is, the levels beside it are one.
    fn large(&self, mut cuts: Vec<usize>, least: f64) -> Vec<Change> {
        loop {
            // Rounding puts no level beyond all of its values.
            let (low, high) = self.range;
            let mean = |from: usize, to: usize| {
                (self.middle + self.sum(from, to) / (to - from) as f64).clamp(low, high)
            };
            let changes: Vec<Change> = (0..cuts.len())
                .map(|at| {
                    let (from, cut, to) = neighbours(&cuts, at, self.values.len());
                    Change { at: cut, before: mean(from, cut), after: mean(cut, to) }
                })
                .collect();
            let share = |change: &Change| (change.after / change.before - 1.0).abs();
            let smallest = changes.iter().enumerate().min_by(|a, b| share(a.1).total_cmp(&share(b.1)));
            match smallest {
                Some((at, change)) if share(change) < least => cuts.remove(at),
                _ => return changes,
            };
        }
    }
}

/// Squares about the middle, products of neighbours, and squares of those that have a next one.
fn squares(values: &[f64], middle: f64) -> [f64; 3] {
    let mut sums = [0.0; 3];
    for pair in values.windows(2) {
        let (before, value) = (pair[0] - middle, pair[1] - middle);
        sums[0] += value * value;
        sums[1] += value * before;
        sums[2] += before * before;
    }
    sums
}

impl Account {
    /// With the first of its terms alone.
    fn of_first(&self, terms: usize) -> Self {
        let Self { count, first: (row, value), rows, products, squares } = self;
        let cut = |all: &DVector<f64>| DVector::from(all.rows(0, terms));
        Self {
            count: *count,
            first: (cut(row), *value),
            rows: [0, 1, 2].map(|at| DMatrix::from(rows[at].view((0, 0), (terms, terms)))),
            products: [0, 1, 2].map(|at| cut(&products[at])),
            squares: *squares,
        }
    }

    /// Squares that the best figures leave of what a correlation does not tell beforehand. `None` where the figures are not
    /// determined.
    fn left(&self, correlation: f64) -> Option<f64> {
        let of =
            |[own, across, before]: [f64; 3]| own - correlation * across + correlation * correlation * before;
        let rest = 1.0 - correlation * correlation;
        let (row, value) = &self.first;
        let mut rows =
            &self.rows[0] - &self.rows[1] * correlation + &self.rows[2] * (correlation * correlation);
        rows.ger(rest, row, row, 1.0);
        let mut products = &self.products[0] - &self.products[1] * correlation
            + &self.products[2] * (correlation * correlation);
        products.axpy(rest * value, row, 1.0);
        let [own, across, before] = self.squares;
        let squares = of([own, 2.0 * across, before]) + rest * value * value;
        let figures = Cholesky::new(rows)?.solve(&products);
        Some((squares - figures.dot(&products)).max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::normal;

    /// Noise of mean 0 and standard deviation 1 whose neighbours correlate.
    fn noise(count: usize, memory: f64, random: &mut fastrand::Rng) -> Vec<f64> {
        let mut at = normal(random);
        let mut all = Vec::with_capacity(count);
        for _ in 0..count {
            all.push(at);
            at = memory * at + (1.0 - memory * memory).sqrt() * normal(random);
        }
        all
    }

    /// Shares of 200 noisy series of such a course that have jumps, and that are smooth; any size counts.
    fn found(count: usize, memory: f64, course_of: impl Fn(f64) -> f64) -> (f64, f64) {
        let (mut jumps, mut smooth) = (0, 0);
        for seed in 0..200 {
            let mut random = fastrand::Rng::with_seed(seed);
            let values: Vec<f64> = noise(count, memory, &mut random)
                .iter()
                .enumerate()
                .map(|(at, off)| 100.0 + course_of(at as f64 / count as f64) + off)
                .collect();
            let found = course(&values, 5.max(count / 20), 0.0);
            jumps += u32::from(!found.jumps.is_empty());
            smooth += u32::from(found.is_smooth);
        }
        (f64::from(jumps) / 200.0, f64::from(smooth) / 200.0)
    }

    #[test]
    fn noise_has_no_levels_however_long_it_remembers() {
        for count in [12, 20, 30, 60, 120, 300] {
            for memory in [0.0, 0.3, 0.6, 0.9] {
                let (jumps, smooth) = found(count, memory, |_| 0.0);
                let most = if memory < 0.5 { 0.02 } else { 0.05 };
                assert!(jumps <= most && smooth <= most, "{jumps} {smooth} of {count} with {memory}");
            }
        }
    }

    #[test]
    fn steps_of_three_standard_deviations_are_found() {
        for (count, least) in [(60, 0.95), (120, 0.97), (300, 0.99)] {
            for place in [0.2, 0.5, 0.8] {
                let step = |t: f64| if t < place { 3.0 } else { 0.0 };
                let (jumps, _) = found(count, 0.0, step);
                assert!(jumps >= least, "{jumps} of {count} at {place}");
            }
        }
        // What is gross is found in a dozen values, and in noise that remembers.
        for (count, memory) in [(12, 0.0), (20, 0.0), (20, 0.5), (60, 0.7)] {
            let (jumps, _) = found(count, memory, |t| if t < 0.5 { 10.0 } else { 0.0 });
            assert!(jumps >= 0.97, "{jumps} of {count} with {memory}");
        }
    }

    #[test]
    fn what_is_smooth_has_no_jumps() {
        let courses: [fn(f64) -> f64; 4] = [
            |t| 30.0 * t,
            |t| 100.0 * t,
            |t| 60.0 * (-3.0 * t).exp(),
            |t| 20.0 * (std::f64::consts::TAU * t / 2.0).sin(),
        ];
        for count in [30, 60, 120, 300] {
            for memory in [0.0, 0.5] {
                for (which, course_of) in courses.iter().enumerate() {
                    let (jumps, _) = found(count, memory, course_of);
                    assert!(jumps <= 0.02, "{jumps} of {count} with {memory}, {which}");
                }
            }
        }
        // Without noise as well, and with a jump of its own.
        let ramp: Vec<f64> = (0..200).map(|at| 1000.0 + f64::from(at)).collect();
        assert_eq!(course(&ramp, 10, 0.0), Course { jumps: Vec::new(), is_smooth: true });
        let broken: Vec<f64> =
            (0..200).map(|at| if at < 120 { 1000.0 + f64::from(at) } else { 300.0 }).collect();
        let jumps: Vec<usize> = course(&broken, 10, 0.1).jumps.iter().map(|jump| jump.at).collect();
        assert_eq!(jumps, [120]);
    }

    #[test]
    fn levels_of_exact_series_are_exact() {
        let levels = |parts: &[(usize, f64)]| -> Vec<f64> {
            parts.iter().flat_map(|&(count, level)| std::iter::repeat_n(level, count)).collect()
        };
        let check = |parts: &[(usize, f64)], expect: &[(usize, f64, f64)]| {
            let found = course(&levels(parts), 5, 0.1).jumps;
            assert_eq!(found.len(), expect.len(), "{found:?}");
            for (jump, &(at, before, after)) in found.iter().zip(expect) {
                let is_close = (jump.before - before).abs() < 1e-9 && (jump.after - after).abs() < 1e-9;
                assert!(jump.at == at && is_close, "{jump:?}");
            }
        };
        check(&[(60, 7.0)], &[]);
        check(&[(30, 100.0), (30, 50.0)], &[(30, 100.0, 50.0)]);
        check(&[(30, 100.0), (40, 50.0), (30, 100.0)], &[(30, 100.0, 50.0), (70, 50.0, 100.0)]);
        // Too brief, and too small.
        check(&[(30, 100.0), (3, 50.0), (30, 100.0)], &[]);
        check(&[(30, 100.0), (30, 95.0)], &[]);
    }
}
