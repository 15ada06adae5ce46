//! What a fio job is set to, with fio's defaults: the typed state that option rows write and lowering reads.

use super::demands::Demands;
use super::extras::{LogColumns, LogValue, Measures, ReportUnits, Unified};
use super::values::{Size, SplitEntry, Triple};
use fathom_model::{MemoryNodes, Span};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The settings of one job. A job starts as a copy of the defaults that `[global]` sections made.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// Where each option was given last, by canonical name.
    pub(crate) spans: BTreeMap<&'static str, Span>,
    /// Values that count zones, and where, by canonical name: what they come to is known when the job is complete.
    pub(crate) zones: BTreeMap<&'static str, (u64, Span)>,
    /// Job control.
    pub(crate) control: Control,
    /// Files and devices.
    pub(crate) files: Files,
    /// Operations, sizes, places.
    pub(crate) operations: Operations,
    /// Engine, depth, pace.
    pub(crate) engine: Engine,
    /// What is written, and when it is made stable.
    pub(crate) content: Content,
    /// What has to be kept.
    pub(crate) demands: Demands,
    /// What is read back and checked.
    pub(crate) verify: Verification,
    /// What is replayed.
    pub(crate) trace: Trace,
    /// What is reported.
    pub(crate) report: Report,
    /// What `k` is: 1024 or 1000.
    pub(crate) kb_base: u64,
}

/// Job control.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is one of fio's own switches")]
pub(crate) struct Control {
    /// Overrides the section's name.
    pub(crate) name: Option<String>,
    /// Free text.
    pub(crate) description: Option<String>,
    /// Waits for all before it.
    pub(crate) stonewall: bool,
    /// Waits for all clones of the job of this name.
    pub(crate) wait_for: Option<String>,
    /// Starts a report group.
    pub(crate) new_group: bool,
    /// Clones are threads.
    pub(crate) thread: bool,
    /// Clones.
    pub(crate) numjobs: u64,
    /// Cap in microseconds.
    pub(crate) runtime: Option<u64>,
    /// Runs for `runtime` however small the size.
    pub(crate) time_based: bool,
    /// Microseconds that do not count.
    pub(crate) ramp_time: u64,
    /// Bytes that do not count.
    pub(crate) ramp_size: u64,
    /// Microseconds before the job starts; lowest and highest.
    pub(crate) startdelay: (u64, u64),
    /// Passes.
    pub(crate) loops: u64,
    /// Operations per pass; 0: no bound.
    pub(crate) number_ios: u64,
    /// Whether the job goes on after errors of reads, writes (trims and syncs too) and verification.
    pub(crate) continues: [bool; 3],
    /// Which errors those are; fio's own when none is given.
    pub(crate) ignored: [Vec<i32>; 3],
    /// The first job to end ends others.
    pub(crate) exit_all: bool,
    /// The same, when it ends for an error.
    pub(crate) exit_all_on_error: bool,
    /// Which others, by word.
    pub(crate) exit_what: String,
    /// Commands before and after.
    pub(crate) commands: [Option<String>; 2],
    /// CPUs; empty: all.
    pub(crate) cpus: Vec<u32>,
    /// NUMA nodes of the CPUs; empty: all.
    pub(crate) cpu_nodes: Vec<u32>,
    /// And of the memory.
    pub(crate) memory_nodes: MemoryNodes,
    /// Each clone gets one of `cpus`.
    pub(crate) splits_cpus: bool,
}

