//! Connections and programs as load (`net`, `exec`): both ends here, one end the peer whose jobs fathom runs, and what is
//! refused without permission.

use crate::support::{Bench, FATHOM, skip, tool};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::net::{TcpListener, UdpSocket};
use std::process::{Command, Stdio};

fn free_port() -> u16 {
    let socket = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    socket.local_addr().expect("it has one").port()
}

fn document(bench: &Bench, job: &str, consent: &[&str]) -> Value {
    bench.write("job.fio", job);
    let arguments = ["--output-format=json", "--output=out.json", "job.fio"];
    bench.run(&[&[FATHOM, "fio"], consent, &arguments].concat()).expect(0, &[]);
    let text = std::fs::read_to_string(bench.path("out.json")).expect("it was written");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in {text}"))
}

/// I/Os and bytes of a job.
fn moved(document: &Value, job: usize, kind: &str) -> (u64, u64) {
    let of = &document["jobs"][job][kind];
    let count = |key: &str| of[key].as_u64().unwrap_or_else(|| panic!("{key} in {of}"));
    (count("total_ios"), count("io_bytes"))
}

#[test]
fn both_ends_move_the_same_whatever_the_protocol() {
    let port = free_port();
    let v6 = UdpSocket::bind("[::1]:0").is_ok();
    if !v6 {
        skip("both_ends_move_the_same_whatever_the_protocol", "this host has no IPv6: tcpv6, udpv6");
    }
    let tcp = format!("port={port}\nlisten\n|port={port}\nhostname=localhost\nnodelay=1\n");
    // What is answered is not lost.
    let udp = format!("port={port}\npingpong\n|port={port}\nhostname=localhost\npingpong\n");
    let unix = "hostname=socket\n|hostname=socket\n".to_owned();
    let all = [("tcp", &tcp), ("tcpv6", &tcp), ("udp", &udp), ("udpv6", &udp), ("unix", &unix)];
    for (protocol, ends) in all.into_iter().filter(|(protocol, _)| v6 || !protocol.ends_with("v6")) {
        let bench = Bench::new();
        let (reads, writes) = ends.split_once('|').expect("two ends");
        let global = format!("[global]\nioengine=net\nprotocol={protocol}\nbs=4k\nsize=1m\n");
        let job = format!("{global}[rx]\nrw=read\n{reads}[tx]\nrw=write\n{writes}");
        let document = document(&bench, &job, &[]);
        assert_eq!(moved(&document, 0, "read"), (256, 1 << 20), "{protocol}");
        assert_eq!(moved(&document, 1, "write"), (256, 1 << 20), "{protocol}");
        assert!(!bench.path("socket").exists(), "{protocol}");
    }
}

#[test]
fn the_peer_takes_what_fathom_sends_and_fathom_what_the_peer_sends() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("the_peer_takes_what_fathom_sends_and_fathom_what_the_peer_sends", &why);
    }
    let bench = Bench::new();
    let port = format!("--port={}", free_port());
    let common = [&port, "--ioengine=net", "--bs=4k", "--size=1m"];
    let listening = ["--name=rx", "--rw=read", "--listen"];
    let sending = ["--name=tx", "--rw=write", "--hostname=127.0.0.1"];
    for ping_pong in [&[][..], &["--pingpong"]] {
        // Engines come before their options.
        let order = |ends: &[&'static str]| -> Vec<String> {
            let words =
                ends[..1].iter().chain(&common[1..]).chain(&common[..1]).chain(&ends[1..]).chain(ping_pong);
            words.map(|word| (*word).to_owned()).collect()
        };
        let mut fio = Command::new("fio")
            .args(order(&listening))
            .current_dir(bench.path("."))
            .stdout(Stdio::piped())
            .spawn()
            .expect("fio can be started");
        let mut lines = BufReader::new(fio.stdout.take().expect("it is piped")).lines();
        let waits = lines.by_ref().map_while(Result::ok).find(|line| line.contains("waiting for connection"));
        assert!(waits.is_some());
        let ours: Vec<String> =
            [FATHOM, "fio"].map(str::to_owned).into_iter().chain(order(&sending)).collect();
        let ours: Vec<&str> = ours.iter().map(String::as_str).collect();
        let ended = bench.run(&ours);
        ended.expect(0, &[]);
        assert!(ended.out.contains("total=0,256,0,0"), "{ended:?}");
        let said: Vec<String> = lines.map_while(Result::ok).collect();
        assert!(fio.wait().expect("it ends").success(), "{said:#?}");
        assert!(said.iter().any(|line| line.contains("err= 0")), "{said:#?}");

        // The other way round; until fathom listens, fio finds nobody.
        let line = format!("fio {}", order(&listening).join(" "));
        let mut running = bench.start(&line);
        let sent = std::iter::repeat_with(|| Command::new("fio").args(order(&sending)).output())
            .map(|output| output.expect("fio can be started"))
            .find(|output| output.status.success() || !running.is_running());
        assert!(sent.is_some_and(|output| output.status.success()));
        let ended = running.ended();
        ended.expect(0, &[]);
        assert!(["total=256,0,0,0", "io=1024KiB"].iter().all(|part| ended.out.contains(part)), "{ended:?}");
    }
}

