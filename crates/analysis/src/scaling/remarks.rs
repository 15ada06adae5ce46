//! What a reader of a curve should know beside its answers, in words: what no law tells, what it leaves, what was not measured.
//! Chooses no law.

use super::choice::{
    AICC_DECISIVE, AICC_SAME, AICC_SUPPORTED, ERROR_MAX, LOADS_MIN, Lawless, is_mixed, misfits,
};
use super::fit::{Fit, Point};
use super::law::Law;
use super::{curve, verdict::Verdict};
use fathom_units::significant;

/// What is to be said of a law that the means of repeated measurements are not on.
pub(super) fn lack_of_fit(fit: &Fit) -> String {
    format!(
        "{}: it passes the loads by more than measuring them again scattered, by up to {:.1} %: intervals count that, but the curve \
         has a shape of its own",
        fit.law.name(),
        fit.max_relative_error * 100.0
    )
}

/// What is to be said where resamples have a peak in part.
pub(super) fn mixed(resampled: &[Law]) -> Option<String> {
    is_mixed(resampled).then(|| {
        "measured again it might have no peak, or have one: the load at 95 % of the most has no interval, since it is another \
         one with a peak than without"
            .to_owned()
    })
}

/// What is to be said of a load at 95 % of the most that no law tells, and that lies between loads that are far apart.
pub(super) fn unmeasured(is_read_off: bool, loads: &[curve::Load]) -> Option<String> {
    let (low, high) = curve::unmeasured_share(loads, 0.95).filter(|_| is_read_off)?;
    Some(format!(
        "the load at 95 % of the most is not known better than its interval: no load between {low} and {high} was measured"
    ))
}

/// Share of linear growth that the smallest load has to keep by a law for what one operation alone does to be told by it.
const ALONE_SHARE_MIN: f64 = 0.8;

/// What is to be said of the units in parallel where one operation alone was not measured and the smallest load is too far from it:
/// eight at a time at 1 ms each may be eight units of 1 ms or one of 125 µs. Throughput grows by no more than the load, and does
/// not fall with it: the units are no fewer than the ceiling has in throughputs of the smallest load, and no more than that times
/// the load.
pub(super) fn units_between(law: &Law, loads: &[curve::Load]) -> Option<String> {
    let first = loads.first().filter(|first| first.n > 1.0)?;
    let ceiling = law.most()?;
    if law.throughput(first.n) >= ALONE_SHARE_MIN * law.throughput(1.0) * first.n {
        return None;
    }
    let least = (ceiling / first.x).max(1.0);
    let rounded = |value: f64| (value * 100.0).round() / 100.0;
    let most = rounded(least * first.n);
    let between = if least < 1.05 {
        format!("at most {most}")
    } else {
        format!("between {} and {most}", rounded(least))
    };
    Some(format!(
        "parallel units: {between}; no load below {} was measured, so that few fast units cannot be told from many slow ones; measure \
         from load 1 on",
        rounded(first.n)
    ))
}

/// What is to be said of a law that lies far from some loads, which small ones may where every operation counts alike.
pub(super) fn misfit(fit: &Fit, loads: &[curve::Load]) -> Option<String> {
    let misfits = misfits(fit, loads);
    let (n, share) = misfits.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let n = (n * 100.0).round() / 100.0;
    Some(format!(
        "{}: it leaves {:.0} % of what was measured at load {n}, and more than {:.0} % at {} of {} loads: it describes the others, and what \
         it says of these is no figure of theirs",
        fit.law.name(),
        share * 100.0,
        ERROR_MAX * 100.0,
        misfits.len(),
        loads.len()
    ))
}

/// Why no law tells of a curve.
pub(super) fn lawless(fits: &[Fit], chosen: Option<usize>, loads: &[curve::Load]) -> Option<Lawless> {
    if chosen.is_some() {
        return None;
    }
    // Of a law with as many coefficients as there are loads nothing tells whether it fits.
    if loads.len() < LOADS_MIN || fits.iter().any(|fit| fit.aicc.is_none()) {
        return Some(Lawless::FewLoads);
    }
    if outgrows(loads) {
        return Some(Lawless::Superlinear);
    }
    let aicc = |is_line: bool| {
        let of_kind = fits.iter().filter(|fit| matches!(fit.law, Law::Linear { .. }) == is_line);
        of_kind.filter_map(|fit| fit.aicc).reduce(f64::min)
    };
    let is_near = aicc(true).zip(aicc(false)).is_some_and(|(line, bent)| line < bent + AICC_SUPPORTED);
    let is_line =
        is_near && !curve::falls(loads) && grows(loads) && !bends_throughout(loads) && keeps_its_slope(loads);
    Some(if is_line { Lawless::Rough } else { Lawless::OtherShape })
}

