//! What `--cmdhelp` and `--enghelp` say of fio's options: a sentence each, and how their values are written. Types, defaults,
//! order and levels are those of fio 3.33, which has the newer ones, at the end, not at all. Knows nothing of what options set.

mod words;

use super::lower::{is_private, private_options};
use super::options::{OptionRow, Status, find};
use Form::{Boolean, Flag, Number, Numbers, Ranges, Scaled, Size, Text, Time};
use std::fmt::Write;

/// What is said of one option.
struct Entry {
    /// How far it is moved in below the one that it belongs to.
    level: usize,
    name: &'static str,
    form: Form,
    /// What holds where it is not given; empty: nothing.
    default: &'static str,
    sentence: &'static str,
}

/// How a value is written.
#[derive(Clone, Copy)]
enum Form {
    Text,
    Scaled,
    Size,
    Time,
    Ranges,
    Number,
    Numbers,
    Boolean,
    Flag,
}

impl Form {
    /// As fio has it, but for sizes, of which it knows no form (3.33 prints `(null)`).
    const fn shown(self) -> &'static str {
        match self {
            Text => "string (opt=bla)",
            Scaled => "string with possible k/m/g postfix (opt=4k)",
            Size => "size or percentage (opt=1g, opt=20%)",
            Time => "string with time postfix (opt=10s)",
            Ranges => "one to three ranges (opt=1k-4k[,4k-8k[,1k-8k]])",
            Number => "integer value (opt=100)",
            Numbers => "list of floating point values separated by ':' (opt=5.9:7.8)",
            Boolean => "boolean value (opt=1)",
            Flag => "empty or boolean value ([0|1])",
        }
    }
}

const fn entry(
    level: usize,
    name: &'static str,
    form: Form,
    default: &'static str,
    sentence: &'static str,
) -> Entry {
    Entry { level, name, form, default, sentence }
}

/// All options of jobs, one on each line: `--cmdhelp`.
pub fn all_options() -> String {
    ENTRIES.iter().filter(|entry| !is_private(entry.name)).map(Entry::line).collect()
}

/// One option of jobs: `--cmdhelp=OPTION`. The error says which comes near, if one does.
pub fn option(name: &str) -> Result<String, Option<String>> {
    let known = || ENTRIES.iter().filter(|entry| !is_private(entry.name));
    if let Some(entry) = entry_of(name).filter(|entry| !is_private(entry.name)) {
        return Ok(entry.describe());
    }
    let names = known().map(|entry| entry.name);
    // Nothing at all is as far from a name as that is long.
    let near = if name.is_empty() {
        names.min_by_key(|name| name.len())
    } else {
        fathom_model::nearest(name, names)
    };
    Err(near.and_then(entry_of).map(Entry::describe))
}

/// The options of one engine: `--enghelp=ENGINE`; `None` where there is no such engine, and nothing where it has none.
pub fn engine_options(engine: &str) -> Option<String> {
    let entry = |name: &&str| ENTRIES.iter().find(|entry| entry.name == *name);
    Some(private_options(engine)?.iter().filter_map(entry).map(Entry::line).collect())
}

/// One option of one engine: `--enghelp=ENGINE,OPTION`.
pub fn engine_option(engine: &str, name: &str) -> Option<String> {
    let entry = entry_of(name)?;
    private_options(engine)?.contains(&entry.name).then(|| entry.describe())
}

fn entry_of(name: &str) -> Option<&'static Entry> {
    let row = find(name)?;
    ENTRIES.iter().find(|entry| entry.name == row.name)
}

