//! The option table: every option of a job, declared once. Help, manuals, forms and dialect tables come out of it.

use crate::row::{Group, Kind, options};
use crate::value::{
    Access, Advice, Amount, Arrival, AtEnd, AtError, BlockSizes, ByKind, ContentSource, Coverage, CpuWork,
    CpusPolicy, Cursor, Durability, Engine, FileLock, FileOrder, FilesEnd, Freshness, KindOrder, Layout,
    MemoryKind, MemoryNodes, MixLine, Nice, OddPlace, OnError, PeerAddress, PriorityClass, PrioritySplit,
    RandomDistribution, RangeSync, Rate, RatePiece, RepeatKind, RunKind, Seed, ServiceTime, StatCall, Steady,
    Sweep, TargetKind, Tolerated, TraceSkips, TreeDistribution, WorkerRegions, Zones,
};
use crate::value::{Verify, VerifyOrder, VerifyPattern, VerifyWhen};
use fathom_units::{Bytes, Nanos, Ratio};

/// Any whole number from 1 up.
const FROM_ONE: Kind = Kind::Count { min: 1, max: u64::MAX };

options! {
    /// Options of the run as a whole.
    RunOptions, Group::Run, "run";

    /// Title of the run, for people. Defaults to the file's name.
    title: String, Kind::Text, example "\"OLTP on the new array\"";
    /// What is to be found out, kept with the result. Free text.
    description: String, Kind::Text, fio "description", iometer "Test Description", example "\"before the firmware update\"";
    /// Seed of everything random in streams that do not set their own. `"fresh"` draws another one for each run.
    seed: Seed = Seed::Fixed(1), Kind::Structured("a whole number or \"fresh\""), fio "randseed", example "42";
    /// What an I/O error does. `"stop"` ends the run at the first one; a number counts errors up to it.
    on_error: OnError = OnError::Stop, Kind::Structured("\"stop\" or a number of errors"), fio "continue_on_error", vdbench "data_errors", example "100";
    /// Length of an interval: how often counters and histograms are kept and shown.
    interval: Nanos = Nanos::secs(1), Kind::Time, fio "log_avg_msec", vdbench "interval", iometer "Update Frequency", example "\"1s\"";
    /// Bounds that every step has to keep: figures (`iops`, `bandwidth`, `mean`, `p99`, `max`, `errors`; of one kind as `read.p99`) with `<` or `>` and a limit. A breach is exit code 99.
    thresholds: Vec<String> = Vec::new(), Kind::Texts, example "[\"iops > 100k\", \"read.p99 < 1ms\"]";
    /// Bounds that end the run when they hold in all intervals for a time; without `for`, in one. Errors are counted from the start of the step.
    abort_when: Vec<String> = Vec::new(), Kind::Texts, example "[\"read.p99 > 10ms for 5s\", \"errors > 0\"]";
}

options! {
    /// Options of a target: what is measured.
    TargetOptions, Group::Target, "target";

    /// Path of the file or block device, or a list of them.
    path: Vec<String>, Kind::Texts, fio "filename", vdbench "lun", iometer "Target", example "\"/dev/nvme1n1\"";
    /// What the target is. `"auto"` looks at the path.
    kind: TargetKind = TargetKind::Auto, Kind::Choice(TargetKind::WORDS), example "\"file\"";
    /// The other end of a connection: `tcp`, `tcp6`, `udp` or `udp6` with host and port, or `unix` with a path. Who listens, listens there. Hosts other than this one only with `--allow-net`.
    address: PeerAddress, Kind::Structured("PROTOCOL://HOST:PORT or unix:PATH"), fio "hostname", example "\"tcp://localhost:9000\"";
    /// Whether this end of a TCP connection waits for the other. Defaults to whether the stream reads; with other protocols the end that reads always does.
    listen: bool, Kind::Flag, fio "listen", example "true";
    /// Whether TCP sends small pieces at once (`TCP_NODELAY`).
    no_delay: bool = false, Kind::Flag, fio "nodelay", example "true";
    /// Operations after which a TCP connection is closed and opened again, which is counted and timed; both ends have to say the same. With 0 it is only opened and closed. Defaults to one connection for all.
    per_connection: u64, Kind::Count { min: 0, max: u64::MAX }, iometer "test connection rate", example "100";
    /// Directory for a set of files that fathom names itself, or the root of a tree.
    directory: String, Kind::Text, fio "directory", vdbench "anchor", example "\"/mnt/archive\"";
    /// Number of files of the set, or in each directory of a tree.
    files: u32 = 1, Kind::Count { min: 1, max: 10_000_000 }, fio "nrfiles", vdbench "files", example "140";
    /// Names of the files of a set; `$filenum` is the file's number from 0. Defaults to the target's name and the number.
    file_names: String, Kind::Text, fio "filename_format", example "\"archive.$filenum\"";
    /// Whether each worker has a set of files of its own; `$worker` in their names is the worker's number from 0.
    own_per_worker: bool = false, Kind::Flag, example "true";
    /// Size of each file, or the part of a device that is used. A share is of the size that is there.
    size: Amount, Kind::SizeOrShare, fio "filesize", vdbench "size", iometer "Disk maximum size", example "\"10GiB\"";
    /// Largest size of each file, where sizes are drawn between `size` and this; a file that is there and lies in between keeps its own.
    size_max: Bytes, Kind::Size, fio "filesize", example "\"16GiB\"";
    /// What is done to a file before the run. `"written"` writes real data where there is none; someone else's file that is only read keeps its holes.
    layout: Layout = Layout::Written, Kind::Choice(Layout::WORDS), fio "fallocate", example "\"written\"";
    /// Whether the folder of a file that is not there is made, with those above it.
    make_folder: bool = false, Kind::Flag, example "true";
    /// Whether the files are removed after the run.
    remove: bool = false, Kind::Flag, fio "unlink", example "true";
    /// Depth of a directory tree.
    tree_depth: u32 = 1, Kind::Count { min: 1, max: 64 }, vdbench "depth", example "3";
    /// Directories in each directory of a tree.
    tree_width: u32 = 1, Kind::Count { min: 1, max: 1_000_000 }, vdbench "width", example "2";
    /// Where in a tree the files lie.
    tree_distribution: TreeDistribution = TreeDistribution::Bottom, Kind::Choice(TreeDistribution::WORDS), vdbench "distribution", example "\"all\"";
    /// Service time of a simulated device.
    service_time: ServiceTime = ServiceTime::Constant(Nanos::micros(100)), Kind::Structured("\"T\", \"constant T\", \"exponential T\" or \"uniform T..T\""), example "\"exponential 100us\"";
    /// Operations a simulated device serves at once.
    parallelism: u32 = 1, Kind::Count { min: 1, max: 65_536 }, example "8";
    /// Share of operations that a simulated device fails with an I/O error.
    error_share: Ratio = Ratio::ZERO, Kind::Share, example "\"0.1%\"";
    /// Share of operations that a simulated device answers with half of the bytes.
    short_share: Ratio = Ratio::ZERO, Kind::Share, example "\"1%\"";
    /// Freezes of a simulated device: when, and for how long nothing completes.
    stalls: Vec<(Nanos, Nanos)> = Vec::new(), Kind::Structured("a list of \"T for T\""), example "[\"10s for 500ms\"]";
    /// Places of a simulated device that are slow or cannot be used: from which byte to below which, and how long an operation that touches them takes, or that it fails.
    places: Vec<OddPlace> = Vec::new(), Kind::Structured("a list of \"A..B takes T\" and \"A..B fails\""), example "[\"64MiB..65MiB takes 20ms\", \"96MiB..97MiB fails\"]";
}

