//! Arrival schedules against what their processes promise: how many come, how far apart, how bursty. Everything is in the
//! schedules' own time, seeded; no clock is involved.

use fathom_pattern::Arrivals;
use fathom_schema::{Arrival, RatePiece, SharePart};

const SEED: u64 = 99;
const SECOND: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;

/// All arrivals of `workers` workers before `until_ns`, in order.
fn schedule(rate: f64, arrival: Arrival, course: &[RatePiece], workers: u32, until_ns: u64) -> Vec<u64> {
    let mut all = Vec::new();
    for index in 0..workers {
        let part = SharePart { index, count: workers };
        let mut arrivals = Arrivals::new(rate, arrival, course, part, SEED);
        all.extend(std::iter::repeat_with(|| arrivals.next_ns()).take_while(|&ns| ns < until_ns));
    }
    if workers > 1 {
        all.sort_unstable();
    }
    assert!(all.is_sorted(), "{arrival:?}: time goes back");
    all
}

/// How many arrivals there are in each slot.
fn counts(times: &[u64], slot_ns: u64, slots: usize) -> Vec<f64> {
    let mut counts = vec![0.0; slots];
    for &ns in times {
        counts[usize::try_from(ns / slot_ns).expect("few slots")] += 1.0;
    }
    counts
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn variance(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64
}

/// Slope of the least-squares line through points.
fn slope(points: &[(f64, f64)]) -> f64 {
    let n = points.len() as f64;
    let (mx, my) = (points.iter().map(|p| p.0).sum::<f64>() / n, points.iter().map(|p| p.1).sum::<f64>() / n);
    points.iter().map(|p| (p.0 - mx) * (p.1 - my)).sum::<f64>()
        / points.iter().map(|p| (p.0 - mx).powi(2)).sum::<f64>()
}

fn on_off(on_ms: u64, off_ms: u64) -> Arrival {
    Arrival::OnOff { on_ns: on_ms * MS, off_ns: off_ms * MS }
}

#[test]
fn kinds_with_clocks_of_their_own_come_in_their_order() {
    let whole = SharePart { index: 0, count: 1 };
    let times = |arrivals: &mut Arrivals, count| -> Vec<u64> {
        std::iter::repeat_with(|| (arrivals.next_ns() + MS / 2) / MS).take(count).collect()
    };
    // 40 per second, of which a quarter is of one kind: every 100 ms and every 33 ms.
    let mut uneven = Arrivals::by_kind(40.0, &[0.25, 0.0, 0.75], whole);
    assert_eq!(times(&mut uneven, 9), [0, 0, 33, 67, 100, 100, 133, 167, 200]);
    let mut even = Arrivals::by_kind(2.0, &[1.0, 1.0], whole);
    assert_eq!(times(&mut even, 6), [0, 0, 1000, 1000, 2000, 2000]);
    // Of two workers, the second is half a gap behind.
    let mut second = Arrivals::by_kind(4.0, &[1.0, 1.0], SharePart { index: 1, count: 2 });
    assert_eq!(times(&mut second, 4), [500, 500, 1500, 1500]);
    // One that counts as three puts off its kind alone.
    let mut scaled = Arrivals::by_kind(2.0, &[1.0, 1.0], whole);
    let scaled: Vec<u64> =
        [1.0, 3.0, 1.0, 1.0, 1.0, 1.0].map(|times| scaled.next_scaled_ns(times) / MS).to_vec();
    assert_eq!(scaled, [0, 0, 1000, 2000, 3000, 3000]);
}

/// What is due at the very end of a window is no part of it, however its instants are rounded.
#[test]
fn kinds_with_clocks_of_their_own_are_as_many_as_were_asked_for() {
    let whole = SharePart { index: 0, count: 1 };
    for (rate, seconds) in [(300.0, 20), (1000.0, 5), (77_000.0, 5), (1e6, 5)] {
        let mut arrivals = Arrivals::by_kind(rate, &[0.7, 0.3], whole);
        let within =
            std::iter::repeat_with(|| arrivals.next_ns()).take_while(|at| *at < seconds * 1_000_000_000);
        assert_eq!(within.count() as f64, rate * seconds as f64, "{rate}/s");
    }
}

#[test]
fn as_many_come_as_were_asked_for() {
    // Over 5 s: the fixed rate within 0.1 %, random processes within three standard deviations of their count.
    for rate in [1e3, 3e4, 6e5, 1e6] {
        for workers in if rate < 1e5 { [1, 3] } else { [1, 1] } {
            let count = |arrival| schedule(rate, arrival, &[], workers, 5 * SECOND).len() as f64;
            let expect = 5.0 * rate;
            assert!((count(Arrival::Constant) / expect - 1.0).abs() <= 0.001, "fixed, {rate}");
            let poisson = count(Arrival::Poisson) - expect;
            assert!(poisson.abs() <= 3.0 * expect.sqrt(), "Poisson, {rate}/s, seed {SEED}: off by {poisson}");
            // Renewal theory: the variance of the count is the mean times the gap's squared coefficient of variation.
            let uniform = count(Arrival::Uniform) - expect;
            assert!(
                uniform.abs() <= 3.0 * (expect / 3.0).sqrt(),
                "uniform, {rate}/s, seed {SEED}: off by {uniform}"
            );
        }
    }
    for workers in [1, 4] {
        // The b-model has rate × window operations in every window, exactly.
        let b_model = Arrival::BModel { bias: 0.8, window_ns: SECOND };
        let times = schedule(2e5, b_model, &[], workers, 5 * SECOND);
        assert!(counts(&times, SECOND, 5).iter().all(|&n| (n - 2e5).abs() <= 1.0));
    }
}

#[test]
fn bursts_leave_the_mean_as_it_was() {
    // An exponential on/off source with means a and b is on for the share p = a/(a+b); the time it is on in T ≫ a, b has
    // the variance 2 p (1 − p) τ T with τ = ab/(a+b) (its autocovariance is p (1 − p) e^(−t/τ)).
    let (rate, seconds) = (2e4, 100_u64);
    for (on_ms, off_ms) in [(10, 40), (50, 50), (5, 95)] {
        for workers in [1, 3] {
            let times = schedule(rate, on_off(on_ms, off_ms), &[], workers, seconds * SECOND);
            let (on, off) = (on_ms as f64 / 1e3, off_ms as f64 / 1e3);
            let share = on / (on + off);
            let deviation = rate / share
                * (2.0 * share * (1.0 - share) * (on * off / (on + off)) * seconds as f64).sqrt();
            let error = times.len() as f64 - rate * seconds as f64;
            assert!(error.abs() <= 3.0 * deviation, "{on_ms}/{off_ms}, seed {SEED}: {error}, σ {deviation}");
            // While it is on it is a Poisson process at rate ÷ share; what differs is that it is off the rest of the time.
            let busy = counts(&times, MS, 100_000).iter().filter(|&&n| n > 0.0).count() as f64 / 1e5;
            // A millisecond counts as busy if any part of it is on: a little more than the share.
            let touched = share + 0.001 / (on + off);
            assert!((busy - touched).abs() <= 0.1 * share, "{on_ms}/{off_ms}: busy {busy}, share {share}");
        }
    }
}

/// Asserts the index of dispersion (variance ÷ mean) of counts in 10,000 windows of 100 arrivals each.
fn check_dispersion(arrival: Arrival, workers: u32, expect: f64) {
    let found = counts(&schedule(1e6, arrival, &[], workers, SECOND), 100_000, 10_000);
    let dispersion = variance(&found) / mean(&found);
    // Relative standard error of a variance of 1e4 values: sqrt(2/1e4) = 1.4 %; five of them.
    assert!(
        (dispersion - expect).abs() <= 0.07 * expect + 0.002,
        "{arrival:?}, {workers} workers: {dispersion}"
    );
}

#[test]
fn counts_disperse_as_their_process_says() {
    for workers in [1, 3, 5] {
        check_dispersion(Arrival::Constant, workers, 0.0);
        check_dispersion(Arrival::Poisson, workers, 1.0);
        // The squared coefficient of variation of a gap from 0 to 2: (1/3)/1.
        check_dispersion(Arrival::Uniform, workers, 1.0 / 3.0);
    }
    // On/off in windows far longer than its phases: 1 + 2 (rate/p) (1 − p) τ, which is 1 + 2 · 1e4/0.2 · 0.8 · 0.8 ms.
    let times = schedule(1e4, on_off(1, 4), &[], 1, 200 * SECOND);
    let found = counts(&times, 100 * MS, 2000);
    let (dispersion, expect) = (variance(&found) / mean(&found), 1.0 + 2.0 * 5e4 * 0.8 * 0.8e-3);
    assert!((dispersion / expect - 1.0).abs() < 0.15, "{dispersion}, expected {expect}");
}

/// Kolmogorov and Smirnov's distance of the gaps from a distribution function; below 1.63/√n in 99 % of all cases.
fn check_gaps(arrival: Arrival, workers: u32, cumulative: impl Fn(f64) -> f64) {
    let rate = 1e3;
    let times = schedule(rate, arrival, &[], workers, 50 * SECOND);
    let mut gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]) as f64 * rate / 1e9).collect();
    let n = gaps.len() as f64;
    let m = mean(&gaps);
    let lagged: f64 = gaps.windows(2).map(|pair| (pair[0] - m) * (pair[1] - m)).sum::<f64>() / (n - 1.0);
    let correlation = lagged / variance(&gaps);
    assert!(
        correlation.abs() < 4.0 / n.sqrt(),
        "{arrival:?}, {workers} workers: lag-1 correlation {correlation}"
    );
    gaps.sort_unstable_by(f64::total_cmp);
    let distance = gaps.iter().enumerate().fold(0.0_f64, |most, (index, &gap)| {
        let f = cumulative(gap);
        most.max((f - index as f64 / n).abs()).max(((index + 1) as f64 / n - f).abs())
    });
    assert!(
        distance < 1.63 / n.sqrt(),
        "{arrival:?}, {workers} workers, seed {SEED}: distance {distance} of {n}"
    );
}