/// Share of what an operation in flight brings at the smallest load that it brings at the largest where throughput bends.
const BENT_SHARE: f64 = 0.85;
/// Share of what an operation in flight brings at the second best of the loads (the best one may be off by itself) that it brings at the
/// largest of a straight line: with two loads a quarter off upwards and the last one by two quarters downwards it is 0.4.
const SLOPE_SHARE: f64 = 0.3;

/// Whether the largest load brings so much of what others do for each operation in flight that it may be on a straight line with them.
fn keeps_its_slope(loads: &[curve::Load]) -> bool {
    let mut of_each: Vec<f64> = loads.iter().map(|load| load.x / load.n).collect();
    let Some(&last) = of_each.last() else { return false };
    of_each.sort_by(|a, b| b.total_cmp(a));
    of_each.get(1).is_none_or(|second| last >= SLOPE_SHARE * second)
}

/// Whether an operation in flight brings no more at any load than at the one before, and less at the last than noise makes of it: of six
/// loads on a straight line, noise brings one order in 720 that is this.
fn bends_throughout(loads: &[curve::Load]) -> bool {
    let of_each = |load: &curve::Load| load.x / load.n;
    let (Some(first), Some(last)) = (loads.first(), loads.last()) else { return false };
    loads.is_sorted_by(|one, next| of_each(one) >= of_each(next))
        && of_each(last) < BENT_SHARE * of_each(first)
}

/// Share of the loads beyond the smallest of which an operation in flight has to bring more than there: those next to it may be too near
/// to be told from it.
const OUTGROWS_MIN: f64 = 0.6;

/// Whether throughput grows faster than the load, beyond what measuring again scatters: at most loads, and at the largest, an operation
/// in flight brings more than at the smallest, and at none less than at a smaller one. Of loads that were measured once their order
/// tells: of six alike one in 720 is this.
fn outgrows(loads: &[curve::Load]) -> bool {
    let of_each = |load: &curve::Load| {
        let (each, margin) = (load.x / load.n, load.margin.unwrap_or(0.0) / load.n);
        (each - margin, each + margin)
    };
    let [first, others @ ..] = loads else { return false };
    let (mut highest, most) = of_each(first);
    let (mut more, mut is_more) = (0_usize, false);
    for (low, high) in others.iter().map(of_each) {
        if high < highest {
            return false;
        }
        highest = highest.max(low);
        is_more = low > most;
        more += usize::from(is_more);
    }
    is_more && more as f64 >= OUTGROWS_MIN * others.len() as f64
}

/// Of all pairs of loads, the share in which the larger gives more, less that in which it gives less, from which on throughput grows with
/// the load (Kendall 1938): a straight line that single loads lie a quarter off, by twice as many at a time, has it.
const GROWS_MIN: f64 = 0.6;

fn grows(loads: &[curve::Load]) -> bool {
    let pairs = loads
        .iter()
        .enumerate()
        .flat_map(|(at, one)| loads[at + 1..].iter().map(move |other| other.x - one.x));
    let (mut more, mut all) = (0.0, 0.0);
    for off in pairs {
        all += 1.0;
        more += if off == 0.0 { 0.0 } else { off.signum() };
    }
    more >= GROWS_MIN * all && grows_at_last(loads)
}

/// Share of a straight line's growth that the largest load has to bring more than one before it: with every load off by a quarter, the
/// double brings a fifth more at least.
const GROWTH_MIN: f64 = 0.1;
/// Times that a load is smaller than the largest, to be compared with it: nearer ones differ by no more than noise, and of those that
/// are a quarter of it or more none may have been low by chance alone.
const BEFORE_LAST: (f64, f64) = (2.0, 4.0);

/// Whether the largest load still brings more than those before it. A plateau in which one load came out low is none.
fn grows_at_last(loads: &[curve::Load]) -> bool {
    let [before @ .., last] = loads else { return false };
    let grows_from = |load: &curve::Load| last.x / load.x - 1.0 >= GROWTH_MIN * (last.n / load.n - 1.0);
    let (least, most) = BEFORE_LAST;
    before.iter().filter(|load| (least..=most).contains(&(last.n / load.n))).all(grows_from)
}

/// What is to be said of measurements that tell no law: where they contradict no straight line, and where they rise above it.
pub(super) fn of_lawless(why: Lawless, loads: &[curve::Load]) -> Option<String> {
    match why {
        Lawless::Rough => Some(
            "so few measurements do not tell a law that bends from a straight line with noise, and that passes some loads by too much \
             to be taken: measure more loads, and each again"
                .to_owned(),
        ),
        Lawless::Superlinear => superlinear(loads),
        Lawless::FewLoads | Lawless::OtherShape | Lawless::OneMeasurement => None,
    }
}