options! {
    /// Options of a workload: which operations.
    WorkloadOptions, Group::Workload, "workload";

    /// Bytes of one operation: a size, a range, or a list of either with shares.
    block_size: BlockSizes = BlockSizes::fixed(Bytes::kib(4)), Kind::Structured("a size, a range \"4KiB..64KiB\", or a list such as [\"4KiB 60%\", \"64KiB 40%\"]"), fio "bs", vdbench "xfersize", iometer "size", example "\"8KiB\"";
    /// Share of reads; the rest are writes (and trims).
    read: Ratio = Ratio::ONE, Kind::Share, fio "rwmixread", vdbench "rdpct", iometer "% reads", example "\"70%\"";
    /// Share of trims (discards).
    trim: Ratio = Ratio::ZERO, Kind::Share, fio "rw", example "\"5%\"";
    /// Where operations go: `"sequential"`, `"random"`, or a share of random ones.
    access: Access = Access { random: Ratio::ZERO }, Kind::Structured("\"sequential\", \"random\" or \"N% random\""), fio "rw", vdbench "seekpct", iometer "% random", example "\"random\"";
    /// Lines with shares, each with its own sizes, reads and access, instead of the four options above.
    mix: Vec<MixLine>, Kind::Structured("a list of { share, block_size, read, trim, access, align, reply }"), fio "bssplit", vdbench "skew", iometer "Access specification", example "[{ share = \"60%\", block_size = \"4KiB\", read = \"80%\", access = \"random\" }, { share = \"40%\", block_size = \"64KiB\" }]";
    /// Which blocks random operations prefer: `uniform`, `zipf:THETA[:CENTER%]`, `pareto:H[:CENTER%]`, `normal:DEVIATION%[:scattered]`, `zoned:ACCESS%/SPAN%,…` (`zoned:read …;write …;trim …` by kind), `hot:ACCESS%/SPAN%`, `reuse:CACHE=HITS%,…`, `reuse-walk`, `blocks:NUMBER,…[:advancing]`.
    distribution: RandomDistribution = RandomDistribution::Uniform, Kind::Structured("uniform, zipf:THETA[:CENTER%], pareto:H[:CENTER%], normal:D%, zoned:A%/S%,…, hot:A%/S%, reuse:SIZE=HITS%,…, reuse-walk or blocks:N,…[:advancing]"), fio "random_distribution", vdbench "hotband", example "\"zipf:1.1\"";
    /// Whether random operations touch every block once per pass, or draw independently.
    coverage: Coverage = Coverage::Independent, Kind::Choice(Coverage::WORDS), fio "norandommap", example "\"once-per-pass\"";
    /// Random offsets are multiples of this. Defaults to the smallest block size.
    align: Bytes, Kind::Size, fio "blockalign", vdbench "align", iometer "align", example "\"4KiB\"";
    /// What random offsets of a kind are multiples of, where kinds differ; the others keep to `align`. Not for coverage once-per-pass.
    align_of: ByKind<Bytes>, Kind::Structured("a list such as [\"read 4KiB\", \"write 16KiB\"]"), fio "blockalign", example "\"write 16KiB\"";
    /// Operations at consecutive addresses from each random jump on.
    run_length: u32 = 1, Kind::Count { min: 1, max: 1_000_000_000 }, fio "rw=randread:N", example "500";
    /// Where the operations of such a run go after its first: onward, or to the same place again.
    run: RunKind = RunKind::Onward, Kind::Choice(RunKind::WORDS), fio "rw_sequencer", example "\"again\"";
    /// Bytes skipped after each sequential operation; negative goes backwards.
    stride: i64 = 0, Kind::Distance, fio "rw=read:N", vdbench "stride", example "\"8KiB\"";
    /// How the kind of an operation of a mix is chosen: drawn by its share, the one that is furthest behind, or, of reads and writes, drawn anew as fio does it (`"redrawn"`; with `"redrawn-onward"` another pass goes on drawing, else each draws the same).
    kind_order: KindOrder = KindOrder::Drawn, Kind::Choice(KindOrder::WORDS), example "\"even\"";
    /// Whether reads and writes continue from one sequential position or each from its own.
    cursor: Cursor = Cursor::Shared, Kind::Choice(Cursor::WORDS), example "\"per-kind\"";
    /// What happens where a file or region has been gone through.
    files_end: FilesEnd = FilesEnd::Anew, Kind::Choice(FilesEnd::WORDS), example "\"stop\"";
    /// Windows that are worked on one after another: so many bytes are moved in each.
    zones: Zones, Kind::Structured("\"SIZE of RANGE\" or \"SIZE of RANGE skip SKIP\""), fio "zonesize", example "\"8MiB of 16MiB skip 16MiB\"";
    /// Files that are begun and not done at any time; the next is begun when one is done. Defaults to all. With fewer, no more
    /// than these are open, so that there may be more files than a process may open.
    files_at_once: u64, FROM_ONE, fio "openfiles", example "100";
    /// In which order a worker visits its files.
    file_order: FileOrder = FileOrder::RoundRobin(1), Kind::Structured("round-robin[:N], sequential, random[:N], zipf:THETA[:CENTER%[:N]], pareto:H[:CENTER%[:N]] or normal:D%[:CENTER%[:N]]"), fio "file_service_type", vdbench "fileselect", example "\"sequential\"";
    /// What writes carry: `"random"`, `"zero"` or a pattern in hexadecimal.
    content: ContentSource = ContentSource::Random, Kind::Structured("random, zero or 0x…"), fio "buffer_pattern", vdbench "pattern", iometer "Data pattern", example "\"0xdeadbeef\"";
    /// How different one write is from the next.
    freshness: Freshness = Freshness::Every, Kind::Choice(Freshness::WORDS), fio "refill_buffers", example "\"scrambled\"";
    /// Share of what is written that compresses away. It is zeroes, or the pattern that `content` gives; the rest is random.
    compressible: Ratio = Ratio::ZERO, Kind::Share, fio "buffer_compress_percentage", vdbench "compratio", example "\"50%\"";
    /// Piece of a write inside which the compressible share holds.
    compress_chunk: Bytes = Bytes(512), Kind::Size, fio "buffer_compress_chunk", example "\"4KiB\"";
    /// Share of writes that repeat an earlier one.
    dedupable: Ratio = Ratio::ZERO, Kind::Share, fio "dedupe_percentage", vdbench "dedupratio", example "\"30%\"";
    /// Which earlier content those carry.
    repeats: RepeatKind = RepeatKind::Any, Kind::Choice(RepeatKind::WORDS), fio "dedupe_mode", example "\"last\"";
    /// Size of the set that repeated content is taken from, as a share of the writes of one pass.
    working_set: Ratio = Ratio::percent(5.0), Kind::Share, fio "dedupe_working_set_percentage", example "\"1%\"";
    /// `fsync` after this many writes.
    fsync_every: u64, FROM_ONE, fio "fsync", example "32";
    /// `fdatasync` after this many writes.
    fdatasync_every: u64, FROM_ONE, fio "fdatasync", example "1";
    /// `sync_file_range` after this many writes, over what was written since the last one.
    range_sync_every: u64, FROM_ONE, fio "sync_file_range", example "64";
    /// How it is called: `wait-before`, `write`, `wait-after`.
    range_sync: RangeSync = RangeSync { wait_before: false, write: true, wait_after: false }, Kind::Structured("wait-before, write and wait-after, separated by commas"), fio "sync_file_range", example "\"write,wait-after\"";
    /// `fsync` when the stream has ended.
    fsync_at_end: bool = false, Kind::Flag, fio "end_fsync", example "true";
    /// `syncfs` of the filesystems when the stream has ended.
    syncfs_at_end: bool = false, Kind::Flag, fio "end_syncfs", example "true";
    /// Whether each trim is followed by a write of the same place.
    trim_then_write: bool = false, Kind::Flag, fio "rw=trimwrite", example "true";
    /// What written data is protected with and checked by: a digest in a header with address and number of the write, or a pattern. Of them `sha512` is fio's, which covers some bytes at both ends of a block alone; `sha3-512` covers all.
    verify: Verify = Verify::None, Kind::Choice(Verify::WORDS), fio "verify", vdbench "validate", example "\"crc32c\"";
    /// Bytes that fill what is verified, instead of random ones: `0x…`, `"text"`, whole numbers and `%o` (the operation's offset), in a row.
    verify_pattern: VerifyPattern, Kind::Structured("0x…, \"text\", whole numbers and %o, in a row"), fio "verify_pattern", example "\"0xdeadbeef%o\"";
    /// Bytes of an operation after which the pattern begins anew, with the offset of that place for `%o`. Defaults to the whole operation, through which the pattern goes on.
    verify_pattern_interval: Bytes, Kind::Size, fio "verify_pattern_interval", example "\"512B\"";
    /// When writes are read back and checked: after each pass, only as a backlog while the load goes on, or never (they only carry what makes them checkable).
    verify_when: VerifyWhen = VerifyWhen::AfterPass, Kind::Choice(VerifyWhen::WORDS), fio "do_verify", example "\"never\"";
    /// In which order writes are read back: as they were written, or file by file, each from its start on (not in rounds of more than four million writes of a worker, nor where `verify_backlog_batch` is less than what is unread).
    verify_order: VerifyOrder = VerifyOrder::Writes, Kind::Choice(VerifyOrder::WORDS), example "\"place\"";
    /// Distance of the headers inside an operation. Defaults to the operation, or to what divides all block sizes.
    verify_interval: Bytes, Kind::Size, fio "verify_interval", example "\"4KiB\"";
    /// Where in its interval a header lies.
    verify_header_at: Bytes = Bytes::ZERO, Kind::Size, fio "verify_offset", example "\"64B\"";
    /// Writes after which the oldest unchecked ones are read back, while the load goes on.
    verify_backlog: u64, FROM_ONE, fio "verify_backlog", example "1024";
    /// Writes that are read back at once. Defaults to `verify_backlog`.
    verify_backlog_batch: u64, FROM_ONE, fio "verify_backlog_batch", example "64";
    /// Whether the first mismatch ends the run.
    verify_fatal: bool = false, Kind::Flag, fio "verify_fatal", vdbench "data_errors", example "true";
    /// Whether what was expected and what was found is written to files in the current directory, named `NAME.OFFSET.received` (`NAME.OFFSET.hdr_fail` where the header is wrong) and `NAME.OFFSET.expected`, with a number where files have these names.
    verify_dump: bool = false, Kind::Flag, fio "verify_dump", example "true";
    /// Whether the number of the write in the header is checked, which finds writes that were lost.
    verify_sequence: bool = true, Kind::Flag, fio "verify_write_sequence", example "false";
    /// Whether the seed in the header is checked, which finds data of an earlier run.
    verify_seed: bool = true, Kind::Flag, fio "verify_header_seed", example "false";
    /// Whether nothing is written and what an equal earlier run wrote is checked.
    verify_only: bool = false, Kind::Flag, fio "verify_only", example "true";
    /// Share of the written blocks that are trimmed again before they are read back.
    verify_trim: Ratio = Ratio::ZERO, Kind::Share, fio "trim_percentage", example "\"10%\"";
    /// Writes after which the oldest of those blocks are trimmed.
    verify_trim_backlog: u64 = 64, FROM_ONE, fio "trim_backlog", example "1024";
    /// Blocks that are trimmed at once, at most. Defaults to `verify_trim_backlog`.
    verify_trim_batch: u64, FROM_ONE, fio "trim_backlog_batch", example "16";
    /// Whether what was trimmed has to be read back as zeroes.
    verify_trim_zero: bool = true, Kind::Flag, fio "trim_verify_zero", example "false";
}

