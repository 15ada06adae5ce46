//! What is wrong with a job on any host, and that a host that lacks things has no say in it.

use crate::host::read;

/// `fathom_planner::check` says these codes of `text`.
fn check(text: &str, expect: &[&str]) {
    let job = read(text);
    let found = fathom_planner::check(&job);
    let codes: Vec<&str> = found.all().iter().map(|d| d.code).collect();
    assert_eq!(codes, expect, "{text}\n{found:?}");
    for one in found.all() {
        let place = one.span.and_then(|span| job.sources.line_and_column(span));
        assert!(place.is_some(), "without a place: {one:?}");
    }
}

fn job(target: &str, workload: &str, rest: &str) -> String {
    format!(
        "[target.t]\npath = \"/nowhere/x\"\n{target}\n[workload.w]\n{workload}\n[stream.s]\n{rest}\n[stage.a]\ntime = \"60s\"\n"
    )
}

#[test]
fn contradictions_need_no_host() {
    let mib = "block_size = \"1MiB\"";
    check(&job("size = \"4KiB\"", mib, ""), &["plan.block-too-large"]);
    check(&job("size = \"4KiB\"\nkind = \"block\"", mib, ""), &["plan.block-too-large"]);
    check(&job("", mib, "size = \"4KiB\""), &["plan.block-too-large"]);
    check(&job("", "", "size = \"0%\""), &["plan.block-too-large"]);
    check(&job("size = 0", "", ""), &["target.size"]);
    check(&job("size = \"1MiB\"", "", "offset = \"2MiB\""), &["plan.past-end"]);
    check(&job("size = \"1MiB\"", "", "size = \"2MiB\""), &["plan.past-end"]);
    check(&job("size = \"1MiB\"", "", "workers = 1000"), &["plan.region-too-small"]);
    check(&job("size = \"4097PiB\"", "", ""), &["plan.region-too-large"]);
    check(&job("size = \"4097PiB\"", "", "size = \"4096PiB\""), &[]);
    check(&job("", mib, "bytes = \"4KiB\""), &["plan.quota"]);
    check(&job("", "", "engine = \"sim\""), &["plan.sim-target"]);
    check(&job("kind = \"null\"", "", "engine = \"psync\""), &["plan.engine-and-target"]);
    check(&job("files = 2", "", ""), &["target.files-and-path"]);
    check(&job("", "read = \"0%\"\nverify = \"crc32c\"", "engine = \"null\""), &["plan.verify-engine"]);
    check(&job("", "", "rate = \"50%\""), &["plan.no-maximum"]);
    check(&job("", "access = \"50% random\"\ncoverage = \"once-per-pass\"", ""), &["plan.coverage"]);
    check(&job("", "align = \"8KiB\"", ""), &["plan.no-effect"]);
    check(&(job("", "", "workload = \"w\"") + "[workload.v]\n"), &["plan.unused"]);
}

/// A size that nobody told is as large as any, and memory is not the job's business.
#[test]
fn what_takes_memory_or_begins_at_a_files_end_is_judged_where_both_are_known() {
    check(
        &job("", "access = \"random\"\ncoverage = \"map\"\nblock_size = [\"512 50%\", \"4KiB 50%\"]", ""),
        &[],
    );
    check(
        &job("", "access = \"random\"\nread = \"0%\"\nverify = \"crc32c\"\ncoverage = \"independent\"", ""),
        &[],
    );
    check(&job("size = \"16MiB\"", "read = \"0%\"", "append = true"), &[]);
}

#[test]
fn what_only_a_host_can_refuse_is_no_fault_of_the_job() {
    for (target, workload, stream) in [
        ("", "", ""),
        ("kind = \"block\"\nsize = \"900TiB\"", "trim = \"5%\"\nread = \"0%\"", ""),
        ("layout = \"must-exist\"", "block_size = 1000", "direct = true"),
        ("size = \"50%\"", "", "offset = \"100TiB\"\nsize = \"100TiB\"\ncpus = \"0-99\""),
        ("", "block_size = \"1GiB\"", "queue_depth = 4096\nengine = \"libaio\""),
    ] {
        check(&job(target, workload, stream), &[]);
    }
}