/// Files and devices.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is one of fio's own switches")]
pub(crate) struct Files {
    /// Full names, in order given.
    pub(crate) names: Arc<Vec<String>>,
    /// Number of files.
    pub(crate) count: u64,
    /// Directories, in turn.
    pub(crate) directories: Vec<String>,
    /// Name pattern.
    pub(crate) format: String,
    /// Order of service: word and what followed it.
    pub(crate) service: (String, Option<String>),
    /// Size of each, lowest and highest.
    pub(crate) filesize: Option<(u64, u64)>,
    /// Whether files are written before the run.
    pub(crate) overwrite: bool,
    /// How write-only files are allocated, by word.
    pub(crate) fallocate: String,
    /// No layout; files appear at open.
    pub(crate) create_on_open: bool,
    /// Whether missing files are made.
    pub(crate) allow_create: bool,
    /// Removed at the end.
    pub(crate) unlink: bool,
    /// Cached pages are dropped at open.
    pub(crate) invalidate: bool,
    /// Folders whose files are used.
    pub(crate) folders: Vec<String>,
    /// Most of these files, where `nrfiles` stands behind the folders: before them it says nothing.
    pub(crate) most: Option<u64>,
    /// Files in service at once; 0: all.
    pub(crate) open_at_once: u64,
    /// `none`, `exclusive`, `readwrite`.
    pub(crate) lock: String,
    /// The region begins at each file's end.
    pub(crate) append: bool,
    /// A full filesystem ends the job.
    pub(crate) fill: bool,
    /// `0`, `1`, `random`, `sequential`, `noreuse`.
    pub(crate) advice: String,
    /// Files are read once first.
    pub(crate) pre_read: bool,
    /// Removed after each pass.
    pub(crate) unlink_each_loop: bool,
    /// Laid out, and nothing more.
    pub(crate) create_only: bool,
    /// `none`, `strided`, `zbd`; absent: strided when there is a zone size.
    pub(crate) zone_mode: Option<String>,
    /// Bytes of a zone: moved in it, in it, behind it; 0: not given.
    pub(crate) zone: [u64; 3],
}