options! {
    /// Options of a stream: a workload aimed at targets, with concurrency and pacing.
    StreamOptions, Group::Stream, "stream";

    /// Name of the workload. Defaults to the stream's own name, or to the only workload.
    workload: String, Kind::Text, vdbench "wd", iometer "Assigned access specs", example "\"oltp\"";
    /// Names of the targets. Defaults to all.
    targets: Vec<String>, Kind::Texts, fio "filename", vdbench "sd", iometer "Target assignments", example "[\"disk1\", \"disk2\"]";
    /// Threads that generate the stream's load.
    workers: u32 = 1, Kind::Count { min: 1, max: 65_536 }, fio "numjobs", vdbench "jvms", iometer "Worker", example "5";
    /// I/Os one worker keeps in flight on its targets.
    queue_depth: u32 = 1, Kind::Count { min: 1, max: 65_536 }, fio "iodepth", vdbench "threads", iometer "# outstanding I/Os", example "32";
    /// Which engine moves the bytes.
    engine: Engine = Engine::Auto, Kind::Choice(Engine::WORDS), fio "ioengine", example "\"io_uring\"";
    /// Whether the page cache is passed by (`O_DIRECT`). Defaults to true wherever the target can.
    direct: bool, Kind::Flag, fio "direct", vdbench "openflags=o_direct", example "false";
    /// What a completed write promises: `O_DSYNC` for `"data"`, `O_SYNC` for `"all"`.
    durability: Durability = Durability::None, Kind::Choice(Durability::WORDS), fio "sync", vdbench "openflags=o_dsync", example "\"data\"";
    /// Whether cached pages of the target are left in place when it is opened.
    keep_cache: bool = false, Kind::Flag, fio "invalidate", example "true";
    /// Whether cached pages of the target are dropped again before each further pass over the region, where the page cache is not passed by: as fio does it.
    drop_each_pass: bool = false, Kind::Flag, fio "invalidate", example "true";
    /// Whether all of the target is read once before the stream, so that it is cached as far as it fits.
    pre_read: bool = false, Kind::Flag, fio "pre_read", example "true";
    /// What the kernel is told about how files will be accessed: it reads ahead by that.
    advice: Advice = Advice::None, Kind::Choice(Advice::WORDS), fio "fadvise_hint", example "\"random\"";
    /// Where the buffers lie.
    memory: MemoryKind = MemoryKind::Heap, Kind::Choice(MemoryKind::WORDS), fio "mem", example "\"mapped-huge\"";
    /// Size of a huge page, where buffers lie in such.
    huge_page: Bytes = Bytes::mib(2), Kind::Size, fio "hugepage-size", example "\"1GiB\"";
    /// Distance of the first buffer from the start of its page.
    memory_shift: Bytes = Bytes::ZERO, Kind::Size, fio "iomem_align", example "\"64B\"";
    /// Further memory that each worker holds locked, so that less is left for the page cache.
    locked_memory: Bytes = Bytes::ZERO, Kind::Size, fio "lockmem", example "\"1GiB\"";
    /// Whether workers keep other streams off a file while they access it; these have to ask for it as well.
    file_lock: FileLock = FileLock::None, Kind::Choice(FileLock::WORDS), fio "lockfile", example "\"exclusive\"";
    /// Whether `io_uring` registers its buffers. Unless it is asked for, it is left out through the page cache for operations above 512 B, where it costs more than it saves, and where limits forbid it.
    fixed_buffers: bool = true, Kind::Flag, fio "fixedbufs", example "false";
    /// Whether `io_uring` registers its files. Unless it is asked for, it is left out where limits forbid it.
    registered_files: bool = true, Kind::Flag, fio "registerfiles", example "false";
    /// Share of the I/Os, drawn one by one, that poll for their end instead of sleeping (pvsync2: `RWF_HIPRI`; `io_uring`: all or none, `IORING_SETUP_IOPOLL`).
    polled: Ratio = Ratio::ZERO, Kind::Share, fio "hipri", example "\"100%\"";
    /// Whether an I/O that would wait fails with EAGAIN instead (pvsync2, libaio, `io_uring`: `RWF_NOWAIT`).
    nowait: bool = false, Kind::Flag, fio "nowait", example "true";
    /// Whether pages leave the cache after each I/O through it (pvsync2, `io_uring`: `RWF_DONTCACHE`, Linux 6.14).
    uncached: bool = false, Kind::Flag, fio "uncached", example "true";
    /// Whether each write reaches the device whole or not at all (pvsync2, libaio, `io_uring`: `RWF_ATOMIC`, Linux 6.11); needs direct I/O.
    untorn: bool = false, Kind::Flag, fio "atomic", example "true";
    /// Whether a thread of the kernel takes the I/Os of `io_uring`, so that the worker makes no system call for them.
    submit_thread: bool = false, Kind::Flag, fio "sqthread_poll", example "true";
    /// CPU on which that thread runs. Defaults to any.
    submit_thread_cpu: u32, Kind::Count { min: 0, max: 65_535 }, fio "sqthread_poll_cpu", example "3";
    /// Whether `io_uring` uses `readv` and `writev` where its buffers are not registered.
    vectored: bool = false, Kind::Flag, fio "nonvectored", example "true";
    /// One I/O of this many goes to the threads of `io_uring` without an attempt to start it at once. Defaults to none.
    force_async: u32, Kind::Count { min: 1, max: 1_000_000_000 }, fio "force_async", example "4";
    /// Whether libaio takes completions from the memory that the kernel shares where it can.
    userspace_reap: bool = true, Kind::Flag, fio "userspace_reap", example "false";
    /// Share of the reads, drawn one by one, that carry a priority of their own (libaio, `io_uring`).
    priority_reads: Ratio = Ratio::ZERO, Kind::Share, fio "cmdprio_percentage", example "\"10%\"";
    /// Share of the writes, drawn one by one, that carry a priority of their own (libaio, `io_uring`).
    priority_writes: Ratio = Ratio::ZERO, Kind::Share, fio "cmdprio_percentage", example "\"10%\"";
    /// Class of that priority.
    priority_class: PriorityClass = PriorityClass::RealTime, Kind::Choice(PriorityClass::WORDS), fio "cmdprio_class", example "\"best-effort\"";
    /// Level of that priority within its class: 0 is the highest.
    priority_level: u32 = 0, Kind::Count { min: 0, max: 7 }, fio "cmdprio", example "4";
    /// Shares of the operations of one kind and size that carry a priority of their own, each with its class and level unless those above hold (libaio, `io_uring`).
    priority_split: PrioritySplit, Kind::Structured("read or write, a size and a share, after it the class and the level, separated by commas"), fio "cmdprio_bssplit", example "\"read 4KiB 50% best-effort 4, write 64KiB 10%\"";
    /// The call that asks about a file or folder (filestat, dirstat).
    stat_call: StatCall = StatCall::Stat, Kind::Choice(StatCall::WORDS), fio "stat_type", example "\"statx\"";
    /// Whether each operation is answered by the other end with the same bytes, and ends with the answer (net).
    ping_pong: bool = false, Kind::Flag, fio "pingpong", example "true";
    /// Name of the stream at the other end of the connection: this one receives what that one sends, in the same sizes and order (net). Both then may read and write by turns.
    mirrors: String, Kind::Text, iometer "Target manager", example "\"server\"";
    /// Program that the stream runs (exec), by its name or path. Only with `--allow-exec`.
    program: String, Kind::Text, fio "program", example "\"/usr/bin/stress\"";
    /// Its arguments, with spaces between them; `%r` stands for the stream's time in whole seconds, `%n` for its name.
    arguments: String = String::new(), Kind::Text, fio "arguments", example "\"--timeout %r\"";
    /// How long a program may go on once it has been asked to end.
    program_grace: Nanos = Nanos::secs(1), Kind::Time, fio "grace_time", example "\"5s\"";
    /// Whether what the program prints goes to files, NAME.stdout and NAME.stderr, by the stream's name or `command_output`; else where messages go.
    program_files: bool = true, Kind::Flag, fio "std_redirect", example "false";
    /// Share of its time that a worker keeps its CPU busy (cpuio).
    cpu_load: Ratio, Kind::Share, fio "cpuload", example "\"50%\"";
    /// How long it is busy at a stretch (cpuio); the pauses between follow from `cpu_load`.
    cpu_chunk: Nanos = Nanos::millis(50), Kind::Time, fio "cpuchunks", example "\"10ms\"";
    /// What it is busy with (cpuio).
    cpu_work: CpuWork = CpuWork::Spin, Kind::Choice(CpuWork::WORDS), fio "cpumode", example "\"sort\"";
    /// Whether the stream ends when the last stream of its stage that has not the engine cpuio has ended.
    end_with_io: bool = false, Kind::Flag, fio "exit_on_io_done", example "true";
    /// I/Os handed over in one system call, where there is room for them in the queue. Defaults to as many as suit the device, up to the queue depth; at a rate to one where libaio goes through the page cache, as it does each while it is handed over.
    batch_submit: u32, Kind::Count { min: 1, max: 65_536 }, fio "iodepth_batch", example "16";
    /// Completions waited for when the queue is full.
    batch_complete: u32 = 1, Kind::Count { min: 1, max: 65_536 }, fio "iodepth_batch_complete_min", example "8";
    /// When the queue is full, nothing is issued until no more than these are in flight. Defaults to the queue depth less one.
    refill_at: u32, Kind::Count { min: 1, max: 65_536 }, fio "iodepth_low", example "8";
    /// Completions taken up at once, at most.
    batch_complete_max: u32, Kind::Count { min: 1, max: 65_536 }, fio "iodepth_batch_complete_max", example "16";
    /// Whether an operation waits until no other operation of its worker that is in flight touches its place.
    serialize_overlap: bool = false, Kind::Flag, fio "serialize_overlap", example "true";
    /// Rate of the whole stream, over all workers; `"max"` issues whenever a slot is free.
    rate: Rate = Rate::Max, Kind::Rate, fio "rate_iops", vdbench "iorate", example "\"5k/s\"";
    /// How arrivals at a rate are spaced; the last three come in bursts. With `by-kind`, which needs `kind_order = "even"`, each kind of operations is spaced evenly by itself, so that several may be due at once.
    arrival: Arrival = Arrival::Constant, Kind::Structured("constant, by-kind, poisson, uniform, on-off:ON/OFF, pareto-on-off:SHAPE[:ON/OFF[:SOURCES]] or b-model:BIAS[:WINDOW]"), fio "rate_process", vdbench "distribution", example "\"poisson\"";
    /// A rate that changes: holds, ramps and idle times one after another from where measuring begins; the last rate stays.
    rate_course: Vec<RatePiece>, Kind::Structured("a list of \"RATE for TIME\", \"to RATE over TIME\" and \"idle for TIME\""), example "[\"1k/s for 30s\", \"to 10k/s over 2min\", \"10k/s for 30s\"]";
    /// Arrivals that may wait for a free slot, over all workers; beyond, those that waited longest are dropped and counted. Defaults to any number.
    backlog: u64, FROM_ONE, example "10000";
    /// Pause of a worker after every `think_every` operations or `think_after`. Beside a rate, what comes due in it waits for its end.
    think_time: Nanos = Nanos::ZERO, Kind::Time, fio "thinktime", iometer "Transfer delay", example "\"1ms\"";
    /// Operations between two pauses. Of a queue, what completes while it empties for one counts towards the next.
    think_every: u64 = 1, FROM_ONE, fio "thinktime_blocks", iometer "Burst length", example "8";
    /// Whether `think_every` counts operations that were issued instead of those that completed.
    think_issued: bool = false, Kind::Flag, fio "thinktime_blocks_type", example "true";
    /// Time of load after which a worker pauses; `think_every` then counts only where it is given.
    think_after: Nanos = Nanos::ZERO, Kind::Time, fio "thinktime_iotime", example "\"2s\"";
    /// First part of the pause, in which a worker keeps its CPU busy.
    think_spin: Nanos = Nanos::ZERO, Kind::Time, fio "thinktime_spin", example "\"20us\"";
    /// Whether a pause puts off what a rate makes due after it, so that nothing is caught up.
    think_puts_off: bool = false, Kind::Flag, fio "rate_ignore_thinktime", example "true";
    /// How long the stream measures; overrides the stage's.
    time: Nanos, Kind::Time, fio "runtime", vdbench "elapsed", iometer "Run Time", example "\"60s\"";
    /// Time before measuring whose I/Os are in no figure, unless `ramp_counts` lets the stream end in it; overrides the stage's.
    ramp: Nanos, Kind::Time, fio "ramp_time", vdbench "warmup", iometer "Ramp Up Time", example "\"15s\"";
    /// Whether what is done in the ramp is part of what ends the stream, as in fio; one that ends in its ramp has measured it.
    ramp_counts: bool = false, Kind::Flag, example "true";
    /// Bytes that each worker moves before it measures, instead of a time.
    ramp_bytes: Bytes, Kind::Size, fio "ramp_size", example "\"10GiB\"";
    /// Delay between the stage's start and the stream's.
    start_delay: Nanos = Nanos::ZERO, Kind::Time, fio "startdelay", example "\"5s\"";
    /// Whether that delay counts from the start of the run's first step, as in fio, and not from that of its own stage.
    start_delay_of_run: bool = false, Kind::Flag, example "true";
    /// Passes over the stream's region; ends it earlier than its time.
    passes: u32, Kind::Count { min: 1, max: 1_000_000_000 }, fio "loops", example "2";
    /// Bytes of one pass, where a pass ends (`files_end`). Defaults to the region's.
    pass_bytes: Bytes, Kind::Size, example "\"1GiB\"";
    /// Whether so many passes are enough, though they end before `bytes` are moved; else more follow. Where files end a pass (`files_end`).
    passes_suffice: bool = false, Kind::Flag, example "true";
    /// Whether files that fathom made are removed after each pass and made again, empty, for the next.
    fresh_files: bool = false, Kind::Flag, fio "unlink_each_loop", example "true";
    /// Whether targets are only prepared: laid out, and nothing more.
    prepare_only: bool = false, Kind::Flag, fio "create_only", example "true";
    /// Whether a full filesystem ends the stream like a bound that was reached, and is no error.
    until_full: bool = false, Kind::Flag, fio "fill_device", example "true";
    /// Bytes each worker moves; ends the stream earlier than its time.
    bytes: Amount, Kind::SizeOrShare, fio "io_size", vdbench "maxdata", example "\"100GiB\"";
    /// Operations each worker completes; ends the stream earlier than its time. Those that fail count only where neither bytes nor passes end the stream.
    operations: u64, FROM_ONE, fio "number_ios", example "100000";
    /// First byte of the stream's region in each target.
    offset: Amount = Amount::Bytes(Bytes::ZERO), Kind::SizeOrShare, fio "offset", vdbench "offset", iometer "Starting sector", example "\"1GiB\"";
    /// Offsets given as shares are multiples of this. Defaults to the smallest block size.
    offset_align: Bytes, Kind::Size, fio "offset_align", example "\"1MiB\"";
    /// Whether the region begins where each file ends when the run starts.
    append: bool = false, Kind::Flag, fio "file_append", example "true";
    /// Added to the offset for each further worker.
    offset_per_worker: Amount = Amount::Bytes(Bytes::ZERO), Kind::SizeOrShare, fio "offset_increment", example "\"20%\"";
    /// Length of the stream's region, over all its targets together when they are files of one set. Defaults to all.
    size: Amount, Kind::SizeOrShare, fio "size", vdbench "range", example "\"20%\"";
    /// How several workers divide the region: `split` gives equal parts to those that are sequential, or that verify what they write; others that are random go everywhere, together once per pass where that is their coverage. With `same` each has all of it for itself.
    worker_regions: WorkerRegions = WorkerRegions::Split, Kind::Choice(WorkerRegions::WORDS), example "\"same\"";
    /// Log of operations that are replayed in place of the workload's sizes, kinds and places: fio's (versions 2 and 3) or a binary trace of blktrace. Its files are the targets, unless one target is named, which then takes all of it.
    trace: String, Kind::Text, fio "read_iolog", example "\"oltp.iolog\"";
    /// Whether the operations of a trace are due when it says; else as soon as a slot is free.
    trace_timed: bool = true, Kind::Flag, fio "replay_no_stall", example "false";
    /// Whether files of the trace that are not there, or are too short, are made.
    trace_makes_files: bool = true, Kind::Flag, example "false";
    /// How fast the time of a trace goes, in percent.
    trace_speed_percent: u32 = 100, Kind::Count { min: 1, max: 1_000_000 }, fio "replay_time_scale", example "200";
    /// Offsets in a trace are divided by this.
    trace_scale: u64 = 1, FROM_ONE, fio "replay_scale", example "4";
    /// Offsets in a trace are rounded down to multiples of this, a power of two; lengths of a binary trace are rounded up.
    trace_align: Bytes, Kind::Size, fio "replay_align", example "\"4KiB\"";
    /// Operations of a trace that are left out: `read`, `write`, `trim`, `sync`.
    trace_skip: TraceSkips, Kind::Structured("read, write, trim and sync, separated by commas"), fio "replay_skip", example "\"trim,sync\"";
    /// Each worker looks for the largest queue depth, up to `queue_depth`, at which operations take no longer than this.
    latency_target: Nanos, Kind::Time, fio "latency_target", example "\"10ms\"";
    /// How long it looks at each depth, and measures the one that it found.
    latency_window: Nanos = Nanos::secs(1), Kind::Time, fio "latency_window", example "\"5s\"";
    /// Share of the operations that have to take no longer.
    latency_share: Ratio = Ratio::ONE, Kind::Share, fio "latency_percentile", example "\"99%\"";
    /// Whether it goes on looking for as long as the stream runs, all of which is measured.
    latency_adapts: bool = false, Kind::Flag, fio "latency_run", example "true";
    /// Ends the stream when a figure has settled: over a `steady_window` its samples keep as close to their mean as this, or rise or fall by no more than this from one to the next.
    steady: Steady, Kind::Structured("iops:LIMIT, bandwidth:LIMIT or latency:LIMIT, -slope behind the figure for its slope; LIMIT a share such as 5%, or in operations, bytes or time"), fio "steadystate", example "\"iops-slope:0.1%\"";
    /// How long the figures are to have kept that.
    steady_window: Nanos = Nanos::secs(60), Kind::Time, fio "steadystate_duration", example "\"5min\"";
    /// How long after measuring began the figures are looked at first.
    steady_after: Nanos = Nanos::ZERO, Kind::Time, fio "steadystate_ramp_time", example "\"30s\"";
    /// Length of one sample, a multiple of the run's `interval`.
    steady_every: Nanos = Nanos::secs(1), Kind::Time, fio "steadystate_check_interval", example "\"10s\"";
    /// Whether all streams of its `report_group` that have such a rule are judged, and end, together.
    steady_group: bool = false, Kind::Flag, fio "group_reporting", example "true";
    /// Number of the stream's first worker, where streams are clones of one job.
    first_worker: u32 = 0, Kind::Count { min: 0, max: 65_536 }, example "1";
    /// Seed of everything random in the stream; overrides the run's.
    seed: Seed, Kind::Structured("a whole number or \"fresh\""), fio "randrepeat", example "42";
    /// By worker, the seed of fio's draws between reads and writes (`kind_order = "redrawn"`), of 32 bits. Defaults to a part of the worker's seed.
    kind_seeds: Vec<u32>, Kind::Counts, example "[3567587332]";
    /// CPUs its workers may run on. Defaults to all.
    cpus: Vec<u32>, Kind::Counts, fio "cpus_allowed", example "\"0-3\"";
    /// NUMA nodes on whose CPUs its workers may run. Defaults to all.
    cpu_nodes: Vec<u32>, Kind::Counts, fio "numa_cpu_nodes", example "[0]";
    /// From which NUMA nodes the memory of its workers comes.
    memory_nodes: MemoryNodes = MemoryNodes::Usual, Kind::Structured("usual, local, or prefer:NODE, bind:NODES or interleave:NODES with NODES such as 0-1,3"), fio "numa_mem_policy", example "\"bind:0\"";
    /// Whether each worker may run on all of `cpus`, or they are dealt out in turn by the worker's number.
    cpus_policy: CpusPolicy = CpusPolicy::Shared, Kind::Choice(CpusPolicy::WORDS), fio "cpus_allowed_policy", example "\"split\"";
    /// Streams with one number from 1 up are reported together as well, as a group; 0 is no group.
    report_group: u32 = 0, Kind::Count { min: 0, max: 65_536 }, fio "group_reporting", example "1";
    /// Names of streams that must have ended before this one starts. Those of an earlier stage have.
    wait_for: Vec<String> = Vec::new(), Kind::Texts, fio "wait_for", example "[\"fill\"]";
    /// What else ends as soon as one of its workers has ended.
    at_end: AtEnd = AtEnd::Nothing, Kind::Choice(AtEnd::WORDS), fio "exitall", example "\"stage\"";
    /// What ends at an error that is neither tolerated nor within the run's `on_error`.
    at_error: AtError = AtError::Run, Kind::Choice(AtError::WORDS), fio "exitall_on_error", example "\"worker\"";
    /// Errors that are counted and end nothing, however many, instead of the run's `on_error`: `read` or `write` (trims and syncs too) with names or numbers.
    tolerate: Tolerated, Kind::Structured("a list such as [\"read EIO\", \"write EIO ENOSPC\"]"), fio "ignore_error", example "[\"read EIO\"]";
    /// Command that each worker has a shell run before it starts, which waits for it; one that fails, fails the worker. Only with `--allow-exec`.
    command_before: String, Kind::Text, fio "exec_prerun", example "\"sync\"";
    /// Command that each worker has a shell run after it has ended. Only with `--allow-exec`.
    command_after: String, Kind::Text, fio "exec_postrun", example "\"sync\"";
    /// Beginning of the names of the files that take what those commands print, before `.prerun.txt` and `.postrun.txt`. Defaults to the stream's name.
    command_output: String, Kind::Text, example "\"oltp\"";
    /// Most that a kind of operations comes to in the whole stream, while the others come as fast as they can; one of the mix has to be free. Its operations are then in no proportion to `read` and `trim`.
    rate_max: ByKind<Rate>, Kind::Structured("a list such as [\"read 1k/s\"] or [\"write 10MB/s\"]"), example "\"read 1k/s\"";
    /// Least rate of the whole stream: where less is done in a `rate_min_window`, the stream ends for an error.
    rate_min: ByKind<Rate>, Kind::Structured("a rate, or a list such as [\"read 1k/s\", \"write 10MB/s\"]"), fio "rate_iops_min", example "\"1k/s\"";
    /// Over how long the least rate is looked at.
    rate_min_window: Nanos = Nanos::secs(1), Kind::Time, fio "rate_cycle", example "\"5s\"";
    /// Longest that an operation may take; the stream ends for an error at the first one that takes longer.
    latency_max: ByKind<Nanos>, Kind::Structured("a time, or a list such as [\"read 10ms\", \"write 50ms\"]"), fio "max_latency", example "\"50ms\"";
    /// Streams with one number issue in proportion to their `flow_weight`; 0: this one in proportion to none. At the shares of a
    /// `curve` it does not, as the rates are in proportion then.
    flow: u32 = 0, Kind::Count { min: 0, max: 65_535 }, fio "flow_id", example "1";
    /// Share of each worker in its flow, against the weights of all its workers.
    flow_weight: u32 = 1, Kind::Count { min: 1, max: 1000 }, fio "flow", example "8";
    /// What a worker waits that is ahead of its share in its flow; it polls when this is 0.
    flow_pause: Nanos = Nanos::ZERO, Kind::Time, fio "flow_sleep", example "\"100us\"";
    /// Nice value of the workers' threads.
    nice: Nice, Kind::Structured("a whole number from -20 to 19"), fio "nice", example "-5";
    /// Class of the workers' I/O priority.
    thread_priority_class: PriorityClass, Kind::Choice(PriorityClass::WORDS), fio "prioclass", example "\"idle\"";
    /// Level of the workers' I/O priority, from 0 (first) to 7.
    thread_priority_level: u32, Kind::Count { min: 0, max: 7 }, fio "prio", example "2";
    /// How many writes are checked, from the first: what an earlier run is known to have written before it broke off.
    verify_until: u64, Kind::Count { min: 0, max: u64::MAX }, fio "verify_state_load", example "4711";
    /// Whether the time from accepted to completed gets a histogram of its own (fio's clat).
    completion_latency: bool = false, Kind::Flag, fio "clat_percentiles", example "true";
}

