//! What each word does that an option of fio's may be. Which words there are is the option table's.

/// What is said of one word of one option; empty where nothing is.
pub(super) fn said(option: &str, word: &str) -> &'static str {
    let of = WORDS.iter().find(|(name, _)| *name == option);
    of.and_then(|(_, words)| words.iter().find(|(name, _)| *name == word)).map_or("", |&(_, said)| said)
}

/// Words that the text of an option begins with or is made of, with what is said of each; none of other options.
pub(super) fn in_text(option: &str) -> &'static [(&'static str, &'static str)] {
    IN_TEXT.iter().find(|(name, _)| *name == option).map_or(&[], |(_, words)| words)
}

const IN_TEXT: &[(&str, &[(&str, &str)])] = &[
    (
        "random_distribution",
        &[
            ("random", "All places alike"),
            ("zipf", "Popular places, by a power of their rank"),
            ("pareto", "Popular places, by Pareto's law"),
            ("normal", "Places about a centre"),
            ("zoned", "Shares of operations by shares of the places"),
            ("zoned_abs", "Shares of operations by sizes of regions"),
        ],
    ),
    (
        "steadystate",
        &[
            ("iops", "Largest deviation of operations per second from their mean"),
            ("iops_slope", "Slope of operations per second"),
            ("bw", "Largest deviation of bandwidth from its mean"),
            ("bw_slope", "Slope of bandwidth"),
        ],
    ),
    (
        "sync_file_range",
        &[
            ("wait_before", "Waits first for what is being written"),
            ("write", "Begins to write"),
            ("wait_after", "Waits for what was begun"),
        ],
    ),
];

