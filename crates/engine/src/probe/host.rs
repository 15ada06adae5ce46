//! The host itself: processors, memory, limits, and the conditions a measurement runs under.
//!
//! Reads procfs and sysfs; what a host does not have is said to be absent. Knows nothing of targets.

use super::roots::{Roots, names, text};
use super::{EngineRefusal, EngineRefusals};
use fathom_schema::{CpuFacts, EnvironmentFact, HostLimits};
use fathom_units::Bytes;
use rustix::process::{Resource, getrlimit};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// `CAP_IPC_LOCK`: locking memory without limit.
const CAP_IPC_LOCK: u32 = 14;
/// `CAP_SYS_RESOURCE`: going beyond limits.
const CAP_SYS_RESOURCE: u32 = 24;

/// Gathers environment facts under one subject.
pub(super) struct Gather<'a> {
    pub(super) subject: String,
    pub(super) facts: &'a mut Vec<EnvironmentFact>,
}

impl Gather<'_> {
    /// One fact with its source.
    pub(super) fn fact(&mut self, name: &str, value: Option<String>, source: &Path) {
        self.facts.push(EnvironmentFact {
            subject: self.subject.clone(),
            name: name.to_owned(),
            value,
            source: source.display().to_string(),
        });
    }

    /// The text of a file, on one line.
    pub(super) fn file(&mut self, name: &str, path: &Path) {
        self.fact(name, text(path).map(|text| text.lines().collect::<Vec<_>>().join("; ")), path);
    }
}

/// Processors.
pub(super) fn cpu(roots: &Roots) -> CpuFacts {
    CpuFacts {
        model: cpu_model(roots).unwrap_or_default(),
        usable: usable_cpus(roots),
        reachable: reachable_cpus(roots),
    }
}

/// All that are online and that the control group, or the nearest one above it that says so, has (`cpuset`, of either version); none
/// where no group says so, as where they are not mounted: what was left by who started this process is all that is known then.
fn reachable_cpus(roots: &Roots) -> Vec<u32> {
    let online = text(&roots.sys.join("devices/system/cpu/online"));
    let mut cpus = cpu_list(online.as_deref().unwrap_or_default().trim());
    let groups = text(&roots.proc.join("self/cgroup")).unwrap_or_default();
    let root = roots.sys.join("fs/cgroup");
    let of_group = |line: &str| -> Option<Vec<u32>> {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        let (folder, file) = match controllers {
            "" => (second_version(&root), "cpuset.cpus.effective"),
            _ if controllers.split(',').any(|one| one == "cpuset") => {
                (root.join("cpuset"), "cpuset.effective_cpus")
            }
            _ => return None,
        };
        let own = folder.join(path.trim_start_matches('/'));
        let said =
            own.ancestors().take_while(|at| at.starts_with(&folder)).find_map(|at| text(&at.join(file)))?;
        Some(cpu_list(said.trim())).filter(|said| !said.is_empty())
    };
    let said: Vec<Vec<u32>> = groups.lines().filter_map(of_group).collect();
    cpus.retain(|cpu| !said.is_empty() && said.iter().all(|said| said.contains(cpu)));
    cpus
}

/// Where the second version of control groups is: aside, on a host with both.
fn second_version(root: &Path) -> PathBuf {
    let aside = root.join("unified");
    if aside.is_dir() { aside } else { root.to_owned() }
}

fn cpu_model(roots: &Roots) -> Option<String> {
    let info = text(&roots.proc.join("cpuinfo"))?;
    // x86 says "model name"; other architectures have their own word, of which the first line found is kept.
    ["model name", "Model", "cpu model", "Processor", "cpu"].iter().find_map(|key| field(&info, key))
}

fn usable_cpus(roots: &Roots) -> Vec<u32> {
    let status = text(&roots.proc.join("self/status")).unwrap_or_default();
    cpu_list(&field(&status, "Cpus_allowed_list").unwrap_or_default())
}

/// The value of `key: value` in a list of lines.
fn field(text: &str, key: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let (found, value) = line.split_once(':')?;
        (found.trim() == key).then(|| value.trim().to_owned())
    })
}

/// Reads `0-3,8`.
fn cpu_list(list: &str) -> Vec<u32> {
    let range = |part: &str| {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        Some(from.trim().parse().ok()?..=to.trim().parse().ok()?)
    };
    list.split(',').filter_map(range).flatten().collect()
}

/// Memory of the host.
pub(super) fn memory(roots: &Roots) -> Bytes {
    let info = text(&roots.proc.join("meminfo")).unwrap_or_default();
    let kib = field(&info, "MemTotal").and_then(|value| value.trim_end_matches("kB").trim().parse().ok());
    Bytes::kib(kib.unwrap_or(0))
}