/// Operations, sizes, places.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is one of fio's own switches")]
pub(crate) struct Operations {
    /// `randrw` and its kin.
    pub(crate) rw: String,
    /// What followed `rw=…:`.
    pub(crate) postfix: Option<String>,
    /// Percent of reads in a mix.
    pub(crate) mix_read: u64,
    /// Range over all files of one clone.
    pub(crate) size: Option<Size>,
    /// Amount moved when it differs from `size`.
    pub(crate) io_size: Option<Size>,
    /// First byte.
    pub(crate) offset: Size,
    /// Options of which a number has taken the place of this percentage.
    pub(crate) replaced_percents: Vec<(&'static str, u8)>,
    /// Added per clone.
    pub(crate) offset_increment: Size,
    /// Smallest and largest size per direction (read, write, trim).
    pub(crate) block_sizes: [(u64, u64); 3],
    /// Whether they are those of a `bsrange`, beside which `bs` has no effect.
    pub(crate) has_block_range: bool,
    /// Split per direction; empty: none.
    pub(crate) splits: [Vec<SplitEntry>; 3],
    /// Alignment of random places per direction; 0: the block size.
    pub(crate) align: [u64; 3],
    /// Sizes of reads are for sequential, those of writes for random operations.
    pub(crate) sizes_by_access: bool,
    /// Runs go to the same place again.
    pub(crate) repeats_place: bool,
    /// Offsets in percent are multiples of this; 0: of the smallest block.
    pub(crate) offset_align: u64,
    /// Ranges of one trim.
    pub(crate) ranges: u64,
    /// Any byte length of a range.
    pub(crate) unaligned: bool,
    /// Blocks may repeat.
    pub(crate) no_random_map: bool,
    /// Blocks are numbered by a shift register, which comes to each of them once whether there is a map or not.
    pub(crate) lfsr: bool,
    /// Same seed each run.
    pub(crate) rand_repeat: bool,
    /// Whether all numbers are those of every other run, whatever the seed says.
    pub(crate) all_rand_repeat: bool,
    /// Seed, when given.
    pub(crate) seed: Option<u64>,
    /// `zipf:1.2` and its kin.
    pub(crate) distribution: String,
    /// Whether each time round a sequence of places begins behind the last one.
    pub(crate) sequence_advances: bool,
    /// Percent of random operations per direction.
    pub(crate) percentage_random: [u64; 3],
}

/// Engine, depth, pace.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is one of fio's own switches")]
pub(crate) struct Engine {
    /// Name.
    pub(crate) name: String,
    /// Page cache passed by.
    pub(crate) direct: bool,
    /// `none`, `sync`, `dsync`.
    pub(crate) sync: String,
    /// Queue depth.
    pub(crate) depth: u64,
    /// Submitted at once, when given.
    pub(crate) batch: Option<u64>,
    /// Reaped at least.
    pub(crate) complete_min: u64,
    /// Registered buffers.
    pub(crate) fixed_buffers: bool,
    /// Registered files.
    pub(crate) registered_files: bool,
    /// Completions are polled for.
    pub(crate) polled: bool,
    /// Percent of the operations for which they are.
    pub(crate) polled_percent: u64,
    /// What would wait fails.
    pub(crate) nowait: bool,
    /// Pages leave the cache after each operation.
    pub(crate) uncached: bool,
    /// A kernel thread submits.
    pub(crate) submit_thread: bool,
    /// Where it runs, when that is said.
    pub(crate) submit_thread_cpu: Option<u64>,
    /// Plain reads and writes, not vectored ones.
    pub(crate) nonvectored: bool,
    /// One of this many goes to the kernel's threads; 0: none.
    pub(crate) force_async: u64,
    /// Percent of its time that a job keeps its CPU busy; 0: not said.
    pub(crate) cpu_load: u64,
    /// Microseconds at a stretch.
    pub(crate) cpu_chunk: u64,
    /// With what, by word; empty: with nothing.
    pub(crate) cpu_mode: String,
    /// Whether it ends with the last job that has to do with storage.
    pub(crate) ends_with_io: bool,
    /// Which call asks about a file; empty: the usual one.
    pub(crate) stat_type: String,
    /// Completions are taken without a system call.
    pub(crate) userspace_reap: bool,
    /// Percent of the operations with a priority of their own, per direction.
    pub(crate) priority_percent: Triple<u64>,
    /// Its class, when given.
    pub(crate) priority_class: u64,
    /// Its level.
    pub(crate) priority_level: u64,
    /// Percent of the operations of one size with a priority of their own, of reads and of writes.
    pub(crate) priority_split: [Vec<PriorityEntry>; 2],
    /// Where the other end of a connection is; empty: not said.
    pub(crate) host: String,
    /// Its port; 0: not said.
    pub(crate) port: u64,
    /// How it is reached, by word.
    pub(crate) protocol: String,
    /// This end waits.
    pub(crate) listens: bool,
    /// Operations are answered.
    pub(crate) ping_pong: bool,
    /// TCP sends at once.
    pub(crate) no_delay: bool,
    /// A program that is run; empty: not said.
    pub(crate) program: String,
    /// Its arguments.
    pub(crate) arguments: String,
    /// Seconds between asking it to end and making it.
    pub(crate) grace: u64,
    /// What it prints goes to files.
    pub(crate) program_files: bool,
    /// Writes are never torn.
    pub(crate) untorn: bool,
    /// Bytes per second per direction; 0: no bound.
    pub(crate) rate: Triple<u64>,
    /// Operations per second per direction; 0: no bound.
    pub(crate) rate_iops: Triple<u64>,
    /// Poisson arrivals.
    pub(crate) poisson: bool,
    /// Pause in microseconds.
    pub(crate) thinktime: u64,
    /// fio submits from threads beside the one that plans.
    pub(crate) offloads: bool,
    /// Operations between pauses.
    pub(crate) think_blocks: u64,
    /// Where buffers lie: word, and the file behind it.
    pub(crate) memory: (String, Option<String>),
    /// Distance of the first buffer from a page's start.
    pub(crate) memory_shift: u64,
    /// Size of a huge page; 0: 2 MiB.
    pub(crate) huge_page: u64,
    /// Bytes held locked.
    pub(crate) locked: u64,
}

impl Settings {
    /// Forgets what options said that belong to engines alone: another engine begins with its own defaults, as with fio.
    pub(crate) fn forget_private(&mut self, is_private: impl Fn(&str) -> bool) {
        self.spans.retain(|name, _| !is_private(name));
        let kept = self.engine.clone();
        self.engine = Engine {
            name: kept.name,
            sync: kept.sync,
            memory: kept.memory,
            direct: kept.direct,
            depth: kept.depth,
            batch: kept.batch,
            complete_min: kept.complete_min,
            untorn: kept.untorn,
            rate: kept.rate,
            rate_iops: kept.rate_iops,
            poisson: kept.poisson,
            thinktime: kept.thinktime,
            offloads: kept.offloads,
            think_blocks: kept.think_blocks,
            memory_shift: kept.memory_shift,
            huge_page: kept.huge_page,
            locked: kept.locked,
            ..Self::default().engine
        };
    }
}

/// A switch that other options may turn over as well.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Switch {
    /// As it stands.
    pub(crate) on: bool,
    /// Somebody wrote it, wherever others turned it to.
    pub(crate) is_given: bool,
}

