//! Scaling laws against published coefficients, recomputed fits, and constructed devices.

use crate::drawn::normal;
use crate::{close, corpus, json, number, numbers};
use fathom_analysis::scaling::{Answers, Fit, Law, Point, Verdict, Weighting, answers};

fn points(n: &[f64], x: &[f64]) -> Vec<Point> {
    n.iter().zip(x).map(|(&n, &x)| Point { n, x }).collect()
}

/// Two columns of a file of the corpus.
fn read(name: &str, load: &str, throughput: &str) -> Option<Vec<Point>> {
    let text = corpus(&format!("usl/{name}.csv"))?;
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let titles = reader.headers().expect("a heading").clone();
    let at = |title: &str| titles.iter().position(|t| t == title).expect("the column is there");
    let (n, x) = (at(load), at(throughput));
    let cell = |row: &csv::StringRecord, at: usize| row[at].parse().expect("a number");
    let rows = reader.records().map(|row| row.expect("a row"));
    Some(rows.map(|row| Point { n: cell(&row, n), x: cell(&row, x) }).collect())
}

fn data(name: &str) -> Option<Vec<Point>> {
    match name {
        "raytracer" => read(name, "processors", "throughput"),
        "raytracer[1:6]" | "raytracer[1:5]" => {
            let kept = if name.contains('6') { 6 } else { 5 };
            Some(data("raytracer")?[..kept].to_vec())
        }
        "specsdm91" => read(name, "load", "throughput"),
        "oracledb" => read(name, "db_time", "txn_rate"),
        "cisco32" => read(name, "concurrency", "throughput"),
        "exact02" => {
            Some(points(&[1.0, 2.0, 4.0, 6.0, 8.0, 10.0], &[1.0, 1.8868, 3.0769, 3.5294, 3.5398, 3.3557]))
        }
        name if name.starts_with("constructed_") => read(name, "depth", "iops"),
        _ => None,
    }
}

fn answer(points: &[Point]) -> Answers {
    answers(points, None, Weighting::Equal, &[0.001], 1)
}

fn chosen(answers: &Answers) -> Option<&'static str> {
    answers.chosen.map(|at| answers.fits[at].law.name())
}

#[test]
fn recomputed_fits_with_their_standard_errors() {
    let Some(expected) = json("usl/expected.json") else { return };
    let mut seen = 0;
    for row in expected["recomputed_scipy"].as_array().expect("a list") {
        let name = row["name"].as_str().expect("a name");
        let Some(points) = data(name) else { continue };
        seen += 1;
        let fit = Fit::usl(&points, Weighting::Equal).expect("it can be fitted");
        // Where the bounds hold nothing back, the free fit is the bounded one.
        let is_bounded = row["bounded"].as_bool().expect("a flag");
        let coefficients = match &fit.unconstrained {
            Some(free) if !is_bounded => free,
            _ => &fit.coefficients,
        };
        for (at, key) in ["alpha", "beta", "gamma"].iter().enumerate() {
            let found = coefficients[at];
            close(&format!("{name} {key}"), found.value, number(&row[key]), 1e-3);
            let error = found.standard_error.expect("there are enough points");
            close(&format!("{name} error of {key}"), error, number(&row["se"][at]), 1e-3);
        }
        if coefficients == &fit.coefficients {
            close(&format!("{name} RSE"), fit.residual_standard_error.unwrap(), number(&row["rse"]), 1e-3);
            close(&format!("{name} limit"), fit.law.ceiling().unwrap(), number(&row["limit"]), 1e-3);
            if let Some(peak) = row["Nmax"].as_f64() {
                close(&format!("{name} peak"), fit.law.peak().unwrap().n, peak, 1e-3);
                close(&format!("{name} peak"), fit.law.peak().unwrap().x, number(&row["Xmax"]), 1e-3);
            } else {
                assert_eq!(fit.law.peak(), None, "{name}");
            }
        }
    }
    assert!(seen >= 9, "only {seen} data sets were looked at");
}

