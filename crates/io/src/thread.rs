//! The calling thread: where it runs, what it used, how exactly it wakes.

use fathom_schema::MemoryPolicy;
use std::io::{self, Read};

/// What a thread has used so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// User CPU time, nanoseconds.
    pub user_ns: u64,
    /// System CPU time, nanoseconds.
    pub system_ns: u64,
    /// Context switches, voluntary and not.
    pub context_switches: u64,
    /// Page faults that needed I/O.
    pub major_faults: u64,
    /// Page faults that did not.
    pub minor_faults: u64,
}

impl Usage {
    /// What was used since `earlier`.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            user_ns: self.user_ns.saturating_sub(earlier.user_ns),
            system_ns: self.system_ns.saturating_sub(earlier.system_ns),
            context_switches: self.context_switches.saturating_sub(earlier.context_switches),
            major_faults: self.major_faults.saturating_sub(earlier.major_faults),
            minor_faults: self.minor_faults.saturating_sub(earlier.minor_faults),
        }
    }
}

/// What the calling thread has used so far (`getrusage(RUSAGE_THREAD)`).
pub fn usage() -> Usage {
    // SAFETY: rusage is plain integers, for which all-zero is a value.
    let mut raw: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `raw` is a valid, writable rusage for the whole call.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut raw) };
    let ns = |time: libc::timeval| {
        u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000
            + u64::try_from(time.tv_usec).unwrap_or(0) * 1_000
    };
    let count = |n: libc::c_long| u64::try_from(n).unwrap_or(0);
    Usage {
        user_ns: ns(raw.ru_utime),
        system_ns: ns(raw.ru_stime),
        context_switches: count(raw.ru_nvcsw) + count(raw.ru_nivcsw),
        major_faults: count(raw.ru_majflt),
        minor_faults: count(raw.ru_minflt),
    }
}

/// For how long the calling thread could have run so far and had no CPU, nanoseconds; `None` where the kernel does not count it, or
/// nothing more may be opened. The second figure of `schedstat` (proc(5); Documentation/scheduler/sched-stats.rst). Allocates
/// nothing, but opens a file: 7 µs on the two cores of a virtual machine with Linux 6.18, so not for between two operations.
pub fn runnable_ns() -> Option<u64> {
    let mut text = [0; 64];
    let length = std::fs::File::open("/proc/thread-self/schedstat").ok()?.read(&mut text).ok()?;
    std::str::from_utf8(&text[..length]).ok()?.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// CPU time of the calling thread in nanoseconds, without a page-table walk (`CLOCK_THREAD_CPUTIME_ID`).
pub fn cpu_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid, writable timespec for the whole call.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}

/// Restricts the calling thread to these CPUs; an empty list leaves it alone.
pub fn pin(cpus: &[u32]) -> io::Result<()> {
    if cpus.is_empty() {
        return Ok(());
    }
    // SAFETY: cpu_set_t is a plain bit array, for which all-zero is a value.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    for &cpu in cpus {
        if cpu as usize >= libc::CPU_SETSIZE as usize {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        // SAFETY: the index was checked against CPU_SETSIZE.
        unsafe { libc::CPU_SET(cpu as usize, &mut set) };
    }
    // SAFETY: `set` is a valid cpu_set_t of the size given; 0 is the calling thread.
    match unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Sets the nice value of the calling thread, −20 to 19; 0 leaves it alone.
pub fn renice(nice: i32) -> io::Result<()> {
    if nice == 0 {
        return Ok(());
    }
    // SAFETY: takes plain numbers; to Linux, process 0 is the calling thread.
    match unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) } {
        0 => Ok(()),
        _ => match io::Error::last_os_error() {
            // Told as nice(2) tells it, whose name it has.
            error if error.raw_os_error() == Some(libc::EACCES) => {
                Err(io::Error::from_raw_os_error(libc::EPERM))
            }
            error => Err(error),
        },
    }
}