options! {
    /// Options of a stage: what runs together, how long, and what is swept. Stages follow one another.
    StageOptions, Group::Stage, "stage";

    /// Names of the streams that run together. Defaults to all.
    streams: Vec<String>, Kind::Texts, vdbench "wd", example "[\"oltp\"]";
    /// How long the stage measures. Without it and without another bound, 30 s.
    time: Nanos, Kind::Time, fio "runtime", vdbench "elapsed", iometer "Run Time", example "\"60s\"";
    /// Time before measuring whose I/Os are in no figure.
    ramp: Nanos = Nanos::ZERO, Kind::Time, fio "ramp_time", vdbench "warmup", iometer "Ramp Up Time", example "\"15s\"";
    /// Idle time before each point of the stage but the first.
    pause: Nanos = Nanos::ZERO, Kind::Time, vdbench "pause", example "\"60s\"";
    /// Lists of values to go through: option path → list, or { from, to, factor } or { from, to, step }; the first written is outermost.
    sweep: Sweep = Sweep::default(), Kind::Structured("a table of option path → list of values"), vdbench "forthreads", iometer "Queue Depth Cycling", example "{ \"stream.queue_depth\" = { from = 1, to = 256, factor = 2 } }";
    /// Rates as shares of the maximum, which a first point at full speed finds.
    curve: Vec<Ratio> = Vec::new(), Kind::Structured("a list of shares"), vdbench "curve", example "[\"10%\", \"50%\", \"90%\"]";
}