#[test]
fn published_coefficients() {
    let Some(expected) = json("usl/expected.json") else { return };
    let published = &expected["published"];
    let check = |name: &str, key: &str, tolerance: f64| {
        let Some(points) = data(name) else { return };
        let fit = Fit::usl(&points, Weighting::Equal).expect("it can be fitted");
        for coefficient in &fit.coefficients {
            let printed = number(&published[key][coefficient.name]);
            // Printed with so many digits.
            let error = (coefficient.value - printed).abs();
            assert!(error <= tolerance.max(1e-3 * printed.abs()), "{name} {coefficient:?}, not {printed}");
        }
    };
    check("specsdm91", "specsdm91", 0.0);
    check("specsdm91", "specsdm91_lmfit", 0.0);
    check("raytracer[1:6]", "raytracer_first6", 1e-5);
    check("raytracer[1:5]", "raytracer_first5", 5e-4);
    check("exact02", "exact02", 1e-4);
    check("cisco32", "cisco32", 0.0);
    let Some(points) = data("specsdm91") else { return };
    let fit = Fit::usl(&points, Weighting::Equal).expect("it can be fitted");
    for (point, printed) in points.iter().zip(numbers(&published["specsdm91"]["fitted"])) {
        assert!((fit.law.throughput(point.n) - printed).abs() <= 0.51, "{point:?} {printed}");
    }
}

#[test]
fn errors_of_what_follows_from_a_law() {
    let Some(expected) = json("usl/expected.json") else { return };
    for name in ["specsdm91", "cisco32"] {
        let Some(points) = data(name) else { return };
        let fit = Fit::usl(&points, Weighting::Equal).expect("it can be fitted");
        let check = |key: &str, figure: &dyn Fn(&Law) -> Option<f64>| {
            let pair = numbers(&expected["delta_method"][name][key]);
            close(key, figure(&fit.law).unwrap(), pair[0], 1e-3);
            close(key, fit.standard_error_of(figure).unwrap(), pair[1], 1e-3);
        };
        check("Nmax", &|law| law.peak().map(|peak| peak.n));
        check("Xmax", &|law| law.peak().map(|peak| peak.x));
        check("N_power_knee", &Law::knee);
        check("N95_of_peak", &|law| law.load_at(0.95 * law.peak()?.x));
    }
}

#[test]
fn published_curves_are_answered() {
    let Some(points) = data("specsdm91") else { return };
    let found = answer(&points);
    assert_eq!((chosen(&found), found.verdict), (Some("usl"), Verdict::Retrograde));
    close("peak", found.peak.n.value, 96.519, 1e-3);
    close("peak", found.peak.x.value, 1883.9, 1e-3);
    close("95 %", found.n_at_95_percent.unwrap().value, 58.863, 1e-3);
    let (low, high) = found.peak.n.interval.expect("there are residuals");
    // Wide at the upper end: errors that grow with throughput are as usual as others, and each load was measured once.
    assert!(low < 96.5 && high > 96.5 && low > 70.0 && high < 250.0, "{low} {high}");
    let Some(points) = data("cisco32") else { return };
    let found = answer(&points);
    assert_eq!(chosen(&found), Some("usl"));
    close("peak", found.peak.n.value, 35.574, 1e-3);
    let Some(points) = data("raytracer") else { return };
    let found = answer(&points);
    assert_eq!((chosen(&found), found.verdict), (Some("usl"), Verdict::Contention));
    assert!(!found.peak.is_of_law, "β is at its bound: no peak can be told");
    close("limit", found.ceiling.unwrap().value, 378.199, 1e-3);
    assert!(found.remarks.iter().any(|remark| remark.contains("β is held at 0")), "{:?}", found.remarks);
    let Some(points) = data("oracledb") else { return };
    let found = answer(&points);
    assert_eq!(chosen(&found), Some("usl"));
    close("peak", found.peak.n.value, 3.5117, 1e-3);
}

#[test]
fn a_device_of_eight_units_has_eight() {
    let Some(points) = data("constructed_productform_c8") else { return };
    let found = answer(&points);
    assert_eq!((chosen(&found), found.verdict), (Some("usl"), Verdict::Contention));
    close("c", found.parallel_units.unwrap().value, 8.0, 1e-3);
    close("ceiling", found.ceiling.unwrap().value, 8000.0, 1e-3);
    let soft = found.fits.iter().find(|fit| fit.law.name() == "softmin").unwrap();
    for (coefficient, expect) in soft.coefficients.iter().zip([1_142.857_143, 8000.0, 1.0]) {
        close(coefficient.name, coefficient.value, expect, 1e-3);
    }
    // R = (N + 7) / 8000: 1 ms at N = 1.
    let limit = found.latency_limits[0];
    close("limit", limit.n.unwrap().value, 1.0, 1e-3);
    close("limit", limit.x.unwrap().value, 1000.0, 1e-3);
}

