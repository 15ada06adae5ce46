//! What would be lost is asked for by name, and the server judges it: whatever a page shows is no consent.

use super::Site;
use crate::support::Bench;
use crate::support::device::{content, with_root};
use serde_json::{Value, json};

#[test]
fn what_would_be_lost_is_asked_for_and_checked_here() {
    let bench = Bench::new();
    let site = Site::start(&bench);
    let precious = bench.write("precious", vec![7; 1 << 20]);
    let text = format!(
        "[target.disk]\npath = {precious:?}\n[workload.w]\nread = \"0%\"\n[stream.s]\n[stage.main]\ntime = \"100ms\"\n"
    );
    let order = |consent: Value| json!({ "job": { "name": "w.toml", "text": text }, "consent": consent });
    for consent in
        [json!({}), json!({ "yes": true }), json!({ "answers": [{ "path": precious, "typed": "yes" }] })]
    {
        let planned = site.post("/api/v1/jobs/plan", &order(consent.clone())).expect(200).json();
        assert_eq!(planned["may_run"], json!(false));
        assert_eq!(planned["targets"][0]["writes"], json!(true));
        assert!(
            planned["refusals"][0]["code"].as_str().is_some_and(|code| code.starts_with("unsafe.")),
            "{planned}"
        );
        assert_eq!(planned["refusals"][0]["answers"], json!(["overwrite"]));
        let refused = site.post("/api/v1/runs", &order(consent)).expect(403);
        assert!(refused.code().starts_with("unsafe."), "{}", refused.text());
        // There is no command line here.
        assert!(!refused.text().contains("--"), "{}", refused.text());
    }
    // The words of the command line, typed about this very path.
    let typed = |path: &str| json!({ "answers": [{ "path": path, "typed": "overwrite" }] });
    site.post("/api/v1/runs", &order(typed("/tmp"))).expect(403);
    let agreed = order(typed(precious.to_str().expect("its name is plain")));
    let planned = site.post("/api/v1/jobs/plan", &agreed).expect(200).json();
    assert_eq!(planned["may_run"], json!(true), "{planned}");
    assert!(planned["notes"].to_string().contains("is overwritten, as agreed"), "{planned}");
    assert_eq!(std::fs::read(&precious).expect("it is there"), vec![7; 1 << 20]);
    assert_eq!(bench.stored(), 0);
    let run = site.begin(&order(json!({ "overwrite": true })));
    assert_eq!(
        site.events(&run, 0, "").last().map(|(_, _, data)| data["state"].clone()),
        Some(json!("complete"))
    );
    assert_ne!(std::fs::read(&precious).expect("it is there"), vec![7; 1 << 20]);
    // What the load deletes is told apart from what is removed when all is over.
    for (stream, section, expect) in
        [("engine = \"filedelete\"", "", [true, false]), ("read = \"50%\"", "remove = true\n", [false, true])]
    {
        let (workload, stream) = if section.is_empty() { ("", stream) } else { (stream, "") };
        let text = format!(
            "[target.t]\npath = {:?}\nsize = \"4KiB\"\n{section}[workload.w]\n{workload}\n[stream.s]\n{stream}\npasses = 1\n",
            bench.path("fresh")
        );
        let order = json!({ "job": { "name": "d.toml", "text": text }, "consent": {} });
        let planned = site.post("/api/v1/jobs/plan", &order).expect(200).json();
        let target = &planned["targets"][0];
        assert_eq!([&target["deletes"], &target["removes"]], expect.map(Value::from).each_ref(), "{planned}");
    }
    // Jobs that are sent run no commands and read no files of this machine.
    let secret = bench.write("secret.fio", "[secret]\nrw=read\nsize=1m\n");
    for text in [
        format!("[a]\nsize=1m\ninclude {}\n", secret.display()),
        format!("[a]\nrw=write\nsize=1m\nbuffer_pattern='{}'\n", secret.display()),
        format!("[a]\nopendir={}\n", bench.path("").display()),
    ] {
        let job = json!({ "name": "a.fio", "text": text });
        let checked = site.post("/api/v1/jobs/check", &job).expect(200).json();
        assert_eq!(checked["is_sound"], json!(false), "{text}");
        assert!(!checked.to_string().contains("[secret]"), "{checked}");
        if text.contains("include") {
            // It is there, so that saying it is not would be wrong, and telling of it nobody's business.
            assert!(checked.to_string().contains("a server reads no files of its machine"), "{checked}");
        }
        site.post("/api/v1/runs", &json!({ "job": job })).expect(422);
    }
    let binary = json!({ "name": "a.icf", "text": "Version 1.1.0\n\0\u{1}" });
    let checked = site.post("/api/v1/jobs/check", &binary).expect(200).json();
    assert!(
        checked["is_sound"] == json!(false) && checked.to_string().contains("is not a text"),
        "{checked}"
    );
    // What has no name is a job all the same.
    let nameless = json!({ "name": "", "text": "[a]\nsize=1m\0\n" });
    let planned = site.post("/api/v1/jobs/plan", &json!({ "job": nameless })).expect(200).json().to_string();
    assert!(planned.contains("\"the job is not a text: in line 2, byte 11 of it is 0"), "{planned}");
    // A command may be in a job, and nobody can let the server run it.
    let text = format!("[a]\nsize=1m\nexec_prerun=touch {}\n", bench.path("touched").display());
    let job = json!({ "name": "a.fio", "text": text });
    let checked = site.post("/api/v1/jobs/check", &job).expect(200).json().to_string();
    assert!(checked.contains("job.sent-command"), "{checked}");
    let order = json!({ "job": job, "consent": { "yes": true, "overwrite": true } });
    assert_eq!(site.post("/api/v1/runs", &order).expect(403).code(), "unsafe.exec");
    assert!(!bench.path("touched").exists());
    site.end();
}