/// Sets the priority of the calling thread's I/O: class 1 to 3, level 0 to 7 (`ioprio_set(2)`).
pub fn prioritise(class: u8, level: u8) -> io::Result<()> {
    /// `IOPRIO_WHO_PROCESS`, and where the class lies in a priority (linux/ioprio.h).
    const WHO_PROCESS: libc::c_long = 1;
    const CLASS_SHIFT: u32 = 13;
    let priority = libc::c_long::from(class) << CLASS_SHIFT | libc::c_long::from(level);
    // SAFETY: takes plain numbers; process 0 is the calling thread.
    match unsafe { libc::syscall(libc::SYS_ioprio_set, WHO_PROCESS, 0 as libc::c_long, priority) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Sets from which NUMA nodes the memory of the calling thread comes (`set_mempolicy(2)`).
pub fn place_memory(policy: MemoryPolicy) -> io::Result<()> {
    let (mode, nodes) = match policy {
        MemoryPolicy::Usual => return Ok(()),
        MemoryPolicy::Local => (libc::MPOL_LOCAL, 0),
        MemoryPolicy::Prefer(nodes) => (libc::MPOL_PREFERRED, nodes),
        MemoryPolicy::Bind(nodes) => (libc::MPOL_BIND, nodes),
        MemoryPolicy::Interleave(nodes) => (libc::MPOL_INTERLEAVE, nodes),
    };
    // The kernel looks at one bit less than it is told.
    let (set, bits) = if nodes == 0 { (std::ptr::null(), 0) } else { (&raw const nodes, u64::BITS + 1) };
    // SAFETY: `set` is null or points at 64 bits that live for the whole call, which reads no more than that.
    match unsafe { libc::syscall(libc::SYS_set_mempolicy, mode, set, libc::c_ulong::from(bits)) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// CPUs of these NUMA nodes, which are a set of bits.
pub fn cpus_of(nodes: u64) -> io::Result<Vec<u32>> {
    let mut cpus = Vec::new();
    for node in (0..u64::BITS).filter(|node| nodes >> node & 1 == 1) {
        let list = std::fs::read_to_string(format!("/sys/devices/system/node/node{node}/cpulist"))?;
        for piece in list.trim().split(',').filter(|piece| !piece.is_empty()) {
            let (first, last) = piece.split_once('-').unwrap_or((piece, piece));
            let number = |text: &str| text.parse::<u32>().map_err(io::Error::other);
            cpus.extend(number(first)?..=number(last)?);
        }
    }
    Ok(cpus)
}

/// Makes timers of the calling thread fire as exactly as the kernel can (timer slack 1 ns instead of 50 µs).
pub fn wake_exactly() {
    // SAFETY: PR_SET_TIMERSLACK takes one integer and touches no memory of ours. It cannot fail for the calling thread.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64, 0_u64, 0_u64, 0_u64) };
}

/// Has the calling thread wait for what runs to pause when it becomes ready, and not take the CPU from it (`SCHED_BATCH`, sched(7));
/// so do the threads that the kernel makes for it from then on (those of `io_uring` do what cannot be done at once): a batch is
/// handed over whole before the kernel begins with it. A thread under another policy keeps that, and what the kernel refuses is
/// left out: it is about speed alone. It cannot be taken back, since the kernel keeps its threads.
pub fn be_patient() {
    let none = libc::sched_param { sched_priority: 0 };
    // SAFETY: takes plain numbers, and `none` is readable for the call; 0 is the calling thread.
    unsafe {
        if libc::sched_getscheduler(0) == libc::SCHED_OTHER {
            libc::sched_setscheduler(0, libc::SCHED_BATCH, &raw const none);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_and_the_cpu_clock_tell_of_the_same_work() {
        const WORK_NS: u64 = 40_000_000;
        // Both accounts are the kernel's; they are brought up to date at different moments, a few ticks apart.
        const SLACK_NS: u64 = 20_000_000;
        let (usage_before, cpu_before) = (usage(), cpu_ns());
        let mut turns = 0_u64;
        while cpu_ns() - cpu_before < WORK_NS {
            turns = std::hint::black_box(turns + 1);
        }
        let cpu = cpu_ns() - cpu_before;
        let spent = usage().since(&usage_before);
        let used = spent.user_ns + spent.system_ns;
        assert!(used.abs_diff(cpu) <= SLACK_NS, "{used} ns by usage, {cpu} ns by the clock, {turns} turns");
    }

    #[test]
    fn whoever_shares_a_cpu_waits_for_it() {
        const WORK_NS: u64 = 40_000_000;
        if runnable_ns().is_none() {
            println!("SKIPPED whoever_shares_a_cpu_waits_for_it: the kernel does not count it");
            return;
        }
        let cpu = std::fs::read_to_string("/proc/self/status").ok().and_then(|status| {
            let list =
                status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?.trim().to_owned();
            list.split(['-', ',']).next()?.parse().ok()
        });
        let cpu = [cpu.expect("Linux tells on which CPUs a thread may run")];
        let all_started = std::sync::Barrier::new(2);
        let works = || {
            pin(&cpu).expect("it may run there");
            all_started.wait();
            let before = runnable_ns().expect("it is counted");
            while cpu_ns() < WORK_NS {
                std::hint::spin_loop();
            }
            runnable_ns().expect("it is counted") - before
        };
        let waited = std::thread::scope(|scope| {
            let both = [scope.spawn(works), scope.spawn(works)];
            both.map(|one| one.join().expect("it does not panic"))
        });
        // Whichever of them ended last waited for most of what the other worked.
        assert!(waited.iter().sum::<u64>() >= WORK_NS / 2, "{waited:?}");
    }

    #[test]
    fn a_node_has_cpus_and_memory() {
        if !std::path::Path::new("/sys/devices/system/node/node0").exists() {
            return;
        }
        assert!(!cpus_of(1).expect("node 0 is there").is_empty());
        assert!(cpus_of(1 << 63).is_err(), "no host has 64 nodes");
        std::thread::spawn(|| {
            for policy in [
                MemoryPolicy::Local,
                MemoryPolicy::Bind(1),
                MemoryPolicy::Prefer(1),
                MemoryPolicy::Interleave(1),
            ] {
                place_memory(policy).expect("node 0 has memory");
            }
            assert!(place_memory(MemoryPolicy::Bind(1 << 63)).is_err());
        })
        .join()
        .expect("it does not panic");
    }

    #[test]
    fn the_usual_policy_becomes_a_patient_one_and_others_stay() {
        // SAFETY: takes a plain number; 0 is the calling thread.
        let policy = || unsafe { libc::sched_getscheduler(0) };
        let told = std::thread::spawn(move || {
            let usual = policy();
            be_patient();
            let patient = policy();
            let none = libc::sched_param { sched_priority: 0 };
            // SAFETY: takes plain numbers, and `none` is readable for the call; 0 is the calling thread.
            assert_eq!(unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const none) }, 0);
            be_patient();
            [usual, patient, policy()]
        });
        let expect = [libc::SCHED_OTHER, libc::SCHED_BATCH, libc::SCHED_IDLE];
        assert_eq!(told.join().expect("it does not panic"), expect);
    }

    #[test]
    fn pinning_to_a_cpu_that_does_not_exist_is_an_error() {
        assert!(pin(&[]).is_ok());
        assert!(pin(&[1023]).is_err());
        assert!(pin(&[100_000]).is_err());
    }
}