#[test]
fn gaps_have_the_distribution_of_their_process() {
    for workers in [1, 4] {
        check_gaps(Arrival::Poisson, workers, |gap| 1.0 - (-gap).exp());
        check_gaps(Arrival::Uniform, workers, |gap| (gap / 2.0).clamp(0.0, 1.0));
    }
    // Gaps of a fixed rate differ by the nanosecond that rounding takes.
    let times = schedule(3e5, Arrival::Constant, &[], 1, SECOND);
    let (least, most) =
        times.windows(2).map(|p| p[1] - p[0]).fold((u64::MAX, 0), |(l, m), g| (l.min(g), m.max(g)));
    assert_eq!((least, most), (3333, 3334));
}

/// Hurst exponent by aggregated variance: log Var of means over m slots has the slope 2H − 2.
fn hurst_by_variance(series: &[f64], from: usize, to: usize) -> f64 {
    let mut points = Vec::new();
    let mut m = from;
    while m <= to {
        let means: Vec<f64> = series.chunks_exact(m).map(mean).collect();
        points.push(((m as f64).ln(), variance(&means).ln()));
        m *= 2;
    }
    1.0 + slope(&points) / 2.0
}

/// Hurst exponent by rescaled range: log R/S over n slots has the slope H (Mandelbrot, Wallis, 1969).
fn hurst_by_range(series: &[f64], from: usize, to: usize) -> f64 {
    let mut points = Vec::new();
    let mut n = from;
    while n <= to {
        let ratios: Vec<f64> = series
            .chunks_exact(n)
            .filter_map(|chunk| {
                let mean = mean(chunk);
                let mut sum = 0.0;
                let (mut low, mut high) = (0.0_f64, 0.0_f64);
                for value in chunk {
                    sum += value - mean;
                    low = low.min(sum);
                    high = high.max(sum);
                }
                let deviation = variance(chunk).sqrt();
                (deviation > 0.0).then(|| (high - low) / deviation)
            })
            .collect();
        points.push(((n as f64).ln(), mean(&ratios).ln()));
        n *= 2;
    }
    slope(&points)
}

