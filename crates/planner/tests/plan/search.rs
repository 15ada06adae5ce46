//! Searches on devices with closed forms: what a step shows is computed, not measured, and the answer is known.

use crate::examples::DISK;
use crate::host::{facts, read};
use fathom_metrics::Latency;
use fathom_planner::search::{CurveSearch, ObjectiveSearch, RateOf, RateSearch, Search};
use fathom_planner::{Plan, plan_search};
use fathom_schema::{
    KindTally, LatencyGoal, Moments, OperationKind, Pacing, Step, StepFinished, Stop, StreamTally,
    StreamTotals, WorkerTotals,
};
use fathom_units::Nanos;

const JOB: &str = "[target.disk]\npath = \"/dev/nvme0n1\"\n[workload.reads]\nblock_size = \"4KiB\"\naccess = \"random\"\n[stream.reads]\n[stage.main]\ntime = \"10s\"\n";
const SECONDS: u64 = 10;

fn planned(search: Search) -> Plan {
    let job = read(JOB);
    let (plan, found) = plan_search(&job, &facts(&job, |_| DISK), 0, search);
    plan.unwrap_or_else(|| panic!("{found:?}"))
}

/// The end of a step that did `rate` operations a second with these response times, each as often as the others.
pub(crate) fn finished(step: &Step, rate: f64, latencies_ns: &[u64]) -> StepFinished {
    let mut latency = Latency::default();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "constructed: whole and positive"
    )]
    let operations = (rate * SECONDS as f64).round() as u64;
    latencies_ns.iter().for_each(|&ns| latency.record(ns));
    let kind = KindTally {
        kind: OperationKind::Read,
        operations,
        bytes: 0,
        short: 0,
        data_syncs: 0,
        errors: Vec::new(),
        service: latency.to_tally(),
        response: None,
        submission: Moments::default(),
        completion: None,
    };
    let offered = match step.streams[0].pacing {
        Pacing::Open { rate, .. } => rate * SECONDS as f64,
        Pacing::Closed { .. } => 0.0,
    };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of arrivals")]
    let tally = StreamTally { kinds: vec![kind], arrivals: offered as u64, ..StreamTally::default() };
    let worker = WorkerTotals {
        tally,
        start: Nanos::ZERO,
        end: Nanos::secs(SECONDS),
        synced: Nanos::ZERO,
        user_ns: 0,
        system_ns: 0,
        context_switches: 0,
        major_faults: 0,
        minor_faults: 0,
        runnable_ns: 0,
        error: 0,
        verified: None,
        depth: None,
        emptied: None,
        waiting: 0,
        oldest_waiting: Nanos::ZERO,
    };
    StepFinished {
        index: 0,
        streams: vec![StreamTotals { workers: vec![worker] }],
        stop: Stop::Complete,
        elapsed: Nanos::secs(SECONDS),
        devices: Vec::new(),
        environment_changes: Vec::new(),
        gauges: None,
        zero_blocks: Vec::new(),
        singles: None,
    }
}

/// The depths that a curve goes through on a device of throughput `x`.
fn depths(x: impl Fn(f64) -> f64, depth_max: u32, replicates: u32) -> Vec<u32> {
    depths_beyond(&[], x, depth_max, replicates)
}

/// As [`depths`], asked about these latencies.
fn depths_beyond(limits: &[&str], x: impl Fn(f64) -> f64, depth_max: u32, replicates: u32) -> Vec<u32> {
    let limits: Vec<_> = limits.iter().map(|limit| limit.parse().expect("a limit")).collect();
    let search = CurveSearch::new(depth_max, replicates, 3).beyond(&limits);
    let mut experiment = planned(Search::Curve(search)).experiment;
    let most = experiment.steps_max().expect("a curve knows it");
    let (mut depths, mut last) = (Vec::new(), None);
    while let Some(step) = experiment.next(last.as_ref()) {
        let depth = step.streams[0].queue_depth;
        depths.push(depth);
        assert!(depths.len() <= most, "more than {most}: {depths:?}");
        let rate = x(f64::from(depth));
        // In a closed loop an operation takes as long as Little's law says.
        let took = std::time::Duration::from_secs_f64(f64::from(depth) / rate);
        let ns = u64::try_from(took.as_nanos()).expect("it is short");
        last = Some(finished(&step, rate, &[ns]));
    }
    depths
}