#[test]
fn a_device_is_lost_by_the_same_words_as_at_a_terminal() {
    with_root("a_device_is_lost_by_the_same_words_as_at_a_terminal", |bench, stage| {
        let device = stage.ext4(bench, "image")?;
        let before = content(&device);
        let site = Site::start(bench);
        let text = format!(
            "[target.disk]\npath = {device:?}\n[workload.w]\nread = \"0%\"\n[stream.s]\n[stage.main]\ntime = \"100ms\"\n"
        );
        let order = |consent: Value| json!({ "job": { "name": "w.toml", "text": text }, "consent": consent });
        let typed = |word: &str| order(json!({ "answers": [{ "path": device, "typed": word }] }));
        let asked = site.post("/api/v1/jobs/plan", &order(json!({}))).expect(200).json();
        assert_eq!(asked["questions"][0]["answers"], json!([device]), "a loop device has no serial number");
        assert!(asked["questions"][0]["reason"].to_string().contains("ext4"), "{asked}");
        let name = device.trim_start_matches("/dev/");
        for wrong in ["", "yes", "overwrite", name, "/dev/loop"] {
            let refused = site.post("/api/v1/runs", &typed(wrong)).expect(403);
            assert_eq!(refused.code(), "unsafe.signature");
            assert!(
                refused.text().contains("answer with") && !refused.text().contains("--"),
                "{}",
                refused.text()
            );
        }
        for consent in [json!({ "yes": true, "overwrite": true }), json!({ "destroy": ["/dev/loop"] })] {
            site.post("/api/v1/runs", &order(consent)).expect(403);
        }
        assert!(content(&device) == before && bench.stored() == 0);
        assert_eq!(
            site.post("/api/v1/jobs/plan", &typed(&device)).expect(200).json()["may_run"],
            json!(true)
        );
        let run = site.begin(&typed(&device));
        site.events(&run, 0, "");
        let report = site.get(&format!("/api/v1/runs/{run}")).expect(200).json();
        assert!(report["notes"].to_string().contains("is destroyed, as agreed"), "{}", report["notes"]);
        assert!(content(&device) != before);
        site.end();
        Ok(())
    });
}
