//! fio jobs as a whole: what they become in the model, what is said about them, and that no text is too bad.

use fathom_frontend::fio::{Reading, Surroundings, read, read_all};
use fathom_frontend::{DIAGNOSTICS_MAX, native};
use fathom_model::{Diagnostics, Level, Sources};
use proptest::prelude::*;

fn surroundings() -> Surroundings<'static> {
    Surroundings { cpus: 4, length: &|path| (path == "there").then_some(1 << 30), ..Surroundings::empty() }
}

/// Diagnostics as lines `level code line:column message / help`.
fn told(sources: &Sources, diagnostics: &Diagnostics) -> String {
    let line = |d: &fathom_model::Diagnostic| {
        let level = if d.level == Level::Error { "error" } else { "warning" };
        let place = d.span.and_then(|span| sources.line_and_column(span));
        let place = place.map_or_else(|| "-".to_owned(), |(line, column)| format!("{line}:{column}"));
        format!("{level} {} {place} {} / {}\n", d.code, d.message, d.help)
    };
    diagnostics.all().iter().map(line).collect()
}

/// What a job file becomes: its diagnostics, then the job as a native one.
fn shown(text: &str) -> String {
    let Reading { job, diagnostics, .. } = read("job.fio", text, &surroundings());
    format!("{}{}", told(&job.sources, &diagnostics), native::print(&job))
}

/// The job becomes these lines of a native one, and these codes are told.
fn check(text: &str, lines: &[&str], codes: &[&str]) {
    let Reading { job, diagnostics, .. } = read("job.fio", text, &surroundings());
    let printed = native::print(&job);
    for line in lines {
        assert!(printed.lines().any(|printed| printed == *line), "no {line} in\n{printed}\nfrom\n{text}");
    }
    let told: Vec<&str> = diagnostics.all().iter().map(|d| d.code).collect();
    assert_eq!(told, codes, "{text}\n{diagnostics:#?}");
    let (_, again) = native::read("again.toml", &printed);
    assert!(again.is_empty(), "{again:?}\n{printed}");
}

/// As native jobs, sections whose names are those of native options come back as they were, and nothing is wrong with them.
#[test]
fn jobs_called_like_native_options_are_converted() {
    for row in fathom_model::rows() {
        let name = row.name();
        let text = format!("[{name}]\nrw=randrw\nsize=1m\nfilename=h\n[other]\nsize=1m\nfilename=h\n");
        let Reading { job, diagnostics, .. } = read("job.fio", &text, &surroundings());
        assert!(!diagnostics.has_errors(), "{diagnostics:?}");
        let printed = native::print(&job);
        let (again, mut found) = native::read("again.toml", &printed);
        found.extend(fathom_model::check(&again));
        assert!(found.is_empty(), "{found:?}\n{printed}");
        assert_eq!(native::print(&again), printed);
        assert!(again.streams.iter().any(|stream| stream.name == name), "{printed}");
    }
}