/// What this process may use; which engines the kernel refuses is found by who can try them.
pub(super) fn limits(roots: &Roots, engines: EngineRefusals) -> HostLimits {
    let EngineRefusals { io_uring, libaio, rings_are_locked } = engines;
    let split = |refusal: Option<EngineRefusal>| {
        refusal.map(|EngineRefusal { reason, errno }| (reason, errno)).unzip()
    };
    let ((io_uring_refused, io_uring_errno), (libaio_refused, libaio_errno)) =
        (split(io_uring), split(libaio));
    let soft = |resource| getrlimit(resource).current.unwrap_or(u64::MAX);
    let status = text(&roots.proc.join("self/status")).unwrap_or_default();
    let capabilities =
        field(&status, "CapEff").and_then(|hex| u64::from_str_radix(&hex, 16).ok()).unwrap_or(0);
    let number = |name: &str| {
        text(&roots.proc.join("sys").join(name)).and_then(|text| text.trim().parse().ok()).unwrap_or(0)
    };
    // Whoever may raise limits is not held to this one.
    let may_raise = capabilities >> CAP_SYS_RESOURCE & 1 == 1;
    let processes = if may_raise { u64::MAX } else { soft(Resource::Nproc) };
    let of_aio = |name: &str| text(&roots.proc.join("sys/fs").join(name))?.trim().parse::<u64>().ok();
    let may_lock = capabilities >> CAP_IPC_LOCK & 1 == 1;
    HostLimits {
        io_uring_refused,
        io_uring_errno: io_uring_errno.flatten(),
        libaio_refused,
        libaio_errno: libaio_errno.flatten(),
        open_files: soft(Resource::Nofile),
        locked_memory_bytes: if may_lock { u64::MAX } else { soft(Resource::Memlock) },
        rings_are_locked: rings_are_locked && !may_lock,
        mappings: number("vm/max_map_count"),
        threads: [processes, number("kernel/threads-max"), number("kernel/pid_max")]
            .into_iter()
            .filter(|&most| most > 0)
            .min()
            .unwrap_or(0),
        aio_operations_left: of_aio("aio-max-nr")
            .zip(of_aio("aio-nr"))
            .map(|(most, used)| most.saturating_sub(used)),
    }
}

/// Conditions of the whole host.
pub(super) fn environment(roots: &Roots, facts: &mut Vec<EnvironmentFact>) {
    let gather = |subject: &str, facts: &mut Vec<EnvironmentFact>, collect: fn(&Roots, &mut Gather<'_>)| {
        collect(roots, &mut Gather { subject: subject.to_owned(), facts });
    };
    gather("cpu", facts, processors);
    gather("memory", facts, memory_settings);
    gather("kernel", facts, kernel);
    gather("clock", facts, clock);
    gather("load", facts, load);
    gather("limits", facts, process_limits);
    gather("cgroup", facts, cgroups);
}

fn processors(roots: &Roots, gather: &mut Gather<'_>) {
    let info = roots.proc.join("cpuinfo");
    let cpus = roots.sys.join("devices/system/cpu");
    gather.fact("model", cpu_model(roots), &info);
    let online = text(&cpus.join("online"));
    let count = online.as_deref().map(|list| cpu_list(list).len().to_string());
    gather.fact("online", count, &cpus.join("online"));
    let usable = usable_cpus(roots).iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    gather.fact("usable", (!usable.is_empty()).then_some(usable), &roots.proc.join("self/status"));
    for (name, file) in [
        ("governor", "cpufreq/scaling_governor"),
        ("frequency driver", "cpufreq/scaling_driver"),
        ("energy preference", "cpufreq/energy_performance_preference"),
        ("frequency max", "cpufreq/scaling_max_freq"),
        ("core throttle count", "thermal_throttle/core_throttle_count"),
        ("package throttle count", "thermal_throttle/package_throttle_count"),
    ] {
        let value = over_cpus(&cpus, |cpu| text(&cpu.join(file)));
        gather.fact(name, value, &cpus.join("cpu*").join(file));
    }
    gather.file("intel no_turbo", &cpus.join("intel_pstate/no_turbo"));
    gather.file("boost", &cpus.join("cpufreq/boost"));
    gather.file("smt active", &cpus.join("smt/active"));
    gather.file("isolated", &cpus.join("isolated"));
    gather.file("idle driver", &cpus.join("cpuidle/current_driver"));
    gather.fact("idle states", over_cpus(&cpus, idle_states), &cpus.join("cpu*/cpuidle"));
    let folder = cpus.join("vulnerabilities");
    let mitigations: Vec<String> = names(&folder)
        .into_iter()
        .filter_map(|name| text(&folder.join(&name)).map(|value| format!("{name}: {value}")))
        .collect();
    gather.fact("mitigations", (!mitigations.is_empty()).then(|| mitigations.join("; ")), &folder);
}

