//! Each family of answers against closed forms alone, so that it is tested where there is no corpus as well: every
//! figure here follows from a formula that stands beside it.

use crate::close;
use fathom_analysis::layouts::{
    ddsketch_key, ddsketch_value, elbencho_bucket, elbencho_value, fio, hdr, hdr_bucket,
};
use fathom_analysis::scaling::{
    Answers, EXACT, Fit, Law, Point, Statistic, Verdict, Weighting, answers, measured_limit,
};
use fathom_analysis::statistics::{
    Sample, autocorrelation, change_points, dominant_segment, hurst, quantile_needs, quantiles,
    subsession_means, subsessions, trend, warm_up, welch,
};
use fathom_analysis::steady::{Rule, judge};
use fathom_metrics::{Latency, fio_bucket_of};

const DEPTHS: [f64; 9] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];

fn of_law(loads: &[f64], x: impl Fn(f64) -> f64) -> Vec<Point> {
    loads.iter().map(|&n| Point { n, x: x(n) }).collect()
}

fn answer(points: &[Point]) -> Answers {
    answers(points, None, Weighting::Equal, &[0.001, 0.002], 1)
}

fn chosen(found: &Answers) -> &'static str {
    found.chosen.map_or("none", |at| found.fits[at].law.name())
}

#[test]
fn the_law_of_a_curve_is_found_again() {
    let (alpha, beta, gamma) = (0.03, 0.0005, 900.0);
    let law = |n: f64| gamma * n / (1.0 + alpha * (n - 1.0) + beta * n * (n - 1.0));
    let loads: Vec<f64> = (0..12).map(|i| 1.0 + 8.0 * f64::from(i)).collect();
    let found = answer(&of_law(&loads, law));
    assert_eq!((chosen(&found), found.verdict), ("usl", Verdict::Retrograde));
    for (coefficient, expect) in
        found.fits[found.chosen.unwrap()].coefficients.iter().zip([alpha, beta, gamma])
    {
        close(coefficient.name, coefficient.value, expect, 1e-6);
    }
    // N* = √((1 − α)/β).
    let peak = ((1.0 - alpha) / beta).sqrt();
    close("peak", found.peak.n.value, peak, 1e-6);
    close("peak", found.peak.x.value, law(peak), 1e-6);
    // The most X/R: 3βN² + (α − β)N − (1 − α) = 0.
    let knee =
        ((beta - alpha) + ((alpha - beta).powi(2) + 12.0 * beta * (1.0 - alpha)).sqrt()) / (6.0 * beta);
    close("knee", found.knee.unwrap().value, knee, 1e-6);
    let at = found.n_at_95_percent.unwrap().value;
    close("95 %", law(at), 0.95 * law(peak), 1e-6);
    // R(N) = D(N)/γ = 2 ms.
    let limit = found.latency_limits[1].n.unwrap().value;
    close("limit", limit / law(limit), 0.002, 1e-6);
}