#[test]
fn depths_go_on_to_a_latency_that_is_asked_about() {
    let device = |n: f64| 1000.0 * n.min(12.0);
    let most = |limits: &[&str]| depths_beyond(limits, device, 256, 1).into_iter().max();
    assert_eq!(most(&[]), Some(64));
    // 12,000/s at depth 128 are 10.7 ms each.
    assert_eq!(most(&["p99<10ms"]), Some(128));
    assert_eq!((most(&["p99<1ms"]), most(&["p99<1s"])), (Some(64), Some(256)));
    // A mean is told by the law.
    assert_eq!(most(&["mean<10ms"]), Some(64));
}

#[test]
fn depths_double_until_more_brings_nothing_then_look_at_the_knee() {
    // Twelve units, each 1000/s, taken from one queue: a hard knee at twelve.
    let found = depths(|n| 1000.0 * n.min(12.0), 256, 1);
    assert_eq!(found[..7], [1, 2, 4, 8, 16, 32, 64], "two doublings without a gain end it: {found:?}");
    assert!(found[7..].contains(&12), "the knee itself is measured: {found:?}");
    // Linear to the end of what may be asked for.
    assert_eq!(depths(|n| 1000.0 * n, 64, 1)[..7], [1, 2, 4, 8, 16, 32, 64]);
    // Falls from 8 on: no deeper than where that is seen.
    let found = depths(|n| 1000.0 * n / (1.0 + 0.02 * n * n), 256, 1);
    assert!(*found.iter().max().unwrap() <= 16, "{found:?}");
    let distinct = |found: &[u32]| found.iter().copied().collect::<std::collections::BTreeSet<u32>>().len();
    assert!(distinct(&found) >= 6, "{found:?}");
    // One queue, full from the start; and the same where the second step fell by chance.
    assert_eq!(distinct(&depths(|_| 1000.0, 256, 1)), 6);
    assert_eq!(distinct(&depths(|n| if n == 2.0 { 940.0 } else { 1000.0 }, 256, 1)), 6);
}

#[test]
fn replicates_come_in_random_order_and_each_depth_as_often() {
    let found = depths(|n| 1000.0 * n.min(12.0), 256, 3);
    let first = found.len() / 3;
    let (once, again) = (&found[..first], &found[first..]);
    for depth in once {
        assert_eq!(again.iter().filter(|d| *d == depth).count(), 2, "{depth} in {found:?}");
    }
    assert_ne!(again[..first], *once, "shuffled");
    assert!(!again.is_sorted());
    assert_eq!(found, depths(|n| 1000.0 * n.min(12.0), 256, 3), "the same seed, the same order");
}

/// A queue of one exponential server: quantiles of the response time at load ρ are those of an exponential distribution
/// of mean S/(1−ρ).
fn m_m_1(step: &Step, service_s: f64) -> StepFinished {
    let Pacing::Open { rate, .. } = step.streams[0].pacing else {
        return finished(step, 1.0 / service_s, &[1_000_000]);
    };
    let utilisation = rate * service_s;
    if utilisation >= 1.0 {
        return finished(step, 1.0 / service_s, &[1_000_000_000]);
    }
    let mean_ns = service_s * 1e9 / (1.0 - utilisation);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "nanoseconds")]
    let latencies: Vec<u64> =
        (0..20_000).map(|i| (-(1.0 - (f64::from(i) + 0.5) / 20_000.0).ln() * mean_ns) as u64).collect();
    finished(step, rate, &latencies)
}