/// What all processors say: one value when they agree, else each with its count.
fn over_cpus(cpus: &Path, value: impl Fn(&Path) -> Option<String>) -> Option<String> {
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    let is_cpu = |name: &&String| name.strip_prefix("cpu").is_some_and(|n| n.parse::<u32>().is_ok());
    for name in names(cpus).iter().filter(is_cpu) {
        if let Some(value) = value(&cpus.join(name)) {
            *counts.entry(value).or_default() += 1;
        }
    }
    match counts.len() {
        0 => None,
        1 => counts.into_keys().next(),
        _ => Some(
            counts.iter().map(|(value, count)| format!("{value} ×{count}")).collect::<Vec<_>>().join(", "),
        ),
    }
}

fn idle_states(cpu: &Path) -> Option<String> {
    let folder = cpu.join("cpuidle");
    let state = |name: String| {
        let of = |file: &str| text(&folder.join(&name).join(file));
        let off = if of("disable").as_deref() == Some("1") { " off" } else { "" };
        Some(format!("{} {} µs{off}", of("name")?, of("latency")?))
    };
    let states: Vec<String> = names(&folder).into_iter().filter_map(state).collect();
    (!states.is_empty()).then(|| states.join(", "))
}

fn memory_settings(roots: &Roots, gather: &mut Gather<'_>) {
    let path = roots.proc.join("meminfo");
    let info = text(&path).unwrap_or_default();
    for (name, key) in [
        ("total", "MemTotal"),
        ("available", "MemAvailable"),
        ("swap total", "SwapTotal"),
        ("swap free", "SwapFree"),
        ("dirty", "Dirty"),
        ("huge pages total", "HugePages_Total"),
    ] {
        gather.fact(name, field(&info, key), &path);
    }
    let vm = roots.proc.join("sys/vm");
    for name in [
        "dirty_ratio",
        "dirty_background_ratio",
        "dirty_bytes",
        "dirty_background_bytes",
        "dirty_expire_centisecs",
        "dirty_writeback_centisecs",
        "swappiness",
        "vfs_cache_pressure",
    ] {
        gather.file(name, &vm.join(name));
    }
    gather.file("transparent huge pages", &roots.sys.join("kernel/mm/transparent_hugepage/enabled"));
}

fn kernel(roots: &Roots, gather: &mut Gather<'_>) {
    gather.file("release", &roots.proc.join("sys/kernel/osrelease"));
    gather.file("version", &roots.proc.join("version"));
    gather.file("command line", &roots.proc.join("cmdline"));
    gather.file("io_uring_disabled", &roots.proc.join("sys/kernel/io_uring_disabled"));
    gather.file("aio-max-nr", &roots.proc.join("sys/fs/aio-max-nr"));
    gather.file("pcie aspm policy", &roots.sys.join("module/pcie_aspm/parameters/policy"));
    gather.file("hypervisor", &roots.sys.join("hypervisor/type"));
    gather.file("machine vendor", &roots.sys.join("class/dmi/id/sys_vendor"));
    gather.file("machine", &roots.sys.join("class/dmi/id/product_name"));
    let mdstat = roots.proc.join("mdstat");
    let working = text(&mdstat).map(|status| {
        let busy = ["resync", "recovery", "reshape", "check"].iter().find(|word| status.contains(**word));
        busy.map_or("idle", |word| *word).to_owned()
    });
    gather.fact("md arrays", working, &mdstat);
}

fn clock(roots: &Roots, gather: &mut Gather<'_>) {
    let folder = roots.sys.join("devices/system/clocksource/clocksource0");
    gather.file("source", &folder.join("current_clocksource"));
    gather.file("available", &folder.join("available_clocksource"));
}

fn load(roots: &Roots, gather: &mut Gather<'_>) {
    gather.file("average", &roots.proc.join("loadavg"));
    let stat = roots.proc.join("stat");
    // The eighth number of the line of all processors, in ticks (proc_stat(5)).
    let steal = text(&stat).and_then(|s| s.lines().next()?.split_whitespace().nth(8).map(str::to_owned));
    gather.fact("steal ticks", steal, &stat);
    for what in ["cpu", "io", "memory"] {
        gather.file(&format!("pressure {what}"), &roots.proc.join("pressure").join(what));
    }
}

fn process_limits(_: &Roots, gather: &mut Gather<'_>) {
    for (name, resource) in [
        ("open files", Resource::Nofile),
        ("locked memory", Resource::Memlock),
        ("file size", Resource::Fsize),
    ] {
        let limit = getrlimit(resource);
        let shown = |value: Option<u64>| value.map_or("unlimited".to_owned(), |value| value.to_string());
        let value = format!("{} (hard {})", shown(limit.current), shown(limit.maximum));
        gather.fact(name, Some(value), Path::new("getrlimit"));
    }
}