/// The USL's standard errors are √(s²·(JᵀJ)⁻¹): here with a Jacobian by differences and an inverse by cofactors.
#[test]
fn standard_errors_are_those_of_the_normal_equations() {
    let law = |n: f64, [a, b, g]: [f64; 3]| g * n / (1.0 + a * (n - 1.0) + b * n * (n - 1.0));
    let off = [3.0, -5.0, 4.0, -2.0, 6.0, -7.0, 5.0, -3.0, 2.0, -4.0];
    let loads: Vec<f64> = (0..10).map(|i| 1.0 + 6.0 * f64::from(i)).collect();
    let points: Vec<Point> =
        loads.iter().zip(off).map(|(&n, off)| Point { n, x: law(n, [0.03, 0.0005, 90.0]) + off }).collect();
    let fit = Fit::usl(&points, Weighting::Equal).expect("it can be fitted");
    let found: [f64; 3] = std::array::from_fn(|at| fit.coefficients[at].value);
    let derivative = |n: f64, at: usize| {
        let step = found[at] * 1e-6;
        let moved =
            |by: f64| law(n, std::array::from_fn(|other| found[other] + if other == at { by } else { 0.0 }));
        (moved(step) - moved(-step)) / (2.0 * step)
    };
    let normal: [[f64; 3]; 3] = std::array::from_fn(|i| {
        std::array::from_fn(|j| loads.iter().map(|&n| derivative(n, i) * derivative(n, j)).sum())
    });
    let minor = |i: usize, j: usize| {
        let [r, s] = [(i + 1) % 3, (i + 2) % 3];
        let [u, v] = [(j + 1) % 3, (j + 2) % 3];
        normal[r][u] * normal[s][v] - normal[r][v] * normal[s][u]
    };
    let determinant: f64 = (0..3).map(|j| normal[0][j] * minor(0, j)).sum();
    let rss: f64 = points.iter().map(|p| (p.x - law(p.n, found)).powi(2)).sum();
    // At the optimum the residuals are orthogonal to the derivatives.
    for at in 0..3 {
        let product: f64 = points.iter().map(|p| (p.x - law(p.n, found)) * derivative(p.n, at)).sum();
        let scale: f64 = points.iter().map(|p| ((p.x - law(p.n, found)) * derivative(p.n, at)).abs()).sum();
        assert!(product.abs() < 1e-5 * scale, "{product} of {scale}");
    }
    for at in 0..3 {
        let expect = (rss / 7.0 * minor(at, at) / determinant).sqrt();
        close("standard error", fit.coefficients[at].standard_error.unwrap(), expect, 1e-3);
    }
}

#[test]
fn devices_with_units_knees_and_caps() {
    // c units, each 1000/s, closed network: X = μcN/(N + c − 1), which is the USL with α = 1/c.
    let found = answer(&of_law(&DEPTHS, |n| 8000.0 * n / (n + 7.0)));
    assert_eq!((chosen(&found), found.verdict), ("usl", Verdict::Contention));
    close("units", found.parallel_units.unwrap().value, 8.0, 1e-3);
    close("ceiling", found.ceiling.unwrap().value, 8000.0, 1e-3);
    // A hard knee at 16.
    let found = answer(&of_law(&DEPTHS, |n| 1000.0 * n.min(16.0)));
    assert_eq!((chosen(&found), found.verdict), ("softmin", Verdict::Capped));
    assert!(found.fits[found.chosen.unwrap()].max_relative_error <= 0.0015);
    close("knee", found.knee.unwrap().value, 16.0, 2e-3);
    assert!(!found.peak.is_of_law, "no false peak");
    // Contention up to a cap: 32 units, 10,000/s at most; no smooth law has that kink.
    let loads: Vec<f64> = (1..=20).map(f64::from).chain(DEPTHS[5..].iter().copied()).collect();
    let found = answer(&of_law(&loads, |n| (32_000.0 * n / (n + 31.0)).min(10_000.0)));
    assert_eq!(found.verdict, Verdict::Capped);
    close("ceiling", found.ceiling.unwrap().value, 10_000.0, 1e-2);
    let law = Law::SoftMin { slope: 1000.0, cap: 16_000.0, sharpness: 1.0 };
    close("soft minimum at q = 1", law.throughput(16.0), 8000.0, 1e-9);
}

#[test]
fn what_has_no_noise_has_no_width() {
    let found = answer(&of_law(&DEPTHS, |n| 8000.0 * n / (n + 7.0)));
    let exact = |estimate: fathom_analysis::scaling::Estimate| {
        assert_eq!(estimate.interval, Some((estimate.value, estimate.value)));
    };
    exact(found.ceiling.unwrap());
    exact(found.parallel_units.unwrap());
    exact(found.latency_limits[1].n.unwrap());
    exact(found.latency_limits[1].x.unwrap());
    // As many points as coefficients are no evidence of exactness.
    let few = answer(&of_law(&DEPTHS[..3], |n| 8000.0 * n / (n + 7.0)));
    assert!(
        few.latency_limits[0].n.is_none_or(|n| n.interval.is_none_or(|(low, high)| low < high)),
        "{few:#?}"
    );
}