#[test]
fn the_highest_rate_of_a_queue_is_that_of_theory() {
    // Half a per cent of the server's 1000/s, as exact as histograms are. S = 1 ms, p99 ≤ 10 ms: X = 1/S − ln 100 / T = 1000 − 460.5.
    for (limit, expect) in
        [(Nanos::millis(10), 539.48), (Nanos::millis(20), 769.74), (Nanos::millis(5), 78.97)]
    {
        let goals = vec![LatencyGoal { quantile: Some(0.99), limit }];
        let mut experiment =
            planned(Search::Objective(ObjectiveSearch::new(goals, None, 1, 32, true))).experiment;
        let (mut last, mut rates) = (None, Vec::new());
        while let Some(step) = experiment.next(last.as_ref()) {
            if let Pacing::Open { rate, .. } = step.streams[0].pacing {
                rates.push(rate);
            }
            last = Some(m_m_1(&step, 0.001));
        }
        let nearest = rates.last().expect("rates were tried");
        assert!((nearest - expect).abs() <= 5.0, "{nearest}, not {expect}: {rates:?}");
        assert!(rates.len() <= 12, "{rates:?}");
    }
}

#[test]
fn a_limit_that_an_idle_target_breaks_is_given_up_at_two_trials() {
    let rates = |idle_ns: u64| {
        let goals = vec![LatencyGoal { quantile: Some(0.99), limit: Nanos::millis(2) }];
        let mut experiment =
            planned(Search::Objective(ObjectiveSearch::new(goals, None, 1, 32, true))).experiment;
        let (mut last, mut rates) = (None, Vec::new());
        while let Some(step) = experiment.next(last.as_ref()) {
            let rate = match step.streams[0].pacing {
                Pacing::Open { rate, .. } => rate,
                Pacing::Closed { .. } => 0.0,
            };
            rates.push(rate);
            // Full speed takes 5 ms; what is not at full speed takes what an idle target does, up to 100/s.
            let is_idle = rate > 0.0 && rate <= 100.0;
            last = Some(finished(
                &step,
                if rate > 0.0 { rate } else { 200.0 },
                &[if is_idle { idle_ns } else { 5_000_000 }; 400],
            ));
        }
        rates
    };
    // Alone, then a rate at which it is idle, as often as it takes to be no chance.
    assert_eq!(rates(5_000_000), [0.0, 100.0, 100.0]);
    // A cache that keeps up with few operations breaks the limit at full speed alone.
    let found = rates(1_000_000);
    assert_eq!(found[..3], [0.0, 100.0, 0.0], "{found:?}");
    assert!(found.len() > 3 && found.iter().all(|rate| *rate == 0.0 || *rate >= 100.0), "{found:?}");
}

/// The rates of an objective's search for p99 < 5 ms, with what one operation at a time takes, at 1000/s, full speed as 0.
fn sought(alone: &[u64], replicates: u32, mut takes_ns: impl FnMut(f64, &[f64]) -> u64) -> Vec<f64> {
    let goals = vec!["p99<5ms".parse().expect("a goal")];
    let mut experiment =
        planned(Search::Objective(ObjectiveSearch::new(goals, None, replicates, 32, true))).experiment;
    let (mut last, mut rates) = (None, Vec::new());
    while let Some(step) = experiment.next(last.as_ref()) {
        last = Some(match step.streams[0].pacing {
            Pacing::Open { rate, .. } => {
                let end = finished(&step, rate, &[takes_ns(rate, &rates); 400]);
                rates.push(rate);
                end
            }
            Pacing::Closed { .. } => {
                rates.push(0.0);
                finished(&step, 1000.0, alone)
            }
        });
        assert!(rates.len() < 120, "{rates:?}");
    }
    rates
}

/// One operation alone, so many times, of which a little more than one in a hundred breaks p99 < 5 ms: by chance.
fn near(count: usize) -> Vec<u64> {
    (0..count).map(|at| if at < count / 100 + 2 { 6_000_000 } else { 1_000_000 }).collect()
}