/// Each point of a sweep is looked at, and its faults stand where the sweep does.
#[test]
fn points_of_sweeps_are_checked() {
    let swept = |target: &str, sweep: &str| job(target, "", "") + "sweep = { " + sweep + " }\n";
    check(
        &swept("size = \"1MiB\"", "\"workload.block_size\" = [\"4KiB\", \"2MiB\"]"),
        &["plan.block-too-large"],
    );
    check(&swept("size = \"1KiB\"", "\"workload.block_size\" = [512, 1024]"), &[]);
    check(&swept("", "\"stream.time\" = [\"1m\", \"0s\"]"), &["job.time"]);
    check(
        &swept("", "\"workload.read\" = [\"50%\"], \"workload.trim\" = [\"50%\", \"60%\"]"),
        &["workload.shares"],
    );
    // What only a whole job tells is told of its points as well.
    check(&swept("", "\"stream.wait_for\" = [[\"s\"]]"), &["stream.wait-for"]);
    let written = job("", "read = \"0%\"\ncompressible = \"50%\"", "");
    check(
        &(written + "sweep = { \"workload.compress_chunk\" = [\"512B\", \"4GiB\"] }\n"),
        &["workload.compress-chunk"],
    );
}

#[test]
fn a_trace_is_judged_without_being_read() {
    let traced = |rest: &str| format!("[stream.s]\ntrace = \"nowhere\"\nqueue_depth = 32\n{rest}\n");
    check(&traced(""), &[]);
    check(&(traced("targets = [\"t\"]") + "[target.t]\npath = \"/nowhere/x\"\nsize = \"1MiB\"\n"), &[]);
    check(&traced("rate = \"1k/s\""), &["stream.trace-and-option"]);
    check(&traced("workers = 2"), &["stream.trace-workers"]);
    check(&traced("trace_align = \"3KiB\""), &["stream.trace-align"]);
    check(&traced("ramp = \"1s\""), &["trace.ramp"]);
    check(&traced("engine = \"filestat\""), &["stream.trace-and-option"]);
    check(&(job("", "", "trace_skip = \"sync\"")), &["stream.no-trace"]);
}

fn sim(target: &str, stream: &str, stage: &str) -> String {
    format!(
        "[target.t]\nkind = \"sim\"\nsize = \"1GiB\"\n{target}\n[workload.w]\n[stream.s]\n{stream}\n[stage.a]\n{stage}\n"
    )
}

/// Nothing passes in a time that is made of what operations take if they take none, and one that takes ages is waited for.
#[test]
fn simulated_devices_that_no_run_gets_to_the_end_of() {
    let sim = |rest: &str| sim(rest, "", "time = \"20s\"");
    for (rest, expect) in [
        ("service_time = \"constant 1ns\"", None),
        ("service_time = \"uniform 0s..1us\"", None),
        ("stalls = [\"1s for 1h\"]\nplaces = [\"0B..1MiB takes 1h\"]", None),
        ("service_time = \"constant 0s\"", Some("target.simulated-time")),
        ("service_time = \"exponential 0s\"", Some("target.simulated-time")),
        ("service_time = \"uniform 0s..0s\"", Some("target.simulated-time")),
        ("service_time = \"constant 61min\"", Some("target.simulated-time")),
        ("places = [\"0B..1MiB takes 0s\"]", Some("target.simulated-time")),
        ("places = [\"0B..1MiB takes 1000000h\"]", Some("target.simulated-time")),
        ("places = [\"1GiB..2GiB fails\"]", Some("target.place-past-end")),
        ("stalls = [\"1s for 1000000h\"]", Some("target.simulated-time")),
        ("stalls = [\"10s for 0s\"]", Some("target.stall")),
        ("path = \"/dev/sda\"", Some("plan.no-effect")),
        ("directory = \"/tmp\"", Some("plan.no-effect")),
        ("files = 3", Some("plan.no-effect")),
    ] {
        check(&sim(rest), expect.as_slice());
    }
    let flow = sim("").replace("[stream.s]", "[stream.s]\nflow = 1");
    check(&flow, &["plan.no-effect"]);
    check(&flow.replace("\"sim\"", "\"null\""), &[]);
}