impl Entry {
    fn row(&self) -> &'static OptionRow {
        find(self.name).expect("each option of the manual has a row")
    }

    /// The sentence, with what is different here.
    fn said(&self) -> String {
        let sentence = self.sentence;
        match self.row().status {
            Status::Built => sentence.to_owned(),
            Status::Accepted("") => format!("{sentence} (no effect)"),
            Status::Accepted(loses) => format!("{sentence} (no effect: {loses})"),
            Status::Refused(_, why) => format!("{sentence} (refused: {why})"),
            Status::Elsewhere(engines) => format!("{sentence} (only with ioengine={})", engines.join(", ")),
        }
    }

    fn line(&self) -> String {
        format!("{:<24}: {}\n", format!("{}{}", "  ".repeat(self.level), self.name), self.said())
    }

    fn describe(&self) -> String {
        let mut text = format!("{:>20}: {}\n", self.name, self.said());
        let mut add = |label: &str, value: &str| {
            writeln!(text, "{label:>20}: {value}").expect("a string takes everything");
        };
        let row = self.row();
        row.aliases.iter().for_each(|alias| add("alias", alias));
        add("type", self.form.shown());
        add("default", if self.default.is_empty() { "no default" } else { self.default });
        if let Some((min, max)) = row.range() {
            add("range", &max.map_or_else(|| format!("min={min}"), |max| format!("min={min}, max={max}")));
        }
        let words = row.words().iter().map(|word| (*word, words::said(row.name, word)));
        for (at, (word, said)) in words.chain(words::in_text(row.name).iter().copied()).enumerate() {
            let line = format!("{word:<10} {said}");
            add(if at == 0 { "valid values" } else { "" }, line.trim_end());
        }
        if row.name == "ioengine" {
            for (at, (engine, does)) in ENGINES.iter().enumerate() {
                add(if at == 0 { "valid values" } else { "" }, &format!("{engine:<10} {does}"));
            }
        }
        text.push('\n');
        text
    }
}

/// The engines that are here, as `--cmdhelp=ioengine` lists them.
const ENGINES: &[(&str, &str)] = &[
    ("sync", "lseek, then read or write"),
    ("psync", "pread and pwrite"),
    ("vsync", "readv and writev of operations that follow one another"),
    ("pvsync", "preadv and pwritev"),
    ("pvsync2", "preadv2 and pwritev2"),
    ("libaio", "Asynchronous I/O of the kernel"),
    ("io_uring", "Rings shared with the kernel"),
    ("posixaio", "Asynchronous I/O of POSIX"),
    ("mmap", "Copies to and from mapped memory"),
    ("splice", "splice and vmsplice through a pipe"),
    ("netsplice", "splice to and from a socket"),
    ("null", "Moves nothing"),
    ("net", "Sends to and receives from a socket"),
    ("cpuio", "Keeps a CPU busy"),
    ("falloc", "Sets space aside and gives it back"),
    ("ftruncate", "Changes the size of files"),
    ("filecreate", "Makes files"),
    ("filestat", "Asks about files"),
    ("filedelete", "Removes files"),
    ("dircreate", "Makes folders"),
    ("dirstat", "Asks about folders"),
    ("dirdelete", "Removes folders"),
    ("exec", "Runs a program"),
];