#[test]
fn a_lower_rate_that_is_kept_is_no_better_known_than_any_other() {
    // What is above 3.3/s takes 20 ms: 10/s and 5/s are missed, 2.5/s is kept.
    let rates = sought(&near(200_000), 3, |rate, _| if rate > 3.3 { 20_000_000 } else { 1_000_000 });
    assert_eq!(rates[..4], [0.0, 10.0, 5.0, 2.5], "{rates:?}");
    let found = *rates.last().expect("rates were tried");
    assert!((found / 3.3 - 1.0).abs() < 0.01, "{rates:?}");
    assert_eq!(rates.iter().filter(|rate| (*rate / found - 1.0).abs() < 1e-4).count(), 3, "{rates:?}");
}

#[test]
fn a_rate_that_one_trial_misses_is_tried_again_where_none_is_lower() {
    // 10,000 in ten seconds: 368 of them, which the interval of a p99 takes, come at 36.8/s.
    let rates = sought(&near(10_000), 3, |_, _| 20_000_000);
    assert_eq!(rates, [0.0, 36.8, 36.8]);
}

/// Where every rate above is missed, the one at which the target is idle is the answer, once it is proven.
#[test]
fn a_rate_that_was_kept_once_at_first_is_proven_like_any_other() {
    let is = |one: f64| move |rate: &f64| (*rate - one).abs() < 1e-6;
    for (is_luck, times) in [(false, 3), (true, 2)] {
        let rates = sought(&near(10_000), 3, |rate, before| {
            // Those up to 70/s are kept once each.
            let comes_again = before.iter().any(is(rate));
            let is_kept =
                if is(36.8)(&rate) { !(is_luck && comes_again) } else { rate < 70.0 && !comes_again };
            if is_kept { 1_000_000 } else { 20_000_000 }
        });
        assert_eq!(rates.iter().copied().filter(is(36.8)).count(), times, "{is_luck}: {rates:?}");
        assert!(rates.iter().all(|rate| *rate == 0.0 || *rate >= 36.8), "{is_luck}: {rates:?}");
    }
}

#[test]
fn proofs_that_fail_below_half_of_a_rate_lower_it_by_per_cents_again() {
    // Every rate up to 500/s is kept at first, and again only up to 200/s.
    let takes_ns = |rate: f64, before: &[f64]| {
        let is_again = before.iter().any(|known| (known - rate).abs() < 1e-6);
        if rate > if is_again { 200.0 } else { 500.0 } { 20_000_000 } else { 1_000_000 }
    };
    let rates = sought(&vec![1_000_000; 20_000], 3, takes_ns);
    let found = *rates.last().expect("rates were tried");
    assert!((130.0..=200.0).contains(&found), "{rates:?}");
    assert_eq!(rates.iter().filter(|rate| (*rate / found - 1.0).abs() < 1e-4).count(), 3, "{rates:?}");
}

/// The rates of a search on a device, full speed as 0.
fn rates(search: RateSearch, device: impl Fn(&Step) -> StepFinished) -> Vec<f64> {
    let mut experiment = planned(Search::Rates(Box::new(search))).experiment;
    let (mut rates, mut last) = (Vec::new(), None);
    while let Some(step) = experiment.next(last.as_ref()) {
        rates.push(match step.streams[0].pacing {
            Pacing::Open { rate, .. } => rate.round(),
            Pacing::Closed { .. } => 0.0,
        });
        assert!(rates.len() < 200, "{rates:?}");
        last = Some(device(&step));
    }
    rates
}

