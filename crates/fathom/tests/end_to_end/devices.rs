//! Block devices, as loop devices: what is in use or carries something is not written without the consent that it takes,
//! and not one byte of it changes.

use crate::support::device::{SIZE, content, empty_device, image, text, with_root};
use crate::support::{Bench, moved, noise, number, tool};
use fathom_io::clock::monotonic;
use fathom_units::Nanos;

/// Runs with these options on `device` are refused, and what it holds stays as it is.
fn check_kept(bench: &Bench, device: &str, options: &str, code: i32, says: &[&str]) {
    let before = content(device);
    let line = format!("run --target {device} --read 0% --time 1s {options}");
    bench.fathom(&line).expect(code, says);
    assert!(content(device) == before, "{device} was changed by {line}");
    assert_eq!(bench.stored(), 0, "{line}");
}

#[test]
fn a_mounted_device_is_refused_whatever_is_agreed_to() {
    with_root("a_mounted_device_is_refused_whatever_is_agreed_to", |bench, stage| {
        let device = stage.ext4(bench, "image")?;
        let at = stage.mount(bench, "mounted", &["-o", "ro", &device])?;
        std::os::unix::fs::symlink(&device, bench.path("link")).expect("the folder is ours");
        let link = bench.path("link").display().to_string();
        for options in ["", "--yes", "--overwrite", &format!("--destroy={device} --yes --overwrite")] {
            check_kept(bench, &device, options, 3, &["in-use", "is mounted on", text(&at), "unmount"]);
            check_kept(bench, &link, options, 3, &["in-use", "is mounted on"]);
        }
        let job = format!("[a]\nfilename={device}\nrw=write\nbs=4k\n");
        bench.write("job.fio", job);
        bench.fathom(&format!("fio --destroy={device} job.fio")).expect(1, &["is mounted on"]);
        // Reading takes nothing away from it.
        bench.fathom(&format!("run --target {device} --time 100ms")).expect(0, &[]);
        Ok(())
    });
}

/// A loop device discards, but not securely: nothing is put in the place of what was asked.
#[test]
fn a_purge_that_a_device_does_not_know_is_refused_with_what_else_there_is() {
    with_root("a_purge_that_a_device_does_not_know_is_refused_with_what_else_there_is", |bench, stage| {
        let device = stage.device(bench, "plain.img", &[])?;
        let line = format!(
            "steady latency --target {device} --purge secure-discard --size 100% --quick=600 --quiet --yes"
        );
        let ended = bench.fathom(&line);
        ended.expect(
            5,
            &["cannot be purged by secure-discard: begin anew with --purge discard or write-zeroes"],
        );
        assert!(!ended.err.contains("--resume"), "it would end the same way: {}", ended.err);
        let report = bench.report();
        let told = report["validity"].to_string();
        assert!(told.contains("pts.purge-refused") && told.contains("know no secure discard"), "{told}");
        assert_eq!(report["steps"].as_array().map(Vec::len), Some(1), "nothing was written");
        Ok(())
    });
}

/// What is still in the page cache is trimmed all the same: a descriptor that does not have the device to itself is told that
/// it is busy.
#[test]
fn what_was_just_written_to_a_device_is_trimmed() {
    with_root("what_was_just_written_to_a_device_is_trimmed", |bench, stage| {
        let device = stage.device(bench, "plain.img", &[])?;
        for job in [
            "rw=randwrite --verify=crc32c --trim_percentage=50 --trim_backlog=8",
            "rw=randtrimwrite --loops=2",
        ] {
            let line =
                format!("fio --name=a --filename={device} --bs=4k --size=1m --{job} --output-format=json");
            let ended = bench.fathom(&line);
            ended.expect(0, &[]);
            let report: serde_json::Value = serde_json::from_str(&ended.out).expect("JSON");
            assert!(number(&report, "/jobs/0/trim/total_ios") > 0.0 || job.contains("verify"), "{report:#}");
            assert_eq!(number(&report, "/jobs/0/error"), 0.0, "{report:#}");
        }
        Ok(())
    });
}