impl Switch {
    pub(crate) const fn unless_given(on: bool) -> Self {
        Self { on, is_given: false }
    }

    pub(crate) const fn given(on: bool) -> Self {
        Self { on, is_given: true }
    }
}

/// What is written, and when it is made stable.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is one of fio's own switches")]
pub(crate) struct Content {
    /// Zeroes.
    pub(crate) zero: Switch,
    /// New content per write.
    pub(crate) refill: Switch,
    /// A few bytes changed per write.
    pub(crate) scramble: Switch,
    /// A compressible or repeated share was given, of nothing even.
    pub(crate) is_mixed: bool,
    /// Pattern as written; empty: none.
    pub(crate) pattern: String,
    /// Compressible percent.
    pub(crate) compress: u64,
    /// Piece in which that holds.
    pub(crate) chunk: u64,
    /// Repeated percent.
    pub(crate) dedupe: u64,
    /// Repeats come from a set of this percent of the writes; else they repeat the write before.
    pub(crate) working_set: (bool, u64),
    /// Every so many writes; 0: never.
    pub(crate) fsync: u64,
    /// Every so many writes; 0: never.
    pub(crate) fdatasync: u64,
    /// `sync_file_range`: flags (wait before, write, wait after) and every so many writes; 0: never.
    pub(crate) range_sync: ([bool; 3], u64),
    /// The filesystem, at the end.
    pub(crate) end_syncfs: bool,
    /// At the end of each pass.
    pub(crate) end_fsync: bool,
    /// Before each close.
    pub(crate) fsync_on_close: bool,
}

/// What is read back and checked.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is one of fio's own switches")]
pub(crate) struct Verification {
    /// By what, as fio calls it; `0`: nothing.
    pub(crate) kind: String,
    /// Bytes instead of random ones.
    pub(crate) pattern: Option<String>,
    /// Read back after each pass.
    pub(crate) after_pass: bool,
    /// Distance of headers; 0: the block.
    pub(crate) interval: u64,
    /// Place of the header in its interval.
    pub(crate) header_at: u64,
    /// Bytes after which the pattern begins anew; 0: never.
    pub(crate) pattern_interval: u64,
    /// Read back after this many writes; 0: not before the pass ends.
    pub(crate) backlog: u64,
    /// Writes are drawn again to be read back, and none is kept in mind for a backlog.
    pub(crate) experimental: bool,
    /// Read back at once; 0: the backlog.
    pub(crate) backlog_batch: u64,
    /// The first mismatch ends the job.
    pub(crate) fatal: bool,
    /// Mismatches are written to files.
    pub(crate) dump: bool,
    /// Numbers of writes are checked.
    pub(crate) sequence: bool,
    /// Seeds are checked.
    pub(crate) seed: bool,
    /// Nothing is written.
    pub(crate) only: bool,
    /// A state is written when the job ends.
    pub(crate) saves_state: bool,
    /// What the state of an earlier run says was written is checked, and no more.
    pub(crate) loads_state: bool,
    /// Percentage of written blocks that are trimmed again.
    pub(crate) trim: u64,
    /// Written blocks between two batches of trims; 0: nothing is trimmed.
    pub(crate) trim_backlog: u64,
    /// Trims at once; 0: the backlog.
    pub(crate) trim_batch: u64,
    /// What was trimmed has to be zero.
    pub(crate) trim_zero: bool,
}