#[test]
fn rates_are_shares_of_full_speed_then_where_latency_turns() {
    let search = |given: &[&str], goals: &[&str], replicates: u32| {
        let given = given.iter().map(|text| text.parse::<RateOf>().unwrap()).collect();
        let goals = goals.iter().map(|text| text.parse().unwrap()).collect();
        RateSearch::new(given, goals, 32, replicates, true, 3)
    };
    let queue = |step: &Step| m_m_1(step, 0.001);
    let found = rates(search(&[], &["p99<10ms"], 1), queue);
    let tenths: Vec<f64> = (0..=10).map(|tenth| f64::from(tenth) * 100.0).collect();
    assert_eq!(found[..11], tenths, "Vdbench's curve: {found:?}");
    // p99 reaches 10 ms at 539.5/s: between what was kept and what was not, and closer each time.
    assert_eq!(found[11..14], [550.0, 525.0, 538.0], "{found:?}");
    assert!(found.len() <= 16, "{found:?}");
    // Three times, full speed as well, and in another order.
    let found = rates(search(&[], &[], 3), queue);
    let once = found.len() / 3;
    for rate in &found[..once] {
        assert_eq!(found[once..].iter().filter(|one| *one == rate).count(), 2, "{rate} in {found:?}");
    }
    assert!(!found[once..2 * once].is_sorted());
    // Given ones alone: full speed first, since shares are of it.
    let mut found = rates(search(&["50%", "300", "10%"], &["p99<10ms"], 1), queue);
    assert_eq!(found.remove(0), 0.0);
    found.sort_by(f64::total_cmp);
    assert_eq!(found, [100.0, 300.0, 500.0]);
}

/// So many units of 1 ms with exponential service (M/M/c, Erlang's C), and at full speed as at 99.7 % of it; means lie off by so much,
/// above at odd tenths of full speed and below at even ones.
fn m_m_c(step: &Step, units: u32, off: f64) -> StepFinished {
    let most = 1000.0 * f64::from(units);
    let rate = match step.streams[0].pacing {
        Pacing::Open { rate, .. } => rate,
        Pacing::Closed { .. } => most,
    };
    let utilisation = (rate / most).min(0.997);
    let offered = utilisation * f64::from(units);
    let inverse = (1..=units).fold(1.0, |inverse, unit| 1.0 + inverse * f64::from(unit) / offered);
    let waits = 1.0 / (inverse * (1.0 - utilisation) + utilisation);
    let is_odd = (10.0 * rate / most).round() % 2.0 == 1.0;
    let chance = if is_odd { 1.0 + off } else { 1.0 - off };
    let mean_ns = 1e9 * chance * (0.001 + waits / (most * (1.0 - utilisation)));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "nanoseconds")]
    let latencies: Vec<u64> =
        (0..20_000).map(|i| (-(1.0 - (f64::from(i) + 0.5) / 20_000.0).ln() * mean_ns) as u64).collect();
    finished(step, rate, &latencies)
}

/// Of 16 units the mean is twice that of an idle target at 15,216/s, between 1.4 ms at nine tenths and what takes ten times as long;
/// that an idle target's mean is 1 ms now and less then is no reason for a rate there.
#[test]
fn rates_go_where_the_mean_doubles_and_not_where_an_idle_target_scatters() {
    let found = |limit: Nanos, units: u32, off: f64| {
        let goals = vec![LatencyGoal { quantile: None, limit }];
        rates(RateSearch::new(Vec::new(), goals, 32, 1, true, 3), |step| m_m_c(step, units, off))
    };
    let at_idle = found(Nanos::millis(1), 16, 0.001);
    assert_eq!(at_idle[11..], [15_200.0, 15_600.0, 15_800.0], "{at_idle:?}");
    // A limit that is crossed where operations begin to wait comes next, between 85 and 90 % of full speed.
    let clear = found(Nanos::micros(1200), 16, 0.001);
    assert_eq!(clear[11..14], [15_200.0, 15_600.0, 13_600.0], "{clear:?}");
    assert!(clear.len() <= 16, "full speed, tenths and five more: {clear:?}");
    // Of one unit it doubles between rates that are near enough: the limit comes first, 4 ms at 750/s.
    let one = found(Nanos::millis(4), 1, 0.0);
    assert_eq!(one[11..13], [750.0, 775.0], "{one:?}");
    assert!(one.len() <= 16, "{one:?}");
}

