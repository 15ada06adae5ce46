//! Rows of what is reported and logged.

use super::super::extras::{LogValue, Measures, Unified};
use super::super::grammar::shortened;
use super::super::settings::Settings;
use super::super::values::{Misread, Unit, number};
use super::Priority::{P0, P1, P2};
use super::{NO_BOOLEAN, OptionRow, Value, accepted, built, refused};
use fathom_model::{Steady, SteadyBound, SteadyFigure};
use fathom_units::Ratio;

/// Percentiles that fio has room for.
const PERCENTILES_MAX: usize = 20;

pub(super) const ROWS: &[OptionRow] = &[
    built("group_reporting", &[], P0, Value::Flag(|s, flag| s.report.group_reporting = flag)),
    built("stats", &[], P1, Value::Boolean(|s, flag| s.report.stats = flag)),
    built("clat_percentiles", &[], P0, Value::Boolean(|s, flag| s.report.clat_percentiles = flag)),
    built("lat_percentiles", &[], P0, Value::Boolean(|s, flag| s.report.lat_percentiles = flag)),
    built("slat_percentiles", &[], P1, Value::Boolean(|s, flag| s.report.slat_percentiles = flag)),
    built(
        "percentile_list",
        &[],
        P0,
        Value::Text(|s, text, misreads| {
            let items: Vec<&str> = text.split(':').collect();
            // Observed with fio 3.33: it says so and keeps the first ones.
            let kept = &items[..items.len().min(PERCENTILES_MAX)];
            let list: Vec<f64> = kept
                .iter()
                .map(|item| item.trim().parse::<f64>().map_err(|_| format!("\"{item}\" is no number")))
                .collect::<Result<_, _>>()?;
            if let Some(wrong) = list.iter().find(|percent| !(0.0..=100.0).contains(*percent)) {
                return Err(format!("{wrong} is outside 0 to 100"));
            }
            if kept.len() < items.len() {
                misreads.push(Misread {
                    piece: text.trim().to_owned(),
                    reads_as: format!("its first {PERCENTILES_MAX}"),
                    because: "it has room for no more",
                    instead: kept.join(":"),
                });
            }
            s.report.percentiles = list;
            let decimals =
                |item: &&str| item.trim().split_once('.').map_or(0, |(_, decimals)| decimals.len());
            s.report.percentile_digits = kept.iter().map(decimals).max().unwrap_or(0);
            Ok(())
        }),
    ),
    built("significant_figures", &[], P1, Value::Count(1, 10, |s, n| s.report.units.digits = n)),
    built("disk_util", &[], P1, Value::Boolean(|s, flag| s.report.disk_util = flag)),
    built(
        "gtod_reduce",
        &[],
        P0,
        // Observed with fio 3.33: 0 takes nothing back that a 1 before it, as in the global section, has put away.
        Value::Boolean(|s, flag| {
            if flag {
                s.report.measures =
                    Measures { submission: false, completion: false, service: false, bandwidth: false };
                // Those stay away where a later option brings a latency back.
                s.report.clat_percentiles = false;
                s.report.lat_percentiles = false;
                s.report.slat_percentiles = false;
            }
        }),
    ),
    built("disable_lat", &[], P1, Value::Boolean(|s, flag| s.report.measures.service = !flag)),
    built("disable_clat", &[], P1, Value::Boolean(|s, flag| s.report.measures.completion = !flag)),
    built("disable_slat", &[], P1, Value::Boolean(|s, flag| s.report.measures.submission = !flag)),
    built(
        "disable_bw_measurement",
        &["disable_bw"],
        P1,
        Value::Boolean(|s, flag| s.report.measures.bandwidth = !flag),
    ),
    built(
        "unified_rw_reporting",
        &[],
        P1,
        Value::Word(&["none", "mixed", "both", "0", "1", "2"], |s, word, _| {
            s.report.unified = match word {
                "mixed" | "1" => Unified::Mixed,
                "both" | "2" => Unified::Both,
                _ => Unified::Separate,
            };
        }),
    ),
    built(
        "kb_base",
        &[],
        P1,
        Value::Word(&["1024", "1000"], |s, word, _| {
            s.kb_base = if word == "1000" { 1000 } else { 1024 };
            s.report.units.is_binary = s.kb_base == 1024;
        }),
    ),
    built(
        "unit_base",
        &[],
        P1,
        Value::Word(&["0", "8", "1"], |s, word, _| s.report.units.is_bits = word == "1"),
    ),
    built("bwavgtime", &[], P1, Value::Count(1, u32::MAX as u64, |s, ms| s.report.sample_ms[0] = Some(ms))),
    built("iopsavgtime", &[], P1, Value::Count(1, u32::MAX as u64, |s, ms| s.report.sample_ms[1] = Some(ms))),
    accepted(
        "block_error_percentiles",
        &[],
        P2,
        NO_BOOLEAN,
        "errors of trims are counted for the job, not block by block",
    ),
    accepted("job_start_clock_id", &[], P2, Value::Any, "start times count from the realtime clock"),
    built("steadystate", &["ss"], P1, Value::Text(steady_state)),
    built(
        "steadystate_duration",
        &["ss_dur"],
        P1,
        Value::Time(Unit::Seconds, |s, us| s.demands.steady_window = us),
    ),
    built(
        "steadystate_ramp_time",
        &["ss_ramp"],
        P1,
        Value::Time(Unit::Seconds, |s, us| s.demands.steady_after = us),
    ),
    built(
        "steadystate_check_interval",
        &["ss_interval"],
        P2,
        Value::Time(Unit::Seconds, |s, us| s.demands.steady_every = us),
    ),
    // Logs.
    built("per_job_logs", &[], P0, Value::Boolean(|s, flag| s.report.per_job_logs = flag)),
    built(
        "write_bw_log",
        &[],
        P0,
        Value::OptionalText(|s, prefix| s.report.logs[0] = Some(prefix.to_owned())),
    ),
    built(
        "write_lat_log",
        &[],
        P0,
        Value::OptionalText(|s, prefix| s.report.logs[1] = Some(prefix.to_owned())),
    ),
    built(
        "write_iops_log",
        &[],
        P0,
        Value::OptionalText(|s, prefix| s.report.logs[2] = Some(prefix.to_owned())),
    ),
    built(
        "write_hist_log",
        &[],
        P1,
        Value::OptionalText(|s, prefix| s.report.logs[3] = Some(prefix.to_owned())),
    ),
    built(
        "write_iolog",
        &[],
        P1,
        Value::Text(|s, name, _| {
            s.report.iolog = Some(name.to_owned());
            Ok(())
        }),
    ),
    built("log_avg_msec", &[], P0, Value::Count(0, u32::MAX as u64, |s, ms| s.report.log_avg_ms = ms)),
    built("log_hist_msec", &[], P1, Value::Count(0, u32::MAX as u64, |s, ms| s.report.log_hist_ms = ms)),
    // What is above 6 is refused where there is a histogram to log: fio takes it in any case.
    built(
        "log_hist_coarseness",
        &[],
        P1,
        Value::Count(0, u32::MAX as u64, |s, n| s.report.hist_coarseness = n),
    ),
    built(
        // As fio 3.33 calls it; since 3.36 the names are the other way round.
        "log_max_value",
        &["log_window_value"],
        P1,
        Value::Word(&["avg", "max", "both", "0", "1"], |s, word, _| {
            s.report.log_value = match word {
                "max" | "1" => LogValue::Maximum,
                "both" => LogValue::Both,
                _ => LogValue::Average,
            };
        }),
    ),
    built("log_offset", &[], P1, Value::Boolean(|s, flag| s.report.log_columns.offset = flag)),
    built("log_prio", &[], P2, Value::Boolean(|s, flag| s.report.log_columns.priority = flag)),
    built("log_issue_time", &[], P2, Value::Boolean(|s, flag| s.report.log_columns.issue_time = flag)),
    // What fio allocates at first; 1024 is the least it takes.
    accepted("log_entries", &[], P2, Value::Count(1024, u32::MAX as u64, |_, _| {}), ""),
    accepted(
        "log_compression",
        &[],
        P2,
        Value::Bytes(1024, 512 << 20, |_, _| {}),
        "logs are compressed when they are written, where log_store_compressed asks for it",
    ),
    accepted("log_compression_cpus", &[], P2, Value::Any, ""),
    built("log_store_compressed", &[], P2, Value::Boolean(|s, flag| s.report.log_stored = flag)),
    built("log_unix_epoch", &[], P1, Value::Boolean(|s, flag| s.report.log_columns.since_1970 = flag)),
    built("log_alternate_epoch", &[], P1, Value::Boolean(|s, flag| s.report.log_columns.since_1970 = flag)),
    refused(
        "log_alternate_epoch_clock_id",
        &[],
        &["0"],
        "log_alternate_epoch counts from the realtime clock",
    ),
];