#[test]
fn a_bound_that_holds_is_told_and_has_no_error() {
    // A hard knee is sharper than any soft one.
    let found = answer(&of_law(&DEPTHS, |n| 1000.0 * n.min(16.0)));
    let fit = &found.fits[found.chosen.unwrap()];
    let of = |name: &str| *fit.coefficients.iter().find(|c| c.name == name).expect("it has one");
    assert_eq!((fit.law.name(), of("q").at_bound, of("q").standard_error), ("softmin", true, None));
    assert!(of("cap").standard_error.is_some_and(|error| error < 10.0), "{:?}", of("cap"));
    assert!(found.remarks.iter().any(|remark| remark.contains("its bound")), "{:?}", found.remarks);
}

#[test]
fn figures_without_a_law_have_intervals_where_loads_came_again() {
    // Superlinear, then flat: no law. Three measurements of each load, ± 1 %.
    let curve = |n: f64| {
        if n < 2.0 {
            1000.0
        } else if n < 4.0 {
            5000.0
        } else {
            5400.0 + n
        }
    };
    let points: Vec<Point> =
        DEPTHS.iter().flat_map(|&n| [0.99, 1.0, 1.01].map(|off| Point { n, x: curve(n) * off })).collect();
    let found = answer(&points);
    assert_eq!(found.verdict, Verdict::NoLaw);
    let holds = |estimate: fathom_analysis::scaling::Estimate, expect: f64| {
        let (low, high) = estimate.interval.expect("each load came three times");
        assert!(low <= expect && expect <= high && high > low, "{estimate:?}, {expect}");
    };
    holds(found.peak.x, 5656.0);
    holds(found.n_at_95_percent.unwrap(), found.n_at_95_percent.unwrap().value);
    // N/X is 1 ms between 4 (0.74) and 8 (1.48).
    let limit = found.latency_limits[0].n.unwrap();
    assert!((5.0..6.0).contains(&limit.value), "{limit:?}");
    holds(limit, limit.value);
    // On straight lines: latency 1 at load 1, 3 at load 3; N/X is 0.1 there and 0.15, so that it is 0.125 at 2.
    let line = [Point { n: 1.0, x: 10.0 }, Point { n: 3.0, x: 20.0 }];
    let at = measured_limit(&line, &[1.0, 3.0], Statistic::Quantile, &EXACT, 2.0);
    assert_eq!((at.n.unwrap().value, at.x.unwrap().value), (2.0, 16.0));
    // Eight exponential units of 1 ms, all busy: more load is no more throughput, whatever a percentile does in between.
    let busy = [Point { n: 32.0, x: 8000.0 }, Point { n: 64.0, x: 8000.0 }];
    let at = measured_limit(&busy, &[0.007_788, 0.012_12], Statistic::Quantile, &EXACT, 0.01);
    assert!((48.3..48.4).contains(&at.n.unwrap().value), "{at:?}");
    assert!((at.x.unwrap().value - 8000.0).abs() < 1e-6, "{at:?}");
}