#[test]
fn rates_that_no_worker_can_follow_are_left_out_and_told() {
    // Full speed of 50 million a second; one worker follows 20 million arrivals.
    let search = RateSearch::new(Vec::new(), Vec::new(), 32, 2, true, 3);
    let mut experiment = planned(Search::Rates(Box::new(search))).experiment;
    let (mut found, mut last) = (Vec::new(), None);
    while let Some(step) = experiment.next(last.as_ref()) {
        let rate = match step.streams[0].pacing {
            Pacing::Open { rate, .. } => rate,
            Pacing::Closed { .. } => 5e7,
        };
        found.push((rate / 1e6).round());
        assert!(found.len() < 100, "{found:?}");
        last = Some(finished(&step, rate, &[1000]));
    }
    assert_eq!(found[..5], [50.0, 5.0, 10.0, 15.0, 20.0], "{found:?}");
    assert!(found[1..].iter().all(|rate| *rate <= 20.0 || *rate == 50.0), "{found:?}");
    assert_eq!(found.len(), 2 * 5, "those that are possible come as often as asked: {found:?}");
    assert!(experiment.impossible().is_some_and(|why| why.contains("one can follow")));
}

#[test]
fn depths_that_are_not_known_well_come_again() {
    let mut experiment = planned(Search::Curve(CurveSearch::at(&[1, 4, 16], 3, 1))).experiment;
    let (mut counts, mut last) = (std::collections::BTreeMap::<u32, u32>::new(), None);
    while let Some(step) = experiment.next(last.as_ref()) {
        let count = counts.entry(step.streams[0].queue_depth).or_default();
        *count += 1;
        // Depth 4 comes out as 900 and 1100 in turns, the others always as 1000.
        let off = if step.streams[0].queue_depth == 4 { 100.0 } else { 0.0 };
        let rate = if *count % 2 == 0 { 1000.0 - off } else { 1000.0 + off };
        last = Some(finished(&step, rate, &[1000]));
    }
    assert_eq!(counts.into_iter().collect::<Vec<_>>(), [(1, 3), (4, 6), (16, 3)], "twice as often, no more");
}

#[test]
fn depths_can_be_given() {
    let mut experiment = planned(Search::Curve(CurveSearch::at(&[16, 2, 4, 2], 2, 1))).experiment;
    let (mut depths, mut last) = (Vec::new(), None);
    while let Some(step) = experiment.next(last.as_ref()) {
        depths.push(step.streams[0].queue_depth);
        last = Some(finished(&step, 1000.0, &[1000]));
    }
    assert_eq!(depths.len(), 6, "{depths:?}");
    depths.sort_unstable();
    assert_eq!(depths, [2, 2, 4, 4, 16, 16]);
}

#[test]
fn the_highest_rate_is_proven_and_given_up_where_it_was_luck() {
    let goals = vec![LatencyGoal { quantile: Some(0.99), limit: Nanos::millis(10) }];
    let mut experiment =
        planned(Search::Objective(ObjectiveSearch::new(goals, None, 3, 32, true))).experiment;
    let (mut last, mut rates): (_, Vec<f64>) = (None, Vec::new());
    while let Some(step) = experiment.next(last.as_ref()) {
        let Pacing::Open { rate, .. } = step.streams[0].pacing else {
            last = Some(m_m_1(&step, 0.001));
            continue;
        };
        let came_before = rates.iter().any(|known| (known - rate).abs() < 1e-6);
        rates.push(rate);
        // What is above 500/s is kept at the first try alone.
        let service_s = if came_before && rate > 500.0 { 0.002 } else { 0.001 };
        last = Some(m_m_1(&step, service_s));
        assert!(rates.len() < 40, "{rates:?}");
    }
    let final_rate = *rates.last().unwrap();
    assert!(final_rate <= 500.0, "{rates:?}");
    assert_eq!(rates.iter().filter(|rate| (*rate - final_rate).abs() < 1e-6).count(), 3, "{rates:?}");
}