/// PTS-C loads three quarters of a device; what it purges is all of it, and so is what it asks consent for.
#[test]
fn a_clients_device_is_purged_whole_and_a_part_of_one_is_not_pts() {
    with_root("a_clients_device_is_purged_whole_and_a_part_of_one_is_not_pts", |bench, stage| {
        let device = stage.device(bench, "image", &[(0, &[1; 4096]), (SIZE - 4096, &[1; 4096])])?;
        let ended_in_rounds = |line: &str| {
            let mut run =
                bench.start(&format!("steady latency --target {device} --yes --destroy={device} {line}"));
            run.wait_for("response times");
            run.signal(rustix::process::Signal::INT);
            run.ended().expect(130, &["to go on: "]);
            let report = bench.report();
            (report["title"].clone(), report["answer"].clone())
        };
        let (title, part) = ended_in_rounds(&format!("--size {}", SIZE / 4));
        let why = part["deviations"][0].as_str().expect("one").to_owned();
        assert!(why.contains("(25 %) are purged and written where PTS-E has 100 %"), "{why}");
        assert_eq!(part["is_pts"], false);
        assert_eq!(title, format!("latency test of {device}, not PTS"));
        let page = bench.fathom("report last").expect(0, &[]).out.clone();
        let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(page.contains("Not PTS (only ") && page.contains("not PTS: only "), "{page}");
        assert_eq!(content(&device).last_chunk(), Some(&[1; 4096]), "what is not asked for is left");
        let (title, client) = ended_in_rounds("--class client");
        assert_eq!(
            (&client["is_pts"], title),
            (&true.into(), format!("PTS-C latency test of {device}").into())
        );
        assert_eq!(number(&client, "/setup/user_capacity_bytes"), SIZE as f64);
        assert_eq!(number(&client, "/setup/active_range_bytes"), (SIZE / 4 * 3) as f64);
        assert_eq!(number(&client, "/parts/0/bytes"), SIZE as f64, "purged");
        assert_eq!(number(&client, "/parts/1/bytes"), (2 * SIZE) as f64, "written before");
        assert_eq!(content(&device).last_chunk(), Some(&[0; 4096]), "purged");
        Ok(())
    });
}

#[test]
fn a_purge_is_done_as_asked_and_told() {
    with_root("a_purge_is_done_as_asked_and_told", |bench, stage| {
        let device = stage.device(bench, "image", &[(0, &[1; 4096]), (SIZE - 4096, &[1; 4096])])?;
        // With --purged nothing is purged: the operator says what was done.
        for (options, says, is_purged) in [
            ("--purge write-zeroes", "zeroes written (BLKZEROOUT", true),
            ("--purged=nvme-format", "before the test, as the operator says: nvme-format", false),
        ] {
            let line = format!(
                "steady wsat --target {device} --quick --size 100% --yes --destroy={device} {options}"
            );
            let mut run = bench.start(&line);
            run.wait_for("write saturation");
            run.signal(rustix::process::Signal::INT);
            run.ended().expect(130, &["to go on: "]);
            let report = bench.report();
            let first = report["steps"][0]["name"].as_str().expect("a name").to_owned();
            assert_eq!(first == "quick, not PTS: purge", is_purged, "{report:#}");
            let told = report["answer"]["purge"].as_str().expect("in words");
            assert!(told.starts_with(says), "{told}");
            assert!(report["notes"].to_string().contains(&format!("purge: {says}")), "{}", report["notes"]);
            let gaps = &report["answer"]["idle_between"];
            assert!(!is_purged || number(gaps, "/longest_s") < 10.0, "{gaps:#}");
        }
        Ok(())
    });
}

/// A loop device without a file behind it is as empty as a card reader without a card.
#[test]
fn a_device_without_a_medium_is_a_fault_of_the_target() {
    with_root("a_device_without_a_medium_is_a_fault_of_the_target", |bench, _| {
        let device = empty_device(bench)?;
        for options in ["", "--read 0%", "--size 1MiB"] {
            let line = format!("run --time 1s --target {device} {options}");
            bench.check_refused(&line, 4, &["target.no-medium", &device, "size of 0", "losetup"]);
        }
        Ok(())
    });
}