#[test]
fn memoryless_arrivals_have_a_hurst_exponent_of_one_half() {
    let series = counts(&schedule(1e4, Arrival::Poisson, &[], 1, 66 * SECOND), MS, 66_000);
    let (by_variance, by_range) = (hurst_by_variance(&series, 16, 1024), hurst_by_range(&series, 512, 8192));
    assert!((by_variance - 0.5).abs() <= 0.05, "{by_variance}");
    assert!((by_range - 0.5).abs() <= 0.08, "{by_range}");
}

#[test]
fn pareto_sources_add_up_to_self_similar_arrivals() {
    for shape in [1.2, 1.4, 1.6] {
        let expect = (3.0 - shape) / 2.0;
        let arrival = Arrival::ParetoOnOff { shape, on_ns: 5 * MS, off_ns: 15 * MS, sources: 64 };
        let slots = 1 << 18;
        let times = schedule(1e4, arrival, &[], 2, slots * MS);
        let series = counts(&times, MS, usize::try_from(slots).expect("few slots"));
        for (estimator, found) in [
            ("aggregated variance", hurst_by_variance(&series, 128, 4096)),
            ("rescaled range", hurst_by_range(&series, 1024, 32_768)),
        ] {
            let case = format!("shape {shape}, seed {SEED}, {estimator}");
            assert!((found - expect).abs() <= 0.08, "{case}: {found}, not {expect}");
        }
        // The mean of such a process converges slowly; a fifth is what 64 sources leave after 262 s.
        let share = times.len() as f64 / (slots as f64 * 10.0);
        assert!((share - 1.0).abs() < 0.2, "shape {shape}: {share} of what was asked for");
    }
}