const WORDS: &[(&str, &[(&str, &str)])] = &[
    (
        "lockfile",
        &[
            ("none", "No locks"),
            ("exclusive", "One operation at a time"),
            ("readwrite", "Several reads at a time, or one write"),
        ],
    ),
    (
        "rw",
        &[
            ("read", "Reads, one place after another"),
            ("write", "Writes, one place after another"),
            ("trim", "Trims, one place after another"),
            ("randread", "Reads at random places"),
            ("randwrite", "Writes at random places"),
            ("randtrim", "Trims at random places"),
            ("rw", "Reads and writes, each one place after another"),
            ("readwrite", "The same as rw"),
            ("randrw", "Reads and writes at random places"),
            ("trimwrite", "Each place trimmed, then written, one after another"),
            ("randtrimwrite", "Each place trimmed, then written, at random places"),
        ],
    ),
    (
        "rw_sequencer",
        &[
            ("sequential", "Operations between two jumps follow one another"),
            ("identical", "Operations between two jumps have the same place"),
        ],
    ),
    (
        "io_submit_mode",
        &[
            ("inline", "The job sends its operations itself"),
            ("offload", "Operations go out when they are due, whatever is in flight"),
        ],
    ),
    (
        "random_generator",
        &[
            ("tausworthe", "Places are drawn"),
            ("lfsr", "Each place once, in a mixed order"),
            ("tausworthe64", "Places are drawn, with 64 bits"),
        ],
    ),
    (
        "file_service_type",
        &[
            ("random", "Any file, all as likely"),
            ("roundrobin", "Each file in turn"),
            ("sequential", "A file to its end, then the next"),
            ("zipf", "Some files more often, by Zipf's law"),
            ("pareto", "Some files more often, by Pareto's law"),
            ("normal", "Files around the middle more often"),
            ("gauss", "The same as normal"),
        ],
    ),
    (
        "fallocate",
        &[
            ("none", "No space is set aside"),
            ("native", "By fallocate, where the filesystem has it"),
            ("posix", "By posix_fallocate"),
            ("keep", "By fallocate, and the file's length stays"),
            ("truncate", "The file is made longer, without space"),
            ("0", "The same as none"),
            ("1", "The same as posix"),
        ],
    ),
    (
        "fadvise_hint",
        &[
            ("0", "Nothing"),
            ("1", "What fits the job's order"),
            ("random", "That places are random"),
            ("sequential", "That places follow one another"),
            ("noreuse", "That nothing is read again"),
        ],
    ),
    (
        "clocksource",
        &[
            ("gettimeofday", "The time of day"),
            ("clock_gettime", "The kernel's clocks"),
            ("cpu", "The counter of the CPU"),
        ],
    ),
    (
        "mem",
        &[
            ("malloc", "From the heap"),
            ("shm", "Shared segments"),
            ("shmhuge", "Shared segments of huge pages"),
            ("mmap", "Mapped memory"),
            ("mmaphuge", "Mapped huge pages"),
            ("mmapshared", "Mapped memory that is shared"),
        ],
    ),
    (
        "verify",
        &[
            ("0", "Nothing is checked"),
            ("md5", "A header with an MD5 sum"),
            ("crc64", "A header with a CRC of 64 bits"),
            ("crc32", "A header with a CRC of 32 bits"),
            ("crc32c-intel", "The same as crc32c"),
            ("crc32c", "A header with a CRC-32C, by the CPU where it can"),
            ("crc16", "A header with a CRC of 16 bits"),
            ("crc7", "A header with a CRC of 7 bits"),
            ("sha1", "A header with a SHA-1 sum"),
            ("sha256", "A header with 8 bytes of a SHA-256 sum"),
            ("sha512", "A header with a sum of both ends of the block only"),
            ("sha3-224", "A header with a SHA-3 sum of 224 bits"),
            ("sha3-256", "A header with a SHA-3 sum of 256 bits"),
            ("sha3-384", "A header with a SHA-3 sum of 384 bits"),
            ("sha3-512", "A header with a SHA-3 sum of 512 bits"),
            ("xxhash", "A header with an xxHash of 32 bits"),
            ("meta", "A header alone: place, number and seed"),
            ("pattern", "The bytes of verify_pattern, without a header"),
            ("pattern_hdr", "A header and the bytes of verify_pattern; newer than fio 3.33"),
            ("null", "Everything is right whatever is read"),
        ],
    ),
    (
        "zonemode",
        &[
            ("none", "No zones"),
            ("strided", "One zone after another, with room between them"),
            ("zbd", "The zones of a zoned device"),
        ],
    ),
    (
        "thinktime_blocks_type",
        &[
            ("complete", "What has completed counts towards a pause"),
            ("issue", "What was issued counts towards a pause"),
        ],
    ),
    (
        "rate_process",
        &[
            ("linear", "Even gaps"),
            ("poisson", "Random gaps, as of arrivals that know nothing of each other"),
        ],
    ),
    (
        "sync",
        &[
            ("none", "Writes complete when the kernel has them"),
            ("0", "The same as none"),
            ("sync", "Writes complete when data and all of its description are stable"),
            ("1", "The same as sync"),
            ("dsync", "Writes complete when data can be read again after a loss of power"),
        ],
    ),
    (
        "write_hint",
        &[
            ("none", "No lifetime is told"),
            ("short", "A short one"),
            ("medium", "A longer one"),
            ("long", "A long one"),
            ("extreme", "As long as can be"),
        ],
    ),
    (
        "cpus_allowed_policy",
        &[
            ("shared", "All clones may run on all of them"),
            ("split", "Each clone has some of them for itself"),
        ],
    ),
    (
        "exit_what",
        &[
            ("group", "The jobs of the same group"),
            ("stonewall", "All that run now; the next stage begins"),
            ("all", "All jobs"),
        ],
    ),
    (
        "log_max_value",
        &[
            ("avg", "The mean"),
            ("max", "The largest"),
            ("both", "The mean and the largest"),
            ("0", "The same as avg"),
            ("1", "The same as max"),
        ],
    ),
    ("dedupe_mode", &[("repeat", "The block before once more"), ("working_set", "Any of a set of blocks")]),
    (
        "unified_rw_reporting",
        &[
            ("none", "Each direction by itself"),
            ("mixed", "All directions as one"),
            ("both", "Each by itself, then all as one"),
            ("0", "The same as none"),
            ("1", "The same as mixed"),
            ("2", "The same as both"),
        ],
    ),
    (
        "continue_on_error",
        &[
            ("none", "The first error ends the job"),
            ("read", "After reads that failed"),
            ("write", "After writes that failed"),
            ("io", "After operations that failed"),
            ("verify", "After data that is not what was written"),
            ("all", "After both"),
            ("0", "The same as none"),
            ("1", "The same as all"),
        ],
    ),
    (
        "kb_base",
        &[
            ("1024", "k is 1024 and Ki is 1000; reports have binary units first"),
            ("1000", "k is 1000 and Ki is 1024; reports have decimal units first"),
        ],
    ),
    (
        "stat_type",
        &[("stat", "stat, which follows links"), ("lstat", "lstat, of links themselves"), ("statx", "statx")],
    ),
    (
        "protocol",
        &[
            ("tcp", "TCP"),
            ("tcpv6", "TCP, with IPv6"),
            ("udp", "UDP"),
            ("udpv6", "UDP, with IPv6"),
            ("unix", "A socket in the filesystem"),
        ],
    ),
    ("cpumode", &[("noop", "Spins"), ("qsort", "Sorts numbers")]),
    ("unit_base", &[("0", "What fits the job"), ("8", "Bytes"), ("1", "Bits")]),
];