#[test]
fn a_hard_knee_is_not_given_a_peak() {
    let Some(points) = data("constructed_hardknee16") else { return };
    let found = answer(&points);
    assert_eq!((chosen(&found), found.verdict), (Some("softmin"), Verdict::Capped));
    let soft = &found.fits[found.chosen.unwrap()];
    assert!(soft.max_relative_error <= 0.0015, "{}", soft.max_relative_error);
    close("ceiling", found.ceiling.unwrap().value, 16_000.0, 1e-3);
    close("knee", found.knee.unwrap().value, 16.0, 2e-3);
    close("units", found.parallel_units.unwrap().value, 16.0, 2e-3);
    assert!(!found.peak.is_of_law);
    assert_eq!((found.peak.n.value, found.peak.x.value), (16.0, 16_000.0));
    let usl = found.fits.iter().find(|fit| fit.law.name() == "usl").unwrap();
    close("the USL's error", usl.max_relative_error, 0.517, 1e-2);
    close("the USL's false peak", usl.law.peak().unwrap().n, 54.13, 1e-3);
}

#[test]
fn contention_up_to_a_cap_is_found_where_no_smooth_law_fits() {
    let Some(points) = data("constructed_prod_c32_cap10k") else { return };
    let found = answer(&points);
    assert_eq!((chosen(&found), found.verdict), (Some("capped"), Verdict::Capped));
    close("ceiling", found.ceiling.unwrap().value, 10_000.0, 1e-3);
    // Where 32000 N / (N + 31) is 10,000.
    close("knee", found.knee.unwrap().value, 310_000.0 / 22_000.0, 1e-3);
    let error = |name: &str| found.fits.iter().find(|fit| fit.law.name() == name).unwrap().max_relative_error;
    close("usl", error("usl"), 0.312, 1e-2);
    close("softmin", error("softmin"), 0.144, 1e-2);
}

const DEPTHS: [f64; 9] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];

#[test]
fn curves_without_a_law_say_so() {
    // A disk with command queuing (constructed), and a 12-disk RAID 0 whose start is superlinear (Iometer's figures).
    let disk = points(&DEPTHS[..6], &[100.0, 104.0, 125.0, 150.0, 175.0, 190.0]);
    let raid = points(
        &DEPTHS,
        &[1215.996, 4657.061, 5369.327, 5377.387, 5487.912, 5470.973, 5520.234, 5542.740, 5513.995],
    );
    for (points, peak) in [(&disk, (32.0, 190.0)), (&raid, (128.0, 5542.740))] {
        let found = answer(points);
        assert_eq!((chosen(&found), found.verdict), (None, Verdict::NoLaw));
        assert_eq!((found.peak.n.value, found.peak.x.value), peak);
        assert!(found.n_at_95_percent.is_some(), "read off the curve");
    }
    let found = answer(&raid);
    // 1 ms lies between depth 4 (0.745 ms) and 8 (1.488 ms).
    let limit = found.latency_limits[0];
    assert!((4.0..8.0).contains(&limit.n.unwrap().value), "{limit:?}");
}

#[test]
fn a_disk_that_is_full_at_depth_one_is_flat() {
    let found = answer(&points(
        &DEPTHS,
        &[332.932, 333.985, 332.595, 336.568, 329.786, 332.055, 331.041, 331.309, 327.443],
    ));
    assert_eq!(found.verdict, Verdict::Flat);
    assert!(found.chosen.is_some());
}