#[test]
fn the_b_model_has_the_entropy_of_its_bias_on_every_level() {
    for bias in [0.6_f64, 0.7, 0.8, 0.9] {
        let expect = -bias * bias.log2() - (1.0 - bias) * (1.0 - bias).log2();
        let arrival = Arrival::BModel { bias, window_ns: 1 << 30 };
        for workers in [1, 3] {
            let times = schedule(5e5, arrival, &[], workers, 1 << 30);
            let entropy = |level: u32| {
                let slots = counts(&times, 1 << (30 - level), 1 << level);
                let shares = slots.iter().map(|n| n / times.len() as f64).filter(|&p| p > 0.0);
                -shares.map(|p| p * p.log2()).sum::<f64>()
            };
            // Down to slots that hold some hundred operations on average.
            for level in 1..=10 {
                let gained = entropy(level) - entropy(level - 1);
                assert!(
                    (gained - expect).abs() <= 0.01,
                    "bias {bias}, level {level}: {gained}, not {expect}"
                );
            }
            // D₂ = −log₂(b² + (1 − b)²): the sum of squared shares falls by 2^−D₂ per level.
            let squares = |level: u32| -> f64 {
                counts(&times, 1 << (30 - level), 1 << level)
                    .iter()
                    .map(|n| (n / times.len() as f64).powi(2))
                    .sum()
            };
            let dimension = (squares(2).log2() - squares(10).log2()) / 8.0;
            let expect = -(bias * bias + (1.0 - bias) * (1.0 - bias)).log2();
            assert!((dimension - expect).abs() <= 0.01, "bias {bias}: D2 {dimension}, not {expect}");
        }
    }
}