/// Options of one job, lines of the native job they become, and codes of what is told.
const CASES: &[(&str, &[&str], &[&str])] = &[
    (
        "size=1g",
        &["size = \"1GiB\"", "passes = 1", "engine = \"psync\"", "direct = false", "seed = 137"],
        &[],
    ),
    ("size=1m\nbssplit= 8k/100", &["block_size = \"8KiB\""], &[]),
    ("size=1m\nbssplit=4k/50: 8k/50", &[], &["fio.misread"]),
    ("size=1m\nss=iops_slope:1%\nss_dur=1", &[], &["fio.bad-value"]),
    ("size=1m\nss=iops_slope:1%\nss_dur=2", &["steady_window = \"2s\""], &[]),
    ("size=1m\nss=iops:1%\nss_dur=1", &["steady_window = \"1s\""], &[]),
    ("size=1m\nfsync=-1", &["fsync_every = 4294967295"], &["fio.misread"]),
    ("size=1m\nnumjobs=-1", &[], &["fio.bad-value"]),
    ("size=1m\nrw=write:\nverify_interval=79", &[], &["fio.bad-value", "fio.bad-value"]),
    ("size=1g\nruntime=60", &["time = \"1min\"", "passes = 1"], &["fio.runtime-caps"]),
    (
        "size=1g\nruntime=1500ms\ntime_based\nramp_time=5",
        &["time = \"1500ms\"", "ramp = \"5s\"", "ramp_counts = true"],
        &[],
    ),
    ("size=1g\ntime_based", &["passes = 1"], &["fio.no-runtime"]),
    ("size=1g\nloops=3\nnumber_ios=10", &["passes = 3", "operations = 30"], &[]),
    ("size=1m\nfile_append=1\nloops=3", &["passes = 1"], &["fio.appends-once"]),
    ("size=1m\nfile_append=1\nio_size=2m", &["passes = 1", "bytes = \"1MiB\""], &["fio.appends-once"]),
    (
        "size=1m\nfile_append=1\ntime_based\nruntime=9",
        &["passes = 1", "time = \"9s\""],
        &["fio.appends-once"],
    ),
    ("size=1m\nfile_append=1\nrw=rw\nloops=3", &["passes = 2"], &["fio.appends-once"]),
    ("size=1m\nfile_append=1\nrw=rw\nrwmixread=0\nloops=3", &["passes = 1"], &["fio.appends-once"]),
    ("size=1m\nfile_append=1\nio_size=256k\nloops=2", &["passes = 1", "bytes = \"512KiB\""], &[]),
    (
        "size=1m\nfile_append=1\nio_size=50%\nloops=3",
        &["passes = 1", "bytes = \"1MiB\""],
        &["fio.appends-once"],
    ),
    ("size=50%\nfile_append=1\nio_size=20%\nloops=2", &["passes = 1", "bytes = \"40%\""], &[]),
    ("size=1m\nfile_append=1\nrw=randwrite\nnorandommap\nloops=3", &["passes = 3"], &[]),
    ("size=1g\nio_size=512m\nloops=3", &["bytes = \"512MiB\"", "passes = 3"], &[]),
    ("size=1m\nio_size=3m\nloops=2", &["bytes = \"3MiB\"", "passes = 2", "files_end = \"stop\""], &[]),
    ("rw=rw\nsize=1m\nio_size=3m", &["files_end = \"stop\"", "pass_bytes = \"3MiB\""], &[]),
    ("size=1g\nnumber_ios=10\ntime_based\nruntime=9", &["time = \"9s\""], &[]),
    ("rw=randrw\nsize=1g\nrwmixread=70%", &["size = \"1GiB\""], &["fio.misread"]),
    (
        "size=1m\nio_size=2m\nloops=3\nrw=randwrite\nnorandommap",
        &["pass_bytes = \"2MiB\"", "passes = 3"],
        &[],
    ),
    (
        "filesize=1m\nnrfiles=4\nsize=2m\nloops=2",
        &["bytes = \"2MiB\"", "pass_bytes = \"4MiB\"", "files = 4", "size = \"1MiB\""],
        &[],
    ),
    ("filesize=1m\nnrfiles=4\nsize=9m", &["passes = 1"], &[]),
    (
        "nrfiles=3\nsize=1m",
        &["size = \"1020KiB\"", "size = \"349525B\"", "file_names = \"a.0.$filenum\""],
        &[],
    ),
    ("filename=x:y\\:z\nsize=1m", &["path = [\"x\", \"y:z\"]", "size = \"512KiB\"", "size = \"1MiB\""], &[]),
    ("filename=x\nsize=20%\noffset=1m", &["size = \"20%\"", "offset = \"1MiB\""], &[]),
    (
        "filename=x\nsize=1m\noffset=1m\noffset_increment=2m\nnumjobs=3",
        &["size = \"6MiB\"", "offset_per_worker = \"2MiB\""],
        &[],
    ),
    ("directory=d\nfilename_format=$JobName-$jobnum\nsize=1m", &["path = \"d/a-0\""], &[]),
    (
        "rw=randrw\nrwmixread=70\nbs=8k\nsize=1g",
        &["read = \"70%\"", "access = \"random\"", "coverage = \"once-per-pass\""],
        &[],
    ),
    (
        "rw=randrw\nrwmixwrite=20\nbs=4k,8k\nsize=1g",
        &[
            "mix = [{ share = \"80%\", block_size = \"4KiB\", read = \"100%\", access = \"random\" }, { share = \"20%\", block_size = \"8KiB\", read = \"0%\", access = \"random\" }]",
        ],
        &["fio.random-map"],
    ),
    (
        "rw=randread\nbssplit=4k/60:64k/40\nnorandommap\nsize=1g",
        &["block_size = [\"4KiB 60%\", \"64KiB 40%\"]"],
        &[],
    ),
    (
        "rw=randwrite\nbsrange=4k-64k\nsize=1g",
        &["block_size = \"4KiB..64KiB\"", "read = \"0%\""],
        &["fio.random-map"],
    ),
    ("rw=randread:500\nsize=1g\nnorandommap", &["run_length = 500"], &[]),
    ("rw=read:8k\nsize=1g", &["stride = \"8KiB\""], &[]),
    ("rw=write:-8k\nsize=1g", &["stride = \"-8KiB\"", "layout = \"allocated-if-room\""], &[]),
    ("rw=trimwrite\nsize=1g", &["trim = \"100%\"", "trim_then_write = true"], &[]),
    ("rw=trimwrite\nbs=4k,8k,4k\nsize=1g", &[], &["fio.uneven-trimwrite"]),
    (
        "rw=randtrimwrite\nbs=4k,8k,4k\nsize=1g",
        &["trim = \"100%\"", "block_size = \"4KiB\""],
        &["fio.no-effect"],
    ),
    ("rw=randread\npercentage_random=30\nnorandommap\nsize=1g", &["access = \"30% random\""], &[]),
    ("rw=randread\nrandom_distribution=zipf:1.2\nsize=1g", &["distribution = \"zipf:1.2\""], &[]),
    (
        "rw=randread\nrandom_distribution=zoned:60/10:30/20:10/70\nsize=1g",
        &["distribution = \"zoned:60%/10%,30%/20%,10%/70%\""],
        &[],
    ),
    // As with fio 3.33: zones without a size share what is left in whole percent, and what no zone has is not touched.
    (
        "rw=randread\nrandom_distribution=zoned:50/5:30/15:20/\nsize=1g",
        &["distribution = \"zoned:50%/5%,30%/15%,20%/80%\""],
        &[],
    ),
    (
        "rw=randread\nrandom_distribution=zoned:50/5:25:25/\nsize=1g",
        &["distribution = \"zoned:50%/5%,25%/47%,25%/47%,0%/1%\""],
        &[],
    ),
    (
        "rw=randread\nrandom_distribution=zoned:50/5:50/15\nsize=1g",
        &["distribution = \"zoned:50%/5%,50%/15%,0%/80%\""],
        &[],
    ),
    ("rw=randread\nrandom_distribution=zoned:50/5:40/5\nsize=1g", &[], &["fio.bad-value"]),
    (
        "rw=randrw\nrandom_distribution=zoned:60/10:30/20:10/70,40/25:60/75\nsize=1g",
        &["distribution = \"zoned:read 60%/10%,30%/20%,10%/70%;write 40%/25%,60%/75%;trim 40%/25%,60%/75%\""],
        &[],
    ),
    (
        "rw=randrw\nrandom_distribution=zoned:,40/25:60/75,100/30\nsize=1g",
        &["distribution = \"zoned:write 40%/25%,60%/75%;trim 100%/30%,0%/70%\""],
        &[],
    ),
    (
        "rw=randrw\nrandom_distribution=zoned_abs:60/256m:40/256m,100/512m\nsize=1g",
        &["distribution = \"zoned:read 60%/25%,40%/25%,0%/50%;write 100%/50%,0%/50%;trim 100%/50%,0%/50%\""],
        &[],
    ),
    ("rw=randrw\nrandom_distribution=zoned:50/50:50/50,60/40:60/40\nsize=1g", &[], &["fio.bad-value"]),
    ("rw=randread\nrandom_distribution=zoned:60/60:40/50\nsize=1g", &[], &["fio.bad-value"]),
    ("rw=randread\nrandom_distribution=zipf:1\nsize=1g", &[], &["fio.bad-value"]),
    // One fault, in words of the options that were given.
    (
        "rw=randwrite\nverify=crc32c\nbsrange=1k-16k\nbs_unaligned\nnorandommap\nsize=1m",
        &[],
        &["fio.verify-limited", "fio.contradiction"],
    ),
    ("rw=randwrite\nverify=crc32c\nbs=4k\nbs_unaligned\nsize=1m", &["verify = \"crc32c\""], &[]),
    // What neither an end nor a map ends goes on to size, however small the device.
    (
        "rw=randread\nnorandommap\nfilename=/dev/x\nsize=1g",
        &["size = \"1GiB\"", "bytes = \"1GiB\"", "pass_bytes = \"1GiB\""],
        &[],
    ),
    // Of a device, filesize is all there is.
    ("rw=read\nfilename=/dev/x\nfilesize=4m\noffset=1m", &["size = \"4MiB\"", "offset = \"1MiB\""], &[]),
    ("rw=read\nfilename=/dev/x\nfilesize=4m\nsize=50%", &["size = \"4MiB\"", "size = \"2MiB\""], &[]),
    // Unlike file_service_type it has no such word.
    ("rw=randread\nrandom_distribution=gauss:10\nsize=1g", &[], &["fio.bad-value"]),
    ("rw=randread\nfile_service_type=gauss:10\nsize=1g", &[], &[]),
    ("rw=randread\nrandom_distribution=zipf:-1\nsize=1g", &[], &["fio.bad-value"]),
    ("rw=randread\nrandom_distribution=zipf:0\nsize=1g", &["distribution = \"zipf:0\""], &[]),
    ("rw=randread\nrandom_distribution=zipf:1.2:0.3\nsize=1g", &["distribution = \"zipf:1.2:30%\""], &[]),
    ("rw=randread\nrandom_distribution=pareto:0.2:0\nsize=1g", &["distribution = \"pareto:0.2:0%\""], &[]),
    (
        "rw=randread\nrandom_distribution=normal:0:0.3\nsize=1g",
        &["distribution = \"normal:8.333333333%:scattered\""],
        &["fio.approximate"],
    ),
    ("rw=randread\nrandom_distribution=zipf:1.2:1.3\nsize=1g", &[], &["fio.bad-value"]),
    ("rw=randread\nrandom_distribution=zipf::0.3\nsize=1g", &[], &["fio.bad-value"]),
    // fio's shift register comes to each block once whether there is a map or not.
    ("rw=randread\nrandom_generator=lfsr\nnorandommap\nsize=1g", &["coverage = \"once-per-pass\""], &[]),
    (
        "rw=randread\nrandom_generator=lfsr\nbsrange=4k-8k\nsize=1g",
        &["access = \"random\""],
        &["fio.approximate"],
    ),
    (
        "rw=randread\nrandom_generator=lfsr\nnorandommap\nrandom_distribution=zipf:1.2\nsize=1g",
        &["distribution = \"zipf:1.2\""],
        &[],
    ),
    ("rw=write\noverwrite=1\nsize=1g", &["layout = \"written\""], &[]),
    ("rw=write\nfallocate=none\nunlink=1\nsize=1g", &["layout = \"created\"", "remove = true"], &[]),
    ("rate_iops=100\nsize=1g", &["rate = \"100/s\""], &[]),
    ("rate=1m\nrate_process=poisson\nsize=1g", &["rate = \"1048576B/s\"", "arrival = \"poisson\""], &[]),
    ("rw=randrw\nrate_iops=100,50\nsize=1g", &["rate = \"150/s\""], &["fio.rate-and-mix"]),
    ("rw=randrw\nrate=400k\nsize=1g", &["rate = \"819200B/s\"", "read = \"50%\""], &[]),
    ("rw=randrw\nrate_iops=100,\nsize=1g", &["rate_max = \"read 100/s\"", "read = \"50%\""], &[]),
    (
        "rw=randrw\nrate=,1m\nrate_process=poisson\nsize=1g\nnumjobs=3\nfilename=x\ngroup_reporting",
        &["rate_max = \"write 3145728B/s\"", "arrival = \"poisson\"", "workers = 3"],
        &[],
    ),
    ("rw=trimwrite\nrate=4m,2m,1m\nsize=1g", &["rate = \"4194304B/s\""], &[]),
    ("rate_iops=100\nrate=1m\nsize=1g", &[], &["fio.contradiction"]),
    ("thinktime=1ms\nthinktime_blocks=8\nsize=1g", &["think_time = \"1ms\"", "think_every = 8"], &[]),
    (
        "ioengine=libaio\niodepth=32\niodepth_batch=8\nsize=1g",
        &["engine = \"libaio\"", "queue_depth = 32", "batch_submit = 8"],
        &[],
    ),
    ("ioengine=sync\niodepth=32\nsize=1g", &["queue_depth = 1"], &["fio.sync-depth"]),
    // A pool of threads that wait becomes a queue of the same depth; fio 3.33 refuses io_uring so.
    (
        "ioengine=psync\niodepth=8\nio_submit_mode=offload\nsize=1g",
        &["engine = \"auto\"", "queue_depth = 8"],
        &["fio.offload"],
    ),
    ("ioengine=psync\nio_submit_mode=offload\nsize=1g", &["engine = \"psync\""], &[]),
    ("ioengine=libaio\niodepth=8\ndirect=1\nio_submit_mode=offload\nsize=1g", &["queue_depth = 8"], &[]),
    ("ioengine=io_uring\niodepth=8\nio_submit_mode=offload\nsize=1g", &[], &["fio.offload"]),
    ("ioengine=null\nsize=1g", &["engine = \"null\"", "path = \"a.0.0\""], &[]),
    ("ioengine=vsync\nsize=1g", &["engine = \"vsync\"", "queue_depth = 1"], &[]),
    ("ioengine=mmap\ndirect=1\nsize=1g", &["engine = \"mmap\"", "direct = true"], &[]),
    (
        "hipri\nhipri_percentage=30\nnowait=1\nuncached=1\nioengine=pvsync2\nsize=1g",
        &["engine = \"pvsync2\"", "polled = \"30%\"", "nowait = true", "uncached = true"],
        &[],
    ),
    (
        "ioengine=io_uring\nhipri\ndirect=1\nsqthread_poll\nsqthread_poll_cpu=1\nnonvectored=0\nforce_async=4\nsize=1g",
        &[
            "polled = \"100%\"",
            "submit_thread = true",
            "submit_thread_cpu = 1",
            "vectored = true",
            "force_async = 4",
        ],
        &[],
    ),
    ("ioengine=io_uring\nsqthread_poll_cpu=1\nforce_async=0\nsize=1g", &[], &["fio.no-effect"]),
    (
        "ioengine=libaio\nuserspace_reap\nnowait=1\ncmdprio_percentage=30,60\ncmdprio_class=2\ncmdprio=4\nsize=1g",
        &[
            "userspace_reap = true",
            "nowait = true",
            "priority_reads = \"30%\"",
            "priority_writes = \"60%\"",
            "priority_class = \"best-effort\"",
            "priority_level = 4",
        ],
        &[],
    ),
    (
        "ioengine=libaio\ncmdprio_bssplit=4k/50/2/4:8k/20:16k,64k/10/3/0\ncmdprio_class=2\nsize=1g",
        &["priority_split = \"read 4KiB 50% best-effort 4, read 8KiB 20%, write 64KiB 10% idle 0\""],
        &[],
    ),
    ("ioengine=libaio\ncmdprio_bssplit=4k/50/2\nsize=1g", &[], &["fio.bad-value"]),
    ("ioengine=libaio\natomic=1\nrw=write\nsize=1g", &["direct = true", "untorn = true"], &[]),
    (
        "ioengine=net\nlisten\nport=9000\npingpong\nnodelay=1\nsize=1m",
        &[
            "engine = \"net\"",
            "kind = \"peer\"",
            "address = \"tcp://localhost:9000\"",
            "listen = true",
            "ping_pong = true",
            "no_delay = true",
        ],
        &["fio.listens-here"],
    ),
    (
        "ioengine=net\nproto=udpv6\nhostname=::1\nport=9000\nrw=write\nnumjobs=2\nsize=1m",
        &["address = \"udp6://[::1]:9000\"", "address = \"udp6://[::1]:9001\""],
        &[],
    ),
    (
        "ioengine=netsplice\nprotocol=unix\nhostname=/s\nsize=1m",
        &["address = \"unix:/s\""],
        &["fio.approximate"],
    ),
    (
        "ioengine=net\nprotocol=unix\nlisten\nport=9\nhostname=s\nsize=1m",
        &[],
        &["fio.contradiction", "fio.contradiction"],
    ),
    ("ioengine=net\nrw=write", &[], &["fio.contradiction", "fio.contradiction", "fio.contradiction"]),
    ("ioengine=net\nhostname=224.0.0.1\nport=9\nprotocol=udp\nsize=1m", &[], &["fio.not-built"]),
    ("ioengine=net\nlisten\nport=9\nttl=3\nsize=1m", &[], &["fio.refused", "fio.listens-here"]),
    (
        "ioengine=exec\nprogram=/bin/a\narguments=b %n\ngrace_time=3\nstd_redirect=0\nrw=write\nsize=1g",
        &[
            "engine = \"exec\"",
            "program = \"/bin/a\"",
            "program_grace = \"3s\"",
            "program_files = false",
            "kind = \"null\"",
        ],
        &[],
    ),
    // As with fio, found when it is to start.
    ("ioengine=exec\nsize=1g", &["engine = \"exec\"", "program = \"\""], &[]),
    ("ioengine=io_uring_cmd\nsize=1g", &[], &["fio.refused"]),
    ("ioengine=libaio\nhipri\nsize=1g", &[], &["fio.engine-option"]),
    ("ioengine=posixaio\niodepth=4\nsize=1g", &["engine = \"posixaio\"", "queue_depth = 4"], &[]),
    (
        "ioengine=falloc\nrw=write\nfallocate=none\nsize=1g",
        &["engine = \"falloc\"", "layout = \"created\""],
        &[],
    ),
    ("ioengine=splice\nsize=1g", &["engine = \"splice\""], &[]),
    ("ioengine=sg\nsize=1g", &[], &["fio.not-built"]),
    (
        "ioengine=cpuio\ncpuload=25\ncpuchunks=20000\nsize=1g\nrw=randrw\nrate=1m\nverify=md5\nnumber_ios=3\nruntime=9",
        &[
            "engine = \"cpuio\"",
            "cpu_load = \"25%\"",
            "cpu_chunk = \"20ms\"",
            "kind = \"null\"",
            "time = \"9s\"",
        ],
        &[],
    ),
    ("ioengine=cpuio\ncpuload=250\nexit_on_io_done=1", &["cpu_load = \"100%\"", "end_with_io = true"], &[]),
    ("ioengine=cpuio\nruntime=9", &["engine = \"cpuio\""], &[]),
    ("ioengine=cpuio\ncpuload=50\ncpumode=qsort", &["cpu_work = \"sort\""], &[]),
    ("ioengine=psync\ncpuload=50\nsize=1g", &[], &["fio.engine-option"]),
    (
        "ioengine=filestat\nnrfiles=8\nfilesize=64k\nbs=4k\nrw=randread\nstat_type=lstat",
        &["engine = \"filestat\"", "stat_call = \"lstat\"", "block_size = \"64KiB\"", "layout = \"written\""],
        &[],
    ),
    ("ioengine=filecreate\nnrfiles=8\nrate_iops=9", &["size = \"32KiB\"", "block_size = \"4KiB\""], &[]),
    ("ioengine=filedelete\nnrfiles=2\nfilesize=8k\nrate_iops=9", &["rate = \"36864B/s\""], &[]),
    ("ioengine=filestat\nnrfiles=8", &[], &["fio.contradiction"]),
    ("ioengine=filestat\nsize=1m\nrw=randrw", &[], &["fio.refused"]),
    ("ioengine=filestat\nfilesize=1m:2m", &[], &["fio.refused"]),
    ("ioengine=dirstat\nsize=1m\nbssplit=4k/50:8k/50", &[], &["fio.refused"]),
    ("ioengine=filestat\nfilesize=2g", &[], &["fio.refused"]),
    ("ioengine=filecreate\nstat_type=stat\nsize=1m", &[], &["fio.engine-option"]),
    ("ioengine=libiao\nsize=1g", &[], &["fio.no-engine"]),
    (
        "sync=dsync\nfsync=32\nend_fsync=1\nsize=1g",
        &["durability = \"data\"", "fsync_every = 32", "fsync_at_end = true"],
        &[],
    ),
    ("zero_buffers\nsize=1g", &["content = \"zero\"", "freshness = \"never\""], &[]),
    ("rw=write\nbuffer_pattern=0xbeef\nsize=1g", &["content = \"0xbeef\"", "freshness = \"never\""], &[]),
    (
        "buffer_compress_percentage=50\nbuffer_compress_chunk=4k\nsize=1g",
        &["compressible = \"50%\"", "compress_chunk = \"4KiB\"", "freshness = \"every\""],
        &[],
    ),
    (
        "buffer_pattern=0x41\nbuffer_compress_percentage=50\nsize=1g",
        &["content = \"0x41\"", "compressible = \"50%\"", "freshness = \"every\""],
        &[],
    ),
    ("buffer_compress_percentage=100\nsize=1g", &["content = \"zero\"", "freshness = \"never\""], &[]),
    (
        "buffer_compress_percentage=100\nbuffer_pattern=0x41\nsize=1g",
        &["content = \"0x41\"", "freshness = \"every\""],
        &[],
    ),
    ("zero_buffers\nbuffer_compress_percentage=50\nsize=1g", &["compressible = \"50%\""], &[]),
    ("dedupe_percentage=30\nsize=1g", &["dedupable = \"30%\""], &[]),
    ("randrepeat=0\nsize=1g", &["seed = \"fresh\""], &[]),
    ("cpus_allowed=0,2-3\nsize=1g", &["cpus = [0, 2, 3]"], &[]),
    // Shared is fio's default: every clone may run on the whole set.
    ("cpus_allowed=3,0,2\nnumjobs=2\nsize=1g", &["[stream.\"a.1\"]", "cpus = [0, 2, 3]"], &[]),
    (
        "cpus_allowed=3,0,2\ncpus_allowed_policy=split\nnumjobs=2\nsize=1g",
        &["[stream.\"a.1\"]", "cpus = [0]", "cpus = [2]"],
        &[],
    ),
    (
        "cpus_allowed=0-3\ncpus_allowed_policy=split\nnumjobs=2\ngroup_reporting\nfilename=x\nsize=1g\n[b]\nsize=1g\n\
         filename=x\ncpus_allowed=0-3\ncpus_allowed_policy=split",
        &["workers = 2", "cpus = [0, 1, 2, 3]", "cpus_policy = \"split\"", "cpus = [2]"],
        &[],
    ),
    (
        "numjobs=$ncpus\ngroup_reporting\nfilename=x\nrate_iops=10\nsize=1g",
        &["workers = 4", "rate = \"40/s\"", "[stream.a]"],
        &[],
    ),
    ("numjobs=2\ngroup_reporting\nsize=1g", &["[stream.\"a.1\"]", "path = \"a.1.0\""], &[]),
    ("verify=0\nthread\nmem=malloc\nzonemode=none\ndo_verify=0\ngtod_reduce=1\nsize=1g", &[], &[]),
    // Known to fio's profiles alone, which take them in any job.
    (
        "threads=1\nblock=4k\nnumruns=2\ndir=/tmp\ndevice-names=x\nload=1\nprep=1\nthreads-per-queue=1\nsize=1g",
        &["block_size = \"4KiB\""],
        &["fio.no-effect"; 8],
    ),
    ("load=x\nsize=1g", &[], &["fio.bad-value"]),
    // What cannot be done and changes no operation is told.
    (
        "cgroup=x\ncgroup_weight=100\nuid=1000\ngid=0\ngtod_cpu=0\nioscheduler=none\nwrite_hint=short\nwrite_barrier=8\n\
         dedupe_global=1\nsize=1g",
        &[],
        &["fio.no-effect"; 9],
    ),
    ("write_hint=none\ndedupe_global=0\nsize=1g", &[], &[]),
    ("write_hint=soon\nsize=1g", &[], &["fio.bad-value"]),
    // Options of engines that are not here: the engine is what is said, unless the job has another.
    ("ioengine=nbd\nuri=nbd://x\nsize=1g", &[], &["fio.not-built"]),
    ("ioengine=rbd\npool=a\nrbdname=b\nclientname=c\nsize=1g", &[], &["fio.not-built"]),
    ("uri=nbd://x\nsize=1g", &[], &["fio.engine-option"]),
    ("ioengine=mmap\nthp=1\nsize=1g", &[], &["fio.refused"]),
    ("thp=0\nsize=1g", &[], &["fio.engine-option"]),
    // fio has a largest value of booleans and no smallest.
    ("direct=-1\nsize=1g", &["direct = true"], &[]),
    ("direct=2\nsize=1g", &[], &["fio.bad-value"]),
    ("percentile_list=1:2:3:4:5:6:7:8:9:10:11:12:13:14:15:16:17:18:19:20:21\nsize=1g", &[], &["fio.misread"]),
    ("log_entries=16\nsize=1g", &[], &["fio.bad-value"]),
    ("log_entries=1024\nsize=1g", &[], &[]),
    ("filename=-\nsize=1g", &[], &["fio.bad-value"]),
    ("filename=-\nioengine=null\nsize=1g", &[], &[]),
    // 512 bytes, and 513: fio 3.33 uses 512 of them.
    (
        "rw=write\nsize=1m\nverify=pattern\nverify_pattern=\
         %o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o\
         %o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o",
        &["verify = \"pattern\""],
        &[],
    ),
    (
        "rw=write\nsize=1m\nverify=pattern\nverify_pattern=\
         %o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o\
         %o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o%o0xab",
        &["verify = \"pattern\""],
        &["fio.pattern-length"],
    ),
    (
        "verify=crc32c\nverify_fatal=1\nverify_backlog=16\nrw=randwrite\nbsrange=1k-4k\nnorandommap\nsize=1g",
        &[
            "verify = \"crc32c\"",
            "verify_fatal = true",
            "verify_backlog = 16",
            "verify_interval = \"1KiB\"",
            "freshness = \"every\"",
        ],
        &["fio.verify-limited"],
    ),
    (
        "verify_pattern=0xab%o\"xy\"\ndo_verify=0\nverify_offset=64\nrw=write\nsize=1g",
        &[
            "verify = \"pattern-header\"",
            "verify_pattern = \"0xab%o0x7879\"",
            "verify_when = \"never\"",
            "verify_header_at = \"64B\"",
        ],
        &[],
    ),
    (
        "verify=pattern\nverify_pattern=%o\nverify_pattern_interval=512\nrw=write\nsize=1g",
        &["verify_pattern = \"%o\"", "verify_pattern_interval = \"512B\""],
        &[],
    ),
    (
        "rw=randread\nrandom_distribution=sequence:2,0,1\nrandom_sequence_stride=1\nsize=1g",
        &["distribution = \"blocks:2,0,1:advancing\""],
        &[],
    ),
    ("rw=randread\nrandom_distribution=sequence:2,x\nsize=1g", &[], &["fio.bad-value"]),
    ("verify=meta\nsize=1g", &["verify = \"header\""], &[]),
    ("verify=pattern\nsize=1g", &[], &["fio.contradiction"]),
    ("verify_only\nrate_process=poisson\nsize=1g", &[], &["fio.no-effect"; 2]),
    ("flow=-4\nsize=1g", &[], &["fio.misread"]),
    ("iodeph=4\nsize=1g", &[], &["fio.unknown-option"]),
    ("rwmixcycle=4\nsize=1g", &[], &["fio.refused"]),
    ("bs=4k\nbs=8k\nsize=1g", &["block_size = \"8KiB\""], &["fio.duplicate"]),
    ("numjobs=5000\nsize=1g", &[], &["fio.too-many-jobs"]),
    ("numjobs=0\nsize=1g", &[], &["fio.bad-value"]),
    ("write_bw_log=x\nlog_avg_msec=250\nsize=1g", &["interval = \"250ms\""], &[]),
    ("write_lat_log\nsize=1g", &[], &[]),
    ("continue_on_error=io\nsize=1g", &["tolerate = [\"read EIO EILSEQ\", \"write EIO EILSEQ\"]"], &[]),
    // Drawn from the seed: with another, at another time.
    ("startdelay=1-2\nsize=1g", &["start_delay = \"1351060us\""], &[]),
    (
        "rw=randread\nrandom_distribution=zoned_abs:60/256m:40/256m\nsize=1g",
        &["distribution = \"zoned:60%/25%,40%/25%,0%/50%\""],
        &[],
    ),
    ("rw=randread\nrandom_distribution=zoned_abs:60/256m:40/256m\nfilename=x", &[], &["fio.bad-value"]),
    ("rw=randrw\nbs=16k,4k\nnorandommap\nsize=1g", &["align_of = [\"read 16KiB\", \"write 4KiB\"]"], &[]),
    (
        "rw=randread\nrandom_distribution=normal:0\nsize=1g",
        &["distribution = \"normal:8.333333333%:scattered\""],
        &[],
    ),
    ("filesize=1m-2m\nnrfiles=2", &["size = \"1MiB\"", "size_max = \"2MiB\"", "files = 2"], &[]),
    ("rw=randread\nsize=1g", &["files_end = \"stop\"", "advice = \"random\""], &[]),
    ("size=1g\nruntime=9\ntime_based\nfadvise_hint=0", &["files_end = \"renew\""], &[]),
    ("size=1g\nfadvise_hint=noreuse\npre_read=1", &["advice = \"noreuse\"", "pre_read = true"], &[]),
    (
        "size=1g\nlockfile=readwrite\nfile_append=1\nunlink_each_loop=1\ncreate_only=1",
        &["file_lock = \"read-write\"", "append = true", "fresh_files = true", "prepare_only = true"],
        &[],
    ),
    ("rw=write\nfill_device=1\nsize=1g", &["until_full = true", "layout = \"created\""], &[]),
    ("filename=there\nsize=1g\noffset=30%", &["offset = \"30%\"", "offset_align = \"4KiB\""], &[]),
    ("size=1g\noffset=30%\noffset_align=1m", &["offset_align = \"1MiB\""], &["fio.share-of-nothing"]),
    (
        "size=1g\nzonemode=strided\nzonesize=8m\nzonerange=16m\nzoneskip=4m",
        &["zones = \"8MiB of 16MiB skip 4MiB\""],
        &[],
    ),
    ("size=1g\nzonesize=8m", &["zones = \"8MiB of 8MiB\""], &["fio.misread"]),
    // Zones are counted in bytes of each, which may be said last.
    (
        "size=10z\noffset=2z\nio_size=3z\noffset_increment=4z\nzoneskip=1z\nzonemode=strided\nzonesize=8m",
        &[
            "offset = \"16MiB\"",
            "bytes = \"24MiB\"",
            "offset_per_worker = \"32MiB\"",
            "zones = \"8MiB of 8MiB skip 8MiB\"",
        ],
        &[],
    ),
    ("size=1g\nfilename=x\noffset=2z", &[], &["fio.misread"]),
    (
        "size=10z\nsize=1g\nzonemode=strided\nzonesize=8m",
        &["size = \"80MiB\""],
        &["fio.duplicate", "fio.misread"],
    ),
    ("size=2z,3z\nzonemode=strided\nzonesize=8m", &["size = \"24MiB\""], &["fio.misread"]),
    ("size=9999999999999999999z\nzonemode=strided\nzonesize=8m", &[], &["fio.bad-value"]),
    ("size=1g\nbs=1z\nzonerange=2z", &[], &["fio.bad-value", "fio.bad-value"]),
    ("size=1g\nzonemode=zbd\nzonesize=8m", &[], &["fio.refused"]),
    ("size=1g\nzonemode=none\nzonesize=8m", &[], &["fio.contradiction"]),
    ("size=1g\nzonemode=strided", &[], &["fio.contradiction"]),
    ("size=1g\nrw=randread:8\nrw_sequencer=identical", &["run = \"again\"", "run_length = 8"], &[]),
    ("size=1g\nrw=trim\nnum_range=8", &[], &["fio.refused"]),
    (
        "rw=randread\npercentage_random=25\nbs=4k,16k\nbs_is_seq_rand=1\nnorandommap\nsize=1g",
        &[
            "mix = [{ share = \"25%\", block_size = \"16KiB\", read = \"100%\", access = \"random\" }, { share = \"75%\", block_size = \"4KiB\", read = \"100%\", access = \"sequential\" }]",
        ],
        &[],
    ),
    (
        "rw=randread\nbsrange=3k-8k\nnorandommap\nsize=1g",
        &["block_size = [\"3KiB..6KiB 75%\", \"8KiB 25%\"]"],
        &[],
    ),
    ("nrfiles=8\nopenfiles=2\nsize=1g", &["files_at_once = 2"], &[]),
    ("nrfiles=8\nfile_service_type=zipf:1.2:0.5\nsize=1g", &["file_order = \"zipf:1.2:50%:1\""], &[]),
    ("nrfiles=8\nfile_service_type=normal\nsize=1g", &["file_order = \"normal:0%:0%:1\""], &[]),
    ("nrfiles=8\nfile_service_type=zipf:1\nsize=1g", &[], &["fio.bad-value"]),
    (
        "mem=shm\niomem_align=64\nlockmem=1m\nsize=1g",
        &["memory = \"segment\"", "locked_memory = \"1MiB\""],
        &[],
    ),
    ("mem=mmap:/x\nsize=1g", &["memory = \"mapped\""], &["fio.refused"]),
    (
        "sync_file_range=wait_before,write:8\nend_syncfs=1\nsize=1g",
        &["range_sync_every = 8", "range_sync = \"wait-before,write\"", "syncfs_at_end = true"],
        &[],
    ),
    ("sync_file_range=none\nsize=1g", &[], &["fio.bad-value"]),
    (
        "dedupe_percentage=30\ndedupe_mode=working_set\ndedupe_working_set_percentage=10\nsize=1g",
        &["repeats = \"working-set\"", "working_set = \"10%\""],
        &[],
    ),
    ("buffer_pattern='/no'\nsize=1g", &[], &["fio.bad-value"]),
    ("opendir=/no\nsize=1g", &[], &["fio.no-folder"]),
];