/// A search that finds no gain stops after four depths, which are too few for a law and enough for this.
#[test]
fn what_is_full_at_depth_one_needs_no_law() {
    let of = |x: fn(f64, f64) -> f64| {
        let offs = [-0.02, 0.01, 0.015];
        let loads = [1.0, 2.0, 3.0, 4.0];
        let all = loads.iter().flat_map(|&n| offs.map(|off| Point { n, x: x(n, off) }));
        answer(&all.collect::<Vec<_>>())
    };
    let flat = of(|_, off| 1000.0 * (1.0 + off));
    assert_eq!((flat.verdict, flat.smallest), (Verdict::Flat, 1.0));
    assert!(flat.remarks.iter().all(|remark| !remark.contains("different loads")), "{:?}", flat.remarks);
    let grows = of(|n, off| 1000.0 * (1.0 + 0.04 * n) * (1.0 + off));
    assert_ne!(grows.verdict, Verdict::Flat);
    let falls = of(|n, off| 1000.0 * (1.0 - 0.05 * n) * (1.0 + off));
    assert_ne!(falls.verdict, Verdict::Flat);
}

#[test]
fn no_saturation_is_no_peak() {
    let found = answer(&points(&DEPTHS[..6], &[100.0, 200.0, 400.0, 800.0, 1600.0, 3200.0]));
    assert_eq!((chosen(&found), found.verdict), (Some("linear"), Verdict::Linear));
    assert!(!found.peak.is_of_law);
    assert_eq!((found.ceiling, found.n_at_95_percent), (None, None));
    let usl = &found.fits[0];
    assert!(usl.coefficients[0].value.abs() < 1e-9 && usl.coefficients[1].value.abs() < 1e-9);
}

#[test]
fn few_points_are_remarked_upon() {
    let found = answer(&points(&[1.0, 2.0, 4.0], &[100.0, 190.0, 300.0]));
    assert_eq!(chosen(&found), None);
    assert!(
        found.remarks.iter().any(|remark| remark.contains("only 3 different loads")),
        "{:?}",
        found.remarks
    );
}

/// Throughput that bends is no line, however little of the largest one a line through it misses at small loads.
#[test]
fn a_curve_that_bends_is_not_linear_so_far() {
    let bends = [(1.0, 102.0), (2.0, 191.0), (4.0, 372.0), (8.0, 707.0), (16.0, 1206.0), (32.0, 1972.0)];
    for rows in [&bends[..], &bends[..4]] {
        let points: Vec<Point> = rows.iter().map(|&(n, x)| Point { n, x }).collect();
        let found = answers(&points, None, Weighting::Equal, &[], 1);
        let straight = rows.last().map(|(n, x)| x / n / rows[0].1);
        // Of four loads the last keeps 87 % of the first one's share.
        assert!(straight.is_some_and(|share| share < 0.9), "{straight:?}");
        assert_ne!(found.verdict, Verdict::Linear, "{found:?}");
    }
}

/// A line by another name is judged as the line: what grows by more than the load is neither.
#[test]
fn a_usl_without_contention_is_judged_as_the_line_that_it_is() {
    let of = |power: f64| {
        let loads: Vec<f64> = (0..8).map(|k| 2_f64.powi(k)).collect();
        let points: Vec<Point> = loads.iter().map(|&n| Point { n, x: 100.0 * n.powf(power) }).collect();
        answers(&points, None, Weighting::Equal, &[], 1)
    };
    assert_eq!(chosen(&of(1.01)), Some("linear"));
    for power in [1.1, 1.2, 1.3, 1.5] {
        let found = of(power);
        assert_eq!(chosen(&found), None, "{power}: {found:#?}");
    }
}

/// Of exact figures one load beyond the peak shows that throughput falls, and of noisy ones it does not.
#[test]
fn one_load_beyond_the_peak_is_enough_where_nothing_is_left() {
    let of = |noise: f64| {
        let loads = [1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0];
        let x = |n: f64| 1000.0 * n / (1.0 + 0.02 * (n - 1.0) + 0.002 * n * (n - 1.0));
        let off = |at: usize| if at.is_multiple_of(2) { 1.0 + noise } else { 1.0 - noise };
        let points: Vec<Point> =
            loads.iter().enumerate().map(|(at, &n)| Point { n, x: (x(n) * off(at)).round() }).collect();
        answers(&points, None, Weighting::Equal, &[], 1).verdict
    };
    assert_eq!(of(0.0), Verdict::Retrograde);
    assert_eq!(of(0.01), Verdict::Contention);
}