/// They have nothing to do with what else is wrong.
#[test]
fn bounds_that_cannot_be_read_are_told_with_all_else() {
    let run = "[run]\nthresholds = [\"p99<\"]\nabort_when = [\"iops>>5\"]\ninterval = \"1ms\"\n";
    check(&(run.to_owned() + &job("", "", "")), &["job.interval", "plan.thresholds", "plan.abort-when"]);
}

/// Options that only say how another works, and that without it.
#[test]
fn what_has_no_effect_is_told() {
    let warns = |rest: &str, count: usize| check(&job("", "", rest), &vec!["plan.no-effect"; count]);
    let thinks = "think_every = 8\nthink_issued = true\nthink_after = \"1s\"\nthink_spin = \"1us\"\nthink_puts_off = true";
    warns(thinks, 5);
    warns(&format!("{thinks}\nthink_time = \"1ms\""), 0);
    let searches = "latency_window = \"5s\"\nlatency_share = \"99%\"\nlatency_adapts = true";
    warns(searches, 3);
    warns(&format!("{searches}\nlatency_target = \"0s\""), 4);
    warns(&format!("{searches}\nlatency_target = \"1ms\""), 0);
    let settles =
        "steady_window = \"5min\"\nsteady_after = \"5s\"\nsteady_every = \"2s\"\nsteady_group = true";
    warns(settles, 4);
    warns(&format!("{settles}\nsteady = \"iops:5%\"\ntime = \"1h\""), 0);
    warns("rate_min_window = \"5s\"\nflow_weight = 8\nflow_pause = \"1ms\"", 3);
    warns("rate_min = \"1/s\"\nrate_min_window = \"5s\"\nflow = 1\nflow_weight = 8\nflow_pause = \"1ms\"", 0);
    warns("offset_per_worker = \"1MiB\"\nworker_regions = \"same\"", 2);
    warns("workers = 2\nsize = \"1MiB\"\noffset_per_worker = \"1MiB\"\nworker_regions = \"same\"", 0);
    warns("passes_suffice = true\noffset = \"1MiB\"\noffset_align = \"1MiB\"", 2);
    warns("passes = 2\npasses_suffice = true", 1);
    warns("bytes = \"1MiB\"\npasses_suffice = true\noffset = \"10%\"\noffset_align = \"1MiB\"", 0);
    warns("steady = \"iops:5%\"\nsteady_window = \"1min\"\ntime = \"59s\"", 1);
    warns("steady = \"iops:5%\"\nsteady_window = \"1min\"\ntime = \"61s\"", 0);
    let ends = |hold: &str, count: usize| {
        let run = format!("[run]\nabort_when = [\"p99 > 1ms for {hold}\"]\n");
        check(&(run + &job("", "", "time = \"59s\"")), &vec!["plan.no-effect"; count]);
    };
    ends("1min", 1);
    ends("59s", 0);
    let of_workload = |lines: &str, count: usize| check(&job("", lines, ""), &vec!["plan.no-effect"; count]);
    of_workload("kind_order = \"even\"", 1);
    of_workload("kind_order = \"even\"\nread = \"50%\"", 0);
    let writes = "read = \"0%\"\naccess = \"random\"\nrepeats = \"last\"\nworking_set = \"1%\"\nrange_sync = \"write\"\nrun = \"again\"";
    of_workload(writes, 4);
    of_workload(&format!("{writes}\ndedupable = \"50%\"\nrange_sync_every = 8\nrun_length = 4"), 0);
    warns("cpus = []\ncpus_policy = \"split\"\ncpu_nodes = []\ncpu_chunk = \"10ms\"", 4);
    warns("queue_depth = 8\nrefill_at = 8\nbatch_submit = 9\nbatch_complete = 9\nbatch_complete_max = 9", 4);
    warns("queue_depth = 8\nrefill_at = 7\nbatch_submit = 8\nbatch_complete = 8\nbatch_complete_max = 8", 0);
}