#[test]
fn a_course_is_followed() {
    // 10 s from 0 to 1,000/s, 5 s of nothing, then 500/s for ever: area 5,000 and 0.
    let piece =
        |seconds: u64, from_per_s, to_per_s| RatePiece { length_ns: seconds * SECOND, from_per_s, to_per_s };
    let course = [piece(10, 0.0, 1000.0), piece(5, 0.0, 0.0), piece(1, 500.0, 500.0)];
    for (arrival, scatter) in
        [(Arrival::Constant, 0.0), (Arrival::Uniform, 1.0 / 3.0), (Arrival::Poisson, 1.0)]
    {
        for workers in [1, 3] {
            let times = schedule(1.0, arrival, &course, workers, 100 * SECOND);
            let second = counts(&times, SECOND, 100);
            let within = |from: usize, to: usize, expect: f64| {
                let found: f64 = second[from..to].iter().sum();
                let allowed = 1.01 + 4.0 * (expect * scatter).sqrt();
                assert!(
                    (found - expect).abs() <= allowed,
                    "{arrival:?}, {from} to {to}: {found}, not {expect}"
                );
            };
            within(0, 5, 1250.0);
            within(5, 10, 3750.0);
            within(10, 15, 0.0);
            within(15, 16, 500.0);
            within(16, 100, 42_000.0);
        }
    }
    // In a ramp from 0 at 100/s² operation k is due at sqrt(2k/100) s.
    let ramp = [piece(10, 0.0, 1000.0)];
    let times = schedule(1.0, Arrival::Constant, &ramp, 1, 10 * SECOND);
    for k in [0_u32, 1, 50, 1000, 4999] {
        let exact = (f64::from(k) / 50.0).sqrt() * 1e9;
        assert!((times[k as usize] as f64 - exact).abs() <= 10.0, "{k}: {}, not {exact}", times[k as usize]);
    }
}

#[test]
fn what_never_comes_lies_beyond_all_time() {
    let course = [
        RatePiece { length_ns: SECOND, from_per_s: 10.0, to_per_s: 10.0 },
        RatePiece { length_ns: SECOND, from_per_s: 0.0, to_per_s: 0.0 },
    ];
    let mut arrivals = Arrivals::new(5.0, Arrival::Constant, &course, SharePart { index: 0, count: 1 }, SEED);
    let times: Vec<u64> = (0..12).map(|_| arrivals.next_ns()).collect();
    assert_eq!(times[9], 900 * MS);
    assert_eq!(times[10..], [u64::MAX; 2]);
}

#[test]
fn workers_see_the_same_bursts() {
    // Evenly spaced in the cascade, operation k belongs to worker k mod n: together they are the whole, exactly.
    let b_model = Arrival::BModel { bias: 0.75, window_ns: SECOND };
    let whole = schedule(12_345.0, b_model, &[], 1, 3 * SECOND);
    for workers in [2, 7] {
        assert_eq!(schedule(12_345.0, b_model, &[], workers, 3 * SECOND), whole);
    }
    // Rare operations skip most of the tree and still lie where it has mass.
    let rare = schedule(0.5, Arrival::BModel { bias: 0.9, window_ns: 10 * SECOND }, &[], 1, 100 * SECOND);
    assert_eq!(rare.len(), 50);
}

#[test]
fn equal_seeds_give_equal_times() {
    for arrival in [
        Arrival::Poisson,
        on_off(10, 10),
        Arrival::ParetoOnOff { shape: 1.5, on_ns: MS, off_ns: MS, sources: 3 },
        Arrival::BModel { bias: 0.7, window_ns: SECOND },
    ] {
        let times = |seed| {
            let mut arrivals = Arrivals::new(1e5, arrival, &[], SharePart { index: 0, count: 1 }, seed);
            std::array::from_fn::<u64, 50, _>(|_| arrivals.next_ns())
        };
        assert_eq!(times(1), times(1));
        assert_ne!(times(1), times(2), "{arrival:?}");
    }
}

/// What is due at the end of a piece belongs to the next that has a rate: none comes while the course is idle, and none too
/// many until its end.
#[test]
fn none_is_due_in_an_idle_second() {
    let piece = |seconds: u64, from_per_s: f64, to_per_s: f64| RatePiece {
        length_ns: seconds * SECOND,
        from_per_s,
        to_per_s,
    };
    let course = [
        piece(2, 100.0, 100.0),
        piece(4, 100.0, 1000.0),
        piece(2, 1000.0, 1000.0),
        piece(2, 0.0, 0.0),
        piece(1, 500.0, 500.0),
    ];
    for workers in [1, 3] {
        let times = schedule(1.0, Arrival::Constant, &course, workers, 13 * SECOND);
        let idle = times.iter().filter(|ns| (8 * SECOND..10 * SECOND).contains(ns)).count();
        assert_eq!((times.len(), idle), (5900, 0), "{workers} workers");
    }
}
