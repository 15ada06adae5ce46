//! The little that `--debug` says, in lines of fio's shape: the seeds of what is drawn (`random`), and the limits of steady
//! states (`parse`). Scripts that try fio look for these.

use fathom_frontend::fio::Switches;
use fathom_planner::Plan;
use std::collections::BTreeSet;
use std::fmt::Write;

/// Seeds of a job: all that is drawn follows from one, where fio has several and prints them all.
const SEEDS: usize = 1;

fn wants(switches: &Switches, area: &str) -> bool {
    switches.debug.iter().any(|of| of == area || of == "all")
}

fn line(text: &mut String, area: &str, what: std::fmt::Arguments<'_>) {
    // Writing to a text cannot fail.
    let _ = writeln!(text, "{area:<8} {} {what}", std::process::id());
}

/// What is said of the options of each section, as they are written.
pub(super) fn of_options(switches: &Switches, sections: &[(String, Vec<(String, String)>)]) -> String {
    let mut text = String::new();
    if wants(switches, "parse") {
        let options = sections.iter().flat_map(|(_, options)| options);
        for (_, limit) in options.filter(|(name, _)| name == "steadystate") {
            limit_of(&mut text, limit);
        }
    }
    text
}

/// `iops:10`, `bw_slope:0.5%`.
fn limit_of(text: &mut String, limit: &str) {
    let Some((figure, limit)) = limit.split_once(':') else { return };
    let share = limit.trim().strip_suffix('%').and_then(|share| share.parse::<f64>().ok());
    match (share, limit.trim().parse::<f64>()) {
        (Some(share), _) => line(text, "parse", format_args!("set steady state threshold to {share:.6}%")),
        (None, Ok(rate)) if figure.starts_with("iops") => {
            line(text, "parse", format_args!("set steady state IOPS threshold to {rate:.6}"));
        }
        (None, Ok(rate)) => line(text, "parse", format_args!("set steady state BW threshold to {rate:.0}")),
        (None, Err(_)) => {}
    }
}

/// The seeds that the jobs have.
pub(super) fn of_seeds(switches: &Switches, plan: &Plan) -> String {
    let mut text = String::new();
    if wants(switches, "random") {
        line(&mut text, "random", format_args!("FIO_RAND_NR_OFFS={SEEDS}"));
        let steps = plan.experiment.preview();
        let mut said = BTreeSet::new();
        for stream in steps.iter().flat_map(|step| &step.streams).filter(|stream| said.insert(&stream.name)) {
            for worker in &stream.workers {
                line(&mut text, "random", format_args!("rand_seeds[0]={}", worker.seed));
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_told_in_the_peers_words() {
        let told = |limit: &str| {
            let mut text = String::new();
            limit_of(&mut text, limit);
            text.split_once(' ').map_or_else(String::new, |(_, rest)| {
                rest.trim_start_matches([' ', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']).to_owned()
            })
        };
        assert_eq!(told("iops:10"), "set steady state IOPS threshold to 10.000000\n");
        assert_eq!(told("iops_slope:.1%"), "set steady state threshold to 0.100000%\n");
        assert_eq!(told("bw:12"), "set steady state BW threshold to 12\n");
        assert_eq!(told("bw"), "");
    }
}