#[test]
fn options_become_the_model() {
    for (text, lines, codes) in CASES {
        check(&format!("[a]\n{text}\n"), lines, codes);
    }
    check("", &[], &["fio.no-job"]);
    check("[/dev/sdz]\n", &["path = \"/dev/sdz\""], &[]);
}

#[test]
fn barriers_make_stages_and_groups() {
    let text = "[global]\nsize=1m\n[a]\n[b]\nnew_group\n[c]\nstonewall\nnumjobs=3\n[a]\n";
    let Reading { job, diagnostics, extras } = read("x", text, &surroundings());
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    let stages: Vec<_> =
        job.stages.iter().map(|stage| stage.options.streams.get().unwrap().join(" ")).collect();
    assert_eq!(stages, ["a b", "c.0 c.2 c.1 a#2"]);
    let clones: Vec<_> =
        extras.clones.iter().map(|c| (c.thread_number, c.group_id, c.subjob, c.stream.as_str())).collect();
    assert_eq!(
        clones,
        [
            (1, 0, 0, "a"),
            (2, 1, 0, "b"),
            (3, 2, 0, "c.0"),
            (4, 2, 2, "c.2"),
            (5, 2, 1, "c.1"),
            (6, 2, 0, "a#2")
        ]
    );
}

#[test]
fn clones_that_go_on_after_errors_say_so() {
    for (word, expect) in [("none", false), ("0", false), ("read", true), ("io", true), ("1", true)] {
        let text = format!("[a]\nsize=1m\ncontinue_on_error={word}\n[b]\nsize=1m\n");
        let Reading { extras, .. } = read("x", &text, &surroundings());
        let found: Vec<bool> = extras.clones.iter().map(|clone| clone.continues_on_error).collect();
        assert_eq!(found, [expect, false], "{word}");
    }
}

