//! fathom beside the peer whose job files it runs: the same jobs and groups, operations and bytes, and the same keys in the
//! JSON. Skipped aloud where the peer is not installed.

use crate::support::{Bench, FATHOM, skip, tool};
use serde_json::Value;
use std::collections::BTreeSet;

/// What is the same of a job although both draw their own random numbers.
#[derive(Clone, Copy)]
enum Same {
    /// Operations and bytes of each direction.
    Each,
    /// Of all directions together: which of them are reads is drawn.
    Together,
    /// Operations of all directions together: their sizes are drawn as well.
    Operations,
}

/// Keys below which names come from the job, the machine or the distribution.
const OPEN: [&str; 4] = ["percentile", "job options", "global options", "disk_util"];

/// Name, group, operations and bytes of each reported job.
type Figures = Vec<(String, u64, Vec<(u64, u64)>)>;

fn check(job: &str, same: Same) {
    let bench = Bench::new();
    let (peer, ours) = (document(&bench, &["fio"], job), document(&bench, &[FATHOM, "fio"], job));
    assert_eq!(figures(&ours, same), figures(&peer, same), "{job}");
    assert_eq!(syncs(&ours), syncs(&peer), "{job}");
    assert_eq!(options(&ours), options(&peer), "{job}");
    let (peer, ours) = (keys(&peer), keys(&ours));
    let missing: Vec<&String> = peer.difference(&ours).collect();
    assert!(missing.is_empty(), "the peer has, and fathom lacks, {missing:#?}\n{job}");
    // Documents of fio 3.33 do not have it yet, those of 3.36 do.
    let newer = "/jobs/job_start";
    let more: Vec<&String> = ours.difference(&peer).filter(|key| *key != newer).collect();
    assert!(more.is_empty(), "fathom has, and the peer lacks, {more:#?}\n{job}");
}

/// The document of `program` for this job in an empty folder.
fn document(bench: &Bench, program: &[&str], job: &str) -> Value {
    for path in bench.snapshot().into_keys() {
        std::fs::remove_file(path).expect("the folder is ours");
    }
    bench.write("job.fio", job);
    let arguments = ["--output-format=json", "--output=out.json", "job.fio"];
    bench.run(&[program, &arguments].concat()).expect(0, &[]);
    let text = std::fs::read_to_string(bench.path("out.json")).expect("it was written");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in {text}"))
}

fn jobs(document: &Value) -> &[Value] {
    document["jobs"].as_array().expect("a document has jobs")
}

fn figures(document: &Value, same: Same) -> Figures {
    let of_job = |job: &Value| {
        let count = |direction: &str, key: &str| job[direction][key].as_u64().expect("a count");
        let kinds = ["read", "write", "trim", "mixed"].into_iter().filter(|kind| job[*kind].is_object());
        let each: Vec<_> = kinds.map(|of| (count(of, "total_ios"), count(of, "io_bytes"))).collect();
        let (operations, bytes) = each.iter().fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
        let moved = match same {
            Same::Each => each,
            Same::Together => vec![(operations, bytes)],
            Same::Operations => vec![(operations, 0)],
        };
        let name = job["jobname"].as_str().expect("a job has a name").to_owned();
        (name, job["groupid"].as_u64().expect("a job has a group"), moved)
    };
    jobs(document).iter().map(of_job).collect()
}

fn syncs(document: &Value) -> Vec<u64> {
    jobs(document).iter().map(|job| job["sync"]["total_ios"].as_u64().unwrap_or(0)).collect()
}

/// What is echoed of the options.
fn options(document: &Value) -> Vec<Value> {
    let of_jobs = jobs(document).iter().map(|job| job["job options"].clone());
    of_jobs.chain([document["global options"].clone()]).collect()
}