#[test]
fn a_rate_above_the_first_one_missed_is_tried_at_last() {
    // p99 = ln 100 ÷ (1000/s − X) is 9.2 ms at 499.4/s: the first of the bisection is missed, and no higher one is tried in it.
    let goals = vec![LatencyGoal { quantile: Some(0.99), limit: Nanos::micros(9200) }];
    let mut experiment =
        planned(Search::Objective(ObjectiveSearch::new(goals, None, 2, 32, true))).experiment;
    let (mut last, mut rates) = (None, Vec::new());
    while let Some(step) = experiment.next(last.as_ref()) {
        if let Pacing::Open { rate, .. } = step.streams[0].pacing {
            rates.push(rate);
        }
        last = Some(m_m_1(&step, 0.001));
    }
    let [.., proof, again, beyond] = rates[..] else { panic!("{rates:?}") };
    assert!(proof == again && (490.0..499.5).contains(&proof) && rates[0] == 500.0, "{rates:?}");
    assert!((beyond - 525.0).abs() < 1e-6, "{rates:?}");
}

#[test]
fn a_wanted_rate_is_proven_at_a_depth_that_little_gives() {
    let goals = vec![LatencyGoal { quantile: None, limit: Nanos::millis(4) }];
    let search = ObjectiveSearch::new(goals, Some(10_000.0), 3, 1024, false);
    let mut experiment = planned(Search::Objective(search)).experiment;
    let (mut last, mut seen) = (None, Vec::new());
    while let Some(step) = experiment.next(last.as_ref()) {
        let rate = match step.streams[0].pacing {
            Pacing::Open { rate, .. } => Some(rate),
            Pacing::Closed { .. } => None,
        };
        seen.push((step.streams[0].queue_depth, rate));
        // Alone, an operation takes 1 ms.
        last = Some(finished(&step, rate.unwrap_or(1000.0), &[1_000_000]));
    }
    // 10,000/s × 1 ms = 10 in flight, and room for eight times as many.
    assert_eq!(seen, [(1, None), (80, Some(10_000.0)), (80, Some(10_000.0)), (80, Some(10_000.0))]);
}

#[test]
fn a_job_with_a_sweep_of_its_own_is_refused() {
    let check = |more: &str, code: &str| {
        let job = read(&format!("{JOB}{more}"));
        let (plan, found) =
            plan_search(&job, &facts(&job, |_| DISK), 0, Search::Curve(CurveSearch::new(8, 1, 0)));
        assert!(plan.is_none());
        assert_eq!(found.all().iter().map(|d| d.code).collect::<Vec<_>>(), [code]);
    };
    check("curve = [\"50%\"]\n", "plan.search-sweep");
    check("[stage.second]\n", "plan.search-stages");
}

#[test]
fn a_depth_that_comes_again_goes_to_other_places() {
    let mut experiment = planned(Search::Curve(CurveSearch::new(4, 3, 0))).experiment;
    let (mut seeds, mut last) = (Vec::new(), None);
    while let Some(step) = experiment.next(last.as_ref()) {
        seeds.push(step.streams[0].workers[0].seed);
        last = Some(finished(&step, 1000.0, &[1_000_000]));
    }
    let count = seeds.len();
    seeds.sort_unstable();
    seeds.dedup();
    assert_eq!(seeds.len(), count);
}

/// A stream without a rate of its own is offered those of the search, as far apart as it says.
#[test]
fn arrivals_have_an_effect_where_the_search_offers_rates() {
    let job = read(&JOB.replace("[stream.reads]\n", "[stream.reads]\narrival = \"constant\"\n"));
    let said = |search: Search| -> Vec<String> {
        let (plan, found) = plan_search(&job, &facts(&job, |_| DISK), 0, search);
        assert!(plan.is_some(), "{found:?}");
        found.all().iter().map(|one| one.message.clone()).collect()
    };
    let goals = || vec!["p99<10ms".parse().expect("a goal")];
    let rates = RateSearch::new(Vec::new(), goals(), 32, 3, false, 3);
    assert_eq!(said(Search::Rates(Box::new(rates))), Vec::<String>::new());
    assert_eq!(
        said(Search::Objective(ObjectiveSearch::new(goals(), None, 1, 32, false))),
        Vec::<String>::new()
    );
    // Of depths there is none, whatever else is said.
    let depths = CurveSearch::new(8, 1, 3);
    assert_eq!(said(Search::Curve(depths)), ["arrival has no effect: the stream has no rate"]);
}
