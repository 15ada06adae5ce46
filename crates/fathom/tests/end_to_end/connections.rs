//! Connections and programs as load (`net`, `exec`): both ends here, one end the peer whose jobs fathom runs, and what is
//! refused without permission.

use crate::support::{Bench, FATHOM, PATIENCE, skip, tool};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::net::{TcpListener, UdpSocket};
use std::os::unix::process::ExitStatusExt;
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
        let mut fio = Command::new("timeout")
            .args(["--signal=KILL", PATIENCE, "fio"])
            .args(order(&listening))
            .current_dir(bench.path("."))
            .stdout(Stdio::piped())
            .spawn()
            .expect("coreutils have timeout");
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
        let peer = ["--signal=KILL", PATIENCE, "fio"];
        let sent =
            std::iter::repeat_with(|| Command::new("timeout").args(peer).args(order(&sending)).output())
                .map(|output| output.expect("coreutils have timeout"))
                .take(10_000)
                .find(|output| output.status.success() || !running.is_running());
        assert!(sent.is_some_and(|output| output.status.success()));
        let ended = running.ended();
        ended.expect(0, &[]);
        assert!(["total=256,0,0,0", "io=1024KiB"].iter().all(|part| ended.out.contains(part)), "{ended:?}");
    }
}

/// Datagrams, and a socket of this host: whoever receives is there before the other begins, as nothing says so over UDP.
#[test]
fn datagrams_and_local_sockets_go_between_the_peer_and_fathom() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("datagrams_and_local_sockets_go_between_the_peer_and_fathom", &why);
    }
    for (sender, receiver) in [(&[FATHOM, "fio"][..], &["fio"][..]), (&["fio"], &[FATHOM, "fio"])] {
        for protocol in ["udp", "unix"] {
            let bench = Bench::new();
            let port = free_port();
            let socket = bench.path("socket").display().to_string();
            let (here, there) = match protocol {
                "udp" => (format!("--port={port}"), format!("--port={port} --hostname=127.0.0.1")),
                _ => (format!("--hostname={socket}"), format!("--hostname={socket}")),
            };
            let words = |name: &str, rw: &str, place: &str| -> Vec<String> {
                let line = format!(
                    "--name={name} --ioengine=net --protocol={protocol} --rw={rw} --bs=4k --size=64k {place} \
                     --output-format=json --output={name}.json"
                );
                line.split_whitespace().map(str::to_owned).collect()
            };
            // Where a datagram is lost, it would wait for ever.
            let mut receiving = Command::new("timeout")
                .args(["--signal=KILL", PATIENCE])
                .args(receiver)
                .args(words("rx", "read", &here))
                .current_dir(bench.path("."))
                .env("FATHOM_STORE", bench.store())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .expect("coreutils have timeout");
            let is_there = || if protocol == "udp" { is_bound(port) } else { is_listening(&socket) };
            while receiving.try_wait().expect("it is our child").is_none() && !is_there() {
                std::thread::yield_now();
            }
            let words: Vec<String> = words("tx", "write", &there);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let sent = bench.run(&[sender, &words].concat());
            let received = receiving.wait().expect("it is our child");
            assert!(
                !matches!((received.code(), received.signal()), (Some(137), _) | (_, Some(9))),
                "{protocol}: {receiver:?} did not end within {PATIENCE} s, and was killed; {sent:?}"
            );
            // fio 3.33 ends the job of a local socket with an error at either end, also of its own kind, all moved or not.
            assert!(sender[0] == "fio" && protocol == "unix" || sent.code == 0, "{protocol}: {sent:?}");
            assert!(
                receiver[0] == "fio" && protocol == "unix" || received.success(),
                "{protocol}: {received}"
            );
            for (name, kind) in [("tx", "write"), ("rx", "read")] {
                let text =
                    std::fs::read_to_string(bench.path(&format!("{name}.json"))).expect("it was written");
                let document: Value = serde_json::from_str(&text[text.find("{\n").expect("a document")..])
                    .unwrap_or_else(|error| panic!("{error} in {text}"));
                assert_eq!(moved(&document, 0, kind), (16, 65536), "{protocol} from {sender:?}: {name}");
            }
        }
    }
}

/// Whether somebody has bound this port: `local_address` ends with it in hexadecimal (`proc_net_udp(5)`).
fn is_bound(port: u16) -> bool {
    let table = std::fs::read_to_string("/proc/net/udp").expect("there is UDP");
    let mut addresses = table.lines().filter_map(|line| line.split_whitespace().nth(1));
    addresses.any(|address| address.ends_with(&format!(":{port:04X}")))
}

/// Whether somebody listens at this path, which is there sooner: flags have `__SO_ACCEPTCON` then (`proc_net_unix(5)`).
fn is_listening(path: &str) -> bool {
    let table = std::fs::read_to_string("/proc/net/unix").expect("there are sockets");
    let mut rows = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    rows.any(|row| row.get(3) == Some(&"00010000") && row.get(7) == Some(&path))
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
    bench.fathom(&line).expect(1, &[&says, "start the end that listens first", "err=111"]);
    let line = "fio --name=a --ioengine=net --protocol=unix --hostname=none --rw=write --size=1m";
    bench.fathom(line).expect(1, &["cannot connect to unix:none", "err=2"]);
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