/// In fio's order.
const ENTRIES: &[Entry] = &[
    entry(0, "description", Text, "", "Free text, repeated in the reports"),
    entry(0, "name", Text, "", "Name of the job"),
    entry(0, "wait_for", Text, "", "Start after all clones of this earlier job have ended"),
    entry(0, "filename", Text, "", "Files or devices to work on, separated by colons"),
    entry(1, "lockfile", Text, "none", "Hold a lock on the file around each operation"),
    entry(0, "directory", Text, "", "Folder in which the job's files lie"),
    entry(0, "filename_format", Text, "$jobname.$jobnum.$filenum", "How the names of files are made up"),
    entry(0, "unique_filename", Boolean, "1", "Tell the files of several clients apart"),
    entry(0, "opendir", Text, "", "Work on every file below this folder"),
    entry(0, "rw", Text, "read", "Which operations, in which order"),
    entry(1, "bs", Number, "4096", "Size of one operation"),
    entry(1, "ba", Number, "", "Offsets are multiples of this"),
    entry(1, "bsrange", Ranges, "", "Sizes are drawn from this range"),
    entry(1, "bssplit", Text, "", "Sizes are drawn with these shares"),
    entry(1, "bs_unaligned", Flag, "", "Drawn sizes need be no multiples of the smallest"),
    entry(1, "randrepeat", Boolean, "1", "Draw the same numbers in every run"),
    entry(1, "randseed", Text, "0x89", "Start of all random numbers"),
    entry(1, "norandommap", Flag, "", "Random places may come again before all have come"),
    entry(1, "ignore_error", Text, "", "Errors that are no errors"),
    entry(0, "rw_sequencer", Text, "sequential", "Where a sequence goes when it jumps"),
    entry(0, "ioengine", Text, "psync", "What carries operations out"),
    entry(0, "iodepth", Number, "1", "Number of operations that are in flight at once"),
    entry(1, "iodepth_batch", Number, "1", "Number of operations to hand over at once"),
    entry(1, "iodepth_batch_complete_min", Number, "1", "Fewest completions to wait for at once"),
    entry(1, "iodepth_batch_complete_max", Number, "", "Most completions to take at once"),
    entry(1, "iodepth_low", Number, "", "Refill the queue when it is as short as this"),
    entry(1, "serialize_overlap", Boolean, "0", "Operations that overlap wait for one another"),
    entry(
        0,
        "io_submit_mode",
        Text,
        "inline",
        "Whether operations are sent by the job or by threads of their own",
    ),
    entry(0, "size", Size, "", "Bytes to work on, in all files together"),
    entry(0, "io_size", Size, "", "Bytes to move, where that is not the size"),
    entry(0, "fill_device", Boolean, "0", "Write until the device or filesystem is full"),
    entry(0, "filesize", Text, "", "Size of each file, or a range to draw it from"),
    entry(0, "file_append", Boolean, "0", "Begin where the file ends"),
    entry(0, "offset", Size, "0", "Where in the file to begin"),
    entry(1, "offset_increment", Size, "0", "How much further each clone begins"),
    entry(0, "offset_align", Number, "0", "Make a percentage of the offset a multiple of this"),
    entry(0, "number_ios", Text, "0", "End after this many operations"),
    entry(0, "random_generator", Text, "tausworthe", "How random places are drawn"),
    entry(0, "random_distribution", Text, "random", "How random places spread over the file"),
    entry(0, "percentage_random", Number, "100,100,100", "Share of operations that jump to a random place"),
    entry(0, "allrandrepeat", Boolean, "0", "Draw the same numbers in every run, whatever is drawn"),
    entry(0, "nrfiles", Number, "1", "Number of files to share the job's size between"),
    entry(1, "file_service_type", Text, "roundrobin", "Which file the next operation goes to"),
    entry(0, "openfiles", Number, "", "Number of files that are in use at once"),
    entry(0, "fallocate", Text, "native", "How space is set aside when files are made"),
    entry(0, "fadvise_hint", Text, "1", "What the kernel is told about the order of reads"),
    entry(0, "fsync", Number, "0", "Send an fsync after this many writes"),
    entry(0, "fdatasync", Number, "0", "Send an fdatasync after this many writes"),
    entry(0, "write_barrier", Number, "0", "Make every so many writes a barrier"),
    entry(0, "sync_file_range", Scaled, "", "Send a sync_file_range after so many writes"),
    entry(0, "direct", Boolean, "0", "Go past the page cache"),
    entry(0, "atomic", Boolean, "0", "Writes are never torn, and go past the page cache"),
    entry(0, "buffered", Boolean, "1", "Go through the page cache"),
    entry(0, "overwrite", Boolean, "0", "Lay the file out before it is written"),
    entry(0, "loops", Number, "1", "How often the job is repeated"),
    entry(0, "numjobs", Number, "1", "Number of clones of the job"),
    entry(0, "startdelay", Time, "0", "Start the job this much later"),
    entry(0, "runtime", Time, "0", "End the job after this long"),
    entry(0, "time_based", Flag, "", "Go on until the runtime is over"),
    entry(0, "verify_only", Flag, "", "Check what an earlier run wrote"),
    entry(0, "ramp_time", Time, "", "Time before anything counts"),
    entry(0, "clocksource", Text, "", "Which clock is read"),
    entry(0, "mem", Text, "malloc", "What kind of memory buffers are made of"),
    entry(0, "verify", Text, "0", "How written data is protected and checked"),
    entry(1, "do_verify", Boolean, "1", "Read back what was written"),
    entry(1, "verify_interval", Number, "", "Bytes that each header of a check covers"),
    entry(1, "verify_offset", Number, "", "Where in a block the header lies"),
    entry(1, "verify_pattern", Text, "", "What blocks are filled with and checked for"),
    entry(1, "verify_fatal", Boolean, "0", "End at the first block that is wrong"),
    entry(1, "verify_dump", Boolean, "0", "Keep what was found in a wrong block"),
    entry(1, "verify_async", Number, "0", "Threads that check what was read back"),
    entry(1, "verify_backlog", Text, "", "Read back after this many writes"),
    entry(1, "verify_backlog_batch", Number, "", "How many blocks are read back then"),
    entry(1, "experimental_verify", Boolean, "", "Draw the writes again to know what to check"),
    entry(1, "verify_state_load", Boolean, "", "Check as far as the saved state says"),
    entry(1, "verify_state_save", Boolean, "1", "Save how far writing came"),
    entry(1, "trim_percentage", Number, "0", "Share of written blocks to trim"),
    entry(2, "trim_verify_zero", Boolean, "1", "Trimmed blocks read as zeroes"),
    entry(2, "trim_backlog", Text, "", "Trim after this many writes"),
    entry(2, "trim_backlog_batch", Number, "", "How many blocks are trimmed then"),
    entry(0, "write_iolog", Text, "", "Write what is issued to this trace"),
    entry(0, "read_iolog", Text, "", "Replay this trace"),
    entry(1, "read_iolog_chunked", Boolean, "0", "Read the trace piece by piece"),
    entry(1, "replay_no_stall", Boolean, "0", "Replay without the waits of the trace"),
    entry(1, "replay_redirect", Text, "", "Replay everything on this file or device"),
    entry(1, "replay_scale", Number, "1", "Divide the offsets of the trace by this"),
    entry(1, "replay_align", Number, "", "Make the offsets of the trace multiples of this"),
    entry(1, "replay_time_scale", Number, "100", "Replay at this percentage of the trace's pace"),
    entry(1, "replay_skip", Text, "", "Kinds of operations to leave out of the trace"),
    entry(0, "merge_blktrace_file", Text, "", "Where merged traces go"),
    entry(0, "merge_blktrace_scalars", Numbers, "", "How the times of merged traces are scaled"),
    entry(0, "merge_blktrace_iters", Numbers, "", "How often each trace is merged"),
    entry(0, "exec_prerun", Text, "", "Command to run before the job"),
    entry(0, "exec_postrun", Text, "", "Command to run after the job"),
    entry(0, "ioscheduler", Text, "", "Scheduler of the device"),
    entry(0, "zonemode", Text, "none", "How zones are used"),
    entry(0, "zonesize", Text, "0", "Bytes of a zone that are used"),
    entry(0, "zonecapacity", Text, "0", "Bytes of a zone that can be written"),
    entry(0, "zonerange", Text, "0", "Bytes of a zone"),
    entry(0, "zoneskip", Size, "0", "Bytes to leave out between two zones"),
    entry(0, "read_beyond_wp", Boolean, "0", "Reads may go beyond a zone's write pointer"),
    entry(0, "max_open_zones", Number, "0", "Number of zones that are written at once"),
    entry(0, "job_max_open_zones", Number, "0", "Number of zones that one clone writes at once"),
    entry(0, "ignore_zone_limits", Boolean, "0", "Do not ask the device how many zones may be open"),
    entry(0, "zone_reset_threshold", Numbers, "", "Share of written bytes at which zones are reset"),
    entry(0, "zone_reset_frequency", Numbers, "", "How often a zone is reset"),
    entry(0, "lockmem", Text, "0", "Memory to lock before the start"),
    entry(0, "rwmixread", Number, "50", "Share of reads in a mix"),
    entry(0, "rwmixwrite", Number, "50", "Share of writes in a mix"),
    entry(0, "nice", Number, "0", "Nice value of the job"),
    entry(0, "prio", Number, "", "Level of the job's I/O priority"),
    entry(0, "prioclass", Number, "", "Class of the job's I/O priority"),
    entry(0, "thinktime", Number, "0", "Pause between operations"),
    entry(1, "thinktime_spin", Number, "0", "How much of a pause is spent busy"),
    entry(1, "thinktime_blocks", Number, "1", "Operations between two pauses"),
    entry(1, "thinktime_blocks_type", Text, "complete", "Whether issued or completed operations are counted"),
    entry(1, "thinktime_iotime", Number, "0", "Time between two pauses"),
    entry(0, "rate", Number, "", "Most bytes per second"),
    entry(1, "rate_min", Number, "", "Fewest bytes per second before the job fails"),
    entry(1, "rate_process", Text, "linear", "How arrivals follow one another at a rate"),
    entry(1, "rate_cycle", Number, "1000", "Time over which a rate must be kept"),
    entry(1, "rate_ignore_thinktime", Boolean, "", "A rate makes up for no pauses"),
    entry(0, "rate_iops", Number, "", "Most operations per second"),
    entry(1, "rate_iops_min", Number, "", "Fewest operations per second before the job fails"),
    entry(0, "max_latency", Number, "", "Longest time that an operation may take"),
    entry(0, "latency_target", Time, "", "Find the depth at which this latency is kept"),
    entry(0, "latency_window", Time, "", "How long each depth is tried"),
    entry(0, "latency_percentile", Numbers, "100", "Share of operations that have to keep the latency"),
    entry(0, "latency_run", Boolean, "0", "Go on with the depth that was found"),
    entry(0, "invalidate", Boolean, "1", "Drop the file from the page cache before the start"),
    entry(0, "sync", Text, "none", "Open files so that each write is stable when it returns"),
    entry(0, "write_hint", Text, "", "How long written data is expected to live"),
    entry(0, "create_serialize", Boolean, "1", "Lay files out one after another"),
    entry(0, "create_fsync", Boolean, "1", "Sync files that were laid out"),
    entry(0, "create_on_open", Boolean, "0", "Make files when they are opened"),
    entry(0, "create_only", Boolean, "0", "Lay files out and do nothing else"),
    entry(0, "allow_file_create", Boolean, "1", "Files that are not there may be made"),
    entry(0, "allow_mounted_write", Boolean, "0", "Mounted devices may be written"),
    entry(0, "pre_read", Boolean, "0", "Read files into the page cache before the start"),
    entry(0, "cpumask", Number, "", "CPUs of the job, as a mask"),
    entry(0, "cpus_allowed", Text, "", "CPUs of the job"),
    entry(1, "cpus_allowed_policy", Text, "", "Whether clones share CPUs or split them"),
    entry(0, "numa_cpu_nodes", Text, "", "Memory nodes whose CPUs the job has"),
    entry(0, "numa_mem_policy", Text, "", "Memory nodes from which buffers come"),
    entry(0, "end_fsync", Boolean, "0", "Send an fsync when the job ends"),
    entry(0, "fsync_on_close", Boolean, "0", "Send an fsync when a file is closed"),
    entry(0, "unlink", Boolean, "0", "Remove files when the job has ended"),
    entry(0, "unlink_each_loop", Boolean, "0", "Remove files after each loop"),
    entry(0, "exitall", Flag, "", "End all jobs when this one ends"),
    entry(0, "exit_what", Text, "group", "Which jobs end with this one"),
    entry(0, "exitall_on_error", Flag, "", "End all jobs when this one fails"),
    entry(0, "stonewall", Flag, "", "Wait until all earlier jobs have ended"),
    entry(0, "new_group", Flag, "", "Begin a new group of reports"),
    entry(0, "thread", Flag, "", "Make jobs threads instead of processes"),
    entry(0, "per_job_logs", Boolean, "1", "Give each clone log files of its own"),
    entry(0, "write_bw_log", Text, "", "Log bandwidth"),
    entry(1, "bwavgtime", Number, "500", "Time between two samples of bandwidth"),
    entry(0, "write_lat_log", Text, "", "Log latencies"),
    entry(0, "write_iops_log", Text, "", "Log operations per second"),
    entry(1, "iopsavgtime", Number, "500", "Time between two samples of operations per second"),
    entry(0, "log_entries", Number, "1024", "Rows to have room for at first"),
    entry(0, "log_avg_msec", Number, "0", "Length of the windows that logs average over"),
    entry(0, "log_hist_msec", Number, "0", "Time between two histograms of a log"),
    entry(0, "log_hist_coarseness", Number, "0", "How often the bins of histograms are halved"),
    entry(0, "write_hist_log", Text, "", "Log histograms of latencies"),
    entry(0, "log_max_value", Boolean, "0", "Which figure of a window is logged"),
    entry(0, "log_offset", Boolean, "0", "Log the offset too"),
    entry(0, "log_prio", Boolean, "0", "Log the priority too"),
    entry(0, "log_compression", Number, "", "Compress logs in pieces of this size"),
    entry(1, "log_compression_cpus", Text, "", "CPUs that compress logs"),
    entry(0, "log_store_compressed", Boolean, "", "Store logs as they were compressed"),
    entry(0, "log_unix_epoch", Boolean, "", "Times of logs count from 1970"),
    entry(0, "log_alternate_epoch", Boolean, "", "Times of logs count from another epoch"),
    entry(0, "log_alternate_epoch_clock_id", Number, "", "Clock that times of logs come from"),
    entry(0, "block_error_percentiles", Boolean, "0", "Report which blocks failed"),
    entry(0, "group_reporting", Flag, "", "Report the jobs of a group as one"),
    entry(0, "stats", Boolean, "1", "Report the job"),
    entry(0, "zero_buffers", Flag, "", "Write zeroes"),
    entry(0, "refill_buffers", Flag, "", "Draw new data for each write"),
    entry(0, "scramble_buffers", Boolean, "1", "Change a little in the data of each write"),
    entry(0, "buffer_pattern", Text, "", "Write this pattern"),
    entry(0, "buffer_compress_percentage", Number, "", "How much of written data can be compressed away"),
    entry(1, "buffer_compress_chunk", Number, "512", "Size of the pieces that can be compressed"),
    entry(0, "dedupe_percentage", Number, "", "Share of written blocks that were written before"),
    entry(1, "dedupe_mode", Text, "repeat", "Which block is written again"),
    entry(1, "dedupe_working_set_percentage", Number, "5", "Size of the set that is written again"),
    entry(0, "dedupe_global", Boolean, "0", "Blocks of other jobs count as written before"),
    entry(0, "clat_percentiles", Boolean, "1", "Report percentiles of completion latencies"),
    entry(0, "lat_percentiles", Boolean, "0", "Report percentiles of total latencies"),
    entry(0, "slat_percentiles", Boolean, "0", "Report percentiles of submission latencies"),
    entry(
        0,
        "percentile_list",
        Numbers,
        "1:5:10:20:30:40:50:60:70:80:90:95:99:99.5:99.9:99.95:99.99",
        "Which percentiles are reported",
    ),
    entry(0, "significant_figures", Number, "4", "Digits of numbers in reports"),
    entry(0, "disk_util", Boolean, "1", "Report what the devices did"),
    entry(0, "gtod_reduce", Boolean, "0", "Read the clock as seldom as possible"),
    entry(1, "disable_lat", Boolean, "0", "Leave out total latencies"),
    entry(1, "disable_clat", Boolean, "0", "Leave out completion latencies"),
    entry(1, "disable_slat", Boolean, "0", "Leave out submission latencies"),
    entry(1, "disable_bw_measurement", Boolean, "0", "Leave out samples of bandwidth"),
    entry(0, "gtod_cpu", Number, "", "CPU that reads the clock for all"),
    entry(0, "unified_rw_reporting", Text, "none", "Report all directions as one"),
    entry(0, "continue_on_error", Text, "none", "Which errors do not end the job"),
    entry(0, "error_dump", Boolean, "0", "Print each error that was ignored"),
    entry(0, "profile", Text, "", "Run one of fio's ready-made jobs"),
    entry(0, "cgroup", Text, "", "Control group of the job"),
    entry(1, "cgroup_nodelete", Boolean, "0", "Leave the control group when the job has ended"),
    entry(1, "cgroup_weight", Number, "", "Weight of the control group"),
    entry(0, "uid", Number, "", "User to run as"),
    entry(0, "gid", Number, "", "Group to run as"),
    entry(0, "kb_base", Text, "1024", "How many bytes a kilobyte has"),
    entry(0, "unit_base", Text, "", "Report in bits or in bytes"),
    entry(0, "hugepage-size", Number, "2097152", "Size of a huge page"),
    entry(0, "flow_id", Number, "0", "Which flow the job belongs to"),
    entry(1, "flow", Number, "0", "Weight of the job in its flow"),
    entry(1, "flow_sleep", Number, "0", "How long a job waits that is ahead of its flow"),
    entry(0, "steadystate", Text, "iops_slope:0.01%", "End when this figure is steady"),
    entry(1, "steadystate_duration", Time, "0", "Time over which it has to be steady"),
    entry(1, "steadystate_ramp_time", Time, "0", "Time before it is looked at"),
    entry(0, "cpuload", Number, "", "Share of a CPU to keep busy"),
    entry(1, "cpuchunks", Number, "50000", "How long a CPU is busy at a stretch"),
    entry(0, "cpumode", Text, "noop", "What a CPU is kept busy with"),
    entry(0, "exit_on_io_done", Boolean, "0", "End when all jobs that move data have ended"),
    entry(0, "thp", Number, "", "Map files with transparent huge pages"),
    entry(0, "hipri", Flag, "", "Wait for completions by polling"),
    entry(0, "hipri_percentage", Number, "100", "Share of operations that are waited for by polling"),
    entry(0, "uncached", Number, "", "Drop from the page cache what was read or written"),
    entry(0, "nowait", Boolean, "", "Fail where an operation would have to wait"),
    entry(0, "hostname", Text, "", "Host to send to or to listen at"),
    entry(0, "port", Number, "", "Port to send to or to listen at"),
    entry(0, "protocol", Text, "tcp", "What carries the data"),
    entry(0, "nodelay", Boolean, "", "Send small segments at once"),
    entry(0, "listen", Flag, "", "Wait for connections instead of making them"),
    entry(0, "pingpong", Flag, "", "Answer each block with another one"),
    entry(0, "interface", Text, "", "Address of the interface for multicast"),
    entry(0, "ttl", Number, "1", "How far multicast reaches"),
    entry(0, "window_size", Number, "", "Size of a socket's buffers"),
    entry(0, "mss", Number, "", "Largest segment"),
    entry(0, "stat_type", Text, "stat", "Which call asks about a file"),
    entry(0, "program", Text, "", "Program to run"),
    entry(0, "arguments", Text, "", "Arguments of the program"),
    entry(0, "grace_time", Number, "1", "How long a program may take to end when it is asked to"),
    entry(0, "std_redirect", Boolean, "1", "Write what a program prints to files"),
    entry(0, "cmdprio_percentage", Number, "", "Share of operations with a priority of their own"),
    entry(0, "cmdprio_class", Number, "", "Class of that priority"),
    entry(0, "cmdprio", Number, "", "Level of that priority"),
    entry(0, "cmdprio_bssplit", Text, "", "Priorities of operations by their size"),
    entry(0, "fixedbufs", Flag, "", "Register buffers with the kernel"),
    entry(0, "registerfiles", Flag, "", "Register files with the kernel"),
    entry(0, "sqthread_poll", Flag, "", "Let a thread of the kernel take submissions"),
    entry(0, "sqthread_poll_cpu", Number, "", "CPU of that thread"),
    entry(0, "nonvectored", Number, "-1", "Use operations with one buffer each"),
    entry(0, "force_async", Number, "", "Send every so many operations to a thread of the kernel"),
    entry(0, "cmd_type", Text, "nvme", "Kind of commands to pass through"),
    entry(0, "userspace_reap", Flag, "", "Take completions without a system call"),
    entry(
        0,
        "bs_is_seq_rand",
        Boolean,
        "",
        "The first size is for sequential operations, the second for random ones",
    ),
    entry(0, "softrandommap", Boolean, "", "Go without a random map where memory is short"),
    entry(0, "percentage_sequential", Number, "", "Share of operations that follow one another"),
    entry(0, "end_syncfs", Boolean, "", "Sync the whole filesystem when the job ends"),
    entry(0, "random_sequence_stride", Boolean, "", "Whether each time round a sequence begins further on"),
    entry(0, "recover_zbd_write_error", Boolean, "", "Go on after a failed write to a zone"),
    entry(0, "write_zone_remainder", Boolean, "", "Write what is left of a zone whatever the block size"),
    entry(0, "fdp", Boolean, "", "Send placement hints with writes"),
    entry(0, "dataplacement", Text, "", "Which placement hints are sent with writes"),
    entry(0, "plid_select", Text, "", "How the next placement is chosen"),
    entry(0, "plids", Text, "", "Which placements are used"),
    entry(0, "dp_scheme", Text, "", "File that says which placement belongs where"),
    entry(0, "rwmixcycle", Number, "", "How often the mix is changed"),
    entry(0, "priohint", Number, "", "Hint bits of the job's I/O priority"),
    entry(0, "thinkcycles", Number, "", "Cycles to keep the CPU busy before each operation"),
    entry(0, "ramp_size", Scaled, "", "Bytes that are moved before anything counts"),
    entry(0, "verifysort", Boolean, "", "Sort what is to be read back"),
    entry(0, "verifysort_nr", Number, "", "How many places are sorted before they are read back"),
    entry(0, "verify_pattern_interval", Number, "", "How often a pattern begins anew"),
    entry(0, "verify_async_cpus", Text, "", "CPUs of those threads"),
    entry(0, "verify_policy", Text, "", "Which writes are expected to be found"),
    entry(0, "verify_write_sequence", Boolean, "", "Check the number of each write"),
    entry(0, "verify_header_seed", Boolean, "", "Check the seed in each header"),
    entry(0, "steadystate_check_interval", Time, "", "How often it is looked at"),
    entry(0, "gpu_dev_id", Number, "", "Graphics device that has the buffers"),
    entry(0, "log_issue_time", Boolean, "", "Log the time of issue too"),
    entry(0, "job_start_clock_id", Number, "", "Clock that starts of jobs come from"),
    entry(0, "flow_watermark", Number, "", "How far jobs of a flow may be apart"),
    entry(0, "iomem_align", Number, "", "Alignment of buffers"),
    entry(0, "num_range", Number, "1", "Number of ranges in one trim"),
    entry(0, "comm", Text, "", "Name of the process"),
    entry(0, "filetype", Text, "", "What a path is taken for"),
    entry(0, "sprandom", Boolean, "", "Precondition an SSD by places in a special order"),
    entry(0, "spr_num_regions", Number, "100", "Regions of that preconditioning"),
    entry(0, "spr_op", Text, "", "Share of the SSD that is kept in reserve"),
    entry(0, "spr_cs", Text, "", "Memory of that preconditioning"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fio::options::rows;

    #[test]
    fn engines_are_listed_with_what_they_do() {
        let text = option("ioengine").expect("it is an option");
        assert!(text.contains("        valid values: sync       lseek, then read or write\n"), "{text}");
        assert!(text.contains("                    : psync      pread and pwrite\n"), "{text}");
        for (engine, _) in ENGINES {
            assert!(private_options(engine).is_some(), "{engine} is not here");
        }
    }

    #[test]
    fn each_word_is_described() {
        for entry in ENTRIES {
            let words = entry.row().words().iter();
            let missing: Vec<_> = words.filter(|word| words::said(entry.name, word).is_empty()).collect();
            assert!(missing.is_empty(), "{}: {missing:?}", entry.name);
        }
    }

    #[test]
    fn each_option_of_a_job_is_described_once() {
        let mut seen = std::collections::BTreeSet::new();
        for entry in ENTRIES {
            assert!(seen.insert(entry.name), "{} is there twice", entry.name);
            assert_eq!(entry.row().name, entry.name, "it goes by its own name");
            assert!(!entry.sentence.ends_with('.') && entry.sentence.len() < 80, "{}", entry.name);
        }
        // Those of engines and profiles that are not here have no help.
        let is_left_out = |row: &&OptionRow| {
            matches!(row.status, Status::Elsewhere(_)) || row.is_of_profile() || seen.contains(row.name)
        };
        let missing: Vec<&str> = rows().filter(|row| !is_left_out(row)).map(|row| row.name).collect();
        assert_eq!(missing, Vec::<&str>::new());
    }
}