#[test]
fn other_hosts_and_programs_are_refused_by_name() {
    let bench = Bench::new();
    let at = "[workload.w]\nread = \"0%\"\n[stream.s]\npasses = 1\n";
    for (address, says) in [
        ("tcp://192.0.2.1:9", "connect to tcp://192.0.2.1:9"),
        ("udp://example.org:9", "connect to udp://example.org:9"),
    ] {
        let target = format!("[target.t]\nkind = \"peer\"\naddress = \"{address}\"\nsize = \"1MiB\"\n");
        bench.write("job.toml", target + at);
        bench.check_refused("run job.toml", 3, &["unsafe.net", says, "--allow-net"]);
    }
    let any = "[target.t]\nkind = \"peer\"\naddress = \"tcp://0.0.0.0:9\"\nsize = \"1MiB\"\n[workload.w]\n[stream.s]\n";
    bench.write("job.toml", any);
    bench.check_refused("run job.toml", 3, &["unsafe.net", "listen at tcp://0.0.0.0:9"]);
    let program = "[target.t]\nkind = \"null\"\n[workload.w]\n[stream.s]\nengine = \"exec\"\nprogram = \"touch made\"\n";
    bench.write("job.toml", program);
    bench.check_refused("run job.toml", 3, &["unsafe.exec", "the command \"touch made\"", "--allow-exec"]);
    assert!(!bench.path("made").exists());
}

#[test]
fn a_peer_that_is_not_there_is_said() {
    let bench = Bench::new();
    let port = free_port();
    let line = format!("fio --name=a --ioengine=net --port={port} --hostname=localhost --rw=write --size=1m");
    let says = format!("cannot connect to tcp://localhost:{port}");
    bench.fathom(&line).expect(1, &[&says, "start the end that listens first"]);
}

#[test]
fn programs_run_for_as_long_as_they_may() {
    let bench = Bench::new();
    let job = "[a]\nioengine=exec\nprogram=/bin/echo\narguments=said \"a b\" %n %r\nruntime=50\n";
    let document = document(&bench, job, &["--allow-exec"]);
    assert_eq!(moved(&document, 0, "read").1, 0);
    let said = std::fs::read_to_string(bench.path("a.stdout")).expect("it was written");
    assert_eq!(said, "said \"a b\" a 50\n");
    assert_eq!(std::fs::read(bench.path("a.stderr")).expect("it was written"), b"");

    // One that does not want to end is ended with all that it has started.
    bench.write("stubborn", "trap '' TERM\necho $$ > pid\nwhile true; do sleep 1000; done\n");
    let stream =
        "[stream.s]\nengine = \"exec\"\nprogram = \"sh stubborn\"\ntime = \"1s\"\nprogram_grace = \"10ms\"\n";
    bench.write("job.toml", format!("[target.t]\nkind = \"null\"\n[workload.w]\n{stream}"));
    bench.fathom("run --allow-exec --quiet job.toml").expect(0, &[]);
    let pid = std::fs::read_to_string(bench.path("pid")).expect("it was running");
    assert!(!std::path::Path::new("/proc").join(pid.trim()).exists());

    // How it ends is told, and is no failure of the run: as with the peer.
    let stream = "[stream.s]\nengine = \"exec\"\nprogram = \"false\"\n";
    bench.write("job.toml", format!("[target.t]\nkind = \"null\"\n[workload.w]\n{stream}"));
    bench.fathom("run --allow-exec --quiet job.toml").expect(0, &[]);
    let report = bench.report().to_string();
    assert!(report.contains(r#"the program \"false\" ended with exit status: 1"#), "{report}");
}