#[test]
fn a_device_with_a_filesystem_needs_consent_that_names_it() {
    with_root("a_device_with_a_filesystem_needs_consent_that_names_it", |bench, stage| {
        let device = stage.ext4(bench, "image")?;
        let other = stage.device(bench, "other", &[])?;
        std::os::unix::fs::symlink(&device, bench.path("link")).expect("the folder is ours");
        let remedy = format!("--destroy={device}");
        for options in
            ["", "--yes --overwrite", &format!("--destroy={other}"), "--destroy=/dev/loop", "--destroy="]
        {
            check_kept(bench, &device, options, 3, &["unsafe.signature", "ext4", &remedy]);
        }
        bench.write("job.fio", format!("[a]\nfilename={device}\nrw=write\nbs=4k\nsize=1m\n"));
        let before = content(&device);
        bench.fathom("fio job.fio").expect(1, &["ext4", &remedy]);
        bench.fathom("run job.fio").expect(3, &["ext4", &remedy]);
        assert!(content(&device) == before);
        // By a link to it the consent names the device too; with it the filesystem is gone.
        let link = bench.path("link");
        let line = format!("run --target link --read 0% --size 1MiB --time 200ms --destroy={}", text(&link));
        bench.fathom(&line).expect(0, &[]);
        assert!(content(&device)[..1 << 20] != before[..1 << 20]);
        assert!(content(&device)[1 << 20..] == before[1 << 20..], "beyond its part of the device");
        assert!(bench.report()["notes"].to_string().contains("is destroyed"));
        Ok(())
    });
}

#[test]
fn devices_that_carry_something_are_recognised() {
    let mbr = {
        let mut sector = vec![0_u8; 512];
        sector[446..462].copy_from_slice(&[0x80, 0, 2, 0, 0x83, 0, 3, 0, 0, 8, 0, 0, 0, 8, 0, 0]);
        sector[510..].copy_from_slice(&[0x55, 0xaa]);
        sector
    };
    let lvm = {
        let mut label = b"LABELONE".to_vec();
        label.extend_from_slice(&1_u64.to_le_bytes());
        label.extend_from_slice(&[0; 4]);
        label.extend_from_slice(&32_u32.to_le_bytes());
        label.extend_from_slice(b"LVM2 001");
        label
    };
    with_root("devices_that_carry_something_are_recognised", |bench, stage| {
        for (name, offset, bytes, kind) in [
            ("mbr", 0, &mbr[..], "mbr"),
            ("gpt", 512, b"EFI PART", "gpt"),
            ("gpt-copy", SIZE - 512, b"EFI PART", "gpt"),
            ("lvm", 512, &lvm, "lvm"),
            ("luks", 0, b"LUKS\xba\xbe\0\x02", "luks"),
            ("xfs", 0, b"XFSB", "xfs"),
            ("btrfs", 0x1_0040, b"_BHRfS_M", "btrfs"),
        ] {
            let device = stage.device(bench, name, &[(offset, bytes)])?;
            check_kept(
                bench,
                &device,
                "--yes",
                3,
                &["unsafe.signature", kind, &format!("--destroy={device}")],
            );
        }
        Ok(())
    });
}

#[test]
fn swap_is_refused_in_use_and_asks_for_consent_out_of_use() {
    with_root("swap_is_refused_in_use_and_asks_for_consent_out_of_use", |bench, stage| {
        let device = stage.device(bench, "image", &[])?;
        tool("mkswap", &[&device])?;
        check_kept(bench, &device, "--yes", 3, &["unsafe.signature", "swap"]);
        stage.swap(&device)?;
        let consent = format!("--yes --destroy={device}");
        let line = format!("run --target {device} --read 0% --time 1s {consent}");
        bench.fathom(&line).expect(3, &["in-use", "swap space", "swapoff"]);
        Ok(())
    });
}