#[test]
fn rounds_by_both_rules() {
    // The first window that the rules see differently: range 15.4 %, the line rises by 12.05 % (within ± 10 % all the same).
    let rounds = [104.7, 166.7, 210.2, 238.7, 262.6, 267.2, 279.2, 270.1];
    let (literal, envelope) = (judge(&rounds, Rule::Literal), judge(&rounds, Rule::Envelope));
    assert_eq!((literal.steady_at, envelope.steady_at), (None, Some(8)));
    let window = literal.window.unwrap();
    close("range", window.range / window.mean, 0.154, 5e-3);
    close("excursion", window.slope_excursion() / window.mean, 0.1205, 5e-3);
    // A line 100 + a·(r − 3): its range is its excursion, so 10 % is the limit and inclusive.
    for (a, steady_at) in [(2.5, Some(5)), (2.500_001, None), (-2.5, Some(5))] {
        let rounds: Vec<f64> = (1..=5).map(|r| 100.0 + a * (f64::from(r) - 3.0)).collect();
        assert_eq!(judge(&rounds, Rule::Literal).steady_at, steady_at, "{a}");
    }
    // e^(−r): each window falls by as much of itself, so none is ever steady; with a floor it comes to be.
    let falling: Vec<f64> = (0..25).map(|r| (-0.1 * f64::from(r)).exp()).collect();
    assert_eq!(judge(&falling, Rule::Literal).steady_at, None);
    let settling: Vec<f64> = (0..25).map(|r| 100.0 + 900.0 * (-f64::from(r)).exp()).collect();
    // Of rounds 5 … 9 (e⁻⁴ is 16.5): 12.4 % of range but 4·|slope| 13 %; one later 5.7 % and 5 %.
    let at = judge(&settling, Rule::Literal).steady_at.expect("it settles");
    let window = |at: usize| judge(&settling[at - 5..at], Rule::Literal).steady_at.is_some();
    assert!(window(at) && !window(at - 1), "{at}");
}

#[test]
fn memory_is_merged_away() {
    // Levels that come four at a time and are a permutation without memory: subsessions of four are those levels.
    let levels: Vec<f64> = (0..64).map(|i| f64::from(i * 37 % 64)).collect();
    let values: Vec<f64> = levels.iter().flat_map(|&level| [level; 4]).collect();
    let mean = Sample::of(&values).mean;
    close("mean", mean, 31.5, 1e-12);
    // Within a level the neighbours are equal, across levels as the levels are: (3 + ρ)/4 but for the two ends.
    let across = autocorrelation(&levels, mean);
    close("correlation", autocorrelation(&values, mean), (3.0 + across) / 4.0, 1e-9);
    assert_eq!(subsession_means(&values, 4), levels);
    let found = subsessions(&values).expect("it is long enough");
    assert!(found.is_independent && found.length >= 2, "{found:?}");
    // n values 0 … n−1 have the variance n(n + 1)/12.
    close("variance", Sample::of(&levels).variance, 64.0 * 65.0 / 12.0, 1e-9);
}

#[test]
fn means_are_told_apart_by_welch() {
    // 1 … 5 and 2 … 10 by twos: variances 2.5 and 10, n = 5; t = −3/√2.5, ν = 12.5²/((2.5² + 10²)/4)
    let found =
        welch(&Sample::of(&[1.0, 2.0, 3.0, 4.0, 5.0]), &Sample::of(&[2.0, 4.0, 6.0, 8.0, 10.0])).unwrap();
    close("t", found.t, -3.0 / 2.5_f64.sqrt(), 1e-12);
    close("freedom", found.freedom, 12.5_f64.powi(2) / ((2.5_f64.powi(2) + 100.0) / 4.0), 1e-12);
    assert!((found.p - 0.107).abs() < 1e-3, "{found:?}");
}

#[test]
fn levels_and_warm_up() {
    let series = |parts: &[(usize, f64)]| -> Vec<f64> {
        parts.iter().flat_map(|&(count, level)| std::iter::repeat_n(level, count)).collect()
    };
    let steps = series(&[(30, 1.1), (130, 5.1), (40, 2.0)]);
    let found: Vec<usize> = change_points(&steps).iter().map(|change| change.at).collect();
    assert_eq!(found, [30, 160]);
    assert_eq!(dominant_segment(&steps), Some((30, 160)));
    assert_eq!(dominant_segment(&series(&[(50, 1.0), (50, 2.0), (50, 3.0)])), None);
    // Leaving out exactly the first level makes the variance 0.
    let found = warm_up(&series(&[(30, 100.0), (170, 50.0)])).unwrap();
    assert_eq!((found.length, found.is_found), (30, true));
}