#[test]
fn globals_hold_for_what_follows_in_their_file() {
    let first = "[global]\nbs=8k\nsize=1m\nfilename=x\n[a]\nfilename=y\n[global]\nbs=16k\n[b]\n";
    let Reading { job, diagnostics, extras } =
        read_all(&[("1", first), ("2", "[c]\nsize=1m\n")], &surroundings());
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    let sizes: Vec<u64> = job.workloads.iter().map(|w| w.options.block_size.get().sizes[0].1.0).collect();
    assert_eq!(sizes, [8192, 16384, 4096]);
    let paths: Vec<_> = job.targets.iter().map(|t| t.options.path.get().unwrap().join(" ")).collect();
    assert_eq!(paths, ["x y", "x", "c.0.0"]);
    assert_eq!(job.stages.len(), 2);
    // fio's document lists the globals of the last file only, which has none.
    assert_eq!(extras.globals, []);
    assert_eq!(extras.command_lines[1], "fio --name=c --size=1m ");
}

#[test]
fn misreads_are_accepted_and_told() {
    let text = "\
[slips]
size=1.5g
bs= 4k
runtime=5min
ramp_time=2h30m
startdelay=10sec
io_size=1 g
offset=1mib
rate_iops=3k
thinktime=1.5ms
nrfiles=2.5
blockalign=4096x
rw=randread:1k

[ranges]
bs=4k-8k
size=1m-2m
runtime=1:30
rate_iops=0.5
bssplit=4.5k/50:8k/50
rw=randread
norandommap

[header
size=1e9
rw=read:1.5k
";
    insta::assert_snapshot!(shown(text));
}

#[test]
fn faults_are_told_with_remedies() {
    let text = "\
bs=4k
[faults]
rw=randr
ioengine=libiao
iodepth=0
direct=yes
size=
stonewall=
bs
size=200%
size=3.5z
percentile_list=50:101
bssplit=4k/60:8k/60
random_distribution=zoned:60/10:30/20
runtme=5
no such thing
cpus_allowed=1-0
buffer_pattern=zz
continue_on_error=maybe
numjobs=$ncpus+
startdelay=-1
[unbuilt]
size=1g
exitall
zonemode=zbd
steadystate=iops:5%
replay_skip=flush
wait_for=faults
ioengine=sg
file_service_type=zipf:1.1
random_distribution=zoned_abs:50/1g
rw=randwrite
mem=mmaphuge
";
    let Reading { job, diagnostics, .. } = read("faults.fio", text, &surroundings());
    insta::assert_snapshot!(told(&job.sources, &diagnostics));
}

#[test]
fn garbage_is_answered_briefly() {
    let pieces = [
        "[a]\n",
        "x\n",
        "=\n",
        "[a]\nnumjobs=4096\nsize=1m\n",
        "[",
        "include a\n",
        "\u{0}\u{1}",
        "filename=a:b:c\n",
        "ioengine=é\n",
        "[global]\nfilename=a:b:c:d:e:f:g:h\n[j]\nbs=1\n",
    ];
    for piece in pieces {
        let text = format!("[x]\n{}", piece.repeat((1 << 20) / piece.len()));
        let reading = read("x", &text, &surroundings());
        assert!(reading.diagnostics.all().len() <= DIAGNOSTICS_MAX, "{piece}");
    }
}

proptest! {
    #[test]
    fn any_text_is_read(text in "\\PC*") {
        read("x", &text, &surroundings());
    }

    #[test]
    fn any_options_are_read(
        lines in proptest::collection::vec(("[a-z_]{1,12}|\\[[a-z]{0,8}\\]", "\\PC{0,12}|[0-9]{1,20}(us|ms|[kmgtpshdz%])?|[a-z_]{2,10}:[0-9]{1,12}[kmgtp%]?|[0-9]{1,20}[kmgt]?[-,:/][0-9]{1,20}[kmgt]?|[0-9a-z:/,-]{0,12}", 0_usize..400), 0..24),
    ) {
        let names: Vec<&str> = fathom_frontend::fio::rows().map(|row| row.name).collect();
        let mut text = "[a]\n".to_owned();
        for (odd, value, pick) in &lines {
            // Known names twice as often as anything.
            let key = names.get(*pick).copied().unwrap_or(odd);
            text.push_str(&format!("{key}={value}\n"));
        }
        let Reading { job, .. } = read("x", &text, &surroundings());
        let printed = native::print(&job);
        let (_, found) = native::read("x", &printed);
        prop_assert!(found.all().iter().all(|d| d.code != "native.syntax"), "{found:?} {printed}");
    }
}