#[test]
fn a_device_under_a_mapping_is_held() {
    with_root("a_device_under_a_mapping_is_held", |bench, stage| {
        let device = stage.device(bench, "image", &[])?;
        stage.map(&device, &format!("fathom-e2e-{}", std::process::id()))?;
        check_kept(bench, &device, &format!("--yes --destroy={device}"), 3, &["in-use", "held by"]);
        Ok(())
    });
}

#[test]
fn the_store_is_never_written_over() {
    with_root("the_store_is_never_written_over", |bench, stage| {
        let device = stage.ext4(bench, "image")?;
        let at = stage.mount(bench, "mounted", &[&device])?;
        let store = at.join("runs");
        std::fs::create_dir(&store).expect("it is ours");
        // The filesystem's own writes are over: the folder and the journal lie on the device.
        tool("sync", &["--file-system", text(&store)])?;
        let before = content(&device);
        let line = format!(
            "run --target {device} --read 0% --time 1s --yes --destroy={device} --store {}",
            text(&store)
        );
        bench.fathom(&line).expect(3, &["in-use", "fathom's own store", "never written"]);
        assert!(content(&device) == before);
        Ok(())
    });
}

#[test]
fn content_without_a_signature_needs_a_yes() {
    with_root("content_without_a_signature_needs_a_yes", |bench, stage| {
        let device = stage.device(bench, "dirty", &[(0, b"leftovers of a test")])?;
        check_kept(bench, &device, "", 3, &["unsafe.content", "--yes"]);
        check_kept(bench, &device, "--overwrite", 3, &["unsafe.content", "--yes"]);
        let line = format!("run --target {device} --read 0% --time 200ms --yes");
        bench.fathom(&line).expect(0, &[]);
        assert!(!content(&device).starts_with(b"leftovers"));
        // The peer's command line goes on with a note, as the peer does.
        let device = stage.device(bench, "again", &[(0, b"leftovers of a test")])?;
        bench.fathom(&format!("fio --name=a --filename={device} --rw=write --bs=1m")).expect(0, &[]);
        assert!(bench.report()["notes"].to_string().contains("as the job names it"));
        Ok(())
    });
}

#[test]
fn a_blank_device_is_measured_without_questions() {
    with_root("a_blank_device_is_measured_without_questions", |bench, stage| {
        let device = stage.device(bench, "image", &[])?;
        bench.write(
            "job.toml",
            format!(
                "[target.d]\npath = \"{device}\"\n[workload.w]\nblock_size = \"64KiB\"\nread = \"0%\"\n\
                 [stream.s]\npasses = 1\nqueue_depth = 4\n"
            ),
        );
        bench.fathom("run job.toml").expect(0, &[]);
        let report = bench.report();
        assert_eq!(moved(&report, "/steps/0/total", "write"), (SIZE >> 16, SIZE));
        // The kernel's counters of the device agree with ours.
        let device = &report["steps"][0]["devices"][0];
        assert!(!device.is_null(), "{report:#}");
        Ok(())
    });
}

#[test]
fn a_device_smaller_than_asked() {
    with_root("a_device_smaller_than_asked", |bench, stage| {
        let device = stage.device(bench, "image", &[])?;
        check_kept(bench, &device, "--size 1GiB", 4, &["1 GiB", "8 MiB"]);
        bench.write("job.fio", format!("[a]\nfilename={device}\nrw=write\nbs=4k\nsize=16m\n"));
        // A job of fio's is cut there, as fio does it.
        let said = "the region of the stream \"a\" is cut to 8 MiB: from 0 B on";
        bench.fathom("run job.fio").expect(0, &[said, "no more of the 16 MiB asked for"]);
        assert_eq!(moved(&bench.report(), "/steps/0/total", "write"), (SIZE >> 12, SIZE));
        Ok(())
    });
}