#[test]
fn percentiles_and_what_they_need() {
    // ⌈ln 0.025 / ln p⌉.
    for (p, needs) in [(0.9_f64, 36_u32), (0.95, 72), (0.99, 368), (0.999, 3688), (0.9999, 36_887)] {
        assert_eq!((0.025_f64.ln() / p.ln()).ceil().to_bits(), f64::from(needs).to_bits());
        assert_eq!(quantile_needs(p), u64::from(needs));
    }
    // Merged counts, never means of percentiles: 10,000 values of which 1 % are slow, and 1000 in between.
    let side = |parts: &[(u64, u64)]| {
        let mut latency = Latency::default();
        parts.iter().for_each(|&(count, ns)| (0..count).for_each(|_| latency.record(ns)));
        latency
    };
    let near =
        |found: Option<u64>, expect: f64| close("p99", found.expect("it has values") as f64, expect, 0.004);
    let a = side(&[(9900, 100_000), (100, 10_000_000)]);
    let b = side(&[(1000, 5_000_000)]);
    near(a.quantile(0.99), 100_000.0);
    near(b.quantile(0.99), 5_000_000.0);
    near(side(&[(9900, 100_000), (1000, 5_000_000), (100, 10_000_000)]).quantile(0.99), 5_000_000.0);
    let values: Vec<f64> = (1..=1000).map(f64::from).collect();
    assert_eq!(quantiles(&values, &[0.99])[0].value, Some(990.0));
}

#[test]
fn buckets_of_other_tools() {
    // fio: exact below 128, then 64 per power of two; index (e + 1)·64 + the six bits after the first, e = msb − 6.
    for ns in [0_u64, 1, 127, 128, 129, 1000, 4096, 123_456_789] {
        let expect = if ns < 128 {
            ns
        } else {
            let shift = u64::from(ns.ilog2()) - 6;
            (shift + 1) * 64 + (ns >> shift & 63)
        };
        assert_eq!(fio_bucket_of(ns) as u64, expect, "{ns}");
        assert!((fio(ns) as f64 - ns as f64).abs() <= (ns as f64 / 128.0).max(0.5), "{ns}");
    }
    // HdrHistogram with 3 digits: as wide as 1/1024 of the power of two.
    for ns in [5_u64, 2047, 2048, 1_000_000] {
        let (low, width) = hdr_bucket(ns);
        assert!(low <= ns && ns < low + width && hdr(ns) == low + width - 1, "{ns}");
        assert_eq!(width, if ns < 2048 { 1 } else { 1 << (ns.ilog2() - 10) }, "{ns}");
    }
    // elbencho: four buckets per power of two of microseconds, printed as their upper ends.
    for (ns, upper_us) in
        [(0, 2.0_f64.powf(0.25)), (1999, 2.0_f64.powf(0.25)), (2000, 2.0_f64.powf(1.25)), (1_000_000, 1024.0)]
    {
        let found = elbencho_bucket(ns).map(elbencho_value).unwrap();
        assert!((found - 1000.0 * upper_us).abs() < 1e-6 * found, "{ns} {found}");
    }
    assert_eq!((elbencho_bucket(225_000_000_000), elbencho_bucket(230_000_000_000)), (Some(110), None));
    // DDSketch: within 1 %.
    for ns in [1_u64, 10, 12_345, 1_000_000_007] {
        let value = ddsketch_value(ddsketch_key(ns));
        assert!((value / ns as f64 - 1.0).abs() <= 0.01 + 1e-9, "{ns} {value}");
    }
}

