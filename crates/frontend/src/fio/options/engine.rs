//! Rows of the I/O engine, its depth and batches, and of pacing.

use super::super::settings::{PriorityEntry, Settings};
use super::super::values::{Misread, Unit, number};
use super::Priority::{P0, P1, P2};
use super::{OptionRow, Value, accepted, built, refused};

/// Above it a rate is no rate.
const RATE_MAX: u64 = i64::MAX as u64;

/// `blocksize/percentage[/class/level]`, with `:` between entries and `,` between reads and writes. Observed with fio 3.33: an
/// entry without a percentage, or with 0, asks for nothing; a percentage is at most 100, a level at most 7, a class at most 3.
fn priority_split(settings: &mut Settings, text: &str, misreads: &mut Vec<Misread>) -> Result<(), String> {
    let base = settings.kb_base;
    let mut group = |text: &str| -> Result<Vec<PriorityEntry>, String> {
        let mut entries = Vec::new();
        for entry in text.split(':').map(str::trim).filter(|entry| !entry.is_empty()) {
            let parts: Vec<&str> = entry.split('/').collect();
            let count = |text: &str, most: i128| {
                let value = number(text, Unit::Count, base)?.value.clamp(0, most);
                Ok::<_, String>(u64::try_from(value).unwrap_or(0))
            };
            let size = number(parts[0], Unit::Bytes, base)?;
            misreads.extend(size.misread);
            let bytes = u64::try_from(size.value).map_err(|_| format!("{} is negative", size.value))?;
            let (percent, own) = match *parts {
                [_] => (0, None),
                [_, percent] => (count(percent, 100)?, None),
                [_, percent, class, level] => {
                    (count(percent, 100)?, Some((count(class, 3)?, count(level, 7)?)))
                }
                _ => return Err(format!("\"{entry}\" is not BLOCKSIZE/PERCENTAGE[/CLASS/LEVEL]")),
            };
            if own.is_some_and(|(class, _)| class == 0) {
                return Err(format!("\"{entry}\" has the class 0, which is none: use 1, 2 or 3"));
            }
            if percent > 0 {
                entries.push(PriorityEntry { bytes, percent, own });
            }
        }
        Ok(entries)
    };
    let groups: Vec<Vec<PriorityEntry>> =
        text.split(',').take(2).map(&mut group).collect::<Result<_, _>>()?;
    let reads = groups.first().cloned().unwrap_or_default();
    let writes = groups.get(1).cloned().unwrap_or_else(|| reads.clone());
    settings.engine.priority_split = [reads, writes];
    Ok(())
}