#[test]
fn direct_blocks_must_be_whole_sectors() {
    with_root("direct_blocks_must_be_whole_sectors", |bench, stage| {
        let backing = image(bench, "image", SIZE, &[]);
        let device = stage.attach_with(&backing, &["--sector-size", "4096"])?;
        let says = ["512 B", "4 KiB", "multiple", "direct"];
        check_kept(bench, &device, "--block-size 512 --direct true", 2, &says);
        check_kept(bench, &device, "--block-size 1000", 2, &["1000 B", "multiple"]);
        bench
            .fathom(&format!("run --target {device} --block-size 4096 --direct true --time 100ms"))
            .expect(0, &[]);
        Ok(())
    });
}

#[test]
fn a_read_only_device_is_not_written() {
    with_root("a_read_only_device_is_not_written", |bench, stage| {
        let backing = image(bench, "image", SIZE, &[]);
        let device = stage.attach_with(&backing, &["--read-only"])?;
        check_kept(bench, &device, "--yes", 4, &["read-only"]);
        bench.fathom(&format!("run --target {device} --time 100ms")).expect(0, &[]);
        Ok(())
    });
}

/// A job file that is a device is no job; nobody reads all of it to find out.
#[test]
fn a_device_is_no_job() {
    with_root("a_device_is_no_job", |bench, stage| {
        let device = stage.device(bench, "image", &[])?;
        for command in ["check", "plan", "run"] {
            bench.check_refused(&format!("{command} {device}"), 2, &["block device", "--target"]);
        }
        Ok(())
    });
}

/// The second half of the device lost its backing: reading there fails with EIO.
#[test]
fn io_errors_stop_the_run_or_are_counted_as_asked() {
    with_root("io_errors_stop_the_run_or_are_counted_as_asked", |bench, stage| {
        let backing = image(bench, "image", SIZE, &[]);
        let device = stage.attach(&backing)?;
        let file = std::fs::OpenOptions::new().write(true).open(&backing).expect("it is ours");
        file.set_len(SIZE / 2).expect("it is ours");
        for engine in ["psync", "io_uring", "libaio"] {
            for (policy, code, state) in
                [("\"stop\"", 5, "io_errors"), ("1000000", 0, "complete"), ("3", 5, "io_errors")]
            {
                bench.write(
                    "job.toml",
                    format!(
                        "[run]\non_error = {policy}\n[target.d]\npath = \"{device}\"\n\
                         [workload.w]\nblock_size = \"64KiB\"\n\
                         [stream.s]\npasses = 1\nqueue_depth = 1\nengine = \"{engine}\"\ndirect = true\n"
                    ),
                );
                let ended = bench.fathom("run job.toml");
                ended.expect(code, &[]);
                let report = bench.report();
                assert_eq!(report["state"], state, "{engine} {policy}: {ended:#?}");
                let errors = number(&report, "/steps/0/total/all/errors");
                let half = (SIZE / 2) >> 16;
                let expected = match policy {
                    "\"stop\"" => 1.0,
                    "3" => 4.0,
                    _ => half as f64,
                };
                assert_eq!(errors, expected, "{engine} {policy}");
                assert_eq!(moved(&report, "/steps/0/total", "read").0, half, "{engine} {policy}");
                let said = report["notes"].to_string();
                assert!(said.contains("Input/output error") && said.contains("4194304"), "{said}");
                assert_eq!(
                    report["steps"][0]["total"]["all"]["errors_by_number"][0]["errno"], 5,
                    "{:#}",
                    report["steps"][0]["total"]["all"]
                );
            }
        }
        Ok(())
    });
}

/// Writing to a device whose backing ran out of space.
#[test]
fn a_write_that_fails_ends_the_run() {
    with_root("a_write_that_fails_ends_the_run", |bench, stage| {
        stage.mount(bench, "small", &["-t", "tmpfs", "-o", "size=4m", "tmpfs"])?;
        let backing = image(bench, "small/image", SIZE, &[]);
        let device = stage.attach(&backing)?;
        let line = format!("run --target {device} --read 0% --block-size 64KiB --direct true --time 30s");
        bench.fathom(&line).expect(5, &[]);
        assert_eq!(bench.report()["state"], "io_errors");
        Ok(())
    });
}