#[test]
fn what_says_how_to_verify_replay_or_run_has_no_effect_without_that() {
    let of_workload = |lines: &str, count: usize| check(&job("", lines, ""), &vec!["plan.no-effect"; count]);
    let warns = |rest: &str, count: usize| check(&job("", "", rest), &vec!["plan.no-effect"; count]);
    let verifies = "read = \"0%\"\nverify_pattern = \"0xab\"\nverify_when = \"never\"\nverify_interval = \"512B\"\n\
        verify_backlog = 64\nverify_backlog_batch = 8\nverify_fatal = true\nverify_dump = true\nverify_seed = false";
    of_workload(verifies, 8);
    of_workload(&format!("{verifies}\nverify = \"crc32c\"").replace("verify_pattern = \"0xab\"\n", ""), 0);
    of_workload("read = \"0%\"\nverify = \"crc32c\"\nverify_backlog_batch = 8", 1);
    of_workload("read = \"0%\"\nverify = \"crc32c\"\nverify_trim_backlog = 8\nverify_trim_zero = false", 2);
    of_workload("fsync_at_end = true\nsyncfs_at_end = true\nrange_sync_every = 8\ncursor = \"per-kind\"", 4);
    of_workload("read = \"50%\"\nfsync_at_end = true\nsyncfs_at_end = true\ncursor = \"per-kind\"", 0);
    of_workload("block_size = \"513B..4000B\"", 1);
    of_workload("block_size = [\"4KiB..16KiB step 4KiB 50%\", \"8KiB 50%\"]", 0);
    warns("arguments = \"-l\"\nprogram_grace = \"2s\"\nprogram_files = false\ncommand_output = \"x\"", 4);
    warns("ramp_counts = true\nstart_delay_of_run = true\nhuge_page = \"1GiB\"", 3);
    warns("ramp = \"1s\"\nramp_counts = true\nstart_delay = \"1s\"\nstart_delay_of_run = true", 0);
    warns("priority_class = \"idle\"", 1);
    warns("engine = \"libaio\"\npriority_split = \"read 4KiB 50%\"\npriority_class = \"idle\"", 0);
}

#[test]
fn what_is_for_storage_has_no_effect_on_a_simulated_device() {
    let on_sim = |rest: &str| sim("", rest, "time = \"60s\"");
    check(&on_sim("direct = true\ndurability = \"data\"\nkeep_cache = true"), &["plan.no-effect"; 3]);
    check(&on_sim("append = true\nfresh_files = true\nuntil_full = true"), &["plan.no-effect"; 3]);
    check(&on_sim("vectored = false\npolled = \"0%\""), &["plan.no-effect"; 2]);
    check(&on_sim("vectored = true\npolled = \"100%\""), &["plan.engine-option"; 2]);
    check(&on_sim("queue_depth = 4\nrate = \"1k/s\""), &[]);
}

#[test]
fn what_begins_behind_the_end_is_told() {
    let stalls = "stalls = [\"1s for 500ms\", \"40s for 1s\"]";
    check(&sim(stalls, "", "time = \"30s\""), &["plan.no-effect"]);
    check(&sim(stalls, "", "time = \"30s\"\nramp = \"11s\""), &[]);
    // How long that takes, nobody knows.
    check(&sim(stalls, "operations = 5", ""), &[]);
    let course = |time: &str| {
        let pieces = "rate_course = [\"1k/s for 10s\", \"to 2k/s over 10s\", \"idle for 10s\"]";
        job("", "", &format!("{pieces}\ntime = \"{time}\""))
    };
    check(&course("20s"), &["plan.no-effect"]);
    check(&course("21s"), &[]);
}

#[test]
fn batches_contradict_each_other_where_more_is_waited_for_than_taken() {
    let of =
        |most: u32| job("", "", &format!("queue_depth = 8\nbatch_complete = 4\nbatch_complete_max = {most}"));
    check(&of(3), &["stream.batch-complete"]);
    check(&of(4), &[]);
}

#[test]
fn a_rate_that_is_to_be_kept_is_not_above_the_one_that_is_offered() {
    let of = |offered: &str, least: &str| job("", "", &format!("rate = \"{offered}\"\nrate_min = {least}"));
    check(&of("1k/s", "\"2k/s\""), &["stream.rate-min"]);
    check(&of("1MB/s", "[\"read 2MB/s\"]"), &["stream.rate-min"]);
    check(&of("1k/s", "\"1k/s\""), &[]);
    check(&of("1k/s", "\"2MB/s\""), &[]);
}

#[test]
fn a_stage_names_a_stream_once() {
    let text = job("", "", "") + "streams = [\"s\", \"s\"]\n";
    check(&text, &["job.duplicate-name"]);
}