pub(super) const ROWS: &[OptionRow] = &[
    built(
        "ioengine",
        &[],
        P0,
        Value::Text(|s, text, _| {
            // As with fio, a blank before it is a part of it, and no engine has one.
            text.clone_into(&mut s.engine.name);
            Ok(())
        }),
    ),
    built("direct", &[], P0, Value::Boolean(|s, flag| s.engine.direct = flag)),
    built("buffered", &[], P0, Value::Boolean(|s, flag| s.engine.direct = !flag)),
    built("atomic", &[], P1, Value::Boolean(|s, flag| s.engine.untorn = flag)),
    built(
        "sync",
        &[],
        P0,
        Value::Word(&["none", "0", "sync", "1", "dsync"], |s, word, _| word.clone_into(&mut s.engine.sync)),
    ),
    built("iodepth", &[], P0, Value::Count(1, 65_536, |s, n| s.engine.depth = n)),
    built(
        "iodepth_batch",
        &["iodepth_batch_submit"],
        P0,
        Value::Count(0, 65_536, |s, n| s.engine.batch = Some(n)),
    ),
    built(
        "iodepth_batch_complete_min",
        &["iodepth_batch_complete"],
        P0,
        Value::Count(0, 65_536, |s, n| s.engine.complete_min = n),
    ),
    built(
        "io_submit_mode",
        &[],
        P1,
        Value::Word(&["inline", "offload"], |s, word, _| s.engine.offloads = word == "offload"),
    ),
    built(
        "mem",
        &["iomem"],
        P1,
        Value::Word(&["malloc", "shm", "shmhuge", "mmap", "mmapshared", "mmaphuge"], |s, word, file| {
            s.engine.memory = (word.to_owned(), file.map(str::to_owned));
        }),
    ),
    built(
        "iomem_align",
        &["mem_align"],
        P1,
        Value::Bytes(0, 1 << 20, |s, bytes| s.engine.memory_shift = bytes),
    ),
    built("hugepage-size", &[], P1, Value::Bytes(0, 1 << 30, |s, bytes| s.engine.huge_page = bytes)),
    built("lockmem", &[], P2, Value::Bytes(0, 1 << 60, |s, bytes| s.engine.locked = bytes)),
    refused("gpu_dev_id", &[], &["0"], "buffers lie in the memory of the host"),
    // Private to engines, which fio tries after all others.
    built("fixedbufs", &[], P1, Value::Flag(|s, flag| s.engine.fixed_buffers = flag)),
    built("registerfiles", &[], P1, Value::Flag(|s, flag| s.engine.registered_files = flag)),
    built("nonvectored", &[], P1, Value::Flag(|s, flag| s.engine.nonvectored = flag)),
    built("userspace_reap", &[], P2, Value::Flag(|s, flag| s.engine.userspace_reap = flag)),
    built("hipri", &[], P1, Value::Flag(|s, flag| s.engine.polled = flag)),
    built("hipri_percentage", &[], P1, Value::Count(0, 100, |s, n| s.engine.polled_percent = n)),
    built("sqthread_poll", &[], P1, Value::Flag(|s, flag| s.engine.submit_thread = flag)),
    built("sqthread_poll_cpu", &[], P1, Value::Count(0, 65_535, |s, n| s.engine.submit_thread_cpu = Some(n))),
    built("nowait", &[], P1, Value::Boolean(|s, flag| s.engine.nowait = flag)),
    built("uncached", &[], P1, Value::Boolean(|s, flag| s.engine.uncached = flag)),
    built("force_async", &[], P1, Value::Count(0, 1_000_000_000, |s, n| s.engine.force_async = n)),
    built(
        "stat_type",
        &[],
        P1,
        Value::Word(&["stat", "lstat", "statx"], |s, word, _| word.clone_into(&mut s.engine.stat_type)),
    ),
    refused("cmd_type", &[], &[], "it belongs to io_uring_cmd, which is refused"),
    built(
        "cmdprio_percentage",
        &[],
        P1,
        Value::Triple(Unit::Count, 0, 100, |s, percent| s.engine.priority_percent = percent),
    ),
    built("cmdprio_class", &[], P1, Value::Count(1, 3, |s, n| s.engine.priority_class = n)),
    built("cmdprio", &[], P1, Value::Count(0, 7, |s, n| s.engine.priority_level = n)),
    built("cmdprio_bssplit", &[], P1, Value::Text(priority_split)),
    built("cpuload", &[], P1, Value::Count(0, u64::MAX, |s, n| s.engine.cpu_load = n)),
    built("cpuchunks", &[], P1, Value::Count(1, 1_000_000_000, |s, n| s.engine.cpu_chunk = n)),
    built(
        "cpumode",
        &[],
        P1,
        Value::Word(&["noop", "qsort"], |s, word, _| word.clone_into(&mut s.engine.cpu_mode)),
    ),
    refused("thp", &[], &["0"], "fio maps files privately then, so that no write ever reaches them"),
    built("exit_on_io_done", &[], P1, Value::Boolean(|s, flag| s.engine.ends_with_io = flag)),
    built(
        "hostname",
        &[],
        P1,
        Value::Text(|s, text, _| {
            text.trim().clone_into(&mut s.engine.host);
            Ok(())
        }),
    ),
    built("port", &[], P1, Value::Count(1, 65_535, |s, n| s.engine.port = n)),
    built(
        "protocol",
        &["proto"],
        P1,
        Value::Word(&["tcp", "tcpv6", "udp", "udpv6", "unix"], |s, word, _| {
            word.clone_into(&mut s.engine.protocol);
        }),
    ),
    built("listen", &[], P1, Value::Flag(|s, flag| s.engine.listens = flag)),
    built("pingpong", &[], P1, Value::Flag(|s, flag| s.engine.ping_pong = flag)),
    built("nodelay", &[], P1, Value::Boolean(|s, flag| s.engine.no_delay = flag)),
    refused("interface", &[], &[], "it chooses where datagrams for many go (multicast), which are not built"),
    refused("ttl", &[], &[], "it belongs to datagrams for many (multicast), which are not built"),
    refused(
        "window_size",
        &[],
        &["0"],
        "the kernel fits the buffers of a socket to the connection; set net.core.*mem_max",
    ),
    refused(
        "mss",
        &[],
        &["0"],
        "the kernel finds the segments that fit the path; set the MTU of the interface",
    ),
    built(
        "program",
        &[],
        P2,
        Value::Text(|s, text, _| {
            text.trim().clone_into(&mut s.engine.program);
            Ok(())
        }),
    ),
    built(
        "arguments",
        &[],
        P2,
        Value::Text(|s, text, _| {
            text.trim().clone_into(&mut s.engine.arguments);
            Ok(())
        }),
    ),
    built("grace_time", &[], P2, Value::Count(0, 86_400, |s, n| s.engine.grace = n)),
    built("std_redirect", &[], P2, Value::Boolean(|s, flag| s.engine.program_files = flag)),
    // Pace.
    built("rate", &[], P0, Value::Triple(Unit::Bytes, 0, RATE_MAX, |s, rate| s.engine.rate = rate)),
    built("rate_iops", &[], P0, Value::Triple(Unit::Count, 0, RATE_MAX, |s, rate| s.engine.rate_iops = rate)),
    built(
        "rate_process",
        &[],
        P1,
        Value::Word(&["linear", "poisson"], |s, word, _| s.engine.poisson = word == "poisson"),
    ),
    built("rate_ignore_thinktime", &[], P1, Value::Boolean(|s, on| s.demands.think_puts_off = on)),
    built("thinktime", &[], P0, Value::Time(Unit::Microseconds, |s, us| s.engine.thinktime = us)),
    refused(
        "thinkcycles",
        &[],
        &["0"],
        "a cycle is another time on each host; thinktime_spin keeps a CPU busy for a time",
    ),
    built("latency_target", &[], P1, Value::Time(Unit::Microseconds, |s, us| s.demands.latency_target = us)),
    built("latency_window", &[], P1, Value::Time(Unit::Microseconds, |s, us| s.demands.latency_window = us)),
    built(
        "latency_percentile",
        &[],
        P1,
        Value::Text(|s, text, _| {
            let percent = text.trim().parse::<f64>().ok().filter(|percent| (0.0..=100.0).contains(percent));
            s.demands.latency_percent =
                Some(percent.ok_or_else(|| format!("\"{text}\" is no number from 0 to 100"))?);
            Ok(())
        }),
    ),
    built("latency_run", &[], P1, Value::Boolean(|s, flag| s.demands.latency_run = flag)),
    accepted("flow_watermark", &[], P2, Value::Any, "fio itself took it out"),
];