fn superlinear(loads: &[curve::Load]) -> Option<String> {
    let (first, last) = loads.first().zip(loads.last())?;
    let rounded = |n: f64| (n * 100.0).round() / 100.0;
    Some(format!(
        "an operation in flight brings {} times as much at load {} as at load {}, and in no queue does it bring more beside others: caches \
         or batches may do that, and loads that differ in more than their number; compare what the device got at each, or keep data, sizes \
         and caching the same at all of them, and measure again",
        significant((last.x / last.n) / (first.x / first.n)),
        rounded(last.n),
        rounded(first.n)
    ))
}

/// What is to be said where the data does not tell what throughput approaches: since no load was measured in a gap, or none beyond the
/// largest.
pub(super) fn open_ceiling(gap: Option<(f64, f64)>) -> String {
    if let Some((low, high)) = gap {
        let (low, high) = ((low * 100.0).round() / 100.0, (high * 100.0).round() / 100.0);
        return format!(
            "no load between {low} and {high} was measured, where by a law that fits as well throughput would be far higher than at any that was: \
             what it approaches, and what hangs on it, is not pinned down; measure loads between them"
        );
    }
    "what throughput approaches, and what hangs on it, is not pinned down by the loads that were measured: measure larger ones".to_owned()
}

pub(super) fn remarks(
    fits: &[Fit],
    chosen: Option<usize>,
    verdict: Verdict,
    points: &[Point],
    loads: &[curve::Load],
    reads_off: bool,
) -> Vec<String> {
    let mut remarks = Vec::new();
    // What is flat needs no law.
    if loads.len() < LOADS_MIN && verdict != Verdict::Flat {
        remarks.push(format!(
            "only {} different loads: a law needs at least {LOADS_MIN} to be told from another",
            loads.len()
        ));
    }
    if (chosen.is_none() || reads_off) && loads.iter().any(|load| load.margin.is_none()) {
        remarks.push(
            "a load was measured once: what is read off between the loads has no interval, or that from the one to the other \
             where they are far apart; measure each again"
                .to_owned(),
        );
    }
    if chosen.is_some_and(|at| !matches!(fits[at].law, Law::Usl { .. })) && curve::falls(loads) {
        remarks.push(
            "throughput is lower at the last loads, which were measured once: that may be noise; measure each again"
                .to_owned(),
        );
    }
    remarks.extend(curve::outliers(points));
    remarks.extend(chosen.and_then(|at| misfit(&fits[at], loads)));
    let own = chosen.and_then(|at| fits[at].aicc);
    // Nor does it matter which law would fit the noise of what is flat.
    for fit in fits.iter().filter(|fit| {
        verdict != Verdict::Flat && own.zip(fit.aicc).is_some_and(|(own, aicc)| aicc + AICC_SAME < own)
    }) {
        remarks.push(match fit.law {
            Law::Capped { .. } => format!(
                "capped: its AICc is lower, but a kink is taken for true only where that is by more than {AICC_DECISIVE:.0}"
            ),
            law if curve::falls(loads) && !matches!(law, Law::Usl { .. }) => {
                format!("{}: its AICc is lower, but throughput falls at the last loads, which this law cannot", law.name())
            }
            law if own.zip(fit.aicc).is_some_and(|(own, aicc)| own < aicc + AICC_SUPPORTED)
                && chosen.is_some_and(|at| matches!(fits[at].law, Law::Linear { .. })) =>
            {
                format!("{}: its AICc is lower, but by too little to say that throughput bends", law.name())
            }
            law => format!(
                "{}: its AICc is lower, but it leaves more than {:.0} % somewhere, so that it is no law of these points",
                law.name(),
                ERROR_MAX * 100.0
            ),
        });
    }
    if let Some(Fit { law: Law::SoftMin { sharpness, .. }, coefficients, .. }) = chosen.map(|at| &fits[at])
        && coefficients.iter().any(|c| c.at_bound)
    {
        remarks.push(if *sharpness > 1.5 {
            format!(
                "softmin: q is held at {sharpness:.0}, its bound: the knee is sharper than loads so far apart can tell"
            )
        } else {
            "softmin: q is held at 1, its bound: the bend is wider than this law can be, and its ceiling uncertain"
                .to_owned()
        });
    }
    for fit in fits {
        if let (Law::Usl { beta: 0.0, .. }, Some(free)) = (fit.law, &fit.unconstrained)
            && free.iter().any(|c| c.name == "beta" && c.value < 0.0)
        {
            remarks.push(
                "usl: β is held at 0, its bound: no load is seen beyond which throughput falls".to_owned(),
            );
        }
    }
    remarks
}