/// All keys of a document by their paths, but for what fathom says beside.
fn keys(document: &Value) -> BTreeSet<String> {
    fn walk(value: &Value, path: &str, found: &mut BTreeSet<String>) {
        match value {
            Value::Object(entries) => {
                for (key, inner) in entries {
                    let path = format!("{path}/{key}");
                    found.insert(path.clone());
                    if !OPEN.contains(&key.as_str()) {
                        walk(inner, &path, found);
                    }
                }
            }
            Value::Array(entries) => entries.iter().for_each(|inner| walk(inner, path, found)),
            _ => {}
        }
    }
    let mut found = BTreeSet::new();
    walk(document, "", &mut found);
    found.retain(|path| !path.starts_with("/fathom"));
    found
}

#[test]
fn the_same_job_files_give_the_same_counts_and_keys() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("the_same_job_files_give_the_same_counts_and_keys", &why);
    }
    for (rest, same) in [
        ("[a]\nrw=read\n", Same::Each),
        ("[a]\nrw=write\nbs=64k\n", Same::Each),
        ("[a]\nrw=randread\nioengine=libaio\niodepth=8\n", Same::Each),
        ("[a]\nrw=randwrite\nbs=8k\ndirect=1\nioengine=libaio\niodepth=4\n", Same::Each),
        ("[a]\nrw=randrw\n", Same::Together),
        ("[a]\nrw=rw\nrwmixread=70\n", Same::Together),
        ("[a]\nrw=write\nbs=3k\n", Same::Each),
        ("[a]\nrw=read\nnumjobs=3\n", Same::Each),
        ("[a]\nrw=read\nnumjobs=3\ngroup_reporting\n", Same::Each),
        ("[a]\nrw=write\n[b]\nstonewall\nrw=read\n", Same::Each),
        ("[a]\nrw=write\n[b]\nnew_group\nrw=read\nnumjobs=2\ngroup_reporting\n", Same::Each),
        (
            "[a]\nrw=write\ngroup_reporting\ndescription=first\n[b]\nbs=8k\nrw=write\nnumjobs=2\ngroup_reporting\n",
            Same::Each,
        ),
        ("[a]\nrw=read\nloops=3\n", Same::Each),
        ("[a]\nrw=read\nnumber_ios=100\n", Same::Each),
        ("[a]\nrw=read\nio_size=5m\n", Same::Each),
        ("[a]\nrw=write\nfsync=16\n", Same::Each),
        ("[a]\nrw=write\nfdatasync=10\nbs=16k\n", Same::Each),
        ("[a]\nrw=write\nend_fsync=1\n", Same::Each),
        ("[a]\nrw=write\nfsync=4\nfdatasync=5\n", Same::Each),
        ("[a]\nrw=write\nfsync=5\nfdatasync=4\nioengine=libaio\niodepth=4\n", Same::Each),
        ("[a]\nrw=write\nfdatasync=5\nend_fsync=1\n", Same::Each),
        // What is left of the size is no block: there is a sync after the last write as well.
        ("[a]\nrw=write\nfdatasync=1\nbs=2300\n", Same::Each),
        ("[a]\nrw=write\nsync_file_range=write:8\nend_fsync=1\n", Same::Each),
        ("[a]\nrw=write\nnrfiles=4\n", Same::Each),
        ("[a]\nrw=randread:8\n", Same::Each),
        ("[a]\nrw=read\noffset=1m\n", Same::Each),
        ("[a]\nrw=read\noffset_increment=1m\nsize=1m\nnumjobs=4\nfilename=shared\n", Same::Each),
        ("[a]\nrw=write\nfilename=one:two\n", Same::Each),
        ("[a]\nrw=randwrite\nbssplit=4k/50:16k/50\nnorandommap\nnumber_ios=64\n", Same::Operations),
        ("[a]\nioengine=null\nrw=trim\nbssplit=,,8k/100\n", Same::Each),
        ("[a]\nioengine=null\nrw=write\nbs=2k\nbssplit=4k/100,,8k/100\n", Same::Each),
        ("[a]\nrw=read\nbssplit=,16k\n", Same::Each),
        ("[a]\nrw=write\nbs=1k,8k\nbssplit=:\n", Same::Each),
        ("[a]\nioengine=sync\nrw=randrw\n", Same::Together),
        ("[a]\nioengine=vsync\nrw=write\nbs=8k\nfsync=4\n", Same::Each),
        ("[a]\nioengine=pvsync\nrw=randread\n", Same::Each),
        ("[a]\nioengine=pvsync2\nhipri\nhipri_percentage=50\nrw=randwrite\ndirect=1\n", Same::Each),
        ("[a]\nioengine=mmap\nrw=write\nfsync=16\n", Same::Each),
        ("[a]\nioengine=mmap\nrw=randrw\ndirect=1\n", Same::Together),
        (
            "[a]\nioengine=io_uring\niodepth=8\nrw=randread\nsqthread_poll\nregisterfiles\nfixedbufs\n",
            Same::Each,
        ),
        ("[a]\nioengine=io_uring\niodepth=8\nrw=write\nnonvectored=0\nforce_async=4\n", Same::Each),
        ("[a]\nioengine=libaio\niodepth=8\nrw=randwrite\ndirect=1\nuserspace_reap\n", Same::Each),
        ("[a]\nioengine=falloc\nfallocate=none\nrw=write\nbs=64k\n", Same::Each),
        ("[a]\nioengine=ftruncate\nrw=write\nbs=64k\n", Same::Each),
        ("[a]\nioengine=splice\nrw=read\n", Same::Each),
        ("[a]\nioengine=splice\nrw=write\nbs=256k\nfsync=2\n", Same::Each),
        ("[a]\nioengine=splice\nrw=randrw\niodepth=4\n", Same::Together),
        ("[a]\nioengine=filecreate\nnrfiles=4\n", Same::Each),
        ("[a]\nioengine=filestat\nnrfiles=4\nrw=write\nstat_type=statx\n", Same::Each),
        ("[a]\nioengine=filedelete\nnrfiles=4\nbs=64k\n", Same::Each),
        ("[a]\nioengine=posixaio\niodepth=4\nrw=randread\n", Same::Each),
        ("[a]\nioengine=null\nrw=randrw\nsize=16m\n", Same::Together),
        ("[a]\nioengine=null\nrw=trim\ndescription=of trims\ndisk_util=0\n", Same::Each),
        ("[a]\nioengine=null\nrw=randrw\nunified_rw_reporting=mixed\n", Same::Together),
        ("[a]\nioengine=null\nrw=randrw\nunified_rw_reporting=both\n", Same::Together),
        ("[a]\nrw=read\ngtod_reduce=1\nstonewall\n", Same::Each),
        ("[a]\nrw=write\ndisable_lat=1\ndisable_slat=1\nthread\n", Same::Each),
        (
            "[a]\nrw=write\nlat_percentiles=1\nclat_percentiles=0\npercentile_list=99.9:50\nfsync=8\n",
            Same::Each,
        ),
        ("[a]\nrw=read\ncontinue_on_error=all\nrate=64m\n", Same::Each),
        ("[a]\nrw=read\nioengine=libaio\nslat_percentiles=1\n", Same::Each),
        (
            "[a]\nrw=randread\ndirect=1\nioengine=libaio\niodepth=4\ncmdprio_percentage=50\ncmdprio_class=3\n",
            Same::Each,
        ),
        (
            "[a]\nrw=write\ndirect=1\nioengine=io_uring\nlat_percentiles=1\nclat_percentiles=0\nprioclass=2\nprio=2\n\
             cmdprio_bssplit=4k/30/2/5:4k/30/3/7\n",
            Same::Each,
        ),
    ] {
        check(&format!("[global]\nsize=2m\n{rest}"), same);
    }
}