/// What is replayed.
#[derive(Debug, Clone)]
pub(crate) struct Trace {
    /// Its files, one for each clone in turn; none: no trace is replayed.
    pub(crate) files: Vec<String>,
    /// Its times are not waited for.
    pub(crate) no_stall: bool,
    /// Takes all operations, whatever file they are of.
    pub(crate) redirect: Option<String>,
    /// Offsets are divided by this.
    pub(crate) scale: u64,
    /// Offsets are rounded down to multiples of this.
    pub(crate) align: u64,
    /// Speed of its time.
    pub(crate) percent: u64,
    /// Reads, writes, trims, syncs that are left out.
    pub(crate) skip: [bool; 4],
}

/// What is reported.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is one of fio's own switches")]
pub(crate) struct Report {
    /// Whether the job has a result at all.
    pub(crate) stats: bool,
    /// One result for all jobs of a group.
    pub(crate) group_reporting: bool,
    /// Percentiles of the completion latency.
    pub(crate) clat_percentiles: bool,
    /// Percentiles of the latency.
    pub(crate) lat_percentiles: bool,
    /// Percentiles of the submission latency.
    pub(crate) slat_percentiles: bool,
    /// Which.
    pub(crate) percentiles: Vec<f64>,
    /// Digits behind the point of their names.
    pub(crate) percentile_digits: usize,
    /// Which directions are put together.
    pub(crate) unified: Unified,
    /// What is shown of latencies and rates.
    pub(crate) measures: Measures,
    /// How bandwidth is written.
    pub(crate) units: ReportUnits,
    /// Whether the devices' counters are shown.
    pub(crate) disk_util: bool,
    /// Milliseconds between two samples of bandwidth and of operations per second, where given.
    pub(crate) sample_ms: [Option<u64>; 2],
    /// File prefixes of bw, lat, iops and hist logs; empty text: the job's name.
    pub(crate) logs: [Option<String>; 4],
    /// The file that operations are written to as they are issued.
    pub(crate) iolog: Option<String>,
    /// Log files carry the job's number.
    pub(crate) per_job_logs: bool,
    pub(crate) log_stored: bool,
    /// Which figure of a window the logs say.
    pub(crate) log_value: LogValue,
    /// What else their rows say.
    pub(crate) log_columns: LogColumns,
    /// Averaging window in ms; 0: every operation.
    pub(crate) log_avg_ms: u64,
    /// Histogram interval in ms.
    pub(crate) log_hist_ms: u64,
    /// Bins are halved this often.
    pub(crate) hist_coarseness: u64,
}

/// File names of one job, at most: a line holds some thousands at most, and each clone carries them.
const NAMES_MAX: usize = 4096;

impl Files {
    /// Adds names to those that are there.
    pub(crate) fn add(&mut self, new: Vec<String>) -> Result<(), String> {
        if new.is_empty() {
            return Err("it names no file".to_owned());
        }
        if self.names.len() + new.len() > NAMES_MAX {
            return Err(format!("more than {NAMES_MAX} names are given"));
        }
        if self.names.is_empty() {
            self.count = 0;
        }
        self.count += new.len() as u64;
        Arc::make_mut(&mut self.names).extend(new);
        Ok(())
    }
}

