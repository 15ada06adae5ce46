//! Findings that the real thing provokes: caps of control groups, limits of queues, filesystems without direct I/O, what is in the
//! page cache, settings that change meanwhile. Those of constructed records are in `analysis/validity/tests`.

use crate::support::device::{Stage, image, text, with_root};
use crate::support::{Bench, FATHOM, noise, number, tool};
use rustix::fs::{Mode, OFlags};
use std::fs;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

/// The evidence of a finding of the last run, if it was told.
fn told(bench: &Bench, id: &str) -> Option<String> {
    let report = bench.report();
    let findings = report["validity"].as_array().expect("a list");
    let found = findings.iter().find(|finding| finding["id"] == id)?;
    let text = |name: &str| found[name].as_str().expect("it is a text");
    Some(format!("{}: {}", text("severity"), text("evidence")))
}

fn check_told(bench: &Bench, id: &str, says: &[&str]) {
    let evidence =
        told(bench, id).unwrap_or_else(|| panic!("{id} is not in {:#}", bench.report()["validity"]));
    for fragment in says {
        assert!(evidence.contains(fragment), "{fragment} is not in {evidence}");
    }
}

/// `/sys/block/…` of a device.
fn block(device: &str) -> PathBuf {
    Path::new("/sys/block").join(device.trim_start_matches("/dev/"))
}

/// The largest operation of a device's queue in KiB; set to what the device takes, since a loop device keeps what it was set to
/// before.
fn queue_limit(device: &str) -> Result<PathBuf, String> {
    let queue = block(device).join("queue");
    let most = fs::read_to_string(queue.join("max_hw_sectors_kb")).expect("it has a queue");
    let limit = queue.join("max_sectors_kb");
    set(&limit, most.trim())?;
    Ok(limit)
}

fn set(path: &Path, value: &str) -> Result<(), String> {
    fs::write(path, value).map_err(|error| format!("{}: {error}", path.display()))
}

/// A device full of what does not compress, and larger than what the device's counters are compared from.
fn full_device(bench: &Bench, stage: &mut Stage) -> Result<String, String> {
    let size = 32 << 20;
    let path = image(bench, "full.img", size, &[(0, &noise(size))]);
    stage.attach_with(&path, &["--direct-io=on"])
}

/// A new control group with one setting, of either version; what is above has the controller.
fn group(stage: &mut Stage, first: (&str, &str, &str), second: (&str, &str)) -> Result<PathBuf, String> {
    let root = Path::new("/sys/fs/cgroup");
    let (controller, file, value) = first;
    let name = format!("fathom-{}-{}", std::process::id(), controller);
    let (folder, file, value) = if root.join(controller).is_dir() {
        (root.join(controller).join(name), file, value)
    } else {
        (root.join(name), second.0, second.1)
    };
    fs::create_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    stage.later("rmdir", &[text(&folder)]);
    set(&folder.join(file), value)?;
    Ok(folder)
}

#[test]
fn caps_of_control_groups_are_told() {
    with_root("caps_of_control_groups_are_told", |bench, stage| {
        let device = full_device(bench, stage)?;
        let number = fs::read_to_string(block(&device).join("dev")).expect("it has a number");
        let number = number.trim();
        let of_io = group(
            stage,
            ("blkio", "blkio.throttle.read_iops_device", &format!("{number} 500")),
            ("io.max", &format!("{number} riops=500")),
        )?;
        let of_cpu = group(stage, ("cpu", "cpu.cfs_quota_us", "50000"), ("cpu.max", "50000 100000"))?;
        for (group, id, says) in [(of_io, "cgroup.io-limit", "500"), (of_cpu, "cgroup.cpu-limit", "50000")] {
            let join = format!("echo $$ > {}/cgroup.procs && exec \"$0\" \"$@\"", group.display());
            let line = ["run", "--target", &device, "--time", "1s", "--quiet"];
            bench.fathom_with(&line).expect(0, &[]);
            if told(bench, id).is_some() {
                return Err(format!("this machine is capped itself: {id}"));
            }
            bench.run(&[&["sh", "-c", &join, FATHOM], &line[..]].concat()).expect(0, &[]);
            check_told(bench, id, &["warn", says]);
        }
        Ok(())
    });
}

#[test]
fn operations_larger_than_a_queue_takes_are_told() {
    with_root("operations_larger_than_a_queue_takes_are_told", |bench, stage| {
        let device = full_device(bench, stage)?;
        let limit = queue_limit(&device)?;
        set(&limit, "16")?;
        let line = format!("run --target {device} --block-size 64KiB --time 1s --quiet");
        bench.fathom(&line).expect(0, &[]);
        check_told(
            bench,
            "device.split",
            &["warn", " each)", "ours are of 64 KiB", "its queue takes 16 KiB (max_sectors_kb)"],
        );
        queue_limit(&device)?;
        bench.fathom(&line).expect(0, &[]);
        assert_eq!(told(bench, "device.split"), None);
        Ok(())
    });
}