/// Laws pass through points that are all alike, and none is told by them.
#[test]
fn laws_of_a_constant_are_not_determined() {
    for loads in [&DEPTHS[..], &[1.0, 2.0, 3.0, 4.0]] {
        let flat = answer(&loads.iter().map(|&n| Point { n, x: 1000.0 }).collect::<Vec<_>>());
        assert_eq!(flat.verdict, Verdict::Flat);
        assert_eq!(flat.is_undetermined(), flat.chosen.is_none(), "{flat:#?}");
    }
    // Four loads are too few for a law, however well it fits.
    let few = answer(&[1.0, 2.0, 3.0, 4.0].map(|n| Point { n, x: 1000.0 }));
    assert!(few.is_undetermined(), "{few:#?}");
    // What no law fits is explained by none.
    let odd = answer(&points(&DEPTHS, &[100.0, 900.0, 200.0, 800.0, 100.0, 900.0, 300.0, 700.0, 100.0]));
    assert!(odd.chosen.is_none() && !odd.is_undetermined(), "{odd:#?}");
}

/// One unit of 125 µs and eight of 1 ms give the same from eight operations in flight on.
#[test]
fn units_are_not_told_by_loads_beyond_them() {
    let check = |loads: &[f64], x: &dyn Fn(f64) -> f64, expect: Option<&str>| {
        // Each three times, a per cent apart.
        let points: Vec<Point> =
            loads.iter().flat_map(|&n| [0.99, 1.0, 1.01].map(|off| Point { n, x: x(n) * off })).collect();
        let found = answers(&points, None, Weighting::Relative, &[], 1);
        let said = found.remarks.iter().find(|remark| remark.starts_with("parallel units: "));
        match expect {
            Some(expect) => {
                assert_eq!(found.parallel_units, None, "{found:#?}");
                assert!(said.is_some_and(|said| said.starts_with(expect)), "{found:#?}");
            }
            None => {
                assert_eq!(said, None);
                let units = found.parallel_units.expect("it is told").value;
                assert!((units / 64.0 - 1.0).abs() < 0.05, "{units}");
            }
        }
    };
    let eight = |n: f64| 1000.0 * n.min(8.0);
    check(&[8.0, 16.0, 24.0, 32.0, 48.0, 64.0], &eight, Some("parallel units: at most 8"));
    let four = |n: f64| 4000.0 * n / (n + 3.0);
    check(&[4.0, 8.0, 16.0, 32.0, 64.0, 128.0], &four, Some("parallel units: between 1."));
    // A smallest load that is far from full tells what one operation does.
    let many = |n: f64| 64_000.0 * n / (n + 63.0);
    check(&[2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 512.0], &many, None);
}

/// Replicates of a load tell its noise, and nothing of another load.
#[test]
fn few_loads_have_no_law_however_often_they_were_measured() {
    let again = |rows: &[(f64, f64)]| -> Vec<Point> {
        let of = |&(n, x): &(f64, f64)| [0.995, 1.0, 1.005].map(|off| Point { n, x: x * off });
        rows.iter().flat_map(of).collect()
    };
    for rows in [&[(1.0, 1015.0), (2.0, 1010.0)][..], &[(1.0, 1000.0), (16.0, 8000.0)]] {
        let found = answers(&again(rows), None, Weighting::Relative, &[], 1);
        assert_eq!((found.chosen, found.parallel_units), (None, None), "{found:#?}");
        assert!(!found.peak.is_of_law && found.remarks.iter().any(|said| said.contains("2 different loads")));
    }
    // As many loads as coefficients leave nothing to judge a law by, and so few nothing to judge a line by.
    let bent =
        answers(&again(&[(1.0, 1000.0), (4.0, 2500.0), (16.0, 4000.0)]), None, Weighting::Relative, &[], 1);
    assert_eq!((bent.chosen, bent.verdict), (None, Verdict::NoLaw), "{bent:#?}");
    let straight =
        answers(&again(&[(1.0, 1000.0), (2.0, 2000.0), (4.0, 4000.0)]), None, Weighting::Relative, &[], 1);
    assert_eq!((straight.chosen, straight.verdict), (None, Verdict::NoLaw), "{straight:#?}");
}