impl Settings {
    /// Where an option was given, else `otherwise`.
    pub(crate) fn span(&self, name: &str, otherwise: Span) -> Span {
        self.spans.get(name).copied().unwrap_or(otherwise)
    }

    /// Whether an option was given.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.spans.contains_key(name)
    }
}

impl Report {
    /// Milliseconds between two samples of bandwidth and of operations per second: as given, else as long as the windows of
    /// their log, else half a second. As fio, whose logs of rates have a row for each.
    pub(crate) fn sampled_ms(&self) -> [u64; 2] {
        let [bandwidth, _, iops, _] = &self.logs;
        let of = |given: Option<u64>, log: &Option<String>| {
            let windows = Some(self.log_avg_ms).filter(|ms| log.is_some() && *ms > 0);
            given.or(windows).unwrap_or(500)
        };
        [of(self.sample_ms[0], bandwidth), of(self.sample_ms[1], iops)]
    }

    /// Windows of the logs of bandwidth and of operations per second, in milliseconds; 0: each operation has a row.
    pub(crate) fn rate_windows_ms(&self) -> [u64; 2] {
        if self.log_avg_ms == 0 { [0; 2] } else { self.sampled_ms() }
    }
}

/// Percentiles that fio reports unless told otherwise.
pub(crate) const PERCENTILES: [f64; 17] =
    [1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99];

/// One entry of `cmdprio_bssplit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PriorityEntry {
    /// Size of the operations.
    pub(crate) bytes: u64,
    /// Percent of them; 1 to 100.
    pub(crate) percent: u64,
    /// Class and level, where they are not those of `cmdprio_class` and `cmdprio`.
    pub(crate) own: Option<(u64, u64)>,
}