#[test]
fn a_setting_that_changes_meanwhile_is_told() {
    with_root("a_setting_that_changes_meanwhile_is_told", |bench, stage| {
        let device = full_device(bench, stage)?;
        let limit = queue_limit(&device)?;
        // What goes on until it is stopped, so that the change lies within however slow the machine is.
        let mut running = bench.start(&format!("run --target {device} --time 10min"));
        running.wait_for("1 s  ");
        set(&limit, "64")?;
        running.signal(rustix::process::Signal::INT);
        running.ended();
        check_told(bench, "environment.changed", &["max_sectors_kb", "64"]);
        queue_limit(&device)?;
        Ok(())
    });
}

#[test]
fn what_the_page_cache_answers_is_no_result() {
    with_root("what_the_page_cache_answers_is_no_result", |bench, stage| {
        let device = stage.ext4(bench, "plain.img")?;
        let at = stage.mount(bench, "plain", &[&device])?;
        fs::write(at.join("file"), noise(4 << 20)).expect("there is room");
        tool("sync", &["-f", text(&at)])?;
        // Once it is read it is in memory, and goes over it many times.
        let line = "run --target plain/file --direct false --time 1s --quiet";
        bench.fathom(line).expect(0, &[]);
        check_told(bench, "cache.page-cache-read", &["invalid", "the device has read"]);
        check_told(bench, "cache.fits-memory", &["warn", "buffered I/O on 4 MiB"]);
        bench.fathom("run --target plain/file --time 1s --quiet").expect(0, &[]);
        assert_eq!(told(bench, "cache.page-cache-read"), None);
        assert_eq!(told(bench, "cache.direct-not-honoured"), None);
        Ok(())
    });
}

/// A loop device counts what it is asked for, whoever answers; the disk below counts what it is asked.
#[test]
fn what_the_page_cache_behind_a_loop_device_answers_is_no_result() {
    with_root("what_the_page_cache_behind_a_loop_device_answers_is_no_result", |bench, stage| {
        let direct = full_device(bench, stage)?;
        let line = |device: &str| format!("run --target {device} --block-size 64KiB --time 1s --quiet");
        bench.fathom(&line(&direct)).expect(0, &[]);
        assert_eq!(told(bench, "cache.loop-read"), None);
        let size = 32 << 20;
        // In memory from here on, for as long as it was not written long ago.
        let path = image(bench, "buffered.img", size, &[(0, &noise(size))]);
        let buffered = stage.attach(&path)?;
        bench.fathom(&line(&buffered)).expect(0, &[]);
        check_told(bench, "device.loop-buffered", &["warn", "loop dio is 0"]);
        check_told(bench, "cache.loop-read", &["invalid", "the disk below the loop device has read"]);
        Ok(())
    });
}