/// Two weeks have a million seconds. What took n² steps of them would not end in the time of this whole test run; the
/// series has all that calls for work: memory, two levels, and noise between which no change is found.
#[test]
fn a_million_intervals_are_analysed() {
    let mut random = fastrand::Rng::with_seed(3);
    let mut held = 0.0;
    let values: Vec<f64> = (0..1_000_000)
        .map(|i| {
            held = 0.9 * held + random.f64() - 0.5;
            if i < 700_000 { 100.0 + held } else { 60.0 + held }
        })
        .collect();
    let found = change_points(&values);
    assert!(found.iter().any(|change| change.at.abs_diff(700_000) < 3), "{found:?}");
    let level = &values[..700_000];
    assert!(subsessions(level).expect("it is long").is_independent);
    assert!(warm_up(level).expect("it is long").is_found);
    assert!(trend(level).is_some());
    let memory = hurst(level).expect("it is long");
    assert!(memory.by_wavelet > 0.45, "{memory:?}");
    let estimates = quantiles(&values, &[0.5, 0.99, 0.9999]);
    assert!(estimates.iter().all(|one| one.interval.is_some()), "{estimates:?}");
    // Two levels are no memory that a million of values would tell: it is as long as they are.
    assert!(estimates.iter().all(|one| one.inflation.is_none()), "{estimates:?}");
}

#[test]
fn throughput_that_only_falls_is_retrograde_and_its_peak_was_measured() {
    // 5000/(1 + 0.05 N) is the USL with α = 1 and β = 1/21, 1000/N that with α = β = 1.
    let falling: [fn(f64) -> f64; 3] =
        [|n| 5000.0 / (1.0 + 0.05 * n), |n| 1000.0 / n, |n| 100.0 - 10.0 * n.log2()];
    for x in falling {
        let points = of_law(&DEPTHS[..6], x);
        let found = answer(&points);
        assert_eq!((chosen(&found), found.verdict), ("usl", Verdict::Retrograde), "{found:#?}");
        assert_eq!((found.peak.n.value, found.peak.x.value, found.peak.is_of_law), (1.0, points[0].x, false));
        assert!(found.ceiling.is_none() && found.parallel_units.is_none(), "{found:#?}");
    }
}

#[test]
fn a_law_that_leaves_nearly_all_is_not_excused_by_noise() {
    // Six of each load, ± 5 %, and one that is 5000 times too low: by shares, a law through that one leaves all others.
    let law = |n: f64| 8000.0 * n / (1.0 + 0.13 * (n - 1.0));
    let offs = [0.97, 1.02, 0.99, 1.05, 0.95, 1.01];
    let loads = [1.0, 2.0, 3.0, 4.0, 5.0, 8.0];
    let mut points: Vec<Point> =
        loads.iter().flat_map(|&n| offs.map(|off| Point { n, x: law(n) * off })).collect();
    let of = |points: &[Point]| answers(points, None, Weighting::Relative, &[], 1);
    assert!(of(&points).remarks.iter().all(|remark| !remark.contains("measurements")));
    points[12].x = 3.0;
    let found = of(&points);
    // It is no law through that one which leaves all others: one that passes near them, or none.
    let near =
        |at: usize| loads.iter().all(|&n| (found.fits[at].law.throughput(n) / law(n) - 1.0).abs() < 0.15);
    assert!(found.chosen.is_none_or(near), "{found:#?}");
    assert!(found.peak.x.value > 0.0 && found.peak.n.value >= 1.0, "{:?}", found.peak);
    let told = |remark: &String| {
        remark.starts_with("load 3: one of 6 measurements is") && remark.contains("times lower")
    };
    assert!(found.remarks.iter().any(told), "{:?}", found.remarks);
}

#[test]
fn below_a_cap_contention_tells_the_units() {
    // 32 units behind a cap that 10 of them would fill.
    let found = answer(&of_law(&DEPTHS, |n| (32_000.0 * n / (n + 31.0)).min(10_000.0)));
    assert_eq!((chosen(&found), found.verdict), ("capped", Verdict::Capped));
    close("units", found.parallel_units.unwrap().value, 32.0, 1e-3);
    close("ceiling", found.ceiling.unwrap().value, 10_000.0, 1e-3);
    assert!(found.is_exact());
}