/// Someone mounts or claims it between the look and the start: the claim is exclusive.
#[test]
fn a_device_is_held_for_the_whole_run() {
    with_root("a_device_is_held_for_the_whole_run", |bench, stage| {
        let device = stage.device(bench, "image", &[])?;
        let mut running =
            bench.start(&format!("run --target {device} --read 0% --rate 100/s --time 20s --size 1MiB"));
        running.wait_for("IOPS");
        let second = format!("run --target {device} --read 0% --time 1s --yes");
        bench.fathom(&second).expect(3, &["exclusively"]);
        running.signal(rustix::process::Signal::INT);
        running.ended().expect(130, &[]);
        Ok(())
    });
}

#[test]
fn a_report_is_never_written_to_a_device() {
    with_root("a_report_is_never_written_to_a_device", |bench, stage| {
        let device = stage.device(bench, "image", &[])?;
        std::os::unix::fs::symlink(&device, bench.path("link")).expect("the folder is ours");
        for (line, code) in [
            (format!("run --target sim: --time 1s --json {device}"), 2),
            ("run --target sim: --time 1s --json link".to_owned(), 2),
            (format!("fio --name=a --ioengine=null --size=1m --rw=read --output={device}"), 1),
        ] {
            check_kept_by(bench, &device, &line, code);
        }
        Ok(())
    });
}

fn check_kept_by(bench: &Bench, device: &str, line: &str, code: i32) {
    let before = content(device);
    bench.check_refused(line, code, &["is a block device"]);
    assert!(content(device) == before, "{device} was changed by {line}");
}

/// As above, for a scan: it finds the first sector that is lost, and changes nothing.
#[test]
fn a_scan_finds_the_sectors_that_cannot_be_read() {
    with_root("a_scan_finds_the_sectors_that_cannot_be_read", |bench, stage| {
        let backing = image(bench, "image", SIZE, &[(0, b"not mine")]);
        let device = stage.attach(&backing)?;
        let before = content(&device);
        let line = format!("scan {device} --full --zones 8 --block 64KiB --quiet --json");
        let document = bench.fathom(&line).expect(0, &["record: "]).json();
        // How fast a busy machine reads is not for a test to say.
        assert_eq!(
            (&document["unreadable"], &document["size_bytes"]),
            (&serde_json::json!([]), &SIZE.into())
        );
        assert_eq!(document["zones"].as_array().expect("a list").len(), 8);
        assert!(content(&device) == before, "it only reads");
        // Seven sectors before the end are lost.
        let kept = SIZE - 7 * 512;
        let file = std::fs::OpenOptions::new().write(true).open(&backing).expect("it is ours");
        file.set_len(kept).expect("it is ours");
        let document = bench.fathom(&line).expect(5, &["record: "]).json();
        assert_eq!(document["verdict"], "unreadable", "{document:#}");
        assert_eq!(document["unreadable"][0]["first_byte"], kept, "{document:#}");
        assert_eq!(document["unreadable"][0]["bytes"], 7 * 512, "{document:#}");
        let zones = document["zones"].as_array().expect("a list");
        assert!(number(&zones[7], "/errors") > 0.0 && zones[7]["slow"] == false, "what fails is not slow");
        assert_eq!(document["skipped"], serde_json::json!([]), "{document:#}");
        let page = bench.fathom("report last").expect(0, &[]).out.clone();
        assert!(page.contains("3.5 KiB in 1 place CANNOT BE READ"), "{page}");
        let listed =
            page.lines().any(|line| line.starts_with("  unreadable ") && line.contains(&kept.to_string()));
        assert!(listed && !page.contains("errors.io") && !page.contains("Input/output"), "{page}");
        Ok(())
    });
}