/// Each job is one that somebody could have written; those that need no file of their own to tell are together in one.
#[test]
fn corners_of_the_grammar_mean_the_same() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("corners_of_the_grammar_mean_the_same", &why);
    }
    for job in [
        "[global]\nioengine=null\nsize=64k ; trailing\n[a]\nrw=read # too\n[global]\nbs=8k\n[b]\nrw=write\n",
        "[a b]\nioengine=null\nsize=64k\nrw=read\n[a b]\nioengine=null\nsize=32k\nrw=trim\nbs=4k,8k,16k\n",
        "[a]\nioengine=null\nsize=64k\nrw=read\nnew_group\n[b]\nioengine=null\nsize=64k\nnew_group\nrw=write\n",
        // Sections of flags alone.
        "[global]\nthread\n[a]\nioengine=null\nsize=64k\nlog_max_value=1\n[b]\nstonewall\nioengine=null\nsize=4k\n",
        "[global]\nioengine=null\nsize=64k\n[a]\nlog_unix_epoch=1\n[b]\nstonewall\n[c]\n",
        // What one job logs, another one replays.
        "[global]\nsize=64k\n[a]\nrw=randwrite\nwrite_iolog=ops\n[b]\nstonewall\nread_iolog=./ops\n[c]\nrw=read\n",
    ] {
        check(job, Same::Each);
    }
    let of_all = |global: &str, jobs: &[&str]| {
        let sections = jobs.iter().enumerate().map(|(at, job)| format!("[j{at}]\n{job}"));
        format!("[global]\nsize=64k\n{global}{}", sections.collect::<String>())
    };
    let nothing = [
        "rw=read\nbs=3k\n",
        "rw=read\noffset=60k\n",
        "rw=read\nio_size=100k\n",
        "rw=randread\nio_limit=20k\n",
        "rw=read:8k\n",
        "rw=randread:4\nrw_sequencer=sequential\nnumber_ios=10\n",
        "rw=read\nloops=3\nio_size=96k\n",
        "rw=read\nloops=0\n",
        "rw=read\nnumber_ios=5\nloops=2\n",
        "rw=rw\nrwmixwrite=100\n",
        "rw=randread\nnrfiles=3\nfile_service_type=random:2\n",
        "rw=read\nzonemode=strided\nzonesize=8k\nzonerange=16k\nio_size=128k\n",
        "rw=randread\npercentage_random=0\n",
        "rw=read\nthinktime=1ms\nthinktime_blocks=4\nthinktime_blocks_type=issue\n",
        "rw=randread\nblockalign=8k\nnorandommap\n",
        "rw=read\ndescription=it's \"quoted\" \\ back;slash\n",
        "rw=write\nsize=0x10000\nblocksize=8k,0x1000\nnumjobs=02\n",
        "rw=randread\nrandom_distribution=zipf:0\n",
        "rw=randtrimwrite\nbs=4k,8k,4k\n",
    ];
    check(&of_all("ioengine=null\n", &nothing), Same::Each);
    let files = [
        "rw=write\nfilename=x\\:y\n",
        "rw=write\nfilename_format=$jobname.$jobnum.$filenum.q\nnrfiles=2\nnumjobs=2\n",
        "rw=write\nunlink_each_loop=1\nloops=2\n",
        "rw=write\ncreate_on_open=1\nnrfiles=4\nopenfiles=1\n",
        "rw=read\npre_read=1\ninvalidate=0\n",
        "rw=randwrite\nverify=sha256\nverify_backlog=4\nbs=2k\n",
        "rw=write\nverify=pattern\nverify_pattern=\"abc\"%o\n",
    ];
    check(&of_all("", &files), Same::Each);
}