#[test]
fn a_limit_below_one_operation_has_no_load() {
    let points = of_law(&DEPTHS, |n| 1000.0 * n / (1.0 + 0.125 * (n - 1.0)));
    let found = answers(&points, None, Weighting::Equal, &[0.0009, 0.002], 1);
    let [below, reached] = found.latency_limits.as_slice() else { panic!("two were asked for") };
    assert_eq!((below.n, below.x, below.reason()), (None, None, Some("every measured load takes longer")));
    // R(N) = (1 + 0.125 (N − 1)) ms is 2 ms at 9.
    close("load", reached.n.unwrap().value, 9.0, 1e-6);
    assert_eq!(reached.reason(), None);
}

/// Eight units of 1 ms each: up to load 8 an operation takes as long as the limit, and measurements lie on both sides of it.
#[test]
fn a_limit_at_the_latency_of_an_operation_alone_is_kept_up_to_the_knee() {
    let off = [0.002, -0.006, 0.011, -0.009, 0.004, -0.003];
    let measured = |base_s: f64| -> Vec<Point> {
        let at = |n: f64| off.map(|off| Point { n, x: n.min(8.0) / base_s / (1.0 + off) });
        [1.0, 2.0, 4.0, 8.0, 16.0, 32.0].into_iter().flat_map(at).collect()
    };
    // The law's own base lies below the limit, at it, and above.
    for base_s in [0.000_999, 0.001, 0.001_002] {
        let found = answers(&measured(base_s), None, Weighting::Relative, &[0.001], 1);
        let limit = &found.latency_limits[0];
        assert_eq!((limit.reason(), limit.is_extrapolated), (None, false), "{base_s}: {limit:?}");
        let n = limit.n.unwrap();
        assert!((7.9..=8.1).contains(&n.value), "{base_s}: {n:?}");
        assert!(n.interval.is_none_or(|(low, high)| low <= n.value && n.value <= high), "{base_s}: {n:?}");
    }
    // What is beyond noise has no load.
    let found = answers(&measured(0.0011), None, Weighting::Relative, &[0.001], 1);
    assert_eq!(found.latency_limits[0].reason(), Some("every measured load takes longer"));
    let found = answers(&measured(0.0011), None, Weighting::Relative, &[0.1], 1);
    assert!(found.latency_limits[0].n.is_some_and(|n| n.value > 32.0), "{:?}", found.latency_limits);
}

#[test]
fn a_limit_that_only_small_loads_exceed_is_not_said_to_be_unreached() {
    let points: Vec<Point> = [1.0, 2.0, 4.0, 8.0].map(|n| Point { n, x: 1000.0 * n }).to_vec();
    // A device that sleeps when little is asked of it.
    let limit = measured_limit(&points, &[0.005, 0.001, 0.001, 0.001], Statistic::Quantile, &EXACT, 0.002);
    assert_eq!((limit.n, limit.is_exceeded), (None, false));
    assert_eq!(limit.reason(), Some("only the smallest measured loads take longer"));
    assert_eq!(
        measured_limit(&points, &[0.001; 4], Statistic::Quantile, &EXACT, 0.002).reason(),
        Some("not reached")
    );
}

#[test]
fn a_ceiling_whose_coherency_is_at_its_bound_has_a_lower_end() {
    // The measurements of raytracer (Gunther 2007), of which β = 0 is a bound.
    let rows = [
        (1.0, 20.0),
        (4.0, 78.0),
        (8.0, 130.0),
        (12.0, 170.0),
        (16.0, 190.0),
        (20.0, 200.0),
        (24.0, 210.0),
        (28.0, 230.0),
        (32.0, 260.0),
        (48.0, 280.0),
        (64.0, 310.0),
    ];
    let points: Vec<Point> = rows.iter().map(|&(n, x)| Point { n, x }).collect();
    let found = answer(&points);
    let ceiling = found.ceiling.expect("γ/α");
    let (low, high) = ceiling.interval.expect("it is bounded from below");
    assert!((250.0..ceiling.value).contains(&low) && high.is_infinite(), "{ceiling:?}");
    // Of 95 % of a peak and of 95 % of a ceiling there is no common interval.
    assert_eq!(found.n_at_95_percent.unwrap().interval, None);
    assert!(found.remarks.iter().any(|remark| remark.contains("has no interval")), "{:?}", found.remarks);
}