impl Default for Settings {
    #[expect(clippy::too_many_lines, reason = "one table of fio's defaults")]
    fn default() -> Self {
        Self {
            spans: BTreeMap::new(),
            zones: BTreeMap::new(),
            control: Control {
                name: None,
                description: None,
                stonewall: false,
                wait_for: None,
                new_group: false,
                thread: false,
                numjobs: 1,
                runtime: None,
                time_based: false,
                ramp_time: 0,
                ramp_size: 0,
                startdelay: (0, 0),
                loops: 1,
                number_ios: 0,
                continues: [false; 3],
                ignored: [const { Vec::new() }; 3],
                exit_all: false,
                exit_all_on_error: false,
                exit_what: "group".to_owned(),
                commands: [const { None }; 2],
                cpus: Vec::new(),
                cpu_nodes: Vec::new(),
                memory_nodes: MemoryNodes::Usual,
                splits_cpus: false,
            },
            files: Files {
                names: Arc::default(),
                count: 1,
                directories: Vec::new(),
                format: "$jobname.$jobnum.$filenum".to_owned(),
                service: ("roundrobin".to_owned(), None),
                filesize: None,
                overwrite: false,
                fallocate: "native".to_owned(),
                create_on_open: false,
                allow_create: true,
                unlink: false,
                invalidate: true,
                folders: Vec::new(),
                most: None,
                open_at_once: 0,
                lock: "none".to_owned(),
                append: false,
                fill: false,
                advice: "1".to_owned(),
                pre_read: false,
                unlink_each_loop: false,
                create_only: false,
                zone_mode: None,
                zone: [0; 3],
            },
            operations: Operations {
                rw: "read".to_owned(),
                postfix: None,
                mix_read: 50,
                size: None,
                io_size: None,
                offset: Size::Bytes(0),
                replaced_percents: Vec::new(),
                offset_increment: Size::Bytes(0),
                block_sizes: [(4096, 4096); 3],
                has_block_range: false,
                splits: [Vec::new(), Vec::new(), Vec::new()],
                align: [0; 3],
                sizes_by_access: false,
                repeats_place: false,
                offset_align: 0,
                ranges: 1,
                unaligned: false,
                no_random_map: false,
                lfsr: false,
                rand_repeat: true,
                all_rand_repeat: false,
                seed: None,
                distribution: "random".to_owned(),
                sequence_advances: false,
                percentage_random: [100; 3],
            },
            engine: Engine {
                name: "psync".to_owned(),
                direct: false,
                sync: "none".to_owned(),
                depth: 1,
                batch: None,
                complete_min: 1,
                fixed_buffers: false,
                registered_files: false,
                polled: false,
                polled_percent: 100,
                nowait: false,
                uncached: false,
                submit_thread: false,
                submit_thread_cpu: None,
                nonvectored: true,
                force_async: 0,
                cpu_load: 0,
                cpu_chunk: 50_000,
                cpu_mode: String::new(),
                ends_with_io: false,
                stat_type: String::new(),
                userspace_reap: false,
                priority_percent: [None; 3],
                priority_class: 1,
                priority_level: 0,
                priority_split: [Vec::new(), Vec::new()],
                host: String::new(),
                port: 0,
                protocol: "tcp".to_owned(),
                listens: false,
                ping_pong: false,
                no_delay: false,
                program: String::new(),
                arguments: String::new(),
                grace: 1,
                program_files: true,
                untorn: false,
                rate: [None; 3],
                rate_iops: [None; 3],
                poisson: false,
                thinktime: 0,
                offloads: false,
                think_blocks: 1,
                memory: ("malloc".to_owned(), None),
                memory_shift: 0,
                huge_page: 0,
                locked: 0,
            },
            content: Content {
                zero: Switch::unless_given(false),
                refill: Switch::unless_given(false),
                scramble: Switch::unless_given(true),
                is_mixed: false,
                pattern: String::new(),
                compress: 0,
                chunk: 512,
                dedupe: 0,
                working_set: (false, 5),
                range_sync: ([false; 3], 0),
                end_syncfs: false,
                fsync: 0,
                fdatasync: 0,
                end_fsync: false,
                fsync_on_close: false,
            },
            demands: Demands::default(),
            verify: Verification::default(),
            trace: Trace::default(),
            report: Report::default(),
            kb_base: 1024,
        }
    }
}

impl Default for Verification {
    fn default() -> Self {
        Self {
            kind: "0".to_owned(),
            pattern: None,
            after_pass: true,
            interval: 0,
            header_at: 0,
            pattern_interval: 0,
            backlog: 0,
            experimental: false,
            backlog_batch: 0,
            fatal: false,
            dump: false,
            sequence: true,
            seed: true,
            only: false,
            saves_state: true,
            loads_state: false,
            trim: 0,
            trim_backlog: 0,
            trim_batch: 0,
            trim_zero: true,
        }
    }
}

impl Default for Trace {
    fn default() -> Self {
        Self {
            files: Vec::new(),
            no_stall: false,
            redirect: None,
            scale: 1,
            align: 1,
            percent: 100,
            skip: [false; 4],
        }
    }
}

impl Default for Report {
    fn default() -> Self {
        Self {
            stats: true,
            group_reporting: false,
            clat_percentiles: true,
            lat_percentiles: false,
            slat_percentiles: false,
            percentiles: PERCENTILES.to_vec(),
            percentile_digits: 2,
            unified: Unified::default(),
            measures: Measures::default(),
            units: ReportUnits::default(),
            disk_util: true,
            sample_ms: [None; 2],
            logs: [const { None }; 4],
            iolog: None,
            per_job_logs: true,
            log_stored: false,
            log_value: LogValue::default(),
            log_columns: LogColumns::default(),
            log_avg_ms: 0,
            log_hist_ms: 0,
            hist_coarseness: 0,
        }
    }
}