/// Somebody else who reads a device over and over, past the page cache, until it is dropped.
struct Reader {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Reader {
    /// Begins, and has read a part when it returns.
    fn begin(device: &str) -> Result<Self, String> {
        let flags = OFlags::RDONLY | OFlags::DIRECT;
        let file = rustix::fs::open(device, flags, Mode::empty()).map_err(|error| error.to_string())?;
        let file = fs::File::from(file);
        let is_over = Arc::new(AtomicBool::new(false));
        let (tell, told) = mpsc::channel();
        let over = Arc::clone(&is_over);
        let thread = std::thread::spawn(move || {
            // Where a page begins, as direct I/O asks for.
            let mut memory = vec![0; (1 << 20) + 4096];
            let start = memory.as_ptr().align_offset(4096);
            while !over.load(Ordering::Relaxed) {
                file.read_exact_at(&mut memory[start..start + (1 << 20)], 0).expect("the device is there");
                tell.send(()).ok();
            }
        });
        told.recv().map_err(|error| error.to_string())?;
        Ok(Self { is_over, thread: Some(thread) })
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

/// Whoever reads as well takes from what is measured, however little that asks for.
#[test]
fn others_that_use_the_device_are_told() {
    with_root("others_that_use_the_device_are_told", |bench, stage| {
        let device = full_device(bench, stage)?;
        let line = format!("run --target {device} --read 100% --rate 100/s --time 2s --quiet");
        bench.fathom(&line).expect(0, &[]);
        assert_eq!(told(bench, "device.others"), None);
        let reader = Reader::begin(&device)?;
        bench.fathom(&line).expect(0, &[]);
        drop(reader);
        check_told(bench, "device.others", &["warn", "the device has read", "that nobody asked for here"]);
        Ok(())
    });
}

/// With its data in the journal, ext4 would take direct I/O and do it through the page cache: what is asked for is refused, and what
/// is not is measured as what it is.
#[test]
fn a_filesystem_that_has_no_direct_io_is_told() {
    with_root("a_filesystem_that_has_no_direct_io_is_told", |bench, stage| {
        let device = stage.ext4(bench, "journal.img")?;
        let at = stage.mount(bench, "journal", &["-o", "data=journal", &device])?;
        fs::write(at.join("file"), noise(1 << 20)).expect("there is room");
        tool("sync", &["-f", text(&at)])?;
        let says = ["plan.direct-refused", "refused by ext4"];
        bench.fathom("run --target journal/file --direct true --time 1s").expect(2, &says);
        bench.fathom("run --target journal/file --time 1s --quiet").expect(0, &[]);
        check_told(bench, "cache.page-cache-read", &["invalid", "the device has read"]);
        Ok(())
    });
}

#[test]
fn writes_to_a_filesystem_that_is_nearly_full_are_told() {
    with_root("writes_to_a_filesystem_that_is_nearly_full_are_told", |bench, stage| {
        let device = stage.ext4(bench, "small.img")?;
        let at = stage.mount(bench, "small", &[&device])?;
        fs::write(at.join("file"), noise(1 << 20)).expect("there is room");
        let line = "run --target small/file --read 0% --overwrite --time 200ms --quiet";
        bench.fathom(line).expect(0, &[]);
        assert_eq!(told(bench, "filesystem.nearly-full"), None);
        // Until nothing fits; in small pieces, of which the last that does is small.
        let mut filler = fs::File::create(at.join("filler")).expect("there is room");
        let piece = noise(16 << 10);
        while filler.write_all(&piece).is_ok() {}
        bench.fathom(line).expect(0, &[]);
        check_told(bench, "filesystem.nearly-full", &["warn"]);
        Ok(())
    });
}

#[test]
fn streams_of_one_region_and_random_writes_that_leave_blocks_out_are_told() {
    let bench = Bench::new();
    let job = |access: &str, coverage: &str| {
        format!(
            "[target.file]\npath = 'file'\nsize = '1MiB'\n\n[workload.w]\nread = '0%'\naccess = '{access}'\n{coverage}\n\
             [stream.one]\noperations = 128\n\n[stream.other]\noperations = 256\n"
        )
    };
    bench.write("job.toml", job("sequential", ""));
    bench.fathom("run job.toml --quiet").expect(0, &[]);
    check_told(&bench, "region.shared", &["\"one\" and \"other\" run sequentially over one region of file"]);
    assert_eq!(told(&bench, "region.part-touched"), None);
    bench.write("job.toml", job("random", ""));
    bench.fathom("run job.toml --overwrite --quiet").expect(0, &[]);
    // (1 − 1/256)²⁵⁶ are left out; half as many as there are blocks are not taken for a filling.
    check_told(
        &bench,
        "region.part-touched",
        &["stream \"other\"", "1.00 times", "about 63.3 % of its 256 blocks of 4 KiB"],
    );
    bench.write("job.toml", job("random", "coverage = 'once-per-pass'\n"));
    bench.fathom("run job.toml --overwrite --quiet").expect(0, &[]);
    assert_eq!(told(&bench, "region.part-touched"), None);
}

/// A process that stands still over the end of its ramp sees that late, with a full queue: what was in flight since then is of the
/// measured time.
#[test]
fn an_edge_that_is_seen_late_leaves_what_is_in_flight_to_what_follows() {
    with_root("an_edge_that_is_seen_late_leaves_what_is_in_flight_to_what_follows", |bench, stage| {
        let device = full_device(bench, stage)?;
        let load = "--access random --queue-depth 8 --rate 2000000/s --ramp 3s --time 8s";
        let mut running = bench.start(&format!("run --target {device} {load}"));
        running.wait_for("1 s  ");
        running.signal(rustix::process::Signal::STOP);
        // The clock goes on meanwhile.
        let meanwhile =
            "[target.t]\nkind = \"null\"\nsize = \"1GiB\"\n[stream.s]\n[stage.main]\ntime = \"4s\"\n";
        let meanwhile = bench.write("meanwhile.toml", meanwhile);
        bench.fathom(&format!("run {} --store another --quiet", text(&meanwhile))).expect(0, &[]);
        running.signal(rustix::process::Signal::CONT);
        running.ended();
        let report = bench.report();
        let stream = &report["steps"][0]["streams"][0];
        let held = number(stream, "/queue_depth_held");
        // Where it is stopped after some have come back, they are fewer for all that time.
        assert!(held > 0.0 && held < 8.01, "{held} of 8: {stream:#}");
        for interval in stream["series"].as_array().expect("a list") {
            let held = number(interval, "/queue_depth_held");
            assert!(held < 8.01, "{held} of 8: {interval:#}");
        }
        assert_eq!(told(bench, "little.accounting"), None);
        Ok(())
    });
}