/// `iops:10%`, `bw_slope:1m`: a figure and the limit of its changes, which fio asks for.
fn steady_state(s: &mut Settings, text: &str, _: &mut Vec<Misread>) -> Result<(), String> {
    let text = text.trim();
    let (figure, limit) = text
        .split_once(':')
        .ok_or_else(|| "a limit has to be given as well as the figure, such as iops:10%".to_owned())?;
    let (figure, by_slope) = figure.strip_suffix("_slope").map_or((figure, false), |figure| (figure, true));
    let figure = match figure {
        "iops" => SteadyFigure::Operations,
        "bw" => SteadyFigure::Bandwidth,
        "lat" => SteadyFigure::Latency,
        _ => {
            return Err(format!(
                "\"{}\" is none of iops, bw, lat, or one of them with _slope",
                shortened(figure)
            ));
        }
    };
    let wrong = |_| format!("\"{}\" is no number", shortened(limit));
    let limit = if let Some(percent) = limit.trim().strip_suffix('%') {
        let percent = percent.trim().parse::<f64>().map_err(|error| wrong(error.to_string()))?;
        if percent > 100.0 {
            return Err(format!("{percent} % is above 100 %"));
        }
        SteadyBound::Share(Ratio::percent(percent))
    } else {
        let unit = match figure {
            SteadyFigure::Operations => {
                let number = limit.trim().parse::<f64>().map_err(|error| wrong(error.to_string()))?;
                s.demands.steady = Some(Steady { figure, by_slope, limit: SteadyBound::Absolute(number) });
                return Ok(());
            }
            SteadyFigure::Bandwidth => Unit::Bytes,
            SteadyFigure::Latency => Unit::Microseconds,
        };
        let value = number(limit, unit, s.kb_base)?.value;
        let scale = if figure == SteadyFigure::Latency { 1000.0 } else { 1.0 };
        SteadyBound::Absolute(value as f64 * scale)
    };
    s.demands.steady = Some(Steady { figure, by_slope, limit });
    Ok(())
}