/// Caps of the control groups that this process is in, those of the groups above included. Both versions are looked
/// at, since a host may run both.
fn cgroups(roots: &Roots, gather: &mut Gather<'_>) {
    let list = text(&roots.proc.join("self/cgroup")).unwrap_or_default();
    let groups: Vec<(&str, &str)> = list
        .lines()
        .filter_map(|line| line.split_once(':')?.1.split_once(':'))
        .map(|(controllers, path)| (controllers, path.trim_start_matches('/')))
        .collect();
    let root = roots.sys.join("fs/cgroup");
    let unified = groups.iter().find(|(controllers, _)| controllers.is_empty());
    let second = second_version(&root);
    for file in ["cpu.max", "memory.max", "memory.high", "io.max", "io.latency", "io.weight", "cpuset.cpus"] {
        let value = unified.and_then(|(_, path)| caps(&second, path, file));
        gather.fact(file, value, &second.join(unified.map_or("", |(_, path)| path)).join(file));
    }
    for (controller, file) in [
        ("cpu", "cpu.cfs_quota_us"),
        ("cpu", "cpu.cfs_period_us"),
        ("memory", "memory.limit_in_bytes"),
        ("blkio", "blkio.throttle.read_bps_device"),
        ("blkio", "blkio.throttle.write_bps_device"),
        ("blkio", "blkio.throttle.read_iops_device"),
        ("blkio", "blkio.throttle.write_iops_device"),
    ] {
        let group = groups.iter().find(|(controllers, _)| controllers.split(',').any(|c| c == controller));
        let folder = root.join(controller);
        let value = group.and_then(|(_, path)| caps(&folder, path, file));
        gather.fact(file, value, &folder.join(group.map_or("", |(_, path)| path)).join(file));
    }
}

/// What a group and those above it say in a file, the own group first; `None` when none has the file.
fn caps(root: &Path, group: &str, file: &str) -> Option<String> {
    let own: PathBuf = root.join(group);
    let said: Vec<String> = own
        .ancestors()
        .take_while(|folder| folder.starts_with(root))
        .filter_map(|folder| {
            let value = text(&folder.join(file))?.lines().collect::<Vec<_>>().join(", ");
            let name = folder.strip_prefix(root).ok()?.display().to_string();
            Some(if folder == own { value } else { format!("/{name}: {value}") })
        })
        .collect();
    (!said.is_empty()).then(|| said.join("; "))
}

#[cfg(test)]
mod tests {
    use super::super::roots::fixture::tree;
    use super::*;

    #[test]
    fn lists_of_processors() {
        for (list, expect) in
            [("0-3,8", vec![0, 1, 2, 3, 8]), ("5", vec![5]), ("", vec![]), ("x", vec![]), ("3-1", vec![])]
        {
            assert_eq!(cpu_list(list), expect, "{list}");
        }
    }

    #[test]
    fn what_a_host_says_and_what_it_lacks() {
        let tree = tree("host");
        let mut facts = Vec::new();
        environment(&tree.roots, &mut facts);
        for (subject, name, expect) in [
            ("cpu", "model", Some("AMD EPYC 7B13")),
            ("cpu", "online", Some("4")),
            ("cpu", "governor", Some("performance ×1, powersave ×1")),
            ("cpu", "idle states", Some("POLL 0 µs, C6 133 µs off")),
            ("cpu", "boost", None),
            ("memory", "total", Some("8000000 kB")),
            ("memory", "dirty_ratio", None),
            ("kernel", "md arrays", Some("recovery")),
            ("clock", "source", Some("tsc")),
            ("load", "steal ticks", Some("77")),
            ("cgroup", "cpu.max", Some("50000 100000; /outer: max 100000")),
            ("cgroup", "io.max", Some("/outer: 8:0 rbps=1048576 wbps=max")),
            ("cgroup", "memory.max", None),
            ("cgroup", "blkio.throttle.read_bps_device", Some("8:0 4096")),
        ] {
            let found: Vec<_> = facts.iter().filter(|f| f.subject == subject && f.name == name).collect();
            assert_eq!(found.len(), 1, "{subject} {name}");
            assert_eq!(found[0].value.as_deref(), expect, "{subject} {name}");
        }
        assert_eq!(
            cpu(&tree.roots),
            CpuFacts { model: "AMD EPYC 7B13".to_owned(), usable: vec![0, 1, 3], reachable: vec![0, 1, 2] }
        );
        assert_eq!(memory(&tree.roots), Bytes::kib(8_000_000));
        assert_eq!(limits(&tree.roots, EngineRefusals::default()).locked_memory_bytes, u64::MAX);
    }
}
