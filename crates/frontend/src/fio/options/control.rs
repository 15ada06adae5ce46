//! Rows of job identity, control, time and place of work.

use super::super::grammar::shortened;
use super::super::settings::Settings;
use super::super::values::{Misread, Unit, allowed_cpus, cpus, number};
use super::Priority::{P0, P1, P2};
use super::{NO_BOOLEAN, OptionRow, Value, accepted, built, refused};
use fathom_model::{Kind, Literal, MemoryNodes, OptionValue, errno_of};

pub(super) const ROWS: &[OptionRow] = &[
    built(
        "name",
        &[],
        P0,
        Value::Text(|s, text, _| {
            s.control.name = Some(text.to_owned());
            Ok(())
        }),
    ),
    built(
        "description",
        &[],
        P0,
        Value::Text(|s, text, _| {
            s.control.description = Some(text.to_owned());
            Ok(())
        }),
    ),
    built(
        "wait_for",
        &[],
        P0,
        Value::Text(|s, text, _| {
            s.control.wait_for = Some(text.to_owned());
            Ok(())
        }),
    ),
    built("stonewall", &["wait_for_previous"], P0, Value::Flag(|s, flag| s.control.stonewall = flag)),
    built("new_group", &[], P0, Value::Flag(|s, flag| s.control.new_group = flag)),
    built("numjobs", &[], P0, Value::Count(1, u32::MAX as u64, |s, n| s.control.numjobs = n)),
    // Named in the banner; the workers are threads in any case.
    accepted("thread", &[], P0, Value::Flag(|s, flag| s.control.thread = flag), ""),
    built("exitall", &[], P1, Value::Flag(|s, flag| s.control.exit_all = flag)),
    built(
        "exit_what",
        &[],
        P1,
        Value::Word(&["group", "stonewall", "all"], |s, word, _| word.clone_into(&mut s.control.exit_what)),
    ),
    built("exitall_on_error", &[], P1, Value::Flag(|s, flag| s.control.exit_all_on_error = flag)),
    built("startdelay", &[], P0, Value::Span(Unit::Seconds, |s, range| s.control.startdelay = range)),
    built(
        "runtime",
        &["timeout"],
        P0,
        Value::Time(Unit::Seconds, |s, us| s.control.runtime = Some(us).filter(|&us| us > 0)),
    ),
    built("time_based", &[], P0, Value::Flag(|s, flag| s.control.time_based = flag)),
    built("ramp_time", &[], P0, Value::Time(Unit::Seconds, |s, us| s.control.ramp_time = us)),
    built("ramp_size", &[], P1, Value::Bytes(0, i64::MAX as u64, |s, bytes| s.control.ramp_size = bytes)),
    built("loops", &[], P0, Value::Count(0, 1_000_000_000, |s, n| s.control.loops = n.max(1))),
    built("number_ios", &[], P0, Value::Count(0, u64::MAX, |s, n| s.control.number_ios = n)),
    built(
        "exec_prerun",
        &[],
        P1,
        Value::Text(|s, text, _| {
            s.control.commands[0] = Some(text.to_owned());
            Ok(())
        }),
    ),
    built(
        "exec_postrun",
        &[],
        P1,
        Value::Text(|s, text, _| {
            s.control.commands[1] = Some(text.to_owned());
            Ok(())
        }),
    ),
    built("create_only", &[], P1, Value::Boolean(|s, flag| s.files.create_only = flag)),
    refused("profile", &[], &[], "a profile is a job of fio's own; write the job out"),
    accepted("comm", &[], P2, Value::OptionalText(|_, _| {}), ""),
    built(
        "continue_on_error",
        &[],
        P0,
        Value::Word(&["none", "read", "write", "io", "verify", "all", "0", "1"], |s, word, _| {
            s.control.continues = match word {
                "read" => [true, false, false],
                "write" => [false, true, false],
                "io" => [true, true, false],
                "verify" => [false, false, true],
                "all" | "1" => [true; 3],
                _ => [false; 3],
            };
        }),
    ),
    built("ignore_error", &[], P1, Value::Text(ignored_errors)),
    accepted(
        "error_dump",
        &[],
        P2,
        NO_BOOLEAN,
        "failing operations are counted by class, not printed one by one",
    ),
    built(
        "cpus_allowed",
        &[],
        P1,
        Value::Text(|s, text, misreads| {
            s.control.cpus = allowed_cpus(text, misreads)?;
            Ok(())
        }),
    ),
    built(
        "cpumask",
        &[],
        P1,
        Value::Text(|s, text, _| {
            let mask = number(text, Unit::Count, 1024)?.value;
            s.control.cpus = (0..63).filter(|bit| mask >> bit & 1 == 1).collect();
            if s.control.cpus.is_empty() { Err("the mask names no CPU".to_owned()) } else { Ok(()) }
        }),
    ),
    built(
        "cpus_allowed_policy",
        &[],
        P1,
        Value::Word(&["shared", "split"], |s, word, _| s.control.splits_cpus = word == "split"),
    ),
    built(
        "numa_cpu_nodes",
        &[],
        P1,
        Value::Text(|s, text, _| {
            // All of them are what a job has anyway.
            s.control.cpu_nodes = if text.trim() == "all" { Vec::new() } else { cpus(text)? };
            match s.control.cpu_nodes.iter().find(|&&node| node > 63) {
                Some(node) => Err(format!("{node} is above 63, the last node there can be")),
                None => Ok(()),
            }
        }),
    ),
    built(
        "numa_mem_policy",
        &[],
        P1,
        Value::Text(|s, text, _| {
            let literal = Literal::Text(text.trim().to_owned());
            s.control.memory_nodes = MemoryNodes::read(&literal, Kind::Text)?;
            Ok(())
        }),
    ),
    refused("priohint", &[], &["0"], "the hint bits of a priority are not set; prio and prioclass are"),
    accepted(
        "cgroup",
        &[],
        P2,
        Value::Text(|_, _, _| Ok(())),
        "jobs stay in the control group of fathom; start it in another, e.g. with systemd-run --slice",
    ),
    accepted(
        "cgroup_weight",
        &[],
        P2,
        Value::Count(100, 1000, |_, _| {}),
        "jobs stay in the control group of fathom; start it in another, e.g. with systemd-run --slice",
    ),
    accepted("cgroup_nodelete", &[], P2, NO_BOOLEAN, ""),
    accepted(
        "uid",
        &[],
        P2,
        Value::Count(0, u32::MAX as u64, |_, _| {}),
        "jobs run as the user who started fathom; start it as another, e.g. with sudo -u",
    ),
    accepted(
        "gid",
        &[],
        P2,
        Value::Count(0, u32::MAX as u64, |_, _| {}),
        "jobs run in the group that started fathom; start it in another, e.g. with sudo -g",
    ),
    accepted(
        "clocksource",
        &[],
        P1,
        Value::Word(&["gettimeofday", "clock_gettime", "cpu"], |_, _, _| {}),
        "",
    ),
    accepted(
        "gtod_cpu",
        &[],
        P2,
        Value::Count(0, u32::MAX as u64, |_, _| {}),
        "each worker reads the clock itself, which costs some nanoseconds",
    ),
];

/// `EIO:ENOSPC,EIO`: errors of reads, writes and verification that do not end the job.
fn ignored_errors(s: &mut Settings, text: &str, _: &mut Vec<Misread>) -> Result<(), String> {
    for (kind, list) in text.split(',').take(3).enumerate() {
        let of = |word: &str| errno_of(word).ok_or_else(|| format!("\"{}\" is no error", shortened(word)));
        let errors: Vec<i32> = list
            .split(':')
            .map(str::trim)
            // As with fio, whose list ends there.
            .take_while(|word| !word.is_empty())
            .map(of)
            .collect::<Result<_, _>>()?;
        if !errors.is_empty() {
            s.control.continues[kind] = true;
            s.control.ignored[kind] = errors;
        }
    }
    Ok(())
}