/// Where every point counts alike, a law may pass by the small loads: then that is told, or there is no law.
#[test]
fn a_law_that_is_far_from_small_loads_is_not_given_without_a_word() {
    type Curve = fn(f64) -> f64;
    let doubled: Vec<f64> = (0..9).map(|power| f64::from(1 << power)).collect();
    let curves: [(&str, Curve); 4] = [
        ("offset", |n| 500.0 + 1000.0 * n),
        ("capped power", |n| (1000.0 * n.powf(1.3)).min(15000.0)),
        ("root", |n| 1000.0 * n.sqrt()),
        ("power", |n| 1000.0 * n.powf(0.9)),
    ];
    for (name, x) in curves {
        for loads in [&doubled[..], &doubled[..6]] {
            let points = points(loads, &loads.iter().map(|n| x(*n)).collect::<Vec<f64>>());
            let found = answer(&points);
            let worst = found.chosen.map_or(0.0, |at| found.fits[at].max_relative_error);
            let told =
                found.remarks.iter().filter(|remark| remark.contains("of what was measured at load")).count();
            assert_eq!(told, usize::from(worst > 0.10), "{name}: {worst} {:?}", found.remarks);
        }
    }
    let of_root = points(&doubled, &doubled.iter().map(|n| 1000.0 * n.sqrt()).collect::<Vec<f64>>());
    assert_eq!(chosen(&answer(&of_root)), None);
}

/// Of intervals for 95 % at least nine in ten hold what the law has, whether all throughputs scatter alike or the large ones more,
/// where each load was measured three times.
#[test]
fn intervals_hold_however_the_noise_grows() {
    let law = Law::Usl { alpha: 0.03, beta: 1e-4, gamma: 1000.0 };
    let peak = law.peak().expect("it falls beyond it");
    let truths = [peak.n, peak.x, law.knee().unwrap(), law.load_at(0.95 * peak.x).unwrap()];
    let loads = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 192.0];
    // What deviations are at 10,000 per second, and with which power of throughput they grow.
    for (at_10k, power) in [(100.0_f64, 0.0), (100.0, 0.5), (100.0, 1.0)] {
        let mut held = [0; 4];
        for seed in 0..100 {
            let mut random = fastrand::Rng::with_seed(seed);
            let points: Vec<Point> = loads
                .iter()
                .flat_map(|&n| [n; 3])
                .map(|n| {
                    let x = law.throughput(n);
                    Point { n, x: x + at_10k * (x / 10_000.0).powf(power) * normal(&mut random) }
                })
                .collect();
            let found = answers(&points, None, Weighting::Equal, &[], 1);
            let figures =
                [Some(found.peak.n), Some(found.peak.x), found.knee, found.n_at_95_percent].map(|figure| {
                    figure.and_then(|figure| figure.interval).expect("there are residuals and a law")
                });
            for ((held, (low, high)), truth) in held.iter_mut().zip(figures).zip(truths) {
                *held += u32::from((low..=high).contains(&truth));
            }
        }
        assert!(held.iter().all(|&held| held >= 90), "{at_10k} {power}: {held:?} of 100");
    }
}

/// The same where each load was measured once, so that nothing tells how errors grow: half of the resamples take either.
#[test]
fn intervals_of_single_measurements_hold() {
    let law = Law::Usl { alpha: 0.125, beta: 0.0, gamma: 1000.0 };
    let truths = [8.0, law.knee().unwrap()];
    let loads = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0];
    for power in [0.0, 1.0] {
        let (mut told, mut held) = ([0; 2], [0; 2]);
        for seed in 0..200 {
            let mut random = fastrand::Rng::with_seed(seed);
            let noisy = |n: f64| {
                let x = law.throughput(n);
                Point { n, x: x + 160.0 * (x / 8000.0).powf(power) * normal(&mut random) }
            };
            let points: Vec<Point> = loads.into_iter().map(noisy).collect();
            let found = answers(&points, None, Weighting::Equal, &[], 1);
            for (which, figure) in [found.parallel_units, found.knee].into_iter().enumerate() {
                let Some((low, high)) = figure.and_then(|figure| figure.interval) else { continue };
                told[which] += 1;
                held[which] += u32::from((low..=high).contains(&truths[which]));
            }
        }
        for (told, held) in told.into_iter().zip(held) {
            assert!(told >= 180 && held * 100 >= told * 91, "{power}: {held} of {told} of 200");
        }
    }
}