/// The peer counts no latencies of such jobs, so that keys differ.
#[test]
fn what_ends_within_its_ramp_is_reported_whole() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("what_ends_within_its_ramp_is_reported_whole", &why);
    }
    let job = "[global]\nioengine=null\nsize=64k\nramp_time=60\n[a]\nrw=read\n[b]\nrw=write\nloops=2\n[c]\nrw=randread\n\
               io_size=96k\n[d]\nrw=read\nnumber_ios=3\n[e]\nrw=randread\niodepth=4\nioengine=libaio\n";
    let bench = Bench::new();
    let [peer, ours] = [&["fio"][..], &[FATHOM, "fio"]].map(|program| document(&bench, program, job));
    assert_eq!(figures(&ours, Same::Each), figures(&peer, Same::Each));
}

/// What it does to the CPUs depends on who else is there; that it is counted, and as what, does not.
#[test]
fn a_job_that_keeps_cpus_busy_beside_another() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("a_job_that_keeps_cpus_busy_beside_another", &why);
    }
    let job = "[cpu]\nioengine=cpuio\nrw=write\ncpuload=50\ncpuchunks=5000\nexit_on_io_done=1\n[io]\nrw=read\nsize=1m\nrate=8m\n";
    let bench = Bench::new();
    let peer = document(&bench, &["fio"], job);
    let ours = document(&bench, &[FATHOM, "fio"], job);
    for document in [&peer, &ours] {
        let (busy, io) = (&jobs(document)[0]["read"], &jobs(document)[1]["read"]);
        assert_eq!(
            [&busy["io_bytes"], &busy["runtime"], &busy["bw"], &io["total_ios"]],
            [0, 0, 0, 256],
            "{document}"
        );
        // A chunk and a pause take 10 ms, the other job 125 ms; a busy machine takes longer for each.
        let (counted, timed) = (busy["total_ios"].as_u64(), busy["clat_ns"]["N"].as_u64());
        assert!(counted == timed && counted > Some(0), "{document}");
        assert!(busy["clat_ns"]["min"].as_u64() >= Some(5_000_000), "{document}");
    }
    let missing: Vec<String> = keys(&peer).difference(&keys(&ours)).cloned().collect();
    assert!(missing.is_empty(), "the peer has, and fathom lacks, {missing:#?}");
}

