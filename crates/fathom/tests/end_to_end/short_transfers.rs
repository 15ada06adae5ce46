//! Reads and writes that move less than they were asked to, on a filesystem that cuts them: the rest follows as part of the
//! same operation. Skipped aloud where none can be mounted.

use crate::support::short::{NAME, Short};
use crate::support::{Bench, skip};
use serde_json::Value;

const SIZE: usize = 1 << 20;
const OPERATIONS: u64 = 64;

/// Runs a job of 16 KiB operations over the whole of the file; what its document says of this direction, and how many
/// transfers were cut.
fn run(bench: &Bench, short: &Short, job: &str, direction: &str) -> (Value, u64) {
    short.held.lock().expect("nobody panics with it").cut = 0;
    bench
        .fathom(&format!(
            "fio --name=a --filename=there/{NAME} --size={SIZE} --bs=16k --output-format=json --output=report {job}"
        ))
        .expect(0, &[]);
    let text = std::fs::read_to_string(bench.path("report")).expect("it was written");
    let report: Value = serde_json::from_str(&text).expect("it is JSON");
    let cut = short.held.lock().expect("nobody panics with it").cut;
    (report["jobs"][0][direction].clone(), cut)
}

/// fio goes on with the rest as well, but counts only the last part of such an operation and ends before all blocks are done
/// (3.33: 51 of 64, 770048 B of 1 MiB).
fn check(bench: &Bench, short: &Short, engine: &str) {
    let expect = |job: &str, direction: &str| {
        let job = format!("--ioengine={engine} {job}");
        let (tally, cut) = run(bench, short, &job, direction);
        assert!(cut > 0, "{job}: nothing was cut");
        assert_eq!(tally["io_bytes"], SIZE as u64, "{job}");
        assert_eq!(tally["total_ios"], OPERATIONS, "{job}");
        // The kernel itself goes on with reads of io_uring.
        if engine != "io_uring" || direction != "read" {
            let shorts = tally["short_ios"].as_u64().expect("a count");
            assert!((1..=cut).contains(&shorts), "{job}: {shorts} of {cut}");
        }
    };
    expect("--rw=randwrite --buffer_pattern=0x5a --iodepth=4", "write");
    let whole = short.held.lock().expect("nobody panics with it").data.iter().all(|&byte| byte == 0x5a);
    assert!(whole, "{engine}: parts of the file were not written");
    expect("--rw=read", "read");
    // What was written in pieces is found, read in pieces: by calls, since reads of io_uring that the kernel goes on with here
    // come back whole with the wrong data (6.18), with the peer as well.
    expect("--rw=randwrite --verify=crc32c --iodepth=4 --do_verify=0", "write");
    let reader = if engine == "io_uring" { "psync" } else { engine };
    run(bench, short, &format!("--ioengine={reader} --rw=randwrite --verify=crc32c --verify_only"), "read");
}

#[test]
fn the_rest_of_a_short_transfer_follows() {
    const TEST: &str = "the_rest_of_a_short_transfer_follows";
    let bench = Bench::new();
    std::fs::create_dir(bench.path("there")).expect("the folder is ours");
    let short = match Short::mount(&bench.path("there"), SIZE) {
        Ok(short) => short,
        Err(why) => return skip(TEST, &why),
    };
    for engine in ["psync", "sync", "vsync", "pvsync", "pvsync2", "libaio", "io_uring"] {
        let obstacle = match engine {
            "io_uring" => fathom_io::probe_io_uring(),
            "libaio" => fathom_io::probe_libaio(),
            _ => None,
        };
        match obstacle {
            None => check(&bench, &short, engine),
            Some(why) => skip(TEST, &format!("{engine}: {why}")),
        }
    }
    drop(short);
}
