//! Jobs of ten thousand streams: planning them takes work in proportion. Bounded is the processor time of the process, not how
//! long it takes.

use crate::support::{Bench, FATHOM};

const STREAMS: usize = 10_000;
/// Seconds of processor time that a plan may take: several times what it takes without optimisation, and a small part of what
/// it would with one look at all sections for each of them (minutes).
const CPU_S: u32 = 20;

fn check(sections: impl Fn(usize) -> String, head: &str) {
    let bench = Bench::new();
    let text = head.to_owned() + &(0..STREAMS).map(sections).collect::<String>();
    bench.write("job.toml", text + "[stage.main]\ntime = \"10s\"\n");
    let limit = format!("--cpu={CPU_S}:{CPU_S}");
    let plan = bench.run(&["prlimit", &limit, FATHOM, "plan", "--json", "job.toml"]);
    // Where so many descriptors may not be had, the plan says how many it needs.
    if plan.err.contains("plan.open-files") {
        plan.expect(2, &["20064 open files", "ulimit -n"]);
        return;
    }
    let plan = plan.expect(0, &[]).json();
    let streams = plan["steps"][0]["streams"].as_array().map(Vec::len);
    assert_eq!(streams, Some(STREAMS), "{:.300}", plan.to_string());
}

#[test]
fn ten_thousand_streams_with_a_workload_each() {
    let section = |n| format!("[workload.s{n}]\naccess = \"random\"\n[stream.s{n}]\n");
    check(section, "[target.t]\nkind = \"null\"\nsize = \"1GiB\"\n");
}

#[test]
fn ten_thousand_streams_with_a_file_each() {
    let section = |n| {
        format!(
            "[target.t{n}]\npath = \"f{n}\"\nsize = \"16KiB\"\n[stream.s{n}]\ntargets = [\"t{n}\"]\nengine = \"psync\"\n"
        )
    };
    check(section, "[workload.w]\naccess = \"random\"\n");
}