#[test]
fn a_size_in_percent_of_filesize() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("a_size_in_percent_of_filesize", &why);
    }
    for rest in ["offset=25%\nsize=50%\n", "offset_increment=25%\nsize=25%\nnumjobs=4\nfilename=shared\n"] {
        check(&format!("[a]\nrw=read\nfilesize=4m\n{rest}"), Same::Each);
    }
}

/// How idle the CPUs are depends on who else is there; what is said of it does not.
#[test]
fn idle_cpus_are_shown_in_the_same_places() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("idle_cpus_are_shown_in_the_same_places", &why);
    }
    let bench = Bench::new();
    for how in ["system", "percpu"] {
        let words = [
            &format!("--idle-prof={how}"),
            "--output-format=json",
            "--name=a",
            "--ioengine=null",
            "--rate_iops=500",
            "--number_ios=100",
            "--size=1m",
        ];
        let theirs = bench.run(&[&["fio"], &words[..]].concat()).json();
        let ours = bench.run(&[&[FATHOM, "fio"], &words[..]].concat()).expect(0, &[]).json();
        let names = |document: &Value| -> Vec<String> {
            document["cpu_idleness"].as_object().expect("it is there").keys().cloned().collect()
        };
        assert_eq!(names(&ours), names(&theirs));
        let idle = &ours["cpu_idleness"];
        let system = idle["system"].as_f64().expect("a number");
        assert!((0.0..=100.0).contains(&system) && idle["unit_mean"].as_f64() > Some(0.0), "{idle}");
    }
    let words = ["--idle-prof=percpu", "--name=a", "--ioengine=null", "--size=1m"];
    let shown = |report: &str| -> Vec<String> {
        let lines = report.lines().skip_while(|line| *line != "CPU idleness:");
        lines.map(|line| line.replace(|c: char| c.is_ascii_digit() || c == '.', "")).collect()
    };
    let theirs = shown(&bench.run(&[&["fio"], &words[..]].concat()).out);
    assert_eq!(shown(&bench.run(&[&[FATHOM, "fio"], &words[..]].concat()).out), theirs);
    assert_eq!(theirs.len(), 4);
}
