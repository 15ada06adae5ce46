//! Jobs that are sent: what a server neither reads, runs nor writes for those who send them.

use super::{Bench, Site, json};

#[test]
fn a_job_that_is_sent_replays_no_trace_of_this_machine() {
    let bench = Bench::new();
    let site = Site::start(&bench);
    let secret = bench.write("secret", "fio version 3 iolog\n1 x password 0 1\n2 x read 0 512\n");
    for (name, text) in [
        ("a.fio", format!("[a]\nread_iolog={}\nioengine=null\n", secret.display())),
        ("a.toml", format!("[stream.a]\nengine = \"null\"\ntrace = \"{}\"\n", secret.display())),
    ] {
        let job = json!({ "name": name, "text": text });
        let checked = site.post("/api/v1/jobs/check", &job).expect(200).json();
        assert_eq!(checked["is_sound"], json!(false), "{text}");
        assert!(checked.to_string().contains("job.sent-trace"), "{checked}");
        let refused = site.post("/api/v1/runs", &json!({ "job": job })).expect(422);
        assert!(!refused.text().contains("password"), "{text}");
    }
}

#[test]
fn a_job_that_is_sent_runs_no_command() {
    let bench = Bench::new();
    let site = Site::start(&bench);
    let marker = bench.path("marker");
    let touch = format!("touch {}", marker.display());
    let native = "[target.t]\nkind = \"null\"\nsize = \"1MiB\"\n[workload.w]\n[stream.s]\n";
    let consent = json!({ "yes": true, "overwrite": true });
    for (name, text) in [
        ("a.fio", format!("[a]\nioengine=null\nsize=1m\nexec_prerun={touch}\n")),
        ("a.fio", format!("[a]\nioengine=null\nsize=1m\nexec_postrun={touch}\n")),
        ("a.fio", format!("[a]\nioengine=exec\nprogram=/usr/bin/touch\narguments={}\n", marker.display())),
        ("a.toml", format!("{native}command_before = \"{touch}\"\n")),
        ("a.toml", format!("{native}command_after = \"{touch}\"\n")),
    ] {
        let refused =
            site.post("/api/v1/runs", &json!({ "job": { "name": name, "text": text }, "consent": consent }));
        assert!([403, 422].contains(&refused.status), "{text}: {} {}", refused.status, refused.text());
    }
    assert!(!marker.exists());
    assert_eq!(site.bench.stored(), 0);
    site.end();
}

#[test]
fn a_job_that_is_sent_is_told_what_a_server_does_not_write() {
    let bench = Bench::new();
    let site = Site::start(&bench);
    for (text, code, is_sound) in [
        ("[a]\nsize=1m\nioengine=null\nwrite_bw_log=x\n", "job.sent-logs", true),
        ("[a]\nsize=1m\nrw=write\nverify=crc32c\nverify_dump=1\n", "job.sent-dump", false),
        ("; ${NONE}\n[a]\nsize=1m\nrw=write\nfilename=${SCRATCH}/x\n", "job.sent-variable", false),
    ] {
        let checked =
            site.post("/api/v1/jobs/check", &json!({ "name": "a.fio", "text": text })).expect(200).json();
        assert_eq!(checked["is_sound"], json!(is_sound), "{checked}");
        assert!(checked.to_string().contains(code), "{checked}");
    }
    site.end();
}