/// The work has a bound, and intervals are as narrow as so many points make them: by √20 narrower of twenty times as many.
#[test]
fn many_points_have_intervals_of_as_many() {
    let width = |count: u32| {
        let mut random = fastrand::Rng::with_seed(5);
        let noise =
            |random: &mut fastrand::Rng| 1.0 + 0.05 * (random.f64() + random.f64() + random.f64() - 1.5);
        let points: Vec<Point> = (0..count)
            .map(|at| f64::from(at % 64 + 1))
            .map(|n| Point {
                n,
                x: 1000.0 * n / (1.0 + 0.05 * (n - 1.0) + 2e-4 * n * (n - 1.0)) * noise(&mut random),
            })
            .collect();
        let (low, high) = answer(&points).peak.x.interval.expect("it has noise");
        high - low
    };
    let ratio = width(800) / width(16_000);
    assert!((3.2..6.2).contains(&ratio), "{ratio}");
}

/// Where no law tells what lies between two loads that are far apart, neither does a straight line.
#[test]
fn far_apart_loads_leave_open_what_is_between_them() {
    let points: Vec<Point> =
        [(1.0, 100.0), (1.0, 101.0), (1.0, 99.0), (1000.0, 800.0), (1000.0, 801.0), (1000.0, 799.0)]
            .map(|(n, x)| Point { n, x })
            .to_vec();
    let found = answers(&points, None, Weighting::Relative, &[0.5], 1);
    assert_eq!(found.n_at_95_percent.unwrap().interval, Some((1.0, 1000.0)));
    assert!(
        found.remarks.iter().any(|remark| remark.contains("no load between 1 and 1000")),
        "{:?}",
        found.remarks
    );
    let limit = &found.latency_limits[0];
    assert_eq!(limit.n.unwrap().interval, Some((1.0, 1000.0)));
    assert_eq!(limit.x.unwrap().interval, Some((100.0, 800.0)));
    // Also where each was measured once, and of a percentile.
    let once = [Point { n: 1.0, x: 100.0 }, Point { n: 1000.0, x: 800.0 }];
    assert_eq!(
        measured_limit(&once, &[0.01, 2.0], Statistic::Quantile, &EXACT, 0.5).n.unwrap().interval,
        Some((1.0, 1000.0))
    );
    // Of loads that do nearly as much a line tells it.
    let near = [Point { n: 500.0, x: 790.0 }, Point { n: 1000.0, x: 800.0 }];
    assert_eq!(
        measured_limit(&near, &[0.6, 1.3], Statistic::Quantile, &EXACT, 1.0).n.unwrap().interval,
        None
    );
}

/// Percentiles of replicates fall into one bucket: that they are equal there does not show where in it they lie.
#[test]
fn a_latency_that_is_kept_in_buckets_has_its_load_within_them() {
    let points: Vec<Point> =
        [(1.0, 1400.0), (2.0, 1500.0)].repeat(3).into_iter().map(|(n, x)| Point { n, x }).collect();
    let latencies = [1.0, 3.0].repeat(3);
    let exact =
        measured_limit(&points, &latencies, Statistic::Quantile, &EXACT, 2.0).n.expect("it is crossed");
    let (low, high) = exact.interval.expect("there are three of each");
    assert!(exact.value == 1.5 && high - low < 1e-12, "{low} {high}");
    // Each a tenth to either side: with low latencies both the limit lies 0.05 farther, with high ones as much nearer.
    let found =
        measured_limit(&points, &latencies, Statistic::Quantile, &|_| 0.1, 2.0).n.expect("it is crossed");
    let (low, high) = found.interval.expect("there are three of each");
    assert!(
        found.value == 1.5 && (1.45..1.47).contains(&low) && (1.53..1.55).contains(&high),
        "{low} {high}"
    );
}