/// A device that holds nothing may answer reads without looking at its medium; what is on it is looked at, and said.
#[test]
fn reads_of_a_device_without_data_are_told() {
    with_root("reads_of_a_device_without_data_are_told", |bench, stage| {
        let half = noise(SIZE / 2);
        for (name, pieces, share, looked_at) in [
            // So many that are alike are enough.
            ("zeros", vec![], 100.0..=100.0, 250),
            // Three standard deviations of a thousand places.
            ("half", vec![(0, &half[..])], 45.0..=55.0, 1000),
            ("random", vec![(0, &half[..]), (SIZE / 2, &half[..])], 0.0..=0.0, 250),
        ] {
            let device = stage.device(bench, name, &pieces)?;
            let told = |options: &str| {
                bench.fathom(&format!("run --target {device} --time 200ms --quiet {options}")).expect(0, &[]);
                let report = bench.report();
                let findings = report["validity"].as_array().expect("a list");
                let told = findings.iter().find(|finding| finding["id"] == "target.zero-blocks")?;
                Some(told["evidence"].as_str().expect("in words").to_owned())
            };
            let evidence = told("");
            let found = evidence.as_deref().map_or(0.0, |evidence| {
                let whence = format!(
                    "of {looked_at} blocks of 4 KiB at random places of what was read of {device} are"
                );
                assert!(evidence.contains(&whence), "{evidence}");
                evidence.split(' ').next().and_then(|share| share.parse().ok()).expect("a share comes first")
            });
            assert!(share.contains(&found), "{name}: {evidence:?}");
            // Only its data is read.
            if name == "half" {
                assert_eq!(told("--size 4MiB"), None);
            }
            // What is written in the same run is no more what somebody has left there.
            let consent = format!("--yes --destroy={device}");
            assert_eq!(told(&format!("--read 0% --block-size 4KiB {consent}")), None, "{name}");
            assert_eq!(told(&format!("--read 50% --block-size 4KiB {consent}")), None, "{name}");
        }
        Ok(())
    });
}

/// A filesystem in memory has no device whose speed could be seen.
#[test]
fn a_file_in_memory_is_no_result() {
    with_root("a_file_in_memory_is_no_result", |bench, stage| {
        stage.mount(bench, "memory", &["-t", "tmpfs", "-o", "size=8m", "tmpfs"])?;
        for read in ["100%", "0%"] {
            let line = format!(
                "run --target memory/file --size 1MiB --time 200ms --direct false --read {read} --quiet"
            );
            let ended = bench.fathom(&line);
            assert!(ended.expect(0, &[]).out.contains("INVALID  target.in-memory"), "{ended:#?}");
        }
        Ok(())
    });
}

/// Somebody reads the device while it is scanned.
#[test]
fn a_scan_beside_another_reader_says_so() {
    with_root("a_scan_beside_another_reader_says_so", |bench, stage| {
        let size = 256 << 20;
        let device = stage.attach(&image(bench, "image", size, &[]))?;
        let line = format!("scan {device} --full --zones 32 --block 64KiB --quiet");
        let told = || {
            bench.fathom(&line).expect(0, &[]);
            bench.report()["validity"].to_string().contains("scan.disturbed")
        };
        let is_over = std::sync::atomic::AtomicBool::new(false);
        let is_told = std::thread::scope(|scope| {
            scope.spawn(|| {
                // Past the page cache, which would have all of it soon; not for ever, should the scan fail.
                let end = monotonic().after(Nanos::secs(60));
                while !is_over.load(std::sync::atomic::Ordering::Relaxed) && monotonic() < end {
                    let input = format!("if={device}");
                    tool(
                        "dd",
                        &[&input, "of=/dev/null", "bs=64k", "iflag=direct", "count=2048", "status=none"],
                    )
                    .expect("dd is everywhere");
                }
            });
            let is_told = told();
            is_over.store(true, std::sync::atomic::Ordering::Relaxed);
            is_told
        });
        assert!(is_told, "{:#}", bench.report()["validity"]);
        assert!(!told(), "{:#}", bench.report()["validity"]);
        Ok(())
    });
}
